package replicaset

import (
	"context"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// apply does what a plan says and brings s up to date. After an error the next reconcile makes another plan.
func (r *sets[T]) apply(ctx context.Context, set T, s *state, p plan) error {
	if p.create > 0 {
		return r.create(ctx, set, s, p.create)
	}
	err := podcontrol.DeleteAll(ctx, r.PodsAPI, p.delete, func(pod *corev1.Pod, err error) {
		if err != nil {
			r.Recorder.Eventf(set, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
			return
		}
		r.Recorder.Eventf(set, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
	})
	if err != nil {
		return err
	}
	gone := map[*corev1.Pod]bool{}
	for _, pod := range p.delete {
		gone[pod] = true
	}
	s.active = slices.DeleteFunc(s.active, func(pod *corev1.Pod) bool { return gone[pod] })
	return nil
}

func (r *sets[T]) create(ctx context.Context, set T, s *state, n int) error {
	created := make([]*corev1.Pod, n)
	_, err := controllers.Batches(n, func(i int) error {
		pod, err := r.Create(ctx, podcontrol.FromTemplate(&s.rs.Spec.Template, set, r.kind, s.rs.Name))
		if err != nil {
			if !apierrors.HasCause(err, "NamespaceTerminating") {
				r.Recorder.Eventf(set, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
			}
			return err
		}
		created[i] = pod
		r.Recorder.Eventf(set, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", pod.Name)
		return nil
	})
	for _, pod := range created {
		if pod != nil {
			s.active = append(s.active, pod)
		}
	}
	if apierrors.HasCause(err, "NamespaceTerminating") {
		return nil // nothing more will come of this namespace
	}
	return err
}
