package kubelet_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/builtin/attachdetach"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecsi"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// disks is a rig with a CSI driver, whose volumes are not attached unless a test says so.
type disks struct {
	*rig
	d    *fakecsi.Driver
	stop func() // of the driver
	lied bool   // about volumes, so that they are not what it says
	more atomic.Pointer[[]*fakecsi.Driver]

	mu     sync.Mutex
	faults map[string]fakecri.Fault // by method
}

const diskDriver = "disks.example.com"

func withDisks(t *testing.T, opts fakecsi.Options, spec storagev1.CSIDriverSpec, f func(*testing.T, *disks), edits ...func(*rig)) {
	x := &disks{d: fakecsi.New(diskDriver, opts), faults: map[string]fakecri.Fault{}}
	x.d.Fault = func(method string, _ any) fakecri.Fault {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.faults[method]
	}
	bubble(t, func(r *rig) {
		x.rig = r
		s := &sockets{}
		r.opts.Plugins = s.options()
		r.opts.Plugins.Dial = func(ctx context.Context, path string) (net.Conn, error) {
			all := []*fakecsi.Driver{x.d}
			if more := x.more.Load(); more != nil {
				all = append(all, *more...)
			}
			return fakecsi.Dialer(all...)(ctx, path)
		}
		for _, edit := range edits {
			edit(r)
		}
		if spec.AttachRequired == nil {
			spec.AttachRequired = new(false)
		}
		controllertest.Create(r.c, &storagev1.CSIDriver{ObjectMeta: controllertest.Name("", diskDriver), Spec: spec})
		x.serve()
	}, func(*rig) {
		t := x.t // of the bubble
		f(t, x)
		x.set()
		x.rig.stop()
		x.rig.stop = func() {}
		if !x.lied {
			require.Empty(t, x.d.Published(), "StopPods takes volumes down")
			require.Empty(t, x.d.Broken())
		}
		x.stop()
	})
}

func (x *disks) serve() {
	ctx, cancel := context.WithCancel(x.t.Context())
	_, wait, err := x.d.ServeInMemory(ctx, x.opts.RootDir)
	require.NoError(x.t, err)
	x.stop = func() { cancel(); wait() }
}

// set lets the methods fail, and all others not.
func (x *disks) set(faults ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.faults)
	for i := 0; i < len(faults); i += 2 {
		x.faults[faults[i].(string)] = faults[i+1].(fakecri.Fault)
	}
}

// crash ends the kubelet, and lets it leave everything as it is.
func (x *disks) crash() {
	x.rig.stop()
	x.rig.stop = func() {}
}

// restart starts the kubelet again.
func (x *disks) restart() {
	x.rig.stop()
	s := &sockets{}
	dial := x.opts.Plugins.Dial
	x.opts.Plugins = s.options()
	x.opts.Plugins.Dial = dial
	x.opts.StopPods = true
	x.start()
}

// claim makes a bound claim.
func (x *disks) claim(name string, edit func(*corev1.PersistentVolume)) {
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", name)}
	c.Spec = corev1.PersistentVolumeClaimSpec{AccessModes: modes, VolumeName: "pv-" + name, Resources: corev1.VolumeResourceRequirements{Requests: size}}
	pv := &corev1.PersistentVolume{ObjectMeta: controllertest.Name("", "pv-"+name)}
	pv.Spec.AccessModes, pv.Spec.Capacity = modes, size
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: diskDriver, VolumeHandle: "disk-" + name, FSType: "ext4"}
	if edit != nil {
		edit(pv)
	}
	c.Spec.VolumeMode = pv.Spec.VolumeMode
	if pv.Spec.StorageClassName != "" {
		c.Spec.StorageClassName = &pv.Spec.StorageClassName
	}
	c = controllertest.Create(x.c, c)
	controllertest.UpdateStatus(x.c, "default", name, func(c *corev1.PersistentVolumeClaim) {
		c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: size, AccessModes: modes}
	})
	pv.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: name, UID: c.UID}
	controllertest.Create(x.c, pv)
}

