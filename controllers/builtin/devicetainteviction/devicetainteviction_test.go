package devicetainteviction_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1beta2"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/devicetainteviction"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/store/apiserver"
)

type rule = resourcev1beta2.DeviceTaintRule

var account = client.User{Name: "system:serviceaccount:kube-system:device-taint-eviction-controller", Groups: []string{"system:authenticated"}}

// start starts a cluster that serves rules, whose controller has only its own rights.
func start(t *testing.T) *controllertest.Cluster {
	served, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	require.NoError(t, resourcev1beta2.AddToScheme(served))
	require.NoError(t, resourcev1beta2.AddRules(served))
	known := api.Scheme().Clone()
	require.NoError(t, resourcev1beta2.AddToScheme(known))
	c := controllertest.Start(t, controllertest.Options{Scheme: known, Server: apiserver.Options{Scheme: served}})
	c.Run(c.ManagerOver(c.Conn(), "controllers", func(m *manager.Manager) error {
		return devicetainteviction.Add(m.As(c.Conn(account)), devicetainteviction.Options{Rules: true})
	}))
	return c
}

// slice publishes the devices gpu-0 and gpu-1 of a pool, the first with taints.
func slice(c *controllertest.Cluster, name, pool string, generation int64, taints ...resourcev1.DeviceTaint) {
	s := &resourcev1.ResourceSlice{ObjectMeta: controllertest.Name("", name)}
	s.Spec.Driver, s.Spec.AllNodes = "gpu.example.com", new(true)
	s.Spec.Pool = resourcev1.ResourcePool{Name: pool, Generation: generation, ResourceSliceCount: 1}
	s.Spec.Devices = []resourcev1.Device{{Name: "gpu-0", Taints: taints}, {Name: "gpu-1"}}
	controllertest.Create(c, s)
}

func broken(effect resourcev1.DeviceTaintEffect) resourcev1.DeviceTaint {
	return resourcev1.DeviceTaint{Key: "broken", Effect: effect}
}

// pod creates a pod on a node that uses a device of a pool, by a claim of its own name.
func pod(c *controllertest.Cluster, namespace, name, pool, device string, tolerations ...resourcev1.DeviceToleration) *corev1.Pod {
	claim := &resourcev1.ResourceClaim{ObjectMeta: controllertest.Name(namespace, name)}
	request := resourcev1.DeviceRequest{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}}
	claim.Spec = resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{request}}}
	controllertest.Create(c, claim)
	p := &corev1.Pod{ObjectMeta: controllertest.Name(namespace, name)}
	p.Spec.Containers, p.Spec.NodeName = []corev1.Container{{Name: "main", Image: "app:1"}}, "node-1"
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &name}}
	p = controllertest.Create(c, p)
	controllertest.UpdateStatus(c, namespace, name, func(r *resourcev1.ResourceClaim) {
		r.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
			{Request: "gpu", Driver: "gpu.example.com", Pool: pool, Device: device, Tolerations: tolerations}}}}
		r.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: name, UID: p.UID}}
	})
	return p
}

// taint creates a rule for the devices of a pool, or for all if it is empty.
func taint(c *controllertest.Cluster, name, pool string, effect resourcev1.DeviceTaintEffect) {
	r := &rule{ObjectMeta: controllertest.Name("", name)}
	r.Spec.Taint, r.Spec.DeviceSelector = broken(effect), &resourcev1beta2.DeviceTaintSelector{Driver: new("gpu.example.com")}
	if pool != "" {
		r.Spec.DeviceSelector.Pool = &pool
	}
	controllertest.Create(c, r)
}

func condition(c *controllertest.Cluster, name string) string {
	for _, got := range controllertest.Get[*rule](c, "", name).Status.Conditions {
		return fmt.Sprint(got.Type, "=", got.Status, " ", got.Reason, ": ", got.Message)
	}
	return ""
}

// left are the pods that are not being deleted.
func left(c *controllertest.Cluster, namespace string) (names []string) {
	for _, p := range controllertest.List[*corev1.Pod](c, namespace) {
		if p.DeletionTimestamp == nil {
			names = append(names, p.Name)
		}
	}
	return names
}

func texts(c *controllertest.Cluster) string {
	var out []string
	for _, e := range controllertest.List[*corev1.Event](c, "default") {
		out = append(out, e.InvolvedObject.Name+" "+e.Reason+" "+e.Message)
	}
	return strings.Join(out, "\n")
}

