package workload

import (
	"context"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// pods are the pods of the cluster as a watch shows them. It may be used concurrently.
type pods struct {
	mu      sync.Mutex
	known   map[string]map[string]*pod // by namespace and name
	sums    map[string]sums            // by namespace
	created map[types.NamespacedName]time.Time
	measure *measured     // what is being collected; nil if nothing is
	changed chan struct{} // closed at the next change
}

// sums count the pods of a namespace that exist.
type sums struct{ scheduled, attempted int }

type pod struct {
	labels    labels.Set
	node      string
	attempted bool // refused at least once
	scheduled time.Time
}

func newPods() *pods {
	return &pods{known: map[string]map[string]*pod{}, sums: map[string]sums{}, created: map[types.NamespacedName]time.Time{}, changed: make(chan struct{})}
}

// watch follows the pods until ctx ends.
func (p *pods) watch(ctx context.Context, conn client.Conn) error {
	for e, err := range client.For[*corev1.Pod](conn).Watch(ctx, client.WatchOptions{}) {
		if err != nil {
			return err
		}
		p.apply(e.Object, e.Type == client.Deleted)
	}
	return ctx.Err()
}

func (p *pods) apply(o *corev1.Pod, deleted bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	byName := p.known[o.Namespace]
	if byName == nil {
		byName = map[string]*pod{}
		p.known[o.Namespace] = byName
	}
	was := byName[o.Name]
	n := p.sums[o.Namespace]
	if was != nil {
		n.add(was, -1)
	}
	if deleted {
		delete(byName, o.Name)
	} else {
		is := &pod{labels: o.Labels, node: o.Spec.NodeName, attempted: wasAttempted(o)}
		if is.node != "" && was != nil && was.node != "" {
			is.scheduled = was.scheduled
		}
		if is.node != "" && (was == nil || was.node == "") {
			is.scheduled = now
			key := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
			if p.measure.selects(o.Namespace, o.Labels) {
				p.measure.scheduled(now)
				if begun, ok := p.created[key]; ok {
					p.measure.latencies = append(p.measure.latencies, now.Sub(begun))
				}
			}
		}
		byName[o.Name] = is
		n.add(is, 1)
	}
	p.sums[o.Namespace] = n
	close(p.changed)
	p.changed = make(chan struct{})
}

func (n *sums) add(p *pod, by int) {
	switch {
	case p.node != "":
		n.scheduled += by
	case p.attempted:
		n.attempted += by
	}
}

func wasAttempted(o *corev1.Pod) bool {
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return true
		}
	}
	return false
}

// made remembers when the request began that created a pod. The pod may be scheduled already.
func (p *pods) made(key types.NamespacedName, begun time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.created[key] = begun
	if o := p.known[key.Namespace][key.Name]; o != nil && o.node != "" && p.measure.selects(key.Namespace, o.labels) {
		p.measure.latencies = append(p.measure.latencies, o.scheduled.Sub(begun))
	}
}

// count returns how many pods of a namespace that have the labels are scheduled, and how many were attempted
// without success.
func (p *pods) count(namespace string, selected labels.Set) (scheduled, attempted int, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(selected) == 0 {
		return p.sums[namespace].scheduled, p.sums[namespace].attempted, p.changed
	}
	var n sums
	for _, o := range p.known[namespace] {
		if labels.SelectorFromSet(selected).Matches(o.labels) {
			n.add(o, 1)
		}
	}
	return n.scheduled, n.attempted, p.changed
}

// names returns the pods of a namespace that have the labels.
func (p *pods) names(namespace string, selected labels.Set) (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, o := range p.known[namespace] {
		if labels.SelectorFromSet(selected).Matches(o.labels) {
			names = append(names, name)
		}
	}
	return names
}

// every is how often a waiting step looks again, at most.
const every = 20 * time.Millisecond

// wait waits until want pods of a namespace that have the labels are scheduled, or attempted at least.
func (p *pods) wait(ctx context.Context, namespace string, selected labels.Set, want int, attempts bool) error {
	for {
		scheduled, attempted, changed := p.count(namespace, selected)
		if scheduled >= want || attempts && scheduled+attempted >= want {
			return nil
		}
		select {
		case <-ctx.Done():
			return &notScheduledError{namespace: namespace, want: want, scheduled: scheduled, attempted: attempted, cause: context.Cause(ctx)}
		case <-changed:
		}
		if len(selected) > 0 {
			_ = backoff.Sleep(ctx, every)
		}
	}
}
