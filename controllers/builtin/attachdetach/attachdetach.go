// Package attachdetach has volumes of CSI drivers attached to the nodes of the pods that use them, and
// detached when no pod does. It writes VolumeAttachments, which a driver's attacher carries out, and reports
// attached volumes in the status of nodes, for their kubelets to mount.
//
// Volumes of the kinds iscsi and fc, which have no drivers, are attached and detached by that report alone,
// also those that are part of a pod.
//
// A volume that only one node may use is attached to another one after it is detached. It is detached after
// its node has unmounted it (status.volumesInUse), which is waited for without limit while the node is ready;
// of one that is not, for [Options.ForceAfter], or not at all if it has the taint
// node.kubernetes.io/out-of-service. A node's report of a volume is taken back before it is detached, so that
// no kubelet begins to mount it meanwhile.
//
// Other volumes that pods define inline, for migrated drivers, are left alone, as are nodes without the
// annotation volumes.kubernetes.io/controller-managed-attach-detach, whose kubelets attach volumes
// themselves.
package attachdetach

import (
	"cmp"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/internal/attachable"
	"github.com/keelson-dev/keelson/controllers/internal/podindex"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// ManagedAnnotation is on nodes whose volumes this controller attaches.
const ManagedAnnotation = "volumes.kubernetes.io/controller-managed-attach-detach"

// Options of the controller.
type Options struct {
	// Concurrency is the number of volumes reconciled concurrently; 0 means 10.
	Concurrency int
	// ForceAfter is how long a node that is not ready may take to unmount a volume that no pod uses, before
	// it is detached in any case; 0 means 6 minutes. Data that the node has not written is lost.
	ForceAfter time.Duration
	// NeverForce detaches nothing that a node has not unmounted, but for the out-of-service taint.
	NeverForce bool
}

type attacher struct {
	opts           Options
	volumes        informers.Lister[*corev1.PersistentVolume]
	disks          diskIndexes
	byNode         informers.Index[*storagev1.VolumeAttachment]
	attachments    informers.Index[*storagev1.VolumeAttachment]
	attachmentsAPI *client.Client[*storagev1.VolumeAttachment]
	claims         informers.Lister[*corev1.PersistentVolumeClaim]
	pods           informers.Index[*corev1.Pod]
	onNodes        podindex.Pods
	nodes          informers.Lister[*corev1.Node]
	nodesAPI       *client.Client[*corev1.Node]
	drivers        informers.Lister[*storagev1.CSIDriver]
	recorder       *events.Recorder

	mu sync.Mutex
	// unused is since when no pod uses a volume that is attached to a node. A process that begins waits from
	// its beginning on: that detaches later, never earlier.
	unused map[place]time.Time
}

// place is a volume on a node. The volume is named as requests name it.
type place struct{ volume, node string }

var (
	byVolume = informers.DefineIndex("attachdetach.volume", func(a *storagev1.VolumeAttachment) []string {
		if name := a.Spec.Source.PersistentVolumeName; name != nil {
			return []string{*name}
		}
		return nil
	})
	byNode = informers.DefineIndex("attachdetach.node", func(a *storagev1.VolumeAttachment) []string { return []string{a.Spec.NodeName} })
)

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	opts.ForceAfter = cmp.Or(opts.ForceAfter, 6*time.Minute)
	set := m.Informers()
	attachments := informers.For[*storagev1.VolumeAttachment](set)
	a := &attacher{
		opts: opts, disks: newDiskIndexes(set), volumes: informers.For[*corev1.PersistentVolume](set).Lister(),
		attachments: attachments.Index(byVolume), byNode: attachments.Index(byNode), attachmentsAPI: client.For[*storagev1.VolumeAttachment](m.Conn()),
		claims: informers.For[*corev1.PersistentVolumeClaim](set).Lister(), pods: informers.For[*corev1.Pod](set).Index(podindex.ByClaim), onNodes: podindex.Of(set),
		nodes: informers.For[*corev1.Node](set).Lister(), nodesAPI: client.For[*corev1.Node](m.Conn()),
		drivers: informers.For[*storagev1.CSIDriver](set).Lister(), recorder: m.Recorder("attachdetach-controller"), unused: map[place]time.Time{},
	}
	_, err := controllers.Add(m, "persistentvolume-attach-detach", reconcile.Func(a.reconcile),
		controllers.Options{Options: controller.Options{Concurrency: cmp.Or(opts.Concurrency, 10)}},
		controllers.For(controllers.Matching(func(v *corev1.PersistentVolume) bool { return v.Spec.CSI != nil })),
		controllers.Watches(volumeOfAttachment), controllers.Watches(a.volumeOfClaim), controllers.Watches(a.volumesOfPod), controllers.Watches(diskOfVolume),
		controllers.Watches(a.volumesOfNode, nodeChanged), controllers.Reads[*storagev1.CSIDriver]())
	return err
}

