package scheduler

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

// DefaultName is the schedulerName of pods that name none.
const DefaultName = "default-scheduler"

// Options of the scheduler.
type Options struct {
	// Name selects the pods to place by spec.schedulerName; empty means DefaultName.
	Name string
	// Binders is how many placements are written at once; 0 means 32.
	Binders int
	// Random breaks ties, as rand.IntN; nil means random.
	Random func(n int) int
}

type scheduler struct {
	opts     Options
	log      *slog.Logger
	pods     *client.Client[*corev1.Pod]
	bind     *client.Sub[*corev1.Binding]
	recorder *events.Recorder
	queue    *queue
	handlers []*informers.Registration // what cluster is fed by

	mu      sync.Mutex // guards what follows; never held across I/O
	cluster *Cluster
	// assumed are placements that were decided but not yet seen in the API.
	assumed map[types.UID]string
}

// Add registers the scheduler with m.
func Add(m *manager.Manager, o Options) error {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.Binders == 0 {
		o.Binders = 32
	}
	if o.Random == nil {
		o.Random = rand.IntN
	}
	pods := client.For[*corev1.Pod](m.Conn())
	s := &scheduler{opts: o, log: m.Logger(), pods: pods, bind: client.Subresource[*corev1.Binding](pods, "binding"),
		recorder: m.Recorder(o.Name), queue: newQueue(), cluster: NewCluster(o.Random), assumed: map[types.UID]string{}}
	nodeInf, podInf, nsInf := informers.For[*corev1.Node](m.Informers()), informers.For[*corev1.Pod](m.Informers()), informers.For[*corev1.Namespace](m.Informers())
	s.handlers = []*informers.Registration{
		nodeInf.AddHandler(s.onNode, informers.HandlerOptions{}),
		podInf.AddHandler(s.onPod, informers.HandlerOptions{}),
		nsInf.AddHandler(s.onNamespace, informers.HandlerOptions{}),
	}
	m.Add("scheduler", s)
	return nil
}

func (s *scheduler) onNode(e informers.Event[*corev1.Node]) {
	if e.Type == informers.Deleted {
		s.mu.Lock()
		s.cluster.RemoveNode(e.Key.Name)
		s.mu.Unlock()
		return
	}
	obj := e.New()
	matters := e.Type == informers.Added || nodeChangeMatters(e.Old(), obj)
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
	s.cluster.SetNamespace(e.Key.Name, e.Labels)
}

func (s *scheduler) onPod(e informers.Event[*corev1.Pod]) {
	if e.Type == informers.Deleted {
		s.queue.remove(e.UID)
		s.release(e.UID)
		s.queue.move()
		return
	}
	pod := e.New()
	if pod.Spec.NodeName != "" {
		s.queue.remove(pod.UID)
		freed := ended(pod) && (e.Type == informers.Added || !ended(e.Old()))
		s.mu.Lock()
		delete(s.assumed, pod.UID)
		s.cluster.SetPod(pod)
		s.mu.Unlock()
		// A pod that ended makes room; one whose labels changed or that was placed may satisfy another's affinity.
		if freed || e.Type == informers.Updated && (e.Old().Spec.NodeName == "" || !codec.Equal(&e.Old().Labels, &pod.Labels)) && s.someoneWatchesPods() {
			s.queue.move()
		}
		return
	}
	if !s.mine(pod) {
		s.queue.remove(pod.UID)
		return
	}
	s.mu.Lock()
	_, decided := s.assumed[pod.UID]
	s.mu.Unlock()
	if decided {
		return // its binding is on the way
	}
	retry := e.Type == informers.Added || !codec.Equal(&e.Old().Spec, &pod.Spec) || !codec.Equal(&e.Old().Labels, &pod.Labels)
	s.queue.set(pod, retry)
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
	return pod.Spec.SchedulerName == s.opts.Name && pod.DeletionTimestamp == nil && !ended(pod) && len(pod.Spec.SchedulingGates) == 0
}

func (s *scheduler) release(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.assumed, uid)
	s.cluster.RemovePod(uid)
}

