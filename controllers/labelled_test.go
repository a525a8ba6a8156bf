package controllers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// budgetSelectors are those of PodDisruptionBudgets.
var budgetSelectors = controllers.DefineSelector(func(pdb *policyv1.PodDisruptionBudget) (labels.Selector, error) {
	return pdb.Spec.Selector.Selector()
})

// A controller that prints, for each ConfigMap, the budgets that select it.
func ExampleSelectors_Of() {
	add := func(m *manager.Manager) error {
		budgets := controllers.SelectorsIn(m.Informers(), budgetSelectors)
		_, err := controllers.Add(m, "example", reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			fmt.Println("reconcile", req.Name)
			return reconcile.Result{}, nil
		}), controllers.Options{}, controllers.Reads[*policyv1.PodDisruptionBudget](),
			controllers.Watches(func(e informers.Event[*corev1.ConfigMap]) []reconcile.Request {
				keys, _ := budgets.Of(e.Key.Namespace, e.Labels)
				return keys
			}))
		return err
	}
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{})
		controllertest.Create(c, budget("web", metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}))
		controllertest.Create(c, budget("db", metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}))
		c.Run(c.Manager("m", add))
		c.Settle()
		o := &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "settings")}
		o.Labels = map[string]string{"app": "web"}
		controllertest.Create(c, o)
		c.Settle()
	})
	// Output: reconcile web
}

func budget(name string, selector metav1.LabelSelector) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: controllertest.Name("default", name), Spec: policyv1.PodDisruptionBudgetSpec{Selector: &selector}}
}

// labelled is a random history of objects with labels and of objects with selectors.
type labelled struct {
	*rand.Rand
	c         *controllertest.Cluster
	objects   controllers.Labelled[*corev1.ConfigMap]
	selectors controllers.Selectors[*policyv1.PodDisruptionBudget]
}

func (l *labelled) pick(of ...string) string { return of[l.IntN(len(of))] }

func (l *labelled) labels() map[string]string {
	out := map[string]string{}
	for range l.IntN(4) {
		out[l.pick("a", "b", "c")] = l.pick("1", "2", "")
	}
	return out
}

func (l *labelled) selector() (s metav1.LabelSelector) {
	if l.IntN(2) == 0 {
		s.MatchLabels = l.labels()
	}
	for range l.IntN(3) {
		r := metav1.LabelSelectorRequirement{Key: l.pick("a", "b", "c"), Operator: metav1.LabelSelectorOperator(l.pick("In", "NotIn", "Exists", "DoesNotExist"))}
		if r.Operator == "In" || r.Operator == "NotIn" {
			for range 1 + l.IntN(3) {
				r.Values = append(r.Values, l.pick("1", "2", "3", ""))
			}
		}
		s.MatchExpressions = append(s.MatchExpressions, r)
	}
	return s
}

func (l *labelled) step() {
	name := l.pick("x", "y", "z", "w")
	object, selecting := controllertest.Exists[*corev1.ConfigMap](l.c, "default", name), controllertest.Exists[*policyv1.PodDisruptionBudget](l.c, "default", name)
	switch n := l.IntN(4); {
	case n < 2 && !object:
		o := &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name)}
		o.Labels = l.labels()
		controllertest.Create(l.c, o)
	case n == 0:
		controllertest.Delete[*corev1.ConfigMap](l.c, "default", name)
	case n == 1:
		controllertest.Update(l.c, "default", name, func(o *corev1.ConfigMap) { o.Labels = l.labels() })
	case !selecting:
		controllertest.Create(l.c, budget(name, l.selector()))
	case n == 2:
		controllertest.Delete[*policyv1.PodDisruptionBudget](l.c, "default", name)
	default:
		s := l.selector()
		controllertest.Update(l.c, "default", name, func(o *policyv1.PodDisruptionBudget) { o.Spec.Selector = &s })
	}
	l.c.Settle()
}

// check compares both with a walk over all objects of a namespace.
func (l *labelled) check(t *testing.T, seed uint64) {
	for _, namespace := range []string{"default", "other"} {
		s := l.selector()
		selector, err := s.Selector()
		require.NoError(t, err)
		var want []string
		for _, o := range controllertest.List[*corev1.ConfigMap](l.c, namespace) {
			if selector.Matches(o.Labels) {
				want = append(want, o.Name)
			}
		}
		got, err := l.objects.Select(namespace, selector)
		require.NoError(t, err)
		require.Equal(t, want, names(got), "seed %d: selector %q in %s", seed, selector, namespace)

		sets := []map[string]string{l.labels(), l.labels()}[:1+l.IntN(2)]
		var expected []types.NamespacedName
		for _, o := range controllertest.List[*policyv1.PodDisruptionBudget](l.c, namespace) {
			selector, err := o.Spec.Selector.Selector()
			require.NoError(t, err)
			if slices.ContainsFunc(sets, selector.Matches) {
				expected = append(expected, o.Key())
			}
		}
		keys, err := l.selectors.Of(namespace, sets...)
		require.NoError(t, err)
		require.ElementsMatch(t, expected, keys, "seed %d: labels %v in %s", seed, sets, namespace)
	}
}

func names[T metav1.Object](list []T) (out []string) {
	for _, o := range list {
		out = append(out, o.GetName())
	}
	return out
}

// What is found by labels, and by selectors, is what a walk over all objects finds.
func TestLabelledAsAWalk(t *testing.T) {
	for _, seed := range seeds.Of(t, 10) {
		synctest.Test(t, func(t *testing.T) {
			l := &labelled{Rand: rand.New(rand.NewPCG(seed, 0))}
			l.c = controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
				l.objects = controllers.LabelledIn[*corev1.ConfigMap](m.Informers())
				l.selectors = controllers.SelectorsIn(m.Informers(), budgetSelectors)
				return nil
			}}})
			other := &corev1.ConfigMap{ObjectMeta: controllertest.Name("other", "x")}
			other.Labels = map[string]string{"a": "1"}
			controllertest.Create(l.c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "other")})
			controllertest.Create(l.c, other)
			for range 60 {
				l.step()
				l.check(t, seed)
			}
		})
	}
}

// A copy that was not read yet is no namespace without objects.
func TestLabelledBeforeTheCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		set := informers.NewSet(c.Conn(), informers.SetOptions{})
		_, err := controllers.LabelledIn[*corev1.ConfigMap](set).Select("default", labels.MustParse("a=1"))
		require.ErrorAs(t, err, new(*informers.NotSyncedError))
		_, err = controllers.SelectorsIn(set, budgetSelectors).Of("default", map[string]string{"a": "1"})
		require.ErrorAs(t, err, new(*informers.NotSyncedError))
	})
}
