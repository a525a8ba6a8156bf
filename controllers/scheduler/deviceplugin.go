package scheduler

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
	"github.com/keelson-dev/keelson/controllers/internal/podclaims"
	"github.com/keelson-dev/keelson/controllers/scheduler/internal/devices"
)

// DynamicResources refuses nodes where the ResourceClaims of the pod cannot be allocated, or that have no
// access to what they were allocated, prefers those with the first alternatives of requests, and sees to it
// that the claims are allocated and reserved, and their binding conditions true, before the pod is bound.
// Extended resources that a node has no device plugin for are allocated as devices of the class with that
// name. Pods whose claims are not there yet are not tried.
type DynamicResources struct {
	// FilterTimeout limits the search for devices on one node; 0 means 10 s, a negative one sets no limit.
	FilterTimeout time.Duration
	// BindingTimeout is how long binding conditions may take; then other devices are tried. 0 means 10
	// minutes.
	BindingTimeout time.Duration
}

const (
	deviceFilterTimeout  = 10 * time.Second
	deviceBindingTimeout = 10 * time.Minute
	// mostReservations is how many pods a claim can be reserved for.
	mostReservations = resourcev1.ResourceClaimReservedForMaxSize
)

// Name returns "DynamicResources".
func (*DynamicResources) Name() string { return "DynamicResources" }

var (
	refusedDevices     = refusal(UnschedulableAndUnresolvable, "DynamicResources", "cannot allocate all claims")
	refusedElsewhere   = refusal(UnschedulableAndUnresolvable, "DynamicResources", "resourceclaim not available on the node")
	refusedPools       = refusal(UnschedulableAndUnresolvable, "DynamicResources", "invalid resource pools were encountered")
	refusedClaimInUse  = refusal(UnschedulableAndUnresolvable, "DynamicResources", "resourceclaim in use")
	refusedNoDevice    = refusal(UnschedulableAndUnresolvable, "DynamicResources", "cannot fit resource")
	refusedFormerClaim = refusal(UnschedulableAndUnresolvable, "DynamicResources", "cannot schedule extended resource claim")
)

func deviceRefusal(format string, args ...any) *Status {
	return refusal(UnschedulableAndUnresolvable, "DynamicResources", fmt.Sprintf(format, args...))
}

// deviceNeeds are the claims of a pod in one decision.
type deviceNeeds struct {
	state   *deviceState
	pod     *Pod
	timeout time.Duration
	// claims are those of the pod, allocated are those of them that have devices, with the nodes that have
	// access to them; open are the others.
	claims    []*resourcev1.ResourceClaim
	allocated []allocatedClaim
	open      []*resourcev1.ResourceClaim
	// extended are the resources that devices may serve, all the others of those that might be.
	extended []corev1.ResourceName
	// scores are those of nodes, by number; ranked is set if they differ.
	scores map[int32]int64
	ranked bool
	// release is a claim that was of no use on some node, and that could get other devices.
	release *resourcev1.ResourceClaim
}

type allocatedClaim struct {
	claim      *resourcev1.ResourceClaim
	allocation *resourcev1.AllocationResult
	nodes      []nodefit.Term
	anywhere   bool
	// broken is set if binding has failed or took too long.
	broken bool
	// planned is set if the allocation is that of another pod's plan.
	planned bool
}

// PreFilter implements PreFilterPlugin.
func (a *DynamicResources) PreFilter(cy *Cycle) (NodeFilter, *Status) {
	f := Scratch[deviceNeeds](cy, a)
	f.release, f.ranked = nil, false
	if len(cy.pod.devices) == 0 && len(cy.pod.need.others) == 0 {
		return nil, nil
	}
	f.timeout = a.FilterTimeout
	if f.timeout == 0 {
		f.timeout = deviceFilterTimeout
	}
	st := f.gather(&cy.cluster.devices, cy.pod, a.bindingTimeout())
	if !st.OK() || len(f.claims)+len(f.extended) == 0 {
		return nil, st
	}
	return f, nil
}

