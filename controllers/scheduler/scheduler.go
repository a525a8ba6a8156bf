package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

// DefaultName is the schedulerName of pods that do not set one.
const DefaultName = "default-scheduler"

// Options of the scheduler.
type Options struct {
	// Names are the values of spec.schedulerName of the pods to schedule with the default profile; empty
	// means DefaultName, unless there are Profiles. All names share one view of the free resources. A second
	// scheduler for the same nodes would overcommit them, so Add rejects a second one on the same manager.
	Names []string
	// Profiles are the profiles of further scheduler names. All must sort the queue with the same plugin.
	Profiles []*Profile
	// Binders is the number of concurrent bindings; 0 means 32.
	Binders int
	// Random breaks ties and returns a number in [0, n); nil breaks them by the pod's UID, so that
	// [Scheduler.Explain] says what will be decided.
	Random func(n int) int
	// InitialBackoff and MaxBackoff limit how long a pod waits that could not be placed; it doubles with
	// every attempt. 0 means 1 s and 10 s.
	InitialBackoff, MaxBackoff time.Duration
	// Extenders are called in their order for the pods that they are interested in. At most one of them may
	// bind.
	Extenders []Extender
	// PluginTimeout limits each call of Permit, PreBind, Bind and PostBind, whose context ends then; 0 means
	// 15 minutes. A plugin that does not return even so has failed.
	PluginTimeout time.Duration
	// DecisionTimeout limits how long all calls of one decision may take, from PreFilter to Reserve, of
	// plugins that are not of this package; 0 means 1 s. Nothing else is decided meanwhile. The plugin that
	// runs then has failed and is left behind: it is not called before it has returned and 30 s are over.
	// Until then the attempts fail of all pods whose profile has it. It also limits each call of PreEnqueue,
	// QueueSort, queueing hints and Unreserve; what becomes of these says the documentation of each.
	DecisionTimeout time.Duration
	// DelayCache lets the scheduler read the cluster only when Run begins, which is when this process becomes
	// the leader: until then it needs no memory, and after that it decides later. [Scheduler.Explain] and
	// [Scheduler.Simulate] see an empty cluster before.
	DelayCache bool
	// PodGroups lets pods with spec.schedulingGroup be scheduled together with the others of their PodGroup
	// (scheduling.k8s.io/v1alpha2), which the server must serve; a gang also needs the plugin
	// [GangScheduling] in its profile. Without it they are scheduled one by one.
	PodGroups bool
	// PodGroupPreemption lets a group that fits nowhere preempt others as a whole, by the priority of the
	// PodGroup, instead of each pod for itself.
	PodGroupPreemption bool
	// NoBatching decides about each pod from the start. Otherwise what was found for a pod serves those after
	// it that are the same, if nothing else has changed; the decisions are the same, but that in large
	// clusters the nodes found by one search serve several pods. It is the feature OpportunisticBatching of
	// Kubernetes.
	NoBatching bool
	// NoExpectedNode leaves out of the status of a pod on which node it will be. Otherwise
	// status.nominatedNodeName has it while the binding waits for Permit or PreBind plugins, for volumes or
	// for devices: the feature NominatedNodeNameForExpectation of Kubernetes.
	NoExpectedNode bool
	// Metrics are called as things happen; nil functions are not.
	Metrics Metrics
}

