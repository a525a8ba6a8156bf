package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client/events"
)

// sync makes a pod that shall run do so: what must end, volumes, sandbox, init containers in order, then all
// others. It reports the pod's status before it waits for anything, and returns when to look again.
func (w *worker) sync(ctx context.Context, pod *corev1.Pod, v *view) (after time.Duration, err error) {
	w.config = nil
	var next soonest
	pod, may := w.enter(ctx, pod, v, &next)
	if !may {
		return next.after(), ctx.Err()
	}
	w.seeReset(pod, v)
	w.report(ctx, pod, v)

	w.k.starts.initEnded(pod, v)
	w.touched = true
	v, unsettled := w.settle(ctx, pod, v)
	if v == nil || ctx.Err() != nil {
		return 0, unsettled
	}
	if w.resetting {
		return 0, w.reset(ctx, pod, v)
	}
	if again := w.settleResize(ctx, pod, v); again > 0 {
		next.in(again)
	}
	plan := w.plan(pod, v)
	if plan.over {
		w.ended = &verdict{}
		return 0, nil
	}
	if len(plan.kill) > 0 {
		return 0, w.killAll(ctx, pod, plan.kill)
	}
	if there, err := w.mountVolumes(ctx, pod); err != nil {
		return 0, err
	} else if !there {
		w.k.probes.watch(ctx, pod, v, false) // of what an earlier kubelet started
		return next.after(), unsettled
	}
	box, first := v.current(), false
	if plan.sandbox {
		defer w.countUsers(ctx, pod, &err)()
		if v, after, err = w.startSandbox(ctx, pod, v); err != nil || v == nil {
			return after, err
		}
		box, first = v.current(), len(v.sandboxes) == 1 && len(v.containers) == 0
		w.report(ctx, pod, v)
		plan = w.plan(pod, v)
	}
	if box == nil {
		return next.after(), unsettled
	}
	made, failed, err := w.startAll(ctx, pod, plan.start, box, v, &next)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	errs := errors.Join(unsettled, err)
	if len(made) > 0 || failed {
		if v, err = w.lookAgain(ctx, v, made, first && !failed && err == nil); err != nil {
			return 0, err
		}
	}
	for _, c := range v.running() {
		delete(w.waiting, c.name)
	}
	w.report(ctx, pod, v)
	w.k.probes.watch(ctx, pod, v, false)
	removed := w.collectDead(ctx, pod, v)
	if len(made) > 0 && len(pod.Spec.InitContainers) > 0 {
		w.poke() // what comes after them may start
	}
	// What was done before the latest view is in it.
	w.touched = errs != nil || removed || plan.brief
	if plan.brief {
		next.in(briefly)
	}
	return next.after(), errs
}

// lookAgain returns the view of the pod after containers have been made in it, or might have been. With only,
// they are the first, and the runtime has nothing else but the sandbox of v.
func (w *worker) lookAgain(ctx context.Context, v *view, made []string, only bool) (*view, error) {
	if only && !w.k.opts.ContainerEvents { // whether an event is older than a view is known of whole views
		return w.k.views.grown(ctx, v, made)
	}
	return w.k.views.now(ctx, w.uid)
}

// startSandbox makes a new sandbox and returns the view of the pod with it, with its addresses; nil if there
// is none yet, or none any more, and when to try again.
func (w *worker) startSandbox(ctx context.Context, pod *corev1.Pod, v *view) (now *view, again time.Duration, err error) {
	if left := w.boxWait(); left > 0 {
		return nil, left, nil
	}
	defer w.makes()()
	box, err := w.newSandbox(ctx, pod, v)
	if err != nil {
		return nil, 0, err
	}
	if w.onlyBox(v) {
		now, err = w.k.views.founded(ctx, w.uid, box)
	} else {
		// All of it, since an earlier kubelet may have made more than is known: nothing is started twice.
		now, err = w.k.views.now(ctx, w.uid)
	}
	if err != nil {
		return nil, 0, err
	}
	if have := now.current(); have == nil || have.id != box.id {
		return nil, retryAfter, nil
	}
	return now, 0, nil
}

