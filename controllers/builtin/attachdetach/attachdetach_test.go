package attachdetach_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/attachdetach"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakestorage"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// cluster has two nodes and a bound claim "data", whose volume is attached by the driver of fakestorage.
type cluster struct{ *controllertest.Cluster }

func start(t testing.TB, opts attachdetach.Options, modes ...corev1.PersistentVolumeAccessMode) *cluster {
	return startWith(t, fakestorage.Driver, opts, modes...)
}

// startWith is start with a volume of any driver.
func startWith(t testing.TB, driver string, opts attachdetach.Options, modes ...corev1.PersistentVolumeAccessMode) *cluster {
	return startFrom(t, corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "handle"}}, opts, modes...)
}

// startFrom is start with any volume.
func startFrom(t testing.TB, source corev1.PersistentVolumeSource, opts attachdetach.Options, modes ...corev1.PersistentVolumeAccessMode) *cluster {
	c := &cluster{controllertest.Start(t, controllertest.Options{
		As:          client.User{Name: "system:serviceaccount:kube-system:attachdetach-controller", Groups: []string{"system:serviceaccounts", "system:authenticated"}},
		Controllers: []controllertest.Adder{func(m *manager.Manager) error { return attachdetach.Add(m, opts) }},
	})}
	c.Run(c.ManagerOver(c.Admin(), "driver", func(m *manager.Manager) error { return fakestorage.Add(m, fakestorage.Options{}) }))
	for _, name := range []string{"node-a", "node-b"} {
		n := &corev1.Node{ObjectMeta: controllertest.Name("", name)}
		n.Annotations = map[string]string{attachdetach.ManagedAnnotation: "true"}
		controllertest.Create(c.Cluster, n)
		c.setReady(name, corev1.ConditionTrue)
	}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	v := &corev1.PersistentVolume{ObjectMeta: controllertest.Name("", "disk")}
	v.Spec.Capacity, v.Spec.AccessModes = size, modes
	v.Spec.PersistentVolumeSource = source
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "data")}
	pvc.Spec.AccessModes, pvc.Spec.Resources.Requests, pvc.Spec.VolumeName = modes, size, "disk"
	pvc = controllertest.Create(c.Cluster, pvc)
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "data", UID: pvc.UID}
	controllertest.Create(c.Cluster, v)
	c.Settle()
	return c
}

func (c *cluster) setReady(node string, status corev1.ConditionStatus) {
	controllertest.UpdateStatus(c.Cluster, "", node, func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	})
}

// pod runs a pod that uses the claim.
func (c *cluster) pod(name, node string) {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
	p.Spec.NodeName, p.Spec.Containers = node, []corev1.Container{{Name: "main", Image: "app:1"}}
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	controllertest.Create(c.Cluster, p)
	c.Settle()
}

func (c *cluster) kill(name string) {
	controllertest.Delete[*corev1.Pod](c.Cluster, "default", name, client.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	c.Settle()
}

// mounted makes a node report that it uses the volume, or that it does not.
func (c *cluster) mounted(node string, yes bool) {
	if !yes {
		c.using(node)
		return
	}
	c.using(node, "kubernetes.io/csi/fake.keelson.dev^handle")
}

// using makes a node report which volumes it uses.
func (c *cluster) using(node string, volumes ...corev1.UniqueVolumeName) {
	controllertest.UpdateStatus(c.Cluster, "", node, func(n *corev1.Node) { n.Status.VolumesInUse = volumes })
	c.Settle()
}

// attached are the nodes that the volume is attached to, and those that report it.
func (c *cluster) attached() (nodes, reports []string) {
	for _, a := range controllertest.List[*storagev1.VolumeAttachment](c.Cluster, "") {
		if a.Status.Attached && a.DeletionTimestamp == nil {
			nodes = append(nodes, a.Spec.NodeName)
		}
	}
	for _, n := range controllertest.List[*corev1.Node](c.Cluster, "") {
		if len(n.Status.VolumesAttached) > 0 {
			reports = append(reports, n.Name)
		}
	}
	slices.Sort(nodes)
	return nodes, reports
}

func (c *cluster) requireAttached(t *testing.T, want ...string) {
	t.Helper()
	nodes, reports := c.attached()
	require.Equal(t, want, nodes)
	require.Equal(t, want, reports)
}

func (c *cluster) messages(pod string) (out []string) {
	for _, e := range controllertest.List[*corev1.Event](c.Cluster, "default") {
		if e.InvolvedObject.Name == pod {
			out = append(out, e.Reason+": "+e.Message)
		}
	}
	return out
}

// A volume follows its pod from node to node.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t, attachdetach.Options{}, corev1.ReadWriteOnce)
		c.pod("web", "node-a")
		fmt.Println(c.attached())
		c.kill("web")
		fmt.Println(c.attached())
		c.pod("web", "node-b")
		fmt.Println(c.attached())
	})
	// Output:
	// [node-a] [node-a]
	// [] []
	// [node-b] [node-b]
}

func TestExclusiveVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, attachdetach.Options{}, corev1.ReadWriteOnce)
		c.pod("first", "node-a")
		c.mounted("node-a", true)
		require.Equal(t, []string{`SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "disk" `}, c.messages("first"))
		c.pod("second", "node-b")
		c.requireAttached(t, "node-a")
		require.Equal(t, []string{`FailedAttachVolume: Multi-Attach error for volume "disk" Volume is already used by pod(s) first`}, c.messages("second"))
		c.kill("first")
		c.Sleep(time.Hour)
		c.requireAttached(t, "node-a")
		c.mounted("node-a", false)
		c.requireAttached(t, "node-b")
	})
}

func TestSharedVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, attachdetach.Options{}, corev1.ReadWriteMany)
		c.pod("first", "node-a")
		c.pod("second", "node-b")
		c.pod("third", "node-b")
		c.requireAttached(t, "node-a", "node-b")
		controllertest.UpdateStatus(c.Cluster, "default", "first", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		c.kill("third")
		c.requireAttached(t, "node-b")
	})
}

// A node that is not ready and has not unmounted a volume loses it after a while; one that is out of service
// at once.
func TestForce(t *testing.T) {
	for name, opts := range map[string]attachdetach.Options{"after six minutes": {}, "never": {NeverForce: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t, opts, corev1.ReadWriteOnce)
				c.pod("web", "node-a")
				c.mounted("node-a", true)
				c.setReady("node-a", corev1.ConditionUnknown)
				c.kill("web")
				c.Sleep(5 * time.Minute)
				c.requireAttached(t, "node-a")
				c.Sleep(2 * time.Minute)
				if !opts.NeverForce {
					c.requireAttached(t)
					return
				}
				c.requireAttached(t, "node-a")
				controllertest.Update(c.Cluster, "", "node-a", func(n *corev1.Node) {
					n.Spec.Taints = []corev1.Taint{{Key: "node.kubernetes.io/out-of-service", Effect: corev1.TaintEffectNoExecute}}
				})
				c.Settle()
				c.requireAttached(t)
			})
		})
	}
}

// Drivers that do not attach, and nodes that attach volumes themselves, are left alone.
func TestLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, attachdetach.Options{}, corev1.ReadWriteMany)
		controllertest.Update(c.Cluster, "", "node-a", func(n *corev1.Node) { n.Annotations = nil })
		c.Settle()
		c.pod("self", "node-a")
		c.requireAttached(t)
		controllertest.Update(c.Cluster, "", "node-a", func(n *corev1.Node) {
			n.Annotations = map[string]string{attachdetach.ManagedAnnotation: "true"}
		})
		c.Settle()
		c.requireAttached(t, "node-a") // from now on
		c.kill("self")
		controllertest.Create(c.Cluster, &storagev1.CSIDriver{ObjectMeta: controllertest.Name("", fakestorage.Driver), Spec: storagev1.CSIDriverSpec{AttachRequired: new(false)}})
		c.Settle()
		c.pod("web", "node-b")
		c.requireAttached(t)
	})
}

