package controlplane_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/nodev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
)

func quantities(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func resources(requests, limits corev1.ResourceList) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: requests, Limits: limits}
	}
}

// withPods starts a control plane whose default namespace has its service account.
func withPods(t testing.TB, change ...func(*controlplane.Options)) *plane {
	p := start(t, change...)
	p.account("default", "default")
	return p
}

func TestNamespaceLifecycle(t *testing.T) {
	p := start(t)
	admin := p.admin()
	err := tryCreate(t, admin, &corev1.ConfigMap{ObjectMeta: meta("nowhere", "x")})
	require.True(t, apierrors.IsNotFound(err), err)
	require.ErrorContains(t, err, `namespaces "nowhere" not found`)
	for _, name := range []string{"default", "kube-system", "kube-public"} {
		err = client.For[*corev1.Namespace](admin).Delete(t.Context(), key("", name))
		require.True(t, apierrors.IsForbidden(err), err)
		require.ErrorContains(t, err, "this namespace may not be deleted")
	}
	create(t, admin, &corev1.Namespace{ObjectMeta: meta("", "going")})
	kept := create(t, admin, &corev1.ConfigMap{ObjectMeta: meta("going", "kept")})
	require.NoError(t, client.For[*corev1.Namespace](admin).Delete(t.Context(), key("", "going")))
	p.eventually("the namespace takes nothing new", func() bool {
		err := tryCreate(t, admin, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "going", GenerateName: "x-"}})
		if err == nil {
			return false
		}
		require.True(t, apierrors.IsForbidden(err), err)
		require.ErrorContains(t, err, "unable to create new content in namespace going because it is being terminated")
		cause, ok := apierrors.CauseOf(err, "NamespaceTerminating")
		require.True(t, ok)
		require.Equal(t, "metadata.namespace", cause.Field)
		return true
	})
	kept.Data = map[string]string{"still": "writable"}
	_, err = client.For[*corev1.ConfigMap](admin).Update(t.Context(), kept)
	require.NoError(t, err)
}

func TestServiceAccountOfPods(t *testing.T) {
	p := start(t)
	admin := p.admin()
	err := tryCreate(t, admin, pod("early"))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `error looking up service account default/default: serviceaccounts "default" not found`)
	p.account("default", "default")
	create(t, admin, &corev1.ServiceAccount{ObjectMeta: meta("default", "quiet"), AutomountServiceAccountToken: new(false),
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}})

	got := create(t, admin, pod("plain"))
	require.Equal(t, "default", got.Spec.ServiceAccountName)
	require.Equal(t, "default", got.Spec.DeprecatedServiceAccount)
	require.Len(t, got.Spec.Volumes, 1)
	v := got.Spec.Volumes[0]
	require.True(t, strings.HasPrefix(v.Name, "kube-api-access-"), v.Name)
	require.Len(t, v.Projected.Sources, 3)
	require.Equal(t, int64(3607), *v.Projected.Sources[0].ServiceAccountToken.ExpirationSeconds)
	require.Equal(t, "kube-root-ca.crt", v.Projected.Sources[1].ConfigMap.Name)
	require.Equal(t, []corev1.VolumeMount{{Name: v.Name, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}, got.Spec.Containers[0].VolumeMounts)

	got = create(t, admin, pod("quiet", func(p *corev1.Pod) { p.Spec.ServiceAccountName = "quiet" }))
	require.Empty(t, got.Spec.Volumes)
	require.Equal(t, "registry", got.Spec.ImagePullSecrets[0].Name)
	got = create(t, admin, pod("loud", func(p *corev1.Pod) {
		p.Spec.ServiceAccountName, p.Spec.AutomountServiceAccountToken = "quiet", new(true)
	}))
	require.Len(t, got.Spec.Volumes, 1)
	got = create(t, admin, pod("own", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "mine", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "mine", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}
	}))
	require.Len(t, got.Spec.Volumes, 1, "nothing to mount it in")
}

