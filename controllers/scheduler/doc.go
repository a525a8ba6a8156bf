// Package scheduler assigns pods to nodes: as a controller, as a library for schedulers of your own, and as a
// simulation.
//
// [Add] runs it as a controller, [New] also returns it. Pods wait in a queue ordered by priority, and a pod
// that fits on no node waits until an event that may satisfy one of the plugins that refused it. A placement
// is assumed as soon as it is decided, so that concurrent bindings never overcommit a node; all profiles
// share that state. The resources of a binding whose response was lost stay reserved until a read of the pod
// or the watch shows its result, or until it is too old to be written any more, even when a later try was
// refused.
//
// # Plugins
//
// A [Profile] is a list of plugins with weights; [Default] has those of Kubernetes 1.36 with their names,
// arguments and weights. A plugin implements the points it wants. The points of kube-scheduler's framework
// are here:
//
//	PreEnqueue, QueueSort                  PreEnqueuePlugin, QueueSortPlugin
//	PreFilter, Filter                      PreFilterPlugin, with a NodeFilter; FilterPlugin
//	PostFilter                             PostFilterPlugin
//	PlacementGenerate, PlacementScore      PlacementGeneratePlugin, PlacementScorePlugin
//	PodGroupPostFilter                     PodGroupPostFilterPlugin
//	PreScore, Score, NormalizeScore        PreScorePlugin, with a NodeScore; ScorePlugin; Normalizer
//	Reserve, Permit, PreBind, Bind, PostBind   the interfaces of these names
//	EnqueueExtensions, QueueingHintFn      EnqueueExtensions, QueueingHint
//	SignPlugin                             SignPlugin
//	CycleState                             Scratch, and the NodeFilter or NodeScore itself
//	AddPod, RemovePod of PreFilter         none: filters read counters that trials change and restore
//	Handle.GetWaitingPod                   Scheduler.Waiting, Allow, Reject
//	PreBindPreFlight                       PreBindPreFlight
//	PodGroupManager, PodGroupState         PodGroup.Scheduled, PodGroup.Pods
//
// # Decisions
//
// [Cluster] is the state: nodes, the pods on them, and counters. Every change can be taken back
// ([Cluster.Mark], [Cluster.Rollback]); trials of preemption and simulations use that. The pods of one
// topology domain that a constraint or a term selects are counted as they come and go, and what filters say
// of a node's labels and taints is remembered for pods that agree in what these look at, so a decision costs
// as much as the nodes it looks at, whatever the number of pods, and allocates nothing.
//
// Pods that are the same and follow each other are a batch, if their plugins look at one node at a time:
// after the first, only the node of the last one is looked at again. Any other change of the cluster ends it.
// A plugin that is not of this package says with [SignPlugin] which pods are the same to it, and that it
// looks at one node at a time; profiles with one that filters or scores without it have no batches, nor do
// scores that such a plugin normalizes.
//
// [Cluster.Schedule] decides, [Cluster.Explain] says why, [Cluster.Fork] copies the state for simulations;
// [Scheduler.Explain] and [Scheduler.Simulate] do so on the live state.
//
// # Preemption
//
// A pod that fits on no node may preempt pods of lower priority: as few and of as low priority as possible,
// and those protected by a PodDisruptionBudget last. Its resources are reserved when that is decided, the
// nomination is written before the first victim is marked, all victims are marked before the first is
// deleted, and the pod is scheduled again when the last one is deleted.
//
// # Groups
//
// With [Options.PodGroups] all pods of a PodGroup that wait are tried together, each beside those before it,
// and all of that is taken back; then the group is placed at once, or not at all. With [GangScheduling] it is
// placed if minCount of its pods have nodes, counting those that have some already, and with
// [TopologyPlacementGenerator] its pods are tried in one domain after the other and placed in the best. Pods
// that are not placed hold nothing, and are tried again after their back-off. What is said of them is in the
// condition PodGroupScheduled of the PodGroup. Of the features of kube-scheduler, GenericWorkload is
// Options.PodGroups, GangScheduling and TopologyAwareWorkloadScheduling are the plugins of a profile, and
// WorkloadAwarePreemption is [Options.PodGroupPreemption].
//
// # Volumes
//
// A node must have all volumes of a pod, be they bound, free to be bound, or to be made there. What a pod is
// to get is reserved with its place: two pods never count on one volume. Before the pod is bound, its volumes
// refer to its claims, or its claims name the node for their provisioner, and all claims are bound; pods that
// wait for that do not hold up others.
//
// # Devices
//
// The claims of a pod are allocated for a node as the allocator of kube-scheduler does, with all of DRA that
// is on by default in 1.36: selectors, alternatives, administrative access, partitions, shares, taints,
// binding conditions and extended resources. What a pod is to get is reserved with its place; pods that share
// a claim which is not written yet are placed where its devices are. DeviceTaintRules, which are off by
// default in 1.36, are not looked at.
//
// # Differences from kube-scheduler
//
// Pods are ended for a group only if it fits then as a whole; kube-scheduler ends what each of its pods
// needs, also if the group does not fit even so. Groups that extenders are called for, or whose devices are
// searched for long, end no others. Ties are broken by the pod's UID, so that an explanation equals the
// decision that follows.
package scheduler
