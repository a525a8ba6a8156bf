package fakestorage_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/builtin"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/fakestorage"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// start starts a cluster with nodes, a scheduler, the controllers of storage and of StatefulSets, and the
// driver, which the class "fake" names.
func start(t testing.TB) *controllertest.Cluster {
	c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
		func(m *manager.Manager) error {
			return builtin.Add(m, builtin.Options{Controllers: []string{"statefulset", "node-lifecycle", "persistentvolume-binder", "persistentvolume-attach-detach",
				"persistentvolume-protection", "persistentvolumeclaim-protection"}})
		},
		func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{Count: 2}) },
		func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
		func(m *manager.Manager) error { return fakestorage.Add(m, fakestorage.Options{}) },
	}})
	controllertest.Create(c, &storagev1.StorageClass{ObjectMeta: controllertest.Name("", "fake"), Provisioner: fakestorage.Driver})
	return c
}

func claimSpec(class string) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}
}

// A StatefulSet with a claim for each pod runs without hardware.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t)
		set := &appsv1.StatefulSet{ObjectMeta: controllertest.Name("default", "db")}
		set.Spec.Replicas, set.Spec.Template.Labels = new(int32(3)), map[string]string{"app": "db"}
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: set.Spec.Template.Labels}
		set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "db:1", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}}
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec("fake")}}
		controllertest.Create(c, set)
		c.Sleep(time.Minute)
		fmt.Println("ready pods:", controllertest.Get[*appsv1.StatefulSet](c, "default", "db").Status.ReadyReplicas)
		bound := 0
		for _, v := range controllertest.List[*corev1.PersistentVolume](c, "") {
			if v.Status.Phase == corev1.VolumeBound {
				bound++
			}
		}
		fmt.Println("bound volumes:", bound)
		attached := 0
		for _, a := range controllertest.List[*storagev1.VolumeAttachment](c, "") {
			if a.Status.Attached {
				attached++
			}
		}
		fmt.Println("attached volumes:", attached)
	})
	// Output:
	// ready pods: 3
	// bound volumes: 3
	// attached volumes: 3
}

// A volume goes with its claim, or stays, as its class says.
func TestReclaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		kept := corev1.PersistentVolumeReclaimRetain
		controllertest.Create(c, &storagev1.StorageClass{ObjectMeta: controllertest.Name("", "kept"), Provisioner: fakestorage.Driver, ReclaimPolicy: &kept})
		for _, class := range []string{"fake", "kept"} {
			controllertest.Create(c, &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "on-"+class), Spec: claimSpec(class)})
		}
		c.Settle()
		require.Len(t, controllertest.List[*corev1.PersistentVolume](c, ""), 2)
		for _, class := range []string{"fake", "kept"} {
			require.Equal(t, corev1.ClaimBound, controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "on-"+class).Status.Phase)
			controllertest.Delete[*corev1.PersistentVolumeClaim](c, "default", "on-"+class)
		}
		c.Settle()
		left := controllertest.List[*corev1.PersistentVolume](c, "")
		require.Len(t, left, 1)
		require.Equal(t, "kept", left[0].Spec.StorageClassName)
		require.Equal(t, corev1.VolumeReleased, left[0].Status.Phase)
	})
}

// A claim that names the driver before the driver has its class gets its volume when the class is there.
func TestClassAfterClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return fakestorage.Add(m, fakestorage.Options{}) },
		}})
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "early"), Spec: claimSpec("late")}
		claim.Annotations = map[string]string{volumematch.Provisioner: fakestorage.Driver}
		controllertest.Create(c, claim)
		c.Settle()
		require.Empty(t, controllertest.List[*corev1.PersistentVolume](c, ""))
		controllertest.Create(c, &storagev1.StorageClass{ObjectMeta: controllertest.Name("", "late"), Provisioner: fakestorage.Driver})
		c.Settle()
		require.Len(t, controllertest.List[*corev1.PersistentVolume](c, ""), 1)
	})
}

// A local volume is on the node that the scheduler has selected, and there is none without one. A claim with
// a selector is refused.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		mode := storagev1.VolumeBindingWaitForFirstConsumer
		local := map[string]string{fakestorage.LocalParameter: "true"}
		controllertest.Create(c, &storagev1.StorageClass{ObjectMeta: controllertest.Name("", "local"), Provisioner: fakestorage.Driver, Parameters: local, VolumeBindingMode: &mode})
		controllertest.Create(c, &storagev1.StorageClass{ObjectMeta: controllertest.Name("", "wrong"), Provisioner: fakestorage.Driver, Parameters: local})
		c.Settle() // the driver has seen the classes: a claim of an unseen one is reported and tried again
		on := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "local"), Spec: claimSpec("local")}
		on.Annotations = map[string]string{volumematch.SelectedNode: "node-1"}
		controllertest.Create(c, on)
		controllertest.Create(c, &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "wrong"), Spec: claimSpec("wrong")})
		picky := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "picky"), Spec: claimSpec("fake")}
		picky.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		controllertest.Create(c, picky)
		c.Settle()
		all := controllertest.List[*corev1.PersistentVolume](c, "")
		require.Len(t, all, 1)
		require.Equal(t, []string{"node-1"}, all[0].Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values)
		problems := map[string]string{}
		for _, e := range controllertest.List[*corev1.Event](c, "default") {
			if e.Reason == "ProvisioningFailed" {
				problems[e.InvolvedObject.Name] = e.Message
			}
		}
		require.Equal(t, "claim Selector is not supported", problems["picky"])
		require.Contains(t, problems["wrong"], "local volumes need a node")
	})
}
