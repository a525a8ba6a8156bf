package nodelifecycle

import (
	"sync"
	"time"
)

// zones limits how fast nodes of a failure zone get NoExecute taints: when much of a zone fails at once, the
// cause is more likely the network than the nodes.
type zones struct {
	mu     sync.Mutex
	byName map[string]*zone
	zoneOf map[string]string // by node name
	// cutOff is true while no node at all is ready: it is more likely that we are cut off than that all nodes
	// died. rejoined is when it was last true.
	cutOff   bool
	rejoined time.Time
}

type zone struct {
	ready map[string]bool // by node name
	next  time.Time       // the earliest time of the next eviction
}

// note notes a node's state.
func (z *zones) note(name, node string, ready bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.noteLocked(name, node, ready)
}

func (z *zones) noteLocked(name, node string, ready bool) *zone {
	if z.byName == nil {
		z.byName, z.zoneOf = map[string]*zone{}, map[string]string{}
	}
	if was, ok := z.zoneOf[node]; ok && was != name {
		delete(z.byName[was].ready, node)
	}
	z.zoneOf[node] = name
	zn := z.byName[name]
	if zn == nil {
		zn = &zone{ready: map[string]bool{}}
		z.byName[name] = zn
	}
	zn.ready[node] = ready
	return zn
}

// allow notes a node's state and says whether it may have a NoExecute taint now. A node that has one
// (evicted) keeps it and costs nothing, until no node is ready any more: then those that fell silent first
// lose theirs. When nodes come back, the others have the grace period to do so too. early says that the
// node's state is too new to act on.
func (z *zones) allow(name, node string, ready, evicted, early bool, opts *Options, now time.Time) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	zn := z.noteLocked(name, node, ready)
	cutOff := z.allDown()
	if z.cutOff && !cutOff {
		z.rejoined = now
	}
	z.cutOff = cutOff
	switch {
	case ready, cutOff:
		return false
	case evicted:
		return true
	}
	rate := zn.rate(opts)
	rejoining := !z.rejoined.IsZero() && now.Sub(z.rejoined) <= opts.GracePeriod
	if early || rejoining || rate <= 0 || now.Before(zn.next) {
		return false
	}
	zn.next = now.Add(time.Duration(float64(time.Second) / rate))
	return true
}

func (z *zones) allDown() bool {
	for _, zn := range z.byName {
		for _, ready := range zn.ready {
			if ready {
				return false
			}
		}
	}
	return true
}

func (z *zone) rate(opts *Options) float64 {
	bad := 0
	for _, ready := range z.ready {
		if !ready {
			bad++
		}
	}
	total := len(z.ready)
	switch {
	// A zone that is down as a whole is handled at the normal rate: there is no healthy part to protect.
	case bad == total, bad <= 2, float64(bad)/float64(total) < opts.UnhealthyThreshold:
		return opts.EvictionRate
	case total > opts.LargeZone:
		return opts.SecondaryEvictionRate
	}
	return 0
}

func (z *zones) forget(node string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if name, ok := z.zoneOf[node]; ok {
		delete(z.byName[name].ready, node)
		delete(z.zoneOf, node)
	}
}
