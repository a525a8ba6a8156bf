package kubelet

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// worker does the work of one pod, one thing at a time.
type worker struct {
	k      *Kubelet
	uid    types.UID
	static bool
	log    *slog.Logger
	nudge  chan struct{} // capacity 1
	// arrived is when the kubelet saw the pod first.
	arrived time.Time

	mu      sync.Mutex
	pod     *corev1.Pod       // the latest, never changed once here
	changes int               // how often what the pod is to be has changed
	removed bool              // the object or manifest is gone
	seen    *corev1.PodStatus // what it was last reported to do; nil before
	ordered *verdict          // how the pod is to end, for a reason from outside; nil if there is none
	// interrupt ends the sync under way, because the pod is to end; nil between syncs.
	interrupt context.CancelFunc

	// refresher follows the volumes' content once all are set up; nil before, and for a pod without such
	// volumes. The worker's goroutine stores it.
	refresher atomic.Pointer[refresher]

	// outdated is true if an object that the pod refers to has changed since a refresher began last.
	outdated atomic.Bool

	// making is when the call of the runtime began that makes a sandbox or a container, in nanoseconds since
	// 1970; 0 between such calls.
	making atomic.Int64

	// halted is closed when every container of the ended pod has stopped for the first time.
	halted     chan struct{}
	haltedOnce sync.Once
	// unmounted is closed when after that its volumes have been unmounted for the first time.
	unmounted     chan struct{}
	unmountedOnce sync.Once

	// The rest belongs to the worker's goroutine.

	// waiting says why containers do not run.
	waiting map[string]corev1.ContainerStateWaiting
	// attempts is the attempt of the next sandbox. boxes is how often the runtime was called for one.
	// stoppedBoxes are those that were stopped.
	attempts uint32
	boxes    int
	// config is that of the sandbox that the sync under way has made; nil before.
	config       *cri.PodSandboxConfig
	stoppedBoxes map[string]bool
	// boxNotBefore is when the runtime, which has refused a sandbox, is called for one again, unless the pod
	// changes: it had changed boxChanges times.
	boxNotBefore time.Time
	boxChanges   int
	// notBefore is when containers that the runtime failed to start may be tried again.
	notBefore map[string]time.Time
	// ended is set when the pod is over although its object lives on: all containers have ended for good, it
	// was refused, or it ran too long.
	ended *verdict
	// stopped is true once every container of an ended or deleted pod has stopped.
	stopped bool
	started metav1.Time
	adopted bool
	mounted map[string]bool // volumes that are set up
	// written is the pod that all volumes with content of API objects were made of, if at one time; renew is
	// when a token in them must be replaced, zero if never.
	written *corev1.Pod
	renew   time.Time
	// mounting is when the volumes were wanted first.
	mounting time.Time
	// references are those of the pod's generation that objects keeps, -1 if none.
	references int64
	// hooked are the containers whose postStart hook has succeeded or failed.
	hooked   map[string]bool
	resizing resizing
	// regroup is true if the pod's group has other limits than the pod was given.
	regroup bool
	// resetting is true while all containers are removed to be started again.
	resetting bool
	// touched is true if the latest sync may have changed something in the runtime.
	touched bool
	// last is the status made last.
	last *corev1.PodStatus
	// looked is the pod at the latest step; nil before the first.
	looked *corev1.Pod
	// messages of containers, by id, read once.
	messages map[string]string
}

// verdict says how a pod ended.
type verdict struct {
	phase           corev1.PodPhase // empty: what the containers say
	reason, message string
	grace           *int64               // seconds that it got to end; nil means the pod's own
	condition       *corev1.PodCondition // of the status of the ended pod; nil if there is none
}

// refusal is the verdict on a pod that may not run here.
func refusal(reason, message string) *verdict {
	return &verdict{phase: corev1.PodFailed, reason: reason, message: message}
}

func newWorker(k *Kubelet, pod *corev1.Pod, static bool) *worker {
	return &worker{k: k, uid: pod.UID, static: static, pod: pod, arrived: time.Now(), nudge: make(chan struct{}, 1),
		halted: make(chan struct{}), unmounted: make(chan struct{}), log: k.log.With("namespace", pod.Namespace, "name", pod.Name),
		waiting: map[string]corev1.ContainerStateWaiting{}, mounted: map[string]bool{}, hooked: map[string]bool{}, messages: map[string]string{},
		notBefore: map[string]time.Time{}, references: -1, stoppedBoxes: map[string]bool{}}
}