// Metrics measure a scheduler. The functions must not block; they are called concurrently.
type Metrics struct {
	// Attempt is called after every attempt to place a pod: result is "scheduled", "unschedulable" or
	// "error".
	Attempt func(profile, result string, took time.Duration)
	// GroupAttempt is called after every attempt to place the pods of a PodGroup: result is "scheduled",
	// "unschedulable", "waiting_on_preemption" or "error"; decided is how long the decision took, and took
	// how long the attempt without the bindings.
	GroupAttempt func(profile, result string, decided, took time.Duration)
	// Batch is called in every decision: result is "hint_used" for one that uses what was found for the pod
	// before, else "no_hint"; took is how long it took to find that out.
	Batch func(profile, result string, took time.Duration)
	// BatchEnded is called when what was found for a pod is of no more use: reason is "cluster_changed",
	// "pod_failed", "pod_not_batchable", "pod_incompatible" or "empty_list".
	BatchEnded func(profile, reason string)
	// BatchKept is called when what was found for a pod was kept for others, or could not be, with how long
	// that took.
	BatchKept func(profile string, took time.Duration)
	// Queued is called when a pod enters a part of the queue, which is "active", "backoff" or
	// "unschedulable", because of an event.
	Queued func(queue, event string)
	// ScheduledAfterFlush is called for every pod that was bound after a try that no event has caused, but
	// only that it had waited for 5 minutes: an event is missing then, or a queueing hint is wrong.
	ScheduledAfterFlush func()
	// PermitWaited is called for every pod that Permit plugins have delayed, with the code of what was
	// decided and how long it waited.
	PermitWaited func(result string, took time.Duration)
	// Scheduled is called for every pod that was bound, with how long it was in the queue and how often it
	// was tried.
	Scheduled func(profile string, since time.Duration, attempts int)
	// PluginFailed is called for every failure of a plugin: an error, a panic, a score out of range, or a
	// call that did not return in time.
	PluginFailed func(profile, plugin string)
	// Preempted is called with the number of pods that are preempted for another one.
	Preempted func(victims int)
	// VictimsEnded is called when these have been ended, or could not be: result is "success" or "error".
	VictimsEnded func(result string, took time.Duration)
	// Point is called when a pod has passed a point of the framework, with the point's name in kube-scheduler
	// and the code of the answer. A pod that continues a batch passes none of the decision.
	Point func(profile, point, status string, took time.Duration)
	// Plugin is called for calls of plugins in one attempt of ten; where each node needs one, for the first
	// node.
	Plugin func(plugin, point, status string, took time.Duration)
	// Event is called when an event of the API was taken in; the names are those of kube-scheduler.
	Event func(event string, took time.Duration)
	// Hint is called with what a plugin says of an event and a pod that it has refused, "Queue" or
	// "QueueSkip"; of the pods that one event is looked at for, with the first.
	Hint func(plugin, event, hint string, took time.Duration)
	// ClaimCreated is called when a claim for extended resources was created, or could not be: status is
	// "success" or "failure".
	ClaimCreated func(status string)
	// DeviceWaited is called for each device of a pod that has waited for binding conditions, and says
	// whether these are the device's own: status is "success", "failure", "timeout" or "error".
	DeviceWaited func(profile, driver, status string, own bool, took time.Duration)
}

// Scheduler is a running scheduler. Its methods may be used concurrently.
type Scheduler struct {
	opts      Options
	log       *slog.Logger
	pods      *client.Client[*corev1.Pod]
	bind      *client.Sub[*corev1.Binding]
	profiles  map[string]*Profile
	recorders map[string]*events.Recorder // by scheduler name
	queue     *queue
	informers *informers.Set
	handlers  []*informers.Registration // what cluster is fed by
	follows   atomic.Bool               // once handlers are there
	waiting   waiting
	first     *Profile
	volumes   *volumeBinder
	devices   *deviceBinder
	awaited   awaited
	groups    *client.Client[*schedulingv1alpha2.PodGroup]
	binding   atomic.Int64

	mu      sync.Mutex // guards what follows, and is taken before queue's; never held across I/O
	cluster *Cluster
	members members
	// assumed are placements that were decided but not yet seen in the API.
	assumed map[types.UID]assumption
	// lateRooms are the rooms that are kept for bindings which may still be written, by the pod; rooms is how
	// many there were.
	lateRooms map[types.UID][]types.UID
	rooms     int
	late      sync.WaitGroup
	// entered counts the calls of PreEnqueue plugins for pods.
	entered atomic.Uint64
	// ended is closed when Run returns.
	ended chan struct{}
	// stalls are the plugins that are not called now, by profile.
	stalls     map[string]*stall
	stallPause time.Duration
	calls      callLimits
	// overdue returns a channel that is ready when a decision that begins now has taken too long.
	overdue func() <-chan time.Time
	// searchBudget is how long the search for devices may take in a decision that others wait for.
	searchBudget time.Duration
}

// assumption is a placement that is being written.
type assumption struct {
	node       string
	nomination *nomination // the one it took the place of, nil if none
	// passed is set for a pod of a gang that no other Permit plugin has refused.
	passed bool
}

const (
	runnable      = "scheduler"
	pluginTimeout = 15 * time.Minute
)

// Add adds a scheduler to m. A manager can have only one.
func Add(m *manager.Manager, opts Options) error {
	_, err := New(m, opts)
	return err
}

