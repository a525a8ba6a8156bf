package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

const preemptedReason = "PreemptionByScheduler"

// sparedFor is how long a pod that the API refused to have deleted is no victim. It is less than pods wait
// without an event.
const sparedFor = unplacedMax - time.Minute

// preemptor is a pod or a group that victims are ended for, and where: on a node, or in the whole cluster.
type preemptor struct {
	kind, scheduler, on string
	uid                 types.UID
	// pods wait for the victims. One that has left the queue needs no victims any more.
	pods []*try
}

func (t *try) preemptor(node string) *preemptor {
	return &preemptor{kind: "pod", uid: t.pod.UID, scheduler: t.pod.Spec.SchedulerName, on: node, pods: []*try{t}}
}

// evict ends the victims: it marks all of them and, if every mark was accepted, deletes them. A victim that
// cannot be marked is not deleted, nor is any other of its set. It may be called again for victims that an
// earlier call did not reach.
func (s *Scheduler) evict(ctx context.Context, by *preemptor, victims []*corev1.Pod) error {
	began, result := time.Now(), "success"
	err := s.end(ctx, by, victims)
	if err != nil {
		result = "error"
	}
	if f := s.opts.Metrics.VictimsEnded; f != nil {
		f(result, time.Since(began))
	}
	return err
}

func (s *Scheduler) end(ctx context.Context, by *preemptor, victims []*corev1.Pod) error {
	for _, v := range victims {
		if err := s.mark(ctx, by, v); err != nil {
			return s.notEvicted(by, v, fmt.Errorf("mark pod %s as disrupted: %w", v.Key(), err))
		}
	}
	if !slices.ContainsFunc(by.pods, func(t *try) bool { return s.queue.holds(t.entry, t.pod.UID) }) {
		return nil // deleted, or bound by another: no pod has to go for it
	}
	for _, v := range victims {
		err := s.pods.Delete(ctx, v.Key(), client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &v.UID}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return s.notEvicted(by, v, fmt.Errorf("delete pod %s: %w", v.Key(), err))
		}
		if err == nil {
			s.recorders[by.scheduler].Eventf(v, corev1.EventTypeNormal, "Preempted", "Preempted by %s %s on node %s", by.kind, by.uid, by.on)
		}
	}
	return nil
}

// notEvicted decides what a failure means: a pod that the API refuses to give up is no victim for the next
// minutes, and the next try looks for others; after any other failure the next try goes on with the same
// victims.
func (s *Scheduler) notEvicted(by *preemptor, victim *corev1.Pod, err error) error {
	if !refused(err) || apierrors.CodeOf(err) == http.StatusTooManyRequests {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cluster.spared[victim.UID] = time.Now()
	for _, t := range by.pods {
		s.cluster.unnominate(t.pod.UID)
	}
	return err
}

// mark writes the condition that says why the pod ends. A pod that is gone needs none.
func (s *Scheduler) mark(ctx context.Context, by *preemptor, v *corev1.Pod) error {
	if slices.ContainsFunc(v.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == preemptedReason
	}) {
		return nil
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": v.UID},
		"status": map[string]any{"conditions": []map[string]any{{
			"type": corev1.DisruptionTarget, "status": corev1.ConditionTrue, "reason": preemptedReason,
			"message":            by.scheduler + ": preempting to accommodate a higher priority " + by.kind,
			"lastTransitionTime": metav1.Now(), "observedGeneration": v.Generation,
		}}},
	})
	if err != nil {
		return err
	}
	live, err := s.pods.Patch(ctx, v.Key(), client.Patch{Type: types.StrategicMergePatchType, Data: body}, client.PatchOptions{Subresource: "status"})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		// Conflicts are about the UID only: a patch without a resourceVersion is repeated by the server.
		other, getErr := s.pods.Get(ctx, v.Key())
		if apierrors.IsNotFound(getErr) || getErr == nil && other.UID != v.UID {
			return nil
		}
		return errors.Join(err, getErr)
	case err != nil:
		return err
	case live.Spec.NodeName != v.Spec.NodeName:
		return fmt.Errorf("it is on node %q now, not on %q", live.Spec.NodeName, v.Spec.NodeName)
	}
	return nil
}
