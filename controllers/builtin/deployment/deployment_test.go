package deployment_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/deployment"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

func start(t *testing.T) *controllertest.Cluster {
	return controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
		func(m *manager.Manager) error { return deployment.Add(m, deployment.Options{}) },
		func(m *manager.Manager) error { return replicaset.Add(m, replicaset.Options{}) },
		func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
		func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{Count: 3}) },
		func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
		func(m *manager.Manager) error { return garbagecollector.Add(m, garbagecollector.Options{}) },
	}})
}

func bubble(t *testing.T, f func(t *testing.T, c *controllertest.Cluster)) {
	synctest.Test(t, func(t *testing.T) { f(t, start(t)) })
}

// web is a Deployment whose pods take three seconds to become ready and two to end.
func web(replicas int32, edit ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: controllertest.Name("default", "web")}
	d.Spec.Replicas = &replicas
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	d.Spec.Template.Labels = map[string]string{"app": "web"}
	d.Spec.Template.Annotations = map[string]string{fakenode.ReadyAfterAnnotation: "3s", fakenode.StopAfterAnnotation: "2s"}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
	for _, e := range edit {
		e(d)
	}
	return d
}

func bounds(surge, unavailable string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		s, u := intstr.Parse(surge), intstr.Parse(unavailable)
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &s, MaxUnavailable: &u}}
	}
}

func get(c *controllertest.Cluster) *appsv1.Deployment {
	return controllertest.Get[*appsv1.Deployment](c, "default", "web")
}

func setImage(c *controllertest.Cluster, image string) {
	controllertest.Update(c, "default", "web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image })
}

func scale(c *controllertest.Cluster, n int32) {
	controllertest.Update(c, "default", "web", func(d *appsv1.Deployment) { d.Spec.Replicas = &n })
}

// sets are the ReplicaSets by image.
func sets(c *controllertest.Cluster) map[string]*appsv1.ReplicaSet {
	out := map[string]*appsv1.ReplicaSet{}
	for _, rs := range controllertest.List[*appsv1.ReplicaSet](c, "default") {
		out[rs.Spec.Template.Spec.Containers[0].Image] = rs
	}
	return out
}

func condition(d *appsv1.Deployment, t appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range d.Status.Conditions {
		if c := &d.Status.Conditions[i]; c.Type == t {
			return c
		}
	}
	return nil
}

// wait lets time pass until the rollout is complete, as kubectl rollout status would say.
func wait(t *testing.T, c *controllertest.Cluster) {
	t.Helper()
	for range 600 {
		c.Settle()
		d := get(c)
		if d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas == *d.Spec.Replicas &&
			d.Status.Replicas == *d.Spec.Replicas && d.Status.AvailableReplicas == *d.Spec.Replicas {
			return
		}
		c.Sleep(time.Second)
	}
	t.Fatalf("not complete after ten minutes: %+v", get(c).Status)
}

func TestCreateRollUndo(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(3))
		wait(t, c)
		d := get(c)
		require.Equal(t, "1", d.Annotations["deployment.kubernetes.io/revision"])
		require.Equal(t, int32(3), d.Status.ReadyReplicas)
		require.Zero(t, d.Status.UnavailableReplicas)
		require.Equal(t, corev1.ConditionTrue, condition(d, appsv1.DeploymentAvailable).Status)
		require.Equal(t, "NewReplicaSetAvailable", condition(d, appsv1.DeploymentProgressing).Reason)
		first := sets(c)["app:1"]
		hash := first.Labels["pod-template-hash"]
		require.NotEmpty(t, hash)
		require.Equal(t, "web-"+hash, first.Name)
		require.Equal(t, hash, first.Spec.Selector.MatchLabels["pod-template-hash"])
		require.True(t, metav1.IsControlledBy(first, d.UID))
		require.Equal(t, "3", first.Annotations["deployment.kubernetes.io/desired-replicas"])
		require.Equal(t, "4", first.Annotations["deployment.kubernetes.io/max-replicas"])

		setImage(c, "app:2")
		wait(t, c)
		require.Equal(t, "2", get(c).Annotations["deployment.kubernetes.io/revision"])
		require.Zero(t, *sets(c)["app:1"].Spec.Replicas)
		require.Equal(t, "1", sets(c)["app:1"].Annotations["deployment.kubernetes.io/revision"])

		// kubectl rollout undo writes the old template back: the old set is used again under the next
		// revision.
		setImage(c, "app:1")
		wait(t, c)
		require.Equal(t, "3", get(c).Annotations["deployment.kubernetes.io/revision"])
		require.Len(t, sets(c), 2)
		again := sets(c)["app:1"]
		require.Equal(t, first.UID, again.UID)
		require.Equal(t, "3", again.Annotations["deployment.kubernetes.io/revision"])
		require.Equal(t, "1", again.Annotations["deployment.kubernetes.io/revision-history"])
		require.Equal(t, "2", sets(c)["app:2"].Annotations["deployment.kubernetes.io/revision"])

		var texts []string
		for _, e := range controllertest.List[*corev1.Event](c, "default") {
			if e.InvolvedObject.Kind == "Deployment" {
				require.Equal(t, "ScalingReplicaSet", e.Reason)
				texts = append(texts, e.Message)
			}
		}
		require.Contains(t, texts, "Scaled up replica set "+first.Name+" from 0 to 3")
		require.Contains(t, texts, "Scaled down replica set "+first.Name+" from 1 to 0")
	})
}

