package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
)

// errGraceChanged ends a termination that has to start again with a shorter grace period.
var errGraceChanged = errors.New("the grace period was shortened")

// minGrace is what a container gets at least, in seconds.
const minGrace = 1

// grace is how long the pod's containers get to end.
func (w *worker) grace() int64 {
	pod, _ := w.desired()
	grace := int64(30)
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		grace = *g
	}
	if g := pod.DeletionGracePeriodSeconds; g != nil && pod.DeletionTimestamp != nil {
		grace = *g
	}
	if v := w.orderedEnd(); v != nil && v.grace != nil {
		grace = min(grace, *v.grace)
	}
	return max(grace, minGrace)
}

// terminate stops all containers and then the sandboxes. Containers that do the work stop side by side,
// sidecars after them in the reverse of the order they started in. Meanwhile the status follows what happens,
// and a grace period that is shortened ends this with errGraceChanged.
func (w *worker) terminate(ctx context.Context) error {
	v, err := w.k.views.now(ctx, w.uid)
	if err != nil {
		return err
	}
	select {
	case <-w.nudge: // the pod is looked at below
	default:
	}
	pod, _ := w.desired()
	w.k.probes.watch(ctx, pod, v, true)
	w.report(ctx, pod, v)
	grace := w.grace()
	deadline := time.Now().Add(time.Duration(grace) * time.Second)

	stopping, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- w.stopAll(stopping, pod, v, deadline) }()
	for waiting := true; waiting; {
		select {
		case err = <-ended:
			waiting = false
		case <-w.nudge:
			w.gather(ctx)
			if w.grace() < grace {
				cancel()
				<-ended
				return errGraceChanged
			}
			select {
			case err = <-ended:
				waiting = false
			default:
				w.lookWhileEnding(ctx)
			}
		}
	}
	w.poke() // a nudge may have been taken
	if err != nil {
		return err
	}
	for _, s := range v.sandboxes {
		if _, err := w.k.rt.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: s.id}); err != nil && !isGone(err) {
			return err
		}
	}
	w.k.probes.end(w.uid)
	return nil
}

// lookWhileEnding reports what has become of a pod whose containers are being stopped, and runs the probes of
// those that still do.
func (w *worker) lookWhileEnding(ctx context.Context) {
	// Or a shorter grace period would wait for a runtime that hangs.
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	v, err := w.k.views.now(ctx, w.uid)
	if err != nil {
		return
	}
	pod, removed := w.desired()
	w.k.probes.watch(ctx, pod, v, true)
	if !removed {
		w.report(ctx, pod, v)
	}
}

// stopAll stops the containers of a pod by the deadline: those that do the work first, then its sidecars, the
// last one first. All preStop hooks begin at once.
func (w *worker) stopAll(ctx context.Context, pod *corev1.Pod, v *view, deadline time.Time) error {
	var sidecars []*container
	var mu sync.Mutex
	var errs []error
	var workers, all sync.WaitGroup
	failed := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	}
	stop := func(c *container, turn <-chan struct{}) {
		spec := specOf(pod, c.name)
		if spec == nil {
			spec = &corev1.Container{Name: c.name}
		}
		w.k.recorder.About(w.about(pod, c.name), nil, events.Normal, "Killing", "Stopping container "+c.name)
		left := max(int64(time.Until(deadline).Round(time.Second)/time.Second), minGrace)
		if err := w.kill(ctx, pod, killing{spec: spec, run: c, grace: &left, turn: turn}); err != nil {
			failed(err)
		}
	}
	for _, c := range v.containers {
		switch {
		case c.exited():
		case c.unstarted():
			if err := w.k.removeContainer(ctx, c); err != nil {
				failed(err)
			}
		case slices.ContainsFunc(pod.Spec.InitContainers, func(s corev1.Container) bool { return s.Name == c.name && isSidecar(&s) }):
			sidecars = append(sidecars, c)
		default:
			workers.Go(func() { stop(c, nil) })
		}
	}
	place := func(c *container) int {
		return slices.IndexFunc(pod.Spec.InitContainers, func(s corev1.Container) bool { return s.Name == c.name })
	}
	slices.SortFunc(sidecars, func(a, b *container) int { return place(b) - place(a) })
	begin := make(chan struct{})
	turn := begin
	for _, c := range sidecars {
		ended, before := make(chan struct{}), turn
		all.Go(func() {
			defer close(ended)
			stop(c, before)
			<-before // it may have run out of time
		})
		turn = ended
	}
	workers.Wait()
	close(begin)
	all.Wait()
	return errors.Join(errs...)
}