// New adds a scheduler to m and returns it. A manager can have only one.
func New(m *manager.Manager, opts Options) (*Scheduler, error) {
	if m.Has(runnable) {
		return nil, errors.New("scheduler: the manager already has a scheduler; set all scheduler names in its Options.Names")
	}
	if len(opts.Names)+len(opts.Profiles) == 0 {
		opts.Names = []string{DefaultName}
	}
	opts.Binders, opts.PluginTimeout = cmp.Or(opts.Binders, 32), cmp.Or(opts.PluginTimeout, pluginTimeout)
	opts.DecisionTimeout = cmp.Or(opts.DecisionTimeout, decisionTimeout)
	pods := client.For[*corev1.Pod](m.Conn())
	s := &Scheduler{opts: opts, log: m.Logger(), pods: pods, bind: client.Subresource[*corev1.Binding](pods, "binding"),
		recorders: map[string]*events.Recorder{}, profiles: map[string]*Profile{}, assumed: map[types.UID]assumption{}, lateRooms: map[types.UID][]types.UID{}, stalls: map[string]*stall{}, stallPause: stallPause, searchBudget: searchBudget, waiting: newWaiting(), awaited: newAwaited(), members: newMembers(),
		ended: make(chan struct{})}
	if err := errors.Join(s.setProfiles(), checkExtenders(opts.Extenders)); err != nil {
		return nil, err
	}
	for name := range s.profiles {
		s.recorders[name] = m.Recorder(name)
	}
	s.overdue = func() <-chan time.Time { return time.After(opts.DecisionTimeout) }
	s.calls = callLimits{stalled: map[call]*stall{}, limit: opts.DecisionTimeout, overdue: func(call) <-chan time.Time { return time.After(opts.DecisionTimeout) },
		pause: func() time.Duration { return s.stallPause }}
	s.cluster = NewCluster(opts.Random)
	s.cluster.random, s.cluster.profile, s.cluster.unbatched, s.cluster.measured = opts.Random, s.first, opts.NoBatching, &s.opts.Metrics
	s.volumes = &volumeBinder{s: s, claims: client.For[*corev1.PersistentVolumeClaim](m.Conn()), volumes: client.For[*corev1.PersistentVolume](m.Conn())}
	s.devices = &deviceBinder{s: s, claims: client.For[*resourcev1.ResourceClaim](m.Conn())}
	s.informers = m.Informers()
	s.groups = client.ForResource[*schedulingv1alpha2.PodGroup](m.Conn(), podGroups)
	if !opts.DelayCache {
		s.follow()
	}
	m.Add(runnable, s)
	return s, nil
}

// follow lets the cluster hold what the API has.
func (s *Scheduler) follow() {
	set := s.informers
	s.handlers = []*informers.Registration{
		informers.For[*corev1.Node](set).AddHandler(s.onNode, informers.HandlerOptions{}),
		informers.For[*corev1.Pod](set).AddHandler(s.onPod, informers.HandlerOptions{}),
		informers.For[*corev1.Namespace](set).AddHandler(s.onNamespace, informers.HandlerOptions{}),
		informers.For[*policyv1.PodDisruptionBudget](set).AddHandler(s.onBudget, informers.HandlerOptions{}),
	}
	if s.opts.PodGroups {
		s.handlers = append(s.handlers, informers.ForResource[*schedulingv1alpha2.PodGroup](set, podGroups).AddHandler(s.onPodGroup, informers.HandlerOptions{}))
	}
	s.followVolumes()
	s.followDevices()
	s.followGroupings()
	s.follows.Store(true)
}

// setProfiles collects the profiles and makes the queue that they share.
func (s *Scheduler) setProfiles() error {
	all := slices.Clone(s.opts.Profiles)
	for _, name := range s.opts.Names {
		all = append(all, Default().Named(name))
	}
	s.first = all[0]
	for _, p := range all {
		if p.name == "" || s.profiles[p.name] != nil {
			return fmt.Errorf("scheduler: %q: want scheduler names that are not empty, each once", p.name)
		}
		if err := p.check(); err != nil {
			return fmt.Errorf("scheduler: %w", err)
		}
		if !s.opts.PodGroups && (p.gangEnqueue || p.gangPermit || p.placements()) {
			return fmt.Errorf("scheduler: profile %s: a plugin for groups needs Options.PodGroups", p.name)
		}
		if sorter := s.first.sort; p.sort.Name() != sorter.Name() {
			return fmt.Errorf("scheduler: profiles %s and %s sort the queue with %s and %s: want one plugin", s.first.name, p.name, sorter.Name(), p.sort.Name())
		}
		s.profiles[p.name] = p
	}
	s.queue = newQueue(queueOptions{less: s.sorter(s.first.sort), hints: s.hints, initial: cmp.Or(s.opts.InitialBackoff, backoffInitial),
		max: max(cmp.Or(s.opts.MaxBackoff, backoffMax), s.opts.InitialBackoff), flushedAt: unplacedMax, queued: s.opts.Metrics.Queued, hinted: s.opts.Metrics.Hint, profile: s.profileOf})
	return nil
}

func (s *Scheduler) profileOf(p *Pod) *Profile { return s.profiles[p.pod.Spec.SchedulerName] }

func (s *Scheduler) onNode(e informers.Event[*corev1.Node]) {
	began := time.Now()
	s.handled(s.takeNode(e), began)
}

