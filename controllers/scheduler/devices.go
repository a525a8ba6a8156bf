package scheduler

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/podclaims"
	"github.com/keelson-dev/keelson/controllers/scheduler/internal/devices"
)

// deviceState holds what says where pods can have devices. Invariants:
//
//  1. allocated counts for each claim its allocation, or if it has none that of promised.
//  2. promised holds what the device plans of the placed pods say, and how many plans say so.
type deviceState struct {
	claims  *table[*resourcev1.ResourceClaim]
	slices  *table[*resourcev1.ResourceSlice]
	classes *table[*resourcev1.DeviceClass]

	allocated devices.Allocated
	promised  map[types.NamespacedName]*promisedClaim
	// made are the claims that were made for the extended resources of pods, by the pod.
	made map[types.UID]*resourcev1.ResourceClaim
	// inventory is nil after a change of slices, extended after one of classes.
	inventory *devices.Inventory
	extended  map[corev1.ResourceName]*resourcev1.DeviceClass
	selectors *devices.Selectors
	// changes counts the changes of what the search for devices depends on, but nodes.
	changes uint64
	// limits are those of the searches under way, and settled is the result of one that was made aside.
	limits  searchLimits
	settled *settledSearch
}

// promisedClaim is the allocation that a claim is to get.
type promisedClaim struct {
	allocation *resourcev1.AllocationResult
	plans      int
}

// devicePlan is what must be written of the claims of a pod before it is bound. It is immutable.
type devicePlan struct {
	claims []plannedClaim
	// made is the claim to make for the extended resources of the pod, nil for none; mappings say which
	// container uses what of it.
	made     *resourcev1.ResourceClaim
	mappings []corev1.ContainerExtendedResourceRequest
}

// plannedClaim is a claim that is to be reserved for the pod, with the allocation that it is to get, nil if
// it has one. The claim is a copy of the pod's plan only for one that is to be made.
type plannedClaim struct {
	claim      *resourcev1.ResourceClaim
	allocation *resourcev1.AllocationResult
}

func newDeviceState() deviceState {
	return deviceState{claims: newTable[*resourcev1.ResourceClaim](nil), slices: newTable[*resourcev1.ResourceSlice](nil),
		classes: newTable[*resourcev1.DeviceClass](nil), promised: map[types.NamespacedName]*promisedClaim{},
		made: map[types.UID]*resourcev1.ResourceClaim{}, selectors: devices.NewSelectors()}
}

// clone copies the objects, without what plans say.
func (d *deviceState) clone() deviceState {
	out := newDeviceState()
	out.claims, out.slices, out.classes, out.made = d.claims.clone(), d.slices.clone(), d.classes.clone(), maps.Clone(d.made)
	for key := range out.claims.all {
		out.count(key, 1)
	}
	return out
}

// effective is the allocation that a claim has or is to get, nil if none.
func (d *deviceState) effective(key types.NamespacedName) *resourcev1.AllocationResult {
	if c := d.claims.all[key]; c != nil && c.Status.Allocation != nil {
		return c.Status.Allocation
	}
	if p := d.promised[key]; p != nil {
		return p.allocation
	}
	return nil
}

// count counts the devices of a claim, or with -1 forgets them.
func (d *deviceState) count(key types.NamespacedName, by int) {
	d.allocated.Count(d.effective(key), by)
}

// putDevices takes in an object that devices depend on.
func (c *Cluster) putDevices(obj metav1.Object, gone bool) (was metav1.Object, known bool) {
	d := &c.devices
	switch o := obj.(type) {
	case *resourcev1.ResourceClaim:
		next := o
		if gone {
			next = nil
		}
		if was := c.setClaim(o.Key(), next); was != nil {
			return was, true
		}
		return nil, true
	case *resourcev1.ResourceSlice:
		was = putIn(c, d.slices, o, gone)
		d.inventory = nil
		d.changes++
		c.journal.log(func() { d.inventory = nil })
	case *resourcev1.DeviceClass:
		was = putIn(c, d.classes, o, gone)
		d.extended = nil
		d.changes++
		c.journal.log(func() { d.extended = nil })
	default:
		return nil, false
	}
	return was, true
}

// setClaim sets the claim of a name, nil for none, and returns what it was.
func (c *Cluster) setClaim(key types.NamespacedName, next *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	d := &c.devices
	d.changes++
	d.count(key, -1)
	was := d.claims.put(&journal{}, key, next)
	d.count(key, 1)
	if uid := madeFor(was); uid != "" && d.made[uid] == was {
		delete(d.made, uid)
	}
	if uid := madeFor(next); uid != "" {
		d.made[uid] = next
	}
	c.journal.log(func() { c.setClaim(key, was) })
	return was
}

