package scheduler

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// A binding whose answer was lost is sent again, to the same node, this often, after waits that double from
// the first to the last.
const (
	bindTries     = 5
	bindWaitFirst = 100 * time.Millisecond
	bindWaitMax   = 5 * time.Second
)

// binding is what became of a binding.
type binding int

const (
	bound   binding = iota // to our node, or as a watch will show to another
	unbound                // certainly not
	gone                   // the pod is no longer there
)

// write binds the pod. A placement that certainly was not written is taken back; one whose fate is not known
// keeps its room until a read of the pod or the watch tells.
func (s *scheduler) write(ctx context.Context, t *try, node string) {
	pod := t.pod
	state, err := s.settle(ctx, pod, node)
	if ctx.Err() != nil && state != bound {
		return // the next leader reads the API
	}
	switch state {
	case bound:
		if err == nil {
			s.recorders[pod.Spec.SchedulerName].Eventf(pod, corev1.EventTypeNormal, "Scheduled", "Successfully assigned %s/%s to %s", pod.Namespace, pod.Name, node)
		}
		s.mu.Lock()
		s.queue.remove(pod.UID)
		s.mu.Unlock()
	case gone:
		s.mu.Lock()
		s.queue.remove(pod.UID)
		s.takeBack(pod, false)
		s.mu.Unlock()
		s.queue.move()
	case unbound:
		s.mu.Lock()
		s.takeBack(pod, true)
		s.mu.Unlock()
		s.log.Warn("bind pod failed", "namespace", pod.Namespace, "name", pod.Name, "node", node, "err", err)
		s.recorders[pod.Spec.SchedulerName].Eventf(pod, corev1.EventTypeWarning, "FailedScheduling", "binding rejected: %v", err)
		s.queue.failed(t, false)
		s.queue.move()
	}
}

// takeBack takes back an assumed placement; s.mu is held. Room that was kept for the pod on a node is kept
// again.
func (s *scheduler) takeBack(pod *corev1.Pod, keep bool) {
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
func (s *scheduler) settle(ctx context.Context, pod *corev1.Pod, node string) (binding, error) {
	wait := bindWaitFirst
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
			return unbound, err
		}
		live, getErr := s.read(ctx, pod)
		switch {
		case apierrors.IsNotFound(getErr):
			return gone, err
		case getErr != nil:
			return unbound, getErr // ctx has ended
		case live.Spec.NodeName == node:
			return bound, nil
		case live.Spec.NodeName != "":
			return bound, fmt.Errorf("the pod is bound to %s", live.Spec.NodeName)
		case apierrors.IsConflict(err) || i == bindTries:
			return unbound, err
		}
		if !pause(ctx, wait) {
			return unbound, ctx.Err()
		}
		wait = min(2*wait, bindWaitMax)
	}
}

// read gets the pod, however long that takes; the error is that ctx has ended, or that the pod is no longer
// there.
func (s *scheduler) read(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	for wait := bindWaitFirst; ; wait = min(2*wait, bindWaitMax) {
		live, err := s.pods.Get(ctx, pod.Key())
		switch {
		case err == nil && live.UID != pod.UID:
			return nil, apierrors.NewNotFound(s.pods.Resource().GVR.GroupResource(), pod.Name)
		case err == nil || apierrors.IsNotFound(err):
			return live, err
		}
		if !pause(ctx, wait) {
			return nil, ctx.Err()
		}
	}
}

// refused reports that the server has answered no, and has done nothing; conflicts, which may be with what we
// did ourselves, are left out.
func refused(err error) bool {
	code := apierrors.CodeOf(err)
	return code >= 400 && code < 500 && code != http.StatusConflict
}

// pause waits for d and reports whether ctx is still live.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