// takeNode takes in an event of a node, and returns its name in metrics.
func (s *Scheduler) takeNode(e informers.Event[*corev1.Node]) string {
	if e.Type == informers.Deleted {
		s.mu.Lock()
		var old *corev1.Node
		if n := s.cluster.existing(e.Key.Name); n != nil {
			old = n.obj
		}
		s.cluster.RemoveNode(e.Key.Name)
		s.reconsider(e.Key.Name)
		s.mu.Unlock()
		// A domain that is gone may satisfy a spread constraint.
		return s.queue.happened(&Event{Kind: NodeDelete, OldNode: old})
	}
	obj := e.New()
	if obj == nil {
		return "" // undecodable, which the informer reports; the last known state stands
	}
	old := e.Old()
	kind := NodeUpdate
	if e.Type == informers.Added || old == nil {
		kind, old = NodeAdd, nil
	}
	s.mu.Lock()
	s.cluster.SetNode(obj)
	matters := kind == NodeAdd || nodeChange(old, obj) != ""
	if matters {
		s.reconsider(obj.Name)
	}
	s.mu.Unlock()
	if !matters {
		return ""
	}
	return s.queue.happened(&Event{Kind: kind, OldNode: old, NewNode: obj})
}

// reconsider lets the pods be tried again that are nominated to a node which changed: it may not help them
// any more. s.mu is held.
func (s *Scheduler) reconsider(node string) {
	for uid := range s.cluster.nominations.byNode[node] {
		s.queue.again(uid)
	}
}

// nodeChange says what of a node has changed that decisions depend on, as upstream names it; empty for
// nothing, as with heartbeats. Of several changes it is one.
func nodeChange(old, now *corev1.Node) string {
	switch {
	case old.Spec.Unschedulable != now.Spec.Unschedulable || !codec.Equal(&old.Spec.Taints, &now.Spec.Taints):
		return "UpdateNodeTaint"
	case !codec.Equal(&old.Status.Allocatable, &now.Status.Allocatable):
		return "UpdateNodeAllocatable"
	case !codec.Equal(&old.Labels, &now.Labels):
		return "UpdateNodeLabel"
	case !slices.Equal(old.Status.DeclaredFeatures, now.Status.DeclaredFeatures):
		return "UpdateNodeDeclaredFeature"
	}
	return ""
}

func (s *Scheduler) onNamespace(e informers.Event[*corev1.Namespace]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Type == informers.Deleted {
		s.cluster.RemoveNamespace(e.Key.Name)
		return
	}
	if !maps.Equal(s.cluster.namespaces[e.Key.Name], e.Labels) {
		s.cluster.SetNamespace(e.Key.Name, e.Labels)
		s.queue.happened(&Event{Kind: NamespaceUpdate}) // terms select namespaces by label
	}
}

func (s *Scheduler) onBudget(e informers.Event[*policyv1.PodDisruptionBudget]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Type == informers.Deleted {
		s.cluster.RemoveBudget(e.Key)
	} else if obj := e.New(); obj != nil {
		s.cluster.SetBudget(obj)
	}
}

func (s *Scheduler) onPod(e informers.Event[*corev1.Pod]) {
	began := time.Now()
	if e.Type == informers.Deleted {
		s.handled(s.onPodGone(e.UID), began)
		return
	}
	pod := e.New()
	if pod == nil {
		return // undecodable, which the informer reports; the last known state stands
	}
	old := e.Old() // nil for one that is new to us
	if pod.Spec.NodeName != "" {
		s.onBoundPod(old, pod)
		event := AssignedPodUpdate
		if old == nil || old.Spec.NodeName == "" {
			event = AssignedPodAdd
		}
		s.handled(event.String(), began)
		return
	}
	s.onWaitingPod(old, pod)
	switch {
	case s.profiles[pod.Spec.SchedulerName] == nil:
	case old == nil:
		s.handled(podAdded, began)
	default:
		s.handled(podUpdated, began)
	}
}