// madeFor is the pod for whose extended resources a claim was made, empty if it is another claim.
func madeFor(c *resourcev1.ResourceClaim) types.UID {
	if c == nil || c.Annotations[resourcev1.ExtendedResourceClaimAnnotation] != "true" {
		return ""
	}
	if owner := podclaims.Owner(c); owner != nil {
		return owner.UID
	}
	return ""
}

// promise counts what a plan says, or with -1 forgets it.
func (d *deviceState) promise(p *devicePlan, by int) {
	if p == nil {
		return
	}
	d.changes++
	for _, x := range p.claims {
		if x.allocation == nil {
			continue
		}
		key := x.claim.Key()
		d.count(key, -1)
		t := d.promised[key]
		if t == nil {
			t = &promisedClaim{allocation: x.allocation}
			d.promised[key] = t
		}
		if t.plans += by; t.plans == 0 {
			delete(d.promised, key)
		}
		d.count(key, 1)
	}
}

// stock is what slices publish.
func (d *deviceState) stock() *devices.Inventory {
	if d.inventory == nil {
		d.inventory = devices.NewInventory(maps.Values(d.slices.all))
	}
	return d.inventory
}

// classOf is the class whose devices serve an extended resource, nil if there is none: of several, the one
// created last, then the first by name.
func (d *deviceState) classOf(name corev1.ResourceName) *resourcev1.DeviceClass {
	if d.extended == nil {
		d.extended = map[corev1.ResourceName]*resourcev1.DeviceClass{}
		for _, c := range d.classes.all {
			d.extended[corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix+c.Name)] = c
			if c.Spec.ExtendedResourceName == nil {
				continue
			}
			name := corev1.ResourceName(*c.Spec.ExtendedResourceName)
			if have := d.extended[name]; have == nil || newer(c, have) {
				d.extended[name] = c
			}
		}
	}
	return d.extended[name]
}

func newer(a, b *resourcev1.DeviceClass) bool {
	if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
		return c > 0
	}
	return a.Name < b.Name
}

// deviceUse is an entry of a pod's spec.resourceClaims.
type deviceUse struct {
	entry, name string
	// made is set for a claim that is made of a template, known once its name is.
	made, known bool
}

// devicesOf are the claims of a pod; those that it turned out not to need are left out.
func devicesOf(pod *corev1.Pod) (out []deviceUse) {
	for i := range pod.Spec.ResourceClaims {
		e := &pod.Spec.ResourceClaims[i]
		name, known := podclaims.Name(pod, e)
		if !known || name != "" {
			out = append(out, deviceUse{e.Name, name, e.ResourceClaimName == nil, known})
		}
	}
	return out
}

// fromDevices reports whether a node has an extended resource by devices of a class, not by a device plugin.
func (d *deviceState) fromDevices(name corev1.ResourceName, n *Node) bool {
	return n.allocatable.others[name] == 0 && resourcev1.MayHaveClass(name) && d.classOf(name) != nil
}

// scores reports whether one of the resources is served by devices, so that scores count these.
func (d *deviceState) scores(list []ResourceWeight) bool {
	return slices.ContainsFunc(list, func(r ResourceWeight) bool { return resourcev1.MayHaveClass(r.Name) && d.classOf(r.Name) != nil })
}

// countOn is how many devices that serve a resource a node has, and how many of them claims have; none if a
// device plugin serves it there.
func (d *deviceState) countOn(name corev1.ResourceName, n *Node) (all, taken int64) {
	if d == nil || !d.fromDevices(name, n) {
		return 0, 0
	}
	all, taken, _ = d.stock().Count(n.obj, d.classOf(name), d.selectors, &d.allocated)
	return all, taken
}

// usedExtended are the resources of a pod that devices may serve, by name.
func (d *deviceState) usedExtended(p *Pod) (out []corev1.ResourceName) {
	for name, want := range p.need.others {
		if want > 0 && resourcev1.MayHaveClass(name) && d.classOf(name) != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// makeClaim returns the claim for the extended resources of a pod, with which container uses what of it.
// Containers of the initialization use devices of those that run after them, and more only if these are too
// few.
func (d *deviceState) makeClaim(p *Pod, names []corev1.ResourceName) (*resourcev1.ResourceClaim, []corev1.ContainerExtendedResourceRequest) {
	pod := p.pod
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: madeName(pod.UID),
		GenerateName: pod.Name + "-extended-resources-", Annotations: map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: new(true)}}}}
	var mappings []corev1.ContainerExtendedResourceRequest
	for _, name := range names {
		requests, uses := extendedRequests(pod, name, d.classOf(name).Name)
		c.Spec.Devices.Requests, mappings = append(c.Spec.Devices.Requests, requests...), append(mappings, uses...)
	}
	slices.SortFunc(c.Spec.Devices.Requests, func(a, b resourcev1.DeviceRequest) int { return cmp.Compare(a.Name, b.Name) })
	return c, mappings
}

