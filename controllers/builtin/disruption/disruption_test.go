package disruption_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/deployment"
	"github.com/keelson-dev/keelson/controllers/builtin/disruption"
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func bubble(t *testing.T, f func(t *testing.T, c *controllertest.Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		f(t, controllertest.Start(t, controllertest.Options{
			CRDs: fstest.MapFS{"fleets.yaml": {Data: []byte(fleets)}},
			Controllers: []controllertest.Adder{
				func(m *manager.Manager) error { return deployment.Add(m, deployment.Options{}) },
				func(m *manager.Manager) error { return replicaset.Add(m, replicaset.Options{}) },
				func(m *manager.Manager) error { return disruption.Add(m, disruption.Options{}) },
			}}))
	})
}

var app = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}

func web(replicas int32) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: controllertest.Name("default", "web")}
	d.Spec.Replicas, d.Spec.Selector = &replicas, app
	d.Spec.Template.Labels = app.MatchLabels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	return d
}

func budget(edit func(*policyv1.PodDisruptionBudgetSpec)) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: controllertest.Name("default", "web")}
	b.Spec.Selector = app
	edit(&b.Spec)
	return b
}

func least(text string) func(*policyv1.PodDisruptionBudgetSpec) {
	return func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = new(intstr.Parse(text)) }
}

func most(text string) func(*policyv1.PodDisruptionBudgetSpec) {
	return func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = new(intstr.Parse(text)) }
}

func status(c *controllertest.Cluster) policyv1.PodDisruptionBudgetStatus {
	return controllertest.Get[*policyv1.PodDisruptionBudget](c, "default", "web").Status
}

// numbers are allowed, healthy, desired and expected.
func numbers(c *controllertest.Cluster) [4]int32 {
	s := status(c)
	return [4]int32{s.DisruptionsAllowed, s.CurrentHealthy, s.DesiredHealthy, s.ExpectedPods}
}

func setReady(c *controllertest.Cluster, name string, ready bool) {
	controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		if ready {
			p.Status.Conditions[0].Status = corev1.ConditionTrue
		}
	})
}

func allReady(c *controllertest.Cluster) {
	c.Settle()
	for _, p := range controllertest.List[*corev1.Pod](c, "default") {
		setReady(c, p.Name, true)
	}
	c.Settle()
}

func evict(t *testing.T, c *controllertest.Cluster, name string) error {
	key := types.NamespacedName{Namespace: "default", Name: name}
	_, err := client.Subresource[*policyv1.Eviction](client.For[*corev1.Pod](c.Admin()), "eviction").Create(t.Context(), key,
		&policyv1.Eviction{ObjectMeta: controllertest.Name("default", name)})
	return err
}

func TestNumbers(t *testing.T) {
	for _, v := range []struct {
		bound func(*policyv1.PodDisruptionBudgetSpec)
		want  [4]int32
	}{
		{least("3"), [4]int32{2, 5, 3, 5}},
		{least("7"), [4]int32{0, 5, 7, 5}},
		{least("50%"), [4]int32{2, 5, 3, 5}},
		{least("100%"), [4]int32{0, 5, 5, 5}},
		{most("1"), [4]int32{1, 5, 4, 5}},
		{most("50%"), [4]int32{3, 5, 2, 5}},
		{most("9"), [4]int32{5, 5, 0, 5}},
	} {
		bubble(t, func(t *testing.T, c *controllertest.Cluster) {
			controllertest.Create(c, web(5))
			b := controllertest.Create(c, budget(v.bound))
			allReady(c)
			require.Equal(t, v.want, numbers(c))
			s := status(c)
			require.Equal(t, b.Generation, s.ObservedGeneration)
			require.Equal(t, policyv1.DisruptionAllowedCondition, s.Conditions[0].Type)
			if v.want[0] > 0 {
				require.Equal(t, "SufficientPods", s.Conditions[0].Reason)
			} else {
				require.Equal(t, "InsufficientPods", s.Conditions[0].Reason)
				require.Equal(t, metav1.ConditionFalse, s.Conditions[0].Status)
			}
		})
	}
}

