package selinuxwarning_test

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
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/selinuxwarning"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// start starts a cluster with the controller, which has its own rights only, a driver that mounts with labels
// and a claim of one of its volumes.
func start(t *testing.T) *controllertest.Cluster { return startWith(t, nil) }

// startWith is start with a table of the conflicts.
func startWith(t *testing.T, found *selinuxwarning.Conflicts) *controllertest.Cluster {
	c := controllertest.Start(t, controllertest.Options{})
	account := client.User{Name: "system:serviceaccount:kube-system:selinux-warning-controller", Groups: []string{"system:authenticated"}}
	c.Run(c.ManagerOver(c.Conn(account), "controllers", func(m *manager.Manager) error {
		return selinuxwarning.Add(m, selinuxwarning.Options{Conflicts: found})
	}))
	controllertest.Create(c, &storagev1.CSIDriver{ObjectMeta: controllertest.Name("", "csi.example.com"), Spec: storagev1.CSIDriverSpec{SELinuxMount: new(true)}})
	bound(c, "default", "data")
	c.Settle()
	return c
}

// bound creates a claim and the volume that it is bound to, with the same name as the disk.
func bound(c *controllertest.Cluster, namespace, name string) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name(namespace, name)}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	claim.Spec.Resources.Requests = corev1.ResourceList{"storage": resource.MustParse("1Gi")}
	claim.Spec.VolumeName = namespace + "-" + name
	claim = controllertest.Create(c, claim)
	v := &corev1.PersistentVolume{ObjectMeta: controllertest.Name("", claim.Spec.VolumeName)}
	v.Spec.AccessModes, v.Spec.Capacity = claim.Spec.AccessModes, claim.Spec.Resources.Requests
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: name}
	v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: namespace, Name: name, UID: claim.UID}
	controllertest.Create(c, v)
}

// pod creates one that mounts the claim data.
func pod(c *controllertest.Cluster, namespace, name string, edit func(*corev1.Pod)) {
	p := &corev1.Pod{ObjectMeta: controllertest.Name(namespace, name)}
	p.Spec.SecurityContext = &corev1.PodSecurityContext{}
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image", VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/data"}}}}
	edit(p)
	controllertest.Create(c, p)
	c.Settle()
}

func level(level string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Level: level} }
}

// events returns what was reported of pods, in order.
func events(c *controllertest.Cluster, namespace string) (out []string) {
	c.Sleep(time.Minute) // they are written together
	for _, e := range controllertest.List[*corev1.Event](c, namespace) {
		out = append(out, fmt.Sprintf("%s %s %s %s", e.InvolvedObject.Name, e.Type, e.Reason, e.Message))
	}
	slices.Sort(out)
	return out
}

// Two pods with clashing labels on one volume get an event each.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t)
		pod(c, "default", "first", level("s0:c1,c2"))
		pod(c, "default", "second", level("s0:c3,c4"))
		for _, e := range events(c, "default") {
			fmt.Println(e)
		}
	})
	// Output:
	// first Normal SELinuxLabelConflict SELinuxLabel ":::s0:c1,c2" conflicts with pod second that uses the same volume as this pod with SELinuxLabel ":::s0:c3,c4". If both pods land on the same node, only one of them may access the volume.
	// second Normal SELinuxLabelConflict SELinuxLabel ":::s0:c3,c4" conflicts with pod first that uses the same volume as this pod with SELinuxLabel ":::s0:c1,c2". If both pods land on the same node, only one of them may access the volume.
}

// conflicts runs two pods and returns how many events there are by reason.
func conflicts(t *testing.T, first, second func(*corev1.Pod), before func(*controllertest.Cluster)) map[string]int {
	out := map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		if before != nil {
			before(c)
		}
		pod(c, "default", "first", first)
		pod(c, "default", "second", second)
		c.Sleep(time.Minute)
		for _, e := range controllertest.List[*corev1.Event](c, "default") {
			out[e.Reason]++
		}
	})
	return out
}

