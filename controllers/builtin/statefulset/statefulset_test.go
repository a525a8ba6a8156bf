package statefulset_test

import (
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
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/builtin/statefulset"
	"github.com/keelson-dev/keelson/controllers/builtin/volumebinder"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/fakestorage"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

func add(m *manager.Manager) error { return statefulset.Add(m, statefulset.Options{}) }

// account is the user as which the controller runs in a cluster.
var account = client.User{Name: "system:serviceaccount:kube-system:statefulset-controller"}

// start starts a cluster whose controller has only its own rights.
func start(t *testing.T) *controllertest.Cluster {
	c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
		func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
		func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{}) },
		func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
		func(m *manager.Manager) error { return garbagecollector.Add(m, garbagecollector.Options{}) },
		func(m *manager.Manager) error { return volumebinder.Add(m, volumebinder.Options{}) },
		func(m *manager.Manager) error { return fakestorage.Add(m, fakestorage.Options{}) },
	}})
	controllertest.Create(c, &storagev1.StorageClass{ObjectMeta: controllertest.Name("", "fake"), Provisioner: fakestorage.Driver})
	c.Run(c.ManagerOver(c.Conn(account), "statefulset", add))
	return c
}

func bubble(t *testing.T, f func(t *testing.T, c *controllertest.Cluster)) {
	synctest.Test(t, func(t *testing.T) { f(t, start(t)) })
}

// db is a StatefulSet whose pods take three seconds to become ready and two to end.
func db(replicas int32, edit ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	s := &appsv1.StatefulSet{ObjectMeta: controllertest.Name("default", "db")}
	s.Spec.Replicas, s.Spec.ServiceName = &replicas, "peers"
	s.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	s.Spec.Template.Labels = map[string]string{"app": "db"}
	s.Spec.Template.Annotations = map[string]string{fakenode.ReadyAfterAnnotation: "3s", fakenode.StopAfterAnnotation: "2s"}
	s.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "db:1"}}
	for _, e := range edit {
		e(s)
	}
	return s
}

func parallel(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }

// rolling sets a rolling update with a partition and, unless empty, how many pods may be missing.
func rolling(partition int32, unavailable string) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		u := &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}
		if unavailable != "" {
			u.MaxUnavailable = new(intstr.Parse(unavailable))
		}
		s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: u}
	}
}

// claims makes a set with a claim per pod.
func claims(deleted, scaled appsv1.PersistentVolumeClaimRetentionPolicyType) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.StorageClassName = new("fake") // the scheduler waits for volumes
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
		s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: deleted, WhenScaled: scaled}
	}
}

func get(c *controllertest.Cluster) *appsv1.StatefulSet {
	return controllertest.Get[*appsv1.StatefulSet](c, "default", "db")
}

func edit(c *controllertest.Cluster, f func(*appsv1.StatefulSet)) {
	controllertest.Update(c, "default", "db", f)
}

func scale(c *controllertest.Cluster, n int32) {
	edit(c, func(s *appsv1.StatefulSet) { s.Spec.Replicas = &n })
}

func setImage(c *controllertest.Cluster, image string) {
	edit(c, func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = image })
}

// images returns the pods by name with their images.
func images(c *controllertest.Cluster) map[string]string {
	out := map[string]string{}
	for _, p := range controllertest.List[*corev1.Pod](c, "default") {
		out[p.Name] = p.Spec.Containers[0].Image
	}
	return out
}