// minStop is what the runtime gives a container at least to end, in seconds.
const minStop = 2

// kill runs the preStop hook, waits for the container's turn, and stops it, all within the grace period: that
// of the pod, or another.
func (w *worker) kill(ctx context.Context, pod *corev1.Pod, kill killing) error {
	seconds, spec := w.grace(), kill.spec
	if kill.grace != nil {
		seconds = max(*kill.grace, 0)
	}
	if spec.Lifecycle != nil && spec.Lifecycle.PreStop != nil && seconds > 0 {
		began := time.Now()
		hookCtx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
		err := w.k.hook(hookCtx, pod, spec, kill.run.id, spec.Lifecycle.PreStop)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			w.k.recorder.About(w.about(pod, spec.Name), nil, events.Warning, "FailedPreStopHook", fmt.Sprintf("PreStopHook failed: %v", err))
		}
		seconds -= int64(time.Since(began) / time.Second)
	}
	if kill.turn != nil && seconds > 0 {
		began := time.Now()
		timer := time.NewTimer(time.Duration(seconds) * time.Second)
		select {
		case <-kill.turn:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		seconds -= int64(time.Since(began) / time.Second)
	}
	seconds = max(seconds, minStop)
	callCtx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+w.k.opts.RuntimeTimeout)
	defer cancel()
	_, err := w.k.rt.StopContainer(callCtx, &cri.StopContainerRequest{ContainerId: kill.run.id, Timeout: seconds})
	if err != nil && !isGone(err) {
		return fmt.Errorf("stop container %s: %s", spec.Name, status.Convert(err).Message())
	}
	return nil
}

// collectDead removes all but the newest dead run of each container, and reports whether there were any.
func (w *worker) collectDead(ctx context.Context, pod *corev1.Pod, v *view) (removed bool) {
	seen := map[string]int{}
	for _, c := range v.containers {
		if !c.exited() {
			continue
		}
		if seen[c.name]++; seen[c.name] == 1 {
			continue
		}
		removed = true
		if err := w.k.removeContainer(ctx, c); err != nil {
			w.log.Debug("remove dead container failed", "container", c.name, "err", err)
			continue
		}
		removeLogs(c.logPath)
		delete(w.hooked, c.id)
		delete(w.messages, c.id)
	}
	for i, s := range v.sandboxes {
		if i > 0 && !s.ready {
			removed = true
			w.removeSandbox(ctx, s, v)
		}
	}
	return removed
}

func (w *worker) removeSandbox(ctx context.Context, s sandbox, v *view) {
	if slices.ContainsFunc(v.containers, func(c *container) bool { return c.sandboxID == s.id }) {
		return // removing it would take the containers with it, whose last state is still shown
	}
	if _, err := w.k.rt.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: s.id}); err != nil && !isGone(err) {
		w.log.Debug("remove dead sandbox failed", "err", err)
		return
	}
	delete(w.stoppedBoxes, s.id)
}

// cleanUp removes all that is left of a pod that has stopped.
func (w *worker) cleanUp(ctx context.Context, pod *corev1.Pod, v *view) error {
	if err := w.k.removePod(ctx, v); err != nil {
		return err
	}
	if err := w.k.removeFiles(w.uid); err != nil {
		return err
	}
	w.k.probes.forget(v)
	w.k.cgroups.removePod(ctx, w.uid)
	w.k.tokens.forget(w.uid)
	w.k.images.forget(pod)
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			w.k.backoffs.forget(string(w.uid) + "/" + list[i].Name + "/" + hashOf(&list[i]))
		}
	}
	return nil
}

// removePod removes a pod's containers and sandboxes from the runtime.
func (k *Kubelet) removePod(ctx context.Context, v *view) error {
	for _, s := range v.sandboxes {
		if _, err := k.rt.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: s.id}); err != nil && !isGone(err) {
			return err
		}
	}
	for _, c := range v.containers {
		if err := k.removeContainer(ctx, c); err != nil {
			return err
		}
	}
	for _, s := range v.sandboxes {
		if _, err := k.rt.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: s.id}); err != nil && !isGone(err) {
			return err
		}
	}
	return nil
}