// uses lets the pod's containers have a claim at /data.
func uses(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
		for i := range p.Spec.Containers {
			p.Spec.Containers[i].VolumeMounts = append(p.Spec.Containers[i].VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: "/data"})
		}
	}
}

// left are the records and folders of volumes on the disk.
func (x *disks) left() (list []string) {
	for _, dir := range []string{"pods", "plugins/kubernetes.io"} {
		_ = filepath.WalkDir(filepath.Join(x.opts.RootDir, dir), func(path string, e os.DirEntry, _ error) error {
			if e != nil && !e.IsDir() {
				list = append(list, strings.TrimPrefix(path, x.opts.RootDir))
			}
			return nil
		})
	}
	return list
}

func (x *disks) events(pod string) (list []string) {
	for _, e := range controllertest.List[*corev1.Event](x.c, "default") {
		if e.InvolvedObject.Name == pod {
			list = append(list, e.Reason+": "+e.Message)
		}
	}
	return list
}

// The controller attaches volumes to the kubelet's node, because that says so.
func TestVolumesAreAttachedByTheController(t *testing.T) {
	attacher := func(m *manager.Manager) error { return attachdetach.Add(m, attachdetach.Options{}) }
	bubbleOf(t, controllertest.Options{Controllers: []controllertest.Adder{attacher}}, nil, func(r *rig) {
		x := &disks{rig: r}
		attachments := func() int {
			time.Sleep(15 * time.Second)
			return len(controllertest.List[*storagev1.VolumeAttachment](r.c, ""))
		}
		x.claim("a", nil)
		r.pod("one", uses("a"), "c")
		require.Equal(t, 1, attachments())
		controllertest.Update(r.c, "", "n1", func(n *corev1.Node) { n.Annotations = nil })
		x.claim("b", nil)
		r.pod("two", uses("b"), "c")
		require.Equal(t, 2, attachments(), "the kubelet has put its annotation back")
	})
}

// A driver registers, its volumes are staged once and published per pod, and all is undone in the end.
func TestCSIVolumes(t *testing.T) {
	withDisks(t, fakecsi.Options{MaxVolumes: 7, Topology: map[string]string{"topology.example.com/zone": "a"}}, storagev1.CSIDriverSpec{PodInfoOnMount: new(true)}, func(t *testing.T, x *disks) {
		node := controllertest.Get[*storagev1.CSINode](x.c, "", "n1")
		require.Equal(t, []storagev1.CSINodeDriver{{Name: diskDriver, NodeID: "fake-node", TopologyKeys: []string{"topology.example.com/zone"}, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(7))}}}, node.Spec.Drivers)
		n := controllertest.Get[*corev1.Node](x.c, "", "n1")
		require.Equal(t, "a", n.Labels["topology.example.com/zone"])
		require.JSONEq(t, `{"disks.example.com":"fake-node"}`, n.Annotations["csi.volume.kubernetes.io/nodeid"])
		require.Equal(t, []string{""}, x.d.Registrations())

		x.claim("a", nil)
		for _, name := range []string{"one", "two"} {
			x.pod(name, uses("a"), "c")
		}
		time.Sleep(3 * time.Second)
		require.True(t, ready(x.get("one")) && ready(x.get("two")))
		require.Equal(t, []string{"disk-a"}, x.d.Staged())
		require.Equal(t, []string{"disk-a", "disk-a"}, x.d.Published())
		require.Equal(t, 1, x.d.Calls("NodeStageVolume")-x.d.Calls("NodeStageVolume")/2, "the second is idempotent")
		q := x.d.Last("NodePublishVolume").(*csi.NodePublishVolumeRequest)
		require.Contains(t, []string{"one", "two"}, q.VolumeContext["csi.storage.k8s.io/pod.name"])
		require.Equal(t, csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER, q.VolumeCapability.AccessMode.Mode)
		require.Equal(t, "ext4", q.VolumeCapability.GetMount().FsType)
		uid := string(x.get("one").UID)
		require.Equal(t, filepath.Join(x.opts.RootDir, "pods", uid, "volumes/kubernetes.io~csi/pv-a/mount"), x.rt.Config("one", "c").Mounts[0].HostPath)
		require.FileExists(t, filepath.Join(x.opts.RootDir, "pods", uid, "volumes/kubernetes.io~csi/pv-a/vol_data.json"))

		x.delete("one", 1)
		time.Sleep(5 * time.Second)
		require.False(t, x.exists("one"))
		require.Equal(t, []string{"disk-a"}, x.d.Published())
		require.Equal(t, []string{"disk-a"}, x.d.Staged())
		x.delete("two", 1)
		time.Sleep(5 * time.Second)
		require.False(t, x.exists("two"))
		require.Empty(t, x.d.Published())
		require.Empty(t, x.d.Staged())
		require.Empty(t, x.left())
	})
}

