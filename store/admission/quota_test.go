package admission_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/memory"
)

// createQuota stores a quota and plays the quota controller: what the spec says is in force, nothing is used.
func createQuota(t testing.TB, p *planetest.Plane, name string, spec corev1.ResourceQuotaSpec) {
	t.Helper()
	q := planetest.Create(t, p.Admin(), &corev1.ResourceQuota{ObjectMeta: planetest.Meta("default", name), Spec: spec})
	q.Status.Hard, q.Status.Used = spec.Hard, corev1.ResourceList{}
	for r := range spec.Hard {
		q.Status.Used[r] = resource.MustParse("0")
	}
	_, err := client.For[*corev1.ResourceQuota](p.Admin()).UpdateStatus(t.Context(), q)
	require.NoError(t, err)
	p.Eventually("the quota is in force", func() bool {
		obj, err := p.Access().Get(t.Context(), quotas, planetest.Key("default", name))
		return err == nil && len(obj.(*corev1.ResourceQuota).Status.Hard) > 0
	})
}

var quotas = corev1.GroupVersion.WithResource("resourcequotas")

func usedQuota(t testing.TB, p *planetest.Plane, name string, r corev1.ResourceName) string {
	t.Helper()
	q, err := client.For[*corev1.ResourceQuota](p.Admin()).Get(t.Context(), planetest.Key("default", name))
	require.NoError(t, err)
	return new(q.Status.Used[r]).String()
}

func plainDeployment(name string) *appsv1.Deployment {
	labels := map[string]string{"a": "b"}
	return &appsv1.Deployment{ObjectMeta: planetest.Meta("default", name), Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: planetest.Pod("").Spec}}}
}

func TestResourceQuota(t *testing.T) {
	p := planetest.StartForPods(t)
	admin := p.Admin()
	createQuota(t, p, "compute", corev1.ResourceQuotaSpec{Hard: quantities("pods", "3", "requests.cpu", "1", "count/deployments.apps", "1")})
	err := planetest.TryCreate(t, admin, planetest.Pod("silent"))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, "failed quota: compute: must specify requests.cpu for: c")
	planetest.Create(t, admin, planetest.Pod("first", resources(quantities("cpu", "600m"), nil)))
	require.Equal(t, "600m", usedQuota(t, p, "compute", "requests.cpu"))
	err = planetest.TryCreate(t, admin, planetest.Pod("second", resources(quantities("cpu", "600m"), nil)))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `pods "second" is forbidden: exceeded quota: compute, requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1`)
	require.Equal(t, "1", usedQuota(t, p, "compute", "pods"), "a refused pod costs nothing")
	_, err = client.For[*corev1.Pod](admin).Create(t.Context(), planetest.Pod("dry", resources(quantities("cpu", "100m"), nil)), client.CreateOptions{DryRun: true})
	require.NoError(t, err)
	require.Equal(t, "1", usedQuota(t, p, "compute", "pods"), "a dry run costs nothing")

	planetest.Create(t, admin, plainDeployment("one"))
	require.ErrorContains(t, planetest.TryCreate(t, admin, plainDeployment("two")), "exceeded quota: compute, requested: count/deployments.apps=1, used: count/deployments.apps=1, limited: count/deployments.apps=1")
}

func TestQuotaScopes(t *testing.T) {
	p := planetest.StartForPods(t)
	admin := p.Admin()
	planetest.Create(t, admin, &schedulingv1.PriorityClass{ObjectMeta: planetest.Meta("", "high"), Value: 100})
	createQuota(t, p, "besteffort", corev1.ResourceQuotaSpec{Hard: quantities("pods", "1"), Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}})
	createQuota(t, p, "high", corev1.ResourceQuotaSpec{Hard: quantities("pods", "1"), ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
		{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"high"}}}}})
	planetest.Create(t, admin, planetest.Pod("modest"))
	require.ErrorContains(t, planetest.TryCreate(t, admin, planetest.Pod("modest-2")), "exceeded quota: besteffort, requested: pods=1, used: pods=1, limited: pods=1")
	burst := resources(quantities("cpu", "1m"), nil)
	high := func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" }
	planetest.Create(t, admin, planetest.Pod("burst", burst))
	planetest.Create(t, admin, planetest.Pod("high", burst, high))
	require.ErrorContains(t, planetest.TryCreate(t, admin, planetest.Pod("high-2", burst, high)), "exceeded quota: high")
	planetest.Create(t, admin, planetest.Pod("burst-2", burst))
}