func isReady(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// record returns what happens to the pods from now on: +name created, name ready, ~name deletion begins, and
// -name removed.
func record(c *controllertest.Cluster) *[]string {
	var out []string
	seen := map[string]string{}
	controllertest.Watch(c, "default", func(e client.Event[*corev1.Pod]) {
		p := e.Object
		now := "+"
		switch {
		case e.Type == client.Deleted:
			now = "-"
		case p.DeletionTimestamp != nil:
			now = "~"
		case isReady(p):
			now = ""
		case seen[p.Name] == "": // ready, or not any more
			if _, known := seen[p.Name]; known {
				return
			}
		}
		if was, known := seen[p.Name]; !known || was != now {
			out = append(out, now+p.Name)
			seen[p.Name] = now
		}
		if now == "-" {
			delete(seen, p.Name)
		}
	})
	return &out
}

func TestOrder(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		log := record(c)
		set := controllertest.Create(c, db(3))
		c.Sleep(time.Minute)
		require.Equal(t, []string{"+db-0", "db-0", "+db-1", "db-1", "+db-2", "db-2"}, *log)
		p := controllertest.Get[*corev1.Pod](c, "default", "db-1")
		s := get(c)
		require.Equal(t, map[string]string{"app": "db", "statefulset.kubernetes.io/pod-name": "db-1", "apps.kubernetes.io/pod-index": "1",
			"controller-revision-hash": s.Status.CurrentRevision}, p.Labels)
		require.Equal(t, "db-1", p.Spec.Hostname)
		require.Equal(t, "peers", p.Spec.Subdomain)
		require.Equal(t, "db-", p.GenerateName)
		require.Equal(t, set.UID, metav1.ControllerOf(p).UID)
		require.Equal(t, appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 3, ReadyReplicas: 3, AvailableReplicas: 3, CurrentReplicas: 3,
			UpdatedReplicas: 3, CurrentRevision: s.Status.UpdateRevision, UpdateRevision: s.Status.UpdateRevision, CollisionCount: new(int32(0))}, s.Status)

		*log = nil
		setImage(c, "db:2")
		c.Sleep(time.Minute)
		require.Equal(t, []string{"~db-2", "-db-2", "+db-2", "db-2", "~db-1", "-db-1", "+db-1", "db-1", "~db-0", "-db-0", "+db-0", "db-0"}, *log)
		require.NotEqual(t, s.Status.CurrentRevision, get(c).Status.CurrentRevision)
		require.Equal(t, get(c).Status.UpdateRevision, get(c).Status.CurrentRevision)

		*log = nil
		scale(c, 1)
		c.Sleep(time.Minute)
		require.Equal(t, []string{"~db-2", "-db-2", "~db-1", "-db-1"}, *log)
		var events []string
		for _, e := range controllertest.List[*corev1.Event](c, "default") {
			if e.InvolvedObject.Kind == "StatefulSet" {
				events = append(events, e.Reason+": "+e.Message)
			}
		}
		require.Contains(t, events, "SuccessfulCreate: Create Pod db-0 in StatefulSet db successful")
		require.Contains(t, events, "SuccessfulDelete: Delete Pod db-1 in StatefulSet db successful")
	})
}

// A pod that is not ready holds up those after it, and one that ends is replaced under its name.
func TestOrderWaits(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, db(3, func(s *appsv1.StatefulSet) { s.Spec.Template.Annotations[fakenode.ReadyAfterAnnotation] = "10m" }))
		c.Sleep(9 * time.Minute)
		require.Len(t, images(c), 1)
		c.Sleep(31 * time.Minute)
		require.Len(t, images(c), 3)
		old := controllertest.Get[*corev1.Pod](c, "default", "db-1").UID
		controllertest.UpdateStatus(c, "default", "db-1", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
		c.Sleep(time.Minute)
		require.NotEqual(t, old, controllertest.Get[*corev1.Pod](c, "default", "db-1").UID)
	})
}

func TestMinReadySeconds(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, db(2, func(s *appsv1.StatefulSet) { s.Spec.MinReadySeconds = 60 }))
		c.Sleep(62 * time.Second)
		require.Len(t, images(c), 1)
		require.EqualValues(t, 1, get(c).Status.ReadyReplicas)
		require.Zero(t, get(c).Status.AvailableReplicas)
		c.Sleep(2 * time.Second)
		require.Len(t, images(c), 2)
		c.Sleep(2 * time.Minute)
		require.EqualValues(t, 2, get(c).Status.AvailableReplicas)
	})
}

func TestParallel(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, db(5, parallel, rolling(1, "40%")))
		c.Settle()
		require.Len(t, images(c), 5)
		c.Sleep(10 * time.Second)
		fewest := 5
		ready := map[string]bool{}
		controllertest.Watch(c, "default", func(e client.Event[*corev1.Pod]) {
			delete(ready, e.Object.Name)
			if e.Type != client.Deleted && isReady(e.Object) {
				ready[e.Object.Name] = true
			}
			if len(ready) < fewest && len(ready) > 0 {
				fewest = len(ready)
			}
		})
		fewest = 5
		setImage(c, "db:2")
		c.Sleep(time.Minute)
		require.Equal(t, map[string]string{"db-0": "db:1", "db-1": "db:2", "db-2": "db:2", "db-3": "db:2", "db-4": "db:2"}, images(c))
		require.Equal(t, 3, fewest, "two at a time")
		s := get(c).Status
		require.NotEqual(t, s.CurrentRevision, s.UpdateRevision)
		require.EqualValues(t, 1, s.CurrentReplicas)
		require.EqualValues(t, 4, s.UpdatedReplicas)
		// A pod below the partition that is lost comes back as it was.
		controllertest.Delete[*corev1.Pod](c, "default", "db-0")
		c.Sleep(time.Minute)
		require.Equal(t, "db:1", images(c)["db-0"])
		scale(c, 0)
		c.Settle()
		for _, p := range controllertest.List[*corev1.Pod](c, "default") {
			require.NotNil(t, p.DeletionTimestamp, "all at once")
		}
		c.Sleep(time.Minute)
		require.Empty(t, images(c))
		require.Zero(t, get(c).Status.Replicas)
	})
}