// A driver that goes is no longer shown, and what it should have taken down is taken down when it is back.
func TestCSIDriverGoesAndComes(t *testing.T) {
	withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{}, func(t *testing.T, x *disks) {
		x.claim("a", nil)
		x.pod("p", uses("a"), "c")
		x.pod("other", nil, "c")
		time.Sleep(3 * time.Second)
		require.True(t, ready(x.get("p")))
		x.stop()
		time.Sleep(15 * time.Second)
		require.Empty(t, controllertest.Get[*storagev1.CSINode](x.c, "", "n1").Spec.Drivers)
		require.True(t, ready(x.get("p")), "what is mounted stays")
		x.delete("p", 1)
		x.delete("other", 1)
		time.Sleep(time.Minute)
		require.False(t, x.exists("other"))
		require.True(t, x.exists("p"), "its volume is still mounted")
		require.Contains(t, strings.Join(x.events("p"), "\n"), "not found in the list of registered CSI drivers")
		x.serve()
		time.Sleep(20 * time.Second)
		require.Len(t, controllertest.Get[*storagev1.CSINode](x.c, "", "n1").Spec.Drivers, 1)
		require.False(t, x.exists("p"))
		require.Empty(t, x.d.Staged())
	})
}

// Whatever a driver does wrong costs the pods that use it and no others, and ends with it.
func TestCSIFaults(t *testing.T) {
	for _, method := range []string{"NodeStageVolume", "NodePublishVolume", "NodeGetCapabilities", "NodeGetVolumeStats"} {
		withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{}, func(t *testing.T, x *disks) {
			for _, fault := range []fakecri.Fault{fakecri.Before, fakecri.After, fakecri.Hang, fakecri.Instead} {
				x.suffers(t, method, fault)
			}
		})
	}
}

// suffers makes a pod while a method fails, and deletes it while its opposite does.
func (x *disks) suffers(t *testing.T, method string, fault fakecri.Fault) {
	text := fmt.Sprint(method, fault)
	name := strings.ToLower(text)
	lies := fault == fakecri.Instead
	x.lied = lies && method != "NodeGetVolumeStats"
	x.claim(name, nil)
	x.set(method, fault)
	x.pod(name, uses(name), "c")
	x.pod("other", nil, "c")
	time.Sleep(3 * time.Second)
	require.True(t, ready(x.get("other")), text)
	switch {
	case method == "NodeGetVolumeStats":
		require.True(t, ready(x.get(name)), "statistics hold nothing up")
	case method == "NodePublishVolume" || !lies:
		require.False(t, ready(x.get(name)), text)
		require.Nil(t, x.rt.Config(name, "c"), text)
	}
	recovery := 10 * time.Second
	if fault == fakecri.Hang {
		recovery += 2 * time.Minute // a call under way
	}
	x.set()
	time.Sleep(recovery)
	require.True(t, ready(x.get(name)), text)
	x.set(strings.NewReplacer("Stage", "Unstage", "Publish", "Unpublish").Replace(method), fault)
	x.delete(name, 1)
	x.delete("other", 1)
	time.Sleep(3 * time.Second)
	require.False(t, x.exists("other"), text)
	x.set()
	time.Sleep(recovery)
	require.False(t, x.exists(name), text)
	require.Empty(t, x.left(), text)
	if !x.lied {
		require.Empty(t, x.d.Published(), text)
		require.Empty(t, x.d.Broken(), text)
	}
}

