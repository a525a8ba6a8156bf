package resourcequota_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/resourcequota"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/internal/things"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func pod(name, cpu string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}
	return p
}

func TestQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return resourcequota.Add(m, resourcequota.Options{}) }}})
		controllertest.Create(c, pod("before", "1"))
		c.Settle() // the first count finds it
		hard := corev1.ResourceList{}
		for name, v := range map[corev1.ResourceName]string{"pods": "3", "requests.cpu": "2", "configmaps": "1", "count/secrets": "5", "services.nodeports": "0"} {
			hard[name] = resource.MustParse(v)
		}
		controllertest.Create(c, &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", "q"), Spec: corev1.ResourceQuotaSpec{Hard: hard}})
		c.Settle()
		used := func() map[string]string {
			q := controllertest.Get[*corev1.ResourceQuota](c, "default", "q")
			require.Len(t, q.Status.Hard, len(hard))
			out := map[string]string{}
			for name, n := range q.Status.Used {
				out[string(name)] = n.String()
			}
			return out
		}
		require.Equal(t, map[string]string{"pods": "1", "requests.cpu": "1", "configmaps": "0", "count/secrets": "0", "services.nodeports": "0"}, used())
		// What is left is given out, and no more.
		pods := client.For[*corev1.Pod](c.Admin())
		_, err := pods.Create(t.Context(), pod("large", "1500m"))
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		require.ErrorContains(t, err, "exceeded quota: q, requested: requests.cpu=1500m, used: requests.cpu=1, limited: requests.cpu=2")
		controllertest.Create(c, pod("second", "1"))
		c.Settle()
		require.Equal(t, "2", used()["requests.cpu"])
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "one")})
		_, err = client.For[*corev1.ConfigMap](c.Admin()).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "two")})
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		// Ends and deletions give back.
		controllertest.UpdateStatus(c, "default", "second", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		controllertest.Delete[*corev1.ConfigMap](c, "default", "one")
		c.Settle()
		require.Equal(t, map[string]string{"pods": "1", "requests.cpu": "1", "configmaps": "0", "count/secrets": "0", "services.nodeports": "0"}, used())
		// A wrong count is corrected by the periodic recount.
		controllertest.UpdateStatus(c, "default", "q", func(q *corev1.ResourceQuota) { q.Status.Used["pods"] = resource.MustParse("3") })
		c.Sleep(6 * time.Minute)
		require.Equal(t, "1", used()["pods"])
		// Other limits hold at once.
		controllertest.Update(c, "default", "q", func(q *corev1.ResourceQuota) { q.Spec.Hard["pods"] = resource.MustParse("1") })
		c.Settle()
		_, err = pods.Create(t.Context(), pod("third", "100m"))
		require.True(t, apierrors.IsForbidden(err), "%v", err)
	})
}

// Custom resources are counted, and given back when they are gone.
func TestQuotaOfCustomResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{CRDs: things.CRDs(), Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return resourcequota.Add(m, resourcequota.Options{}) }}})
		api := client.ForResource[*metav1.Unstructured](c.Admin(), things.Resource)
		create := func(name string) error {
			_, err := api.Create(t.Context(), &metav1.Unstructured{TypeMeta: metav1.TypeMeta{APIVersion: "a.test/v1", Kind: "Thing"}, ObjectMeta: controllertest.Name("default", name)})
			return err
		}
		require.NoError(t, create("before"))
		controllertest.Create(c, &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", "q"),
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/things.a.test": resource.MustParse("2")}}})
		c.Settle()
		used := func() string {
			return new(controllertest.Get[*corev1.ResourceQuota](c, "default", "q").Status.Used["count/things.a.test"]).String()
		}
		require.Equal(t, "1", used())
		require.NoError(t, create("second"))
		require.True(t, apierrors.IsForbidden(create("third")))
		require.NoError(t, api.Delete(t.Context(), types.NamespacedName{Namespace: "default", Name: "before"}))
		c.Settle()
		require.Equal(t, "1", used())
		require.NoError(t, create("third"))
	})
}

