package volumeprotection_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/volumeprotection"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// A class goes when no claim wants, has or is being given it and no volume has it; one without the finalizer
// gets it. The controller has its own rights only.
func TestClassesInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		account := client.User{Name: "system:serviceaccount:kube-system:volumeattributesclass-protection-controller", Groups: []string{"system:authenticated"}}
		c.Run(c.ManagerOver(c.Conn(), "controllers", func(m *manager.Manager) error {
			return volumeprotection.AddClasses(m.As(c.Conn(account)), volumeprotection.Options{})
		}))
		for _, name := range []string{"wanted", "current", "target", "of-a-volume", "free"} {
			controllertest.Create(c, &storagev1.VolumeAttributesClass{ObjectMeta: controllertest.Name("", name), DriverName: "example.com", Parameters: map[string]string{"iops": "100"}})
		}
		controllertest.Update(c, "", "free", func(v *storagev1.VolumeAttributesClass) { v.Finalizers = nil })
		data := claim("default", "data")
		data.Spec.VolumeAttributesClassName = new("wanted")
		controllertest.Create(c, data)
		controllertest.UpdateStatus(c, "default", "data", func(p *corev1.PersistentVolumeClaim) {
			p.Status.CurrentVolumeAttributesClassName = new("current")
			p.Status.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: "target", Status: "Pending"}
		})
		v := &corev1.PersistentVolume{ObjectMeta: controllertest.Name("", "disk")}
		v.Spec.AccessModes, v.Spec.Capacity = data.Spec.AccessModes, data.Spec.Resources.Requests
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "example.com", VolumeHandle: "1"}
		v.Spec.VolumeAttributesClassName = new("of-a-volume")
		controllertest.Create(c, v)
		c.Sleep(time.Minute)
		left := func() (names []string) {
			for _, class := range controllertest.List[*storagev1.VolumeAttributesClass](c, "") {
				require.Equal(t, []string{volumeprotection.ClassFinalizer}, class.Finalizers, class.Name)
				names = append(names, class.Name)
			}
			return names
		}
		for _, name := range left() {
			controllertest.Delete[*storagev1.VolumeAttributesClass](c, "", name)
		}
		c.Sleep(time.Minute)
		require.Equal(t, []string{"current", "of-a-volume", "target", "wanted"}, left())
		controllertest.UpdateStatus(c, "default", "data", func(p *corev1.PersistentVolumeClaim) {
			p.Status.CurrentVolumeAttributesClassName, p.Status.ModifyVolumeStatus = new("target"), nil
		})
		c.Sleep(time.Minute)
		require.Equal(t, []string{"of-a-volume", "target", "wanted"}, left())
		for _, remove := range []func(){
			func() {
				controllertest.Delete[*corev1.PersistentVolumeClaim](c, "default", "data")
				controllertest.Update(c, "default", "data", func(p *corev1.PersistentVolumeClaim) { p.Finalizers = nil })
			},
			func() {
				controllertest.Delete[*corev1.PersistentVolume](c, "", "disk")
				controllertest.Update(c, "", "disk", func(v *corev1.PersistentVolume) { v.Finalizers = nil })
			},
		} {
			remove()
			c.Sleep(time.Minute)
		}
		require.Empty(t, left())
	})
}

// A class that is deleted goes when no claim names it any more.
func ExampleAddClasses() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return volumeprotection.AddClasses(m, volumeprotection.Options{}) },
		}})
		controllertest.Create(c, &storagev1.VolumeAttributesClass{ObjectMeta: controllertest.Name("", "fast"), DriverName: "example.com", Parameters: map[string]string{"iops": "100"}})
		data := claim("default", "data")
		data.Spec.VolumeAttributesClassName = new("fast")
		controllertest.Create(c, data)
		c.Settle() // the class has its finalizer
		controllertest.Delete[*storagev1.VolumeAttributesClass](c, "", "fast")
		c.Settle()
		fmt.Println("while a claim names it:", controllertest.Exists[*storagev1.VolumeAttributesClass](c, "", "fast"))
		controllertest.Delete[*corev1.PersistentVolumeClaim](c, "default", "data")
		controllertest.Update(c, "default", "data", func(p *corev1.PersistentVolumeClaim) { p.Finalizers = nil })
		c.Settle()
		fmt.Println("without it:", controllertest.Exists[*storagev1.VolumeAttributesClass](c, "", "fast"))
	})
	// Output:
	// while a claim names it: true
	// without it: false
}

// A volume that is deleted goes when it is not bound any more.
func ExampleAddVolumes() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{addVolumes}})
		v := &corev1.PersistentVolume{ObjectMeta: controllertest.Name("", "disk")}
		v.Spec.AccessModes, v.Spec.Capacity = claim("", "").Spec.AccessModes, claim("", "").Spec.Resources.Requests
		v.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/data"}
		controllertest.Create(c, v)
		phase := func(p corev1.PersistentVolumePhase) {
			controllertest.UpdateStatus(c, "", "disk", func(v *corev1.PersistentVolume) { v.Status.Phase = p })
			c.Settle()
		}
		phase(corev1.VolumeBound)
		controllertest.Delete[*corev1.PersistentVolume](c, "", "disk")
		c.Settle()
		fmt.Println("while it is bound:", controllertest.Exists[*corev1.PersistentVolume](c, "", "disk"))
		phase(corev1.VolumeReleased)
		fmt.Println("when it is released:", controllertest.Exists[*corev1.PersistentVolume](c, "", "disk"))
	})
	// Output:
	// while it is bound: true
	// when it is released: false
}
