package admission_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// images is a server that refuses images which contain "bad", with a reason where it contains "why".
type images struct {
	mu      sync.Mutex
	reviews []map[string]any // the specs it got
	fail    error
}

func (s *images) post(_ context.Context, body []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var review struct {
		APIVersion, Kind string
		Spec             map[string]any
	}
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, err
	}
	if review.APIVersion != "imagepolicy.k8s.io/v1alpha1" || review.Kind != "ImageReview" {
		return nil, errors.New("this is no ImageReview: " + string(body))
	}
	s.reviews = append(s.reviews, review.Spec)
	if s.fail != nil {
		return nil, s.fail
	}
	status := map[string]any{"allowed": !strings.Contains(string(body), "bad"), "auditAnnotations": map[string]string{"seen": "yes"}}
	if strings.Contains(string(body), "why") {
		status["reason"] = "it is bad"
	}
	return json.Marshal(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "status": status})
}

func (s *images) set(err error) (calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
	return len(s.reviews)
}

func TestImagePolicyWebhook(t *testing.T) {
	server := &images{}
	admin := planetest.StartForPods(t, enable("ImagePolicyWebhook"), func(o *controlplane.Options) {
		o.AdmissionConfiguration.ImagePolicy = admission.ImagePolicy{Post: server.post, RetryBackoff: -1}
	}).Admin()
	of := func(images ...string) *corev1.Pod {
		return in("default", func(p *corev1.Pod) {
			p.Annotations = map[string]string{"team.image-policy.k8s.io/ticket": "7", "other": "x"}
			p.Spec.Containers[0].Image = images[0]
			for _, image := range images[1:] {
				p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "i", Image: image})
			}
		})
	}
	planetest.Create(t, admin, of("app:1", "init:2"))
	require.Equal(t, []map[string]any{{"namespace": "default", "annotations": map[string]any{"team.image-policy.k8s.io/ticket": "7"},
		"containers": []any{map[string]any{"image": "app:1"}, map[string]any{"image": "init:2"}}}}, server.reviews)
	pod := planetest.Create(t, admin, of("app:1", "init:2"))
	require.Len(t, server.reviews, 1, "the answer is cached")

	err := planetest.TryCreate(t, admin, of("app:1", "bad:1"))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, "one or more images rejected by webhook backend")
	require.ErrorContains(t, planetest.TryCreate(t, admin, of("why-bad:1")), "image policy webhook backend denied one or more images: it is bad")

	pods := client.For[*corev1.Pod](admin)
	debug := func(image string) error {
		now, err := pods.Get(t.Context(), planetest.Key("default", pod.Name))
		require.NoError(t, err)
		now.Spec.EphemeralContainers = append(now.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "d", Image: image, ImagePullPolicy: corev1.PullAlways}})
		_, err = client.Subresource[*corev1.Pod](pods, "ephemeralcontainers").Update(t.Context(), planetest.Key("default", pod.Name), now)
		return err
	}
	require.ErrorContains(t, debug("bad:2"), "one or more images rejected by webhook backend")
	require.NoError(t, debug("good:2"))

	server.set(errors.New("no route to host"))
	err = planetest.TryCreate(t, admin, of("new:1"))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, "no route to host")
	planetest.Create(t, admin, of("app:1", "init:2"))
	server.set(nil)
	planetest.Create(t, admin, of("new:1"))
}

// Errors are not cached and are retried unless the server refused the review; answers expire.
func TestImagePolicyRetriesAndExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &images{}
		annotations := map[string]string{}
		review := func(p admission.Plugin, image string) error {
			clear(annotations)
			pod := planetest.Pod("x", func(p *corev1.Pod) { p.Spec.Containers[0].Image = image })
			return p.(admission.Validator).Validate(t.Context(), &admission.Attributes{Operation: admission.Create, Resource: corev1.GroupVersion.WithResource("pods"), Namespace: "default", Name: "x", Object: pod,
				Annotate: func(k, v string) { annotations[k] = v }})
		}
		of := func(policy admission.ImagePolicy) admission.Plugin {
			policy.Post = server.post
			return plugin(t, "ImagePolicyWebhook", objects{}, admission.Options{Configuration: admission.Configuration{ImagePolicy: policy}})
		}
		strict := of(admission.ImagePolicy{AllowTTL: time.Minute, DenyTTL: time.Second})
		calls := 0
		expect := func(more int) {
			t.Helper()
			now := server.set(server.fail)
			require.Equal(t, more, now-calls)
			calls = now
		}
		require.NoError(t, review(strict, "app"))
		require.Equal(t, map[string]string{"imagepolicywebhook.image-policy.k8s.io/seen": "yes"}, annotations)
		require.Error(t, review(strict, "bad"))
		expect(2)
		time.Sleep(59 * time.Second)
		require.NoError(t, review(strict, "app"))
		expect(0)
		require.Error(t, review(strict, "bad"))
		expect(1)
		time.Sleep(time.Second)
		require.NoError(t, review(strict, "app"))
		expect(1)

		server.set(errors.New("connection refused"))
		began := time.Now()
		require.ErrorContains(t, review(strict, "unknown"), "connection refused")
		require.GreaterOrEqual(t, time.Since(began), 500*time.Millisecond*(8+12+18+27)/8, "each delay is half as much longer")
		expect(5)
		server.set(apierrors.NewUnauthorized("who are you"))
		require.ErrorContains(t, review(strict, "unknown"), "who are you")
		expect(1)
		lenient := of(admission.ImagePolicy{DefaultAllow: true, RetryBackoff: -1, AllowTTL: -1})
		require.NoError(t, review(lenient, "unknown"))
		require.Equal(t, map[string]string{"imagepolicywebhook.image-policy.k8s.io/failed-open": "true"}, annotations)
		expect(1)
		server.set(nil)
		require.Error(t, review(lenient, "bad"), "an answer counts")
		require.NoError(t, review(lenient, "unknown"))
		require.NoError(t, review(lenient, "unknown"))
		expect(3)

		for _, reply := range []string{"{", `{"apiVersion":"v1","kind":"Pod"}`, `{"apiVersion":"imagepolicy.k8s.io/v1alpha1","kind":"ImageReview","status":{"allowed":"yes"}}`} {
			odd := plugin(t, "ImagePolicyWebhook", objects{}, admission.Options{Configuration: admission.Configuration{ImagePolicy: admission.ImagePolicy{Post: func(context.Context, []byte) ([]byte, error) { return []byte(reply), nil }}}})
			require.ErrorContains(t, review(odd, "app"), "the response is", reply)
		}
		// More images than are cached do no harm.
		for i := range 3000 {
			require.NoError(t, review(strict, strings.Repeat("x", i%1500)+"y"))
		}
	})
	_, err := tryPlugin(t, "ImagePolicyWebhook", objects{}, admission.Options{})
	require.ErrorContains(t, err, "the plugin needs a configuration")
}
