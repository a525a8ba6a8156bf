package kubelet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/registryauth"
)

// puller gets images according to policy.
type puller struct {
	rt       *runtime
	recorder *events.Recorder
	fallback bool
	backoffs *backoffs
	gate     *pullGate
	// credentials returns those of a pod for an image.
	credentials func(ctx context.Context, pod *corev1.Pod, image string) []registryauth.Credential

	mu     sync.Mutex
	failed map[string]failedPull // by pod and image
}

type failedPull struct {
	at  time.Time
	err string
}

// waitError is why a container waits.
type waitError struct {
	reason, message string
}

func (e *waitError) Error() string { return e.reason + ": " + e.message }

// ensure makes the image of a container present and returns its reference in the runtime.
func (p *puller) ensure(ctx context.Context, pod *corev1.Pod, c *corev1.Container, boxConfig *cri.PodSandboxConfig, about corev1.ObjectReference) (*cri.Image, error) {
	image := c.Image
	if strings.TrimSpace(image) == "" {
		return nil, p.wait(about, "InspectFailed", "InvalidImageName", fmt.Sprintf("Failed to apply default image tag %q: couldn't parse image name", image))
	}
	spec := &cri.ImageSpec{Image: image, UserSpecifiedImage: image}
	found, err := p.rt.images.ImageStatus(ctx, &cri.ImageStatusRequest{Image: spec})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, p.wait(about, "InspectFailed", "ImageInspectError", fmt.Sprintf("Failed to inspect image %q: %v", image, status.Convert(err).Message()))
	}
	switch {
	case c.ImagePullPolicy == corev1.PullNever:
		if found.Image == nil {
			return nil, p.wait(about, "ErrImageNeverPull", "ErrImageNeverPull", fmt.Sprintf("Container image %q is not present with pull policy of Never", image))
		}
		fallthrough
	case c.ImagePullPolicy != corev1.PullAlways && found.Image != nil:
		p.recorder.About(about, nil, events.Normal, "Pulled", fmt.Sprintf("Container image %q already present on machine", image))
		return found.Image, nil
	}
	key := string(pod.UID) + "/" + image
	p.mu.Lock()
	last, failedBefore := p.failed[key]
	p.mu.Unlock()
	if fresh := retryAfter - time.Since(last.at); failedBefore && fresh > 0 {
		return nil, delayed{&waitError{"ErrImagePull", last.err}, fresh} // long enough to be seen
	}
	if failedBefore {
		if left, _ := p.backoffs.left(key, last.at); left > 0 {
			p.recorder.About(about, nil, events.Normal, "BackOff", fmt.Sprintf("Back-off pulling image %q", image))
			return nil, delayed{&waitError{"ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", image, last.err)}, left}
		}
	}
	p.recorder.About(about, nil, events.Normal, "Pulling", fmt.Sprintf("Pulling image %q", image))
	began := time.Now()
	took, err := p.pull(ctx, &cri.PullImageRequest{Image: spec, SandboxConfig: boxConfig}, p.credentials(ctx, pod, image))
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if p.fallback && found.Image != nil {
			p.recorder.About(about, nil, events.Normal, "Pulled", fmt.Sprintf("Container image %q already present on machine (it could not be pulled again: %v)",
				image, status.Convert(err).Message()))
			return found.Image, nil
		}
		text := fmt.Sprintf("failed to pull image %q: %v", image, status.Convert(err).Message())
		p.backoffs.next(key, time.Now())
		p.mu.Lock()
		if p.failed == nil {
			p.failed = map[string]failedPull{}
		}
		p.failed[key] = failedPull{time.Now(), text}
		p.mu.Unlock()
		p.recorder.About(about, nil, events.Warning, "Failed", fmt.Sprintf("Failed to pull image %q: %v", image, text))
		p.recorder.About(about, nil, events.Warning, "Failed", "Error: ErrImagePull")
		left, _ := p.backoffs.left(key, time.Now())
		// The next look, a moment later, shows that it is waiting.
		return nil, delayed{&waitError{"ErrImagePull", text}, min(left, retryAfter)}
	}
	p.mu.Lock()
	delete(p.failed, key)
	p.mu.Unlock()
	p.backoffs.forget(key)
	found, err = p.rt.images.ImageStatus(ctx, &cri.ImageStatusRequest{Image: spec})
	if err != nil {
		return nil, err
	}
	if found.Image == nil {
		return nil, errors.New("the runtime pulled the image but does not have it")
	}
	whole := time.Since(began).Truncate(time.Millisecond)
	p.recorder.About(about, nil, events.Normal, "Pulled", fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). Image size: %d bytes.", image, took, whole, found.Image.Size))
	return found.Image, nil
}

// pull pulls an image when it is its turn, with the first of the credentials that the registry accepts, or
// without if there are none, and returns how long that took.
func (p *puller) pull(ctx context.Context, q *cri.PullImageRequest, credentials []registryauth.Credential) (time.Duration, error) {
	if !p.gate.allowed() {
		return 0, errors.New("pull QPS exceeded")
	}
	leave, err := p.gate.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	began := time.Now()
	took := func() time.Duration { return time.Since(began).Truncate(time.Millisecond) }
	var failures []string
	for _, c := range credentials {
		q.Auth = &cri.AuthConfig{Username: c.Username, Password: c.Password}
		if _, err = p.rt.images.PullImage(ctx, q); err == nil || ctx.Err() != nil {
			return took(), err
		}
		if text := status.Convert(err).Message(); !slices.Contains(failures, text) {
			failures = append(failures, text)
		}
	}
	if len(credentials) == 0 {
		_, err = p.rt.images.PullImage(ctx, q)
	} else if len(failures) > 1 {
		err = errors.New("[" + strings.Join(failures, ", ") + "]")
	}
	return took(), err
}

func (p *puller) wait(about corev1.ObjectReference, event, reason, message string) error {
	p.recorder.About(about, nil, events.Warning, event, message)
	return &waitError{reason, message}
}

// forget drops what is remembered for a pod.
func (p *puller) forget(pod *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.failed {
		if strings.HasPrefix(key, string(pod.UID)+"/") {
			delete(p.failed, key)
			p.backoffs.forget(key)
		}
	}
}