// Run implements manager.Runnable: one goroutine decides, several write.
func (s *scheduler) Run(ctx context.Context) error {
	// The cluster must hold all pods there are before the first decision: that the informers do is not enough.
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
		p, wait := s.queue.next()
		if p == nil {
			if !s.idle(ctx, wait) {
				return nil
			}
			continue
		}
		d := s.decide(p)
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if d.Node == "" {
				s.unplaced(ctx, p, &d)
			} else {
				s.write(ctx, p, d.Node)
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

// decide places the pod and assumes the placement, so that the next decision already counts it.
func (s *scheduler) decide(p *queued) Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.cluster.schedule(p.info)
	if d.Node != "" {
		s.cluster.place(p.info, d.Node)
		s.assumed[p.pod.UID] = d.Node
	}
	return d
}

// write binds the pod. A placement that could not be written is taken back.
func (s *scheduler) write(ctx context.Context, p *queued, node string) {
	pod := p.pod
	_, err := s.bind.Create(ctx, pod.Key(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	})
	if err == nil {
		s.recorder.Eventf(pod, corev1.EventTypeNormal, "Scheduled", "Successfully assigned %s/%s to %s", pod.Namespace, pod.Name, node)
		s.queue.remove(pod.UID)
		return
	}
	s.mu.Lock()
	// The pod may have been seen bound, by us with a lost answer or by somebody else: then the API's word counts.
	if _, mine := s.assumed[pod.UID]; mine {
		delete(s.assumed, pod.UID)
		s.cluster.RemovePod(pod.UID)
	}
	s.mu.Unlock()
	if ctx.Err() != nil || apierrors.IsNotFound(err) {
		s.queue.remove(pod.UID)
		return
	}
	s.log.Warn("cannot bind a pod", "namespace", pod.Namespace, "name", pod.Name, "node", node, "err", err)
	s.recorder.Eventf(pod, corev1.EventTypeWarning, "FailedScheduling", "binding rejected: %v", err)
	s.queue.failed(p, false)
	s.queue.move()
}

// unplaced tells the world why a pod fits nowhere, makes room for it if it may, and lets it wait.
func (s *scheduler) unplaced(ctx context.Context, p *queued, d *Decision) {
	message := d.Message()
	nominated := ""
	if victims, node := s.preempt(p, d); node != "" {
		if err := s.evict(ctx, p.pod, victims, node); err != nil {
			s.log.Warn("cannot preempt", "node", node, "err", err)
		} else {
			nominated = node
		}
	} else if len(d.Reasons) > 0 {
		message += " preemption: " + d.preemptionMessage(p.pod)
	}
	s.recorder.Eventf(p.pod, corev1.EventTypeWarning, "FailedScheduling", "%s", message)
	if err := s.condition(ctx, p.pod, message, nominated); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
		s.log.Debug("cannot write a pod's condition", "err", err)
	}
	s.queue.failed(p, true)
}

// condition writes PodScheduled=False with the reason, if it says something new.
func (s *scheduler) condition(ctx context.Context, pod *corev1.Pod, message, nominated string) error {
	live, err := s.pods.Get(ctx, pod.Key())
	if err != nil || live.UID != pod.UID || live.Spec.NodeName != "" {
		return err
	}
	next := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message,
		LastTransitionTime: metav1.Now(), ObservedGeneration: live.Generation}
	i := slices.IndexFunc(live.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
	if i >= 0 {
		have := live.Status.Conditions[i]
		if have.Status == next.Status && have.Message == message && have.Reason == next.Reason && (nominated == "" || live.Status.NominatedNodeName == nominated) {
			return nil
		}
		if have.Status == next.Status {
			next.LastTransitionTime = have.LastTransitionTime
		}
		live.Status.Conditions[i] = next
	} else {
		live.Status.Conditions = append(live.Status.Conditions, next)
	}
	if nominated != "" {
		live.Status.NominatedNodeName = nominated
	}
	_, err = s.pods.UpdateStatus(ctx, live)
	return err
}