// onlyBox reports whether a sandbox that has been made is the first attempt at one for the pod, of which the
// runtime had nothing according to v. Then it has nothing but that sandbox.
func (w *worker) onlyBox(v *view) bool {
	return w.boxes == 1 && !w.static && v.empty() && w.k.ledger.first(w.uid) &&
		!w.k.opts.ContainerEvents // as in lookAgain
}

// killAll ends containers that must not run as they do.
func (w *worker) killAll(ctx context.Context, pod *corev1.Pod, list []killing) error {
	for _, kill := range list {
		w.k.recorder.About(w.about(pod, kill.spec.Name), nil, events.Normal, "Killing", kill.why)
		if err := w.kill(ctx, pod, kill); err != nil {
			return err
		}
	}
	w.poke() // what was killed may be started at once
	return nil
}

// mountVolumes sets up the volumes of the pod, which are kept up to date from then on. It reports whether all
// are there.
func (w *worker) mountVolumes(ctx context.Context, pod *corev1.Pod) (there bool, err error) {
	there, err = w.setUpVolumes(ctx, pod)
	if err != nil {
		if ctx.Err() == nil {
			w.k.recorder.Event(pod, events.Warning, "FailedMount", err.Error())
		}
		return false, err
	}
	if !there {
		return false, nil
	}
	w.refreshVolumes(ctx, pod)
	return true, nil
}

