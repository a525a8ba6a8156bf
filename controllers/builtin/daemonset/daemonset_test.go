package daemonset_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/daemonset"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/builtin/podgc"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

func add(m *manager.Manager) error { return daemonset.Add(m, daemonset.Options{}) }

// account is the user as which the controller runs in a cluster.
var account = client.User{Name: "system:serviceaccount:kube-system:daemon-set-controller"}

// start starts a cluster of three nodes whose controller has only its own rights.
func start(t *testing.T) *controllertest.Cluster {
	c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
		func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
		func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{Count: 3}) },
		func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
		func(m *manager.Manager) error { return podgc.Add(m, podgc.Options{}) },
	}})
	c.Run(c.ManagerOver(c.Conn(account), "daemonset", add))
	c.Sleep(10 * time.Second)
	return c
}

func bubble(t *testing.T, f func(t *testing.T, c *controllertest.Cluster)) {
	synctest.Test(t, func(t *testing.T) { f(t, start(t)) })
}

// agent is a DaemonSet whose pods take three seconds to become ready and two to end.
func agent(edit ...func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	ds := &appsv1.DaemonSet{ObjectMeta: controllertest.Name("default", "agent")}
	ds.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	ds.Spec.Template.Labels = map[string]string{"app": "agent"}
	ds.Spec.Template.Annotations = map[string]string{fakenode.ReadyAfterAnnotation: "3s", fakenode.StopAfterAnnotation: "2s"}
	ds.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "agent:1"}}
	for _, e := range edit {
		e(ds)
	}
	return ds
}

func rolling(surge, unavailable string) func(*appsv1.DaemonSet) {
	return func(ds *appsv1.DaemonSet) {
		s, u := intstr.Parse(surge), intstr.Parse(unavailable)
		ds.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxSurge: &s, MaxUnavailable: &u}}
	}
}

func get(c *controllertest.Cluster) *appsv1.DaemonSet {
	return controllertest.Get[*appsv1.DaemonSet](c, "default", "agent")
}

func setImage(c *controllertest.Cluster, image string) {
	controllertest.Update(c, "default", "agent", func(ds *appsv1.DaemonSet) { ds.Spec.Template.Spec.Containers[0].Image = image })
}

// images returns the images of the pods by their nodes.
func images(c *controllertest.Cluster) map[string]string {
	out := map[string]string{}
	for _, p := range controllertest.List[*corev1.Pod](c, "default") {
		if p.DeletionTimestamp == nil {
			out[p.Spec.NodeName] += p.Spec.Containers[0].Image
		}
	}
	return out
}

func editNode(c *controllertest.Cluster, name string, f func(*corev1.Node)) {
	controllertest.Update(c, "", name, f)
}

func isReady(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func TestPlacement(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		editNode(c, "node-0", func(n *corev1.Node) { n.Labels["disk"] = "ssd" })
		editNode(c, "node-1", func(n *corev1.Node) { n.Labels["disk"] = "ssd" })
		ds := controllertest.Create(c, agent(func(ds *appsv1.DaemonSet) {
			ds.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		}))
		c.Sleep(10 * time.Second)
		require.Equal(t, map[string]string{"node-0": "agent:1", "node-1": "agent:1"}, images(c))
		s := get(c).Status
		require.Equal(t, appsv1.DaemonSetStatus{CurrentNumberScheduled: 2, DesiredNumberScheduled: 2, NumberReady: 2, ObservedGeneration: 1,
			UpdatedNumberScheduled: 2, NumberAvailable: 2}, s)
		p := controllertest.List[*corev1.Pod](c, "default")[0]
		require.Equal(t, ds.UID, metav1.ControllerOf(p).UID)
		require.Equal(t, "1", p.Labels["pod-template-generation"])
		rev := controllertest.List[*appsv1.ControllerRevision](c, "default")[0]
		require.Equal(t, "agent-"+p.Labels["controller-revision-hash"], rev.Name)
		require.Len(t, p.Spec.Tolerations, 6)

		editNode(c, "node-2", func(n *corev1.Node) { n.Labels["disk"] = "ssd" })
		editNode(c, "node-0", func(n *corev1.Node) { delete(n.Labels, "disk") })
		c.Settle()
		require.EqualValues(t, 1, get(c).Status.NumberMisscheduled, "the pod is ending")
		c.Sleep(10 * time.Second)
		require.Equal(t, map[string]string{"node-1": "agent:1", "node-2": "agent:1"}, images(c))
		require.Zero(t, get(c).Status.NumberMisscheduled)
	})
}

