package scheduler_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// newDeviceWorld makes a random cluster with devices of every kind, and pods with claims.
func newDeviceWorld(seed uint64) *besideWorld {
	w, b := newWorld(seed), &besideWorld{}
	for i := range 2 + w.IntN(4) {
		n := node(fmt.Sprint("n", i), zone(w.one("a", "b")))
		if w.seldom(4) {
			n.Status.Allocatable["example.com/gpu"] = resource.MustParse(w.one("0", "2"))
		}
		b.Nodes = append(b.Nodes, n)
	}
	b.Namespaces = []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
	for _, name := range []string{"gpu", "large", "any"} {
		class := &resourcev1.DeviceClass{ObjectMeta: controllertest.Name("", name)}
		switch name {
		case "gpu":
			class.Spec.Selectors = []resourcev1.DeviceSelector{selects(`device.driver == "gpu.example.com"`)}
			class.Spec.ExtendedResourceName = new("example.com/gpu")
		case "large":
			class.Spec.Selectors = []resourcev1.DeviceSelector{selects(`device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("10Gi"))`)}
		}
		if w.seldom(2) {
			class.Spec.Config = []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: opaque(name)}}
		}
		b.DeviceTypes = append(b.DeviceTypes, class)
	}
	for i, n := range b.Nodes {
		w.slices(b, fmt.Sprint("pool-", i), n)
	}
	w.slices(b, "shared", nil)
	for i := range 6 {
		b.Devices = append(b.Devices, w.deviceClaim(b, fmt.Sprint("c", i)))
	}
	for i := range 6 {
		p := pod(fmt.Sprint("p", i), requests("100m", "1Mi"))
		for _, j := range w.Perm(6)[:w.IntN(3)] {
			usesDevices(fmt.Sprint("c", j))(p)
		}
		if w.seldom(4) {
			p.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse(w.one("1", "2"))
		}
		b.Pods = append(b.Pods, p)
	}
	return b
}

func opaque(name string) resourcev1.DeviceConfiguration {
	return resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: driver,
		Parameters: metav1.RawExtension{Raw: []byte(`{"of":"` + name + `"}`)}}}
}

// slices adds a pool of one node, or of several.
func (w *world) slices(b *besideWorld, pool string, n *corev1.Node) {
	partitioned, perDevice := w.seldom(4), w.seldom(4)
	count := 1 + w.IntN(2)
	for i := range count {
		s := &resourcev1.ResourceSlice{ObjectMeta: controllertest.Name("", fmt.Sprintf("%s-%d", pool, i)), Spec: resourcev1.ResourceSliceSpec{
			Driver: w.deviceDriver(pool), Pool: resourcev1.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: int64(count)}}}
		if partitioned {
			s.Spec.Pool.ResourceSliceCount++
		}
		if w.seldom(12) {
			s.Spec.Pool.Generation++ // the others are of the past
		}
		switch {
		case perDevice:
			s.Spec.PerDeviceNodeSelection = new(true)
		case n != nil:
			s.Spec.NodeName = &n.Name
		case w.seldom(2):
			s.Spec.AllNodes = new(true)
		default:
			s.Spec.NodeSelector = inZone(w.one("a", "b"))
		}
		for j := range 1 + w.IntN(3) {
			s.Spec.Devices = append(s.Spec.Devices, w.device(b, fmt.Sprintf("d%d-%d", i, j), partitioned, perDevice))
		}
		b.Slices = append(b.Slices, s)
	}
	if partitioned && !w.seldom(6) {
		s := &resourcev1.ResourceSlice{ObjectMeta: controllertest.Name("", pool+"-counters"), Spec: resourcev1.ResourceSliceSpec{Driver: w.deviceDriver(pool),
			Pool: resourcev1.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: int64(count) + 1}}}
		if n != nil {
			s.Spec.NodeName = &n.Name
		} else {
			s.Spec.AllNodes = new(true)
		}
		s.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "card", Counters: map[string]resourcev1.Counter{"memory": {Value: resource.MustParse("40Gi")}}}}
		b.Slices = append(b.Slices, s)
	}
}