// The sizes written into ReplicaSets never add up to more than the surge allows, and the pods that are ready
// never to less than what may be missing.
func TestRollingBoundsAreNeverExceeded(t *testing.T) {
	for _, v := range []struct {
		replicas           int32
		surge, unavailable string
		most, least        int32
	}{
		{10, "25%", "25%", 13, 8}, {10, "0", "1", 10, 9}, {10, "1", "0", 11, 10}, {3, "100%", "0%", 6, 3}, {4, "0", "100%", 4, 0}, {1, "0", "0%", 0, 0},
	} {
		t.Run(fmt.Sprintf("%d surge %s unavailable %s", v.replicas, v.surge, v.unavailable), func(t *testing.T) {
			if v.surge == "0" && v.unavailable == "0%" {
				return // refused by validation
			}
			bubble(t, func(t *testing.T, c *controllertest.Cluster) {
				controllertest.Create(c, web(v.replicas, bounds(v.surge, v.unavailable)))
				wait(t, c)
				sizes, ready := map[string]int32{}, map[string]bool{}
				total := func() (n int32) {
					for _, s := range sizes {
						n += s
					}
					return n
				}
				rolling := false
				var worst, least int32 = 0, 1 << 30
				controllertest.Watch(c, "default", func(e client.Event[*appsv1.ReplicaSet]) {
					sizes[e.Object.Name] = *e.Object.Spec.Replicas
					worst = max(worst, total())
				})
				controllertest.Watch(c, "default", func(e client.Event[*corev1.Pod]) {
					p := e.Object
					delete(ready, p.Name)
					if e.Type != client.Deleted && p.DeletionTimestamp == nil && isReady(p) {
						ready[p.Name] = true
					}
					if rolling {
						least = min(least, int32(len(ready)))
					}
				})
				c.Settle()
				require.Len(t, ready, int(v.replicas))
				rolling = true
				setImage(c, "app:2")
				wait(t, c)
				require.LessOrEqual(t, worst, v.most)
				require.GreaterOrEqual(t, least, v.least)
				if v.surge != "0" {
					require.Greater(t, worst, v.replicas, "the surge is used")
				}
			})
		})
	}
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func TestRecreateEndsAllBeforeItStartsOne(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(4, func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType }))
		wait(t, c)
		images := map[string]string{}
		mixed := false
		controllertest.Watch(c, "default", func(e client.Event[*corev1.Pod]) {
			phase := e.Object.Status.Phase
			// It has ended, though it may still be there.
			if e.Type == client.Deleted || phase == corev1.PodSucceeded || phase == corev1.PodFailed {
				delete(images, e.Object.Name)
			} else {
				images[e.Object.Name] = e.Object.Spec.Containers[0].Image
			}
			kinds := map[string]bool{}
			for _, i := range images {
				kinds[i] = true
			}
			mixed = mixed || len(kinds) > 1
		})
		setImage(c, "app:2")
		wait(t, c)
		require.False(t, mixed)
		for _, i := range images {
			require.Equal(t, "app:2", i)
		}
		require.Len(t, images, 4)
	})
}