// What a pod uses is counted again when it changes: by a resize, and by the scope that it is in.
func TestQuotaOfChangedPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return resourcequota.Add(m, resourcequota.Options{}) }}})
		for name, scope := range map[string]corev1.ResourceQuotaScope{"ending": corev1.ResourceQuotaScopeTerminating, "lasting": corev1.ResourceQuotaScopeNotTerminating} {
			q := &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", name)}
			q.Spec.Hard, q.Spec.Scopes = corev1.ResourceList{"requests.cpu": resource.MustParse("10")}, []corev1.ResourceQuotaScope{scope}
			controllertest.Create(c, q)
		}
		used := func(q string) string {
			return new(controllertest.Get[*corev1.ResourceQuota](c, "default", q).Status.Used["requests.cpu"]).String()
		}
		c.Settle()
		controllertest.Create(c, pod("p", "1"))
		c.Sleep(time.Second)
		require.Equal(t, []string{"0", "1"}, []string{used("ending"), used("lasting")})
		controllertest.Update(c, "default", "p", func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = new(int64(3600)) })
		c.Sleep(time.Second)
		require.Equal(t, []string{"1", "0"}, []string{used("ending"), used("lasting")})
		// The kubelet has given it more than it requests now.
		controllertest.UpdateStatus(c, "default", "p", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", AllocatedResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
				Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}}}
		})
		c.Sleep(time.Second)
		require.Equal(t, "2", used("ending"))
	})
}

// A quota of ResourceClaims reads them once, and then follows their changes without requests for them.
func TestQuotaOfClaimsReadsThemOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		const devices = "gpu.deviceclass.resource.k8s.io/devices"
		reads := c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"get", "list", "watch"}, Resource: "resourceclaims", User: account.Name}, Effect: controllertest.Delay(0)})
		c.Run(c.ManagerOver(c.Conn(account), "quota", func(m *manager.Manager) error { return resourcequota.Add(m, resourcequota.Options{}) }))
		claim := func(i int) *resourcev1.ResourceClaim {
			r := &resourcev1.ResourceClaim{ObjectMeta: controllertest.Name("default", fmt.Sprint("gpu-", i))}
			r.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2}}}
			return r
		}
		for i := range 50 {
			controllertest.Create(c, claim(i))
		}
		q := &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", "q")}
		q.Spec.Hard = corev1.ResourceList{devices: resource.MustParse("200"), "requests.deviceclass.resource.kubernetes.io/gpu": resource.MustParse("200")}
		c.Settle()
		controllertest.Create(c, q)
		c.Sleep(time.Second)
		before := reads.Hits()
		require.Positive(t, before)
		for i := range 40 {
			controllertest.Delete[*resourcev1.ResourceClaim](c, "default", fmt.Sprint("gpu-", i))
			c.Sleep(time.Second)
		}
		for _, used := range controllertest.Get[*corev1.ResourceQuota](c, "default", "q").Status.Used {
			require.Equal(t, "20", used.String())
		}
		require.Equal(t, before, reads.Hits())
	})
}

// account is the user as which the controller runs in a cluster.
var account = client.User{Name: "system:serviceaccount:kube-system:resourcequota-controller"}

// Devices of claims count by their class, and claims by the class of attributes that they name.
func TestQuotaOfClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return resourcequota.Add(m, resourcequota.Options{}) }}})
		const devices, claims = "gpu.deviceclass.resource.k8s.io/devices", "count/resourceclaims.resource.k8s.io"
		gpus := &resourcev1.ResourceClaim{ObjectMeta: controllertest.Name("default", "gpus")}
		gpus.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 3}}}
		controllertest.Create(c, gpus)
		for name, class := range map[string]*string{"plain": nil, "gold": new("gold")} {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", name)}
			claim.Spec.VolumeAttributesClassName, claim.Spec.AccessModes = class, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
			claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
			controllertest.Create(c, claim)
		}
		limit := func(q string, selector *corev1.ScopeSelector, names ...corev1.ResourceName) {
			hard := corev1.ResourceList{}
			for _, name := range names {
				hard[name] = resource.MustParse("100Gi")
			}
			controllertest.Create(c, &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", q), Spec: corev1.ResourceQuotaSpec{Hard: hard, ScopeSelector: selector}})
		}
		used := func(q string, name corev1.ResourceName) string {
			return new(controllertest.Get[*corev1.ResourceQuota](c, "default", q).Status.Used[name]).String()
		}
		c.Settle() // a quota that is seen before what counts has it at the next recount
		limit("devices", nil, devices, claims)
		limit("gold", &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
			{ScopeName: corev1.ResourceQuotaScopeVolumeAttributesClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"gold"}}}}, "persistentvolumeclaims", "requests.storage")
		c.Settle()
		require.Equal(t, "3", used("devices", devices))
		require.Equal(t, "1", used("devices", claims))
		require.Equal(t, "1", used("gold", "persistentvolumeclaims"))
		require.Equal(t, "1Gi", used("gold", "requests.storage"))
		controllertest.Delete[*resourcev1.ResourceClaim](c, "default", "gpus")
		c.Settle()
		require.Equal(t, "0", used("devices", devices))
		require.Equal(t, "0", used("devices", claims))
	})
}