func (w *world) deviceDriver(pool string) string {
	return map[bool]string{true: driver, false: "net.example.com"}[pool != "pool-1"]
}

func inZone(zone string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}}}}}
}

func (w *world) device(b *besideWorld, name string, partitioned, perDevice bool) resourcev1.Device {
	memory := w.one("8Gi", "20Gi", "40Gi")
	d := gpu(name, w.one("x", "y"), memory)
	d.Attributes["numa"] = resourcev1.DeviceAttribute{IntValue: new(int64(w.IntN(2)))}
	if partitioned {
		d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "card", Counters: map[string]resourcev1.Counter{"memory": {Value: resource.MustParse(memory)}}}}
	}
	if perDevice {
		switch w.IntN(3) {
		case 0:
			d.NodeName = &b.Nodes[w.IntN(len(b.Nodes))].Name
		case 1:
			d.AllNodes = new(true)
		default:
			d.NodeSelector = inZone(w.one("a", "b"))
		}
	}
	if w.seldom(5) {
		d.Taints = []resourcev1.DeviceTaint{{Key: "broken", Value: w.one("no", "yes"), Effect: []resourcev1.DeviceTaintEffect{"NoSchedule", "NoExecute", "None"}[w.IntN(3)]}}
	}
	if w.seldom(4) {
		d.AllowMultipleAllocations = new(true)
		c := d.Capacity["memory"]
		switch w.IntN(3) {
		case 0:
			c.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: new(resource.MustParse("1Gi")), ValidRange: &resourcev1.CapacityRequestPolicyRange{
				Min: new(resource.MustParse("1Gi")), Max: new(resource.MustParse("8Gi")), Step: new(resource.MustParse("2Gi"))}}
		case 1:
			c.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: new(resource.MustParse("2Gi")), ValidValues: []resource.Quantity{resource.MustParse("2Gi"), resource.MustParse("4Gi")}}
		}
		d.Capacity["memory"] = c
	}
	if w.seldom(8) {
		d.BindingConditions, d.BindingFailureConditions = []string{"attached"}, []string{"failed"}
		if w.seldom(2) {
			d.BindsToNode = new(true)
		}
	}
	return d
}

// deviceClaim makes a claim, some of which are allocated.
func (w *world) deviceClaim(b *besideWorld, name string) *resourcev1.ResourceClaim {
	c := resourceClaim(name)
	c.UID = types.UID(name)
	sub := func(name string) resourcev1.DeviceSubRequest {
		s := resourcev1.DeviceSubRequest{Name: name, DeviceClassName: w.one("gpu", "large", "any"), AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1 + int64(w.IntN(2))}
		if w.seldom(6) {
			s.AllocationMode, s.Count = resourcev1.DeviceAllocationModeAll, 0
		}
		if w.seldom(3) {
			s.Selectors = []resourcev1.DeviceSelector{selects(w.one(`device.attributes["gpu.example.com"].?model.orValue("") == "x"`, `device.allowMultipleAllocations`,
				`"model" in device.attributes["net.example.com"]`, `device.attributes["gpu.example.com"].?numa.orValue(0) != 1`))}
		}
		if w.seldom(3) {
			s.Tolerations = []resourcev1.DeviceToleration{{Key: "broken", Operator: resourcev1.DeviceTolerationOpEqual, Value: "yes"}}
		}
		if w.seldom(4) {
			s.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse(w.one("3Gi", "8Gi", "30Gi"))}}
		}
		return s
	}
	for i := range 1 + w.IntN(2) {
		r := resourcev1.DeviceRequest{Name: fmt.Sprint("r", i)}
		if w.seldom(3) {
			r.FirstAvailable = []resourcev1.DeviceSubRequest{sub("one"), sub("two")}
		} else {
			s := sub("")
			r.Exactly = &resourcev1.ExactDeviceRequest{DeviceClassName: s.DeviceClassName, AllocationMode: s.AllocationMode, Count: s.Count,
				Selectors: s.Selectors, Tolerations: s.Tolerations, Capacity: s.Capacity}
			if w.seldom(5) {
				r.Exactly.AdminAccess = new(true)
			}
		}
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, r)
	}
	if w.seldom(3) {
		c.Spec.Devices.Config = []resourcev1.DeviceClaimConfiguration{{Requests: []string{"r0"}, DeviceConfiguration: opaque("claim")}, {DeviceConfiguration: opaque("all")}}
	}
	if w.seldom(3) {
		c.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: new(resourcev1.FullyQualifiedName("gpu.example.com/" + w.one("model", "numa", "version")))}}
	}
	if w.seldom(3) {
		w.allocated(b, c)
	}
	return c
}