func TestPausedDeploymentsScaleButDoNotRoll(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(2))
		wait(t, c)
		controllertest.Update(c, "default", "web", func(d *appsv1.Deployment) { d.Spec.Paused = true })
		setImage(c, "app:2")
		scale(c, 4)
		c.Sleep(time.Minute)
		require.Len(t, sets(c), 1)
		require.Equal(t, int32(4), *sets(c)["app:1"].Spec.Replicas)
		p := condition(get(c), appsv1.DeploymentProgressing)
		require.Equal(t, "DeploymentPaused", p.Reason)
		require.Equal(t, corev1.ConditionUnknown, p.Status)
		// The time paused does not count against the deadline.
		c.Sleep(time.Hour)
		controllertest.Update(c, "default", "web", func(d *appsv1.Deployment) { d.Spec.Paused = false })
		c.Settle()
		require.NotEqual(t, "ProgressDeadlineExceeded", condition(get(c), appsv1.DeploymentProgressing).Reason)
		wait(t, c)
		require.Equal(t, int32(4), *sets(c)["app:2"].Spec.Replicas)
		require.Equal(t, "NewReplicaSetAvailable", condition(get(c), appsv1.DeploymentProgressing).Reason)
	})
}

func TestDeadlineExceeded(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(2, func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(60)) }))
		wait(t, c)
		began := time.Now()
		controllertest.Update(c, "default", "web", func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations[fakenode.ReadyAfterAnnotation] = "1000h"
		})
		c.Sleep(50 * time.Second)
		require.Equal(t, "ReplicaSetUpdated", condition(get(c), appsv1.DeploymentProgressing).Reason)
		c.Sleep(15 * time.Second)
		p := condition(get(c), appsv1.DeploymentProgressing)
		require.Equal(t, "ProgressDeadlineExceeded", p.Reason)
		require.Equal(t, corev1.ConditionFalse, p.Status)
		require.Regexp(t, `^ReplicaSet "web-\w+" has timed out progressing.$`, p.Message)
		require.WithinDuration(t, began.Add(61*time.Second), p.LastTransitionTime.Time, 3*time.Second)
		// A good template fixes it.
		setImage(c, "app:3")
		controllertest.Update(c, "default", "web", func(d *appsv1.Deployment) { delete(d.Spec.Template.Annotations, fakenode.ReadyAfterAnnotation) })
		wait(t, c)
		require.Equal(t, "NewReplicaSetAvailable", condition(get(c), appsv1.DeploymentProgressing).Reason)
	})
}

func TestHistoryLimit(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(1, func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(2)) }))
		wait(t, c)
		for i := 2; i <= 6; i++ {
			setImage(c, "app:"+strconv.Itoa(i))
			wait(t, c)
		}
		c.Sleep(time.Minute)
		have := sets(c)
		require.Len(t, have, 3)
		for _, image := range []string{"app:4", "app:5", "app:6"} {
			require.Contains(t, have, image)
		}
	})
}

