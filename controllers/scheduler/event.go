package scheduler

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// EventKind is a set of kinds of events.
type EventKind int

// The kinds of events.
const (
	// NodeAdd is a node that is new.
	NodeAdd EventKind = 1 << iota
	// NodeUpdate is a node whose labels, taints, resources or images changed.
	NodeUpdate
	// NodeDelete is a node that is gone; that may satisfy topology spread constraints.
	NodeDelete
	// AssignedPodAdd is a pod that was placed on a node.
	AssignedPodAdd
	// AssignedPodUpdate is a pod on a node whose labels or resources changed.
	AssignedPodUpdate
	// AssignedPodDelete is a pod that ended, was deleted, or gave up room that was kept for it.
	AssignedPodDelete
	// NamespaceUpdate is a namespace whose labels changed.
	NamespaceUpdate
	// ClaimEvent is a PersistentVolumeClaim that is new, has changed or is gone; the same for the others.
	ClaimEvent
	// VolumeEvent is that of a PersistentVolume.
	VolumeEvent
	// StorageClassEvent is that of a StorageClass.
	StorageClassEvent
	// CSINodeEvent is that of a CSINode.
	CSINodeEvent
	// CSIDriverEvent is that of a CSIDriver.
	CSIDriverEvent
	// StorageCapacityEvent is that of a CSIStorageCapacity.
	StorageCapacityEvent
	// VolumeAttachmentEvent is that of a VolumeAttachment.
	VolumeAttachmentEvent
	// ResourceClaimEvent is that of a ResourceClaim.
	ResourceClaimEvent
	// ResourceSliceEvent is that of a ResourceSlice.
	ResourceSliceEvent
	// DeviceClassEvent is that of a DeviceClass.
	DeviceClassEvent
	// OtherEvent is that of [Scheduler.Wake].
	OtherEvent

	// NodeEvents, AssignedPodEvents, StorageEvents and DeviceEvents are all of a resource or of several,
	// AllEvents all.
	NodeEvents        = NodeAdd | NodeUpdate | NodeDelete
	AssignedPodEvents = AssignedPodAdd | AssignedPodUpdate | AssignedPodDelete
	StorageEvents     = ClaimEvent | VolumeEvent | StorageClassEvent | CSINodeEvent | CSIDriverEvent | StorageCapacityEvent | VolumeAttachmentEvent
	DeviceEvents      = ResourceClaimEvent | ResourceSliceEvent | DeviceClassEvent
	AllEvents         = NodeEvents | AssignedPodEvents | NamespaceUpdate | StorageEvents | DeviceEvents | OtherEvent
)

// kindNames are the names of kinds; see label for those of metrics.
var kindNames = map[EventKind]string{NodeAdd: "NodeAdd", NodeUpdate: "NodeUpdate", NodeDelete: "NodeDelete", AssignedPodAdd: "AssignedPodAdd",
	AssignedPodUpdate: "AssignedPodUpdate", AssignedPodDelete: "AssignedPodDelete", NamespaceUpdate: "NamespaceUpdate",
	ClaimEvent: "PersistentVolumeClaimChange", VolumeEvent: "PersistentVolumeChange", StorageClassEvent: "StorageClassChange", CSINodeEvent: "CSINodeChange",
	CSIDriverEvent: "CSIDriverChange", StorageCapacityEvent: "CSIStorageCapacityChange", VolumeAttachmentEvent: "VolumeAttachmentChange",
	ResourceClaimEvent: "ResourceClaimChange", ResourceSliceEvent: "ResourceSliceChange", DeviceClassEvent: "DeviceClassChange", OtherEvent: "ForceActivate"}

// String returns the name of a kind; empty for a set of several.
func (k EventKind) String() string { return kindNames[k] }

// Event is a change that may make a waiting pod fit.
type Event struct {
	Kind EventKind
	// OldNode and NewNode are set for events of nodes, except for what was not there.
	OldNode, NewNode *corev1.Node
	// OldPod and NewPod are set for events of pods, except for what was not there.
	OldPod, NewPod *corev1.Pod
	// Old and New are set for events of other objects, except for what was not there.
	Old, New metav1.Object

	// after is the number of the try that had the room which is free again; 0 if it was no try.
	after uint64
}

// concerns reports whether the event may matter to a pod that was refused. Room that is free again of which a
// pod had assumed it, or for which it was kept, matters neither to the pod itself nor to pods that were last
// tried before it had the room: else two pods whose bindings are refused would be tried without end.
func (e *Event) concerns(p *queued) bool {
	return (e.Kind != AssignedPodDelete || e.OldPod == nil || e.OldPod.UID != p.pod.UID) && (e.after == 0 || p.number > e.after)
}

// EnqueueExtensions says which events may make a pod fit that the plugin has refused; of a plugin without it,
// all may.
type EnqueueExtensions interface {
	Plugin
	EventsToRegister() EventKind
}

// QueueingHint looks closer at an event: may it make the refused pod fit? It is called with the queue locked,
// and must neither block nor call the scheduler. A pod is tried for which it fails, or does not return within
// [Options.DecisionTimeout].
type QueueingHint interface {
	EnqueueExtensions
	QueueingHint(e *Event, p *Pod) bool
}

// hint is what is known of a plugin's interest; a nil one is interested in everything.
type hint struct {
	kinds EventKind
	ask   QueueingHint
	// foreign is set for a plugin that is not of this package.
	foreign bool
}

func hintOf(p Plugin) *hint {
	h := &hint{kinds: AllEvents, foreign: isForeign(p)}
	if x, ok := p.(EnqueueExtensions); ok {
		h.kinds = x.EventsToRegister() | OtherEvent
	}
	h.ask, _ = p.(QueueingHint)
	return h
}

func (h *hint) wants(e *Event) bool { return h == nil || h.kinds&e.Kind != 0 }

// looks reports whether the plugin looks at the event and the pod.
func (h *hint) looks(e *Event) bool { return h != nil && h.ask != nil && e.Kind != OtherEvent }
