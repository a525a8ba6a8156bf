package fakenode_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func add(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{Count: 2}) }

func bubble(t *testing.T, f func(t *testing.T, c *controllertest.Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		f(t, controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{add}}))
	})
}

func create(c *controllertest.Cluster, policy corev1.RestartPolicy, annotations map[string]string, edit ...func(*corev1.Pod)) {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "p")}
	p.Annotations = annotations
	p.Spec.NodeName, p.Spec.RestartPolicy = "node-0", policy
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	for _, e := range edit {
		e(p)
	}
	controllertest.Create(c, p)
}

func get(c *controllertest.Cluster) *corev1.Pod {
	return controllertest.Get[*corev1.Pod](c, "default", "p")
}

func condition(p *corev1.Pod, t corev1.PodConditionType) corev1.ConditionStatus {
	for _, c := range p.Status.Conditions {
		if c.Type == t {
			return c.Status
		}
	}
	return ""
}

// The last deletion of a pod, which has no grace period left, is made once: it is visible before its event.
func TestAPodIsRemovedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Seed: 1, Controllers: []controllertest.Adder{add}})
		c.Sleep(time.Second)
		c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"watch"}, Resource: "pods"}, Effect: controllertest.Lag(time.Second)})
		c.Break(controllertest.Requests{Verbs: []string{"watch"}, Resource: "pods"})
		create(c, corev1.RestartPolicyAlways, nil)
		c.Sleep(time.Minute)
		deleted := c.Record(controllertest.Requests{Verbs: []string{"delete"}, Resource: "pods"})
		controllertest.Delete[*corev1.Pod](c, "default", "p")
		c.Sleep(time.Minute)
		require.Len(t, deleted.Calls(), 2, "by the test, with a grace period, and by the node")
		require.False(t, controllertest.Exists[*corev1.Pod](c, "default", "p"))
	})
}

func TestNodesRenewTheirLeases(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		c.Settle()
		require.Len(t, controllertest.List[*corev1.Node](c, ""), 2)
		renewed := func() time.Time {
			return controllertest.Get[*coordinationv1.Lease](c, corev1.NamespaceNodeLease, "node-1").Spec.RenewTime.Time
		}
		for range 10 {
			c.Sleep(time.Minute)
			require.WithinDuration(t, time.Now(), renewed(), 11*time.Second)
		}
		// A deleted node registers again.
		controllertest.Delete[*corev1.Node](c, "", "node-1")
		c.Sleep(20 * time.Second)
		require.True(t, controllertest.Exists[*corev1.Node](c, "", "node-1"))
	})
}

func TestAServerPod(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		c.Settle()
		create(c, corev1.RestartPolicyAlways, map[string]string{fakenode.ReadyAfterAnnotation: "5s"})
		c.Settle()
		p := get(c)
		require.Equal(t, corev1.PodRunning, p.Status.Phase)
		require.Regexp(t, `^10\.244\.0\.\d+$`, p.Status.PodIP)
		require.Equal(t, corev1.ConditionFalse, condition(p, corev1.PodReady))
		c.Sleep(6 * time.Second)
		require.Equal(t, corev1.ConditionTrue, condition(get(c), corev1.PodReady))
		c.Sleep(time.Hour)
		require.Zero(t, get(c).Status.ContainerStatuses[0].RestartCount)
		controllertest.Delete[*corev1.Pod](c, "default", "p")
		c.Settle()
		require.False(t, controllertest.Exists[*corev1.Pod](c, "default", "p"))
	})
}

// A running pod has what it requests, also after a resize.
func TestResize(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		c.Settle()
		cpu := func(amount string) corev1.ResourceList {
			return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
		}
		create(c, corev1.RestartPolicyAlways, nil, func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: cpu("100m"), Limits: cpu("500m")}
		})
		c.Settle()
		has := func(request string) {
			t.Helper()
			st := get(c).Status.ContainerStatuses[0]
			require.Equal(t, request, new(st.AllocatedResources[corev1.ResourceCPU]).String())
			require.Equal(t, request, new(st.Resources.Requests[corev1.ResourceCPU]).String())
			require.Equal(t, "500m", new(st.Resources.Limits[corev1.ResourceCPU]).String())
		}
		has("100m")
		_, err := client.For[*corev1.Pod](c.Admin()).Patch(t.Context(), types.NamespacedName{Namespace: "default", Name: "p"},
			client.Patch{Type: types.StrategicMergePatchType, Data: []byte(`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"200m"}}}]}}`)},
			client.PatchOptions{Subresource: "resize"})
		require.NoError(t, err)
		c.Settle()
		has("200m")
	})
}

func TestInitContainersInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		c.Settle()
		create(c, corev1.RestartPolicyAlways, nil, func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "one", Image: "i"}, {Name: "two", Image: "i"}}
		})
		c.Settle()
		require.NotNil(t, get(c).Status.InitContainerStatuses[0].State.Running)
		require.Equal(t, "PodInitializing", get(c).Status.ContainerStatuses[0].State.Waiting.Reason)
		require.Equal(t, corev1.PodPending, get(c).Status.Phase)
		c.Sleep(5 * time.Second)
		require.NotNil(t, get(c).Status.InitContainerStatuses[1].State.Terminated)
		require.Equal(t, corev1.PodRunning, get(c).Status.Phase)
		require.Equal(t, corev1.ConditionTrue, condition(get(c), corev1.PodReady))
	})
}

func TestOneShotPods(t *testing.T) {
	for _, v := range []struct {
		annotations map[string]string
		phase       corev1.PodPhase
		code        int32
	}{{nil, corev1.PodSucceeded, 0}, {map[string]string{fakenode.ExitCodeAnnotation: "3"}, corev1.PodFailed, 3}} {
		bubble(t, func(t *testing.T, c *controllertest.Cluster) {
			c.Settle()
			create(c, corev1.RestartPolicyNever, v.annotations)
			c.Sleep(3 * time.Second)
			require.Equal(t, v.phase, get(c).Status.Phase)
			require.Equal(t, v.code, get(c).Status.ContainerStatuses[0].State.Terminated.ExitCode)
			require.Equal(t, corev1.ConditionFalse, condition(get(c), corev1.PodReady))
		})
	}
}

// A container that crashes is started again after 10, 20, 40, ... seconds.
func TestRestartBackOff(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		c.Settle()
		create(c, corev1.RestartPolicyAlways, map[string]string{fakenode.RunForAnnotation: "2s", fakenode.ExitCodeAnnotation: "1"})
		began := time.Now()
		c.Sleep(3 * time.Second)
		w := get(c).Status.ContainerStatuses[0].State.Waiting
		require.Equal(t, "CrashLoopBackOff", w.Reason)
		require.Equal(t, corev1.PodRunning, get(c).Status.Phase)
		for i, at := range []int{12, 34, 76, 158} {
			c.Sleep(time.Until(began.Add(time.Duration(at)*time.Second + 500*time.Millisecond)))
			require.Equal(t, int32(i+1), get(c).Status.ContainerStatuses[0].RestartCount, "after %d s", at)
			require.Equal(t, int32(1), get(c).Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode)
		}
	})
}

func TestGracePeriod(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		c.Settle()
		var last *corev1.Pod
		controllertest.Watch(c, "default", func(e client.Event[*corev1.Pod]) {
			if e.Type != client.Deleted {
				last = e.Object
			}
		})
		create(c, corev1.RestartPolicyAlways, map[string]string{fakenode.StopAfterAnnotation: "1h"}, func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} })
		c.Sleep(time.Second)
		controllertest.Delete[*corev1.Pod](c, "default", "p")
		c.Sleep(29 * time.Second)
		require.NotNil(t, get(c).Status.ContainerStatuses[0].State.Running)
		c.Sleep(2 * time.Second)
		require.Equal(t, int32(137), last.Status.ContainerStatuses[0].State.Terminated.ExitCode)
		c.Sleep(time.Minute)
		require.True(t, controllertest.Exists[*corev1.Pod](c, "default", "p"), "a finalizer holds it")
		controllertest.Update(c, "default", "p", func(p *corev1.Pod) { p.Finalizers = nil })
		c.Settle()
		require.False(t, controllertest.Exists[*corev1.Pod](c, "default", "p"))
	})
}

// A restarted simulation continues where it stopped.
func TestRestartOfTheSimulation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		stop := c.Run(c.Manager("one", add))
		c.Settle()
		create(c, corev1.RestartPolicyAlways, nil)
		c.Settle()
		before := get(c)
		stop()
		c.Sleep(30 * time.Second)
		c.Run(c.Manager("two", add))
		c.Sleep(time.Minute)
		after := get(c)
		require.Equal(t, before.Status, after.Status)
	})
}
