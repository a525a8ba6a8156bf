package scheduler_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/controllers/builtin/resourceclaim"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

const driver = "gpu.example.com"

// startDevices starts a cluster with nodes a, b and c, whose devices the caller adds, and the class gpu.
func startDevices(t *testing.T, plugin *scheduler.DynamicResources, edit ...func(s *scheduler.Scheduler)) *controllertest.Cluster {
	c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
		func(m *manager.Manager) error {
			s, err := scheduler.New(m, scheduler.Options{Profiles: []*scheduler.Profile{scheduler.Default().With(plugin, 2)}})
			for _, f := range edit {
				f(s)
			}
			return err
		},
		func(m *manager.Manager) error { return resourceclaim.Add(m, resourceclaim.Options{}) },
	}})
	for _, name := range []string{"a", "b", "c"} {
		addNode(c, name, "4", "10")
	}
	controllertest.Create(c, &resourcev1.DeviceClass{ObjectMeta: controllertest.Name("", "gpu"), Spec: resourcev1.DeviceClassSpec{
		Selectors: []resourcev1.DeviceSelector{selects(`device.driver == "gpu.example.com"`)}, ExtendedResourceName: new("example.com/gpu")}})
	return c
}

func selects(expression string) resourcev1.DeviceSelector {
	return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}
}

// gpu is a device with a model and a memory.
func gpu(name, model, memory string, edit ...func(d *resourcev1.Device)) resourcev1.Device {
	d := resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"model": {StringValue: &model}, "version": {VersionValue: new("1.2.0")}},
		Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse(memory)}}}
	for _, f := range edit {
		f(&d)
	}
	return d
}

func resourceSlice(node string, devices ...resourcev1.Device) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{ObjectMeta: controllertest.Name("", "slice-"+node), Spec: resourcev1.ResourceSliceSpec{Driver: driver,
		Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}, NodeName: &node, Devices: devices}}
}

func resourceClaim(name string, requests ...resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: controllertest.Name("default", name), Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}}}
}

func exactly(name string, n int64, expressions ...string) resourcev1.DeviceRequest {
	e := &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: n}
	for _, x := range expressions {
		e.Selectors = append(e.Selectors, selects(x))
	}
	return resourcev1.DeviceRequest{Name: name, Exactly: e}
}

func usesDevices(claim string) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
	}
}

func claimOf(c *controllertest.Cluster, name string) *resourcev1.ResourceClaim {
	return controllertest.Get[*resourcev1.ResourceClaim](c, "default", name)
}

// devicesOf are the devices that a claim has, as request=device.
func devicesOf(c *resourcev1.ResourceClaim) (out []string) {
	if c.Status.Allocation != nil {
		for _, r := range c.Status.Allocation.Devices.Results {
			out = append(out, r.Request+"="+r.Pool+"/"+r.Device)
		}
	}
	return out
}

// A pod with a claim gets the node with the device that the selectors select; the claim is allocated and
// reserved for it, and its devices are free again when it has ended.
func TestClaimsAreAllocated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startDevices(t, &scheduler.DynamicResources{})
		controllertest.Create(c, resourceSlice("a", gpu("small", "x", "8Gi")))
		controllertest.Create(c, resourceSlice("b", gpu("large", "y", "40Gi")))
		const large = `device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("10Gi")) && device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.0.0"))`
		controllertest.Create(c, resourceClaim("one", exactly("gpu", 1, large)))
		controllertest.Create(c, resourceClaim("two", exactly("gpu", 1, large)))
		create(c, "first", "1", usesDevices("one"))
		c.Sleep(5 * time.Second)
		require.Equal(t, "b", get(c, "first").Spec.NodeName)
		one := claimOf(c, "one")
		require.Equal(t, []string{"gpu=b/large"}, devicesOf(one))
		require.Equal(t, get(c, "first").UID, one.Status.ReservedFor[0].UID)
		require.Contains(t, one.Finalizers, resourcev1.Finalizer)
		require.Equal(t, []string{"b"}, one.Status.Allocation.NodeSelector.NodeSelectorTerms[0].MatchFields[0].Values)

		create(c, "second", "1", usesDevices("two"))
		c.Sleep(5 * time.Second)
		require.Empty(t, get(c, "second").Spec.NodeName)
		require.Contains(t, scheduled(get(c, "second")).Message, "0/3 nodes are available: 3 cannot allocate all claims.")
		create(c, "shares", "1", usesDevices("one")) // a claim may have several pods
		c.Sleep(5 * time.Second)
		require.Equal(t, "b", get(c, "shares").Spec.NodeName)
		for _, name := range []string{"first", "shares"} {
			controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		}
		c.Sleep(10 * time.Second)
		require.Equal(t, "b", get(c, "second").Spec.NodeName)
		require.Equal(t, []string{"gpu=b/large"}, devicesOf(claimOf(c, "two")))
	})
}