// startAll starts containers, perhaps none. What the configuration of their sandbox cannot have is an event
// each time. It returns the ids of those started, whether one has failed in a way that its status shows, and
// other failures; next is when a container that could not be started is tried again.
func (w *worker) startAll(ctx context.Context, pod *corev1.Pod, list []*corev1.Container, box *sandbox, v *view, next *soonest) (made []string, failed bool, err error) {
	config := w.config
	if config == nil || config.Metadata.Attempt != box.attempt {
		if config, err = w.sandboxConfig(pod, box.attempt); err != nil {
			return nil, false, err
		}
	}
	var errs []error
	for _, start := range list {
		id, left, err := w.start(ctx, pod, start, box, config, v)
		var wait *waitError
		switch {
		case err == nil && left > 0:
			next.in(left)
		case err == nil:
			made = append(made, id)
			delete(w.waiting, start.Name)
		case errors.As(err, &wait):
			w.k.metrics.startErrors.WithLabelValues(containerType(pod, start.Name), wait.reason).Inc()
			w.waiting[start.Name] = corev1.ContainerStateWaiting{Reason: wait.reason, Message: wait.message}
			failed = true
			next.in(cmp.Or(delayOf(err), retryAfter*5))
		default:
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return made, failed, errors.Join(errs...)
}

// enter returns the pod with the resources that it was given, and whether it may run: its deadline has not
// passed, and it was let in. What ends a pod is in w.ended afterwards.
func (w *worker) enter(ctx context.Context, pod *corev1.Pod, v *view, next *soonest) (given *corev1.Pod, may bool) {
	if at := w.deadline(pod); !at.IsZero() {
		left := time.Until(at)
		if left <= 0 {
			w.ended = &verdict{phase: corev1.PodFailed, reason: "DeadlineExceeded", message: "Pod was active on the node longer than the specified deadline"}
			w.k.recorder.Event(pod, events.Normal, "DeadlineExceeded", w.ended.message)
			return pod, false
		}
		next.in(left)
	}
	if w.last == nil {
		why, decided := w.admit(ctx, pod, v)
		if why == nil && decided {
			why = w.k.ledger.grant(ctx, pod)
		}
		if ctx.Err() != nil {
			return pod, false
		}
		if why != nil {
			w.k.metrics.reject(why.reason)
			w.ended = why
			w.k.recorder.Event(pod, events.Warning, why.reason, why.message)
			*next = soonest{}
			return pod, false
		}
		if !decided {
			return pod, false // the opening of the ledger wakes this worker
		}
		w.k.metrics.containersPerPod.Observe(float64(len(pod.Spec.Containers)))
	}
	return w.tryResize(pod), true
}

// admit lets a pod in, or says why it may not run here. A pod that the runtime holds something of has been
// let in before.
func (w *worker) admit(ctx context.Context, pod *corev1.Pod, v *view) (why *verdict, decided bool) {
	running := !v.empty()
	if !running {
		if why := w.k.refuse(pod); why != nil {
			return why, true
		}
		if why := w.k.misplaced(ctx, pod); why != nil {
			return why, true
		}
		if why := cmp.Or(w.k.evictor.admit(pod), w.k.shutdown.admit()); why != nil {
			return why, true
		}
	}
	why, decided, first := w.k.ledger.admit(pod, v, w.static)
	return why, decided && w.k.preempt(ctx, first)
}

// settle ends containers of which the runtime does not know whether they run, because a second copy of theirs
// may not run beside them, and removes those that were created but never started. It returns the view after
// that, nil if there is none. A container that stays as it is keeps its name from being started, and the
// error says why.
func (w *worker) settle(ctx context.Context, pod *corev1.Pod, v *view) (*view, error) {
	list := v.all(func(c *container) bool { return c.unstarted() || c.lost() })
	if len(list) == 0 {
		return v, nil
	}
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, c := range list {
		if c.unstarted() {
			errs[i] = w.k.removeContainer(ctx, c)
			continue
		}
		spec := cmp.Or(specOf(pod, c.name), &corev1.Container{Name: c.name})
		w.k.recorder.About(w.about(pod, c.name), nil, events.Normal, "Killing",
			fmt.Sprintf("Container %s is in UNKNOWN state, will be killed before it is restarted", c.name))
		wg.Go(func() { errs[i] = w.kill(ctx, pod, killing{spec: spec, run: c}) })
	}
	wg.Wait()
	now, err := w.k.views.now(ctx, w.uid)
	if err != nil {
		return nil, err
	}
	return now, errors.Join(errs...)
}

// briefly is how soon to look at an init container that has only begun: many end at once, and all others wait
// for them.
const briefly = 150 * time.Millisecond

// soonest keeps the shortest of several delays.
type soonest struct{ d time.Duration }

func (s *soonest) in(d time.Duration) {
	d = max(d, time.Millisecond)
	if s.d == 0 || d < s.d {
		s.d = d
	}
}

func (s *soonest) after() time.Duration { return s.d }

// steps are what a pod needs next.
type steps struct {
	sandbox bool
	kill    []killing
	start   []*corev1.Container
	// over is true when all containers have ended and none will be started again.
	over bool
	// brief is true while an init container that others wait for has been running for a moment only.
	brief bool
}

type killing struct {
	spec  *corev1.Container
	run   *container
	why   string
	grace *int64 // seconds; nil means the pod's
	// turn is closed when the container may end after its preStop hook; nil means at once.
	turn <-chan struct{}
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// restarts reports whether a container that ended is started again.
func restarts(pod *corev1.Pod, c *corev1.Container, exitCode int32) bool {
	policy := string(pod.Spec.RestartPolicy)
	if c.RestartPolicy != nil {
		policy = string(*c.RestartPolicy)
		if ruleFor(c, exitCode) != nil { // both actions start it again
			return true
		}
	}
	return policy == "Always" || policy == "OnFailure" && exitCode != 0 || policy == ""
}

// plan compares the spec with what the runtime has. It changes nothing.
func (w *worker) plan(pod *corev1.Pod, v *view) steps {
	var p steps
	box := v.current()
	// Runs of earlier sandboxes count for restart counts only.
	now := func(name string) *container {
		if c := v.latest(name); c != nil && box != nil && c.sandboxID == box.id {
			return c
		}
		return nil
	}
	if box == nil {
		if w.allEnded(pod, v) {
			p.over = true
			return p
		}
		p.sandbox = true
		for _, c := range v.running() { // of a sandbox that is not ready any more
			if spec := specOf(pod, c.name); spec != nil {
				p.kill = append(p.kill, killing{spec: spec, run: c, why: "Pod sandbox changed, it will be killed and re-created.", grace: nil})
			}
		}
		return p
	}
	if w.allEnded(pod, v) {
		p.over = true
		return p
	}
	for i := range pod.Spec.EphemeralContainers {
		e := ephemeral(&pod.Spec.EphemeralContainers[i])
		if v.latest(e.Name) == nil {
			p.start = append(p.start, e)
		}
	}
	if w.planInit(&p, pod, v, now) {
		w.planMain(&p, pod, v, now)
	}
	return p
}

// planInit plans init containers and sidecars, and reports whether the main containers may run. now returns
// the run of a container in the current sandbox, nil if there is none.
func (w *worker) planInit(p *steps, pod *corev1.Pod, v *view, now func(string) *container) bool {
	mainBegun := false
	for i := range pod.Spec.Containers {
		mainBegun = mainBegun || now(pod.Spec.Containers[i].Name) != nil
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		run := now(c.Name)
		if isSidecar(c) {
			why, grace := w.mustDie(c, run)
			switch {
			case why != "":
				p.kill = append(p.kill, killing{spec: c, run: run, why: why, grace: grace})
			case !run.running() && !v.unsettled(c.Name):
				p.start = append(p.start, c)
			}
			if !mainBegun && (!run.running() || !w.k.probes.started(c, run) || !w.wasHooked(c, run)) {
				return false // those after it wait
			}
			continue
		}
		if mainBegun || run.exited() && run.exitCode == 0 {
			continue
		}
		if !run.running() {
			if run.exited() && !w.restartsInit(pod, c, run) {
				continue
			}
			if !v.unsettled(c.Name) {
				p.start = append(p.start, c)
			}
		} else {
			p.brief = time.Since(run.started) < 3*time.Second
		}
		return false
	}
	return true
}

// planMain plans the main containers.
func (w *worker) planMain(p *steps, pod *corev1.Pod, v *view, now func(string) *container) {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		run := now(c.Name)
		if why, grace := w.mustDie(c, run); why != "" {
			p.kill = append(p.kill, killing{spec: c, run: run, why: why, grace: grace})
			continue
		}
		if run.running() || v.unsettled(c.Name) || run.exited() && !restarts(pod, c, run.exitCode) {
			continue
		}
		if run == nil {
			// In a new sandbox what has ended for good stays so.
			if old := v.latest(c.Name); old.exited() && !restarts(pod, c, old.exitCode) {
				continue
			}
		}
		p.start = append(p.start, c)
	}
}

func (w *worker) restartsInit(pod *corev1.Pod, c *corev1.Container, run *container) bool {
	if pod.Spec.RestartPolicy == corev1.RestartPolicyNever && c.RestartPolicy == nil {
		return false
	}
	return run.exitCode != 0 && (c.RestartPolicy == nil || restarts(pod, c, run.exitCode))
}

// allEnded reports whether every container has run for the last time: the main ones, or an init container
// that failed for good.
func (w *worker) allEnded(pod *corev1.Pod, v *view) bool {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if run := v.latest(c.Name); !isSidecar(c) && run.exited() && run.exitCode != 0 && !w.restartsInit(pod, c, run) {
			return true
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		run := v.latest(c.Name)
		if !run.exited() || restarts(pod, c, run.exitCode) {
			return false
		}
	}
	return len(pod.Spec.Containers) > 0
}

// mustDie returns why a running container has to be replaced, and its grace period if it differs from the
// pod's.
func (w *worker) mustDie(c *corev1.Container, run *container) (why string, grace *int64) {
	if !run.running() {
		return "", nil
	}
	if run.hash != "" && run.hash != hashOf(c) {
		return fmt.Sprintf("Container %s definition changed, will be restarted", c.Name), nil
	}
	if has := w.k.ledger.has(w.uid, c, run); needsRestart(c, &has) {
		return fmt.Sprintf("Container %s resize requires restart", c.Name), nil
	}
	if p := w.k.probes.failed(run.id); p != "" {
		probe := c.LivenessProbe
		if p == "startup" {
			probe = c.StartupProbe
		}
		if probe != nil {
			grace = probe.TerminationGracePeriodSeconds
		}
		return fmt.Sprintf("Container %s failed %s probe, will be restarted", c.Name, p), grace
	}
	if !w.wasHooked(c, run) {
		// The hook runs right after the start, so this is a start whose answer was lost.
		return fmt.Sprintf("Container %s started without its PostStart hook, will be restarted", c.Name), nil
	}
	return "", nil
}

// wasHooked reports whether the postStart hook of a container has run; true if there is none.
func (w *worker) wasHooked(c *corev1.Container, run *container) bool {
	return c.Lifecycle == nil || c.Lifecycle.PostStart == nil || w.hooked[run.id]
}

// ephemeral gives a debugging container the form of others.
func ephemeral(e *corev1.EphemeralContainer) *corev1.Container {
	c := corev1.Container(e.EphemeralContainerCommon)
	return &c
}

// allContainers are the containers of a pod, with the ephemeral ones in the form of the others.
func allContainers(pod *corev1.Pod) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for c := range containersOf(pod) {
			if !yield(c) {
				return
			}
		}
		for i := range pod.Spec.EphemeralContainers {
			if !yield(ephemeral(&pod.Spec.EphemeralContainers[i])) {
				return
			}
		}
	}
}

