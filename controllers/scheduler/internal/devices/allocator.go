package devices

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Allocator allocates devices. All fields but Timeout and Done are required.
type Allocator struct {
	Inventory *Inventory
	Allocated *Allocated
	Selectors *Selectors
	// Classes returns a class by its name, nil if there is none.
	Classes func(name string) *resourcev1.DeviceClass
	// Timeout limits the search for one node; 0 sets no limit.
	Timeout time.Duration
	// Done ends the search as the Timeout does when it is closed; nil never does.
	Done <-chan struct{}
	// ShareID returns the identifier of the share of a device, the nth that is allocated for a claim.
	ShareID func(c *resourcev1.ResourceClaim, n int) types.UID
}

// ErrTimeout is returned by Allocate when the search took too long.
var ErrTimeout = errors.New("timed out trying to allocate devices")

// errInvalid says that no devices were found, and that there are pools which cannot be used.
var errInvalid = errors.New("invalid resource pools were encountered")

// IsRefusal reports whether an error of Allocate concerns the node only. Others say what is wrong with a
// claim or its class.
func IsRefusal(err error) bool { return errors.Is(err, errInvalid) }

// Allocate returns the allocations of claims that have none, in their order, such that a node has access to
// all devices; nil if there are not enough for all claims.
func (a *Allocator) Allocate(n *corev1.Node, claims []*resourcev1.ResourceClaim) ([]*resourcev1.AllocationResult, error) {
	s := &search{Allocator: a, node: n, pools: a.Inventory.poolsOf(n), taken: map[ID]map[int]bool{}, sharing: map[ID]*shares{},
		counters: map[poolID]map[string]map[string]resource.Quantity{}}
	if a.Timeout > 0 {
		s.until = time.Now().Add(a.Timeout)
	}
	for _, p := range s.pools {
		s.devices = append(s.devices, p.devices...)
	}
	for _, c := range claims {
		t := &task{claim: c}
		var err error
		if t.requests, err = s.requestsOf(c); err != nil {
			return nil, err
		}
		least := int64(0)
		for _, w := range t.requests {
			least += w.least()
		}
		if least > resourcev1.AllocationResultsMaxSize {
			return nil, fmt.Errorf("claim %s: number of requested devices %d exceeds the claim limit of %d", c.Key(), least, resourcev1.AllocationResultsMaxSize)
		}
		if t.constraints, err = constraintsOf(c); err != nil {
			return nil, err
		}
		s.tasks = append(s.tasks, t)
	}
	switch found, err := s.claim(0); {
	case err != nil:
		return nil, err
	case found == done:
		return s.results(), nil
	}
	if slices.ContainsFunc(s.pools, func(p *pool) bool { return p.invalid != "" }) {
		return nil, errInvalid
	}
	return nil, nil
}

func constraintsOf(c *resourcev1.ResourceClaim) (out []*constraint, err error) {
	for i := range c.Spec.Devices.Constraints {
		switch x := &c.Spec.Devices.Constraints[i]; {
		case x.MatchAttribute != nil:
			out = append(out, &constraint{requests: x.Requests, attribute: *x.MatchAttribute})
		case x.DistinctAttribute != nil:
			out = append(out, &constraint{requests: x.Requests, attribute: *x.DistinctAttribute, distinct: true})
		default:
			return nil, fmt.Errorf("claim %s, constraint #%d: empty constraint (unsupported constraint type?)", c.Key(), i)
		}
	}
	return out, nil
}

// search is one call of Allocate. It goes through the requests of all claims, one device after the other, and
// goes back when one cannot be served.
type search struct {
	*Allocator
	node    *corev1.Node
	pools   []*pool
	devices []*device
	tasks   []*task
	until   time.Time
	steps   int

	// taken are the devices that the claims of this search have, by the number of the claim; sharing is what
	// they have of shared ones, and counters what the devices consume.
	taken    map[ID]map[int]bool
	sharing  map[ID]*shares
	counters map[poolID]map[string]map[string]resource.Quantity
}