func TestLimitRanger(t *testing.T) {
	p := withPods(t)
	admin := p.admin()
	create(t, admin, &corev1.LimitRange{ObjectMeta: meta("default", "limits"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
		{Type: corev1.LimitTypeContainer, Default: quantities("cpu", "500m"), DefaultRequest: quantities("cpu", "250m"), Max: quantities("cpu", "1"), Min: quantities("cpu", "100m")},
		{Type: corev1.LimitTypePersistentVolumeClaim, Max: quantities("storage", "1Gi")}}}})
	var got *corev1.Pod
	p.eventually("defaults are filled", func() bool {
		got = create(t, admin, pod("x", func(p *corev1.Pod) { p.Name, p.GenerateName = "", "filled-" }))
		return len(got.Spec.Containers[0].Resources.Limits) > 0
	})
	require.Equal(t, "500m", new(got.Spec.Containers[0].Resources.Limits["cpu"]).String())
	require.Equal(t, "250m", new(got.Spec.Containers[0].Resources.Requests["cpu"]).String())
	require.Equal(t, "LimitRanger plugin set: cpu request for container c; cpu limit for container c", got.Annotations["kubernetes.io/limit-ranger"])
	err := tryCreate(t, admin, pod("much", resources(nil, quantities("cpu", "2"))))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `pods "much" is forbidden: maximum cpu usage per Container is 1, but limit is 2`)
	err = tryCreate(t, admin, pod("little", resources(quantities("cpu", "1m"), quantities("cpu", "50m"))))
	require.ErrorContains(t, err, `minimum cpu usage per Container is 100m, but request is 1m`)
	claim := func(size string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta("default", "claim"), Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"},
			Resources: corev1.VolumeResourceRequirements{Requests: quantities("storage", size)}}}
	}
	require.ErrorContains(t, tryCreate(t, admin, claim("2Gi")), "maximum storage usage per PersistentVolumeClaim is 1Gi, but")
	require.NoError(t, tryCreate(t, admin, claim("1Gi")))
}

// quota stores a quota and plays the quota controller: what the spec says is in force, nothing is used.
func (p *plane) quota(name string, spec corev1.ResourceQuotaSpec) {
	p.t.Helper()
	q := create(p.t, p.admin(), &corev1.ResourceQuota{ObjectMeta: meta("default", name), Spec: spec})
	q.Status.Hard, q.Status.Used = spec.Hard, corev1.ResourceList{}
	for r := range spec.Hard {
		q.Status.Used[r] = resource.MustParse("0")
	}
	_, err := client.For[*corev1.ResourceQuota](p.admin()).UpdateStatus(p.t.Context(), q)
	require.NoError(p.t, err)
	p.eventually("the quota is in force", func() bool {
		obj, err := p.Access().Get(p.t.Context(), quotas, key("default", name))
		return err == nil && len(obj.(*corev1.ResourceQuota).Status.Hard) > 0
	})
}

var quotas = corev1.GroupVersion.WithResource("resourcequotas")

func (p *plane) used(name string, r corev1.ResourceName) string {
	p.t.Helper()
	q, err := client.For[*corev1.ResourceQuota](p.admin()).Get(p.t.Context(), key("default", name))
	require.NoError(p.t, err)
	return new(q.Status.Used[r]).String()
}