// A failure of the driver is an event about the pods.
func TestAttachError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startWith(t, "example.com", attachdetach.Options{}, corev1.ReadWriteOnce)
		c.pod("web", "node-a")
		all := controllertest.List[*storagev1.VolumeAttachment](c.Cluster, "")
		require.Len(t, all, 1)
		controllertest.UpdateStatus(c.Cluster, "", all[0].Name, func(a *storagev1.VolumeAttachment) {
			a.Status.AttachError = &storagev1.VolumeError{Message: "no room"}
		})
		c.Settle()
		require.Contains(t, c.messages("web"), `FailedAttachVolume: AttachVolume.Attach failed for volume "disk" : no room`)
	})
}

// Disks of the kinds iscsi and fc are in the status of the nodes whose pods use them, and leave it when their
// node has unmounted them. One that only one node may use goes to another node after that.
func TestDisks(t *testing.T) {
	const target = "kubernetes.io/iscsi/10.0.0.1:iqn.2020-01.com.example:disks:3"
	const fabric = "kubernetes.io/fc/[500a0982991b8dc5]:1"
	iscsi := &corev1.ISCSIPersistentVolumeSource{TargetPortal: "10.0.0.1", IQN: "iqn.2020-01.com.example:disks", Lun: 3}
	type names = map[string][]corev1.UniqueVolumeName
	at := func(c *cluster) names {
		out := names{}
		for _, n := range controllertest.List[*corev1.Node](c.Cluster, "") {
			for _, v := range n.Status.VolumesAttached {
				out[n.Name] = append(out[n.Name], v.Name)
			}
			slices.Sort(out[n.Name])
		}
		return out
	}
	t.Run("of one node", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := startFrom(t, corev1.PersistentVolumeSource{ISCSI: iscsi}, attachdetach.Options{}, corev1.ReadWriteOnce)
			c.pod("first", "node-a")
			require.Equal(t, names{"node-a": {target}}, at(c))
			require.Equal(t, []string{`SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "disk" `}, c.messages("first"))
			c.using("node-a", target)
			c.pod("second", "node-b")
			require.Equal(t, names{"node-a": {target}}, at(c))
			require.Equal(t, []string{`FailedAttachVolume: Multi-Attach error for volume "disk" Volume is already used by pod(s) first`}, c.messages("second"))
			c.kill("first")
			c.Sleep(time.Hour)
			require.Equal(t, names{"node-a": {target}}, at(c), "it is mounted there")
			c.using("node-a")
			require.Equal(t, names{"node-b": {target}}, at(c))
			require.Empty(t, controllertest.List[*storagev1.VolumeAttachment](c.Cluster, ""))
		})
	})
	t.Run("of a node that is not ready", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := startFrom(t, corev1.PersistentVolumeSource{ISCSI: iscsi}, attachdetach.Options{}, corev1.ReadWriteOnce)
			c.pod("first", "node-a")
			c.using("node-a", target)
			c.setReady("node-a", corev1.ConditionUnknown)
			c.kill("first")
			c.pod("second", "node-b")
			c.Sleep(5 * time.Minute)
			require.Equal(t, names{"node-a": {target}}, at(c))
			c.Sleep(2 * time.Minute)
			require.Equal(t, names{"node-b": {target}}, at(c))
		})
	})
	t.Run("that is part of pods", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := startFrom(t, corev1.PersistentVolumeSource{ISCSI: iscsi}, attachdetach.Options{}, corev1.ReadWriteMany)
			for i, name := range []string{"first", "second"} {
				p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
				p.Spec.NodeName, p.Spec.Containers = []string{"node-a", "node-b"}[i], []corev1.Container{{Name: "main", Image: "app:1"}}
				p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{FC: &corev1.FCVolumeSource{TargetWWNs: []string{"500a0982991b8dc5"}, Lun: new(int32(1))}}}}
				controllertest.Create(c.Cluster, p)
			}
			c.pod("third", "node-b")
			c.Sleep(time.Second) // of two writes of the status of a node, one is a conflict
			require.Equal(t, names{"node-a": {fabric}, "node-b": {fabric, target}}, at(c))
			require.Equal(t, []string{`SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "data" `}, c.messages("first"))
			c.kill("first")
			c.kill("third")
			c.Sleep(time.Second)
			require.Equal(t, names{"node-b": {fabric}}, at(c))
		})
	})
}