// onWaitingPod handles a pod on no node.
func (s *Scheduler) onWaitingPod(old, pod *corev1.Pod) {
	info := NewPod(pod)
	ours := s.ours(info)
	var st *Status
	if ours {
		st = s.preEnqueue(info)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ours && st.OK() {
		st = s.lacksClaims(info)
	}
	if s.grouped(info) && s.profileOf(info) != nil && !s.joins(info, ours && st.OK()) && st.OK() {
		st = refusal(UnschedulableAndUnresolvable, gangScheduling, "the group is not complete")
	}
	if !ours || !st.OK() {
		if !ours {
			s.queue.remove(pod.UID)
		} else {
			s.queue.gate(info, st.Plugin, st.Code == Error)
		}
		if s.cluster.unnominate(pod.UID) != nil {
			s.queue.happened(&Event{Kind: AssignedPodDelete, OldPod: pod})
		}
		return
	}
	retry := old == nil || !codec.Equal(&old.Spec, &pod.Spec) || !codec.Equal(&old.Labels, &pod.Labels) ||
		!codec.Equal(&old.Status.ResourceClaimStatuses, &pod.Status.ResourceClaimStatuses)
	if _, decided := s.assumed[pod.UID]; decided {
		s.queue.update(info, retry) // its binding is on the way, and may fail
		return
	}
	s.renominate(info)
	s.queue.set(info, retry)
}

// onPodGone handles the end of a pod; what it took, or what was kept for it, is free. It returns the name of
// the event in metrics.
func (s *Scheduler) onPodGone(uid types.UID) string {
	s.waiting.reject(uid, "the pod was deleted")
	s.awaited.wake(podKey(uid))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.remove(uid)
	var was *corev1.Pod
	if p := s.cluster.pods[uid]; p != nil {
		was = p.pod
	} else if n := s.cluster.nominations.byPod[uid]; n != nil {
		was = n.info.pod
	}
	delete(s.assumed, uid)
	s.endRoom(uid, nil)
	delete(s.cluster.spared, uid)
	s.victimGone(uid)
	group, _ := s.members.remove(uid)
	if p := s.cluster.pods[uid]; p != nil {
		group = p.group
	}
	s.cluster.RemovePod(uid)
	s.regroup(group)
	if was != nil {
		return s.queue.happened(&Event{Kind: AssignedPodDelete, OldPod: was})
	}
	return podDeleted
}

// victimGone lets a pod be tried at once when the last pod it waited for is gone.
func (s *Scheduler) victimGone(uid types.UID) {
	if pod, last := s.cluster.victimGone(uid); last {
		s.queue.hurry(pod)
	}
}

// onBoundPod handles a pod on a node.
func (s *Scheduler) onBoundPod(old, pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.remove(pod.UID)
	delete(s.assumed, pod.UID)
	s.endRoom(pod.UID, nil)
	delete(s.cluster.spared, pod.UID)
	freed := s.cluster.unnominate(pod.UID) != nil
	if pod.HasEnded() {
		freed = freed || old == nil || !old.HasEnded()
		s.victimGone(pod.UID)
	}
	s.cluster.SetPod(pod)
	s.members.remove(pod.UID)
	s.regroup(groupKey(pod))
	switch {
	case freed:
		s.queue.happened(&Event{Kind: AssignedPodDelete, OldPod: pod})
	case pod.HasEnded():
	case old == nil || old.Spec.NodeName == "":
		s.queue.happened(&Event{Kind: AssignedPodAdd, NewPod: pod})
	case !codec.Equal(&old.Labels, &pod.Labels) || old.Generation != pod.Generation || !sameResources(old, pod) || (old.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil):
		s.queue.happened(&Event{Kind: AssignedPodUpdate, OldPod: old, NewPod: pod})
	}
}

// Sizes are the numbers of what a scheduler holds.
type Sizes struct {
	Nodes, Pods int
	// Assumed are pods whose binding was not seen yet, and Binding those that are being bound.
	Assumed, Binding int
	// Events are those that are kept for pods that are being tried.
	Events int
	// Refused are the numbers of pods that wait, by who has refused them.
	Refused map[Refuser]int
}

// Refuser is a plugin of a profile, by their names.
type Refuser struct{ Plugin, Profile string }

// Sizes returns the numbers of what the scheduler holds. Decisions wait meanwhile.
func (s *Scheduler) Sizes() Sizes {
	out := Sizes{Binding: int(s.binding.Load()), Refused: map[Refuser]int{}}
	refused, events := s.queue.refusals()
	out.Events = events
	for by, n := range refused {
		out.Refused[Refuser{by.plugin, by.profile.name}] += n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Nodes, out.Pods, out.Assumed = len(s.cluster.order), len(s.cluster.pods), len(s.assumed)
	return out
}

// Wake lets all pods be tried again that wait for an event: something changed that the scheduler does not
// see, such as the state of a plugin.
func (s *Scheduler) Wake() { s.queue.happened(&Event{Kind: OtherEvent}) }

// Explain says for a pod, which need not exist, what would be decided about it now, and why: for each node
// the plugin that refuses it, or the scores that each plugin gives. Unless ties are broken at random, it is
// the decision that comes next. With all, every node is looked at, even in large clusters. Decisions wait
// meanwhile.
func (s *Scheduler) Explain(pod *corev1.Pod, all bool) (Explanation, error) {
	p := s.profiles[cmp.Or(pod.Spec.SchedulerName, DefaultName)]
	if p == nil {
		return Explanation{}, fmt.Errorf("scheduler: no profile is called %q", pod.Spec.SchedulerName)
	}
	s.mu.Lock()
	if info := NewPod(pod); len(info.devices)+len(info.need.others) > 0 {
		aside := s.cluster.Fork() // the search for devices may take long
		s.mu.Unlock()
		return aside.Explain(p, pod, all), nil
	}
	defer s.mu.Unlock()
	var x Explanation
	if st := s.watched(p, func() { x = s.cluster.Explain(p, pod, all) }); st != nil {
		x = Explanation{All: all, Failed: st}
		x.Nodes, x.Reasons = 1, map[string]int{st.Message(): 1}
	}
	return x, nil
}

// PendingPods are numbers of pods that wait: those that can be tried now, those whose back-off is not over,
// those that fit nowhere and wait for an event, and those that a PreEnqueue plugin keeps out.
type PendingPods struct{ Active, Backoff, Unschedulable, Gated int }

// Pending returns how many pods wait.
func (s *Scheduler) Pending() PendingPods { return s.queue.counts() }

// Simulate returns a copy of the present state, with the first profile, on which pods can be placed, nodes
// added and pods removed while the scheduler goes on.
func (s *Scheduler) Simulate() *Cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster.Fork()
}

// renominate takes in status.nominatedNodeName where the scheduler knows no better: after a restart, or when
// others nominate.
func (s *Scheduler) renominate(info *Pod) {
	all, node := &s.cluster.nominations, info.pod.Status.NominatedNodeName
	have := all.byPod[info.pod.UID]
	switch {
	case have != nil && have.planned:
		have.info = info
	case node == "":
		all.remove(info.pod.UID)
	case have != nil && have.node == node:
		have.info = info
	default:
		all.add(info, node, nil)
	}
}

// ours reports whether the pod is to be placed by this scheduler, now or later.
func (s *Scheduler) ours(p *Pod) bool {
	return s.profileOf(p) != nil && p.pod.DeletionTimestamp == nil && !p.pod.HasEnded()
}

// enters calls the PreEnqueue plugins at the begin of a try, if they are to be called again.
func (s *Scheduler) enters(t *try) bool {
	if !t.recheck {
		return true
	}
	st := s.preEnqueue(t.Pod)
	if st.OK() && len(t.devices) > 0 {
		s.mu.Lock()
		st = s.lacksClaims(t.Pod)
		s.mu.Unlock()
	}
	if st.OK() && s.grouped(t.Pod) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if p := s.members.of[t.group][t.pod.UID]; p != nil {
			p.mine = true
		}
		if !s.complete(t.Pod) {
			st = refusal(UnschedulableAndUnresolvable, gangScheduling, "the group is not complete")
		}
	}
	if !st.OK() {
		s.queue.gateTry(t, st.Plugin, st.Code == Error)
	}
	return st.OK()
}