func TestResourceQuota(t *testing.T) {
	p := withPods(t)
	admin := p.admin()
	p.quota("compute", corev1.ResourceQuotaSpec{Hard: quantities("pods", "3", "requests.cpu", "1", "count/deployments.apps", "1")})
	err := tryCreate(t, admin, pod("silent"))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, "failed quota: compute: must specify requests.cpu for: c")
	create(t, admin, pod("first", resources(quantities("cpu", "600m"), nil)))
	require.Equal(t, "600m", p.used("compute", "requests.cpu"))
	err = tryCreate(t, admin, pod("second", resources(quantities("cpu", "600m"), nil)))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `pods "second" is forbidden: exceeded quota: compute, requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1`)
	require.Equal(t, "1", p.used("compute", "pods"), "a refused pod costs nothing")
	_, err = client.For[*corev1.Pod](admin).Create(t.Context(), pod("dry", resources(quantities("cpu", "100m"), nil)), client.CreateOptions{DryRun: true})
	require.NoError(t, err)
	require.Equal(t, "1", p.used("compute", "pods"), "a dry run costs nothing")

	deployment := func(name string) *appsv1.Deployment {
		labels := map[string]string{"a": "b"}
		return &appsv1.Deployment{ObjectMeta: meta("default", name), Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod("").Spec}}}
	}
	create(t, admin, deployment("one"))
	require.ErrorContains(t, tryCreate(t, admin, deployment("two")), "exceeded quota: compute, requested: count/deployments.apps=1, used: count/deployments.apps=1, limited: count/deployments.apps=1")
}

func TestQuotaScopes(t *testing.T) {
	p := withPods(t)
	admin := p.admin()
	create(t, admin, &schedulingv1.PriorityClass{ObjectMeta: meta("", "high"), Value: 100})
	p.quota("besteffort", corev1.ResourceQuotaSpec{Hard: quantities("pods", "1"), Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}})
	p.quota("high", corev1.ResourceQuotaSpec{Hard: quantities("pods", "1"), ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
		{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"high"}}}}})
	create(t, admin, pod("modest"))
	require.ErrorContains(t, tryCreate(t, admin, pod("modest-2")), "exceeded quota: besteffort, requested: pods=1, used: pods=1, limited: pods=1")
	burst := resources(quantities("cpu", "1m"), nil)
	high := func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" }
	create(t, admin, pod("burst", burst))
	create(t, admin, pod("high", burst, high))
	require.ErrorContains(t, tryCreate(t, admin, pod("high-2", burst, high)), "exceeded quota: high")
	create(t, admin, pod("burst-2", burst))
}