func TestTaints(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		taint := func(node, key string, effect corev1.TaintEffect) {
			editNode(c, node, func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) })
		}
		taint("node-0", "dedicated", corev1.TaintEffectNoSchedule)
		editNode(c, "node-1", func(n *corev1.Node) { n.Spec.Unschedulable = true })
		c.Settle()
		controllertest.Create(c, agent())
		c.Sleep(10 * time.Second)
		require.Equal(t, map[string]string{"node-1": "agent:1", "node-2": "agent:1"}, images(c), "a cordoned node has its daemons")
		taint("node-1", "dedicated", corev1.TaintEffectNoSchedule)
		taint("node-2", "dedicated", corev1.TaintEffectNoExecute)
		c.Sleep(10 * time.Second)
		require.Equal(t, map[string]string{"node-1": "agent:1"}, images(c), "only NoExecute ends pods")
		s := get(c).Status
		require.Zero(t, s.DesiredNumberScheduled)
		require.EqualValues(t, 1, s.NumberMisscheduled)
		controllertest.Update(c, "default", "agent", func(ds *appsv1.DaemonSet) {
			ds.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
		})
		c.Sleep(20 * time.Second)
		require.Len(t, images(c), 3)
		require.EqualValues(t, 3, get(c).Status.NumberAvailable)
	})
}

// Nodes that come get a pod. Pods that wait for a node that has gone are deleted.
func TestNodesComeAndGo(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		n := &corev1.Node{ObjectMeta: controllertest.Name("", "full")}
		controllertest.Create(c, n)
		controllertest.Create(c, agent(func(ds *appsv1.DaemonSet) {
			ds.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			ds.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		}))
		c.Sleep(10 * time.Second)
		require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 4, "one of them pending")
		controllertest.Delete[*corev1.Node](c, "", "full")
		c.Settle()
		require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 3)
		require.EqualValues(t, 3, get(c).Status.DesiredNumberScheduled)
	})
}

// extremes watches how many nodes have a ready pod and how many have two.
func extremes(c *controllertest.Cluster) (fewest, doubled *int) {
	fewest, doubled = new(3), new(int)
	pods := map[string]*corev1.Pod{}
	controllertest.Watch(c, "default", func(e client.Event[*corev1.Pod]) {
		delete(pods, e.Object.Name)
		if e.Type != client.Deleted && e.Object.DeletionTimestamp == nil {
			pods[e.Object.Name] = e.Object
		}
		ready, on := map[string]bool{}, map[string]int{}
		for _, p := range pods {
			if isReady(p) {
				ready[p.Spec.NodeName] = true
			}
			if p.Spec.NodeName != "" {
				on[p.Spec.NodeName]++
			}
		}
		*fewest = min(*fewest, len(ready))
		two := 0
		for _, n := range on {
			if n > 1 {
				two++
			}
		}
		*doubled = max(*doubled, two)
	})
	*fewest, *doubled = 3, 0
	return fewest, doubled
}

