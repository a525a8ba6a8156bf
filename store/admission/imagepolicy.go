package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/internal/expiring"
)

// ImagePolicy says which server decides about images, by ImageReviews of imagepolicy.k8s.io/v1alpha1.
type ImagePolicy struct {
	// Post sends a review in JSON and returns the body of the answer; an error with a status is that of the
	// answer. Required.
	Post func(ctx context.Context, review []byte) ([]byte, error)
	// KubeConfigFile is where the server is, for the maker of Post.
	KubeConfigFile string
	// AllowTTL and DenyTTL are how long answers are cached, at most 30 minutes. Zero means five minutes and
	// 30 seconds, and a negative one not at all.
	AllowTTL, DenyTTL time.Duration
	// RetryBackoff is the time before the first of four retries, at most five minutes; each later one is half
	// as much longer. Zero means 500 ms, and a negative one none.
	RetryBackoff time.Duration
	// DefaultAllow admits pods while the server does not answer.
	DefaultAllow bool
}

// imageReview is the ImageReview of imagepolicy.k8s.io/v1alpha1.
type imageReview struct {
	metav1.TypeMeta `json:",inline"`
	Spec            imageReviewSpec   `json:"spec"`
	Status          imageReviewStatus `json:"status"`
}

type imageReviewSpec struct {
	Containers  []imageReviewContainer `json:"containers,omitempty"`
	Annotations map[string]string      `json:"annotations,omitempty"`
	Namespace   string                 `json:"namespace,omitempty"`
}

type imageReviewContainer struct {
	Image string `json:"image,omitempty"`
}