// What is limited by configuration is refused where no quota limits it, and counted where one does.
func TestLimitedResources(t *testing.T) {
	const priority = corev1.ResourceQuotaScopePriorityClass
	p := planetest.StartForPods(t, func(o *controlplane.Options) {
		o.AdmissionConfiguration.LimitedResources = []admission.LimitedResource{
			{Resource: "pods", MatchContains: []string{"limits."}, MatchScopes: []corev1.ScopedResourceSelectorRequirement{{ScopeName: priority, Operator: corev1.ScopeSelectorOpIn, Values: []string{"high"}}}},
			{APIGroup: "apps", Resource: "deployments", MatchContains: []string{"count/"}},
		}
	})
	admin := p.Admin()
	planetest.Create(t, admin, &schedulingv1.PriorityClass{ObjectMeta: planetest.Meta("", "high"), Value: 100})
	limited := func(name string) *corev1.Pod {
		return planetest.Pod(name, resources(nil, quantities("cpu", "600m", "memory", "1Gi")))
	}
	high := func(name string) *corev1.Pod {
		return planetest.Pod(name, func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" })
	}
	refused := func(err error, want string) {
		t.Helper()
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		require.ErrorContains(t, err, want)
	}
	planetest.Create(t, admin, planetest.Pod("plain"))
	planetest.Create(t, admin, &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "plain")})
	refused(planetest.TryCreate(t, admin, limited("a")), `pods "a" is forbidden: insufficient quota to consume: limits.cpu,limits.memory`)
	refused(planetest.TryCreate(t, admin, high("a")), "insufficient quota to match these scopes: [{PriorityClass In [high]}]")
	refused(planetest.TryCreate(t, admin, plainDeployment("a")), "insufficient quota to consume: count/deployments.apps")

	createQuota(t, p, "cpu", corev1.ResourceQuotaSpec{Hard: quantities("limits.cpu", "1")})
	refused(planetest.TryCreate(t, admin, limited("a")), "insufficient quota to consume: limits.memory")
	createQuota(t, p, "memory", corev1.ResourceQuotaSpec{Hard: quantities("limits.memory", "1Gi")})
	planetest.Create(t, admin, limited("a"))
	refused(planetest.TryCreate(t, admin, limited("b")), "exceeded quota: ")
	require.Equal(t, "600m", usedQuota(t, p, "cpu", "limits.cpu"))

	createQuota(t, p, "high", corev1.ResourceQuotaSpec{Hard: quantities("pods", "1"), ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
		{ScopeName: priority, Operator: corev1.ScopeSelectorOpExists}}}})
	refused(planetest.TryCreate(t, admin, high("a2")), "failed quota: ") // the others require limits
}

// A change that brings an object into the scopes of a quota is charged in full.
func TestQuotaScopesOfUpdates(t *testing.T) {
	p := planetest.StartForPods(t)
	admin := p.Admin()
	createQuota(t, p, "gold", corev1.ResourceQuotaSpec{Hard: quantities("persistentvolumeclaims", "1", "requests.storage", "1Gi"), ScopeSelector: &corev1.ScopeSelector{
		MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopeVolumeAttributesClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"gold"}}}}})
	createQuota(t, p, "ending", corev1.ResourceQuotaSpec{Hard: quantities("pods", "1"), Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}})
	claim := func(name, class string) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: planetest.Meta("default", name)}
		c.Spec.AccessModes, c.Spec.Resources.Requests = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, quantities("storage", "1Gi")
		if class != "" {
			c.Spec.VolumeAttributesClassName = &class
		}
		return c
	}
	planetest.Create(t, admin, claim("silver", "silver"))
	require.Equal(t, "0", usedQuota(t, p, "gold", "persistentvolumeclaims"))
	planetest.Create(t, admin, claim("gold", "gold"))
	require.Equal(t, "1Gi", usedQuota(t, p, "gold", "requests.storage"))
	require.ErrorContains(t, planetest.TryCreate(t, admin, claim("more", "gold")), "exceeded quota: gold")

	ending := func(name string) error {
		pods := client.For[*corev1.Pod](admin)
		pod, err := pods.Get(t.Context(), planetest.Key("default", name))
		require.NoError(t, err)
		pod.Spec.ActiveDeadlineSeconds = new(int64(60))
		_, err = pods.Update(t.Context(), pod)
		return err
	}
	planetest.Create(t, admin, planetest.Pod("a"))
	planetest.Create(t, admin, planetest.Pod("b"))
	require.NoError(t, ending("a"))
	require.Equal(t, "1", usedQuota(t, p, "ending", "pods"))
	require.ErrorContains(t, ending("b"), "exceeded quota: ending, requested: pods=1, used: pods=1, limited: pods=1")
}

// Devices of claims are counted by device class, of alternatives the most that may be allocated.
func TestQuotaOfDeviceClasses(t *testing.T) {
	p := planetest.StartForPods(t)
	createQuota(t, p, "devices", corev1.ResourceQuotaSpec{Hard: quantities("gpu.deviceclass.resource.k8s.io/devices", "5", "nic.deviceclass.resource.k8s.io/devices", "40")})
	claim := func(name string, requests ...resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{ObjectMeta: planetest.Meta("default", name)}
		c.Spec.Devices.Requests = requests
		return c
	}
	exactly := resourcev1.DeviceRequest{Name: "a", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2}}
	first := resourcev1.DeviceRequest{Name: "b", FirstAvailable: []resourcev1.DeviceSubRequest{
		{Name: "x", DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1},
		{Name: "y", DeviceClassName: "nic", AllocationMode: resourcev1.DeviceAllocationModeAll}, {Name: "z", DeviceClassName: "gpu"}}}
	planetest.Create(t, p.Admin(), claim("a", exactly, first))
	require.Equal(t, "3", usedQuota(t, p, "devices", "gpu.deviceclass.resource.k8s.io/devices"))
	require.Equal(t, "32", usedQuota(t, p, "devices", "nic.deviceclass.resource.k8s.io/devices"))
	require.ErrorContains(t, planetest.TryCreate(t, p.Admin(), claim("b", exactly, first)), "exceeded quota: devices, requested: gpu.deviceclass.resource.k8s.io/devices=3,nic.deviceclass.resource.k8s.io/devices=32, used: gpu")
}