func volumeOfAttachment(e informers.Event[*storagev1.VolumeAttachment]) []reconcile.Request {
	if name := e.Object().Spec.Source.PersistentVolumeName; name != nil {
		return []reconcile.Request{{Name: *name}}
	}
	return nil
}

func (a *attacher) volumeOfClaim(e informers.Event[*corev1.PersistentVolumeClaim]) []reconcile.Request {
	if name := e.Object().Spec.VolumeName; name != "" {
		return []reconcile.Request{a.request(name)}
	}
	return nil
}

// request is the one of a PersistentVolume. A volume that cannot be read now brings its own when it can.
func (a *attacher) request(volume string) reconcile.Request {
	req := reconcile.Request{Name: volume}
	_ = a.volumes.View(req, func(v *corev1.PersistentVolume) {
		if disk := attachable.Persistent(&v.Spec.PersistentVolumeSource); disk != "" {
			req.Name = string(disk)
		}
	})
	return req
}

// volumesOfPod are the volumes of a pod that gets a node, ends or is deleted.
func (a *attacher) volumesOfPod(e informers.Event[*corev1.Pod]) (out []reconcile.Request) {
	p := e.Object()
	if p.Spec.NodeName == "" || e.Type == informers.Updated && uses(p) && uses(e.Old()) && e.Old().UID == p.UID {
		return nil
	}
	return a.volumesOf(p)
}

// volumesOf are the volumes of the claims of a pod, and the disks that are part of it.
func (a *attacher) volumesOf(p *corev1.Pod) (out []reconcile.Request) {
	for _, disk := range disksOf(p) {
		out = append(out, reconcile.Request{Name: disk})
	}
	for _, key := range p.VolumeClaims() {
		// A claim that cannot be read now brings its volume when it can.
		_ = a.claims.View(key, func(c *corev1.PersistentVolumeClaim) {
			if c.Spec.VolumeName != "" {
				out = append(out, a.request(c.Spec.VolumeName))
			}
		})
	}
	return out
}

// volumesOfNode are the volumes that are attached to a node and, if the node is new or begins to be managed,
// those of its pods.
func (a *attacher) volumesOfNode(e informers.Event[*corev1.Node]) (out []reconcile.Request) {
	// An attachment or a pod that cannot be read now brings its volume when it can.
	_ = a.byNode.View(e.Key.Name, func(v *storagev1.VolumeAttachment) bool {
		if name := v.Spec.Source.PersistentVolumeName; name != nil {
			out = append(out, reconcile.Request{Name: *name})
		}
		return true
	})
	for _, disk := range disksOfNode(e) {
		out = append(out, reconcile.Request{Name: disk})
	}
	if e.Type == informers.Deleted || e.Type == informers.Updated && e.Old().Annotations[ManagedAnnotation] == e.New().Annotations[ManagedAnnotation] {
		return out
	}
	pods, _ := a.onNodes.OnNode(e.Key.Name)
	for _, p := range pods {
		out = append(out, a.volumesOf(p)...)
	}
	return out
}