// A size changed in the middle of a rollout goes to the sets in proportion to what they have.
func TestProportionalScaling(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(10, bounds("3", "2")))
		wait(t, c)
		controllertest.Update(c, "default", "web", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Image = "app:2"
			d.Spec.Template.Annotations[fakenode.ReadyAfterAnnotation] = "1000h"
		})
		c.Sleep(10 * time.Second)
		require.Equal(t, int32(8), *sets(c)["app:1"].Spec.Replicas)
		require.Equal(t, int32(5), *sets(c)["app:2"].Spec.Replicas)
		scale(c, 15)
		c.Settle()
		// 15 + 3 pods are allowed; five more are shared 8 to 5.
		require.Equal(t, int32(11), *sets(c)["app:1"].Spec.Replicas)
		require.Equal(t, int32(7), *sets(c)["app:2"].Spec.Replicas)
		scale(c, 0)
		c.Settle()
		for image, rs := range sets(c) {
			require.Zero(t, *rs.Spec.Replicas, image)
			require.Equal(t, "3", rs.Annotations["deployment.kubernetes.io/max-replicas"], "the surge is allowed at any size")
		}
	})
}

func TestScaleUpAndDown(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(1))
		for _, n := range []int32{5, 2, 0, 3} {
			scale(c, n)
			wait(t, c)
			c.Sleep(5 * time.Second)
			require.Len(t, controllertest.List[*corev1.Pod](c, "default"), int(n))
			require.Len(t, sets(c), 1)
		}
	})
}

// Another object has the name the hash gives: the collision count makes another name.
func TestHashCollision(t *testing.T) {
	var taken string
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(1))
		c.Settle()
		taken = sets(c)["app:1"].Name
	})
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", taken)}
		rs.Spec.Replicas = new(int32(0))
		rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
		rs.Spec.Template.Labels = map[string]string{"app": "other"}
		rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "other"}}
		controllertest.Create(c, rs)
		controllertest.Create(c, web(1))
		wait(t, c)
		require.Equal(t, int32(1), *get(c).Status.CollisionCount)
		require.NotEqual(t, taken, sets(c)["app:1"].Name)
		require.Nil(t, metav1.ControllerOf(sets(c)["other"]))
	})
}

func TestAdoptionAndRelease(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(2))
		wait(t, c)
		rs := sets(c)["app:1"]
		controllertest.Delete[*appsv1.Deployment](c, "default", "web", client.DeleteOptions{PropagationPolicy: metav1.DeletePropagationOrphan})
		c.Settle()
		require.Nil(t, metav1.ControllerOf(sets(c)["app:1"]))
		d := controllertest.Create(c, web(2))
		wait(t, c)
		require.Equal(t, rs.UID, sets(c)["app:1"].UID)
		require.True(t, metav1.IsControlledBy(sets(c)["app:1"], d.UID))
		// A set that stops matching is let go, and another takes its place.
		controllertest.Update(c, "default", rs.Name, func(rs *appsv1.ReplicaSet) { rs.Labels = map[string]string{"app": "free"} })
		c.Settle()
		require.Nil(t, metav1.ControllerOf(controllertest.Get[*appsv1.ReplicaSet](c, "default", rs.Name)))
	})
}

func TestDeletedDeploymentsAreCollected(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(3))
		wait(t, c)
		controllertest.Delete[*appsv1.Deployment](c, "default", "web")
		c.Sleep(10 * time.Second)
		require.Empty(t, controllertest.List[*appsv1.ReplicaSet](c, "default"))
		require.Empty(t, controllertest.List[*corev1.Pod](c, "default"))
	})
}