// A kubelet that starts again, at any point, continues what was begun, or undoes it.
func TestCSIAcrossRestarts(t *testing.T) {
	methods := []string{"", "NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeUnstageVolume"}
	for _, method := range methods {
		for _, fault := range []fakecri.Fault{fakecri.Before, fakecri.After, fakecri.Hang} {
			for _, deleted := range []bool{false, true} {
				withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{}, func(t *testing.T, x *disks) {
					x.claim("a", nil)
					x.set(method, fault)
					x.pod("p", uses("a"), "c")
					time.Sleep(4 * time.Second)
					if strings.HasPrefix(method, "NodeUn") {
						x.delete("p", 1)
						time.Sleep(4 * time.Second)
						require.True(t, x.exists("p"))
					}
					x.crash()
					x.set()
					if deleted { // while nothing looks
						x.delete("p", 0)
					}
					x.restart()
					time.Sleep(20 * time.Second)
					if !deleted && !strings.HasPrefix(method, "NodeUn") {
						require.True(t, ready(x.get("p")), method)
						require.Equal(t, []string{"disk-a"}, x.d.Published())
						require.Empty(t, x.rt.Doubles())
						x.delete("p", 1)
						time.Sleep(10 * time.Second)
					}
					require.False(t, x.exists("p"), method)
					require.Empty(t, x.d.Published(), method)
					require.Empty(t, x.d.Staged(), method)
					require.Empty(t, x.left(), method)
				}, func(r *rig) { r.opts.StopPods = false })
			}
		}
	}
}

// operations is how many operations on volumes of the driver the kubelet's metrics show with a status.
func (x *disks) operations(name, status string) (n int) {
	x.t.Helper()
	series := fmt.Sprintf("storage_operation_duration_seconds_count{migrated=\"false\",operation_name=%q,status=%q,volume_plugin=\"kubernetes.io/csi:%s\"} ", name, status, diskDriver)
	for line := range strings.Lines(x.metrics()) {
		if count, ok := strings.CutPrefix(line, series); ok {
			_, err := fmt.Sscan(count, &n)
			require.NoError(x.t, err)
		}
	}
	return n
}

// A volume that has to be attached is made after its attachment, and is in use until it is unstaged.
func TestCSIAttachment(t *testing.T) {
	withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{AttachRequired: new(true)}, func(t *testing.T, x *disks) {
		x.claim("a", nil)
		x.pod("p", uses("a"), "c")
		time.Sleep(10 * time.Second)
		inUse := func() []corev1.UniqueVolumeName {
			return controllertest.Get[*corev1.Node](x.c, "", "n1").Status.VolumesInUse
		}
		require.Equal(t, []corev1.UniqueVolumeName{"kubernetes.io/csi/disks.example.com^disk-a"}, inUse())
		require.Zero(t, x.d.Calls("NodeStageVolume"))
		a := &storagev1.VolumeAttachment{ObjectMeta: controllertest.Name("", volume.AttachmentName(diskDriver, "disk-a", "n1"))}
		a.Spec = storagev1.VolumeAttachmentSpec{Attacher: diskDriver, NodeName: "n1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("pv-a")}}
		controllertest.Create(x.c, a)
		time.Sleep(2 * time.Minute)
		require.Zero(t, x.d.Calls("NodeStageVolume"))
		require.Contains(t, strings.Join(x.events("p"), "\n"), "volume pv-a is not attached to the node")
		failed := x.operations("verify_controller_attached_volume", "fail-unknown")
		require.Positive(t, failed)
		require.Zero(t, x.operations("verify_controller_attached_volume", "success"))
		controllertest.UpdateStatus(x.c, "", a.Name, func(a *storagev1.VolumeAttachment) {
			a.Status = storagev1.VolumeAttachmentStatus{Attached: true, AttachmentMetadata: map[string]string{"lun": "3"}}
		})
		time.Sleep(7 * time.Second)
		require.True(t, ready(x.get("p")))
		require.Equal(t, "3", x.d.Last("NodeStageVolume").(*csi.NodeStageVolumeRequest).PublishContext["lun"])
		require.Equal(t, "3", x.d.Last("NodePublishVolume").(*csi.NodePublishVolumeRequest).PublishContext["lun"])
		require.Equal(t, 1, x.operations("verify_controller_attached_volume", "success"))
		require.Equal(t, failed, x.operations("verify_controller_attached_volume", "fail-unknown"))
		x.set("NodeUnstageVolume", fakecri.Before)
		x.delete("p", 1)
		time.Sleep(5 * time.Second)
		require.Len(t, inUse(), 1, "it is staged")
		x.set()
		time.Sleep(time.Minute)
		require.Empty(t, inUse())
		require.False(t, x.exists("p"))
	})
}

