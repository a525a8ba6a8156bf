package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
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
	// Names are the values of spec.schedulerName of the pods to schedule; empty means DefaultName. All names
	// share one view of the free resources. A second scheduler for the same nodes would overcommit them, so
	// Add rejects a second one on the same manager.
	Names []string
	// Binders is the number of concurrent bindings; 0 means 32.
	Binders int
	// Random breaks ties and returns a number in [0, n); nil means rand.IntN.
	Random func(n int) int
}

type scheduler struct {
	opts      Options
	log       *slog.Logger
	pods      *client.Client[*corev1.Pod]
	bind      *client.Sub[*corev1.Binding]
	recorders map[string]*events.Recorder // by scheduler name
	queue     *queue
	handlers  []*informers.Registration // what cluster is fed by

	mu      sync.Mutex // guards what follows, and is taken before queue's; never held across I/O
	cluster *Cluster
	// assumed are placements that were decided but not yet seen in the API.
	assumed map[types.UID]assumption
}

// assumption is a placement that is being written.
type assumption struct {
	node       string
	nomination *nomination // the one it took the place of, nil if none
}

const runnable = "scheduler"

// Add adds the scheduler to m. A manager can have only one.
func Add(m *manager.Manager, opts Options) error {
	if m.Has(runnable) {
		return errors.New("scheduler: the manager has a scheduler already: give it all names in Options.Names, so that they share one account of what is free")
	}
	if len(opts.Names) == 0 {
		opts.Names = []string{DefaultName}
	}
	if opts.Binders == 0 {
		opts.Binders = 32
	}
	if opts.Random == nil {
		opts.Random = rand.IntN
	}
	pods := client.For[*corev1.Pod](m.Conn())
	s := &scheduler{opts: opts, log: m.Logger(), pods: pods, bind: client.Subresource[*corev1.Binding](pods, "binding"),
		recorders: map[string]*events.Recorder{}, queue: newQueue(), cluster: NewCluster(opts.Random), assumed: map[types.UID]assumption{}}
	for _, name := range opts.Names {
		if name == "" || s.recorders[name] != nil {
			return fmt.Errorf("scheduler: Options.Names: %q: want names that are not empty, each once", opts.Names)
		}
		s.recorders[name] = m.Recorder(name)
	}
	set := m.Informers()
	s.handlers = []*informers.Registration{
		informers.For[*corev1.Node](set).AddHandler(s.onNode, informers.HandlerOptions{}),
		informers.For[*corev1.Pod](set).AddHandler(s.onPod, informers.HandlerOptions{}),
		informers.For[*corev1.Namespace](set).AddHandler(s.onNamespace, informers.HandlerOptions{}),
		informers.For[*policyv1.PodDisruptionBudget](set).AddHandler(s.onBudget, informers.HandlerOptions{}),
	}
	m.Add(runnable, s)
	return nil
}

func (s *scheduler) onNode(e informers.Event[*corev1.Node]) {
	if e.Type == informers.Deleted {
		s.mu.Lock()
		s.cluster.RemoveNode(e.Key.Name)
		s.mu.Unlock()
		s.queue.move() // a domain that is gone may satisfy a spread constraint
		return
	}
	obj := e.New()
	if obj == nil {
		return // undecodable, which the informer reports; the last known state stands
	}
	matters := e.Type == informers.Added || e.Old() == nil || nodeChangeMatters(e.Old(), obj)
	s.mu.Lock()
	s.cluster.SetNode(obj)
	s.mu.Unlock()
	if matters {
		s.queue.move()
	}
}

// nodeChangeMatters leaves out heartbeats.
func nodeChangeMatters(old, now *corev1.Node) bool {
	return !codec.Equal(&old.Status.Allocatable, &now.Status.Allocatable) || !codec.Equal(&old.Spec.Taints, &now.Spec.Taints) ||
		old.Spec.Unschedulable != now.Spec.Unschedulable || !codec.Equal(&old.Labels, &now.Labels)
}