func TestRollingUpdate(t *testing.T) {
	for _, k := range []struct {
		surge, unavailable string
		fewest, doubled    int
	}{{"0", "1", 2, 0}, {"0", "50%", 1, 0}, {"1", "0", 3, 1}, {"50%", "0", 3, 2}} {
		t.Run(k.surge+"/"+k.unavailable, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *controllertest.Cluster) {
				controllertest.Create(c, agent(rolling(k.surge, k.unavailable)))
				c.Sleep(10 * time.Second)
				fewest, doubled := extremes(c)
				setImage(c, "agent:2")
				c.Sleep(time.Minute)
				require.Equal(t, map[string]string{"node-0": "agent:2", "node-1": "agent:2", "node-2": "agent:2"}, images(c))
				require.Equal(t, k.fewest, *fewest)
				require.Equal(t, k.doubled, *doubled)
				require.EqualValues(t, 3, get(c).Status.UpdatedNumberScheduled)
			})
		})
	}
}

// An update deletes the old pod of a node whose taint keeps new ones away: at its turn, or, if new pods are
// made beside old ones, once it is not needed any more.
func TestUpdateOfPodsThatCannotComeBack(t *testing.T) {
	for _, k := range []struct{ surge, unavailable string }{{"0", "1"}, {"1", "0"}} {
		t.Run(k.surge+"/"+k.unavailable, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *controllertest.Cluster) {
				controllertest.Create(c, agent(rolling(k.surge, k.unavailable)))
				c.Sleep(10 * time.Second)
				editNode(c, "node-1", func(n *corev1.Node) {
					n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule})
				})
				c.Sleep(10 * time.Second)
				require.Len(t, images(c), 3, "the taint ends no pod")
				fewest, _ := extremes(c)
				setImage(c, "agent:2")
				c.Sleep(time.Minute)
				require.Equal(t, map[string]string{"node-0": "agent:2", "node-2": "agent:2"}, images(c))
				s := get(c).Status
				require.Equal(t, [4]int32{2, 2, 2, 0}, [4]int32{s.DesiredNumberScheduled, s.UpdatedNumberScheduled, s.NumberAvailable, s.NumberMisscheduled})
				if k.surge == "1" {
					require.Equal(t, 2, *fewest, "never fewer than there are to be")
				}
			})
		})
	}
}

// An update replaces broken pods first, and does not go on while the new ones are not ready.
func TestBrokenUpdate(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, agent())
		c.Sleep(10 * time.Second)
		controllertest.Update(c, "default", "agent", func(ds *appsv1.DaemonSet) {
			ds.Spec.Template.Annotations[fakenode.ReadyAfterAnnotation] = "1000h"
		})
		c.Sleep(time.Minute)
		s := get(c).Status
		require.EqualValues(t, 1, s.UpdatedNumberScheduled)
		require.EqualValues(t, 2, s.NumberAvailable)
		require.EqualValues(t, 1, s.NumberUnavailable)
		controllertest.Update(c, "default", "agent", func(ds *appsv1.DaemonSet) {
			ds.Spec.Template.Annotations[fakenode.ReadyAfterAnnotation] = "1s"
		})
		c.Sleep(time.Minute)
		require.EqualValues(t, 3, get(c).Status.NumberAvailable)
		require.EqualValues(t, 3, get(c).Status.UpdatedNumberScheduled)
	})
}

func TestOnDeleteAndUndo(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, agent(func(ds *appsv1.DaemonSet) {
			ds.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
			ds.Spec.RevisionHistoryLimit = new(int32(0))
		}))
		c.Sleep(10 * time.Second)
		setImage(c, "agent:2")
		c.Sleep(10 * time.Second)
		require.Equal(t, map[string]string{"node-0": "agent:1", "node-1": "agent:1", "node-2": "agent:1"}, images(c))
		require.Len(t, controllertest.List[*appsv1.ControllerRevision](c, "default"), 2, "one is in use")
		for _, p := range controllertest.List[*corev1.Pod](c, "default") {
			controllertest.Delete[*corev1.Pod](c, "default", p.Name)
		}
		c.Sleep(10 * time.Second)
		require.Equal(t, map[string]string{"node-0": "agent:2", "node-1": "agent:2", "node-2": "agent:2"}, images(c))
		list := controllertest.List[*appsv1.ControllerRevision](c, "default")
		require.Len(t, list, 1)
		require.EqualValues(t, 2, list[0].Revision)
	})
}