// Many pods at once never share a device that is not to be shared, and all get one in the end, also if
// devices are searched for aside.
func TestDevicesAreNeverSharedByAccident(t *testing.T) {
	t.Run("in turn", func(t *testing.T) { testDevicesAreNotShared(t) })
	t.Run("aside", func(t *testing.T) { testDevicesAreNotShared(t, (*scheduler.Scheduler).SearchAside) })
}

func testDevicesAreNotShared(t *testing.T, edit ...func(s *scheduler.Scheduler)) {
	synctest.Test(t, func(t *testing.T) {
		c := startDevices(t, &scheduler.DynamicResources{}, edit...)
		for _, node := range []string{"a", "b", "c"} {
			controllertest.Create(c, resourceSlice(node, gpu("0", "x", "8Gi"), gpu("1", "x", "8Gi"), gpu("2", "x", "8Gi")))
		}
		controllertest.Create(c, &resourcev1.ResourceClaimTemplate{ObjectMeta: controllertest.Name("default", "gpu"),
			Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourceClaim("", exactly("gpu", 1)).Spec}})
		for i := range 12 {
			create(c, fmt.Sprint("p", i), "100m", func(p *corev1.Pod) {
				p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}
			})
		}
		c.Sleep(time.Minute)
		have, bound := map[string]bool{}, 0
		for i := range 12 {
			p := get(c, fmt.Sprint("p", i))
			if p.Spec.NodeName == "" {
				continue
			}
			bound++
			claim := claimOf(c, *p.Status.ResourceClaimStatuses[0].ResourceClaimName)
			d := devicesOf(claim)
			require.Len(t, d, 1)
			require.False(t, have[d[0]], d)
			have[d[0]] = true
			require.Equal(t, p.Spec.NodeName, claim.Status.Allocation.Devices.Results[0].Pool)
		}
		require.Equal(t, 9, bound)
	})
}

// Of the alternatives of a request the first is preferred, over the nodes too; administrative access takes
// nothing away; tainted devices are for those that tolerate it.
func TestAlternativesAdminAccessAndTaints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startDevices(t, &scheduler.DynamicResources{})
		controllertest.Create(c, resourceSlice("a", gpu("0", "old", "8Gi")))
		controllertest.Create(c, resourceSlice("b", gpu("0", "new", "8Gi")))
		controllertest.Create(c, resourceSlice("c", gpu("0", "newest", "8Gi", func(d *resourcev1.Device) {
			d.Taints = []resourcev1.DeviceTaint{{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
		})))
		c.Settle()
		model := func(of string) resourcev1.DeviceSubRequest {
			return resourcev1.DeviceSubRequest{Name: of, DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
				Selectors: []resourcev1.DeviceSelector{selects(`device.attributes["gpu.example.com"].model == "` + of + `"`)}}
		}
		prefers := resourcev1.DeviceRequest{Name: "gpu", FirstAvailable: []resourcev1.DeviceSubRequest{model("newest"), model("new"), model("old")}}
		for i, want := range []string{"gpu/new=b/0", "gpu/old=a/0"} {
			name := fmt.Sprint("p", i)
			controllertest.Create(c, resourceClaim(name, prefers))
			create(c, name, "1", usesDevices(name))
			c.Sleep(5 * time.Second)
			require.Equal(t, []string{want}, devicesOf(claimOf(c, name)))
		}
		tolerant := prefers
		tolerant.FirstAvailable = slices.Clone(prefers.FirstAvailable)
		tolerant.FirstAvailable[0].Tolerations = []resourcev1.DeviceToleration{{Key: "broken", Operator: resourcev1.DeviceTolerationOpExists}}
		controllertest.Create(c, resourceClaim("tolerant", tolerant))
		create(c, "tolerant", "1", usesDevices("tolerant"))
		controllertest.Update(c, "", "default", func(n *corev1.Namespace) { n.Labels[resourcev1.DRAAdminNamespaceLabelKey] = "true" })
		admin := exactly("gpu", 1)
		admin.Exactly.AdminAccess = new(true)
		controllertest.Create(c, resourceClaim("admin", admin))
		create(c, "admin", "1", usesDevices("admin"))
		c.Sleep(5 * time.Second)
		require.Equal(t, []string{"gpu/newest=c/0"}, devicesOf(claimOf(c, "tolerant")))
		require.True(t, *claimOf(c, "admin").Status.Allocation.Devices.Results[0].AdminAccess)
		require.NotEmpty(t, get(c, "admin").Spec.NodeName)
	})
}

