package volumebinder_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/volumebinder"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// start starts a cluster in which claims and volumes are not protected from deletion.
func start(t testing.TB) *controllertest.Cluster {
	return controllertest.Start(t, controllertest.Options{DisableAdmission: []string{"StorageObjectInUseProtection"},
		As: client.User{Name: "system:serviceaccount:kube-system:persistent-volume-binder", Groups: []string{"system:serviceaccounts", "system:authenticated"}},
		Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			return volumebinder.Add(m, volumebinder.Options{})
		}}})
}

func gigabytes(n int) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.NewQuantity(int64(n)<<30, resource.BinarySI)}
}

func size(l corev1.ResourceList) string {
	q := l[corev1.ResourceStorage]
	return q.String()
}

func volume(name, class string, size int, edit ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: controllertest.Name("", name)}
	v.Spec.Capacity, v.Spec.StorageClassName = gigabytes(size), class
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	v.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/data"}
	for _, f := range edit {
		f(v)
	}
	return v
}

func claim(name string, class *string, size int, edit ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", name)}
	c.Spec.Resources.Requests, c.Spec.StorageClassName = gigabytes(size), class
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	for _, f := range edit {
		f(c)
	}
	return c
}

func class(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: controllertest.Name("", name), Provisioner: provisioner, VolumeBindingMode: &mode}
}

// text describes a claim: its phase and its volume.
func text(c *controllertest.Cluster, name string) string {
	pvc := controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", name)
	return strings.TrimSpace(string(pvc.Status.Phase) + " " + pvc.Spec.VolumeName)
}

// volumeText describes a volume: its phase and its claim.
func volumeText(c *controllertest.Cluster, name string) string {
	v := controllertest.Get[*corev1.PersistentVolume](c, "", name)
	out := string(v.Status.Phase)
	if v.Spec.ClaimRef != nil {
		out += " " + v.Spec.ClaimRef.Name
	}
	return out
}

// reasons are the reasons of the events about an object, in order.
func reasons(c *controllertest.Cluster, name string) (out []string) {
	c.Settle()
	for _, e := range controllertest.List[*corev1.Event](c, "default") {
		if e.InvolvedObject.Name == name {
			out = append(out, e.Reason)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A claim gets the smallest volume that is large enough.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t)
		for _, size := range []int{20, 10, 5} {
			controllertest.Create(c, volume(fmt.Sprint("disk-", size), "", size))
		}
		c.Settle() // the binder knows all volumes before there is a claim
		controllertest.Create(c, claim("data", new(""), 8))
		c.Settle()
		fmt.Println(text(c, "data"))
		fmt.Println(volumeText(c, "disk-10"))
	})
	// Output:
	// Bound disk-10
	// Bound data
}

// A claim that becomes bound to a volume whose file system is to grow yet shows what that has.
func TestBindingDuringAnExpansion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		controllertest.Create(c, volume("grown", "", 9, func(v *corev1.PersistentVolume) {
			v.Annotations = map[string]string{volumematch.PreResize: "5Gi"}
		}))
		controllertest.Create(c, claim("data", new(""), 8))
		c.Settle()
		require.Equal(t, "Bound grown", text(c, "data"))
		require.Equal(t, "5Gi", size(controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "data").Status.Capacity))
	})
}

func TestBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		controllertest.Create(c, claim("data", new(""), 8))
		c.Settle()
		require.Equal(t, "Pending", text(c, "data"))
		require.Equal(t, []string{"FailedBinding"}, reasons(c, "data"))
		controllertest.Create(c, volume("small", "", 1))
		controllertest.Create(c, volume("right", "", 9))
		c.Settle()
		require.Equal(t, "Bound right", text(c, "data"))
		require.Equal(t, "Available", volumeText(c, "small"))
		pvc := controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "data")
		require.Equal(t, "9Gi", size(pvc.Status.Capacity))
		require.Equal(t, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, pvc.Status.AccessModes)
		require.Equal(t, map[string]string{volumematch.BindCompleted: "yes", volumematch.BoundByController: "yes"}, pvc.Annotations)
		v := controllertest.Get[*corev1.PersistentVolume](c, "", "right")
		require.Equal(t, pvc.UID, v.Spec.ClaimRef.UID)
		require.Equal(t, map[string]string{volumematch.BoundByController: "yes"}, v.Annotations)
		// A lost volume loses the claim, and another of the name does not serve it.
		controllertest.Delete[*corev1.PersistentVolume](c, "", "right")
		c.Settle()
		require.Equal(t, "Lost right", text(c, "data"))
		require.Contains(t, reasons(c, "data"), "ClaimLost")
	})
}