func (a *DynamicResources) bindingTimeout() time.Duration {
	if a.BindingTimeout > 0 {
		return a.BindingTimeout
	}
	return deviceBindingTimeout
}

// gather sorts the claims of a pod.
func (f *deviceNeeds) gather(d *deviceState, p *Pod, bindingTimeout time.Duration) *Status {
	*f = deviceNeeds{state: d, pod: p, timeout: f.timeout, claims: f.claims[:0], allocated: f.allocated[:0], open: f.open[:0], scores: f.scores}
	clear(f.scores)
	if f.extended = d.usedExtended(p); len(f.extended) > 0 && d.made[p.pod.UID] != nil {
		f.release = d.made[p.pod.UID]
		return refusedFormerClaim
	}
	for i := range p.devices {
		c, st := d.usable(p, &p.devices[i])
		if !st.OK() {
			return st
		}
		f.claims = append(f.claims, c)
		for j := range c.Spec.Devices.Requests {
			f.ranked = f.ranked || len(c.Spec.Devices.Requests[j].FirstAvailable) > 0
		}
		allocation := d.effective(c.Key())
		if allocation == nil {
			f.open = append(f.open, c)
			if st := d.hasClasses(c); !st.OK() {
				return st
			}
			continue
		}
		if len(c.Status.ReservedFor) >= mostReservations && !podclaims.Reserved(c, p.pod) {
			return refusedClaimInUse
		}
		x := allocatedClaim{claim: c, allocation: allocation, anywhere: allocation.NodeSelector == nil, planned: c.Status.Allocation == nil}
		if !x.anywhere {
			x.nodes = nodefit.CompileAll(allocation.NodeSelector)
		}
		ready, failed := readyToBind(c)
		x.broken = failed != "" || !ready && overdue(c, bindingTimeout)
		f.allocated = append(f.allocated, x)
	}
	return nil
}

// usable returns a claim of a pod, or why the pod cannot have it.
func (d *deviceState) usable(p *Pod, u *deviceUse) (*resourcev1.ResourceClaim, *Status) {
	key := types.NamespacedName{Namespace: p.pod.Namespace, Name: u.name}
	c := d.claims.all[key]
	switch {
	case !u.known:
		return nil, deviceRefusal("pod %q: ResourceClaim not created yet", p.pod.Key().String())
	case c == nil:
		return nil, deviceRefusal("resourceclaim.resource.k8s.io %q not found", u.name)
	case c.DeletionTimestamp != nil:
		return nil, deviceRefusal("resourceclaim %q is being deleted", c.Name)
	case u.made && (podclaims.Owner(c) == nil || podclaims.Owner(c).UID != p.pod.UID):
		return nil, deviceRefusal("ResourceClaim %s was not created for Pod %s (Pod is not owner)", key, p.pod.Key())
	}
	return c, nil
}

// hasClasses refuses a claim that requests devices of a class which does not exist.
func (d *deviceState) hasClasses(c *resourcev1.ResourceClaim) *Status {
	missing := func(request, class string) *Status {
		if d.classes.get("", class) != nil {
			return nil
		}
		return deviceRefusal("request %s: device class %s does not exist", request, class)
	}
	for i := range c.Spec.Devices.Requests {
		r := &c.Spec.Devices.Requests[i]
		if r.Exactly != nil {
			if st := missing(r.Name, r.Exactly.DeviceClassName); !st.OK() {
				return st
			}
		}
		for j := range r.FirstAvailable {
			if st := missing(r.Name+"/"+r.FirstAvailable[j].Name, r.FirstAvailable[j].DeviceClassName); !st.OK() {
				return st
			}
		}
	}
	return nil
}

// Filter implements NodeFilter.
func (f *deviceNeeds) Filter(n *Node) *Status {
	_, st := f.on(n)
	return st
}