// Pods that the old template breaks do not hold up the update that repairs them.
func TestBrokenPodsAreUpdated(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, db(4, parallel, func(s *appsv1.StatefulSet) { s.Spec.Template.Annotations[fakenode.ReadyAfterAnnotation] = "1000h" }))
		c.Sleep(time.Minute)
		edit(c, func(s *appsv1.StatefulSet) { s.Spec.Template.Annotations[fakenode.ReadyAfterAnnotation] = "1s" })
		c.Sleep(time.Minute)
		require.EqualValues(t, 4, get(c).Status.AvailableReplicas)
	})
}

func TestOnDelete(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, db(2, func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		}))
		c.Sleep(time.Minute)
		setImage(c, "db:2")
		c.Sleep(time.Minute)
		require.Equal(t, map[string]string{"db-0": "db:1", "db-1": "db:1"}, images(c))
		controllertest.Delete[*corev1.Pod](c, "default", "db-0")
		c.Sleep(time.Minute)
		require.Equal(t, map[string]string{"db-0": "db:2", "db-1": "db:1"}, images(c))
	})
}

func TestOrdinals(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, db(2, func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5} }, rolling(1, "")))
		c.Sleep(time.Minute)
		require.Equal(t, map[string]string{"db-5": "db:1", "db-6": "db:1"}, images(c))
		setImage(c, "db:2")
		c.Sleep(time.Minute)
		require.Equal(t, map[string]string{"db-5": "db:1", "db-6": "db:2"}, images(c))
		edit(c, func(s *appsv1.StatefulSet) { s.Spec.Ordinals.Start = 6 })
		c.Sleep(time.Minute)
		require.Equal(t, map[string]string{"db-6": "db:2", "db-7": "db:2"}, images(c), "no pod goes back to the old template")
		setImage(c, "db:3")
		c.Sleep(time.Minute)
		require.Equal(t, map[string]string{"db-6": "db:2", "db-7": "db:3"}, images(c), "the partition counts from the start")
	})
}

func TestHistoryAndUndo(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, db(1, func(s *appsv1.StatefulSet) { s.Spec.RevisionHistoryLimit = new(int32(2)) }))
		for i := 2; i <= 5; i++ {
			c.Sleep(time.Minute)
			setImage(c, "db:"+strconv.Itoa(i))
		}
		c.Sleep(time.Minute)
		list := controllertest.List[*appsv1.ControllerRevision](c, "default")
		require.Len(t, list, 3, "the limit and the one in use")
		slices.SortFunc(list, func(a, b *appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
		require.EqualValues(t, []int64{3, 4, 5}, []int64{list[0].Revision, list[1].Revision, list[2].Revision})
		require.Equal(t, list[2].Name, get(c).Status.CurrentRevision)
		require.Contains(t, string(list[0].Data.Raw), `{"spec":{"template":{"$patch":"replace","metadata":{`)
		require.NotEmpty(t, list[0].Labels["controller.kubernetes.io/hash"])
		setImage(c, "db:4")
		c.Sleep(time.Minute)
		require.Len(t, controllertest.List[*appsv1.ControllerRevision](c, "default"), 3)
		undone := controllertest.Get[*appsv1.ControllerRevision](c, "default", list[1].Name)
		require.EqualValues(t, 6, undone.Revision)
		require.Equal(t, undone.Name, get(c).Status.CurrentRevision)
	})
}

