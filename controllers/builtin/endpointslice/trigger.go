package endpointslice

import (
	"maps"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// triggers are the times of the changes that are in the written endpoints of Services, so that those of the
// next changes are known: proxies measure from there how long a change took to arrive. They are lost with the
// process; the first write for a Service then has the time of its creation. Safe for concurrent use.
type triggers struct {
	mu sync.Mutex
	of map[types.NamespacedName]map[string]time.Time // by Service, by pod
}

func newTriggers() *triggers { return &triggers{of: map[types.NamespacedName]map[string]time.Time{}} }

// since returns when the first of the changes happened that are not in the endpoints of a Service yet, zero
// if no time is known, and what is to be kept once they are written.
func (t *triggers) since(svc *corev1.Service, pods []*corev1.Pod) (first time.Time, now map[string]time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, known := t.of[svc.Key()]
	now = make(map[string]time.Time, len(pods))
	for _, p := range pods {
		c := podcontrol.Condition(p, corev1.PodReady)
		if c == nil || c.LastTransitionTime.IsZero() {
			continue
		}
		at := c.LastTransitionTime.Time
		now[p.Name] = at
		if at.After(before[p.Name]) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !known {
		first = svc.CreationTimestamp.Time
	}
	return first, now
}

// keep notes what since has returned, because it is written.
func (t *triggers) keep(svc types.NamespacedName, now map[string]time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[svc] = now
}

// forget drops a Service.
func (t *triggers) forget(svc types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, svc)
}

// stamp sets the annotation of what is about to be written to the time of a change, and removes an older one
// if that is zero.
func stamp(obj metav1.Object, first time.Time) {
	m := metav1.MetaOf(obj)
	m.Annotations = maps.Clone(m.Annotations)
	delete(m.Annotations, corev1.EndpointsLastChangeTriggerTime)
	if first.IsZero() {
		return
	}
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[corev1.EndpointsLastChangeTriggerTime] = first.UTC().Format(time.RFC3339Nano)
}
