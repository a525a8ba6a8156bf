package replicaset_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

func add(m *manager.Manager) error { return replicaset.Add(m, replicaset.Options{}) }

func bubble(t *testing.T, f func(t *testing.T, c *controllertest.Cluster)) {
	synctest.Test(t, func(t *testing.T) {
		f(t, controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{add}}))
	})
}

func web(replicas int32) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", "web")}
	rs.Spec.Replicas = &replicas
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	rs.Spec.Template.Labels = map[string]string{"app": "web", "tier": "front"}
	rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	return rs
}

func pods(c *controllertest.Cluster) []*corev1.Pod {
	return controllertest.List[*corev1.Pod](c, "default")
}

func get(c *controllertest.Cluster) *appsv1.ReplicaSet {
	return controllertest.Get[*appsv1.ReplicaSet](c, "default", "web")
}

func scale(c *controllertest.Cluster, n int32) {
	controllertest.Update(c, "default", "web", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = &n })
}

func setReady(c *controllertest.Cluster, name string, ready bool) {
	controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		status := corev1.ConditionFalse
		if ready {
			status = corev1.ConditionTrue
		}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.Now()}}
	})
}

func TestScale(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		rs := controllertest.Create(c, web(3))
		c.Settle()
		require.Len(t, pods(c), 3)
		for _, p := range pods(c) {
			require.True(t, strings.HasPrefix(p.Name, "web-"))
			require.Equal(t, map[string]string{"app": "web", "tier": "front"}, p.Labels)
			ref := metav1.ControllerOf(p)
			require.Equal(t, metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: rs.UID, Controller: new(true), BlockOwnerDeletion: new(true)}, *ref)
		}
		s := get(c).Status
		require.Equal(t, int32(3), s.Replicas)
		require.Equal(t, int32(3), s.FullyLabeledReplicas)
		require.Zero(t, s.ReadyReplicas)
		require.Equal(t, int64(1), s.ObservedGeneration)
		scale(c, 0)
		c.Settle()
		require.Empty(t, pods(c))
		require.Zero(t, get(c).Status.Replicas)
		var created, deleted int
		for _, e := range controllertest.List[*corev1.Event](c, "default") {
			switch e.Reason {
			case "SuccessfulCreate":
				created++
			case "SuccessfulDelete":
				deleted++
			}
		}
		require.Equal(t, 3, created)
		require.Equal(t, 3, deleted)
	})
}

func TestReadyAndAvailable(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		rs := web(2)
		rs.Spec.MinReadySeconds = 30
		controllertest.Create(c, rs)
		c.Settle()
		setReady(c, pods(c)[0].Name, true)
		c.Settle()
		require.Equal(t, int32(1), get(c).Status.ReadyReplicas)
		require.Zero(t, get(c).Status.AvailableReplicas)
		c.Sleep(30*time.Second + time.Millisecond)
		require.Equal(t, int32(1), get(c).Status.AvailableReplicas)
	})
}

// Which pods go first: not ready before ready, cheaper before dearer, younger before older.
func TestScaleDownRanking(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(4))
		c.Settle()
		all := pods(c)
		old, young, cheap, unready := all[0].Name, all[1].Name, all[2].Name, all[3].Name
		setReady(c, old, true)
		setReady(c, cheap, true)
		setReady(c, unready, false)
		c.Sleep(time.Hour)
		setReady(c, young, true)
		controllertest.Update(c, "default", cheap, func(p *corev1.Pod) {
			p.Annotations = map[string]string{"controller.kubernetes.io/pod-deletion-cost": "-5"}
		})
		c.Settle()
		left := []string{old, young, cheap, unready}
		for _, next := range []string{unready, cheap, young} {
			scale(c, int32(len(left)-1))
			c.Settle()
			require.False(t, controllertest.Exists[*corev1.Pod](c, "default", next), "%s should have gone", next)
			left = left[:len(left)-1]
			require.Len(t, pods(c), len(left))
		}
	})
}

