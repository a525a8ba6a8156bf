package admission_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
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

	deployment := func(name string) *appsv1.Deployment {
		labels := map[string]string{"a": "b"}
		return &appsv1.Deployment{ObjectMeta: planetest.Meta("default", name), Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: planetest.Pod("").Spec}}}
	}
	planetest.Create(t, admin, deployment("one"))
	require.ErrorContains(t, planetest.TryCreate(t, admin, deployment("two")), "exceeded quota: compute, requested: count/deployments.apps=1, used: count/deployments.apps=1, limited: count/deployments.apps=1")
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