// owner describes the controller of a claim.
func owner(c *controllertest.Cluster, claim string) string {
	ref := metav1.ControllerOf(controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", claim))
	if ref == nil {
		return ""
	}
	return ref.Kind + " " + ref.Name
}

// What becomes of the claims when the set shrinks or is deleted.
func TestClaims(t *testing.T) {
	const retain, remove = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	for _, k := range []struct {
		deleted, scaled         appsv1.PersistentVolumeClaimRetentionPolicyType
		owner                   string
		afterScale, afterDelete int
	}{
		{retain, retain, "", 3, 3},
		{remove, retain, "StatefulSet db", 3, 0},
		{retain, remove, "", 1, 1},
		{remove, remove, "StatefulSet db", 1, 0},
	} {
		t.Run(string(k.deleted+k.scaled), func(t *testing.T) {
			bubble(t, func(t *testing.T, c *controllertest.Cluster) {
				controllertest.Create(c, db(3, claims(k.deleted, k.scaled), parallel))
				c.Sleep(time.Minute)
				p := controllertest.Get[*corev1.Pod](c, "default", "db-2")
				require.Equal(t, "data-db-2", p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
				require.Equal(t, map[string]string{"app": "db"}, controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "data-db-2").Labels)
				require.Equal(t, k.owner, owner(c, "data-db-0"))
				left := func() int {
					n := 0
					for _, claim := range controllertest.List[*corev1.PersistentVolumeClaim](c, "default") {
						if claim.DeletionTimestamp == nil {
							n++
						}
					}
					return n
				}
				scale(c, 1)
				c.Sleep(time.Minute)
				require.Equal(t, k.afterScale, left())
				controllertest.Delete[*appsv1.StatefulSet](c, "default", "db", client.DeleteOptions{PropagationPolicy: metav1.DeletePropagationForeground})
				c.Sleep(time.Minute)
				require.Equal(t, k.afterDelete, left())
			})
		})
	}
}

// A set that grows again while the claims of its previous pods are being deleted waits for new ones.
func TestStaleClaims(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Create(c, db(2, claims("Retain", "Delete")))
		c.Sleep(time.Minute)
		controllertest.Update(c, "default", "data-db-1", func(p *corev1.PersistentVolumeClaim) { p.Finalizers = []string{"a.test/hold"} })
		scale(c, 1)
		c.Sleep(time.Minute)
		scale(c, 2)
		c.Sleep(time.Minute)
		require.Len(t, images(c), 1)
		controllertest.Update(c, "default", "data-db-1", func(p *corev1.PersistentVolumeClaim) { p.Finalizers = nil })
		c.Sleep(time.Minute)
		require.Len(t, images(c), 2)
		require.Empty(t, owner(c, "data-db-1"))
	})
}

// A claim that something else controls is left to that, which an event says when the pod is created and when
// a reference to the set is removed, not in every reconcile.
func TestConflictingClaims(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		boss := controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "boss")})
		set := db(1, claims("Delete", "Delete"))
		claim := codec.DeepCopy(&set.Spec.VolumeClaimTemplates[0])
		claim.Namespace, claim.Name = "default", "data-db-0"
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "boss", UID: boss.UID, Controller: new(true)}}
		controllertest.Create(c, claim)
		c.Settle() // claims may be seen after sets
		set = controllertest.Create(c, set)
		c.Sleep(time.Minute)
		said := func(reason string) (n int32) {
			for _, e := range controllertest.List[*corev1.Event](c, "default") {
				if e.InvolvedObject.Name == "db" && e.Reason == reason {
					n += e.Count
				}
			}
			return n
		}
		atFirst := said("ConflictingController")
		require.Positive(t, atFirst)
		require.Equal(t, "ConfigMap boss", owner(c, "data-db-0"))
		edit(c, func(s *appsv1.StatefulSet) { s.Annotations = map[string]string{"a": "b"} })
		c.Sleep(time.Minute)
		require.Equal(t, atFirst, said("ConflictingController"))
		require.Zero(t, said("SuccessfulUpdate"))

		controllertest.Update(c, "default", "data-db-0", func(p *corev1.PersistentVolumeClaim) {
			p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: set.UID})
		})
		c.Settle()
		edit(c, func(s *appsv1.StatefulSet) { s.Annotations = nil })
		c.Sleep(time.Minute)
		require.Equal(t, "ConfigMap boss", owner(c, "data-db-0"))
		require.Equal(t, atFirst+1, said("ConflictingController"))
		require.EqualValues(t, 1, said("SuccessfulUpdate"))
	})
}