// Devices of claims are extended resources too if their class names one: a pod and the claim that a scheduler
// makes for its extended resources are charged once, and no second claim is exempt by naming the pod.
func TestQuotaOfExtendedResources(t *testing.T) {
	p := planetest.StartForPods(t)
	const named, implicit = "requests.example.com/gpu", "requests.deviceclass.resource.kubernetes.io/gpu"
	planetest.Create(t, p.Admin(), &resourcev1.DeviceClass{ObjectMeta: planetest.Meta("", "gpu"), Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: new("example.com/gpu")}})
	planetest.Create(t, p.Admin(), &resourcev1.DeviceClass{ObjectMeta: planetest.Meta("", "nic")})
	createQuota(t, p, "gpus", corev1.ResourceQuotaSpec{Hard: quantities(named, "5", implicit, "4")})
	used := func() [2]string { return [2]string{usedQuota(t, p, "gpus", named), usedQuota(t, p, "gpus", implicit)} }
	claim := func(name, class string, n int64, pod *corev1.Pod) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{ObjectMeta: planetest.Meta("default", name)}
		c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "a", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: n}}}
		if pod != nil {
			c.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: new(true)}}
		}
		return c
	}
	planetest.Create(t, p.Admin(), claim("other-class", "nic", 3, nil))
	planetest.Create(t, p.Admin(), claim("own", "gpu", 1, nil))
	require.Equal(t, [2]string{"1", "1"}, used())
	pod := planetest.Pod("a")
	pod.Spec.Containers[0].Resources.Limits = quantities("example.com/gpu", "2")
	pod = planetest.Create(t, p.Admin(), pod)
	require.Equal(t, [2]string{"3", "1"}, used())
	planetest.Create(t, p.Admin(), claim("made", "gpu", 2, pod))
	require.Equal(t, [2]string{"3", "3"}, used(), "the pod is charged for the extended resource")
	planetest.Create(t, p.Admin(), claim("z-second", "gpu", 1, pod))
	require.Equal(t, [2]string{"4", "4"}, used(), "a pod has one such claim")
	stranger := *pod
	stranger.UID = "another"
	err := planetest.TryCreate(t, p.Admin(), claim("forged", "gpu", 2, &stranger))
	require.ErrorContains(t, err, "exceeded quota: gpus, requested: "+implicit+"=2,"+named+"=2, used: "+implicit+"=4,"+named+"=4, limited: "+implicit+"=4,"+named+"=5")
}

func TestQuotaUnderRacingCreators(t *testing.T) {
	s := memory.New(memory.Options{})
	t.Cleanup(func() { _ = s.Close() })
	key := planetest.SigningKey(t)
	sameKey := func(o *controlplane.Options) { o.ServiceAccountKeys = []any{key} }
	servers := []*planetest.Plane{planetest.Start(t, planetest.Over(s), sameKey), planetest.Start(t, planetest.Over(s), sameKey)}
	createQuota(t, servers[0], "maps", corev1.ResourceQuotaSpec{Hard: quantities("count/configmaps", "20")})
	servers[1].Eventually("the other server knows the quota", func() bool {
		obj, err := servers[1].Access().Get(t.Context(), quotas, quotaKey)
		return err == nil && len(obj.(*corev1.ResourceQuota).Status.Hard) > 0
	})
	var wg sync.WaitGroup
	var stored, refused atomic.Int64
	for i := range 32 {
		c := servers[i%2].Admin()
		wg.Go(func() {
			for n := range 2 {
				err := planetest.TryCreate(t, c, &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", fmt.Sprintf("m-%d-%d", i, n))})
				switch {
				case err == nil:
					stored.Add(1)
				case apierrors.IsForbidden(err):
					refused.Add(1)
				default:
					t.Errorf("creator %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	list, err := client.For[*corev1.ConfigMap](servers[0].Admin()).List(t.Context(), client.ListOptions{Namespace: "default"})
	require.NoError(t, err)
	require.EqualValues(t, stored.Load(), len(list.Items))
	require.EqualValues(t, 20, stored.Load(), "all of the quota is given out, and no more")
	require.EqualValues(t, 44, refused.Load())
	require.Equal(t, "20", usedQuota(t, servers[0], "maps", "count/configmaps"))
}

var quotaKey = planetest.Key("default", "maps")