func TestAdoptionAndRelease(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		orphan := &corev1.Pod{ObjectMeta: controllertest.Name("default", "orphan")}
		orphan.Labels = map[string]string{"app": "web"}
		orphan.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
		controllertest.Create(c, orphan)
		other := orphan
		other.Name, other.ResourceVersion, other.UID = "other", "", ""
		other.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x", Controller: new(true)}}
		controllertest.Create(c, other)
		c.Settle() // pods may be seen after sets
		rs := controllertest.Create(c, web(2))
		c.Settle()
		require.Len(t, pods(c), 3, "one adopted, one made, one of another owner")
		require.True(t, metav1.IsControlledBy(controllertest.Get[*corev1.Pod](c, "default", "orphan"), rs.UID))
		require.False(t, metav1.IsControlledBy(controllertest.Get[*corev1.Pod](c, "default", "other"), rs.UID))
		controllertest.Update(c, "default", "orphan", func(p *corev1.Pod) { p.Labels["app"] = "debug" })
		c.Settle()
		require.Nil(t, metav1.ControllerOf(controllertest.Get[*corev1.Pod](c, "default", "orphan")))
		require.Len(t, pods(c), 4, "its place is taken")
		// An orphan that comes later is surplus, whichever client created it.
		controllertest.Update(c, "default", "orphan", func(p *corev1.Pod) { p.Labels["app"] = "web" })
		c.Settle()
		require.Len(t, pods(c), 3)
		require.Equal(t, int32(2), get(c).Status.Replicas)
	})
}

// Ended pods are replaced, and counted no more.
func TestEndedPodsAreReplaced(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(2))
		c.Settle()
		controllertest.UpdateStatus(c, "default", pods(c)[0].Name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
		c.Settle()
		require.Len(t, pods(c), 3)
		require.Equal(t, int32(2), get(c).Status.Replicas)
	})
}

// A pod that is counted and deleted before the event of its creation has been handled is replaced all the
// same: the handler of pods is kept busy while a pod comes, the set is scaled to that number, and the pod
// goes.
func TestAPodThatOnlyTheListerHasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		wait := func() { // Settle would find the handler blocked
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		gate, busy := make(chan struct{}), make(chan struct{})
		enter, leave := sync.OnceFunc(func() { close(busy) }), sync.OnceFunc(func() { close(gate) })
		t.Cleanup(leave)
		m := manager.New(c.Conn(), manager.Options{OnEvent: func(_ string, _ any, e manager.Event) {
			if e.Kind == "Pod" && e.Type == informers.Updated {
				enter()
				<-gate
			}
		}})
		require.NoError(t, add(m))
		c.Run(m)
		rs := controllertest.Create(c, web(1))
		pod := &corev1.Pod{ObjectMeta: controllertest.Name("other", "busy"), Spec: rs.Spec.Template.Spec}
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "other", UID: "other", Controller: new(true)}}
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
		controllertest.Create(c, pod)
		wait()
		controllertest.Update(c, "other", "busy", func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} })
		<-busy
		pod = &corev1.Pod{ObjectMeta: controllertest.Name("default", "passing"), Spec: rs.Spec.Template.Spec}
		pod.Labels = rs.Spec.Template.Labels
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: rs.Name, UID: rs.UID, Controller: new(true)}}
		controllertest.Create(c, pod)
		wait()
		scale(c, 2)
		wait()
		require.Len(t, pods(c), 2, "the pod counts")
		require.Equal(t, int32(2), get(c).Status.Replicas)
		controllertest.Delete[*corev1.Pod](c, "default", "passing")
		wait()
		leave()
		wait()
		require.Len(t, pods(c), 2)
		require.False(t, controllertest.Exists[*corev1.Pod](c, "default", "passing"))
	})
}

// A pod that is deleted before the response to its creation arrives is replaced, also if the watch of pods
// delivers nothing of it, because the pods were read again meanwhile.
func TestAPodThatOnlyItsCreatorHasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{add}})
		controllertest.Create(c, web(1))
		c.Settle()
		gate, watches := make(chan struct{}), controllertest.Requests{Verbs: []string{"watch"}, Resource: "pods"}
		var apart *controllertest.Injected
		c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"create"}, Resource: "pods"}, Times: 1,
			Effect: func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
				apart = c.Partition(watches)
				c.Inject(controllertest.Fault{Requests: watches, Times: 1, Effect: controllertest.Expired()})
				response := httptest.NewRecorder()
				next(response, r)
				<-gate
				maps.Copy(w.Header(), response.Header())
				w.WriteHeader(response.Code)
				_, _ = w.Write(response.Body.Bytes())
			}})
		controllertest.Delete[*corev1.Pod](c, "default", pods(c)[0].Name)
		time.Sleep(5 * time.Second) // from now on only a read of all pods can succeed
		first := pods(c)
		require.Len(t, first, 1, "the next one, of which no watch has delivered anything")
		controllertest.Delete[*corev1.Pod](c, "default", first[0].Name)
		apart.Remove()
		time.Sleep(40 * time.Second)
		close(gate)
		c.Settle()
		require.Len(t, pods(c), 1)
		require.NotEqual(t, first[0].UID, pods(c)[0].UID)
	})
}

