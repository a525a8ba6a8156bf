package volumeexpand_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/volumebinder"
	"github.com/keelson-dev/keelson/controllers/builtin/volumeexpand"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakestorage"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// start starts a cluster with a bound claim; stop stops the driver.
func start(t testing.TB) (c *controllertest.Cluster, stop func()) {
	c = controllertest.Start(t, controllertest.Options{
		As:          client.User{Name: "system:serviceaccount:kube-system:expand-controller", Groups: []string{"system:serviceaccounts", "system:authenticated"}},
		Controllers: []controllertest.Adder{func(m *manager.Manager) error { return volumeexpand.Add(m, volumeexpand.Options{}) }},
	})
	c.Run(c.ManagerOver(c.Admin(), "binder", func(m *manager.Manager) error { return volumebinder.Add(m, volumebinder.Options{}) }))
	stop = c.Run(driver(c))
	controllertest.Create(c, &storagev1.StorageClass{ObjectMeta: controllertest.Name("", "fake"), Provisioner: fakestorage.Driver, AllowVolumeExpansion: new(true)})
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "data")}
	pvc.Spec.StorageClassName, pvc.Spec.AccessModes = new("fake"), []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	pvc.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	controllertest.Create(c, pvc)
	c.Settle()
	return c, stop
}

func driver(c *controllertest.Cluster) *manager.Manager {
	return c.ManagerOver(c.Admin(), "driver", func(m *manager.Manager) error { return fakestorage.Add(m, fakestorage.Options{}) })
}

func capacity(c *controllertest.Cluster) string {
	q := controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "data").Status.Capacity[corev1.ResourceStorage]
	return q.String()
}

func ask(c *controllertest.Cluster, size string) {
	controllertest.Update(c, "default", "data", func(p *corev1.PersistentVolumeClaim) {
		p.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse(size)
	})
	c.Settle()
}

// runPod creates a pod with the claim, as it is when it runs.
func runPod(c *controllertest.Cluster) {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "user")}
	p.Spec.NodeName = "node-0"
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	controllertest.Create(c, p)
	controllertest.UpdateStatus(c, "default", "user", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
	c.Settle()
}

// A claim grows, by its driver, and shows its size when a pod uses it.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c, _ := start(t)
		fmt.Println(capacity(c))
		ask(c, "5Gi")
		fmt.Println(capacity(c), controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "data").Status.Conditions[0].Type)
		runPod(c)
		fmt.Println(capacity(c))
	})
	// Output:
	// 1Gi
	// 1Gi FileSystemResizePending
	// 5Gi
}

// The claim says that it is being resized until it is, and there is an event.
func TestExpansion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := start(t)
		var seen []string
		controllertest.Watch(c, "default", func(e client.Event[*corev1.PersistentVolumeClaim]) {
			q := e.Object.Status.Capacity[corev1.ResourceStorage]
			text := q.String()
			for _, cond := range e.Object.Status.Conditions {
				text += " " + string(cond.Type)
			}
			if s, ok := e.Object.Status.AllocatedResourceStatuses[corev1.ResourceStorage]; ok {
				text += " " + string(s)
			}
			if len(seen) == 0 || seen[len(seen)-1] != text {
				seen = append(seen, text)
			}
		})
		stop()
		ask(c, "5Gi")
		require.True(t, slices.ContainsFunc(controllertest.List[*corev1.Event](c, "default"), func(e *corev1.Event) bool {
			return e.Reason == "ExternalExpanding" && e.InvolvedObject.Name == "data"
		}))
		c.Run(driver(c))
		c.Settle()
		require.Equal(t, []string{"1Gi", "1Gi Resizing ControllerResizeInProgress", "1Gi FileSystemResizePending NodeResizePending"}, seen)
		v := controllertest.List[*corev1.PersistentVolume](c, "")[0]
		q := v.Spec.Capacity[corev1.ResourceStorage]
		require.Equal(t, "5Gi", q.String())
		seen = nil
		runPod(c)
		require.Equal(t, []string{"1Gi FileSystemResizePending NodeResizeInProgress", "5Gi"}, seen)
	})
}