// A rule with the effect None reports what NoExecute would do; with NoExecute it evicts.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t)
		slice(c, "a", "pool-a", 1)
		pod(c, "default", "train", "pool-a", "gpu-0")
		c.Settle()
		taint(c, "repair", "pool-a", resourcev1.DeviceTaintEffectNone)
		c.Settle()
		fmt.Println(strings.Split(condition(c, "repair"), " This")[0])
		controllertest.Update(c, "", "repair", func(r *rule) { r.Spec.Taint.Effect = resourcev1.DeviceTaintEffectNoExecute })
		c.Sleep(time.Minute)
		fmt.Println(left(c, "default"), condition(c, "repair"))
	})
	// Output:
	// EvictionInProgress=False NoEffect: 2 published devices selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the effect was NoExecute.
	// [] EvictionInProgress=False Completed: 1 pod evicted since starting the controller.
}

// Taints of drivers evict the pods that use the device and do not tolerate them, after tolerationSeconds.
func TestTaintsOfDrivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		minute := resourcev1.DeviceToleration{Key: "broken", Operator: resourcev1.DeviceTolerationOpExists, TolerationSeconds: new(int64(60))}
		always := resourcev1.DeviceToleration{Operator: resourcev1.DeviceTolerationOpExists}
		slice(c, "a", "pool-a", 1, broken(resourcev1.DeviceTaintEffectNoSchedule))
		pod(c, "default", "now", "pool-a", "gpu-0")
		pod(c, "default", "minute", "pool-a", "gpu-0", minute)
		pod(c, "default", "tolerates", "pool-a", "gpu-0", always, minute)
		pod(c, "default", "device", "pool-a", "gpu-1")
		pod(c, "default", "pool", "pool-b", "gpu-0")
		waits := pod(c, "default", "unreserved", "pool-a", "gpu-0")
		controllertest.UpdateStatus(c, "default", "unreserved", func(r *resourcev1.ResourceClaim) { r.Status.ReservedFor = nil })
		c.Sleep(time.Minute)
		require.Len(t, left(c, "default"), 6)
		controllertest.Update(c, "", "a", func(s *resourcev1.ResourceSlice) {
			s.Spec.Devices[0].Taints = []resourcev1.DeviceTaint{broken(resourcev1.DeviceTaintEffectNoExecute)}
		})
		c.Sleep(59 * time.Second)
		require.Equal(t, []string{"device", "minute", "pool", "tolerates", "unreserved"}, left(c, "default"))
		c.Sleep(2 * time.Second)
		require.Equal(t, []string{"device", "pool", "tolerates", "unreserved"}, left(c, "default"))
		controllertest.UpdateStatus(c, "default", "unreserved", func(r *resourcev1.ResourceClaim) {
			r.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "unreserved", UID: waits.UID}}
		})
		c.Sleep(time.Second)
		require.Equal(t, []string{"device", "pool", "tolerates"}, left(c, "default"))
		gone := controllertest.Get[*corev1.Pod](c, "default", "minute")
		require.Equal(t, corev1.DisruptionTarget, gone.Status.Conditions[len(gone.Status.Conditions)-1].Type)
		require.Equal(t, "DeletionByDeviceTaintManager", gone.Status.Conditions[len(gone.Status.Conditions)-1].Reason)
		require.Contains(t, texts(c), "minute DeviceTaintManagerEviction Marking for deletion")
	})
}

// An eviction that is no longer needed is cancelled: the taint is gone, outdated by a newer generation of the
// pool, or the pod's turn to have another claim.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		minute := resourcev1.DeviceToleration{Key: "broken", Operator: resourcev1.DeviceTolerationOpExists, TolerationSeconds: new(int64(60))}
		for _, pool := range []string{"a", "b"} {
			slice(c, pool, pool, 1, broken(resourcev1.DeviceTaintEffectNoExecute))
			pod(c, "default", pool, pool, "gpu-0", minute)
		}
		c.Sleep(30 * time.Second)
		require.Empty(t, texts(c))
		controllertest.Update(c, "", "a", func(s *resourcev1.ResourceSlice) { s.Spec.Devices[0].Taints = nil })
		slice(c, "b-2", "b", 2)
		c.Sleep(30 * time.Minute)
		require.Equal(t, []string{"a", "b"}, left(c, "default"))
		require.Equal(t, "a DeviceTaintManagerEviction Cancelling deletion\nb DeviceTaintManagerEviction Cancelling deletion", texts(c))
		controllertest.Delete[*resourcev1.ResourceSlice](c, "", "b-2")
		c.Sleep(time.Second)
		require.Equal(t, []string{"a"}, left(c, "default"))
	})
}

