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
	// changed is told of each pod in which something started, ended or disappeared.
	changed func(types.UID)

	mu   sync.Mutex
	last time.Time // of the latest list that succeeded
	err  error
	seen map[types.UID]map[string]int32 // state by id of sandbox or container
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
	now, err := p.list(ctx)
	p.mu.Lock()
	p.err = err
	if err != nil {
		p.mu.Unlock()
		return
	}
	before := p.seen
	p.seen, p.last = now, time.Now()
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
	boxes, err := p.rt.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return nil, err
	}
	list, err := p.rt.ListContainers(ctx, &cri.ListContainersRequest{})
	if err != nil {
		return nil, err
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
	}
	for _, c := range list.Containers {
		add(c.Labels, c.Id, int32(c.State))
	}
	return now, nil
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