// Devices that consume the same counters are partitions of one; devices that may be allocated several times
// are shared by capacity.
func TestPartitionsAndShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startDevices(t, &scheduler.DynamicResources{})
		amount := func(n string) map[string]resourcev1.Counter {
			return map[string]resourcev1.Counter{"memory": {Value: resource.MustParse(n)}}
		}
		part := func(n string) func(d *resourcev1.Device) {
			return func(d *resourcev1.Device) {
				d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "card", Counters: amount(n)}}
			}
		}
		slice := resourceSlice("a", gpu("half-1", "x", "20Gi", part("20Gi")), gpu("half-2", "x", "20Gi", part("20Gi")), gpu("whole", "y", "40Gi", part("40Gi")))
		slice.Spec.Pool.ResourceSliceCount = 2
		counters := resourceSlice("a")
		counters.Name = "counters-a"
		counters.Spec.Pool.ResourceSliceCount = 2
		counters.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "card", Counters: amount("40Gi")}}
		controllertest.Create(c, slice)
		controllertest.Create(c, resourceClaim("half", exactly("gpu", 1)))
		create(c, "half", "1", usesDevices("half"))
		c.Sleep(5 * time.Second)
		require.Empty(t, get(c, "half").Spec.NodeName) // the pool is not complete
		controllertest.Create(c, counters)
		c.Sleep(5 * time.Second)
		c.Sleep(time.Minute)
		require.Equal(t, []string{"gpu=a/half-1"}, devicesOf(claimOf(c, "half")))
		controllertest.Create(c, resourceClaim("whole", exactly("gpu", 1, `device.attributes["gpu.example.com"].model == "y"`)))
		create(c, "whole", "1", usesDevices("whole"))
		controllertest.Create(c, resourceClaim("other", exactly("gpu", 1)))
		create(c, "other", "1", usesDevices("other"))
		c.Sleep(5 * time.Second)
		require.Empty(t, get(c, "whole").Spec.NodeName)
		require.Equal(t, "a", get(c, "other").Spec.NodeName, scheduled(get(c, "other")).Message)
		require.Equal(t, []string{"gpu=a/half-2"}, devicesOf(claimOf(c, "other")))

		controllertest.Create(c, resourceSlice("b", gpu("shared", "z", "10Gi", func(d *resourcev1.Device) { d.AllowMultipleAllocations = new(true) })))
		bound := 0
		for i := range 3 {
			name := fmt.Sprint("share", i)
			r := exactly("gpu", 1, `device.allowMultipleAllocations && cel.bind(a, device.attributes["gpu.example.com"], a.model == "z")`)
			r.Exactly.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("4Gi")}}
			controllertest.Create(c, resourceClaim(name, r))
			create(c, name, "1", usesDevices(name))
			c.Sleep(5 * time.Second)
			if get(c, name).Spec.NodeName == "b" {
				bound++
				got := claimOf(c, name).Status.Allocation.Devices.Results[0]
				require.True(t, got.ConsumedCapacity["memory"].Equal(resource.MustParse("4Gi")))
				require.NotNil(t, got.ShareID)
			}
		}
		require.Equal(t, 2, bound)
	})
}