// task is a claim with what was found for it.
type task struct {
	claim       *resourcev1.ResourceClaim
	requests    []*wanted
	constraints []*constraint
	picked      []pick
}

// pick is a device for a request.
type pick struct {
	*device
	request *request
	take    amounts // of a device that is shared
	shared  bool
	counted bool // its counters
}

// found is how a part of the search ended. A claim that would have too many devices exceeds; trying other
// devices for its earlier requests cannot help then, other alternatives can.
type found int

const (
	none found = iota
	exceeds
	done
)

// claim serves the claims from a number on.
func (s *search) claim(i int) (found, error) {
	if i == len(s.tasks) {
		return done, nil
	}
	f, err := s.request(i, 0)
	if f == exceeds && i > 0 {
		f = none // another allocation of an earlier claim may help
	}
	return f, err
}

// request serves the requests of a claim from a number on, and the claims after it.
func (s *search) request(i, j int) (found, error) {
	if err := s.step(); err != nil {
		return none, err
	}
	t := s.tasks[i]
	if j == len(t.requests) {
		return s.claim(i + 1)
	}
	w, all := t.requests[j], exceeds
	for k, r := range w.alternatives {
		f, err := s.device(i, j, r, 0, 0)
		if err != nil {
			return none, err
		}
		switch f {
		case done:
			w.chosen = k
			return done, nil
		case none:
			all = none
		}
	}
	return all, nil
}

// device finds the nth device of a request, among those from a place on: the order within a request does not
// matter.
func (s *search) device(i, j int, r *request, n int64, from int) (found, error) {
	if err := s.step(); err != nil {
		return none, err
	}
	t := s.tasks[i]
	switch {
	case r.mode == resourcev1.DeviceAllocationModeAll && len(r.all) == 0:
		return none, nil
	case n >= r.n:
		return s.request(i, j+1)
	case int64(len(t.picked))+r.n-n > resourcev1.AllocationResultsMaxSize:
		return exceeds, nil
	case r.mode == resourcev1.DeviceAllocationModeAll:
		return s.all(i, j, r, n)
	}
	for at := from; at < len(s.devices); at++ {
		d := s.devices[at]
		if s.busy(i, r, d) {
			continue
		}
		if ok, err := s.selects(t.claim, r, d); err != nil {
			return none, err
		} else if !ok || s.pick(i, r, d) != picked {
			continue
		}
		f, err := s.device(i, j, r, n+1, at+1)
		if f == done && err == nil {
			return done, nil
		}
		s.drop(i)
		if err != nil || f == exceeds {
			return f, err
		}
	}
	return none, nil
}

// all takes the nth device of a request for all of them. There is no other choice.
func (s *search) all(i, j int, r *request, n int64) (found, error) {
	t, d := s.tasks[i], r.all[n]
	if s.busy(i, r, d) {
		return none, nil
	}
	switch s.pick(i, r, d) {
	case violates:
		return none, fmt.Errorf("claim %s, request %s: cannot add device %s because a claim constraint would not be satisfied", t.claim.Key(), r.full(), d.id)
	case unusable:
		return none, nil
	}
	f, err := s.device(i, j, r, n+1, 0)
	if f != done || err != nil {
		s.drop(i)
	}
	return f, err
}

// stepsPerLook is the number of steps after which the time is looked at.
const stepsPerLook = 256

func (s *search) step() error {
	if s.steps++; s.steps%stepsPerLook != 0 {
		return nil
	}
	select {
	case <-s.Done:
		return ErrTimeout
	default:
	}
	if !s.until.IsZero() && time.Now().After(s.until) {
		return ErrTimeout
	}
	return nil
}

