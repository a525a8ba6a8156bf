package attachdetach

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/controllers/internal/attachable"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// diskIndexes find the disks of the kinds that have no drivers, by their names in the status of nodes, which
// requests have too.
type diskIndexes struct {
	volumes informers.Index[*corev1.PersistentVolume]
	pods    informers.Index[*corev1.Pod]
	nodes   informers.Index[*corev1.Node]
}

func newDiskIndexes(set *informers.Set) diskIndexes {
	return diskIndexes{volumes: informers.For[*corev1.PersistentVolume](set).Index(volumesByDisk), pods: informers.For[*corev1.Pod](set).Index(podsByDisk),
		nodes: informers.For[*corev1.Node](set).Index(nodesByDisk)}
}

var (
	volumesByDisk = informers.DefineIndex("attachdetach.volumesByDisk", func(v *corev1.PersistentVolume) []string {
		if disk := attachable.Persistent(&v.Spec.PersistentVolumeSource); disk != "" {
			return []string{string(disk)}
		}
		return nil
	})
	podsByDisk = informers.DefineIndex("attachdetach.podsByDisk", func(p *corev1.Pod) []string {
		if p.Spec.NodeName == "" {
			return nil
		}
		return disksOf(p)
	})
	nodesByDisk = informers.DefineIndex("attachdetach.nodesByDisk", disksAt)
)

// disksOf are the disks that are part of a pod, each once.
func disksOf(p *corev1.Pod) (disks []string) {
	for i := range p.Spec.Volumes {
		if disk := string(attachable.Inline(&p.Spec.Volumes[i].VolumeSource)); disk != "" && !slices.Contains(disks, disk) {
			disks = append(disks, disk)
		}
	}
	return disks
}

// disksAt are the disks that the status of a node has.
func disksAt(n *corev1.Node) (disks []string) {
	for _, v := range n.Status.VolumesAttached {
		if attachable.Named(v.Name) {
			disks = append(disks, string(v.Name))
		}
	}
	return disks
}

// disksOfNode are the disks that the status of a node has or had: one that it had may go to another node.
func disksOfNode(e informers.Event[*corev1.Node]) []string {
	disks := disksAt(e.Object())
	if e.Type == informers.Updated {
		disks = append(disks, disksAt(e.Old())...)
	}
	return disks
}

func diskOfVolume(e informers.Event[*corev1.PersistentVolume]) []reconcile.Request {
	if disk := attachable.Persistent(&e.Object().Spec.PersistentVolumeSource); disk != "" {
		return []reconcile.Request{{Name: string(disk)}}
	}
	return nil
}

// reconcileDisk attaches and detaches a disk, which is nothing but the report in the status of its node.
func (a *attacher) reconcileDisk(ctx context.Context, disk corev1.UniqueVolumeName) (reconcile.Result, error) {
	s, err := a.stateOfDisk(disk)
	if err != nil {
		return reconcile.Result{}, err
	}
	p := decide(s, &a.opts)
	for _, n := range p.notes {
		a.recorder.Event(n.pod, corev1.EventTypeWarning, "FailedAttachVolume", n.message)
	}
	var errs []error
	for _, node := range p.attach {
		errs = append(errs, a.report(ctx, s, node))
	}
	for _, at := range p.detach {
		done, err := a.withdraw(ctx, s, at.Spec.NodeName)
		if done {
			a.mu.Lock()
			delete(a.unused, place{s.id, at.Spec.NodeName})
			a.mu.Unlock()
		}
		errs = append(errs, err)
	}
	return reconcile.Result{RequeueAfter: p.again}, errors.Join(errs...)
}

// stateOfDisk reads what the decision about a disk needs. The volume is the PersistentVolume, or one that
// stands for what is part of pods, and which many nodes may have. The attachments are what nodes report.
func (a *attacher) stateOfDisk(disk corev1.UniqueVolumeName) (*state, error) {
	s := &state{id: string(disk), name: disk, now: time.Now()}
	var volumes []*corev1.PersistentVolume
	err1 := a.disks.volumes.View(s.id, func(v *corev1.PersistentVolume) bool {
		volumes = append(volumes, v)
		return true
	})
	err2 := a.disks.pods.View(s.id, func(p *corev1.Pod) bool {
		if uses(p) {
			s.pods = append(s.pods, p)
			for i := range p.Spec.Volumes {
				if v := &p.Spec.Volumes[i]; s.volume == nil && attachable.Inline(&v.VolumeSource) == disk {
					s.volume = &corev1.PersistentVolume{}
					s.volume.Name = v.Name
				}
			}
		}
		return true
	})
	err3 := a.disks.nodes.View(s.id, func(n *corev1.Node) bool {
		at := &storagev1.VolumeAttachment{}
		at.Spec.NodeName, at.Status.Attached = n.Name, true
		s.attachments = append(s.attachments, at)
		return true
	})
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	for _, v := range volumes {
		pods, err := a.podsOfClaim(v)
		if err != nil {
			return nil, err
		}
		if s.volume == nil || len(pods) > 0 {
			s.volume = v
		}
		s.pods = append(s.pods, pods...)
	}
	if s.volume == nil {
		s.volume = &corev1.PersistentVolume{}
		s.volume.Name = s.id
	}
	return s, a.readNodes(s)
}
