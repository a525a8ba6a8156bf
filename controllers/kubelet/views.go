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
func (v *views) get(uid types.UID) *view { return v.latest(uid).view }

func (v *views) latest(uid types.UID) seenView {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.seen[uid]
}

// now looks at a pod now.
func (v *views) now(ctx context.Context, uid types.UID) (*view, error) {
	l := v.begin()
	defer v.observe(l)
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

// founded looks at the first sandbox of a pod, which its worker has made; the runtime has nothing else of it.
func (v *views) founded(ctx context.Context, uid types.UID, box *sandbox) (*view, error) {
	l := v.begin()
	defer v.observe(l)
	f := &found{boxes: []*cri.PodSandbox{{Id: box.id, State: cri.PodSandboxState_SANDBOX_READY}}}
	now, err := v.rt.view(ctx, uid, f, nil)
	if err != nil {
		return nil, err
	}
	if !v.put(now, l) {
		return v.now(ctx, uid)
	}
	return now, nil
}

// grown looks at the first containers of a pod, which its worker has made in the only sandbox of a view; at
// all of the pod if by now there is a view of something else.
func (v *views) grown(ctx context.Context, before *view, made []string) (*view, error) {
	l := v.begin()
	defer v.observe(l)
	f := &found{}
	for _, id := range made {
		f.containers = append(f.containers, &cri.Container{Id: id, PodSandboxId: before.sandboxes[0].id})
	}
	now, err := v.rt.view(ctx, before.uid, f, nil)
	if err != nil {
		return nil, err
	}
	now.namespace, now.name, now.sandboxes = before.namespace, before.name, before.sandboxes
	v.mu.Lock()
	latest := v.seen[before.uid]
	// A list may have been looked at since, while the containers were being made.
	expected := latest.number < l.number && before.growsTo(latest.view, now)
	if expected {
		v.seen[before.uid] = seenView{now, l}
	}
	v.mu.Unlock()
	if !expected {
		return v.now(ctx, before.uid)
	}
	return now, nil
}

// observe measures a look that is over.
func (v *views) observe(l look) { v.metrics.looked.Observe(time.Since(l.at).Seconds()) }

// inspect looks at a pod of which the list of a look found so much. It returns false if there is a view of a
// later look by now, or if it failed, after which nothing is known of the pod.
func (v *views) inspect(ctx context.Context, uid types.UID, l look, f *found) bool {
	now, err := v.rt.view(ctx, uid, f, v.get(uid))
	if err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.seen[uid].number < l.number {
			delete(v.seen, uid)
		}
		return false
	}
	return v.put(now, l)
}

// put keeps a view unless there is one of a look that began later; then it returns false. Of a pod that is
// gone there is none.
func (v *views) put(now *view, l look) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.seen[now.uid].number > l.number:
		return false
	case len(now.sandboxes)+len(now.containers) == 0:
		delete(v.seen, now.uid)
	default:
		v.seen[now.uid] = seenView{now, l}
	}
	return true
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
	now.sandboxes = append(now.sandboxes, boxOf(st))
	for _, c := range list {
		now.containers = append(now.containers, containerOf(st.Id, c))
	}
	now.sort()
	v.looks++
	v.seen[uid] = seenView{now, look{v.looks, at}}
	return true
}