// busy reports whether a claim has the device. For administrative access only the claim itself counts.
func (s *search) busy(i int, r *request, d *device) bool {
	if r.admin {
		return s.taken[d.id][i]
	}
	return s.Allocated.whole[d.id] > 0 || len(s.taken[d.id]) > 0
}

// hasRoom reports whether a device has capacities beside what claims have of it.
func (s *search) hasRoom(d *device, take amounts) bool {
	var taken []amounts
	for _, of := range []map[ID]*shares{s.Allocated.shares, s.sharing} {
		if x := of[d.id]; x != nil {
			taken = append(taken, x.used)
		}
	}
	return fits(take, d, taken...)
}

// picking is what became of picking a device.
type picking int

const (
	unusable picking = iota
	violates         // a constraint
	picked
)

// pick takes a device that is selected for a request, if it can be had.
func (s *search) pick(i int, r *request, d *device) picking {
	t := s.tasks[i]
	p := pick{device: d, request: r, shared: isTrue(d.AllowMultipleAllocations)}
	// A device that is shared consumes its counters once.
	if p.counted = len(d.ConsumesCounters) > 0 && !(p.shared && (s.Allocated.shares[d.id] != nil || s.sharing[d.id] != nil)); p.counted && !s.count(d) {
		return unusable
	}
	took := unusable
	take, ok := consumed(r.capacity, d)
	defer func() {
		if took != picked && p.counted {
			d.consume(s.counters[d.pool.id], -1)
		}
	}()
	if tainted(d, r) {
		return took
	}
	for k, c := range t.constraints {
		if c.add(r, d) {
			continue
		}
		for _, before := range t.constraints[:k] {
			before.remove(r)
		}
		took = violates
		return took
	}
	if !ok || !s.hasRoom(d, take) {
		for _, c := range t.constraints {
			c.remove(r)
		}
		return took
	}
	took = picked
	if p.shared {
		p.take = take
		x := s.sharing[d.id]
		if x == nil {
			x = &shares{used: amounts{}}
			s.sharing[d.id] = x
		}
		x.n++
		x.used.add(take, 1)
	} else {
		if s.taken[d.id] == nil {
			s.taken[d.id] = map[int]bool{}
		}
		s.taken[d.id][i] = true
	}
	t.picked = append(t.picked, p)
	return took
}

// count lets a device consume its counters, if they are enough.
func (s *search) count(d *device) bool {
	free, used := d.pool.available(s.Allocated), s.counters[d.pool.id]
	if used == nil {
		used = map[string]map[string]resource.Quantity{}
		s.counters[d.pool.id] = used
	}
	d.consume(used, 1)
	for set, counters := range free {
		for name, q := range counters {
			if q.Cmp(used[set][name]) < 0 {
				d.consume(used, -1)
				return false
			}
		}
	}
	return true
}

// drop takes back the last device of a claim.
func (s *search) drop(i int) {
	t := s.tasks[i]
	last := len(t.picked) - 1
	p := t.picked[last]
	t.picked = t.picked[:last]
	if p.shared {
		x := s.sharing[p.id]
		x.used.add(p.take, -1)
		if x.n--; x.n == 0 {
			delete(s.sharing, p.id)
		}
	} else if delete(s.taken[p.id], i); len(s.taken[p.id]) == 0 {
		delete(s.taken, p.id)
	}
	for _, c := range t.constraints {
		c.remove(p.request)
	}
	if p.counted {
		p.consume(s.counters[p.pool.id], -1)
	}
}

// tainted reports whether a taint that the request does not tolerate prevents the allocation of a device.
func tainted(d *device, r *request) bool {
	return slices.ContainsFunc(d.Taints, func(t resourcev1.DeviceTaint) bool {
		prevents := t.Effect == resourcev1.DeviceTaintEffectNoExecute || t.Effect == resourcev1.DeviceTaintEffectNoSchedule
		return prevents && !slices.ContainsFunc(r.tolerations, func(x resourcev1.DeviceToleration) bool { return x.Tolerates(&t) })
	})
}