// on returns what is to be written if the pod gets a node, or why it cannot.
func (f *deviceNeeds) on(n *Node) (*devicePlan, *Status) {
	if x := f.state.settled; x != nil && x.pod == f.pod.pod.UID && x.node == n.name {
		return x.plan, nil
	}
	plan := &devicePlan{}
	open := f.open
	var served []corev1.ResourceName
	for _, name := range f.extended {
		if f.state.fromDevices(name, n) {
			served = append(served, name)
		}
	}
	if len(served) > 0 {
		if plan.made, plan.mappings = f.state.makeClaim(f.pod, served); len(plan.made.Spec.Devices.Requests) == 0 {
			return nil, refusedNoDevice
		}
		open = append(slices.Clone(open), plan.made)
	}
	elsewhere := false
	for i := range f.allocated {
		x := &f.allocated[i]
		if x.broken || !x.anywhere && !nodefit.MatchesAny(x.nodes, n.obj) {
			f.unavailable(x.claim)
			elsewhere = true
		}
		p := plannedClaim{claim: x.claim}
		if x.planned {
			p.allocation = x.allocation
		}
		plan.claims = append(plan.claims, p)
	}
	if len(open) > 0 {
		results, st := f.allocate(n, open)
		if !st.OK() {
			return nil, st
		}
		for i, c := range open {
			plan.claims = append(plan.claims, plannedClaim{c, results[i]})
		}
	}
	if elsewhere { // as upstream, said last
		return nil, refusedElsewhere
	}
	if f.ranked {
		f.score(n, plan)
	}
	return plan, nil
}

// unavailable notes a claim that could get other devices, because no other pod uses it.
func (f *deviceNeeds) unavailable(c *resourcev1.ResourceClaim) {
	others := slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID != f.pod.pod.UID })
	if f.release == nil && !others && c.Status.Allocation != nil {
		f.release = c
	}
}

// allocate finds devices for claims on a node.
func (f *deviceNeeds) allocate(n *Node, open []*resourcev1.ResourceClaim) ([]*resourcev1.AllocationResult, *Status) {
	d := f.state
	a := devices.Allocator{Inventory: d.stock(), Allocated: &d.allocated, Selectors: d.selectors, Timeout: f.timeout, ShareID: f.shareID, Done: d.limits.done,
		Classes: func(name string) *resourcev1.DeviceClass { return d.classes.get("", name) }}
	limited := d.limits.limit(&a.Timeout)
	if limited && a.Timeout <= 0 {
		return nil, longSearch
	}
	began := time.Now()
	results, err := a.Allocate(n.obj, open)
	d.limits.spend(time.Since(began))
	switch {
	case limited && errors.Is(err, devices.ErrTimeout):
		return nil, longSearch
	case devices.IsRefusal(err):
		return nil, refusedPools
	case errors.Is(err, devices.ErrTimeout):
		return nil, refusal(Error, "DynamicResources", fmt.Sprintf("node %s: %v", n.name, err))
	case err != nil:
		return nil, refusal(Error, "DynamicResources", err.Error())
	case results == nil:
		return nil, refusedDevices
	}
	return results, nil
}

// shareID is a UID that follows from the pod, its claim and the number of the device, so that a plan is the
// same whenever it is made. It differs from those of other pods, which may share the device.
func (f *deviceNeeds) shareID(c *resourcev1.ResourceClaim, n int) types.UID {
	h := sha256.Sum256([]byte(strings.Join([]string{string(f.pod.pod.UID), string(c.UID), c.Name, strconv.Itoa(n)}, "/")))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80 // version 8: of our own making
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16]))
}

// score notes how good the alternatives are that a node has.
func (f *deviceNeeds) score(n *Node, plan *devicePlan) {
	sum := int64(0)
	for _, p := range plan.claims {
		allocation := p.allocation
		if allocation == nil {
			allocation = p.claim.Status.Allocation
		}
		for i := range p.claim.Spec.Devices.Requests {
			r := &p.claim.Spec.Devices.Requests[i]
			for j := range r.FirstAvailable {
				name := r.Name + "/" + r.FirstAvailable[j].Name
				if slices.ContainsFunc(allocation.Devices.Results, func(x resourcev1.DeviceRequestAllocationResult) bool { return x.Request == name }) {
					sum += int64(resourcev1.FirstAvailableDeviceRequestMaxSize - j)
				}
			}
		}
	}
	if f.scores == nil {
		f.scores = map[int32]int64{}
	}
	f.scores[n.id] = sum
}