// Wait implements manager.Waiter. Run waits for the informers that the scheduler uses, so that no other one
// delays it.
func (s *Scheduler) Wait(context.Context) error { return nil }

// Run implements manager.Runnable: one goroutine decides, several write.
func (s *Scheduler) Run(ctx context.Context) error {
	if s.opts.DelayCache {
		s.follow()
	}
	// The cluster must hold all pods there are before the first decision: that the informers do is not
	// enough.
	for _, h := range s.handlers {
		select {
		case <-h.Synced():
		case <-ctx.Done():
			return nil
		}
	}
	slots, extend, searches := make(chan struct{}, s.opts.Binders), make(chan struct{}, extending), make(chan struct{}, searching)
	var wg sync.WaitGroup
	defer s.late.Wait()
	defer close(s.ended)
	defer wg.Wait()
	for {
		t, wait := s.queue.next()
		if t == nil {
			if !s.idle(ctx, wait) {
				return nil
			}
			continue
		}
		if !s.enters(t) {
			continue
		}
		if s.grouped(t.Pod) {
			s.tryGroup(ctx, t, func(f func()) { wg.Go(f) }, slots, searches)
			continue
		}
		if extenders := s.extendersOf(t.pod); len(extenders) > 0 {
			// They may take long, and others must not wait for them.
			wg.Go(func() {
				extend <- struct{}{}
				o, ok := s.decideExtended(ctx, t, extenders)
				if <-extend; ok && ctx.Err() == nil {
					s.finish(ctx, t, &o, slots)
				}
			})
			continue
		}
		o, ok := s.decide(t)
		if !ok {
			continue
		}
		if o.failed == longSearch {
			wg.Go(func() {
				searches <- struct{}{}
				o, ok := s.decideAside(ctx, t)
				if <-searches; ok && ctx.Err() == nil {
					s.finish(ctx, t, &o, slots)
				}
			})
			continue
		}
		if o.Node != "" && o.waits() {
			wg.Go(func() { s.finish(ctx, t, &o, slots) })
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		if o.Node == "" {
			s.reportUnplaced(t, &o)
		}
		wg.Go(func() {
			defer func() { <-slots }()
			s.carryOut(ctx, t, &o)
		})
	}
}

// waits reports whether something may take long before the pod is bound.
func (o *outcome) waits() bool {
	return o.plan != nil || o.claims != nil || len(o.profile.permit)+len(o.profile.prebind) > 0
}

// finish does what a decision says: what may take long first, and what is written in one of the slots.
func (s *Scheduler) finish(ctx context.Context, t *try, o *outcome, slots chan struct{}) {
	if o.Node != "" && !s.prepare(ctx, t, o) {
		return
	}
	if o.Node == "" {
		s.reportUnplaced(t, o)
	}
	slots <- struct{}{}
	defer func() { <-slots }()
	s.carryOut(ctx, t, o)
}

func (s *Scheduler) carryOut(ctx context.Context, t *try, o *outcome) {
	if o.Node == "" {
		s.unplaced(ctx, t, o)
		return
	}
	s.binding.Add(1)
	defer s.binding.Add(-1)
	s.write(ctx, t, o)
}

func (s *Scheduler) idle(ctx context.Context, wait time.Duration) bool {
	var timer <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-s.queue.wake:
	case <-timer:
	}
	return true
}