// poke makes the worker look at its pod soon.
func (w *worker) poke() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

func (w *worker) update(pod *corev1.Pod) {
	w.mu.Lock()
	edited := matters(w.pod, pod)
	// Who waits at a readiness gate changes the status only.
	changed := w.pod == pod || edited || len(pod.Spec.ReadinessGates) > 0
	if edited {
		w.changes++
	}
	if w.pod.Generation != pod.Generation {
		w.k.metrics.resized(w.pod, pod)
	}
	w.pod = pod
	w.interruptIfEnding()
	w.mu.Unlock()
	if changed {
		w.poke()
	}
}

// replace gives the worker a static pod whose manifest was changed, but not its UID.
func (w *worker) replace(pod *corev1.Pod) {
	w.mu.Lock()
	w.pod = pod
	w.changes++
	w.mu.Unlock()
	w.poke()
}

// matters reports whether a change is one of what the pod is to be. Most changes are the worker's own status
// coming back.
func matters(old, pod *corev1.Pod) bool {
	return old.Generation != pod.Generation || (old.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil) ||
		seconds(old) != seconds(pod) ||
		len(old.Status.ResourceClaimStatuses) != len(pod.Status.ResourceClaimStatuses) ||
		(old.Status.ExtendedResourceClaimStatus == nil) != (pod.Status.ExtendedResourceClaimStatus == nil) ||
		!maps.Equal(old.Labels, pod.Labels) || !maps.Equal(old.Annotations, pod.Annotations) ||
		len(old.Finalizers) != len(pod.Finalizers)
}

func (w *worker) remove(last *corev1.Pod) {
	w.mu.Lock()
	w.removed = true
	if last != nil {
		w.pod = last
	}
	w.interruptIfEnding()
	w.mu.Unlock()
	w.poke()
}

// order ends the pod for a reason that is not in its spec. If it was ordered to end before, the status shows
// the later reason, and the shorter grace period holds. The channel is closed when its containers have
// stopped.
func (w *worker) order(v *verdict) <-chan struct{} {
	w.mu.Lock()
	if before := w.ordered; before != nil && before.grace != nil && (v.grace == nil || *before.grace < *v.grace) {
		v.grace = before.grace
	}
	w.ordered = v
	w.interruptIfEnding()
	w.mu.Unlock()
	w.poke()
	return w.halted
}

// active returns the pod if it runs or is about to; nil if it is ending or has ended.
func (w *worker) active() *corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hasHalted() || w.removed || w.pod.DeletionTimestamp != nil || w.ordered != nil || over(w.pod.Status.Phase) {
		return nil
	}
	return w.pod
}

// hasHalted reports whether every container of the ended pod has stopped.
func (w *worker) hasHalted() bool {
	select {
	case <-w.halted:
		return true
	default:
		return false
	}
}

// interruptIfEnding ends the sync of a pod that shall not run any more. The lock is held.
func (w *worker) interruptIfEnding() {
	if (w.removed || w.pod.DeletionTimestamp != nil || w.ordered != nil) && w.interrupt != nil {
		w.interrupt()
	}
}

// interruptible is the context of a sync of pod. The end of the pod, by deletion or by its deadline, cancels
// it, so that nothing that takes long, such as a pull or a hook, holds the end up. done must be called after
// the sync.
func (w *worker) interruptible(ctx context.Context, pod *corev1.Pod) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := func() bool { return true }
	if at := w.deadline(pod); !at.IsZero() && time.Now().Before(at) {
		stop = time.AfterFunc(time.Until(at), func() { cancel(); w.poke() }).Stop
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.interrupt = cancel
	w.interruptIfEnding()
	return ctx, func() {
		stop()
		w.mu.Lock()
		w.interrupt = nil
		w.mu.Unlock()
		cancel()
	}
}

// deadline is when a pod has run for as long as it may; zero means never.
func (w *worker) deadline(pod *corev1.Pod) time.Time {
	if limit := pod.Spec.ActiveDeadlineSeconds; limit != nil {
		return w.started.Add(time.Duration(*limit) * time.Second)
	}
	return time.Time{}
}

// shown is the pod with its latest status, which the server may not have yet.
func (w *worker) shown() *corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		return w.pod
	}
	pod := *w.pod
	pod.Status = *w.seen
	return &pod
}

// orderedEnd is how the pod was ordered to end; nil if it was not.
func (w *worker) orderedEnd() *verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ordered
}