// A device with binding conditions is waited for. If they fail or take too long, another device is tried.
func TestBindingConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startDevices(t, &scheduler.DynamicResources{BindingTimeout: time.Minute})
		attached := func(d *resourcev1.Device) {
			d.BindingConditions, d.BindingFailureConditions, d.BindsToNode = []string{"attached"}, []string{"failed"}, new(true)
		}
		s := resourceSlice("a", gpu("0", "x", "8Gi", attached))
		s.Spec.NodeName, s.Spec.AllNodes = nil, new(true)
		controllertest.Create(c, s)
		report := func(kind string) {
			controllertest.UpdateStatus(c, "default", "claim", func(c *resourcev1.ResourceClaim) {
				c.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: driver, Pool: "a", Device: "0", Conditions: []metav1.Condition{
					{Type: kind, Status: metav1.ConditionTrue, Reason: "Driver", LastTransitionTime: metav1.Now()}}}}
			})
		}
		controllertest.Create(c, resourceClaim("claim", exactly("gpu", 1)))
		create(c, "p", "1", usesDevices("claim"))
		create(c, "other", "1")
		c.Sleep(10 * time.Second)
		require.Empty(t, get(c, "p").Spec.NodeName)
		require.NotEmpty(t, get(c, "other").Spec.NodeName) // only p waits
		first := claimOf(c, "claim").Status.Allocation
		require.Equal(t, []string{"attached"}, first.Devices.Results[0].BindingConditions)

		report("failed")
		c.Sleep(30 * time.Second) // given back, and allocated again
		require.Contains(t, scheduled(get(c, "p")).Message+fmt.Sprint(eventsOf(c, "p")), "device binding failed: claim=claim, reason=Driver")
		second := claimOf(c, "claim").Status.Allocation
		require.NotNil(t, second)
		require.NotEqual(t, first.AllocationTimestamp, second.AllocationTimestamp)
		require.Empty(t, claimOf(c, "claim").Status.Devices)

		c.Sleep(100 * time.Second) // it takes too long
		third := claimOf(c, "claim").Status.Allocation
		require.NotNil(t, third)
		require.NotEqual(t, second.AllocationTimestamp, third.AllocationTimestamp)
		report("attached")
		c.Sleep(time.Second)
		require.NotEmpty(t, get(c, "p").Spec.NodeName)
	})
}

// A pod that comes late to a claim waits for its binding conditions too, for as long as its profile says.
func TestBindingConditionsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startDevices(t, &scheduler.DynamicResources{BindingTimeout: 30 * time.Minute})
		controllertest.Create(c, resourceSlice("a", gpu("0", "x", "8Gi", func(d *resourcev1.Device) {
			d.BindingConditions, d.BindingFailureConditions = []string{"attached"}, []string{"failed"}
		})))
		controllertest.Create(c, resourceClaim("claim", exactly("gpu", 1)))
		create(c, "p", "1", usesDevices("claim"))
		c.Sleep(15 * time.Minute)
		create(c, "q", "1", usesDevices("claim"))
		c.Sleep(time.Minute)
		for _, name := range []string{"p", "q"} {
			require.Empty(t, get(c, name).Spec.NodeName)
		}
		require.Len(t, claimOf(c, "claim").Status.ReservedFor, 2)
		controllertest.UpdateStatus(c, "default", "claim", func(c *resourcev1.ResourceClaim) {
			c.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: driver, Pool: "a", Device: "0", Conditions: []metav1.Condition{
				{Type: "attached", Status: metav1.ConditionTrue, Reason: "Driver", LastTransitionTime: metav1.Now()}}}}
		})
		c.Sleep(time.Second)
		for _, name := range []string{"p", "q"} {
			require.Equal(t, "a", get(c, name).Spec.NodeName)
		}
	})
}

