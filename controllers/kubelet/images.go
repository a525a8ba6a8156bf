package kubelet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pullrecords"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/registryauth"
)

// puller gets images according to policy.
type puller struct {
	rt       *runtime
	recorder *events.Recorder
	fallback bool
	backoffs *backoffs
	gate     *pullGate
	records  *pullrecords.Records
	metrics  *metrics
	starts   *podStarts
	// credentials returns those of a pod for an image.
	credentials func(ctx context.Context, pod *corev1.Pod, image string) []registryauth.Credential

	mu     sync.Mutex
	failed map[string]failedPull // by pod and image
}

func newPuller(k *Kubelet) (*puller, error) {
	p := &puller{rt: k.rt, recorder: k.recorder, fallback: k.opts.PullFallback, gate: newPullGate(k.opts.Pulls), credentials: k.credentials,
		backoffs: newBackoffs(imageBackoffInitial, imageBackoffMax), metrics: k.metrics, starts: k.starts}
	images := func(ctx context.Context) ([]*cri.Image, error) {
		list, err := k.rt.images.ListImages(ctx, &cri.ListImagesRequest{})
		return list.GetImages(), err
	}
	var err error
	p.records, err = pullrecords.New(pullrecords.Settings{Dir: filepath.Join(k.opts.RootDir, "image_manager"), Images: images, Verifies: k.opts.Pulls.verifies, Log: k.log})
	k.metrics.registry.MustRegister(pullFiles{p.records})
	return p, err
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
	credentials := sync.OnceValue(func() []registryauth.Credential { return p.credentials(ctx, pod, image) })
	usable := found.Image != nil && (c.ImagePullPolicy != corev1.PullAlways || p.fallback) && p.usable(ctx, image, found.Image.Id, credentials)
	p.metrics.ensured(c.ImagePullPolicy, found.Image != nil, usable)
	switch {
	case c.ImagePullPolicy == corev1.PullNever && !usable:
		// An image that the pod may not use is as one that is not there, so that pods cannot find out.
		return nil, p.wait(about, "ErrImageNeverPull", "ErrImageNeverPull", fmt.Sprintf("Container image %q is not present with pull policy of Never", image))
	case c.ImagePullPolicy != corev1.PullAlways && usable:
		p.recorder.About(about, nil, events.Normal, "Pulled", fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", image))
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
	p.starts.pull(pod.UID)
	began := time.Now()
	pulled, took, err := p.pull(ctx, &cri.PullImageRequest{Image: spec, SandboxConfig: boxConfig}, found.GetImage().GetId(), credentials())
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if p.fallback && usable {
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
	p.starts.pulled(pod.UID)
	whole := time.Since(began).Truncate(time.Millisecond)
	p.metrics.pulled(pulled.Size, whole)
	p.recorder.About(about, nil, events.Normal, "Pulled", fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). Image size: %d bytes.", image, took, whole, pulled.Size))
	return pulled, nil
}

// usable reports whether a pod may use an image that is present.
func (p *puller) usable(ctx context.Context, image, ref string, credentials func() []registryauth.Credential) bool {
	verdict := p.records.Check(ctx, image, ref, credentials)
	p.metrics.verified.WithLabelValues(string(verdict)).Inc()
	return verdict.Usable()
}

// pull pulls an image when it is its turn, with the first of the credentials that the registry accepts, or
// without if there are none, and records with which. before is the reference that the image had, if any. pull
// returns how long that took.
func (p *puller) pull(ctx context.Context, q *cri.PullImageRequest, before string, credentials []registryauth.Credential) (image *cri.Image, took time.Duration, err error) {
	if !p.gate.allowed() {
		return nil, 0, errors.New("pull QPS exceeded")
	}
	leave, err := p.gate.enter(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer leave()
	name := q.Image.Image
	if err := p.records.Begin(name); err != nil {
		return nil, 0, fmt.Errorf("failed to record image pull intent: %w", err)
	}
	began := time.Now()
	used, lost, err := p.attempt(ctx, q, credentials)
	took = time.Since(began).Truncate(time.Millisecond)
	switch {
	case err != nil && lost:
		p.records.Abandon(name, before)
		return nil, took, err
	case err != nil:
		p.records.Fail(name)
		return nil, took, err
	}
	found, err := p.rt.images.ImageStatus(ctx, &cri.ImageStatusRequest{Image: q.Image})
	switch {
	case err != nil:
		p.records.Abandon(name, before)
		return nil, took, err
	case found.Image == nil:
		p.records.Fail(name)
		return nil, took, errors.New("the runtime pulled the image but does not have it")
	}
	p.records.Done(name, found.Image.Id, used)
	return found.Image, took, nil
}

// attempt pulls an image with one credential after the other and returns the one that the registry accepted,
// nil if there are none. lost is whether the runtime may have pulled it without having said so.
func (p *puller) attempt(ctx context.Context, q *cri.PullImageRequest, credentials []registryauth.Credential) (used *registryauth.Credential, lost bool, err error) {
	try := func() error {
		_, err := p.rt.images.PullImage(ctx, q)
		lost = lost || ctx.Err() != nil || slices.Contains([]codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Canceled}, status.Code(err))
		return err
	}
	if len(credentials) == 0 {
		err = try()
		return nil, lost, err
	}
	var failures []string
	for i, c := range credentials {
		q.Auth = &cri.AuthConfig{Username: c.Username, Password: c.Password}
		if err = try(); err == nil || ctx.Err() != nil {
			return &credentials[i], lost, err
		}
		if text := status.Convert(err).Message(); !slices.Contains(failures, text) {
			failures = append(failures, text)
		}
	}
	if len(failures) > 1 {
		err = errors.New("[" + strings.Join(failures, ", ") + "]")
	}
	return nil, lost, err
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