// obey takes up how the pod was ordered to end. That counts until its containers have stopped, unless they
// have all ended by themselves.
func (w *worker) obey() {
	if v := w.orderedEnd(); v != nil && !w.stopped && (w.ended == nil || w.ended.phase != "") {
		w.ended = v
	}
}

func (w *worker) desired() (pod *corev1.Pod, removed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pod, w.removed
}

// boxRefused notes that the runtime has refused a sandbox, and returns when it is called again.
func (w *worker) boxRefused(ctx context.Context) time.Duration {
	const pause = 5 * retryAfter
	wait := pause + backoff.Spread(ctx, pause/2)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.boxNotBefore, w.boxChanges = time.Now().Add(wait), w.changes
	return wait
}

// boxWait is how long the runtime, which has refused a sandbox, is left alone, whatever wakes the worker; not
// if the pod has changed since.
func (w *worker) boxWait() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.boxChanges != w.changes {
		return 0
	}
	return time.Until(w.boxNotBefore)
}

// retryAfter is how soon failed work is tried again.
const retryAfter = 2 * time.Second

func (w *worker) run(ctx context.Context) {
	defer func() {
		w.refresher.Load().stop()
		w.k.certificates.forget(w.uid)
	}()
	failures := 0
	for ctx.Err() == nil {
		began, kind := time.Now(), w.stepKind()
		after, done, err := w.step(ctx)
		if took := time.Since(began).Seconds(); ctx.Err() == nil {
			w.k.metrics.worked[kind]().Observe(took)
			if done { // the end of a pod may be one step
				w.k.metrics.worked[stepLast]().Observe(took)
			}
		}
		if done {
			w.k.retired(w)
			return
		}
		if err != nil && ctx.Err() == nil {
			w.log.Info("pod sync failed", "err", err)
			failures++
			after = min(retryAfter*time.Duration(failures), 10*time.Second)
			if d := delayOf(err); d > 0 {
				after = d
			}
		} else {
			failures = 0
		}
		if rest := w.k.opts.SyncInterval; after <= 0 || after > rest {
			after = rest - backoff.Spread(ctx, rest/4) // pods that start together do not stay in step
		}
		timer := time.NewTimer(after)
		select {
		case <-ctx.Done():
		case <-w.nudge:
			w.gather(ctx)
		case <-timer.C:
		}
		timer.Stop()
	}
}

// stepKind is why the next step is made.
func (w *worker) stepKind() stepKind {
	pod, removed := w.desired()
	before := w.looked
	w.looked = pod
	switch {
	case !w.stopped && (removed || pod.DeletionTimestamp != nil || w.ended != nil || w.orderedEnd() != nil):
		return stepKill
	case before == nil:
		w.k.metrics.workerStart.Observe(time.Since(w.arrived).Seconds())
		return stepCreate
	case before != pod:
		return stepUpdate
	}
	return stepSync
}

// gatherTime is how long at most a worker waits for further reasons to look at its pod.
const gatherTime = 500 * time.Microsecond

// gather waits a moment after a poke, so that what happens at one time, such as the end of several
// containers, is one step. The wait depends on the pod, so that the pods of one cause do not start in step.
func (w *worker) gather(ctx context.Context) {
	h := fnv.New32a()
	_, _ = io.WriteString(h, string(w.uid))
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(h.Sum32()) % gatherTime):
	}
	select {
	case <-w.nudge:
	default:
	}
}

// step brings the pod closer to what it should be. done ends the worker; after is when to look again without
// cause.
func (w *worker) step(ctx context.Context) (after time.Duration, done bool, err error) {
	pod, removed := w.desired()
	if w.started.IsZero() {
		if t := pod.Status.StartTime; t != nil {
			w.started = *t
		} else {
			w.started = metav1.Now()
		}
	}
	if w.ended == nil && over(pod.Status.Phase) {
		// Ended before this kubelet started.
		w.ended = &verdict{phase: pod.Status.Phase, reason: pod.Status.Reason, message: pod.Status.Message}
	}
	w.obey()
	v, err := w.view(ctx)
	if err != nil {
		return 0, false, err
	}
	if !w.adopted {
		w.adopt(pod, v)
	}
	if w.ended == nil && !removed && pod.DeletionTimestamp == nil {
		if w.references != pod.Generation {
			w.k.objects.use(pod)
			w.references = pod.Generation
		}
		running, done := w.interruptible(ctx, pod)
		within, end := w.k.opts.Tracing.sync(running, "syncPod", pod)
		after, err = w.sync(within, pod, v)
		end(err)
		interrupted := running.Err() != nil
		done()
		if ctx.Err() != nil {
			return 0, false, ctx.Err()
		}
		if interrupted && w.ended == nil {
			return time.Millisecond, false, nil // at once, with the pod as it is now
		}
		if w.ended == nil {
			return after, false, err
		}
	}
	within, end := w.k.opts.Tracing.sync(ctx, "syncTerminatingPod", pod)
	after, done, err = w.end(within)
	end(err)
	return after, done, err
}

