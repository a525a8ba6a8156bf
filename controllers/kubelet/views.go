package kubelet

import (
	"context"
	"slices"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// views keeps what was last found of each pod in the runtime, by lists, events and those who have changed
// something and looked. Safe for concurrent use.
type views struct {
	rt      *runtime
	metrics *metrics

	mu    sync.Mutex
	looks uint64
	seen  map[types.UID]seenView
}

// seenView is a view and the look that it is of.
type seenView struct {
	*view
	look
}

// look is a look at the runtime: its number, of those that begin, and when it began.
type look struct {
	number uint64
	at     time.Time
}

func newViews(rt *runtime, m *metrics) *views {
	return &views{rt: rt, metrics: m, seen: map[types.UID]seenView{}}
}

// begin begins a look.
func (v *views) begin() look {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.looks++
	return look{v.looks, time.Now()}
}

// get returns the latest view of a pod; nil if there is none.
func (v *views) get(uid types.UID) *view {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.seen[uid].view
}

// now looks at a pod now.
func (v *views) now(ctx context.Context, uid types.UID) (*view, error) {
	l := v.begin()
	defer func() { v.metrics.looked.Observe(time.Since(l.at).Seconds()) }()
	f, err := v.rt.find(ctx, uid)
	if err != nil {
		return nil, err
	}
	now, err := v.rt.view(ctx, uid, f, v.get(uid))
	if err != nil {
		return nil, err
	}
	v.put(now, l)
	return now, nil
}

// inspect looks at a pod of which the list of a look found so much. After an error nothing is known of the
// pod.
func (v *views) inspect(ctx context.Context, uid types.UID, l look, f *found) error {
	now, err := v.rt.view(ctx, uid, f, v.get(uid))
	if err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.seen[uid].number < l.number {
			delete(v.seen, uid)
		}
		return err
	}
	v.put(now, l)
	return nil
}

// put keeps a view unless there is one of a look that began later. Of a pod that is gone there is none.
func (v *views) put(now *view, l look) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.seen[now.uid].number > l.number:
	case len(now.sandboxes)+len(now.containers) == 0:
		delete(v.seen, now.uid)
	default:
		v.seen[now.uid] = seenView{now, l}
	}
}

// merge takes up the state of one sandbox of a pod, with all its containers, as it was at that time. It
// returns false if what is known may be older or newer.
func (v *views) merge(uid types.UID, at time.Time, st *cri.PodSandboxStatus, list []*cri.ContainerStatus) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.seen[uid]
	if before.at.After(at) {
		return true
	}
	if before.at.Equal(at) {
		return false
	}
	now := &view{uid: uid, namespace: st.Labels[labelPodNamespace], name: st.Labels[labelPodName]}
	if before.view != nil {
		now.sandboxes = slices.DeleteFunc(slices.Clone(before.sandboxes), func(s sandbox) bool { return s.id == st.Id })
		now.containers = slices.DeleteFunc(slices.Clone(before.containers), func(c *container) bool { return c.sandboxID == st.Id })
	}
	box := sandbox{id: st.Id, attempt: st.GetMetadata().GetAttempt(), created: time.Unix(0, st.CreatedAt)}
	box.take(st)
	now.sandboxes = append(now.sandboxes, box)
	for _, c := range list {
		now.containers = append(now.containers, containerOf(&cri.Container{Id: c.Id, PodSandboxId: st.Id, Metadata: c.Metadata, Labels: c.Labels}, c))
	}
	now.sort()
	v.looks++
	v.seen[uid] = seenView{now, look{v.looks, at}}
	return true
}