func TestQuotaUnderRacingCreators(t *testing.T) {
	s := memory.New(memory.Options{})
	t.Cleanup(func() { _ = s.Close() })
	key := signingKey(t)
	sameKey := func(o *controlplane.Options) { o.ServiceAccountKeys = []any{key} }
	servers := []*plane{start(t, over(s), sameKey), start(t, over(s), sameKey)}
	servers[0].quota("maps", corev1.ResourceQuotaSpec{Hard: quantities("count/configmaps", "20")})
	servers[1].eventually("the other server knows the quota", func() bool {
		obj, err := servers[1].Access().Get(t.Context(), quotas, quotaKey)
		return err == nil && len(obj.(*corev1.ResourceQuota).Status.Hard) > 0
	})
	var wg sync.WaitGroup
	var stored, refused atomic.Int64
	for i := range 32 {
		c := servers[i%2].admin()
		wg.Go(func() {
			for n := range 2 {
				err := tryCreate(t, c, &corev1.ConfigMap{ObjectMeta: meta("default", fmt.Sprintf("m-%d-%d", i, n))})
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
	list, err := client.For[*corev1.ConfigMap](servers[0].admin()).List(t.Context(), client.ListOptions{Namespace: "default"})
	require.NoError(t, err)
	require.EqualValues(t, stored.Load(), len(list.Items))
	require.EqualValues(t, 20, stored.Load(), "all of the quota is given out, and no more")
	require.EqualValues(t, 44, refused.Load())
	require.Equal(t, "20", servers[0].used("maps", "count/configmaps"))
}

var quotaKey = key("default", "maps")

func TestPriorityOfPods(t *testing.T) {
	p := withPods(t)
	admin := p.admin()
	got := create(t, admin, pod("plain"))
	require.EqualValues(t, 0, *got.Spec.Priority)
	require.Equal(t, corev1.PreemptLowerPriority, *got.Spec.PreemptionPolicy)
	never := corev1.PreemptNever
	create(t, admin, &schedulingv1.PriorityClass{ObjectMeta: meta("", "high"), Value: 1000, PreemptionPolicy: &never})
	got = create(t, admin, pod("high", func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" }))
	require.EqualValues(t, 1000, *got.Spec.Priority)
	require.Equal(t, never, *got.Spec.PreemptionPolicy)
	got = create(t, admin, pod("system", func(p *corev1.Pod) { p.Spec.PriorityClassName = "system-node-critical" }))
	require.EqualValues(t, 2000001000, *got.Spec.Priority)
	err := tryCreate(t, admin, pod("unknown", func(p *corev1.Pod) { p.Spec.PriorityClassName = "nope" }))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, "no PriorityClass with name nope was found")
	err = tryCreate(t, admin, pod("number", func(p *corev1.Pod) { p.Spec.Priority = new(int32(7)) }))
	require.ErrorContains(t, err, "the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name")
	create(t, admin, &schedulingv1.PriorityClass{ObjectMeta: meta("", "everyone"), Value: 5, GlobalDefault: true})
	p.eventually("the default class applies", func() bool {
		got := create(t, admin, pod("x", func(p *corev1.Pod) { p.Name, p.GenerateName = "", "d-" }))
		return got.Spec.PriorityClassName == "everyone" && *got.Spec.Priority == 5
	})

	const one = "PriorityClass everyone is already marked as default. Only one default can exist"
	err = tryCreate(t, admin, &schedulingv1.PriorityClass{ObjectMeta: meta("", "another"), Value: 6, GlobalDefault: true})
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, one)
	classes := client.For[*schedulingv1.PriorityClass](admin)
	mark := func(name string) error {
		_, err := classes.Patch(t.Context(), key("", name), client.Patch{Type: "application/merge-patch+json", Data: []byte(`{"globalDefault":true,"description":"d"}`)})
		return err
	}
	require.ErrorContains(t, mark("high"), one)
	require.NoError(t, mark("everyone"))
	create(t, admin, &schedulingv1.PriorityClass{ObjectMeta: meta("", "plain"), Value: 6})
}

func TestDefaultsOfPodsAndNodes(t *testing.T) {
	p := withPods(t)
	admin := p.admin()
	got := create(t, admin, pod("plain"))
	require.Len(t, got.Spec.Tolerations, 2)
	for i, k := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		require.Equal(t, corev1.Toleration{Key: k, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}, got.Spec.Tolerations[i])
	}
	got = create(t, admin, pod("all", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }))
	require.Len(t, got.Spec.Tolerations, 1)
	require.Equal(t, corev1.PullIfNotPresent, got.Spec.Containers[0].ImagePullPolicy)

	node := create(t, admin, &corev1.Node{ObjectMeta: meta("", "n")})
	require.Equal(t, []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}}, node.Spec.Taints)

	create(t, admin, &nodev1.RuntimeClass{ObjectMeta: meta("", "vm"), Handler: "vm", Overhead: &nodev1.Overhead{PodFixed: quantities("cpu", "250m")},
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"vm": "yes"}, Tolerations: []corev1.Toleration{{Key: "vm", Operator: corev1.TolerationOpExists}}}})
	vm := func(p *corev1.Pod) { p.Spec.RuntimeClassName = new("vm") }
	got = create(t, admin, pod("vm", vm))
	require.Equal(t, "250m", new(got.Spec.Overhead["cpu"]).String())
	require.Equal(t, map[string]string{"vm": "yes"}, got.Spec.NodeSelector)
	require.ErrorContains(t, tryCreate(t, admin, pod("clash", vm, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"vm": "no"} })), "conflict")
	require.ErrorContains(t, tryCreate(t, admin, pod("none", func(p *corev1.Pod) { p.Spec.RuntimeClassName = new("nope") })), `pod rejected: RuntimeClass "nope" not found`)
	require.ErrorContains(t, tryCreate(t, admin, pod("over", func(p *corev1.Pod) { p.Spec.Overhead = quantities("cpu", "1") })), "Pod Overhead set without corresponding RuntimeClass")
}

