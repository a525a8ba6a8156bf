package controlplane_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// guardPlugin is a plugin that records who writes what, and refuses evictions while its test says so.
type guardPlugin struct {
	mu     sync.Mutex
	refuse bool
	seen   []string
}

func (g *guardPlugin) Name() string                     { return "Guard" }
func (g *guardPlugin) Handles(admission.Operation) bool { return true }
func (g *guardPlugin) Validate(_ context.Context, a *admission.Attributes) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	what := string(a.Operation) + " " + a.Resource.Resource
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	g.seen = append(g.seen, what+" by "+a.User.Name)
	if g.refuse && a.Subresource == "eviction" {
		return errors.New("not this one")
	}
	return nil
}

func (g *guardPlugin) set(refuse bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuse, g.seen = refuse, nil
}

func (g *guardPlugin) saw() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.seen...)
}

// An eviction refused by admission does not use the budget; one that is allowed calls admission once, changes
// the budget as the server, and is recorded in the pod's status.
func TestEvictionAsksFirstAndSpendsThen(t *testing.T) {
	guard := &guardPlugin{}
	p := planetest.Start(t, func(o *controlplane.Options) { o.Plugins = []admission.Plugin{guard} })
	admin, ann := p.Admin(), p.Token("ann-token")
	p.Account("default", "default")
	planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "evicter"), Rules: []rbacv1.PolicyRule{rule("create", "", "pods/eviction")}})
	bindCluster(t, admin, "evicter", "evicter", user("ann"))
	pods, budgets := client.For[*corev1.Pod](admin), client.For[*policyv1.PodDisruptionBudget](admin)
	running := func(name string) *corev1.Pod {
		now := planetest.Create(t, admin, planetest.Pod(name, func(p *corev1.Pod) {
			p.Labels, p.Finalizers, p.Spec.NodeName = map[string]string{"app": "a"}, []string{"a.test/stay"}, "n1"
		}))
		now.Status.Phase = corev1.PodRunning
		now.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		now, err := pods.UpdateStatus(t.Context(), now)
		require.NoError(t, err)
		return now
	}
	running("counted")
	planetest.Create(t, admin, planetest.Pod("pending", func(p *corev1.Pod) { p.Finalizers = []string{"a.test/stay"} }))
	budget := planetest.Create(t, admin, &policyv1.PodDisruptionBudget{ObjectMeta: planetest.Meta("default", "b"), Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}}})
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, DisruptionsAllowed: 1, CurrentHealthy: 1, ExpectedPods: 1}
	_, err := budgets.UpdateStatus(t.Context(), budget)
	require.NoError(t, err)
	evict := func(name string, o *metav1.DeleteOptions) error {
		_, err := client.Subresource[*policyv1.Eviction](client.For[*corev1.Pod](ann), "eviction").Create(t.Context(), planetest.Key("default", name),
			&policyv1.Eviction{ObjectMeta: planetest.Meta("default", name), DeleteOptions: o})
		return err
	}
	allowed := func() int32 {
		b, err := budgets.Get(t.Context(), planetest.Key("default", "b"))
		require.NoError(t, err)
		return b.Status.DisruptionsAllowed
	}
	target := func(name string) *corev1.PodCondition {
		now, err := pods.Get(t.Context(), planetest.Key("default", name))
		require.NoError(t, err)
		for _, c := range now.Status.Conditions {
			if c.Type == corev1.DisruptionTarget {
				return &c
			}
		}
		return nil
	}
	p.Eventually("ann may evict", func() bool { return apierrors.IsNotFound(evict("none", nil)) })

	guard.set(true)
	require.True(t, apierrors.IsForbidden(evict("counted", nil)))
	require.EqualValues(t, 1, allowed(), "nothing is spent")
	require.Nil(t, target("counted"))
	guard.set(false)
	version := "1"
	require.True(t, apierrors.IsConflict(evict("counted", &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}})))
	require.NoError(t, evict("counted", &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
	require.EqualValues(t, 1, allowed())
	require.Nil(t, target("counted"), "a dry run changes nothing")

	now, err := pods.Get(t.Context(), planetest.Key("default", "counted"))
	require.NoError(t, err)
	guard.set(false)
	require.NoError(t, evict("counted", &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &now.ResourceVersion, UID: &now.UID}}))
	require.Equal(t, []string{"CREATE pods/eviction by ann", "UPDATE poddisruptionbudgets/status by system:apiserver"}, guard.saw())
	require.EqualValues(t, 0, allowed())
	for _, name := range []string{"counted", "pending"} {
		if name == "pending" {
			require.NoError(t, evict(name, nil))
		}
		c := target(name)
		require.NotNil(t, c, name)
		require.Equal(t, corev1.ConditionTrue, c.Status)
		require.Equal(t, "EvictionByEvictionAPI", c.Reason)
		require.Equal(t, "Eviction API: evicting", c.Message)
	}
	running("next")
	require.True(t, apierrors.IsTooManyRequests(evict("next", nil)))
	require.Nil(t, target("next"), "a pod that stays is no target")
}

// A quota is charged as the server: webhooks and policies on quotas do not see the users who create the
// counted objects.
func TestQuotasAreChargedByTheServer(t *testing.T) {
	guard := &guardPlugin{}
	p := planetest.Start(t, func(o *controlplane.Options) { o.Plugins = []admission.Plugin{guard} })
	admin, ann := p.Admin(), p.Token("ann-token")
	planetest.Create(t, admin, binding("default", "ann", "ClusterRole", "edit", user("ann")))
	hard := corev1.ResourceList{"count/configmaps": resource.MustParse("9")}
	q := planetest.Create(t, admin, &corev1.ResourceQuota{ObjectMeta: planetest.Meta("default", "q"), Spec: corev1.ResourceQuotaSpec{Hard: hard}})
	q.Status.Hard, q.Status.Used = hard, corev1.ResourceList{"count/configmaps": resource.Quantity{}}
	_, err := client.For[*corev1.ResourceQuota](admin).UpdateStatus(t.Context(), q)
	require.NoError(t, err)
	p.Eventually("ann creates", func() bool {
		guard.set(false)
		return planetest.TryCreate(t, ann, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "c-"}}) == nil
	})
	require.ElementsMatch(t, []string{"CREATE configmaps by ann", "UPDATE resourcequotas/status by system:apiserver"}, guard.saw())
}
