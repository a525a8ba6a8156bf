package kubelet_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// private makes the runtime's registry refuse every user but good. It returns the pulls of good.
func private(r *rig) *atomic.Int32 {
	accepted := &atomic.Int32{}
	r.rt.Pull = func(_ string, auth *cri.AuthConfig) error {
		if auth.GetUsername() != "good" {
			return status.Error(codes.PermissionDenied, "pull access denied")
		}
		accepted.Add(1)
		return nil
	}
	return accepted
}

// waitsFor starts a pod with an image and returns why its container waits, empty if it runs.
func (r *rig) waitsFor(pod, image string, policy corev1.PullPolicy, secrets ...string) string {
	r.pod(pod, func(p *corev1.Pod) {
		p.Spec.Containers[0].Image, p.Spec.Containers[0].ImagePullPolicy = image, policy
		for _, s := range secrets {
			p.Spec.ImagePullSecrets = append(p.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: s})
		}
	}, "a")
	time.Sleep(3 * time.Second)
	list := r.get(pod).Status.ContainerStatuses
	require.Len(r.t, list, 1)
	if list[0].State.Waiting != nil {
		return list[0].State.Waiting.Reason
	}
	require.NotNil(r.t, list[0].State.Running)
	return ""
}

// An image that was pulled with the Secret of one pod is not for pods without it, whatever their policy, also
// after a restart of the kubelet. Images that the node came with are for all.
func TestImagesOfOthersAreVerified(t *testing.T) {
	const image = "r.example.com/app:1"
	var accepted *atomic.Int32
	bubble(t, func(r *rig) {
		accepted = private(r)
		r.rt.AddImage("r.example.com/preloaded:1", 1, false)
		r.opts.PullFallback = true
	}, func(r *rig) {
		r.pullSecret("right", "r.example.com", "good", "x")
		r.pullSecret("wrong", "r.example.com", "bad", "x")
		require.Empty(t, r.waitsFor("owner", image, corev1.PullIfNotPresent, "right"))
		for _, round := range []string{"first-", "second-"} {
			require.Equal(t, "ImagePullBackOff", r.waitsFor(round+"none", image, corev1.PullIfNotPresent))
			require.Equal(t, "ImagePullBackOff", r.waitsFor(round+"wrong", image, corev1.PullIfNotPresent, "wrong"))
			require.Equal(t, "ImagePullBackOff", r.waitsFor(round+"always", image, corev1.PullAlways), "an image that is not the pod's is no substitute")
			require.Equal(t, "ErrImageNeverPull", r.waitsFor(round+"never", image, corev1.PullNever))
			require.Empty(t, r.waitsFor(round+"same", image, corev1.PullNever, "right"))
			require.Empty(t, r.waitsFor(round+"same-2", image, corev1.PullIfNotPresent, "right"))
			require.Empty(t, r.waitsFor(round+"preloaded", "r.example.com/preloaded:1", corev1.PullNever))
			require.EqualValues(t, 1, accepted.Load())
			if round == "first-" {
				r.opts.StopPods = false
				r.stop()
				r.start()
				time.Sleep(3 * time.Second)
			}
		}
		answer := httptest.NewRecorder()
		r.k.ReadOnly().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		for _, line := range []string{"kubelet_imagemanager_ondisk_pullintents 0", "kubelet_imagemanager_ondisk_pulledrecords 1",
			`kubelet_imagemanager_image_mustpull_checks_total{result="mustAuthenticate"}`, `kubelet_imagemanager_image_mustpull_checks_total{result="credentialRecordFound"}`,
			`kubelet_image_manager_ensure_image_requests_total{present_locally="true",pull_policy="never",pull_required="false"}`} {
			require.True(t, strings.Contains(answer.Body.String(), line), line)
		}
	})
}

// The answer of a pull that succeeded is lost: the image is not for pods that could not have pulled it.
func TestAPullWithoutAnswerIsVerified(t *testing.T) {
	const image = "r.example.com/app:1"
	bubble(t, func(r *rig) {
		private(r)
		lost := false
		r.rt.Fault = func(_ string, q any) fakecri.Fault {
			if pull, ok := q.(*cri.PullImageRequest); ok && pull.GetAuth().GetUsername() == "good" && !lost {
				lost = true
				return fakecri.After
			}
			return 0
		}
	}, func(r *rig) {
		r.pullSecret("right", "r.example.com", "good", "x")
		require.Contains(t, []string{"ErrImagePull", "ImagePullBackOff", ""}, r.waitsFor("owner", image, corev1.PullIfNotPresent, "right"))
		require.Contains(t, r.rt.Images(), image)
		require.Equal(t, "ErrImageNeverPull", r.waitsFor("never", image, corev1.PullNever))
		require.Equal(t, "ImagePullBackOff", r.waitsFor("none", image, corev1.PullIfNotPresent))
		time.Sleep(time.Minute)
		require.True(t, ready(r.get("owner")))
		require.Equal(t, "ErrImageNeverPull", r.waitsFor("never-2", image, corev1.PullNever))
	})
}

// The policies differ in the images that are verified.
func TestImageVerification(t *testing.T) {
	const pulled, preloaded, listed = "r.example.com/app:1", "r.example.com/preloaded:1", "r.example.com/listed/app:1"
	for policy, want := range map[kubelet.Verification][3]string{
		kubelet.VerifyNone: {"", "", ""}, kubelet.VerifyPulled: {"ErrImageNeverPull", "", ""},
		kubelet.VerifyUnlisted: {"ErrImageNeverPull", "ErrImageNeverPull", ""}, kubelet.VerifyAll: {"ErrImageNeverPull", "ErrImageNeverPull", "ErrImageNeverPull"},
	} {
		t.Run(string(policy), func(t *testing.T) {
			bubble(t, func(r *rig) {
				private(r)
				r.rt.AddImage(preloaded, 1, false)
				r.rt.AddImage(listed, 1, false)
				r.opts.Pulls.Verify = policy
				if policy == kubelet.VerifyUnlisted {
					r.opts.Pulls.Preloaded = []string{"r.example.com/listed/*"}
				}
			}, func(r *rig) {
				r.pullSecret("right", "r.example.com", "good", "x")
				require.Empty(t, r.waitsFor("owner", pulled, corev1.PullIfNotPresent, "right"))
				for i, image := range []string{pulled, preloaded, listed} {
					require.Equal(t, want[i], r.waitsFor("pod-"+string(rune('a'+i)), image, corev1.PullNever), image)
				}
				require.Empty(t, r.waitsFor("pulls", preloaded, corev1.PullIfNotPresent, "right"), "who can pull it may use it")
				require.Empty(t, r.waitsFor("pulls-2", preloaded, corev1.PullNever, "right"))
			})
		})
	}
	for _, bad := range []kubelet.PullPolicy{{Verify: "Sometimes"}, {Preloaded: []string{"a"}}, {Verify: kubelet.VerifyUnlisted, Preloaded: []string{"*"}},
		{Verify: kubelet.VerifyUnlisted, Preloaded: []string{"a*"}}, {Verify: kubelet.VerifyUnlisted, Preloaded: []string{"a/b:1"}},
		{Verify: kubelet.VerifyUnlisted, Preloaded: []string{" a"}}, {Verify: kubelet.VerifyUnlisted, Preloaded: []string{"a@sha256:1"}}} {
		require.Error(t, bad.Check(), "%+v", bad)
	}
	good := kubelet.PullPolicy{Verify: kubelet.VerifyUnlisted, Preloaded: []string{"busybox", "registry:5000/a", "registry:5000/*", "r/a/*"}}
	require.NoError(t, good.Check())
}
