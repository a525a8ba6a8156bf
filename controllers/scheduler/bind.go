package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// A binding whose response was lost is sent again, to the same node, this often, with delays that double from
// the first to the last.
const (
	bindTries     = 5
	bindWaitFirst = 100 * time.Millisecond
	bindWaitMax   = 5 * time.Second
)

// lateBinding is how long a binding without a response may still be written: a server ends requests after a
// minute (--request-timeout of kube-apiserver).
const lateBinding = time.Minute

// lateRoom begins the UIDs of what keeps the room of late bindings.
const lateRoom = "late binding "

// binding is what became of a binding.
type binding int

const (
	bound   binding = iota // to our node, or as a watch will show to another
	unbound                // certainly not
	gone                   // the pod is no longer there
)

// status is what is measured of a binding.
func (b binding) status() *Status {
	if b == bound {
		return nil
	}
	return NewStatus(Error)
}

// prepare does what may take long before a pod is bound. If something refuses it, the placement is taken
// back.
func (s *Scheduler) prepare(ctx context.Context, t *try, o *outcome) bool {
	st := s.permit(ctx, t, o)
	if st.OK() {
		if o.plan != nil || o.claims != nil || s.preBinds(t.Pod, o) {
			s.expectOn(ctx, t, o)
		}
		began := time.Now()
		st = s.preBind(ctx, t, o)
		s.opts.Metrics.pointOf(o.profile, "PreBind", st, began)
	}
	if ctx.Err() != nil {
		return false // the next leader reads the API
	}
	if !st.OK() {
		s.undo(ctx, t, o, st)
	}
	return st.OK()
}

// preBind binds the volumes of a pod, allocates its devices, and calls the PreBind plugins.
func (s *Scheduler) preBind(ctx context.Context, t *try, o *outcome) (st *Status) {
	if o.plan != nil {
		began := time.Now()
		st = s.volumes.bind(ctx, t, o)
		s.opts.Metrics.pluginOf(o.sampled, &VolumeBinding{}, "PreBind", st, began)
	}
	if st.OK() && o.claims != nil {
		began := time.Now()
		st = s.devices.bind(ctx, t, o)
		s.opts.Metrics.pluginOf(o.sampled, &DynamicResources{}, "PreBind", st, began)
	}
	if st.OK() {
		st = s.preBindAll(ctx, t.Pod, o)
	}
	return st
}

// expectOn writes into the status of a pod on which node it will be: others, such as autoscalers, then leave
// the node alone while its binding takes long. The binding goes on if that fails.
func (s *Scheduler) expectOn(ctx context.Context, t *try, o *outcome) {
	if s.opts.NoExpectedNode || o.expected || t.pod.Status.NominatedNodeName == o.Node {
		return
	}
	o.expected = true
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": t.pod.UID}, "status": map[string]any{"nominatedNodeName": o.Node}})
	if err == nil {
		_, err = s.pods.Patch(ctx, t.pod.Key(), client.Patch{Type: types.StrategicMergePatchType, Data: body}, client.PatchOptions{Subresource: "status"})
	}
	if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		s.log.Warn("write expected node of pod failed", "namespace", t.pod.Namespace, "name", t.pod.Name, "node", o.Node, "err", err)
	}
}

// write binds the pod. A placement that certainly was not written is taken back; one whose fate is not known
// keeps its resources reserved until a read of the pod or the watch shows the result.
func (s *Scheduler) write(ctx context.Context, t *try, o *outcome) {
	pod := t.pod
	began := time.Now()
	state, err := s.bindTo(ctx, t, o)
	s.opts.Metrics.pointOf(o.profile, "Bind", state.status(), began)
	if ctx.Err() != nil && state != bound {
		return // the next leader reads the API
	}
	switch state {
	case bound:
		if err == nil {
			s.recorders[pod.Spec.SchedulerName].Eventf(pod, corev1.EventTypeNormal, "Scheduled", "Successfully assigned %s/%s to %s", pod.Namespace, pod.Name, o.Node)
			if f := s.opts.Metrics.Scheduled; f != nil {
				f(o.profile.name, time.Since(t.entry.Since), t.entry.Attempts)
			}
			if f := s.opts.Metrics.ScheduledAfterFlush; f != nil && t.flushed {
				f()
			}
			s.postBindAll(ctx, t.Pod, o, func(st *Status) {
				s.pluginFailed(o.profile, st)
				s.log.Warn("plugin failed after the binding", "namespace", pod.Namespace, "name", pod.Name, "plugin", st.Plugin, "err", st.Message())
			})
		} else {
			s.unreserve(o.profile, t.Pod, o.Node)
		}
		s.mu.Lock()
		s.queue.remove(pod.UID)
		s.mu.Unlock()
	case gone:
		s.unreserve(o.profile, t.Pod, o.Node)
		s.mu.Lock()
		s.queue.remove(pod.UID)
		s.takeBack(pod, false)
		s.mu.Unlock()
		s.queue.happened(&Event{Kind: AssignedPodDelete, OldPod: pod})
	case unbound:
		plugin := "DefaultBinder"
		if by, ok := errors.AsType[*pluginError](err); ok {
			plugin = by.Plugin
		}
		s.undo(ctx, t, o, &Status{Code: Error, Plugin: plugin, Reasons: []string{fmt.Sprintf("binding rejected: %v", err)}})
	}
}

