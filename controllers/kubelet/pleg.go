package kubelet

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// pleg finds what changed in the runtime by listing everything every so often and comparing the states. It
// looks closer at the pods that have changed only, keeps what it found in views, and then calls changed. Safe
// for concurrent use.
type pleg struct {
	rt       *runtime
	views    *views
	interval time.Duration
	// changed is called for each pod in which a container started, ended or disappeared.
	changed func(types.UID)
	// making reports whether a pod's worker makes a sandbox or container right now, and looks at it then.
	making  func(types.UID) bool
	metrics *metrics
	log     *slog.Logger
	// events is true if the runtime's events are used. While they come, lists are rare.
	events bool

	listing chan struct{} // has an element while a list is under way; no mutex, so that ctx ends the wait

	mu     sync.Mutex
	last   time.Time // of the latest list that succeeded
	err    error
	round  uint64
	states map[string]*held   // by id of sandbox or container
	pods   map[types.UID]int  // how many of states each pod has
	redo   map[types.UID]bool // those to be compared with what is known of them by the next list
	// limit is how long ago the latest list may be; 0 means deadAfter.
	limit time.Duration
}

// held is a sandbox or container at the latest list, or at a later event.
type held struct {
	uid   types.UID
	box   bool
	state int32
	round uint64 // of the latest list that has it; of the next one after an event
}

// deadAfter is how long the runtime may stay silent before the node counts as not ready.
const deadAfter = 3 * time.Minute

// How often the runtime is listed while its events come, and how long ago that may be then.
const (
	relistWithEvents = 5 * time.Minute
	deadWithEvents   = 10 * time.Minute
)

func newPleg(k *Kubelet) *pleg {
	return &pleg{rt: k.rt, views: k.views, interval: k.opts.RelistInterval, changed: k.wake, making: k.making, metrics: k.metrics, log: k.log, events: k.opts.ContainerEvents,
		listing: make(chan struct{}, 1), states: map[string]*held{}, pods: map[types.UID]int{}, redo: map[types.UID]bool{}}
}

func (p *pleg) run(ctx context.Context) {
	var following sync.WaitGroup
	defer following.Wait()
	flow := &eventFlow{pleg: p, changed: make(chan struct{}, 1)}
	if p.events {
		following.Go(func() { flow.run(ctx) })
	}
	for {
		p.relist(ctx)
		interval, flows := p.interval, flow.flows()
		p.mu.Lock()
		p.limit = deadAfter
		if flows {
			p.limit = deadWithEvents
		}
		if flows && p.err == nil && len(p.redo) == 0 {
			interval = max(interval, relistWithEvents)
		}
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		case <-flow.changed: // what happened while no events came is in no event
		}
	}
}

// relist lists everything, looks at what has changed and reports it.
func (p *pleg) relist(ctx context.Context) {
	select {
	case p.listing <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-p.listing }()
	look := p.views.begin()
	began := look.at
	boxes, containers, err := p.rt.listAll(ctx)
	p.metrics.relist.Observe(time.Since(began).Seconds())
	p.mu.Lock()
	p.err = err
	if err != nil {
		p.mu.Unlock()
		return
	}
	if !p.last.IsZero() {
		p.metrics.relistInterval.Observe(began.Sub(p.last).Seconds())
	}
	changed := p.compare(boxes, containers)
	p.last = time.Now()
	p.metrics.relisted.Set(float64(p.last.Unix()))
	p.mu.Unlock()
	if len(changed) == 0 {
		return
	}
	ours := map[types.UID]*found{}
	for uid := range changed {
		ours[uid] = &found{}
	}
	for _, b := range boxes {
		if f := ours[types.UID(b.Labels[labelPodUID])]; f != nil {
			f.boxes = append(f.boxes, b)
		}
	}
	for _, c := range containers {
		if f := ours[types.UID(c.Labels[labelPodUID])]; f != nil {
			f.containers = append(f.containers, c)
		}
	}
	for uid, f := range ours {
		switch v := p.views.latest(uid); {
		case v.shows(f): // who made it so has looked
			if changed[uid] {
				p.changed(uid)
			}
		case v.number > look.number:
			// It is newer than the list, but may not have all that changed meanwhile.
			p.again(uid)
			p.changed(uid)
		case p.making(uid):
			p.again(uid)
		default:
			continue
		}
		delete(ours, uid)
	}
	p.inspect(ctx, look, ours)
}

// How many pods are looked at side by side, and how long that may take for each.
const (
	inspections    = 8
	inspectionTime = 10 * time.Second
)

// inspect looks at pods of a list and reports them. One at which the runtime hangs is looked at again.
func (p *pleg) inspect(ctx context.Context, l look, pods map[types.UID]*found) {
	var looking sync.WaitGroup
	defer looking.Wait()
	slots := make(chan struct{}, inspections)
	for _, uid := range slices.Sorted(maps.Keys(pods)) {
		slots <- struct{}{}
		looking.Go(func() {
			defer func() { <-slots }()
			call, cancel := context.WithTimeout(ctx, inspectionTime)
			defer cancel()
			if !p.views.inspect(call, uid, l, pods[uid]) {
				p.again(uid)
			}
			p.changed(uid)
		})
	}
}