func (k *Kubelet) removeContainer(ctx context.Context, c *container) error {
	if _, err := k.rt.RemoveContainer(ctx, &cri.RemoveContainerRequest{ContainerId: c.id}); err != nil && !isGone(err) {
		return fmt.Errorf("remove container %s: %s", c.name, status.Convert(err).Message())
	}
	l := c.status.GetLabels()
	_ = os.Remove(k.logLink(l[labelPodName], l[labelPodNamespace], c.name, c.id)) // else the sweep does
	return nil
}

// removeDeadContainers removes the containers of pods that are over and their logs, which are kept only
// because they can still be looked at.
func (k *Kubelet) removeDeadContainers(ctx context.Context) {
	for _, w := range k.allWorkers() {
		pod, _ := w.desired()
		if !over(pod.Status.Phase) {
			continue
		}
		v, err := k.views.now(ctx, pod.UID)
		if err != nil {
			continue
		}
		for _, c := range v.all((*container).exited) {
			if err := k.removeContainer(ctx, c); err != nil {
				k.log.Info("remove dead container failed", "namespace", pod.Namespace, "name", pod.Name, "err", err)
				continue
			}
			removeLogs(c.logPath)
		}
	}
}

// removeFiles removes a pod's folders. Volumes must have been unmounted; what is still mounted is an error,
// never emptied.
func (k *Kubelet) removeFiles(uid types.UID) error {
	k.ids.release(uid)
	dir := k.podDir(uid)
	if err := k.unmountBelow(dir); err != nil {
		return err
	}
	if err := k.mounts.remove(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(k.opts.LogDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if logsOf(e.Name()) == uid {
			if err := os.RemoveAll(filepath.Join(k.opts.LogDir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// left are the pods of which there is something in the runtime or on the disk.
func (k *Kubelet) left() map[types.UID]bool {
	uids := k.pleg.held()
	// A folder that cannot be read is looked at again.
	entries, _ := os.ReadDir(filepath.Join(k.opts.RootDir, "pods"))
	for _, e := range entries {
		uids[types.UID(e.Name())] = true
	}
	entries, _ = os.ReadDir(k.opts.LogDir)
	for _, e := range entries {
		if uid := logsOf(e.Name()); uid != "" {
			uids[uid] = true
		}
	}
	return uids
}

// orphanRemovals is how many pods without an object are removed side by side.
const orphanRemovals = 8

// orphanage removes what is left of pods without an object. One that the runtime does not let go of holds
// none of the others up.
type orphanage struct {
	k       *Kubelet
	working sync.WaitGroup

	mu      sync.Mutex
	busy    map[types.UID]bool // those that wait or are being removed
	known   map[types.UID]bool // those that were found, until they are gone; true if the runtime had them
	failed  map[types.UID]bool // those whose latest removal has failed
	waiting []types.UID
	workers int
}

func newOrphanage(k *Kubelet) *orphanage {
	return &orphanage{k: k, busy: map[types.UID]bool{}, known: map[types.UID]bool{}, failed: map[types.UID]bool{}}
}

// take begins with the removal of a pod unless it is under way, and does not wait for its end.
func (o *orphanage) take(ctx context.Context, uid types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy[uid] {
		return
	}
	o.busy[uid] = true
	o.waiting = append(o.waiting, uid)
	if o.workers < orphanRemovals {
		o.workers++
		o.working.Go(func() { o.work(ctx) })
	}
}

// work removes one pod after the other, until none waits.
func (o *orphanage) work(ctx context.Context) {
	for uid := range o.next {
		var err error
		if ctx.Err() == nil && !o.k.wanted(uid) { // it may have waited for long
			err = o.k.removeOrphan(ctx, uid)
			if err != nil && ctx.Err() == nil {
				o.k.log.Warn("stop orphaned pod failed", "uid", uid, "err", err)
			}
		}
		o.mu.Lock()
		delete(o.busy, uid)
		delete(o.failed, uid)
		if err != nil {
			o.failed[uid] = true
		}
		o.mu.Unlock()
	}
}

// next yields those that wait, in the order of take; after the last the worker has ended.
func (o *orphanage) next(yield func(types.UID) bool) {
	for {
		o.mu.Lock()
		if len(o.waiting) == 0 {
			o.workers--
			o.mu.Unlock()
			return
		}
		uid := o.waiting[0]
		o.waiting = o.waiting[1:]
		o.mu.Unlock()
		if !yield(uid) {
			return
		}
	}
}

// running returns how many pods without an object the runtime has that are being removed.
func (o *orphanage) running() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for uid := range o.busy {
		if o.known[uid] {
			n++
		}
	}
	return n
}

// found takes up the pods without an object of one sweep, and counts those that are new and that the runtime
// has.
func (o *orphanage) found(uids map[types.UID]bool) {
	held := o.k.pleg.held()
	folders, failed := 0, 0
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.known, func(uid types.UID, _ bool) bool { return !uids[uid] })
	maps.DeleteFunc(o.failed, func(uid types.UID, _ bool) bool { return !uids[uid] })
	for uid := range uids {
		if held[uid] && !o.known[uid] {
			o.k.metrics.orphaned.Inc()
		}
		o.known[uid] = o.known[uid] || held[uid]
		if _, err := os.Stat(o.k.podDir(uid)); err == nil {
			folders++
			if o.failed[uid] {
				failed++
			}
		}
	}
	o.k.metrics.leftover.Set(float64(folders))
	o.k.metrics.leftoverErrors.Set(float64(failed))
}

// removeOrphans removes what belongs to no pod of the node. It does not wait for that.
func (k *Kubelet) removeOrphans(ctx context.Context) {
	orphans := k.left()
	k.mu.Lock()
	for uid := range k.workers {
		delete(orphans, uid)
	}
	k.mu.Unlock()
	maps.DeleteFunc(orphans, func(uid types.UID, _ bool) bool { return k.wanted(uid) })
	k.orphans.found(orphans)
	for _, uid := range slices.Sorted(maps.Keys(orphans)) {
		k.orphans.take(ctx, uid)
	}
}

// wanted reports whether a pod without a worker has an object, so that its worker is about to start.
func (k *Kubelet) wanted(uid types.UID) bool {
	found := false
	err := k.apiPods.Lister().ViewAll(listAll, func(p *corev1.Pod) bool {
		found = p.UID == uid
		return !found
	})
	// A pod that cannot be decoded, or the copy not being read yet, is no reason to end containers.
	found = found || err != nil
	k.mu.Lock()
	defer k.mu.Unlock()
	return found || k.static[uid] != nil || k.workers[uid] != nil
}

func (k *Kubelet) removeOrphan(ctx context.Context, uid types.UID) error {
	v, err := k.views.now(ctx, uid)
	if err != nil {
		return err
	}
	for _, c := range v.alive() {
		grace := int64(2)
		if n, err := strconv.ParseInt(c.status.Annotations[annotationGrace], 10, 64); err == nil {
			grace = min(n, 30)
		}
		if _, err := k.rt.StopContainer(ctx, &cri.StopContainerRequest{ContainerId: c.id, Timeout: grace}); err != nil && !isGone(err) {
			return err
		}
	}
	if err := k.removePod(ctx, v); err != nil {
		return err
	}
	if gone, err := k.takeVolumesDown(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}); err != nil || !gone {
		return err // housekeeping comes again
	}
	if err := k.claims.unprepare(ctx, uid); err != nil {
		return err
	}
	k.cgroups.removePod(ctx, uid)
	return k.removeFiles(uid)
}

// awaitVolumesDown waits until the volumes of a pod are gone.
func (k *Kubelet) awaitVolumesDown(ctx context.Context, uid types.UID) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}
	for {
		gone, err := k.takeVolumesDown(pod)
		if err != nil || gone {
			return err
		}
		if err := backoff.Sleep(ctx, 100*time.Millisecond); err != nil {
			return errors.Join(errVolumes, err)
		}
	}
}

// removeAll ends every pod at once, when the node goes away for good.
func (k *Kubelet) removeAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	k.pleg.relist(ctx)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8)
	for _, uid := range slices.Sorted(maps.Keys(k.left())) {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			v, err := k.views.now(ctx, uid)
			if err == nil {
				for _, c := range v.alive() {
					_, _ = k.rt.StopContainer(ctx, &cri.StopContainerRequest{ContainerId: c.id, Timeout: 0})
				}
				err = k.removePod(ctx, v)
			}
			if err == nil {
				err = k.awaitVolumesDown(ctx, uid)
			}
			if err == nil { // a driver that is away keeps nothing else
				err = errors.Join(k.claims.unprepare(ctx, uid), k.removeFiles(uid))
			}
			if err != nil {
				k.log.Warn("pod removal failed", "uid", uid, "err", err)
			}
			k.cgroups.removePod(ctx, uid)
		})
	}
	wg.Wait()
	k.cgroups.removeAll(ctx)
}