// A pod that two budgets select cannot be evicted, which an event says whenever the pod changes.
func TestTwoBudgets(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(1))
		controllertest.Create(c, budget(least("1")))
		other := budget(least("1"))
		other.Name = "other"
		said := func() (n int32, messages []string) {
			for _, e := range controllertest.List[*corev1.Event](c, "default") {
				if e.InvolvedObject.Kind == "Pod" && e.Reason == "MultiplePodDisruptionBudgets" {
					n, messages = n+e.Count, append(messages, e.Message)
				}
			}
			return n, messages
		}
		allReady(c)
		_, messages := said()
		require.Empty(t, messages)
		controllertest.Create(c, other)
		c.Settle()
		pod := controllertest.List[*corev1.Pod](c, "default")[0].Name
		for i := range 3 {
			setReady(c, pod, i%2 == 1)
			c.Sleep(time.Second)
		}
		n, messages := said()
		require.EqualValues(t, 3, n)
		for _, message := range messages {
			require.Regexp(t, `^Pod "default"/"`+pod+`" matches multiple PodDisruptionBudgets\.  Chose "(web|other)" arbitrarily\.$`, message)
		}
		err := evict(t, c, pod)
		require.EqualError(t, err, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
		require.EqualValues(t, 500, apierrors.CodeOf(err))
		require.Equal(t, [4]int32{0, 0, 1, 1}, numbers(c))

		controllertest.Delete[*policyv1.PodDisruptionBudget](c, "default", "other")
		c.Settle()
		setReady(c, pod, true)
		require.True(t, apierrors.IsTooManyRequests(evict(t, c, pod)))
		n, _ = said()
		require.EqualValues(t, 3, n)
	})
}

// What kubectl drain does: it evicts, is refused, waits until another pod has taken the place, and evicts the
// next.
func TestEvictionsOneAfterTheOther(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(3))
		controllertest.Create(c, budget(most("1")))
		allReady(c)
		for _, p := range controllertest.List[*corev1.Pod](c, "default") {
			require.NoError(t, evict(t, c, p.Name))
			c.Settle()
			require.Equal(t, [4]int32{0, 2, 2, 3}, numbers(c))
			for _, other := range controllertest.List[*corev1.Pod](c, "default") {
				if isReady(other) {
					err := evict(t, c, other.Name)
					require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
				}
			}
			allReady(c)
			require.Equal(t, [4]int32{1, 3, 2, 3}, numbers(c))
			require.Empty(t, status(c).DisruptedPods)
		}
	})
}

// An eviction counts at once; if the pod is not deleted it counts for two minutes.
func TestEvictionsThatDeleteNothing(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(3))
		controllertest.Create(c, budget(least("1")))
		allReady(c)
		pod := controllertest.List[*corev1.Pod](c, "default")[0].Name
		controllertest.UpdateStatus(c, "default", "web", func(b *policyv1.PodDisruptionBudget) {
			b.Status.DisruptionsAllowed--
			b.Status.DisruptedPods = map[string]metav1.Time{pod: metav1.Now(), "gone": metav1.Now()}
		})
		c.Settle()
		require.Equal(t, [4]int32{1, 2, 1, 3}, numbers(c))
		require.Len(t, status(c).DisruptedPods, 1, "who is gone needs no waiting")
		c.Sleep(119 * time.Second)
		require.Len(t, status(c).DisruptedPods, 1)
		c.Sleep(2 * time.Second)
		require.Equal(t, [4]int32{2, 3, 1, 3}, numbers(c))
		require.Empty(t, status(c).DisruptedPods)
	})
}

const fleets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fleets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Fleet, listKind: FleetList, plural: fleets, singular: fleet}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {replicas: {type: integer}}}
          status: {type: object, properties: {replicas: {type: integer}}}