// specOf finds a container of any sort by name.
func specOf(pod *corev1.Pod, name string) *corev1.Container {
	for c := range allContainers(pod) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// about refers to a container of a pod in events.
func (w *worker) about(pod *corev1.Pod, name string) corev1.ObjectReference {
	return aboutContainer(pod, name)
}

func aboutContainer(pod *corev1.Pod, name string) corev1.ObjectReference {
	path := ""
	for _, c := range pod.Spec.Containers {
		if c.Name == name {
			path = "spec.containers{" + name + "}"
		}
	}
	for _, c := range pod.Spec.InitContainers {
		if c.Name == name {
			path = "spec.initContainers{" + name + "}"
		}
	}
	for _, c := range pod.Spec.EphemeralContainers {
		if c.Name == name {
			path = "spec.ephemeralContainers{" + name + "}"
		}
	}
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		ResourceVersion: pod.ResourceVersion, FieldPath: path}
}

// newSandbox replaces what is left of earlier sandboxes by a new one.
func (w *worker) newSandbox(ctx context.Context, pod *corev1.Pod, v *view) (*sandbox, error) {
	for _, old := range v.sandboxes {
		w.attempts = max(w.attempts, old.attempt+1)
		if w.stoppedBoxes[old.id] {
			continue
		}
		if _, err := w.k.rt.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: old.id}); err != nil && !isGone(err) {
			return nil, err
		}
		w.stoppedBoxes[old.id] = true
		w.removeSandbox(ctx, old, v) // or each failure below would leave one more
	}
	attempt := w.attempts
	if attempt > 0 {
		w.k.recorder.Event(pod, events.Normal, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
	}
	failed := func(err error) (*sandbox, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		w.k.metrics.startsFailed.Inc()
		err = fmt.Errorf("Failed to create pod sandbox: %w", err) // the wording of an event
		w.k.recorder.Event(pod, events.Warning, "FailedCreatePodSandBox", err.Error())
		return nil, err
	}
	if err := w.k.networkReady(ctx, pod); err != nil {
		return nil, err
	}
	w.k.metrics.started.Inc()
	handler, err := w.k.handlers.of(ctx, pod)
	if err != nil {
		return failed(err)
	}
	if err := w.k.canHaveUsers(ctx, pod, handler); err != nil {
		return failed(err)
	}
	config, err := w.sandboxConfig(pod, attempt)
	if err != nil {
		return failed(err)
	}
	if err := w.prepareClaims(ctx, pod); err != nil {
		return nil, err
	}
	if corev1.QOSClass(pod) != corev1.PodQOSBestEffort { // which requests nothing
		w.k.weighGroups(ctx, false)
	}
	if err := w.k.cgroups.makePod(ctx, pod, podTotals(pod)); err != nil {
		w.log.Warn("create pod cgroup failed, leaving it to the runtime", "err", err)
	}
	w.boxes++
	made, err := w.k.rt.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: config, RuntimeHandler: handler})
	if err != nil {
		wait := w.boxRefused(ctx)
		_, err = failed(errors.New(status.Convert(err).Message()))
		return nil, delayed{err, wait}
	}
	w.config = config
	return &sandbox{id: made.PodSandboxId, attempt: attempt, ready: true}, nil
}