// eventsOf are the messages of the events of a pod.
func eventsOf(c *controllertest.Cluster, name string) (out []string) {
	for _, e := range controllertest.List[*corev1.Event](c, "default") {
		if e.InvolvedObject.Name == name {
			out = append(out, e.Message)
		}
	}
	return out
}

// Extended resources come from a device plugin where the node has one, and from devices of the class
// elsewhere; then a claim is made that the pod's status names.
func TestExtendedResourcesAsDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startDevices(t, &scheduler.DynamicResources{})
		want := func(n string) func(p *corev1.Pod) {
			return func(p *corev1.Pod) {
				list := corev1.ResourceList{"cpu": resource.MustParse("1"), "example.com/gpu": resource.MustParse(n)}
				p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: list, Limits: corev1.ResourceList{"example.com/gpu": resource.MustParse(n)}}
				init := p.Spec.Containers[0]
				init.Name = "init"
				p.Spec.InitContainers = []corev1.Container{init}
			}
		}
		create(c, "p", "1", want("2"))
		c.Sleep(5 * time.Second)
		require.Empty(t, get(c, "p").Spec.NodeName)
		controllertest.Create(c, resourceSlice("a", gpu("0", "x", "8Gi")))
		controllertest.Create(c, resourceSlice("b", gpu("0", "x", "8Gi"), gpu("1", "x", "8Gi")))
		c.Sleep(time.Minute)
		p := get(c, "p")
		require.Equal(t, "b", p.Spec.NodeName)
		st := p.Status.ExtendedResourceClaimStatus
		require.Equal(t, []corev1.ContainerExtendedResourceRequest{{ContainerName: "main", ResourceName: "example.com/gpu", RequestName: "container-1-request-1"},
			{ContainerName: "init", ResourceName: "example.com/gpu", RequestName: "container-1-request-1"}}, st.RequestMappings)
		made := claimOf(c, st.ResourceClaimName)
		require.Equal(t, []string{"container-1-request-1=b/0", "container-1-request-1=b/1"}, devicesOf(made))
		require.Equal(t, p.UID, made.Status.ReservedFor[0].UID)

		controllertest.UpdateStatus(c, "", "c", func(n *corev1.Node) { n.Status.Allocatable["example.com/gpu"] = resource.MustParse("2") })
		create(c, "plugin", "1", want("2"))
		c.Sleep(5 * time.Second)
		require.Equal(t, "c", get(c, "plugin").Spec.NodeName)
		require.Nil(t, get(c, "plugin").Status.ExtendedResourceClaimStatus)
	})
}

// Where devices serve an extended resource, scores count them: those of the class that a node has, and those
// of them that claims have. Where a device plugin does, it is what counts.
func TestScoresCountDevices(t *testing.T) {
	const name = "example.com/gpu"
	c := scheduler.NewCluster(nil)
	for _, on := range []string{"a", "b", "c"} {
		n := node(on)
		n.Status.Allocatable = amounts("4", "8Gi", "10")
		if on == "c" {
			n.Status.Allocatable[name] = resource.MustParse("10")
		}
		c.SetNode(n)
	}
	with(c, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: new(name),
		Selectors: []resourcev1.DeviceSelector{selects(`device.attributes["gpu.example.com"].model == "x"`)}}},
		resourceSlice("a", gpu("0", "x", "8Gi"), gpu("1", "x", "8Gi"), gpu("2", "other", "8Gi")),
		resourceSlice("b", gpu("0", "x", "8Gi"), gpu("1", "x", "8Gi"), gpu("2", "x", "8Gi"), gpu("3", "x", "8Gi")))
	taken := resourceClaim("taken", exactly("gpu", 1))
	taken.Status.Allocation = mustAllocate(t, c, taken)
	with(c, taken)
	fit, err := scheduler.NewNodeResourcesFit(scheduler.FitOptions{Strategy: scheduler.MostAllocated, Resources: []scheduler.ResourceWeight{{Name: name, Weight: 1}}})
	require.NoError(t, err)
	p := pod("p", requests("1", "1Mi"))
	p.Spec.Containers[0].Resources.Requests[name] = resource.MustParse("1")
	x := c.Explain(scheduler.Default().With(fit, 1), p, true)
	require.Len(t, x.Feasible, 3, "%v", x.Refused)
	for _, s := range x.Scores {
		if s.Plugin == "NodeResourcesFit" {
			require.Equal(t, []int64{100, 25, 10}, s.Raw)
		}
	}
}