// A quota that refuses pods shows in the conditions, and the rollout goes on when it is gone.
func TestReplicaFailure(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		hard := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
		controllertest.Create(c, &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", "small"), Spec: corev1.ResourceQuotaSpec{Hard: hard}})
		controllertest.UpdateStatus(c, "default", "small", func(q *corev1.ResourceQuota) {
			q.Status.Hard, q.Status.Used = hard, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
		})
		c.Settle()
		controllertest.Create(c, web(2))
		c.Sleep(time.Second)
		f := condition(get(c), appsv1.DeploymentReplicaFailure)
		require.NotNil(t, f)
		require.Equal(t, "FailedCreate", f.Reason)
		require.Contains(t, f.Message, "exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1")
		controllertest.Delete[*corev1.ResourceQuota](c, "default", "small")
		wait(t, c)
		require.Nil(t, condition(get(c), appsv1.DeploymentReplicaFailure))
	})
}

// In a namespace that is being deleted no set is created, which is not tried again and again.
func TestATerminatingNamespace(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "going")})
		controllertest.Create(c, web(1, func(d *appsv1.Deployment) { d.Namespace = "going" }))
		c.Settle()
		controllertest.Delete[*corev1.Namespace](c, "", "going") // nothing empties it here
		created := c.Record(controllertest.Requests{Verbs: []string{"create"}, Resource: "replicasets.apps"})
		controllertest.Delete[*appsv1.ReplicaSet](c, "going", controllertest.List[*appsv1.ReplicaSet](c, "going")[0].Name)
		c.Sleep(10 * time.Minute)
		require.NotEmpty(t, created.Calls())
		require.LessOrEqual(t, len(created.Calls()), 2)
		require.Empty(t, controllertest.List[*appsv1.ReplicaSet](c, "going"))
	})
}

// A reconcile that nothing asks for writes nothing.
func TestNoWritesAtRest(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(3))
		wait(t, c)
		c.Sleep(time.Minute)
		before := get(c).ResourceVersion + sets(c)["app:1"].ResourceVersion
		_, err := client.For[*corev1.ConfigMap](c.Admin()).Create(context.Background(), &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "x")})
		require.NoError(t, err)
		c.Sleep(time.Hour)
		require.Equal(t, before, get(c).ResourceVersion+sets(c)["app:1"].ResourceVersion)
	})
}

// The revision is part of the status: writing it does not change the generation of a new Deployment.
func TestRevisionsAreNoGenerations(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(3))
		wait(t, c)
		require.Equal(t, "1", get(c).Annotations["deployment.kubernetes.io/revision"])
		require.EqualValues(t, 1, get(c).Generation)
		setImage(c, "v2")
		wait(t, c)
		require.Equal(t, "2", get(c).Annotations["deployment.kubernetes.io/revision"])
		require.EqualValues(t, 2, get(c).Generation)
	})
}

// A set whose size is right and that was scaled for another size, as by a user's hand, does not stop the
// rollout.
func TestASetScaledByHandIsNotInTheWay(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, web(3))
		wait(t, c)
		for _, rs := range sets(c) {
			controllertest.Update(c, "default", rs.Name, func(rs *appsv1.ReplicaSet) { rs.Annotations["deployment.kubernetes.io/desired-replicas"] = "5" })
		}
		setImage(c, "v2")
		wait(t, c)
		d := get(c)
		require.EqualValues(t, 3, d.Status.UpdatedReplicas)
		require.EqualValues(t, 3, d.Status.AvailableReplicas)
	})
}

func TestTheListOfRevisionsIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		const history = "deployment.kubernetes.io/revision-history"
		first := controllertest.Create(c, web(1))
		image := first.Spec.Template.Spec.Containers[0].Image
		wait(t, c)
		controllertest.Update(c, "default", sets(c)[image].Name, func(rs *appsv1.ReplicaSet) { rs.Annotations[history] = strings.Repeat("1,", 997) + "77,78" })
		setImage(c, "v2")
		wait(t, c)
		setImage(c, image)
		wait(t, c)
		list := sets(c)[image].Annotations[history]
		require.LessOrEqual(t, len(list), 2000)
		require.True(t, strings.HasSuffix(list, ",77,78,1"), list)
		require.Equal(t, "3", sets(c)[image].Annotations["deployment.kubernetes.io/revision"])
	})
}