// Pods without a controller are adopted if they have a name of the set, and get its labels.
func TestAdoption(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		for _, name := range []string{"db-1", "db-x", "other-0", "db-01"} {
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name), Spec: db(1).Spec.Template.Spec}
			p.Labels = map[string]string{"app": "db"}
			controllertest.Create(c, p)
		}
		set := controllertest.Create(c, db(2, func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType }))
		c.Sleep(time.Minute)
		adopted := controllertest.Get[*corev1.Pod](c, "default", "db-1")
		require.True(t, metav1.IsControlledBy(adopted, set.UID))
		require.Equal(t, "db-1", adopted.Labels["statefulset.kubernetes.io/pod-name"])
		for _, name := range []string{"db-x", "other-0", "db-01"} {
			require.Nil(t, metav1.ControllerOf(controllertest.Get[*corev1.Pod](c, "default", name)), name)
		}
		require.EqualValues(t, 2, get(c).Status.Replicas)
	})
}

// A refusal by a quota is an event and is tried again.
func TestQuota(t *testing.T) {
	bubble(t, func(t *testing.T, c *controllertest.Cluster) {
		hard := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
		controllertest.Create(c, &corev1.ResourceQuota{ObjectMeta: controllertest.Name("default", "q"), Spec: corev1.ResourceQuotaSpec{Hard: hard}})
		controllertest.UpdateStatus(c, "default", "q", func(q *corev1.ResourceQuota) { q.Status.Hard, q.Status.Used = hard, hard })
		controllertest.Create(c, db(2))
		c.Sleep(10 * time.Second)
		require.True(t, slices.ContainsFunc(controllertest.List[*corev1.Event](c, "default"), func(e *corev1.Event) bool {
			return e.Reason == "FailedCreate" && strings.HasPrefix(e.Message, `Create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: exceeded quota`)
		}))
		controllertest.Delete[*corev1.ResourceQuota](c, "default", "q")
		c.Sleep(20 * time.Minute)
		require.EqualValues(t, 2, get(c).Status.ReadyReplicas)
	})
}

// Random changes: no two pods of one name, in order none before its predecessors are ready, and at rest the
// pods are those that the numbers say.
func TestHistories(t *testing.T) {
	for _, seed := range seeds.Slow(t, 4) {
		bubble(t, func(t *testing.T, c *controllertest.Cluster) {
			r := seeds.Rand(seed)
			ordered := r.IntN(2) == 0
			ready := map[string]bool{}
			var size int32 = 3
			controllertest.Watch(c, "default", func(e client.Event[*corev1.Pod]) {
				name := e.Object.Name
				_, known := ready[name]
				if e.Type == client.Deleted {
					delete(ready, name)
					return
				}
				if !known && ordered {
					n, err := strconv.Atoi(name[len("db-"):])
					require.NoError(t, err)
					for i := range n {
						require.True(t, ready[fmt.Sprint("db-", i)], "seed %d: %s was created before db-%d was ready", seed, name, i)
					}
				}
				ready[name] = isReady(e.Object)
			})
			var edits []func(*appsv1.StatefulSet)
			if !ordered {
				edits = append(edits, parallel)
			}
			controllertest.Create(c, db(size, append(edits, rolling(0, ""))...))
			image, partition := 1, int32(0)
			for range 12 {
				switch r.IntN(4) {
				case 0:
					size = int32(r.IntN(5))
					scale(c, size)
				case 1:
					image++
					setImage(c, fmt.Sprint("db:", image))
				case 2:
					partition = int32(r.IntN(3))
					edit(c, rolling(partition, fmt.Sprint(1+r.IntN(3))))
				default:
					if all := controllertest.List[*corev1.Pod](c, "default"); len(all) > 0 {
						controllertest.Delete[*corev1.Pod](c, "default", all[r.IntN(len(all))].Name)
					}
				}
				c.Sleep(time.Duration(r.IntN(10)) * time.Second)
			}
			c.Sleep(3 * time.Minute)
			got := images(c)
			require.Len(t, got, int(size), "seed %d", seed)
			for i := range int(size) {
				name := fmt.Sprint("db-", i)
				require.Contains(t, got, name, "seed %d", seed)
				if i >= int(partition) {
					require.Equal(t, fmt.Sprint("db:", image), got[name], "seed %d", seed)
				}
			}
			s := get(c).Status
			require.Equal(t, [4]int32{size, size, size}, [4]int32{s.Replicas, s.ReadyReplicas, s.AvailableReplicas}, "seed %d", seed)
		})
	}
}