// A claim that was made for a pod which is not bound after all goes, also if the response to its creation was
// lost. The claims of the namespace are listed in that case only.
func TestMadeClaimsGoWithTheAttempt(t *testing.T) {
	for name, tc := range map[string]struct {
		requests controllertest.Requests
		effect   controllertest.Effect
		lists    int
	}{
		"binding is refused":      {controllertest.Requests{Verbs: []string{"create"}, Resource: "pods/binding"}, controllertest.Fail(apierrors.NewBadRequest("no")), 0},
		"creation is refused":     {controllertest.Requests{Verbs: []string{"create"}, Resource: "resourceclaims.resource.k8s.io"}, controllertest.Fail(apierrors.NewBadRequest("no")), 0},
		"response to it is lost":  {controllertest.Requests{Verbs: []string{"create"}, Resource: "resourceclaims.resource.k8s.io"}, controllertest.LoseReply(), 1},
		"reservation is not done": {controllertest.Requests{Verbs: []string{"update"}, Resource: "resourceclaims.resource.k8s.io/status"}, controllertest.Fail(apierrors.NewBadRequest("no")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := startDevices(t, &scheduler.DynamicResources{})
				controllertest.Create(c, resourceSlice("a", gpu("0", "x", "8Gi")))
				c.Settle()
				lists := atomic.Int32{}
				c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"list"}, Resource: "resourceclaims.resource.k8s.io", Namespace: "default"}, Optional: true,
					Effect: func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
						lists.Add(1)
						next(w, r)
					}})
				c.Inject(controllertest.Fault{Requests: tc.requests, Times: 1, Effect: tc.effect})
				create(c, "p", "1", func(p *corev1.Pod) {
					one := corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
					p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: one, Limits: one}
				})
				c.Sleep(5 * time.Minute)
				p := get(c, "p")
				require.Equal(t, "a", p.Spec.NodeName)
				require.EqualValues(t, tc.lists, lists.Load())
				all := controllertest.List[*resourcev1.ResourceClaim](c, "default")
				require.Len(t, all, 1)
				require.Equal(t, p.Status.ExtendedResourceClaimStatus.ResourceClaimName, all[0].Name)
			})
		})
	}
}

// Wrong claims say what is wrong, and fail no other pod.
func TestWrongClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startDevices(t, &scheduler.DynamicResources{})
		controllertest.Create(c, resourceSlice("a", gpu("0", "x", "8Gi")))
		unknown := exactly("gpu", 1)
		unknown.Exactly.DeviceClassName = "none"
		all := exactly("gpu", 0, `device.attributes["other.example.com"].model == "x"`)
		all.Exactly.AllocationMode = resourcev1.DeviceAllocationModeAll
		for name, x := range map[string]struct {
			request resourcev1.DeviceRequest
			text    string
		}{
			"class":   {unknown, "request gpu: device class none does not exist"},
			"runtime": {exactly("gpu", 1, `device.attributes["gpu.example.com"].missing == "x"`), "claim default/runtime: selector #0: CEL runtime error: no such key: missing"},
			"type":    {exactly("gpu", 1, `device.attributes["gpu.example.com"].model`), "the result is of type string: want bool"},
			"many":    {exactly("gpu", 33), "number of requested devices 33 exceeds the claim limit of 32"},
			"none":    {exactly("gpu", 1, `device.attributes["gpu.example.com"].model == "z"`), "cannot allocate all claims"},
			"all":     {all, "CEL runtime error: no such key: model"},
		} {
			controllertest.Create(c, resourceClaim(name, x.request))
			create(c, name, "100m", usesDevices(name))
			create(c, "beside-"+name, "100m")
			c.Sleep(5 * time.Second)
			require.Contains(t, scheduled(get(c, name)).Message, x.text, name)
			require.NotEmpty(t, get(c, "beside-"+name).Spec.NodeName)
		}
	})
}