// Block volumes are devices of containers.
func TestCSIBlock(t *testing.T) {
	withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{}, func(t *testing.T, x *disks) {
		x.claim("a", func(pv *corev1.PersistentVolume) { pv.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) })
		x.pod("p", func(p *corev1.Pod) {
			uses("a")(p)
			p.Spec.Containers[0].VolumeMounts = nil
			p.Spec.Containers[0].VolumeDevices = []corev1.VolumeDevice{{Name: "data", DevicePath: "/dev/xvda"}}
		}, "c")
		x.pod("wrong", uses("a"), "c")
		time.Sleep(4 * time.Second)
		require.True(t, ready(x.get("p")))
		dev := x.rt.Config("p", "c").Devices[0]
		uid := string(x.get("p").UID)
		require.Equal(t, filepath.Join(x.opts.RootDir, "pods", uid, "volumeDevices/kubernetes.io~csi/pv-a"), dev.HostPath)
		require.Equal(t, "/dev/xvda mrw", dev.ContainerPath+" "+dev.Permissions)
		at, err := os.Readlink(dev.HostPath)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(x.opts.RootDir, "plugins/kubernetes.io/csi/volumeDevices/publish/pv-a", uid), at)
		require.NotNil(t, x.d.Last("NodeStageVolume").(*csi.NodeStageVolumeRequest).VolumeCapability.GetBlock())
		require.Equal(t, 1, x.operations("map_volume", "success"))
		require.Zero(t, x.operations("volume_mount", "success"))
		require.False(t, ready(x.get("wrong")))
		require.Contains(t, strings.Join(x.events("wrong"), "\n"), "volumeMode Block, but is specified in volumeMounts")
		x.delete("wrong", 1)
		x.delete("p", 1)
		time.Sleep(5 * time.Second)
		require.Empty(t, x.d.Published())
		require.Empty(t, x.d.Staged())
		require.Empty(t, x.left())
		require.Equal(t, []int{1, 1, 1}, []int{x.operations("map_volume", "success"), x.operations("unmap_volume", "success"), x.operations("unmap_device", "success")})
	})
}

// Inline volumes get tokens and what they want to know of the pod, again and again.
func TestCSIInline(t *testing.T) {
	spec := storagev1.CSIDriverSpec{PodInfoOnMount: new(true), RequiresRepublish: new(true), VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral},
		TokenRequests: []storagev1.TokenRequest{{Audience: "vault", ExpirationSeconds: new(int64(600))}}}
	withDisks(t, fakecsi.Options{}, spec, func(t *testing.T, x *disks) {
		controllertest.Create(x.c, &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", "default")})
		controllertest.Create(x.c, &corev1.Secret{ObjectMeta: controllertest.Name("default", "key"), Data: map[string][]byte{"k": []byte("v")}})
		x.claim("a", nil)
		x.pod("persistent", uses("a"), "c")
		x.pod("p", func(p *corev1.Pod) {
			p.Spec.ServiceAccountName = "default"
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: diskDriver, VolumeAttributes: map[string]string{"x": "y"},
				NodePublishSecretRef: &corev1.LocalObjectReference{Name: "key"}}}}}
			p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		}, "c")
		time.Sleep(3 * time.Second)
		require.True(t, ready(x.get("p")), "%v", x.events("p"))
		require.Contains(t, strings.Join(x.events("persistent"), "\n"), `volume mode "Persistent" not supported by driver disks.example.com`)
		require.Zero(t, x.d.Calls("NodeStageVolume"))
		q := x.d.Last("NodePublishVolume").(*csi.NodePublishVolumeRequest)
		require.Equal(t, "y", q.VolumeContext["x"])
		require.Equal(t, "true", q.VolumeContext["csi.storage.k8s.io/ephemeral"])
		require.Contains(t, q.VolumeContext["csi.storage.k8s.io/serviceAccount.tokens"], `"vault":{"token":"`)
		require.Equal(t, map[string]string{"k": "v"}, q.Secrets)
		before := x.d.Calls("NodePublishVolume")
		time.Sleep(5 * time.Minute)
		require.GreaterOrEqual(t, x.d.Calls("NodePublishVolume")-before, 4)
		x.set("NodePublishVolume", fakecri.Before)
		time.Sleep(5 * time.Minute)
		require.True(t, ready(x.get("p")), "a refresh that fails takes nothing away")
	})
}