`

// fleet creates a controller of pods of its own kind, and three pods of it.
func fleet(t *testing.T, c *controllertest.Cluster, replicas int64) {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Fleet"}
	fleet, err := client.ForResource[*metav1.Unstructured](c.Admin(), client.Resource{GVR: kind.GroupVersion().WithResource("fleets"), Namespaced: true}).Create(t.Context(),
		&metav1.Unstructured{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Fleet"}, ObjectMeta: controllertest.Name("default", "f"),
			Fields: map[string]any{"spec": map[string]any{"replicas": replicas}}})
	require.NoError(t, err)
	for i := range 3 {
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", fmt.Sprint("p", i))}
		p.Labels, p.OwnerReferences = app.MatchLabels, []metav1.OwnerReference{metav1.NewControllerRef(fleet, kind)}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
		controllertest.Create(c, p)
	}
}

// The controller of pods may be of any kind that has a scale.
func TestCustomScale(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		fleet(t, c, 4)
		controllertest.Create(c, budget(least("50%")))
		allReady(c)
		require.Equal(t, [4]int32{1, 3, 2, 4}, numbers(c))
	})
}

// owned returns the reference of an object that is controlled by another.
func owned(by metav1.Object, apiVersion, kind string) []metav1.OwnerReference {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		panic(err)
	}
	return []metav1.OwnerReference{metav1.NewControllerRef(by, gv.WithKind(kind))}
}

// A pod whose controller the informers do not have yet is counted by the controller that the server has, and
// nothing is reported.
func TestPodsBeforeTheirControllers(t *testing.T) {
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app.MatchLabels}}
	template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	set := func(c *controllertest.Cluster, owners []metav1.OwnerReference) []metav1.OwnerReference {
		rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", "web-1"), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(4)), Selector: app, Template: template}}
		rs.OwnerReferences = owners
		return owned(controllertest.Create(c, rs), "apps/v1", "ReplicaSet")
	}
	for late, create := range map[string]func(c *controllertest.Cluster) []metav1.OwnerReference{
		"replicasets": func(c *controllertest.Cluster) []metav1.OwnerReference { return set(c, nil) },
		"deployments": func(c *controllertest.Cluster) []metav1.OwnerReference {
			return set(c, owned(controllertest.Create(c, web(4)), "apps/v1", "Deployment"))
		},
		"statefulsets": func(c *controllertest.Cluster) []metav1.OwnerReference {
			s := &appsv1.StatefulSet{ObjectMeta: controllertest.Name("default", "web"), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(4)), Selector: app, Template: template}}
			return owned(controllertest.Create(c, s), "apps/v1", "StatefulSet")
		},
		"replicationcontrollers": func(c *controllertest.Cluster) []metav1.OwnerReference {
			rc := &corev1.ReplicationController{ObjectMeta: controllertest.Name("default", "web"),
				Spec: corev1.ReplicationControllerSpec{Replicas: new(int32(4)), Selector: app.MatchLabels, Template: &template}}
			return owned(controllertest.Create(c, rc), "v1", "ReplicationController")
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{})
			c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"watch"}, Resource: late}, Effect: controllertest.Lag(5 * time.Second)})
			c.Run(c.Manager("disruption", func(m *manager.Manager) error { return disruption.Add(m, disruption.Options{}) }))
			controllertest.Create(c, budget(least("50%")))
			time.Sleep(time.Minute) // all has been read once
			owners := create(c)
			for i := range 3 {
				p := &corev1.Pod{ObjectMeta: controllertest.Name("default", fmt.Sprint("p", i)), Spec: template.Spec}
				p.Labels, p.OwnerReferences = app.MatchLabels, owners
				controllertest.Create(c, p)
				setReady(c, p.Name, true)
			}
			for range 2 {
				time.Sleep(time.Second)
				require.Equal(t, [4]int32{1, 3, 2, 4}, numbers(c), late)
				for _, e := range controllertest.List[*corev1.Event](c, "default") {
					require.NotEqual(t, "CalculateExpectedPodCountFailed", e.Reason, late)
				}
				time.Sleep(time.Minute)
			}
		})
	}
}

// failures is how often it was reported that the number cannot be computed.
func failures(c *controllertest.Cluster) (n int32) {
	for _, e := range controllertest.List[*corev1.Event](c, "default") {
		if e.Reason == "CalculateExpectedPodCountFailed" {
			n += e.Count
		}
	}
	return n
}

// A request that fails is tried again without a change.
func TestAScaleThatCannotBeRead(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		fleet(t, c, 4)
		var answers atomic.Bool
		refuse := controllertest.Fail(errors.New("no answer"))
		c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"get"}, Resource: "fleets.example.com/scale"},
			Effect: func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
				if answers.Load() {
					next(w, r)
				} else {
					refuse(w, r, next)
				}
			}})
		controllertest.Create(c, budget(least("50%")))
		allReady(c)
		require.Equal(t, "SyncFailed", status(c).Conditions[0].Reason)
		require.Zero(t, status(c).DisruptionsAllowed)
		answers.Store(true)
		c.Sleep(time.Minute)
		require.Equal(t, [4]int32{1, 3, 2, 4}, numbers(c))
		require.Equal(t, "SufficientPods", status(c).Conditions[0].Reason)
	})
}

// When the number cannot be known, nothing may be evicted.
func TestUnknownNumbersAllowNothing(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "p")}
		p.Labels = app.MatchLabels
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "gone", UID: "gone", Controller: new(true)}}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
		controllertest.Create(c, p)
		c.Settle() // a budget that is seen before it selects no pods
		controllertest.Create(c, budget(least("0%")))
		allReady(c)
		s := status(c)
		require.Zero(t, s.DisruptionsAllowed)
		require.Zero(t, s.ObservedGeneration, "nothing has been computed")
		require.Equal(t, "SyncFailed", s.Conditions[0].Reason)
		require.Equal(t, `found no controllers for pod "p"`, s.Conditions[0].Message)
		failed := failures(c)
		c.Sleep(30 * time.Minute)
		require.Equal(t, failed, failures(c), "only a change helps")
		setReady(c, "p", false)
		c.Settle()
		require.Equal(t, failed+1, failures(c))
		setReady(c, "p", true)
		c.Settle()
		controllertest.Update(c, "default", "web", func(b *policyv1.PodDisruptionBudget) { least("0")(&b.Spec) })
		c.Settle()
		require.Equal(t, [4]int32{1, 1, 0, 1}, numbers(c), "a number needs no controllers")
		require.Equal(t, "SufficientPods", status(c).Conditions[0].Reason)
	})
}

// A pod that was to be disrupted, and was not, says so no longer.
func TestStaleDisruptionTargets(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(1))
		c.Settle()
		name := controllertest.List[*corev1.Pod](c, "default")[0].Name
		controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", LastTransitionTime: metav1.Now()})
		})
		target := func() corev1.ConditionStatus {
			conditions := controllertest.Get[*corev1.Pod](c, "default", name).Status.Conditions
			return conditions[len(conditions)-1].Status
		}
		c.Sleep(119 * time.Second)
		require.Equal(t, corev1.ConditionTrue, target())
		c.Sleep(2 * time.Second)
		require.Equal(t, corev1.ConditionFalse, target())
		conditions := controllertest.Get[*corev1.Pod](c, "default", name).Status.Conditions
		require.Empty(t, conditions[len(conditions)-1].Reason, "the reason was one for the disruption")
	})
}

// Random scales, readiness and evictions: there are never fewer healthy pods than the budget wants because of
// an eviction, and at rest the status is what counting gives.
func TestHistories(t *testing.T) {
	for _, seed := range seeds.Slow(t, 20) {
		bubble(t, func(t *testing.T, c *controllertest.Cluster) {
			r := seeds.Rand(seed)
			minimum := int32(r.IntN(4))
			controllertest.Create(c, web(4))
			controllertest.Create(c, budget(least(fmt.Sprint(minimum))))
			for range 15 {
				c.Settle()
				all := controllertest.List[*corev1.Pod](c, "default")
				switch r.IntN(4) {
				case 0:
					controllertest.Update(c, "default", "web", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(r.IntN(6))) })
				case 1:
					allReady(c)
				case 2:
					if len(all) > 0 {
						setReady(c, all[r.IntN(len(all))].Name, r.IntN(2) == 0)
					}
				default:
					for _, p := range all {
						ready := count(all)
						if err := evict(t, c, p.Name); err == nil && isReady(p) {
							all = controllertest.List[*corev1.Pod](c, "default")
							require.GreaterOrEqual(t, ready-1, minimum, "seed %d", seed)
						}
					}
				}
			}
			c.Sleep(3 * time.Minute)
			all := controllertest.List[*corev1.Pod](c, "default")
			want := max(count(all)-minimum, 0)
			require.Equal(t, [4]int32{want, count(all), minimum, int32(len(all))}, numbers(c), "seed %d", seed)
		})
	}
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return p.DeletionTimestamp == nil
		}
	}
	return false
}

func count(pods []*corev1.Pod) (n int32) {
	for _, p := range pods {
		if isReady(p) {
			n++
		}
	}
	return n
}