// A pod whose claim is not there yet, or ends, is gated as in kube-scheduler: it is not tried, and nothing is
// written of it. It is scheduled as soon as the claim is there.
func TestPodsWithoutTheirClaimsAreGated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *scheduler.Scheduler
		c := startDevices(t, &scheduler.DynamicResources{}, func(of *scheduler.Scheduler) { s = of })
		controllertest.Create(c, resourceSlice("a", gpu("0", "x", "8Gi"), gpu("1", "x", "8Gi")))
		create(c, "missing", "1", usesDevices("claim"))
		create(c, "unmade", "1", func(p *corev1.Pod) {
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("template")}}
		})
		c.Sleep(10 * time.Minute)
		for _, name := range []string{"missing", "unmade"} {
			require.NotContains(t, fmt.Sprint(eventsOf(c, name)), "nodes are available")
			require.Empty(t, scheduled(get(c, name)).Reason)
		}
		require.Equal(t, scheduler.PendingPods{Gated: 2}, s.Pending())
		require.Equal(t, 2, s.Sizes().Refused[scheduler.Refuser{Plugin: "DynamicResources", Profile: "default-scheduler"}])
		controllertest.Create(c, resourceClaim("claim", exactly("gpu", 1)))
		c.Sleep(time.Second)
		require.Equal(t, "a", get(c, "missing").Spec.NodeName)
		controllertest.Create(c, &resourcev1.ResourceClaimTemplate{ObjectMeta: controllertest.Name("default", "template"),
			Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourceClaim("", exactly("gpu", 1)).Spec}})
		c.Sleep(time.Minute)
		require.Equal(t, "a", get(c, "unmade").Spec.NodeName)

		// A claim that ends gates its next pod, until another of the name is there.
		ending := resourceClaim("ending", exactly("gpu", 1))
		ending.Finalizers = []string{"example.com/keep"}
		controllertest.Create(c, ending)
		controllertest.Delete[*resourcev1.ResourceClaim](c, "default", "ending")
		c.Settle() // pods may be seen before claims
		create(c, "late", "1", usesDevices("ending"))
		c.Sleep(time.Minute)
		require.Equal(t, scheduler.PendingPods{Gated: 1}, s.Pending())
		require.Empty(t, s.Dump().Differences)
		controllertest.UpdateStatus(c, "default", "missing", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		controllertest.Update(c, "default", "ending", func(c *resourcev1.ResourceClaim) { c.Finalizers = nil })
		controllertest.Create(c, resourceClaim("ending", exactly("gpu", 1)))
		c.Sleep(time.Minute)
		require.Equal(t, "a", get(c, "late").Spec.NodeName)
	})
}

// Placements with devices, and changes of all that devices depend on, are taken back as if they had not been;
// what is counted is what counting again gives, and no device is given twice.
func TestDevicesRollBack(t *testing.T) {
	for _, seed := range seeds.Of(t, 60) {
		w := newDeviceWorld(seed)
		c := w.cluster()
		before := c.Dump()
		require.Contains(t, before, "counted right: true", "seed %d", seed)
		m := c.Mark()
		nodes := c.PlaceAll(scheduler.Default(), w.Pods)
		require.Contains(t, c.Dump(), "counted right: true", "seed %d: %v", seed, nodes)
		require.Empty(t, c.TwiceAllocated(), "seed %d", seed)
		require.Contains(t, c.Fork().Dump(), "counted right: true", "seed %d", seed)
		for _, o := range w.Devices {
			if seed%2 == 0 {
				c.RemoveObject(o)
			}
		}
		for _, o := range w.Slices {
			c.RemoveObject(o)
		}
		for _, p := range w.Pods {
			c.RemovePod(p.UID)
		}
		c.Rollback(m)
		require.Equal(t, before, c.Dump(), "seed %d", seed)
		require.Equal(t, nodes, c.PlaceAll(scheduler.Default(), w.Pods), "seed %d", seed)
	}
}
