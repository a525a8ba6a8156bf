package kubelet

import (
	"context"
	"maps"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// pleg finds what changed in the runtime by listing everything every so often and comparing.
type pleg struct {
	rt       *runtime
	interval time.Duration
	// changed is called for each pod in which a container started, ended or disappeared.
	changed func(types.UID)
	metrics *metrics

	mu    sync.Mutex
	last  time.Time // of the latest list that succeeded
	err   error
	seen  map[types.UID]map[string]int32 // state by id of sandbox or container
	tally tally
}

// tally counts what the runtime has.
type tally struct {
	pods       int // with a sandbox that is ready
	containers map[cri.ContainerState]int
}

// deadAfter is how long the runtime may stay silent before the node counts as not ready.
const deadAfter = 3 * time.Minute

func (p *pleg) run(ctx context.Context) {
	tick := time.NewTicker(p.interval)
	defer tick.Stop()
	for {
		p.relist(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *pleg) relist(ctx context.Context) {
	began := time.Now()
	now, counted, err := p.count(ctx)
	p.metrics.relist.Observe(time.Since(began).Seconds())
	p.mu.Lock()
	p.err = err
	if err != nil {
		p.mu.Unlock()
		return
	}
	before := p.seen
	if !p.last.IsZero() {
		p.metrics.relistInterval.Observe(began.Sub(p.last).Seconds())
	}
	p.seen, p.last, p.tally = now, time.Now(), counted
	p.metrics.relisted.Set(float64(p.last.Unix()))
	p.mu.Unlock()
	for uid, states := range now {
		if !maps.Equal(states, before[uid]) {
			p.changed(uid)
		}
	}
	for uid := range before {
		if _, ok := now[uid]; !ok {
			p.changed(uid)
		}
	}
}

func (p *pleg) list(ctx context.Context) (map[types.UID]map[string]int32, error) {
	now, _, err := p.count(ctx)
	return now, err
}

// counts returns how many pods and containers the runtime had at the latest list that succeeded.
func (p *pleg) counts() (pods int, containers map[cri.ContainerState]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tally.pods, p.tally.containers
}

func (p *pleg) count(ctx context.Context) (map[types.UID]map[string]int32, tally, error) {
	counted := tally{containers: map[cri.ContainerState]int{}}
	boxes, err := p.rt.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return nil, counted, err
	}
	list, err := p.rt.ListContainers(ctx, &cri.ListContainersRequest{})
	if err != nil {
		return nil, counted, err
	}
	now := map[types.UID]map[string]int32{}
	add := func(labels map[string]string, id string, state int32) {
		uid := types.UID(labels[labelPodUID])
		if uid == "" {
			return
		}
		if now[uid] == nil {
			now[uid] = map[string]int32{}
		}
		now[uid][id] = state
	}
	for _, b := range boxes.Items {
		add(b.Labels, b.Id, int32(b.State))
		if b.State == cri.PodSandboxState_SANDBOX_READY {
			counted.pods++
		}
	}
	for _, c := range list.Containers {
		add(c.Labels, c.Id, int32(c.State))
		counted.containers[c.State]++
	}
	return now, counted, nil
}

// pods are the pods the runtime holds something of.
func (p *pleg) pods() []types.UID {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []types.UID
	for uid := range p.seen {
		list = append(list, uid)
	}
	return list
}

// healthy reports when the runtime was last listed.
func (p *pleg) healthy() (last time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.err
}
