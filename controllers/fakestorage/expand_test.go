package fakestorage_test

import (
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
	"github.com/keelson-dev/keelson/controllers/builtin"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakestorage"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// growing starts a cluster with a bound claim "data" of 1Gi, whose class lets it grow.
func growing(t *testing.T, edit ...func(*corev1.PersistentVolumeClaim)) *controllertest.Cluster {
	c := start(t)
	controllertest.Create(c, &storagev1.StorageClass{ObjectMeta: controllertest.Name("", "growing"), Provisioner: fakestorage.Driver, AllowVolumeExpansion: new(true)})
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "data"), Spec: claimSpec("growing")}
	for _, f := range edit {
		f(claim)
	}
	controllertest.Create(c, claim)
	c.Sleep(time.Second)
	return c
}

// usePod creates a pod that uses the claim; the nodes are fake ones.
func usePod(c *controllertest.Cluster, name string, readOnly bool) {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data", ReadOnly: readOnly}}}}
	controllertest.Create(c, p)
	c.Sleep(10 * time.Second)
}

func request(c *controllertest.Cluster, size string) {
	controllertest.Update(c, "default", "data", func(p *corev1.PersistentVolumeClaim) {
		p.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse(size)
	})
	c.Sleep(10 * time.Second)
}

// state is the size of the claim, that of its volume, how far the expansion is, and the conditions.
func state(c *controllertest.Cluster) string {
	claim := controllertest.Get[*corev1.PersistentVolumeClaim](c, "default", "data")
	size, volume := claim.Status.Capacity[corev1.ResourceStorage], controllertest.List[*corev1.PersistentVolume](c, "")[0].Spec.Capacity[corev1.ResourceStorage]
	words := []string{size.String(), volume.String()}
	if s, ok := claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]; ok {
		words = append(words, string(s))
	}
	for _, cond := range claim.Status.Conditions {
		words = append(words, string(cond.Type))
	}
	return strings.Join(words, " ")
}

// messages are those of the events of an object with one of the reasons.
func messages(c *controllertest.Cluster, name string, reasons ...string) (out []string) {
	for _, e := range controllertest.List[*corev1.Event](c, "default") {
		if e.InvolvedObject.Name == name && slices.Contains(reasons, e.Reason) {
			out = append(out, e.Reason+": "+e.Message)
		}
	}
	slices.Sort(out)
	return out
}

const waits = "FileSystemResizeRequired: Require file system resize of volume on node"

// A volume that a pod uses grows while the pod runs.
func TestOnlineExpansion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := growing(t)
		usePod(c, "user", false)
		request(c, "5Gi")
		require.Equal(t, "5Gi 5Gi", state(c))
		v := controllertest.List[*corev1.PersistentVolume](c, "")[0]
		require.NotContains(t, v.Annotations, "volume.alpha.kubernetes.io/pre-resize-capacity")
		node := controllertest.Get[*corev1.Pod](c, "default", "user").Spec.NodeName
		done := `FileSystemResizeSuccessful: MountVolume.NodeExpandVolume succeeded for volume "` + v.Name + `" ` + node
		require.Equal(t, []string{done}, messages(c, "user", "FileSystemResizeSuccessful"))
		require.Equal(t, []string{waits, done, "Resizing: External resizer is resizing volume " + v.Name},
			messages(c, "data", "FileSystemResizeRequired", "FileSystemResizeSuccessful", "Resizing", "VolumeResizeSuccessful"))
	})
}

// Without a pod that runs and writes to it, the file system waits, and what is requested meanwhile waits for
// it.
func TestExpansionWithoutAPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pending = "1Gi 5Gi NodeResizePending FileSystemResizePending"
		c := growing(t)
		request(c, "5Gi")
		require.Equal(t, pending, state(c))
		require.Equal(t, "1Gi", controllertest.List[*corev1.PersistentVolume](c, "")[0].Annotations["volume.alpha.kubernetes.io/pre-resize-capacity"])
		usePod(c, "reader", true)
		require.Equal(t, corev1.PodRunning, controllertest.Get[*corev1.Pod](c, "default", "reader").Status.Phase)
		require.Equal(t, pending, state(c))
		request(c, "8Gi")
		require.Equal(t, pending, state(c))
		usePod(c, "writer", false)
		require.Equal(t, "8Gi 8Gi", state(c))
		require.Empty(t, messages(c, "reader", "FileSystemResizeSuccessful"))
	})
}

// A claim whose request is reduced again, but not below what it has, gets what its volume has.
func TestReducedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := growing(t)
		request(c, "5Gi")
		request(c, "3Gi")
		require.Equal(t, "1Gi 5Gi NodeResizePending FileSystemResizePending", state(c))
		usePod(c, "user", false)
		require.Equal(t, "5Gi 5Gi", state(c))
	})
}

// A volume without a file system has grown when its driver is done.
func TestExpansionOfABlockVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := growing(t, func(p *corev1.PersistentVolumeClaim) { p.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) })
		request(c, "5Gi")
		require.Equal(t, "5Gi 5Gi", state(c))
		require.Equal(t, []string{"VolumeResizeSuccessful: Resize volume succeeded"}, messages(c, "data", "VolumeResizeSuccessful", "FileSystemResizeRequired"))
	})
}

// A driver may end at any of its writes: the next one goes on.
func TestExpansionGoesOnAfterACrash(t *testing.T) {
	user := client.User{Name: "driver", Groups: []string{"system:masters"}}
	for n, crashed := 0, true; crashed; n++ {
		for _, done := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
					func(m *manager.Manager) error {
						return builtin.Add(m, builtin.Options{Controllers: []string{"persistentvolume-binder"}})
					},
				}})
				driver := func() *manager.Manager {
					return c.ManagerOver(c.Conn(user), "driver", func(m *manager.Manager) error { return fakestorage.Add(m, fakestorage.Options{}) })
				}
				stop := c.Run(driver())
				controllertest.Create(c, &storagev1.StorageClass{ObjectMeta: controllertest.Name("", "growing"), Provisioner: fakestorage.Driver, AllowVolumeExpansion: new(true)})
				controllertest.Create(c, &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "data"), Spec: claimSpec("growing")})
				p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "user")}
				p.Spec.NodeName, p.Spec.Containers = "node-0", []corev1.Container{{Name: "main", Image: "app:1"}}
				p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
				controllertest.Create(c, p)
				controllertest.UpdateStatus(c, "default", "user", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
				c.Sleep(time.Second)
				crash := c.Crash(controllertest.Requests{User: user.Name}, n, done)
				request(c, "5Gi")
				stop()
				crash.Remove()
				c.Run(driver())
				c.Sleep(time.Minute)
				require.Equal(t, "5Gi 5Gi", state(c), "write %d", n)
				require.Empty(t, controllertest.List[*corev1.PersistentVolume](c, "")[0].Annotations["volume.alpha.kubernetes.io/pre-resize-capacity"])
				crashed = crash.Happened()
			})
		}
	}
}
