package endpointslice

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// topology has the CPUs of the zones and which Services are divided by them. It is lost with the process; the
// Services are found again as each is reconciled at the start. Safe for concurrent use.
type topology struct {
	nodes    informers.Lister[*corev1.Node]
	recorder *events.Recorder

	mu    sync.Mutex
	parts map[string]float64 // of the CPUs, by zone; nil if they have to be summed up again
	// said is what the last events said, "" that hints are on, by Service and family.
	said map[types.NamespacedName]map[discoveryv1.AddressType]string
}

func newTopology(nodes informers.Lister[*corev1.Node], recorder *events.Recorder) *topology {
	return &topology{nodes: nodes, recorder: recorder, said: map[types.NamespacedName]map[discoveryv1.AddressType]string{}}
}

// capacity is what a node adds to its zone.
type capacity struct {
	zone  string
	milli int64
	// counts is false for nodes that run no endpoints of users, or none now.
	counts bool
}

func capacityOf(n *corev1.Node) capacity {
	for _, label := range []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"} {
		if _, ok := n.Labels[label]; ok {
			return capacity{}
		}
	}
	ready := func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	if !slices.ContainsFunc(n.Status.Conditions, ready) {
		return capacity{}
	}
	cpu := n.Status.Allocatable[corev1.ResourceCPU]
	return capacity{n.Labels[corev1.LabelTopologyZone], cpu.MilliValue(), true}
}

// ofNode maps a node whose capacity has changed to the Services that are divided by it.
func (t *topology) ofNode(e informers.Event[*corev1.Node]) []reconcile.Request {
	var before, now capacity
	if e.Type != informers.Added {
		before = capacityOf(e.Old())
	}
	if e.Type != informers.Deleted {
		now = capacityOf(e.New())
	}
	if before == now {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts = nil
	return slices.SortedFunc(maps.Keys(t.said), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// partsOf returns the part of the CPUs that each zone has. There is none if a node's zone or CPUs are not
// known, or if all are in one zone.
func (t *topology) partsOf() (map[string]float64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parts != nil {
		return t.parts, nil
	}
	parts, all, known := map[string]float64{}, 0.0, true
	err := t.nodes.ViewAll(informers.ListOptions{}, func(n *corev1.Node) bool {
		c := capacityOf(n)
		if c.counts {
			parts[c.zone] += float64(c.milli)
			all += float64(c.milli)
			known = known && c.zone != "" && c.milli > 0
		}
		return known
	})
	if err != nil {
		return nil, err
	}
	if !known || len(parts) < 2 {
		clear(parts)
	}
	for z := range parts {
		parts[z] /= all
	}
	t.parts = parts
	return parts, nil
}

// hint sets the hints of the endpoints of a Service that is divided by the capacity of zones. have are its
// slices, and want those that it should have; most is how many endpoints a slice may have.
func (t *topology) hint(svc *corev1.Service, have, want []*discoveryv1.EndpointSlice, most int) error {
	if !byCapacity(svc) {
		t.forget(svc)
		return nil
	}
	parts, err := t.partsOf()
	if err != nil {
		return err
	}
	for _, family := range families(svc) {
		var ready []*discoveryv1.Endpoint
		for _, s := range want {
			for i := range s.Endpoints {
				if s.AddressType == family && *s.Endpoints[i].Conditions.Ready {
					ready = append(ready, &s.Endpoints[i])
				}
			}
		}
		problem := divide(ready, hintsOf(have, family), parts, len(ready) > most)
		t.say(svc, family, problem)
	}
	return nil
}

// hintsOf returns the zones of the hints of one family.
func hintsOf(have []*discoveryv1.EndpointSlice, family discoveryv1.AddressType) map[string]string {
	out := map[string]string{}
	for _, s := range have {
		for i := range s.Endpoints {
			if e := &s.Endpoints[i]; s.AddressType == family && e.Hints != nil && len(e.Hints.ForZones) == 1 {
				out[endpointKey(e)] = e.Hints.ForZones[0].Name
			}
		}
	}
	return out
}

// say records in an event that hints are on, or why not, if that is new.
func (t *topology) say(svc *corev1.Service, family discoveryv1.AddressType, problem string) {
	t.mu.Lock()
	said := t.said[svc.Key()]
	if said == nil {
		said = map[discoveryv1.AddressType]string{}
		t.said[svc.Key()] = said
	}
	last, known := said[family]
	said[family] = problem
	t.mu.Unlock()
	switch {
	case known && last == problem:
	case problem == "":
		t.recorder.Eventf(svc, corev1.EventTypeNormal, "TopologyAwareHintsEnabled", "Topology Aware Hints has been enabled, addressType: %s", family)
	default:
		t.recorder.Eventf(svc, corev1.EventTypeWarning, "TopologyAwareHintsDisabled", "%s, addressType: %s", problem, family)
	}
}

// forget takes a Service out that is not divided by the capacity of zones, or not any more.
func (t *topology) forget(svc *corev1.Service) {
	t.mu.Lock()
	said := t.said[svc.Key()]
	delete(t.said, svc.Key())
	t.mu.Unlock()
	for family, problem := range said {
		if problem == "" {
			t.recorder.Eventf(svc, corev1.EventTypeWarning, "TopologyAwareHintsDisabled", "Topology Aware Hints has been disabled, addressType: %s", family)
		}
	}
}

// remove takes a Service out that is gone.
func (t *topology) remove(svc types.NamespacedName) {
	t.mu.Lock()
	delete(t.said, svc)
	t.mu.Unlock()
}