// start runs a container once more and returns its id, or how long it has to wait.
func (w *worker) start(ctx context.Context, pod *corev1.Pod, c *corev1.Container, box *sandbox, boxConfig *cri.PodSandboxConfig, v *view) (id string, wait time.Duration, err error) {
	if left := time.Until(w.notBefore[c.Name]); left > 0 {
		return "", left, nil
	}
	last := v.latest(c.Name)
	key := string(w.uid) + "/" + c.Name + "/" + hashOf(c)
	if last.exited() {
		if left, length := w.k.backoffs.left(key, last.finished); left > 0 {
			text := fmt.Sprintf("back-off %v restarting failed container=%s pod=%s_%s(%s)", length, c.Name, pod.Name, pod.Namespace, pod.UID)
			w.waiting[c.Name] = corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: text}
			w.k.recorder.About(w.about(pod, c.Name), nil, events.Warning, "BackOff",
				fmt.Sprintf("Back-off restarting failed container %s in pod %s_%s(%s)", c.Name, pod.Name, pod.Namespace, pod.UID))
			return "", left, nil
		}
	}
	sort := containerType(pod, c.Name)
	w.k.metrics.startedContainers.WithLabelValues(sort).Inc()
	about := w.about(pod, c.Name)
	var images pulled
	if images.volumes, err = w.imageVolumes(ctx, pod, c, boxConfig); err != nil {
		return "", 0, err
	}
	if images.own, err = w.k.images.ensure(ctx, pod, c, boxConfig, about); err != nil {
		return "", 0, err
	}
	restarts := int32(0)
	if last != nil {
		restarts = last.restarts + 1
	} else if st := statusOf(&pod.Status, c.Name); st != nil && hasRun(st) {
		restarts = st.RestartCount + 1 // the runtime has forgotten it
	}
	if st := statusOf(w.last, c.Name); last == nil && st != nil && st.ContainerID == "" && hasRun(st) {
		restarts = st.RestartCount // it counts the run that comes, as removedToRestart says
	}
	config, err := w.prepare(ctx, pod, c, images, restarts, box)
	if err != nil {
		if ctx.Err() != nil {
			return "", 0, ctx.Err()
		}
		var wait *waitError
		if !errors.As(err, &wait) {
			err = &waitError{"CreateContainerConfigError", err.Error()}
		}
		w.k.recorder.About(about, nil, events.Warning, "Failed", "Error: "+plainText(err))
		return "", 0, err
	}
	done := w.makes()
	defer done()
	made, err := w.k.rt.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: box.id, Config: config, SandboxConfig: boxConfig})
	if err = w.imagesMounted(images.volumes, err); err != nil {
		if ctx.Err() != nil {
			return "", 0, ctx.Err()
		}
		return "", 0, w.startFailed(c, about, "CreateContainerError", err)
	}
	if last.exited() {
		w.k.backoffs.next(key, last.finished)
	}
	w.k.recorder.About(about, nil, events.Normal, "Created", "Container created")
	if _, err := w.k.rt.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: made.ContainerId}); err != nil {
		if ctx.Err() != nil {
			return "", 0, ctx.Err()
		}
		return "", 0, w.startFailed(c, about, "RunContainerError", err)
	}
	done() // a hook may take long
	w.k.recorder.About(about, nil, events.Normal, "Started", "Container started")
	if sort == initContainer && !isSidecar(c) {
		w.k.starts.initStarted(w.uid)
	}
	w.k.linkLog(pod, c, made.ContainerId, filepath.Join(boxConfig.LogDirectory, config.LogPath))
	return made.ContainerId, 0, w.postStart(ctx, pod, c, made.ContainerId)
}