// Extended resources are counted of pods and of claims, once for a pod with the claim that was made for it.
func TestQuotaOfExtendedResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return resourcequota.Add(m, resourcequota.Options{}) }}})
		const named, implicit = "requests.example.com/gpu", "requests.deviceclass.resource.kubernetes.io/gpu"
		claim := func(name string, pod *corev1.Pod) {
			r := &resourcev1.ResourceClaim{ObjectMeta: controllertest.Name("default", name)}
			r.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2}}}
			if pod != nil {
				r.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
				r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: new(true)}}
			}
			controllertest.Create(c, r)
		}
		controllertest.Create(c, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: new("example.com/gpu")}})
		p := pod("p", "100m")
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
		controllertest.Create(c, p)
		p = controllertest.Get[*corev1.Pod](c, "default", "p")
		claim("own", nil)
		claim("made", p)
		c.Sleep(time.Second)
		claim("a-later", p)
		c.Settle()
		controllertest.Create(c, &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", "q"), Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{named: resource.MustParse("9"), implicit: resource.MustParse("9")}}})
		used := func() [2]string {
			status := controllertest.Get[*corev1.ResourceQuota](c, "default", "q").Status.Used
			return [2]string{new(status[named]).String(), new(status[implicit]).String()}
		}
		c.Settle()
		require.Equal(t, [2]string{"6", "6"}, used(), "1 of the pod, 1 of its claim beyond that, and 2 of each other claim")
		// What the pod's status names is its claim, whatever is older.
		controllertest.UpdateStatus(c, "default", "p", func(p *corev1.Pod) {
			p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "own"}
		})
		c.Sleep(6 * time.Minute)
		require.Equal(t, [2]string{"7", "6"}, used(), "own does not say that it was made for the pod, so none is exempt")
		controllertest.Delete[*corev1.Pod](c, "default", "p")
		controllertest.Delete[*resourcev1.ResourceClaim](c, "default", "own")
		c.Settle()
		require.Equal(t, [2]string{"4", "4"}, used())
	})
}

// The usage of a pod whose node does not end it is given back by the next recount after its grace period.
func TestOverdueDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return resourcequota.Add(m, resourcequota.Options{}) }}})
		stuck := pod("stuck", "1")
		stuck.Spec.NodeName = "lost"
		controllertest.Create(c, stuck)
		c.Settle()
		controllertest.Create(c, &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", "q"),
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("1"), "count/pods": resource.MustParse("2")}}})
		used := func(name corev1.ResourceName) string {
			n := controllertest.Get[*corev1.ResourceQuota](c, "default", "q").Status.Used[name]
			return n.String()
		}
		c.Settle()
		controllertest.Delete[*corev1.Pod](c, "default", "stuck")
		c.Settle()
		require.Equal(t, "1", used("pods"))
		c.Sleep(7 * time.Minute)
		require.NotNil(t, controllertest.Get[*corev1.Pod](c, "default", "stuck").DeletionTimestamp)
		require.Equal(t, "0", used("pods"))
		require.Equal(t, "1", used("count/pods"))
		controllertest.Create(c, pod("replacement", "1"))
	})
}

// Creations and deletions side by side leave a true count.
func TestManyChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return resourcequota.Add(m, resourcequota.Options{}) }}})
		controllertest.Create(c, &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", "q"),
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("20")}}})
		c.Settle()
		pods := client.For[*corev1.Pod](c.Admin())
		most := 0
		for round := range 3 {
			for i := range 40 {
				_, err := pods.Create(t.Context(), pod(fmt.Sprintf("p%d-%d", round, i), "1m"))
				require.True(t, err == nil || apierrors.IsForbidden(err), "%v", err)
			}
			list := controllertest.List[*corev1.Pod](c, "default")
			most = max(most, len(list))
			for _, p := range list[:len(list)/2] {
				controllertest.Delete[*corev1.Pod](c, "default", p.Name)
			}
			c.Sleep(10 * time.Second)
		}
		require.LessOrEqual(t, most, 20)
		q := controllertest.Get[*corev1.ResourceQuota](c, "default", "q")
		n := q.Status.Used["pods"]
		require.Equal(t, int64(len(controllertest.List[*corev1.Pod](c, "default"))), n.Value())
	})
}