// view is what the runtime holds of the pod. It is as recent as the lists of the runtime unless the worker
// has changed something since it looked last.
func (w *worker) view(ctx context.Context) (*view, error) {
	if w.touched {
		return w.k.views.now(ctx, w.uid)
	}
	return w.k.pleg.recent(ctx, w.uid)
}

// adopt takes up what an earlier kubelet started, as the pod's status shows it.
func (w *worker) adopt(pod *corev1.Pod, v *view) {
	w.adopted = true
	w.resetting = isTrue(pod.Status.Conditions, corev1.AllContainersRestarting)
	for _, run := range v.running() {
		w.hooked[run.id] = true
		if st := statusOf(&pod.Status, run.name); st != nil && strings.HasSuffix(st.ContainerID, "://"+run.id) {
			w.k.probes.adopt(run.id, st)
		}
	}
}

// makes notes that the runtime makes something for the pod, until done is called.
func (w *worker) makes() (done func()) {
	w.making.Store(time.Now().UnixNano())
	return func() { w.making.Store(0) }
}

// making reports whether the runtime makes something for a pod, and has not been at it for longer than it
// mostly takes.
func (k *Kubelet) making(uid types.UID) bool {
	const usual = 5 * time.Second
	w := k.worker(uid)
	if w == nil {
		return false
	}
	began := w.making.Load()
	return began > 0 && time.Since(time.Unix(0, began)) < usual
}

func over(p corev1.PodPhase) bool { return p == corev1.PodSucceeded || p == corev1.PodFailed }

// end terminates the pod and, when its object or manifest is to go, cleans up.
func (w *worker) end(ctx context.Context) (after time.Duration, done bool, err error) {
	if !w.stopped {
		if err := w.terminate(ctx); err != nil {
			if errors.Is(err, errGraceChanged) {
				return time.Millisecond, false, nil
			}
			return 0, false, err
		}
		w.obey() // while they stopped
		w.stopped = true
	}
	pod, removed := w.desired()
	v, err := w.k.views.now(ctx, w.uid)
	if err != nil {
		return 0, false, err
	}
	if len(v.alive()) > 0 { // the runtime was wrong, or a start that was given up happened after all
		w.stopped = false
		return 0, false, errors.New("containers still run")
	}
	w.haltedOnce.Do(func() { close(w.halted) })
	// Before the pod is reported to have ended: then others may have its devices.
	if err := w.k.claims.unprepare(ctx, w.uid); err != nil {
		return 0, false, err
	}
	w.k.ledger.release(w.uid)
	if !removed {
		w.report(ctx, pod, v)
	}
	if err := w.unmount(); err != nil {
		return 0, false, err
	}
	w.unmountedOnce.Do(func() { close(w.unmounted) })
	w.k.objects.release(pod)
	if !removed && pod.DeletionTimestamp == nil {
		return w.k.opts.SyncInterval, false, nil // its logs can still be read
	}
	if !removed {
		// What the runtime knows of the containers' ends is lost with them, so the server hears of it first.
		if err := w.k.status.write(ctx, w.uid); err != nil {
			return 0, false, err
		}
	}
	if err := w.cleanUp(ctx, pod, v); err != nil {
		return 0, false, err
	}
	if removed {
		return 0, true, nil
	}
	// Its deletion comes back as an event.
	if err := w.k.status.deleteObject(ctx, pod); err != nil {
		return 0, false, err
	}
	return w.k.opts.SyncInterval, false, nil
}

// delayed is an error that says when to try again.
type delayed struct {
	error
	after time.Duration
}

func (d delayed) Unwrap() error { return d.error }

func delayOf(err error) time.Duration {
	var d delayed
	if errors.As(err, &d) {
		return max(d.after, time.Millisecond)
	}
	return 0
}

// seconds is the grace period of a pod's deletion; -1 without one.
func seconds(pod *corev1.Pod) int64 {
	if pod.DeletionGracePeriodSeconds == nil {
		return -1
	}
	return *pod.DeletionGracePeriodSeconds
}