func TestStorageDefaults(t *testing.T) {
	p := start(t)
	admin := p.admin()
	claim := func(name string) *corev1.PersistentVolumeClaim {
		return create(t, admin, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: name}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}, Resources: corev1.VolumeResourceRequirements{Requests: quantities("storage", "1Gi")}}})
	}
	early := claim("early-")
	require.Nil(t, early.Spec.StorageClassName)
	require.Equal(t, []string{"kubernetes.io/pvc-protection"}, early.Finalizers)
	create(t, admin, &storagev1.StorageClass{ObjectMeta: meta("", "slow"), Provisioner: "x/y"})
	create(t, admin, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}, Provisioner: "x/y"})
	p.eventually("the default class is named", func() bool {
		c := claim("late-").Spec.StorageClassName
		return c != nil && *c == "fast"
	})
	pv := create(t, admin, &corev1.PersistentVolume{ObjectMeta: meta("", "v"), Spec: corev1.PersistentVolumeSpec{AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"},
		Capacity: quantities("storage", "1Gi"), PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}}}})
	require.Equal(t, []string{"kubernetes.io/pv-protection"}, pv.Finalizers)

	create(t, admin, &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "front", Annotations: map[string]string{"ingressclass.kubernetes.io/is-default-class": "true"}}, Spec: networkingv1.IngressClassSpec{Controller: "example.com/front"}})
	p.eventually("the default ingress class is named", func() bool {
		in := create(t, admin, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "i-"}, Spec: networkingv1.IngressSpec{
			DefaultBackend: &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "s", Port: networkingv1.ServiceBackendPort{Number: 80}}}}})
		return in.Spec.IngressClassName != nil && *in.Spec.IngressClassName == "front"
	})
}

func TestPluginsOnAndOff(t *testing.T) {
	p := withPods(t, func(o *controlplane.Options) {
		o.EnableAdmission, o.DisableAdmission = []string{"AlwaysPullImages"}, []string{"DefaultTolerationSeconds", "TaintNodesByCondition"}
	})
	got := create(t, p.admin(), pod("x"))
	require.Equal(t, corev1.PullAlways, got.Spec.Containers[0].ImagePullPolicy)
	require.Empty(t, got.Spec.Tolerations)
	require.Empty(t, create(t, p.admin(), &corev1.Node{ObjectMeta: meta("", "n")}).Spec.Taints)
}

func TestTwoServersOverOneStore(t *testing.T) {
	s := memory.New(memory.Options{})
	t.Cleanup(func() { _ = s.Close() })
	signing := signingKey(t)
	sameKey := func(o *controlplane.Options) { o.ServiceAccountKeys = []any{signing} }
	a, b := start(t, over(s), sameKey), start(t, over(s), sameKey)
	a.account("default", "bot")
	for i := range 50 {
		name := fmt.Sprintf("m%d", i)
		create(t, a.admin(), &corev1.ConfigMap{ObjectMeta: meta("default", name)})
		_, err := client.For[*corev1.ConfigMap](b.admin()).Get(t.Context(), key("default", name))
		require.NoError(t, err, "what one acknowledged the other one shows")
	}
	r, err := requestToken(t, a.admin(), "bot", tokenSpec)
	require.NoError(t, err)
	u, err := whoami(t, b.token(r.Status.Token))
	require.NoError(t, err)
	require.Equal(t, "system:serviceaccount:default:bot", u.Username)
	bindCluster(t, a.admin(), "ann", "view", user("ann"))
	b.eventually("the other server knows the binding", func() bool {
		_, err := client.For[*corev1.Pod](b.token("ann-token")).List(t.Context(), client.ListOptions{})
		return err == nil
	})
}