// undo takes back a placement that is certainly not written, and lets the pod be tried again.
func (s *Scheduler) undo(ctx context.Context, t *try, o *outcome, st *Status) {
	pod := t.pod
	s.pluginFailed(o.profile, st)
	s.unreserve(o.profile, t.Pod, o.Node)
	if o.claims != nil {
		s.devices.giveBack(ctx, pod, o)
	}
	s.mu.Lock()
	s.takeBack(pod, true)
	nominated := ""
	if nom := s.cluster.nominations.byPod[pod.UID]; nom != nil {
		nominated = nom.node
	}
	s.mu.Unlock()
	s.log.Warn("bind pod failed", "namespace", pod.Namespace, "name", pod.Name, "node", o.Node, "plugin", st.Plugin, "err", st.Message())
	s.recorders[pod.Spec.SchedulerName].Eventf(pod, corev1.EventTypeWarning, "FailedScheduling", "%s", st.Message())
	if err := s.condition(ctx, pod, st.reason(), st.Message(), nominated, o.expected || mayPreempt(pod)); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) && !errors.Is(err, errBound) {
		s.log.Warn("write condition of pod failed", "namespace", pod.Namespace, "name", pod.Name, "err", err)
	}
	if st.Code == Error || s.grouped(t.Pod) {
		s.backOff(t)
	} else {
		s.queue.waitsFor(t, []string{st.Plugin})
	}
	s.queue.happened(&Event{Kind: AssignedPodDelete, OldPod: pod, after: t.number})
}

// bindTo binds with the first extender or plugin that does.
func (s *Scheduler) bindTo(ctx context.Context, t *try, o *outcome) (binding, error) {
	for _, x := range s.extendersOf(t.pod) {
		if x.Bind == "" {
			continue
		}
		err := x.bindPod(ctx, t.pod, o.Node)
		if _, lost := errors.AsType[*lostAnswer](err); lost && ctx.Err() == nil {
			over := make(chan struct{})
			time.AfterFunc(lateBinding, func() { close(over) })
			s.keepRoom(ctx, t, o.Node, over)
		}
		if err == nil || !x.Ignorable {
			return s.boundBy(ctx, t.pod, o.Node, err)
		}
		s.log.Warn("extender does not bind", "url", x.URL, "namespace", t.pod.Namespace, "name", t.pod.Name, "err", err)
	}
	for _, p := range o.profile.bind {
		began := time.Now()
		if _, own := p.(DefaultBinder); own {
			state, err := s.settle(ctx, t.pod, o.Node)
			s.opts.Metrics.pluginOf(o.sampled, p, "Bind", state.status(), began)
			return state, err
		}
		st, returned := leave(ctx, s.opts.PluginTimeout, p, func(ctx context.Context) *Status { return p.Bind(ctx, t.Pod, o.Node) })
		s.opts.Metrics.pluginOf(o.sampled, p, "Bind", st, began)
		if returned != nil {
			s.keepRoom(ctx, t, o.Node, returned)
		}
		switch {
		case st.OK():
			return bound, nil
		case st.Code == Error:
			return s.boundBy(ctx, t.pod, o.Node, &pluginError{st}) // it may have failed after the binding
		case st.Code != Skip:
			return unbound, &pluginError{st}
		}
	}
	last := o.profile.bind[len(o.profile.bind)-1]
	return unbound, &pluginError{&Status{Code: Error, Plugin: last.Name(), Reasons: []string{"no plugin has bound the pod: all of them skipped it"}}}
}

// DefaultBinder binds pods with the subresource binding of the API. It is the last to be called unless
// [Profile.Order] says otherwise.
type DefaultBinder struct{}

// Name returns "DefaultBinder".
func (DefaultBinder) Name() string { return "DefaultBinder" }

// Bind implements BindPlugin. It skips the pod: the scheduler binds it itself where this plugin is.
func (DefaultBinder) Bind(context.Context, *Pod, string) *Status { return NewStatus(Skip) }