// The status of a rule counts what is to be done and what was done.
func TestProgressOfRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "other")})
		soon := resourcev1.DeviceToleration{Key: "broken", Operator: resourcev1.DeviceTolerationOpExists, TolerationSeconds: new(int64(25))}
		slice(c, "a", "pool-a", 1)
		pod(c, "default", "now", "pool-a", "gpu-0")
		pod(c, "default", "soon", "pool-a", "gpu-1", soon)
		pod(c, "other", "soon", "pool-b", "gpu-0", soon)
		c.Settle()
		taint(c, "all", "", resourcev1.DeviceTaintEffectNoExecute)
		taint(c, "none", "nothing", resourcev1.DeviceTaintEffectNoExecute)
		taint(c, "new", "pool-a", resourcev1.DeviceTaintEffectNoSchedule)
		c.Sleep(15 * time.Second)
		require.Equal(t, "EvictionInProgress=True PodsPendingEviction: 2 pods need to be evicted in 2 different namespaces. 1 pod evicted since starting the controller.", condition(c, "all"))
		require.Equal(t, "EvictionInProgress=False NotStarted: ", condition(c, "none"))
		require.Equal(t, "EvictionInProgress=False OtherEffect: Eviction only happens for the NoExecute effect.", condition(c, "new"))
		c.Sleep(time.Minute)
		require.Equal(t, "EvictionInProgress=False Completed: 3 pods evicted since starting the controller.", condition(c, "all"))
		require.Empty(t, left(c, ""))
		version := controllertest.Get[*rule](c, "", "all").ResourceVersion
		c.Sleep(time.Hour)
		require.Equal(t, version, controllertest.Get[*rule](c, "", "all").ResourceVersion)
	})
}

// The time of a taint is that of its effect, and impossible rules are refused.
func TestRulesOnTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		taint(c, "a", "pool-a", resourcev1.DeviceTaintEffectNone)
		first := controllertest.Get[*rule](c, "", "a")
		require.False(t, first.Spec.Taint.TimeAdded.IsZero())
		require.EqualValues(t, 1, first.Generation)
		c.Sleep(time.Hour)
		controllertest.Update(c, "", "a", func(r *rule) { r.Spec.Taint.Value = "fan" })
		require.Equal(t, first.Spec.Taint.TimeAdded.Unix(), controllertest.Get[*rule](c, "", "a").Spec.Taint.TimeAdded.Unix())
		controllertest.Update(c, "", "a", func(r *rule) { r.Spec.Taint.Effect = resourcev1.DeviceTaintEffectNoExecute })
		changed := controllertest.Get[*rule](c, "", "a")
		require.Equal(t, time.Now().Unix(), changed.Spec.Taint.TimeAdded.Unix())
		require.EqualValues(t, 3, changed.Generation)
		at := metav1.Time{Time: time.Now().Add(-time.Minute).Truncate(time.Second)}
		controllertest.Update(c, "", "a", func(r *rule) {
			r.Spec.Taint.Effect, r.Spec.Taint.TimeAdded = resourcev1.DeviceTaintEffectNone, &at
		})
		require.Equal(t, at.Unix(), controllertest.Get[*rule](c, "", "a").Spec.Taint.TimeAdded.Unix())
		bad := &rule{ObjectMeta: controllertest.Name("", "bad")}
		bad.Spec.DeviceSelector = &resourcev1beta2.DeviceTaintSelector{Driver: new("Not/A/Driver"), Pool: new("a//b"), Device: new("A")}
		bad.Spec.Taint = resourcev1.DeviceTaint{Key: "-", Value: "-", Effect: "PreferNoSchedule"}
		_, err := client.For[*rule](c.Conn()).Create(t.Context(), bad)
		for _, field := range []string{"deviceSelector.driver", "deviceSelector.pool", "deviceSelector.device", "taint.key", "taint.value", "taint.effect"} {
			require.ErrorContains(t, err, "spec."+field)
		}
		conditions := make([]metav1.Condition, 9)
		for i := range conditions {
			conditions[i] = metav1.Condition{Type: fmt.Sprint("T", i), Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: metav1.Now()}
		}
		c.Sleep(time.Minute)
		changed = controllertest.Get[*rule](c, "", "a")
		changed.Status.Conditions = conditions
		_, err = client.For[*rule](c.Conn()).UpdateStatus(t.Context(), changed)
		require.ErrorContains(t, err, "status.conditions")
	})
}