// Users may name the volume in the claim, or the claim in the volume.
func TestReservations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		named := func(name string) func(*corev1.PersistentVolumeClaim) {
			return func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = name }
		}
		for name, v := range map[string]*corev1.PersistentVolumeClaim{
			"early": claim("early", new(""), 1, named("later")), "big": claim("big", new(""), 50, named("small")),
			"first": claim("first", new(""), 1, named("popular")),
		} {
			require.Equal(t, name, controllertest.Create(c, v).Name)
		}
		controllertest.Create(c, volume("small", "", 1))
		controllertest.Create(c, volume("popular", "", 1))
		c.Settle()
		require.Equal(t, "Pending later", text(c, "early"))
		require.Equal(t, "Pending small", text(c, "big"))
		require.Equal(t, []string{"VolumeMismatch"}, reasons(c, "big"))
		require.Equal(t, "Bound popular", text(c, "first"))
		require.NotContains(t, controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "first").Annotations, volumematch.BoundByController)
		controllertest.Create(c, claim("second", new(""), 1, named("popular")))
		controllertest.Create(c, volume("later", "", 1))
		c.Settle()
		require.Equal(t, "Bound later", text(c, "early"))
		require.Equal(t, "Pending popular", text(c, "second"))
		require.Equal(t, []string{"FailedBinding"}, reasons(c, "second"))
		// A volume that waits for a claim by name keeps its reservation when that is bound elsewhere.
		controllertest.Create(c, volume("reserved", "other", 9, func(v *corev1.PersistentVolume) {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "mine"}
		}))
		controllertest.Create(c, volume("free", "", 5))
		c.Settle()
		require.Equal(t, "Available mine", volumeText(c, "reserved"))
		controllertest.Create(c, claim("mine", new(""), 5))
		c.Settle()
		require.Equal(t, "Bound reserved", text(c, "mine"))
		require.NotContains(t, controllertest.Get[*corev1.PersistentVolume](c, "", "reserved").Annotations, volumematch.BoundByController)
	})
}

func TestReclaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		for name, edit := range map[string]func(*corev1.PersistentVolume){
			"retain": func(v *corev1.PersistentVolume) {},
			"recycle": func(v *corev1.PersistentVolume) {
				v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRecycle
			},
			"delete": func(v *corev1.PersistentVolume) {
				v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
			},
			"made": func(v *corev1.PersistentVolume) {
				v.Annotations = map[string]string{volumematch.ProvisionedBy: "example.com/disks"}
				v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
			},
		} {
			controllertest.Create(c, volume(name, "of-"+name, 1, edit))
			controllertest.Create(c, claim("on-"+name, new("of-"+name), 1))
		}
		c.Settle()
		for _, name := range []string{"retain", "recycle", "delete", "made"} {
			require.Equal(t, "Bound "+name, text(c, "on-"+name))
			controllertest.Delete[*corev1.PersistentVolumeClaim](c, "default", "on-"+name)
		}
		c.Settle()
		require.Equal(t, "Released on-retain", volumeText(c, "retain"))
		require.Equal(t, "Released on-made", volumeText(c, "made"), "its provisioner deletes it")
		require.Equal(t, "Failed on-delete", volumeText(c, "delete"))
		require.Equal(t, "Failed on-recycle", volumeText(c, "recycle"))
		require.Equal(t, []string{"VolumeFailedDelete"}, reasons(c, "delete"))
		require.Equal(t, "No recycler plugin found for the volume!", controllertest.Get[*corev1.PersistentVolume](c, "", "recycle").Status.Message)
		// A new claim of the name does not get what another left; a volume without its reference is free.
		controllertest.Create(c, claim("on-retain", new("of-retain"), 1))
		c.Settle()
		require.Equal(t, "Pending", text(c, "on-retain"))
		controllertest.Update(c, "", "retain", func(v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil })
		c.Settle()
		require.Equal(t, "Bound retain", text(c, "on-retain"))
	})
}

func TestWaitForFirstConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		controllertest.Create(c, class("local", "kubernetes.io/no-provisioner", storagev1.VolumeBindingWaitForFirstConsumer))
		controllertest.Create(c, class("made", "example.com/disks", storagev1.VolumeBindingWaitForFirstConsumer))
		controllertest.Create(c, volume("disk", "local", 5))
		c.Settle() // a claim of an unseen class is reported
		controllertest.Create(c, claim("data", new("local"), 1))
		controllertest.Create(c, claim("more", new("made"), 1))
		c.Settle()
		require.Equal(t, "Pending", text(c, "data"))
		require.Equal(t, []string{"WaitForFirstConsumer"}, reasons(c, "data"))
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "web")}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
		for _, name := range []string{"data", "more"} {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
		}
		controllertest.Create(c, p)
		c.Settle()
		require.Equal(t, []string{"WaitForFirstConsumer", "WaitForPodScheduled"}, reasons(c, "data"))
		// The scheduler chooses a volume for one claim, and a node for the other.
		uid := controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "data").UID
		controllertest.Update(c, "", "disk", func(v *corev1.PersistentVolume) {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "data", UID: uid}
		})
		controllertest.Update(c, "default", "more", func(c *corev1.PersistentVolumeClaim) {
			c.Annotations = map[string]string{volumematch.SelectedNode: "node-1"}
		})
		c.Settle()
		require.Equal(t, "Bound disk", text(c, "data"))
		more := controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "more")
		require.Equal(t, "example.com/disks", more.Annotations[volumematch.Provisioner])
		require.Equal(t, "example.com/disks", more.Annotations[volumematch.BetaProvisioner])
		require.Contains(t, reasons(c, "more"), "ExternalProvisioning")
	})
}

// Claims without a class get the default one, even if it becomes that later. A class that cannot make volumes
// is reported.
func TestClasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		controllertest.Create(c, claim("old", nil, 1))
		controllertest.Create(c, claim("none", new(""), 1))
		controllertest.Create(c, claim("missing", new("later"), 1))
		controllertest.Create(c, claim("static", new("hand-made"), 1))
		controllertest.Create(c, class("hand-made", volumematch.NoProvisioner, storagev1.VolumeBindingImmediate))
		c.Settle()
		require.Equal(t, []string{"FailedBinding"}, reasons(c, "old"))
		require.Equal(t, []string{"ProvisioningFailed"}, reasons(c, "missing"))
		require.Equal(t, []string{"ProvisioningFailed"}, reasons(c, "static"))
		c.Sleep(time.Hour)
		controllertest.Create(c, class("later", "example.com/disks", storagev1.VolumeBindingImmediate))
		standard := class("standard", "example.com/disks", storagev1.VolumeBindingImmediate)
		standard.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		controllertest.Create(c, standard)
		c.Settle()
		old := controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "old")
		require.Equal(t, "standard", *old.Spec.StorageClassName)
		require.Equal(t, "example.com/disks", old.Annotations[volumematch.Provisioner])
		require.Empty(t, *controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "none").Spec.StorageClassName)
		require.Equal(t, "example.com/disks", controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "missing").Annotations[volumematch.Provisioner])
	})
}

// Two volumes for one claim: the surplus one is free again, unless it was made for the claim.
func TestSurplusVolumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		controllertest.Create(c, volume("first", "", 1))
		controllertest.Create(c, claim("data", new(""), 1))
		c.Settle()
		pvc := controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "data")
		surplus := func(annotation string, policy corev1.PersistentVolumeReclaimPolicy) func(*corev1.PersistentVolume) {
			return func(v *corev1.PersistentVolume) {
				v.Annotations = map[string]string{annotation: "example.com/disks"}
				v.Spec.PersistentVolumeReclaimPolicy = policy
				v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "data", UID: pvc.UID}
			}
		}
		controllertest.Create(c, volume("ours", "", 1, surplus(volumematch.BoundByController, corev1.PersistentVolumeReclaimRetain)))
		controllertest.Create(c, volume("made", "", 1, surplus(volumematch.ProvisionedBy, corev1.PersistentVolumeReclaimDelete)))
		controllertest.Create(c, volume("users", "", 1, surplus("other", corev1.PersistentVolumeReclaimRetain)))
		c.Settle()
		require.Equal(t, "Bound first", text(c, "data"))
		require.Equal(t, "Available", volumeText(c, "ours"))
		require.Equal(t, "Released data", volumeText(c, "made"))
		require.Equal(t, "Available data", volumeText(c, "users"))
	})
}
