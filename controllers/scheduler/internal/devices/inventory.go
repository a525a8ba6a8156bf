package devices

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
)

// Inventory holds the devices that slices publish. It is immutable but for caches.
type Inventory struct {
	local  map[string][]*resourcev1.ResourceSlice // by the name of their only node
	shared []*resourcev1.ResourceSlice
	pools  map[poolID][]*resourcev1.ResourceSlice
	// selected are the answers of selectors.
	selected map[selection]bool
	terms    map[*corev1.NodeSelector][]nodefit.Term
}

type poolID struct{ driver, pool string }

func idOf(s *resourcev1.ResourceSlice) poolID { return poolID{s.Spec.Driver, s.Spec.Pool.Name} }

// NewInventory returns the inventory of slices.
func NewInventory(all iter.Seq[*resourcev1.ResourceSlice]) *Inventory {
	inv := &Inventory{local: map[string][]*resourcev1.ResourceSlice{}, pools: map[poolID][]*resourcev1.ResourceSlice{},
		selected: map[selection]bool{}, terms: map[*corev1.NodeSelector][]nodefit.Term{}}
	sorted := slices.SortedFunc(all, func(a, b *resourcev1.ResourceSlice) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range sorted {
		inv.pools[idOf(s)] = append(inv.pools[idOf(s)], s)
		if name := deref(s.Spec.NodeName); name != "" && len(s.Spec.SharedCounters) == 0 {
			inv.local[name] = append(inv.local[name], s)
		} else {
			inv.shared = append(inv.shared, s)
		}
	}
	return inv
}

// pool holds the devices of a pool that a node has access to.
type pool struct {
	id poolID
	// incomplete is set while not all slices of the pool's generation are there; invalid says what is wrong
	// with it. Such a pool has no devices.
	incomplete bool
	invalid    string
	devices    []*device
	// elsewhere are devices that the node has no access to, which consume the same counters.
	elsewhere []*device
	counters  map[string]map[string]resource.Quantity
	waits     bool // one of the devices has binding conditions
	// free are the counters that no allocated device consumes; nil until it is needed.
	free map[string]map[string]resource.Quantity
}

// device is a device of a slice.
type device struct {
	*resourcev1.Device
	id    ID
	slice *resourcev1.ResourceSlice
	pool  *pool
}

// poolsOf are the pools that a node has access to, those with binding conditions last.
func (inv *Inventory) poolsOf(n *corev1.Node) []*pool {
	byID := map[poolID][]*resourcev1.ResourceSlice{}
	for _, list := range [][]*resourcev1.ResourceSlice{inv.local[n.Name], inv.shared} {
		for _, s := range list {
			if !inv.reaches(s, n) {
				continue
			}
			id, have := idOf(s), byID[idOf(s)]
			switch {
			case len(have) == 0 || s.Spec.Pool.Generation > have[0].Spec.Pool.Generation:
				byID[id] = []*resourcev1.ResourceSlice{s}
			case s.Spec.Pool.Generation == have[0].Spec.Pool.Generation:
				byID[id] = append(have, s)
			}
		}
	}
	var out []*pool
	for id, list := range byID {
		if p := inv.build(id, list); p != nil {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *pool) int {
		if a.waits != b.waits {
			return map[bool]int{false: -1, true: 1}[a.waits]
		}
		return cmp.Or(cmp.Compare(a.id.driver, b.id.driver), cmp.Compare(a.id.pool, b.id.pool))
	})
	return out
}

// reaches reports whether a slice has devices for a node, or counters.
func (inv *Inventory) reaches(s *resourcev1.ResourceSlice, n *corev1.Node) bool {
	sp := &s.Spec
	switch {
	case len(sp.SharedCounters) > 0:
		return true
	case isTrue(sp.PerDeviceNodeSelection):
		return slices.ContainsFunc(sp.Devices, func(d resourcev1.Device) bool { return inv.matches(n, d.NodeName, d.AllNodes, d.NodeSelector) })
	}
	return inv.matches(n, sp.NodeName, sp.AllNodes, sp.NodeSelector)
}

// Count is how many devices of a class a node has access to, whatever their pools, and how many of them
// claims have. It is not known if a selector fails.
func (inv *Inventory) Count(n *corev1.Node, class *resourcev1.DeviceClass, by *Selectors, a *Allocated) (all, taken int64, known bool) {
	for _, list := range [][]*resourcev1.ResourceSlice{inv.local[n.Name], inv.shared} {
		for _, s := range list {
			if !inv.reaches(s, n) {
				continue
			}
			for i := range s.Spec.Devices {
				d := &device{Device: &s.Spec.Devices[i], id: ID{s.Spec.Driver, s.Spec.Pool.Name, s.Spec.Devices[i].Name}, slice: s}
				if isTrue(s.Spec.PerDeviceNodeSelection) && !inv.matches(n, d.NodeName, d.AllNodes, d.NodeSelector) {
					continue
				}
				ok, err := inv.isOf(d, class, by)
				if err != nil {
					return 0, 0, false
				}
				if !ok {
					continue
				}
				if all++; a.any(d.id) {
					taken++
				}
			}
		}
	}
	return all, taken, true
}

// isOf reports whether a device is of a class.
func (inv *Inventory) isOf(d *device, class *resourcev1.DeviceClass, by *Selectors) (bool, error) {
	for _, s := range class.Spec.Selectors {
		if s.CEL == nil {
			continue
		}
		if ok, err := by.matches(inv, d, s.CEL.Expression); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (inv *Inventory) matches(n *corev1.Node, name *string, all *bool, selector *corev1.NodeSelector) bool {
	switch {
	case deref(name) != "":
		return *name == n.Name
	case isTrue(all):
		return true
	case selector == nil:
		return false
	}
	terms, ok := inv.terms[selector]
	if !ok {
		terms = nodefit.CompileAll(selector)
		inv.terms[selector] = terms
	}
	return nodefit.MatchesAny(terms, n)
}

// build returns the pool of slices that reach a node, nil if there is a newer generation.
func (inv *Inventory) build(id poolID, reach []*resourcev1.ResourceSlice) *pool {
	p := &pool{id: id}
	generation, want := reach[0].Spec.Pool.Generation, reach[0].Spec.Pool.ResourceSliceCount
	others := []*resourcev1.ResourceSlice{}
	if int64(len(reach)) != want {
		total := 0
		for _, s := range inv.pools[id] {
			switch {
			case s.Spec.Pool.Generation > generation:
				return nil
			case s.Spec.Pool.Generation < generation:
				continue
			}
			if total++; !slices.Contains(reach, s) {
				others = append(others, s)
			}
		}
		if p.incomplete = int64(total) != want; p.incomplete {
			return p
		}
	}
	// Those of one node come first, and then those of several: the order is that of their names.
	slices.SortFunc(reach, func(a, b *resourcev1.ResourceSlice) int { return cmp.Compare(a.Name, b.Name) })
	p.fill(reach, others)
	if p.invalid = p.wrong(); p.invalid != "" {
		p.devices = nil
	}
	p.waits = slices.ContainsFunc(p.devices, func(d *device) bool { return d.BindingConditions != nil })
	return p
}

// fill takes in the devices and the counters of slices.
func (p *pool) fill(reach, others []*resourcev1.ResourceSlice) {
	p.counters = map[string]map[string]resource.Quantity{}
	for _, s := range reach {
		for i := range s.Spec.SharedCounters {
			set := &s.Spec.SharedCounters[i]
			if p.counters[set.Name] != nil {
				p.invalid = "duplicate counter set name " + set.Name
			}
			p.counters[set.Name] = map[string]resource.Quantity{}
			for name, c := range set.Counters {
				p.counters[set.Name][name] = c.Value
			}
		}
	}
	list := func(of []*resourcev1.ResourceSlice) (out []*device) {
		for _, s := range of {
			for i := range s.Spec.Devices {
				d := &s.Spec.Devices[i]
				out = append(out, &device{d, ID{p.id.driver, p.id.pool, d.Name}, s, p})
			}
		}
		return out
	}
	p.devices, p.elsewhere = list(reach), list(others)
}

// wrong says what makes the pool unusable, nothing if it is not.
func (p *pool) wrong() string {
	if p.invalid != "" {
		return p.invalid
	}
	names := map[string]bool{}
	for _, d := range p.devices {
		if names[d.Name] {
			return "duplicate device name " + d.Name
		}
		names[d.Name] = true
	}
	for _, list := range [][]*device{p.devices, p.elsewhere} {
		for _, d := range list {
			for _, c := range d.ConsumesCounters {
				set := p.counters[c.CounterSet]
				if set == nil {
					return fmt.Sprintf("counter set %s not found", c.CounterSet)
				}
				for name := range c.Counters {
					if _, ok := set[name]; !ok {
						return fmt.Sprintf("counter %s not found in counter set %s", name, c.CounterSet)
					}
				}
			}
		}
	}
	return ""
}

// available are the counters of the pool that no allocated device consumes. They may be negative.
func (p *pool) available(a *Allocated) map[string]map[string]resource.Quantity {
	if p.free != nil {
		return p.free
	}
	p.free = map[string]map[string]resource.Quantity{}
	for name, set := range p.counters {
		p.free[name] = map[string]resource.Quantity{}
		for counter, q := range set {
			p.free[name][counter] = q
		}
	}
	for _, list := range [][]*device{p.devices, p.elsewhere} {
		for _, d := range list {
			if a.any(d.id) {
				d.consume(p.free, -1)
			}
		}
	}
	return p.free
}

// consume adds what the device consumes to counters, or with -1 takes it away.
func (d *device) consume(counters map[string]map[string]resource.Quantity, by int) {
	for _, c := range d.ConsumesCounters {
		set := counters[c.CounterSet]
		if set == nil {
			set = map[string]resource.Quantity{}
			counters[c.CounterSet] = set
		}
		for name, counter := range c.Counters {
			q := set[name]
			if by < 0 {
				q.Sub(counter.Value)
			} else {
				q.Add(counter.Value)
			}
			set[name] = q
		}
	}
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