// PreScore implements PreScorePlugin.
func (a *DynamicResources) PreScore(cy *Cycle, _ []*Node) (NodeScore, *Status) {
	f := Scratch[deviceNeeds](cy, a)
	if f.pod != cy.pod || !f.ranked {
		return nil, nil
	}
	return f, nil
}

// Score implements NodeScore.
func (f *deviceNeeds) Score(n *Node) int64 { return f.scores[n.id] }

// NormalizeScore implements Normalizer.
func (f *deviceNeeds) NormalizeScore(scores []int64) {
	most := slices.Max(scores)
	for i, v := range scores {
		if most > 0 {
			scores[i] = v * MaxNodeScore / most
		}
	}
}

// planDevices is what is to be written of the claims of a pod that gets a node, nil if nothing or if it
// cannot have them there. Whether binding conditions have taken too long is decided by the pod's profile,
// before.
func (c *Cluster) planDevices(p *Pod, n *Node) *devicePlan {
	if len(p.devices) == 0 && len(c.devices.usedExtended(p)) == 0 {
		return nil
	}
	f := &deviceNeeds{}
	if st := f.gather(&c.devices, p, math.MaxInt64); !st.OK() {
		return nil
	}
	plan, st := f.on(n)
	if !st.OK() || len(plan.claims) == 0 {
		return nil
	}
	return plan
}

// Allocate returns what claims that have no devices would get together on a node, in their order; nil if they
// cannot have devices there. It changes nothing. The error says why devices cannot be searched for.
func (c *Cluster) Allocate(node string, claims ...*resourcev1.ResourceClaim) ([]*resourcev1.AllocationResult, error) {
	n := c.existing(node)
	if n == nil {
		return nil, fmt.Errorf("scheduler: node %q is not known", node)
	}
	f := &deviceNeeds{state: &c.devices, pod: NewPod(&corev1.Pod{})}
	for _, claim := range claims {
		if st := c.devices.hasClasses(claim); !st.OK() {
			return nil, fmt.Errorf("scheduler: claim %s: %s", claim.Key(), st.Message())
		}
	}
	results, st := f.allocate(n, claims)
	if !st.OK() && st != refusedDevices {
		return nil, fmt.Errorf("scheduler: %s", st.Message())
	}
	return results, nil
}

// EventsToRegister implements EnqueueExtensions.
func (*DynamicResources) EventsToRegister() EventKind {
	return NodeAdd | NodeUpdate | AssignedPodDelete | ResourceClaimEvent | ResourceSliceEvent | DeviceClassEvent
}

// QueueingHint implements QueueingHint: devices that are free again, and changes of what the pod needs
// itself.
func (*DynamicResources) QueueingHint(e *Event, p *Pod) bool {
	switch e.Kind {
	case ResourceSliceEvent, DeviceClassEvent:
		return e.New != nil
	case AssignedPodDelete:
		// Its plan counts until it is gone, which may be seen after the end of the allocation.
		return e.OldPod == nil || podclaims.Used(e.OldPod) || len(NewPod(e.OldPod).need.others) > 0
	case ResourceClaimEvent:
	default:
		return true
	}
	was, _ := e.Old.(*resourcev1.ResourceClaim)
	now, _ := e.New.(*resourcev1.ResourceClaim)
	if was != nil && was.Status.Allocation != nil && (now == nil || now.Status.Allocation == nil) || madeFor(was) == p.pod.UID && now == nil {
		return true
	}
	if now == nil || !slices.ContainsFunc(p.devices, func(u deviceUse) bool { return u.name == now.Name }) || now.Namespace != p.pod.Namespace {
		return false
	}
	return was == nil || !codec.Equal(&was.Status, &now.Status)
}