// allocated gives a claim a device that no other has, of a random slice, if there is one.
func (w *world) allocated(b *besideWorld, c *resourcev1.ResourceClaim) {
	s := b.Slices[w.IntN(len(b.Slices))]
	if len(s.Spec.Devices) == 0 {
		return
	}
	d := &s.Spec.Devices[w.IntN(len(s.Spec.Devices))]
	r := resourcev1.DeviceRequestAllocationResult{Request: "r0", Driver: s.Spec.Driver, Pool: s.Spec.Pool.Name, Device: d.Name}
	if isTrue := d.AllowMultipleAllocations; isTrue != nil {
		r.ShareID, r.ConsumedCapacity = &c.UID, map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("3Gi")}
	}
	for _, o := range b.Devices {
		if a := o.Status.Allocation; a != nil && a.Devices.Results[0].Device == r.Device && a.Devices.Results[0].Pool == r.Pool {
			return
		}
	}
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{r}}}
	if s.Spec.NodeName != nil {
		c.Status.Allocation.NodeSelector = inZone(w.one("a", "b"))
	}
	c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "other", UID: "other"}}
}

// sameAllocation compares allocations but for the identifiers of shares, which are random upstream.
func sameAllocation(a, b *resourcev1.AllocationResult) bool {
	without := func(r *resourcev1.AllocationResult) *resourcev1.AllocationResult {
		out := codec.DeepCopy(r)
		for i := range out.Devices.Results {
			out.Devices.Results[i].ShareID = nil
		}
		return out
	}
	return a != nil && b != nil && codec.Equal(without(a), without(b))
}

// Random devices and claims beside the allocator of kube-scheduler 1.36.3: the same nodes, scores and
// devices.
func TestDevicesBeside(t *testing.T) {
	decide := seeds.Beside[*besideWorld, []besideDecision](t, "scheduler-decisions")
	failed, plans := 0, 0
	for _, seed := range seeds.Of(t, 300) {
		w := newDeviceWorld(seed)
		all := decide(w)
		c := w.cluster()
		for i, d := range all {
			x := c.Explain(scheduler.Default(), w.Pods[i], true)
			wrong := []string{}
			fails := slices.ContainsFunc(slices.Collect(maps.Values(d.Nodes)), func(a besideAnswer) bool { return a.Code == "Error" })
			if d.Error == "" && !fails {
				wrong = d.compare(&x)
			} else if x.Failed == nil {
				wrong = append(wrong, fmt.Sprintf("upstream fails: %s %v", d.Error, d.Nodes))
			}
			if fails {
				d.Devices = nil
			}
			for n, claims := range d.Devices {
				plans++
				ours := c.PlannedDevices(w.Pods[i], n)
				delete(ours, "<"+string(w.Pods[i].UID)+">")
				if !slices.Equal(slices.Sorted(maps.Keys(claims)), slices.Sorted(maps.Keys(ours))) {
					wrong = append(wrong, fmt.Sprintf("%s: claims %v and %v", n, slices.Sorted(maps.Keys(claims)), slices.Sorted(maps.Keys(ours))))
				}
				for name, a := range claims {
					if !sameAllocation(a, ours[name]) {
						theirs, _ := codec.Marshal(a)
						mine, _ := codec.Marshal(ours[name])
						wrong = append(wrong, fmt.Sprintf("%s: claim %s: upstream %s, ours %s", n, name, theirs, mine))
					}
				}
			}
			for _, text := range wrong {
				failed++
				t.Errorf("seed %d, pod %d: %s", seed, i, text)
			}
			if failed > 10 {
				t.FailNow()
			}
		}
	}
	t.Logf("%d plans", plans)
	require.Positive(t, plans)
}
