package tainteviction_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/tainteviction"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

func create(c *controllertest.Cluster, name string, tolerations ...corev1.Toleration) {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
	p.Spec.NodeName = "n"
	p.Spec.Tolerations = tolerations
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	controllertest.Create(c, p)
}

func deleted(c *controllertest.Cluster, name string) bool {
	return controllertest.Get[*corev1.Pod](c, "default", name).DeletionTimestamp != nil
}

func TestTolerationSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{tainteviction.Add}})
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "n")})
		create(c, "none")
		create(c, "some", corev1.Toleration{Key: "k", Value: "v", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(20))})
		create(c, "shortest", corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(10))},
			corev1.Toleration{Operator: corev1.TolerationOpExists})
		create(c, "all", corev1.Toleration{Operator: corev1.TolerationOpExists})
		create(c, "wrong", corev1.Toleration{Key: "k", Value: "w", Effect: corev1.TaintEffectNoExecute})
		c.Settle()
		require.False(t, deleted(c, "none"))
		controllertest.Update(c, "", "n", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "k", Value: "v", Effect: corev1.TaintEffectNoExecute, TimeAdded: new(metav1.Now())}}
		})
		c.Settle()
		require.True(t, deleted(c, "none"))
		require.True(t, deleted(c, "wrong"))
		pod := controllertest.Get[*corev1.Pod](c, "default", "none")
		i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
		require.Equal(t, "DeletionByTaintManager", pod.Status.Conditions[i].Reason)
		for _, name := range []string{"some", "shortest", "all"} {
			require.False(t, deleted(c, name), name)
		}
		c.Sleep(11 * time.Second)
		require.True(t, deleted(c, "shortest"))
		require.False(t, deleted(c, "some"))
		c.Sleep(10 * time.Second)
		require.True(t, deleted(c, "some"))
		c.Sleep(time.Hour)
		require.False(t, deleted(c, "all"))
	})
}

// A taint that goes in time spares the pods.
func TestATaintThatGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{tainteviction.Add}})
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "n")})
		create(c, "some", corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(20)), Effect: corev1.TaintEffectNoExecute})
		controllertest.Update(c, "", "n", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute, TimeAdded: new(metav1.Now())}}
		})
		c.Sleep(15 * time.Second)
		controllertest.Update(c, "", "n", func(n *corev1.Node) { n.Spec.Taints = nil })
		c.Sleep(time.Hour)
		require.False(t, deleted(c, "some"))
	})
}

// Events say of a pod that was to be evicted later that it is not: its taint is gone, it tolerates it for
// ever, it is deleted by someone else, or it is evicted at once.
func TestEventsOfSparedPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{tainteviction.Add}})
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "n")})
		taint := func(keys ...string) {
			controllertest.Update(c, "", "n", func(n *corev1.Node) {
				n.Spec.Taints = nil
				for _, key := range keys {
					n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute, TimeAdded: new(metav1.Now())})
				}
			})
			c.Sleep(time.Second)
		}
		said := func(pod string) (out []string) {
			for _, e := range controllertest.List[*corev1.Event](c, "default") {
				if e.InvolvedObject.Name == pod {
					out = append(out, e.Message)
				}
			}
			slices.Sort(out)
			return out
		}
		some := corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(60)), Effect: corev1.TaintEffectNoExecute}
		other := corev1.Toleration{Key: "other", Operator: corev1.TolerationOpExists}
		create(c, "spared", some, other)
		create(c, "deleted", some, other)
		create(c, "tolerates", some, other)
		create(c, "evicted", some)
		create(c, "later", some, other)
		taint("k")
		cancelled := func(pod string) string { return "Cancelling deletion of Pod default/" + pod }
		marked := func(pod string) string { return "Marking for deletion Pod default/" + pod }
		for _, pod := range []string{"spared", "deleted", "tolerates", "evicted", "later"} {
			require.Empty(t, said(pod))
		}
		controllertest.Delete[*corev1.Pod](c, "default", "deleted", client.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		controllertest.Update(c, "default", "tolerates", func(p *corev1.Pod) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists})
			for i := range p.Spec.Tolerations {
				if p.Spec.Tolerations[i].Key == "k" {
					p.Spec.Tolerations[i].TolerationSeconds = nil
				}
			}
		})
		taint("k", "other")
		require.Equal(t, []string{cancelled("deleted")}, said("deleted"))
		require.Equal(t, []string{cancelled("tolerates")}, said("tolerates"))
		require.Equal(t, []string{cancelled("evicted"), marked("evicted")}, said("evicted"))
		require.Empty(t, said("spared"))
		controllertest.Delete[*corev1.Pod](c, "default", "spared", client.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		require.Empty(t, said("later"))
		c.Sleep(time.Hour)
		require.Equal(t, []string{marked("later")}, said("later"), "its time was over")

		taint()
		create(c, "freed", some)
		taint("k")
		taint()
		require.Equal(t, []string{cancelled("freed")}, said("freed"))
	})
}

// kubectl writes taints without timeAdded.
func TestATaintWithoutATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{tainteviction.Add}})
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "n")})
		toleration := corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(20)), Effect: corev1.TaintEffectNoExecute}
		create(c, "early", toleration)
		c.Sleep(time.Minute)
		controllertest.Update(c, "", "n", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}} })
		c.Sleep(15 * time.Second)
		create(c, "late", toleration)
		controllertest.Update(c, "", "n", func(n *corev1.Node) { n.Labels = map[string]string{"other": "change"} })
		c.Sleep(6 * time.Second)
		require.True(t, deleted(c, "early"))
		require.False(t, deleted(c, "late"))
		c.Sleep(13 * time.Second)
		require.False(t, deleted(c, "late"))
		c.Sleep(2 * time.Second)
		require.True(t, deleted(c, "late"))
	})
}

// A pod that is bound to a node with an old taint has its seconds whole.
func TestAnOldTaint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{tainteviction.Add}})
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "n")})
		controllertest.Update(c, "", "n", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute, TimeAdded: new(metav1.Now())}}
		})
		pod := &corev1.Pod{ObjectMeta: controllertest.Name("default", "waiting")}
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(20)), Effect: corev1.TaintEffectNoExecute}}
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
		controllertest.Create(c, pod)
		c.Sleep(time.Hour)
		binding := &corev1.Binding{ObjectMeta: controllertest.Name("default", "waiting"), Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
		_, err := client.Subresource[*corev1.Binding](client.For[*corev1.Pod](c.Admin()), "binding").Create(t.Context(), pod.Key(), binding)
		require.NoError(t, err)
		c.Sleep(18 * time.Second)
		require.False(t, deleted(c, "waiting"))
		c.Sleep(3 * time.Second)
		require.True(t, deleted(c, "waiting"))
	})
}