// outcome is what was decided about a pod.
type outcome struct {
	Decision
	profile *Profile
	// refused are the plugins that refused the pod; failed is set for a plugin that failed.
	refused    []string
	failed     *Status
	preemption string
	message    string // of the condition and the event of a pod that was not placed
	// nominated is the node where room is being made; empty if nowhere.
	nominated string
	// victims are the pods to end for that.
	victims []*corev1.Pod
	// plan is what is to be written of the pod's volumes before, and claims of its claims of devices.
	plan   *volumePlan
	claims *devicePlan
	// sampled is set if the calls of plugins are measured.
	sampled bool
	// expected is set when the pod's status has the node already.
	expected bool
	// made is the claim that was made for the pod's extended resources. mayBeMade is set if the response to
	// its creation was lost.
	made      *resourcev1.ResourceClaim
	mayBeMade bool
	// release is a claim of devices that the pod cannot use as it is, and that it may get others for.
	release *resourcev1.ResourceClaim
}

// decide places the pod and assumes the placement, so that the next decision already counts it. For a pod
// that fits nowhere it looks for pods to preempt and keeps their room. It is false for a pod that left the
// queue meanwhile.
func (s *Scheduler) decide(t *try) (o outcome, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.queue.holds(t.entry, t.pod.UID) {
		return o, false
	}
	began := time.Now()
	o.profile = s.profileOf(t.Pod)
	defer func() {
		if o.failed != longSearch {
			s.measure(&o, began)
		}
	}()
	s.within(&o, func() {
		end := s.cluster.devices.limits.begin(s.searchBudget)
		defer end()
		cy := s.cluster.decide(o.profile, t.Pod, nil)
		o.sampled = cy.timing.sampled
		if cy.selected != nil {
			end() // what was found is found again
			s.assume(t, &o, cy.selected.name)
			return
		}
		o.Decision, o.failed = cy.decision(), cy.failed
		o.refused = cy.refusedBy()
		if cy.failed == nil {
			o.release = cy.unusable()
			s.makeRoom(cy, t, &o)
		}
	})
	return o, true
}

// within runs part of the decision of an outcome, and notes it if a plugin takes too long. It is false then.
func (s *Scheduler) within(o *outcome, f func()) bool {
	st := s.watched(o.profile, f)
	if st != nil {
		*o = outcome{profile: o.profile}
		o.refuse(st, "")
	}
	return st == nil
}

// assume places a pod on a node, unless a Reserve plugin refuses it. s.mu is held.
func (s *Scheduler) assume(t *try, o *outcome, node string) {
	began := time.Now()
	st := s.cluster.reserveAll(o.profile, t.Pod, node, o.sampled)
	defer func() { s.opts.Metrics.pointOf(o.profile, "Reserve", st, began) }()
	if !st.OK() {
		o.refuse(st, node)
		return
	}
	o.Node = node
	s.assumed[t.pod.UID] = assumption{node: node, nomination: s.cluster.unnominate(t.pod.UID)}
	s.cluster.place(t.Pod, node)
	p := s.cluster.pods[t.pod.UID]
	o.plan = p.plan
	if o.profile.index("DynamicResources") >= 0 {
		o.claims = p.claims
	}
}