type imageReviewStatus struct {
	Allowed          bool              `json:"allowed"`
	Reason           string            `json:"reason,omitempty"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
}

const (
	imageReviewVersion    = "imagepolicy.k8s.io/v1alpha1"
	imageReviewAttempts   = 5
	imagePolicyAnnotation = ".image-policy.k8s.io/"
	imagePolicyAudit      = "imagepolicywebhook" + imagePolicyAnnotation
	maxCachedImages       = 1024
)

func (c *Configuration) parseImagePolicy(data []byte) error {
	var file struct {
		Policy struct {
			KubeConfigFile string `json:"kubeConfigFile"`
			AllowTTL       int64  `json:"allowTTL"`
			DenyTTL        int64  `json:"denyTTL"`
			RetryBackoff   int64  `json:"retryBackoff"`
			DefaultAllow   bool   `json:"defaultAllow"`
		} `json:"imagePolicy"`
	}
	if err := strictYAML(data, &file); err != nil {
		return err
	}
	f := &file.Policy
	for _, d := range []struct {
		field    string
		n        int64
		unit     string
		greatest int64
	}{
		{"allowTTL", f.AllowTTL, "seconds", 30 * 60}, {"denyTTL", f.DenyTTL, "seconds", 30 * 60}, {"retryBackoff", f.RetryBackoff, "milliseconds", 5 * 60 * 1000},
	} {
		if d.n < -1 || d.n > d.greatest {
			return fmt.Errorf("imagePolicy.%s: want from 1 to %d %s, 0 for the default or -1 for none, got %d", d.field, d.greatest, d.unit, d.n)
		}
	}
	if f.KubeConfigFile == "" {
		return errors.New("imagePolicy.kubeConfigFile: Required value")
	}
	c.ImagePolicy = ImagePolicy{KubeConfigFile: f.KubeConfigFile, DefaultAllow: f.DefaultAllow, AllowTTL: time.Duration(f.AllowTTL) * time.Second,
		DenyTTL: time.Duration(f.DenyTTL) * time.Second, RetryBackoff: time.Duration(f.RetryBackoff) * time.Millisecond}
	return nil
}

// imagePolicy lets a server decide about the images of pods.
type imagePolicy struct {
	named
	policy ImagePolicy
	cache  *expiring.Map[string, imageReviewStatus] // by spec
}

func newImagePolicy(_ Access, o Options) (Plugin, error) {
	p := o.Configuration.ImagePolicy
	if p.Post == nil {
		return nil, errors.New("ImagePolicyWebhook: the plugin needs a configuration, with the server that decides about images")
	}
	setDefault := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	setDefault(&p.AllowTTL, 5*time.Minute)
	setDefault(&p.DenyTTL, 30*time.Second)
	setDefault(&p.RetryBackoff, 500*time.Millisecond)
	return &imagePolicy{named: named{"ImagePolicyWebhook", []Operation{Create, Update}}, policy: p, cache: expiring.New[string, imageReviewStatus](maxCachedImages)}, nil
}

func (p *imagePolicy) Validate(ctx context.Context, a *Attributes) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || a.Resource != core("pods") {
		return nil
	}
	spec := imageReviewSpec{Namespace: a.Namespace}
	switch a.Subresource {
	case "":
		for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range list {
				spec.Containers = append(spec.Containers, imageReviewContainer{list[i].Image})
			}
		}
	case "ephemeralcontainers":
		for i := range pod.Spec.EphemeralContainers {
			spec.Containers = append(spec.Containers, imageReviewContainer{pod.Spec.EphemeralContainers[i].Image})
		}
	default:
		return nil
	}
	for k, v := range pod.Annotations {
		if strings.Contains(k, imagePolicyAnnotation) {
			if spec.Annotations == nil {
				spec.Annotations = map[string]string{}
			}
			spec.Annotations[k] = v
		}
	}
	status, err := p.decide(ctx, &spec)
	if err != nil {
		if !p.policy.DefaultAllow {
			return refuse(a, err)
		}
		a.Annotate(imagePolicyAudit+"failed-open", "true")
		return nil
	}
	for k, v := range status.AuditAnnotations {
		a.Annotate(imagePolicyAudit+k, v)
	}
	switch {
	case status.Allowed:
		return nil
	case status.Reason != "":
		return refuse(a, fmt.Errorf("image policy webhook backend denied one or more images: %s", status.Reason))
	}
	return refuse(a, errors.New("one or more images rejected by webhook backend"))
}

// decide returns what the server says about images, or said not long ago.
func (p *imagePolicy) decide(ctx context.Context, spec *imageReviewSpec) (imageReviewStatus, error) {
	review := imageReview{TypeMeta: metav1.TypeMeta{APIVersion: imageReviewVersion, Kind: "ImageReview"}, Spec: *spec}
	body, err := codec.Marshal(&review)
	if err != nil {
		return imageReviewStatus{}, err
	}
	if status, ok := p.cache.Get(string(body)); ok {
		return status, nil
	}
	policy := backoff.Policy{Initial: p.policy.RetryBackoff, Factor: 1.5, Jitter: 0.2, Steps: imageReviewAttempts}
	if policy.Initial < 0 {
		policy = backoff.Policy{Steps: 1}
	}
	var reply []byte
	if err := backoff.Retry(ctx, policy, unanswered, func(ctx context.Context) (err error) {
		reply, err = p.policy.Post(ctx, body)
		return err
	}); err != nil {
		return imageReviewStatus{}, err
	}
	answer := imageReview{}
	if err := codec.Unmarshal(reply, &answer); err != nil {
		return imageReviewStatus{}, fmt.Errorf("the response is no ImageReview: %w", err)
	}
	if answer.TypeMeta != review.TypeMeta {
		return imageReviewStatus{}, fmt.Errorf("the response is %q of %q, want ImageReview of %s", answer.Kind, answer.APIVersion, imageReviewVersion)
	}
	ttl := p.policy.DenyTTL
	if answer.Status.Allowed {
		ttl = p.policy.AllowTTL
	}
	p.cache.Put(string(body), answer.Status, ttl)
	return answer.Status, nil
}

// unanswered reports whether a server may answer when it is called again.
func unanswered(err error) bool {
	code := apierrors.CodeOf(err)
	return code == 0 || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
}