// A volume whose PersistentVolume has grown grows on the node, once.
func TestCSIExpansion(t *testing.T) {
	withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{}, func(t *testing.T, x *disks) {
		controllertest.Create(x.c, &storagev1.StorageClass{ObjectMeta: controllertest.Name("", "growing"), Provisioner: diskDriver, AllowVolumeExpansion: new(true)})
		x.claim("a", func(pv *corev1.PersistentVolume) { pv.Spec.StorageClassName = "growing" })
		x.pod("p", uses("a"), "c")
		time.Sleep(3 * time.Second)
		require.Zero(t, x.d.Size("disk-a"))
		controllertest.Update(x.c, "default", "a", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
		})
		controllertest.Update(x.c, "", "pv-a", func(pv *corev1.PersistentVolume) {
			pv.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("2Gi")
		})
		controllertest.UpdateStatus(x.c, "default", "a", func(c *corev1.PersistentVolumeClaim) {
			c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
			c.Status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
			c.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: corev1.PersistentVolumeClaimNodeResizePending}
		})
		x.set("NodeExpandVolume", fakecri.Before)
		time.Sleep(90 * time.Second)
		claim := controllertest.Get[*corev1.PersistentVolumeClaim](x.c, "default", "a")
		require.Equal(t, corev1.PersistentVolumeClaimNodeResizeInProgress, claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage])
		require.Len(t, claim.Status.Conditions, 2)
		require.Equal(t, corev1.PersistentVolumeClaimNodeResizeError, claim.Status.Conditions[1].Type)
		require.Equal(t, "failed to expand pvc with Expander.NodeExpand failed to expand the volume : rpc error: code = Unavailable desc = the driver fails", claim.Status.Conditions[1].Message)
		require.True(t, ready(x.get("p")))
		require.Contains(t, strings.Join(x.events("p"), "\n"), "VolumeResizeFailed")
		failed := x.d.Calls("NodeExpandVolume")
		require.GreaterOrEqual(t, failed, 5, "soon after a failure")
		require.Less(t, x.d.Calls("NodeGetVolumeStats"), failed, "the use of the volume is not measured as often")
		require.Equal(t, []int{failed, 0}, []int{x.operations("volume_fs_resize", "fail-unknown"), x.operations("volume_fs_resize", "success")})
		x.set()
		time.Sleep(2 * time.Minute)
		require.EqualValues(t, 2<<30, x.d.Size("disk-a"))
		claim = controllertest.Get[*corev1.PersistentVolumeClaim](x.c, "default", "a")
		require.Empty(t, claim.Status.Conditions)
		require.Empty(t, claim.Status.AllocatedResourceStatuses)
		size := claim.Status.Capacity[corev1.ResourceStorage]
		require.Equal(t, "2Gi", size.String())
		for _, about := range []string{"p", "a"} {
			require.Contains(t, x.events(about), `FileSystemResizeSuccessful: MountVolume.NodeExpandVolume succeeded for volume "pv-a" n1`)
		}
		n := x.d.Calls("NodeExpandVolume")
		time.Sleep(5 * time.Minute)
		require.Equal(t, n, x.d.Calls("NodeExpandVolume"))
		require.Equal(t, []int{n - 1, 1}, []int{x.operations("volume_fs_resize", "fail-unknown"), x.operations("volume_fs_resize", "success")})
	})
}