// A pod that fails is replaced at once, then after one second, two, four and so on.
func TestFailedPodsBackOff(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		editNode(c, "node-0", func(n *corev1.Node) { n.Labels["only"] = "this" })
		controllertest.Create(c, agent(func(ds *appsv1.DaemonSet) { ds.Spec.Template.Spec.NodeSelector = map[string]string{"only": "this"} }))
		c.Sleep(10 * time.Second)
		fail := func() string {
			p := controllertest.List[*corev1.Pod](c, "default")[0]
			controllertest.UpdateStatus(c, "default", p.Name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
			return p.Name
		}
		for i, wait := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second} {
			began := time.Now()
			name := fail()
			c.Settle()
			for controllertest.Exists[*corev1.Pod](c, "default", name) && controllertest.Get[*corev1.Pod](c, "default", name).DeletionTimestamp == nil {
				c.Sleep(100 * time.Millisecond)
			}
			require.InDelta(t, wait, time.Since(began), float64(200*time.Millisecond), "attempt %d", i)
			for !slices.ContainsFunc(controllertest.List[*corev1.Pod](c, "default"), func(p *corev1.Pod) bool { return p.Name != name && p.Spec.NodeName != "" }) || len(controllertest.List[*corev1.Pod](c, "default")) > 1 {
				// The failed one is removed and its successor bound; the next failure is to be at the same
				// instant.
				c.Sleep(time.Millisecond)
				if time.Since(began) > time.Minute {
					t.Fatal("the pod was not replaced")
				}
			}
		}
		reasons := map[string]bool{}
		for _, e := range controllertest.List[*corev1.Event](c, "default") {
			reasons[e.Reason] = true
		}
		require.True(t, reasons["FailedDaemonPod"])
		require.True(t, reasons["SuccessfulCreate"])
		require.True(t, reasons["SuccessfulDelete"])
	})
}

// Random changes of nodes, template and pods: at rest there is one pod of the last template on each node that
// admits it, and none elsewhere.
func TestHistories(t *testing.T) {
	for _, seed := range seeds.Slow(t, 3) {
		bubble(t, func(t *testing.T, c *controllertest.Cluster) {
			r := seeds.Rand(seed)
			surge := r.IntN(2)
			controllertest.Create(c, agent(rolling(fmt.Sprint(surge), fmt.Sprint(1-surge))))
			image := 1
			tainted := map[string]bool{}
			for range 12 {
				node := fmt.Sprint("node-", r.IntN(3))
				switch r.IntN(4) {
				case 0:
					image++
					setImage(c, fmt.Sprint("agent:", image))
				case 1:
					tainted[node] = !tainted[node]
					editNode(c, node, func(n *corev1.Node) {
						n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "x" })
						if tainted[node] {
							n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "x", Effect: corev1.TaintEffectNoExecute})
						}
					})
				case 2:
					if all := controllertest.List[*corev1.Pod](c, "default"); len(all) > 0 {
						controllertest.Delete[*corev1.Pod](c, "default", all[r.IntN(len(all))].Name)
					}
				default:
					controllertest.Update(c, "default", "agent", rolling(fmt.Sprint(surge), fmt.Sprint((1+r.IntN(2))*(1-surge))))
				}
				c.Sleep(time.Duration(r.IntN(8)) * time.Second)
			}
			c.Sleep(time.Minute)
			want := map[string]string{}
			for i := range 3 {
				if node := fmt.Sprint("node-", i); !tainted[node] {
					want[node] = fmt.Sprint("agent:", image)
				}
			}
			require.Equal(t, want, images(c), "seed %d", seed)
			s := get(c).Status
			n := int32(len(want))
			require.Equal(t, [5]int32{n, n, n, n, 0}, [5]int32{s.DesiredNumberScheduled, s.CurrentNumberScheduled, s.NumberAvailable, s.UpdatedNumberScheduled, s.NumberMisscheduled}, "seed %d", seed)
		})
	}
}