// refuse turns a placement that a plugin does not accept into none.
func (o *outcome) refuse(st *Status, node string) {
	o.Decision = Decision{Nodes: 1, Reasons: map[string]int{st.Message(): 1}}
	o.refused = []string{st.Plugin}
	if st.Code == Error {
		o.failed = st
	}
	o.preemption = "not helpful for a pod that " + st.Plugin + " refuses on node " + node + "."
}

// makeRoom calls the PostFilter plugins for a pod that fits nowhere.
func (s *Scheduler) makeRoom(cy *Cycle, t *try, o *outcome) {
	c := s.cluster
	o.preemption = cy.preemptionMessage()
	if nom := cy.makeRoom(nil); nom != nil {
		o.room(c, nom)
		return
	}
	if nom := c.nominations.byPod[t.pod.UID]; nom != nil && mayPreempt(t.pod) {
		c.unnominate(t.pod.UID)
		s.queue.happened(&Event{Kind: AssignedPodDelete, OldPod: t.pod})
	}
}

// reportUnplaced records why a pod fits nowhere. Events are in the order of the decisions.
func (s *Scheduler) reportUnplaced(t *try, o *outcome) {
	switch o.message = o.Message(); {
	case o.failed != nil:
		o.message = o.failed.Message()
	case o.nominated == "" && len(o.Reasons) > 0:
		o.message += " preemption: " + o.preemption
	}
	s.recorders[t.pod.Spec.SchedulerName].Eventf(t.pod, corev1.EventTypeWarning, "FailedScheduling", "%s", o.message)
}

// room notes where room is kept for the pod, and who must go for that.
func (o *outcome) room(c *Cluster, nom *nomination) {
	o.nominated = nom.node
	for uid, v := range nom.victims {
		if now := c.pods[uid]; now != nil && now.pod.DeletionTimestamp == nil {
			o.victims = append(o.victims, v.pod)
		}
	}
	slices.SortFunc(o.victims, func(a, b *corev1.Pod) int { return cmp.Compare(a.UID, b.UID) })
}

// unplaced writes why a pod fits nowhere, makes room for it if it may, and lets it wait. The nomination is
// written before any pod is deleted for it, so that a scheduler which takes over knows of it.
func (s *Scheduler) unplaced(ctx context.Context, t *try, o *outcome) {
	err := s.condition(ctx, t.pod, o.failed.reason(), o.message, o.nominated, o.nominated != "" || mayPreempt(t.pod))
	if err == nil && len(o.victims) > 0 {
		if f := s.opts.Metrics.Preempted; f != nil {
			f(len(o.victims))
		}
		err = s.evict(ctx, t.preemptor(o.nominated), o.victims)
	}
	if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) && !errors.Is(err, errBound) {
		s.log.Warn("handling of unschedulable pod failed", "namespace", t.pod.Namespace, "name", t.pod.Name, "nominated", o.nominated, "err", err)
	}
	if err == nil && o.release != nil {
		err = s.devices.release(ctx, t.pod, o.release)
	}
	if err != nil || o.failed != nil || s.grouped(t.Pod) {
		s.backOff(t)
		return
	}
	s.queue.waitsFor(t, o.refused)
}

// reason is that of the condition PodScheduled of a pod that was not placed.
func (s *Status) reason() string {
	if s != nil && s.Code == Error {
		return "SchedulerError"
	}
	return "Unschedulable"
}

// errBound is what condition returns for a pod that another has bound: the watch will show it.
var errBound = errors.New("the pod is bound")

// condition writes PodScheduled=False with the reason, and if it is ours to write the nominated node, if that
// says something new.
func (s *Scheduler) condition(ctx context.Context, pod *corev1.Pod, reason, message, nominated string, ours bool) error {
	_, err := client.UpdateStatus(ctx, s.pods, pod.Key(), func(live *corev1.Pod) error {
		if live.UID != pod.UID {
			return apierrors.NewNotFound(s.pods.Resource().GVR.GroupResource(), pod.Name)
		}
		if live.Spec.NodeName != "" {
			return errBound
		}
		if !ours {
			nominated = live.Status.NominatedNodeName
		}
		next := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message,
			LastTransitionTime: metav1.Now(), ObservedGeneration: live.Generation}
		i := slices.IndexFunc(live.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
		if i < 0 {
			live.Status.Conditions = append(live.Status.Conditions, next)
		} else {
			have := live.Status.Conditions[i]
			if have.Status == next.Status && have.Message == message && have.Reason == next.Reason && live.Status.NominatedNodeName == nominated {
				return client.ErrNoChange
			}
			if have.Status == next.Status {
				next.LastTransitionTime = have.LastTransitionTime
			}
			live.Status.Conditions[i] = next
		}
		live.Status.NominatedNodeName = nominated
		return nil
	})
	return err
}