// The limit of volumes follows the driver if its CSIDriver says how often.
func TestCSILimitFollows(t *testing.T) {
	withDisks(t, fakecsi.Options{MaxVolumes: 3}, storagev1.CSIDriverSpec{NodeAllocatableUpdatePeriodSeconds: new(int64(20))}, func(t *testing.T, x *disks) {
		x.d.SetMaxVolumes(5)
		time.Sleep(25 * time.Second)
		require.EqualValues(t, 5, *controllertest.Get[*storagev1.CSINode](x.c, "", "n1").Spec.Drivers[0].Allocatable.Count)
		x.d.SetMaxVolumes(-1)
		time.Sleep(25 * time.Second)
		require.EqualValues(t, 5, *controllertest.Get[*storagev1.CSINode](x.c, "", "n1").Spec.Drivers[0].Allocatable.Count, "what no CSINode can hold is refused")
	})
}

// A driver that says impossible things about the node is not registered.
func TestCSIBadRegistration(t *testing.T) {
	for name, opts := range map[string]fakecsi.Options{
		"id": {NodeID: strings.Repeat("x", 300)}, "limit": {MaxVolumes: -1}, "topology": {Topology: map[string]string{"a b": "c"}},
	} {
		withDisks(t, opts, storagev1.CSIDriverSpec{}, func(t *testing.T, x *disks) {
			require.NotEmpty(t, x.d.Registrations(), name)
			require.False(t, slices.Contains(x.d.Registrations(), ""), name)
			require.False(t, controllertest.Exists[*storagev1.CSINode](x.c, "", "n1"), name)
		})
	}
}

// A PersistentVolume that is a path of the node is that path, if it is what its type says.
func TestHostPathVolumes(t *testing.T) {
	withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{}, func(t *testing.T, x *disks) {
		dir := t.TempDir()
		for name, kind := range map[string]corev1.HostPathType{"made": corev1.HostPathDirectoryOrCreate, "wrong": corev1.HostPathFile} {
			x.claim(name, func(pv *corev1.PersistentVolume) {
				pv.Spec.CSI, pv.Spec.HostPath = nil, &corev1.HostPathVolumeSource{Path: filepath.Join(dir, name), Type: &kind}
			})
			x.pod(name, uses(name), "c")
		}
		time.Sleep(5 * time.Second)
		require.True(t, ready(x.get("made")))
		require.Equal(t, filepath.Join(dir, "made"), x.rt.Config("made", "c").Mounts[0].HostPath)
		require.DirExists(t, filepath.Join(dir, "made"))
		require.False(t, ready(x.get("wrong")))
		require.Contains(t, strings.Join(x.events("wrong"), "\n"), "hostPath type check failed")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "made", "file"), nil, 0o600))
		x.delete("made", 1)
		x.delete("wrong", 1)
		time.Sleep(5 * time.Second)
		require.False(t, x.exists("made"))
		require.False(t, x.exists("wrong"))
		require.FileExists(t, filepath.Join(dir, "made", "file"), "what is in a volume stays")
	})
}

// The CSINode is written for one driver at a time; one that waits for a silent server holds up nothing else.
func TestDriversOfASilentServer(t *testing.T) {
	withDisks(t, fakecsi.Options{}, storagev1.CSIDriverSpec{}, func(t *testing.T, x *disks) {
		x.line.set(silent)
		var others []*fakecsi.Driver
		for _, name := range []string{"b.example.com", "c.example.com"} {
			others = append(others, fakecsi.New(name, fakecsi.Options{}))
		}
		x.more.Store(&others)
		for _, d := range others {
			ctx, cancel := context.WithCancel(x.t.Context())
			_, wait, err := d.ServeInMemory(ctx, x.opts.RootDir)
			require.NoError(t, err)
			defer func() { cancel(); wait() }()
		}
		time.Sleep(time.Minute)
		x.line.set(intact)
		time.Sleep(time.Minute)
		var names []string
		for _, d := range controllertest.Get[*storagev1.CSINode](x.c, "", "n1").Spec.Drivers {
			names = append(names, d.Name)
		}
		require.Equal(t, []string{"b.example.com", "c.example.com", diskDriver}, names)
	})
}