// madeName is the name under which a claim that is not made yet is promised. No claim has it.
func madeName(uid types.UID) string { return "<" + string(uid) + ">" }

// extendedRequests are the requests for one extended resource.
func extendedRequests(pod *corev1.Pod, name corev1.ResourceName, class string) (out []resourcev1.DeviceRequest, uses []corev1.ContainerExtendedResourceRequest) {
	all := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	// lasting are those of the containers that run for as long as the pod does.
	lasting := make([]*resourcev1.DeviceRequest, len(all))
	use := func(c *corev1.Container, r *resourcev1.DeviceRequest) {
		uses = append(uses, corev1.ContainerExtendedResourceRequest{ContainerName: c.Name, ResourceName: string(name), RequestName: r.Name})
	}
	passing := func(i int) bool {
		return i < len(pod.Spec.InitContainers) && deref(all[i].RestartPolicy) != corev1.ContainerRestartPolicyAlways
	}
	for i := range all {
		if n := wholeOf(&all[i], name); n > 0 && !passing(i) {
			lasting[i] = deviceRequest(&all[i], i, name, class, n)
			use(&all[i], lasting[i])
		}
	}
	var most *resourcev1.DeviceRequest
	type shared struct {
		at   int // in uses
		name string
	}
	var extra []shared
	for i := range all {
		n := wholeOf(&all[i], name)
		if n == 0 || !passing(i) {
			continue
		}
		for _, r := range lasting[i:] {
			if r != nil && n > 0 {
				use(&all[i], r)
				n -= r.Exactly.Count
			}
		}
		if n > 0 {
			r := deviceRequest(&all[i], i, name, class, n)
			extra = append(extra, shared{len(uses), r.Name})
			if use(&all[i], r); most == nil || n > most.Exactly.Count {
				most = r
			}
		}
	}
	for _, x := range extra { // one after the other, they share the largest
		uses[x.at].RequestName = most.Name
	}
	if most != nil {
		out = append(out, *most)
	}
	for _, r := range lasting {
		if r != nil {
			out = append(out, *r)
		}
	}
	return out, uses
}

func wholeOf(c *corev1.Container, name corev1.ResourceName) int64 {
	q := c.Resources.Requests[name]
	n, _ := q.AsInt64()
	return n
}

// deviceRequest is the request of a container, named by its number and the place of the resource among those
// that it requests, as upstream names it.
func deviceRequest(c *corev1.Container, i int, name corev1.ResourceName, class string, n int64) *resourcev1.DeviceRequest {
	at := slices.Index(slices.Sorted(maps.Keys(c.Resources.Requests)), name)
	return &resourcev1.DeviceRequest{Name: "container-" + strconv.Itoa(i) + "-request-" + strconv.Itoa(at),
		Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: n}}
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// readyToBind reports whether all binding conditions of a claim's devices are true. The message says which
// failure condition is.
func readyToBind(c *resourcev1.ResourceClaim) (ready bool, failed string) {
	if c.Status.Allocation == nil {
		return false, ""
	}
	ready = true
	for i := range c.Status.Allocation.Devices.Results {
		r := &c.Status.Allocation.Devices.Results[i]
		if len(r.BindingConditions) == 0 {
			continue
		}
		isTrue := func(kind string) *metav1.Condition {
			for j := range c.Status.Devices {
				if st := &c.Status.Devices[j]; st.Driver == r.Driver && st.Pool == r.Pool && st.Device == r.Device {
					k := slices.IndexFunc(st.Conditions, func(x metav1.Condition) bool { return x.Type == kind && x.Status == metav1.ConditionTrue })
					if k >= 0 {
						return &st.Conditions[k]
					}
				}
			}
			return nil
		}
		for _, kind := range r.BindingFailureConditions {
			if x := isTrue(kind); x != nil {
				return false, "claim=" + c.Name + ", reason=" + x.Reason + ", message=" + strconv.Quote(x.Message)
			}
		}
		for _, kind := range r.BindingConditions {
			ready = ready && isTrue(kind) != nil
		}
	}
	return ready, ""
}

// overdue reports whether the binding conditions of a claim are not true in time.
func overdue(c *resourcev1.ResourceClaim, timeout time.Duration) bool {
	a := c.Status.Allocation
	return a != nil && a.AllocationTimestamp != nil && time.Since(a.AllocationTimestamp.Time) > timeout
}