// prepare returns the configuration of a container, with the devices that it was granted, which are ready
// then.
func (w *worker) prepare(ctx context.Context, pod *corev1.Pod, c *corev1.Container, images pulled, restarts int32, box *sandbox) (*cri.ContainerConfig, error) {
	config, err := w.containerConfig(ctx, pod, c, images, restarts, box)
	if err != nil {
		return nil, err
	}
	if w.k.claims != nil && !w.k.claims.Ready(pod) { // their checkpoint is lost
		if err := w.prepareClaims(ctx, pod); err != nil {
			return nil, err
		}
	}
	if err := w.k.claims.addClaims(config, pod, c); err != nil {
		return nil, err
	}
	grants := w.k.ledger.grants(w.uid)[c.Name]
	if len(grants) > 0 {
		if err := addGrants(config, grants); err != nil {
			return nil, err
		}
		err = w.k.devices.preStart(ctx, grants)
	}
	if err == nil {
		err = w.k.node.checkCDI(config)
	}
	for _, m := range config.Mounts {
		// Files belong to the users that the pod calls so.
		users := config.Linux.SecurityContext.NamespaceOptions.UsernsOptions
		m.UidMappings, m.GidMappings = users.Uids, users.Gids
	}
	return config, err
}

// postStart runs the hook of a container that has been started, and ends the container if that fails.
func (w *worker) postStart(ctx context.Context, pod *corev1.Pod, c *corev1.Container, id string) error {
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil {
		return nil
	}
	err := w.k.hook(ctx, pod, c, id, c.Lifecycle.PostStart)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.hooked[id] = true
	if err == nil {
		return nil
	}
	about := w.about(pod, c.Name)
	w.k.recorder.About(about, nil, events.Warning, "FailedPostStartHook", fmt.Sprintf("PostStartHook failed: %v", err))
	w.k.recorder.About(about, nil, events.Normal, "Killing", "FailedPostStartHook")
	if err := w.kill(ctx, pod, killing{spec: c, run: &container{id: id, name: c.Name}}); err != nil {
		return err
	}
	return &waitError{"PostStartHookError", err.Error()}
}

// hasRun reports whether a container has been started at least once.
func hasRun(st *corev1.ContainerStatus) bool {
	return st.State.Running != nil || st.State.Terminated != nil || st.LastTerminationState.Terminated != nil
}

// startFailed is the error of a start that the runtime refused. It is not tried again soon, whatever wakes
// the worker until then: what the failure left in the runtime does.
func (w *worker) startFailed(c *corev1.Container, about corev1.ObjectReference, reason string, err error) error {
	const pause = 5 * retryAfter
	text := status.Convert(err).Message()
	w.k.recorder.About(about, nil, events.Warning, "Failed", "Error: "+text)
	w.notBefore[c.Name] = time.Now().Add(pause)
	return delayed{&waitError{reason, text}, pause}
}

// plainText is an error without the reason that a status shows beside it.
func plainText(err error) string {
	var wait *waitError
	if errors.As(err, &wait) {
		return wait.message
	}
	return err.Error()
}