func (s *scheduler) onNamespace(e informers.Event[*corev1.Namespace]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Type == informers.Deleted {
		s.cluster.RemoveNamespace(e.Key.Name)
		return
	}
	if !maps.Equal(s.cluster.namespaces[e.Key.Name], e.Labels) {
		s.cluster.SetNamespace(e.Key.Name, e.Labels)
		s.queue.move() // terms select namespaces by label
	}
}

func (s *scheduler) onBudget(e informers.Event[*policyv1.PodDisruptionBudget]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Type == informers.Deleted {
		s.cluster.RemoveBudget(e.Key)
	} else if obj := e.New(); obj != nil {
		s.cluster.SetBudget(obj)
	}
}

func (s *scheduler) onPod(e informers.Event[*corev1.Pod]) {
	if e.Type == informers.Deleted {
		s.onPodGone(e.UID)
		return
	}
	pod := e.New()
	if pod == nil {
		return // undecodable, which the informer reports; the last known state stands
	}
	old := e.Old() // nil for one that is new to us
	if pod.Spec.NodeName != "" {
		s.onBoundPod(old, pod)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mine(pod) {
		s.queue.remove(pod.UID)
		if s.cluster.nominations.remove(pod.UID) != nil {
			s.queue.move()
		}
		return
	}
	info := inspect(pod)
	retry := old == nil || !codec.Equal(&old.Spec, &pod.Spec) || !codec.Equal(&old.Labels, &pod.Labels)
	if _, decided := s.assumed[pod.UID]; decided {
		s.queue.update(info, retry) // its binding is on the way, and may fail
		return
	}
	s.renominate(info)
	s.queue.set(info, retry)
}

// onPodGone handles the end of a pod; what it took, or what was kept for it, is free.
func (s *scheduler) onPodGone(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.remove(uid)
	_, freed := s.cluster.NodeOf(uid)
	delete(s.assumed, uid)
	delete(s.cluster.spared, uid)
	nominated := s.cluster.nominations.byPod[uid] != nil
	s.victimGone(uid)
	s.cluster.RemovePod(uid)
	if nominated || freed {
		s.queue.move()
	}
}

// victimGone lets a pod be tried at once when the last pod it waited for is gone.
func (s *scheduler) victimGone(uid types.UID) {
	if pod, last := s.cluster.nominations.victimGone(uid); last {
		s.queue.hurry(pod)
	}
}

// onBoundPod handles a pod on a node.
func (s *scheduler) onBoundPod(old, pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.remove(pod.UID)
	delete(s.assumed, pod.UID)
	delete(s.cluster.spared, pod.UID)
	freed := s.cluster.nominations.remove(pod.UID) != nil
	if ended(pod) {
		freed = freed || old == nil || !ended(old)
		s.victimGone(pod.UID)
	}
	s.cluster.SetPod(pod)
	// A pod that ended makes room; one whose labels changed or that was placed may satisfy another's
	// affinity.
	if freed || old != nil && (old.Spec.NodeName == "" || !codec.Equal(&old.Labels, &pod.Labels)) && s.someoneWatchesPods() {
		s.queue.move()
	}
}

// renominate takes in status.nominatedNodeName where the scheduler knows no better: after a restart, or when
// others nominate.
func (s *scheduler) renominate(info *podInfo) {
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

func (s *scheduler) someoneWatchesPods() bool {
	_, _, unplaced := s.queue.counts()
	return unplaced > 0
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// mine reports whether the pod is to be placed by this scheduler, now.
func (s *scheduler) mine(pod *corev1.Pod) bool {
	return s.recorders[pod.Spec.SchedulerName] != nil && pod.DeletionTimestamp == nil && !ended(pod) && len(pod.Spec.SchedulingGates) == 0
}

// Wait implements manager.Waiter. Run waits for the informers that the scheduler uses, so that no other one
// delays it.
func (s *scheduler) Wait(context.Context) error { return nil }

// Run implements manager.Runnable: one goroutine decides, several write.
func (s *scheduler) Run(ctx context.Context) error {
	// The cluster must hold all pods there are before the first decision: that the informers do is not
	// enough.
	for _, h := range s.handlers {
		select {
		case <-h.Synced():
		case <-ctx.Done():
			return nil
		}
	}
	slots := make(chan struct{}, s.opts.Binders)
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		t, wait := s.queue.next()
		if t == nil {
			if !s.idle(ctx, wait) {
				return nil
			}
			continue
		}
		o, ok := s.decide(t)
		if !ok {
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if o.Node == "" {
				s.unplaced(ctx, t, &o)
			} else {
				s.write(ctx, t, o.Node)
			}
		})
	}
}

func (s *scheduler) idle(ctx context.Context, wait time.Duration) bool {
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
	// nominated is the node where room is being made; empty if nowhere.
	nominated string
	// victims are the pods to end for that.
	victims []*corev1.Pod
}

// decide places the pod and assumes the placement, so that the next decision already counts it. For a pod
// that fits nowhere it looks for pods to preempt and keeps their room. It is false for a pod that left the
// queue meanwhile.
func (s *scheduler) decide(t *try) (o outcome, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.queue.holds(t.entry, t.pod.UID) {
		return o, false
	}
	o.Decision = s.cluster.schedule(t.info)
	if o.Node != "" {
		s.assumed[t.pod.UID] = assumption{o.Node, s.cluster.nominations.remove(t.pod.UID)}
		s.cluster.place(t.info, o.Node)
		return o, true
	}
	maps.DeleteFunc(s.cluster.spared, func(_ types.UID, since time.Time) bool { return time.Since(since) >= sparedFor })
	nom, _ := s.cluster.nominate(t.info, o.preemptable)
	if nom == nil {
		if mayPreempt(t.pod) && s.cluster.nominations.remove(t.pod.UID) != nil {
			s.queue.move()
		}
		return o, true
	}
	o.nominated = nom.node
	for uid, v := range nom.victims {
		if now := s.cluster.pods[uid]; now != nil && now.pod.DeletionTimestamp == nil {
			o.victims = append(o.victims, v.pod)
		}
	}
	slices.SortFunc(o.victims, func(a, b *corev1.Pod) int { return cmp.Compare(a.UID, b.UID) })
	return o, true
}

// unplaced reports why a pod fits nowhere, makes room for it if it may, and lets it wait. The nomination is
// written before any pod is deleted for it, so that a scheduler which takes over knows of it.
func (s *scheduler) unplaced(ctx context.Context, t *try, o *outcome) {
	message := o.Message()
	if o.nominated == "" && len(o.Reasons) > 0 {
		message += " preemption: " + o.preemptionMessage(t.pod)
	}
	s.recorders[t.pod.Spec.SchedulerName].Eventf(t.pod, corev1.EventTypeWarning, "FailedScheduling", "%s", message)
	err := s.condition(ctx, t.pod, message, o.nominated)
	if err == nil && len(o.victims) > 0 {
		err = s.evict(ctx, t, o.victims, o.nominated)
	}
	if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) && !errors.Is(err, errBound) {
		s.log.Warn("handling of unschedulable pod failed", "namespace", t.pod.Namespace, "name", t.pod.Name, "nominated", o.nominated, "err", err)
	}
	s.queue.failed(t, err == nil)
}

// errBound is what condition returns for a pod that another has bound: the watch will show it.
var errBound = errors.New("the pod is bound")

// condition writes PodScheduled=False with the reason, and the nominated node, if that says something new.
func (s *scheduler) condition(ctx context.Context, pod *corev1.Pod, message, nominated string) error {
	_, err := client.UpdateStatus(ctx, s.pods, pod.Key(), func(live *corev1.Pod) error {
		if live.UID != pod.UID {
			return apierrors.NewNotFound(s.pods.Resource().GVR.GroupResource(), pod.Name)
		}
		if live.Spec.NodeName != "" {
			return errBound
		}
		if !mayPreempt(pod) {
			nominated = live.Status.NominatedNodeName // not ours
		}
		next := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message,
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