func TestConflicts(t *testing.T) {
	a, b := level("s0:c1"), level("s0:c2")
	typed := func(kind string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{Type: kind, Level: "s0:c1"}
		}
	}
	recursive := func(p *corev1.Pod) {
		b(p)
		p.Spec.SecurityContext.SELinuxChangePolicy = new(corev1.SELinuxChangePolicyRecursive)
	}
	of := func(reason string, n int) map[string]int { return map[string]int{reason: n} }
	none := map[string]int{}
	plain := func(*corev1.Pod) {}
	require.Equal(t, of("SELinuxLabelConflict", 2), conflicts(t, a, b, nil))
	require.Equal(t, none, conflicts(t, a, a, nil))
	require.Equal(t, none, conflicts(t, plain, plain, nil))
	require.Equal(t, none, conflicts(t, a, typed("container_t"), nil), "the type of the first is a default of its node")
	require.Equal(t, of("SELinuxLabelConflict", 2), conflicts(t, typed("spc_t"), typed("container_t"), nil))
	// One without a label changes the labels of files, so both the policies and the labels differ.
	for _, second := range []func(*corev1.Pod){recursive, plain} {
		require.Equal(t, map[string]int{"SELinuxLabelConflict": 2, "SELinuxChangePolicyConflict": 2}, conflicts(t, a, second, nil))
	}
	require.Equal(t, of("MultipleSELinuxLabels", 1), conflicts(t, func(p *corev1.Pod) {
		a(p)
		other := p.Spec.Containers[0]
		other.Name, other.SecurityContext = "other", &corev1.SecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: "s0:c9"}}
		p.Spec.Containers = append(p.Spec.Containers, other)
	}, b, nil))
	require.Equal(t, none, conflicts(t, a, func(p *corev1.Pod) {
		b(p)
		p.Spec.Containers[0].VolumeMounts = nil
	}, nil), "it is not mounted")
	require.Equal(t, none, conflicts(t, a, b, func(c *controllertest.Cluster) {
		controllertest.Update(c, "", "csi.example.com", func(d *storagev1.CSIDriver) { d.Spec.SELinuxMount = new(false) })
	}), "the driver does not mount with labels")
}

// What was decided before is looked at again: a claim that is bound later, a driver that mounts with labels
// from then on, and a pod that has ended is no conflict.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		controllertest.Update(c, "", "csi.example.com", func(d *storagev1.CSIDriver) { d.Spec.SELinuxMount = new(false) })
		pod(c, "default", "first", level("s0:c1"))
		pod(c, "default", "second", level("s0:c2"))
		require.Empty(t, events(c, "default"))
		controllertest.Update(c, "", "csi.example.com", func(d *storagev1.CSIDriver) { d.Spec.SELinuxMount = new(true) })
		require.NotEmpty(t, events(c, "default"))
	})
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		pod(c, "default", "first", level("s0:c1"))
		controllertest.UpdateStatus(c, "default", "first", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
		c.Settle()
		pod(c, "default", "second", level("s0:c2"))
		require.Empty(t, events(c, "default"))
		controllertest.Create(c, &corev1.Namespace{ObjectMeta: controllertest.Name("", "other")})
		pod(c, "other", "third", level("s0:c3"))
		require.Empty(t, events(c, "other"), "its claim does not exist yet")
		bound(c, "other", "data") // the same disk
		for _, namespace := range []string{"default", "other"} {
			list := events(c, namespace)
			require.Len(t, list, 1)
			require.Contains(t, list[0], `SELinuxLabel":::s0:c`)
			require.Contains(t, list[0], `" conflicts with another pod that uses the same volume as this pod with a different SELinuxLabel. If both`, "nothing is said of other namespaces")
		}
	})
}

// The conflicts that exist can be read: those of pods that have ended do not.
func TestAllConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var found selinuxwarning.Conflicts
		require.Empty(t, found.All())
		c := startWith(t, &found)
		pod(c, "default", "first", level("s0:c1"))
		pod(c, "default", "second", level("s0:c2"))
		require.ElementsMatch(t, []selinuxwarning.Conflict{
			{Property: "SELinuxLabel", Pod: name("first"), Other: name("second"), Value: ":::s0:c1", OtherValue: ":::s0:c2"},
			{Property: "SELinuxLabel", Pod: name("second"), Other: name("first"), Value: ":::s0:c2", OtherValue: ":::s0:c1"},
		}, found.All())
		pod(c, "default", "third", func(*corev1.Pod) {})
		require.Len(t, found.All(), 2+2*2*2, "with both, in label and policy")
		controllertest.UpdateStatus(c, "default", "third", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
		controllertest.Delete[*corev1.Pod](c, "default", "first")
		c.Settle()
		require.Empty(t, found.All())
	})
}

func name(pod string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: pod}
}

// Containers with several labels are reported whatever volume they share.
func TestSeveralLabelsOfAPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		pod(c, "default", "scratch", func(p *corev1.Pod) {
			level("s0:c1")(p)
			p.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
			other := p.Spec.Containers[0]
			other.Name, other.SecurityContext = "other", &corev1.SecurityContext{SELinuxOptions: &corev1.SELinuxOptions{Level: "s0:c2"}}
			p.Spec.Containers = append(p.Spec.Containers, other)
		})
		require.Equal(t, []string{`scratch Warning MultipleSELinuxLabels Volume "v" is mounted twice with different SELinux labels inside this pod`}, events(c, "default"))
	})
}

// A pod without volumes, and one whose claim is missing, are no errors.
func TestBadInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		pod(c, "default", "none", func(p *corev1.Pod) { p.Spec.Volumes, p.Spec.Containers[0].VolumeMounts = nil, nil })
		pod(c, "default", "missing", func(p *corev1.Pod) { p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "missing" })
		require.Empty(t, events(c, "default"))
		require.False(t, controllertest.Exists[*corev1.PersistentVolumeClaim](c, "default", "missing"))
	})
}
