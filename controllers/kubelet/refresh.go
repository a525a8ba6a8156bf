package kubelet

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/client/events"
)

// refresher keeps the content of a pod's volumes up to date once they have all been set up. It works beside
// the pod's worker, which thus starts, kills and ends containers without waiting for the API server.
type refresher struct {
	cancel context.CancelFunc
	done   chan struct{}
	nudge  chan struct{} // capacity 1

	mu  sync.Mutex
	pod *corev1.Pod
}

// objectTTL is how old the content of a configMap or secret may get in the kubelet's memory, and
// refreshWithin how soon a volume is looked at again. Together they are at most interval.
func objectTTL(interval time.Duration) time.Duration     { return interval / 4 }
func refreshWithin(interval time.Duration) time.Duration { return interval * 3 / 4 }

// refreshVolumes lets the volumes of a pod, all of which are set up, follow what they are made of. The first
// look is at once, unless all of it was written just now.
func (w *worker) refreshVolumes(ctx context.Context, pod *corev1.Pod) {
	if r := w.refresher.Load(); r != nil {
		r.update(pod)
		return
	}
	if !refreshable(pod) {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until the worker stops it
	r := &refresher{cancel: cancel, done: make(chan struct{}), nudge: make(chan struct{}, 1), pod: pod}
	w.refresher.Store(r)
	if w.outdated.Swap(false) {
		r.poke()
	}
	written, renew := w.written == pod, w.renew
	go func() {
		defer close(r.done)
		if written {
			r.rest(ctx, within(ctx, w.k), renew)
		}
		r.run(ctx, w.k)
	}()
}

// followContent looks at the volumes of the pod soon, because an object that the pod refers to has changed. A
// pod that waits for such an object is looked at instead.
func (w *worker) followContent() {
	w.outdated.Store(true)
	if r := w.refresher.Load(); r != nil {
		r.poke()
	} else {
		w.poke()
	}
}

// refreshPause is how long to wait after a failure; it doubles with each further one.
const refreshPause = 10 * time.Second

// refreshable reports whether a pod has volumes whose content changes.
func refreshable(pod *corev1.Pod) bool {
	for v := range usedVolumes(pod) {
		if payloadKind(v) != "" {
			return true
		}
	}
	return false
}

// stop ends the refreshing and waits until it no longer writes. A nil refresher has nothing to stop.
func (r *refresher) stop() {
	if r != nil {
		r.cancel()
		<-r.done
	}
}

func (r *refresher) update(pod *corev1.Pod) {
	r.mu.Lock()
	changed := r.pod != pod && !sameContent(r.pod, pod)
	r.pod = pod
	r.mu.Unlock()
	if changed {
		r.poke()
	}
}

// sameContent reports whether the fields of two states of a pod that its volumes can show are equal.
func sameContent(a, b *corev1.Pod) bool {
	sameLists := func(a, b []corev1.Container) bool {
		return slices.EqualFunc(a, b, func(a, b corev1.Container) bool { return codec.Equal(&a.Resources, &b.Resources) })
	}
	return a.Generation == b.Generation && maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) &&
		sameLists(a.Spec.Containers, b.Spec.Containers) && sameLists(a.Spec.InitContainers, b.Spec.InitContainers) &&
		codec.Equal(a.Spec.Resources, b.Spec.Resources)
}

// poke makes the refresher look at the volumes soon.
func (r *refresher) poke() {
	select {
	case r.nudge <- struct{}{}:
	default:
	}
}

func (r *refresher) run(ctx context.Context, k *Kubelet) {
	failures := 0
	for ctx.Err() == nil {
		r.mu.Lock()
		pod := r.pod
		r.mu.Unlock()
		wait := within(ctx, k)
		renew, err := r.once(ctx, k, pod)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			k.recorder.Event(pod, events.Warning, "FailedMount", err.Error())
			wait = min(wait, refreshPause<<min(failures, 6))
			failures++
		} else {
			failures = 0
		}
		r.rest(ctx, wait, renew)
	}
}

// within is how long to wait for the next look. Pods that start together do not stay in step.
func within(ctx context.Context, k *Kubelet) time.Duration {
	longest := refreshWithin(k.opts.SyncInterval)
	return longest - backoff.Spread(ctx, longest/3)
}

// rest waits until a token must be replaced, at most for wait, or for a poke. A zero renew means never.
func (r *refresher) rest(ctx context.Context, wait time.Duration, renew time.Time) {
	if !renew.IsZero() {
		wait = min(wait, max(time.Until(renew), time.Second))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-r.nudge:
	}
}

// once looks at all volumes. renew is when a token must be replaced; zero means never.
func (r *refresher) once(ctx context.Context, k *Kubelet, pod *corev1.Pod) (renew time.Time, err error) {
	var errs []error
	for v := range usedVolumes(pod) {
		if payloadKind(v) != "" {
			at, err := k.setUpVolume(ctx, pod, v, true)
			if err != nil {
				errs = append(errs, setUpError(v, err))
			}
			renew = earlier(renew, at)
		}
	}
	return renew, errors.Join(errs...)
}