// A set that its Deployment scales while its pods are created gets a status that is not refused: of the
// generation that was acted on, and then of the next one.
func TestStatusOfASetThatIsScaledMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		var conn client.Conn
		c.Run(c.Manager("controllers", add, func(m *manager.Manager) error {
			conn = m.Conn()
			return nil
		}))
		c.Settle()
		c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"create"}, Resource: "pods"}, Effect: controllertest.Delay(time.Second)})
		written := c.Record(controllertest.Requests{Resource: "replicasets/status"})
		var seen []string
		controllertest.Watch(c, "default", func(e client.Event[*appsv1.ReplicaSet]) {
			s := e.Object.Status
			seen = append(seen, fmt.Sprintf("generation %d: %d of %d", e.Object.Generation, s.Replicas, s.ObservedGeneration))
		})
		rs := controllertest.Create(c, web(1))
		time.Sleep(time.Second / 2)
		rs.Spec.Replicas = new(int32(2))
		_, err := client.For[*appsv1.ReplicaSet](conn).Update(t.Context(), rs)
		require.NoError(t, err)
		c.Sleep(10 * time.Second)
		require.Equal(t, []string{"generation 1: 0 of 0", "generation 2: 0 of 0", "generation 2: 1 of 1", "generation 2: 2 of 2"}, seen)
		for _, call := range written.Calls() {
			require.Equal(t, http.StatusOK, call.Code)
		}
	})
}

// counting counts requests by method and path ending.
type counting struct {
	client.Conn
	creates atomic.Int64
}

func (c *counting) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	if r.Method == "POST" && r.Resource.Resource == "pods" {
		c.creates.Add(1)
	}
	return c.Conn.Do(ctx, r)
}

// A set of 500 under a quota of 3 makes a handful of vain attempts, not hundreds, and is whole soon after the
// quota is gone.
func TestSlowStartUnderAQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		hard := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}
		controllertest.Create(c, &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", "q"), Spec: corev1.ResourceQuotaSpec{Hard: hard}})
		controllertest.UpdateStatus(c, "default", "q", func(q *corev1.ResourceQuota) {
			q.Status.Hard, q.Status.Used = hard, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
		})
		c.Settle()
		count := &counting{Conn: c.Conn()}
		c.Run(c.ManagerOver(count, "rs", add))
		controllertest.Create(c, web(500))
		c.Sleep(100 * time.Millisecond)
		require.Len(t, pods(c), 3)
		require.Less(t, count.creates.Load(), int64(30))
		failure := get(c).Status.Conditions
		require.Len(t, failure, 1)
		require.Equal(t, appsv1.ReplicaSetReplicaFailure, failure[0].Type)
		require.Equal(t, "FailedCreate", failure[0].Reason)
		controllertest.Delete[*corev1.ResourceQuota](c, "default", "q")
		c.Sleep(20 * time.Minute) // the longest back-off
		require.Len(t, pods(c), 500)
		require.Empty(t, get(c).Status.Conditions)
	})
}

// With watches that lag behind there is never a pod too many, and never one deleted in vain.
func TestNoSurplusUnderADelayedWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		c.Inject(controllertest.Fault{Requests: controllertest.Requests{Verbs: []string{"watch"}, User: "late"}, Effect: controllertest.Lag(time.Second)})
		c.Run(c.ManagerOver(c.Conn(client.User{Name: "late", Groups: []string{"system:masters"}}), "rs", add))
		c.Sleep(10 * time.Second)
		most, limit, deletes := 0, 0, 0
		have := map[string]bool{}
		controllertest.Watch(c, "default", func(e client.Event[*corev1.Pod]) {
			if e.Type == client.Deleted {
				delete(have, e.Object.Name)
				deletes++
			} else {
				have[e.Object.Name] = true
			}
			most = max(most, len(have)-limit)
		})
		limit = 10
		controllertest.Create(c, web(10))
		for i := range 20 {
			c.Sleep(300 * time.Millisecond)
			controllertest.Update(c, "default", "web", func(rs *appsv1.ReplicaSet) { rs.Annotations = map[string]string{"n": fmt.Sprint(i)} })
		}
		c.Sleep(time.Minute)
		require.Len(t, have, 10)
		require.LessOrEqual(t, most, 0)
		require.Zero(t, deletes)
		scale(c, 4)
		c.Sleep(time.Minute)
		require.Len(t, have, 4)
		require.Equal(t, 6, deletes)
	})
}