// keepRoom keeps the room of a binding that may still be written, by a plugin that was left behind or by an
// extender without an answer, until over is closed: the pod is tried again meanwhile. It ends early when the
// pod is seen on a node, or its end.
func (s *Scheduler) keepRoom(ctx context.Context, t *try, node string, over <-chan struct{}) {
	s.mu.Lock()
	s.rooms++
	room := *t.Pod
	room.pod = codec.DeepCopy(t.pod)
	room.pod.UID = types.UID(fmt.Sprintf(lateRoom+"%d of %s", s.rooms, t.pod.UID))
	room.claims, room.devices, room.priority = nil, nil, math.MaxInt32 // it is no victim
	room.group = types.NamespacedName{}                                // and no member
	s.cluster.place(&room, node)
	s.lateRooms[t.pod.UID] = append(s.lateRooms[t.pod.UID], room.pod.UID)
	s.mu.Unlock()
	s.late.Go(func() {
		select {
		case <-over:
		case <-ctx.Done():
			return
		}
		if state, err := s.find(ctx, t.pod, node, nil); ctx.Err() != nil || state == bound && err == nil {
			return // the watch shows it
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.endRoom(t.pod.UID, room.pod)
	})
}

// endRoom gives rooms of late bindings of a pod away: one, or all if it is nil. s.mu is held.
func (s *Scheduler) endRoom(pod types.UID, one *corev1.Pod) {
	for _, uid := range s.lateRooms[pod] {
		if p := s.cluster.pods[uid]; p != nil && (one == nil || uid == one.UID) {
			s.cluster.RemovePod(uid)
			s.queue.happened(&Event{Kind: AssignedPodDelete, OldPod: p.pod})
		}
	}
	left := slices.DeleteFunc(s.lateRooms[pod], func(uid types.UID) bool { return one == nil || uid == one.UID })
	if s.lateRooms[pod] = left; len(left) == 0 {
		delete(s.lateRooms, pod)
	}
}

// pluginError is the answer of a plugin that does not bind.
type pluginError struct{ *Status }

func (e *pluginError) Error() string { return e.Message() }

// boundBy finds out what became of a binding by an extender or a plugin, whose failure may have come after
// it.
func (s *Scheduler) boundBy(ctx context.Context, pod *corev1.Pod, node string, err error) (binding, error) {
	if err == nil {
		return bound, nil
	}
	return s.find(ctx, pod, node, err)
}

// takeBack takes back an assumed placement; s.mu is held. Room that was kept for the pod on a node is kept
// again.
func (s *Scheduler) takeBack(pod *corev1.Pod, keep bool) {
	// The pod may have been seen bound, by us with a lost answer or by another: then the API's word counts.
	a, ok := s.assumed[pod.UID]
	if !ok {
		return
	}
	delete(s.assumed, pod.UID)
	s.cluster.RemovePod(pod.UID)
	if keep && a.nomination != nil {
		s.cluster.nominations.put(a.nomination)
	}
}

// settle writes the binding and finds out what became of it. The error belongs to unbound, or says that the
// pod is bound to another node.
func (s *Scheduler) settle(ctx context.Context, pod *corev1.Pod, node string) (binding, error) {
	wait := bindWaitFirst
	var unanswered time.Time // when the last binding without a response was sent
	for i := 1; ; i++ {
		_, err := s.bind.Create(ctx, pod.Key(), &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: node},
		})
		switch {
		case err == nil:
			return bound, nil
		case apierrors.IsNotFound(err):
			return gone, err
		case refused(err):
			return s.awaitLate(ctx, pod, node, unanswered, err)
		case !apierrors.IsConflict(err):
			unanswered = time.Now()
		}
		if state, found := s.find(ctx, pod, node, err); state != unbound || apierrors.IsConflict(err) || ctx.Err() != nil {
			return state, found
		}
		if i == bindTries {
			return s.awaitLate(ctx, pod, node, unanswered, err)
		}
		if err := backoff.Sleep(ctx, wait); err != nil {
			return unbound, err
		}
		wait = min(2*wait, bindWaitMax)
	}
}

// awaitLate waits until no binding of the pod can be written any more: none was sent without a response, or
// one was written, or the last of them is that old. cause is why no more are sent.
func (s *Scheduler) awaitLate(ctx context.Context, pod *corev1.Pod, node string, unanswered time.Time, cause error) (binding, error) {
	for wait := bindWaitFirst; time.Since(unanswered) < lateBinding; wait = min(2*wait, bindWaitMax) {
		if err := backoff.Sleep(ctx, wait); err != nil {
			return unbound, err
		}
		if state, err := s.find(ctx, pod, node, cause); state != unbound || ctx.Err() != nil {
			return state, err
		}
	}
	return unbound, cause
}

// find reads what became of a binding to a node, of which cause was the error.
func (s *Scheduler) find(ctx context.Context, pod *corev1.Pod, node string, cause error) (binding, error) {
	live, err := s.read(ctx, pod)
	switch {
	case apierrors.IsNotFound(err):
		return gone, cause
	case err != nil:
		return unbound, err // ctx has ended
	case live.Spec.NodeName == node:
		return bound, nil
	case live.Spec.NodeName != "":
		return bound, fmt.Errorf("the pod is bound to %s", live.Spec.NodeName)
	}
	return unbound, cause
}

// read gets the pod, however long that takes; the error is that ctx has ended, or that the pod is no longer
// there.
func (s *Scheduler) read(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	for wait := bindWaitFirst; ; wait = min(2*wait, bindWaitMax) {
		live, err := s.pods.Get(ctx, pod.Key())
		switch {
		case err == nil && live.UID != pod.UID:
			return nil, apierrors.NewNotFound(s.pods.Resource().GVR.GroupResource(), pod.Name)
		case err == nil || apierrors.IsNotFound(err):
			return live, err
		}
		if err := backoff.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// refused reports that the server has answered no, and has done nothing; conflicts, which may be with what we
// did ourselves, are left out.
func refused(err error) bool {
	code := apierrors.CodeOf(err)
	return code >= 400 && code < 500 && code != http.StatusConflict
}