// again lets the next list compare a pod with what is known of it, even if nothing changes until then.
func (p *pleg) again(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.redo[uid] = true
}

// compare takes up a list and returns the pods that differ from the one before, and as false those to be
// compared again. It allocates nothing for others. The lock is held.
func (p *pleg) compare(boxes []*cri.PodSandbox, containers []*cri.Container) (changed map[types.UID]bool) {
	p.round++
	there := 0
	mark := func(uid types.UID) {
		if changed == nil {
			changed = map[types.UID]bool{}
		}
		changed[uid] = true
	}
	see := func(box bool, labels map[string]string, id string, state int32) {
		h := p.states[id]
		if h == nil {
			uid := types.UID(labels[labelPodUID])
			if uid == "" {
				return
			}
			h = &held{uid: uid, box: box, state: -1}
			p.states[id] = h
			p.pods[uid]++
		}
		if h.state != state {
			h.state = state
			mark(h.uid)
		}
		if h.round != p.round {
			h.round = p.round
			there++
		}
	}
	for _, b := range boxes {
		see(true, b.Labels, b.Id, int32(b.State))
	}
	for _, c := range containers {
		see(false, c.Labels, c.Id, int32(c.State))
	}
	if there < len(p.states) {
		for id, h := range p.states {
			if h.round == p.round {
				continue
			}
			mark(h.uid)
			delete(p.states, id)
			if p.pods[h.uid]--; p.pods[h.uid] == 0 {
				delete(p.pods, h.uid)
			}
		}
	}
	for uid := range p.redo {
		if !changed[uid] {
			mark(uid)
			changed[uid] = false
		}
	}
	clear(p.redo)
	return changed
}

// note takes up what is known of a pod after an event. A list that is under way may be of before that, so it
// takes nothing of it away.
func (p *pleg) note(uid types.UID) {
	v := p.views.get(uid)
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.states, func(_ string, h *held) bool { return h.uid == uid })
	delete(p.pods, uid)
	if v == nil {
		return
	}
	p.pods[uid] = len(v.sandboxes) + len(v.containers)
	for _, s := range v.sandboxes {
		state := cri.PodSandboxState_SANDBOX_NOTREADY
		if s.ready {
			state = cri.PodSandboxState_SANDBOX_READY
		}
		p.states[s.id] = &held{uid, true, int32(state), p.round + 1}
	}
	for _, c := range v.containers {
		p.states[c.id] = &held{uid, false, int32(c.state), p.round + 1}
	}
}

// listAll lists what the runtime has.
func (r *runtime) listAll(ctx context.Context) ([]*cri.PodSandbox, []*cri.Container, error) {
	boxes, err := r.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return nil, nil, err
	}
	list, err := r.ListContainers(ctx, &cri.ListContainersRequest{})
	if err != nil {
		return nil, nil, err
	}
	return boxes.Items, list.Containers, nil
}

// counts returns how many pods with a sandbox that is ready and how many containers the runtime has.
func (p *pleg) counts() (pods int, containers map[cri.ContainerState]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	containers = map[cri.ContainerState]int{}
	for _, h := range p.states {
		switch {
		case !h.box:
			containers[cri.ContainerState(h.state)]++
		case cri.PodSandboxState(h.state) == cri.PodSandboxState_SANDBOX_READY:
			pods++
		}
	}
	return pods, containers
}

// held are the pods the runtime holds something of.
func (p *pleg) held() map[types.UID]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := make(map[types.UID]bool, len(p.pods))
	for uid := range p.pods {
		set[uid] = true
	}
	return set
}

// holds reports whether the runtime held something of a pod at the latest list, and whether there is one.
func (p *pleg) holds(uid types.UID) (holds, listed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pods[uid] > 0, !p.last.IsZero()
}

// healthy reports when the runtime was last listed.
func (p *pleg) healthy() (last time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.err
}

// patience is how long ago the latest list may be.
func (p *pleg) patience() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(p.limit, deadAfter)
}

// answers reports whether the runtime has been listed since a time. Where lists are rare it is listed now.
func (p *pleg) answers(ctx context.Context, since time.Time) bool {
	last, _ := p.healthy()
	if !last.After(since) && p.patience() > deadAfter {
		call, cancel := context.WithTimeout(ctx, inspectionTime)
		defer cancel()
		p.relist(call)
		last, _ = p.healthy()
	}
	return last.After(since)
}

// recent returns what the runtime holds of a pod, as of the latest list or of a later look, and looks if
// neither is known. It may be out of date by the interval of the lists.
func (p *pleg) recent(ctx context.Context, uid types.UID) (*view, error) {
	if v := p.views.get(uid); v != nil {
		return v, nil
	}
	if holds, listed := p.holds(uid); !holds && listed {
		return &view{uid: uid}, nil
	}
	return p.views.now(ctx, uid)
}
