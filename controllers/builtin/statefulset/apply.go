package statefulset

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/revisions"
)

// apply does what a plan says. After an error the next reconcile makes another plan.
func (s *statefulSets) apply(ctx context.Context, r *reading, p plan) error {
	if err := s.create(ctx, r, p.create); err != nil {
		return err
	}
	for _, pod := range p.provide {
		if err := s.provide(ctx, r.set, pod); err != nil {
			return err
		}
		if _, err := s.bequeath(ctx, r.set, pod, false, true); err != nil {
			s.podEvent(r.set, pod, "Update", err)
			return err
		}
	}
	for _, pod := range p.check {
		if err := s.restore(ctx, r.set, pod); err != nil {
			return err
		}
	}
	// Before its pod ends: later nothing would know that the claim is to go too.
	for _, pod := range p.condemned {
		if _, err := s.bequeath(ctx, r.set, pod, true, false); err != nil {
			return err
		}
	}
	_, err := controllers.Batches(len(p.delete), func(i int) error { return s.delete(ctx, r.set, p.delete[i]) })
	return err
}

// create creates pods, each after its claims.
func (s *statefulSets) create(ctx context.Context, r *reading, list []creation) error {
	if len(list) == 0 {
		return nil
	}
	templates := map[bool]*corev1.PodTemplateSpec{}
	for current, rev := range map[bool]*appsv1.ControllerRevision{true: r.current, false: r.update} {
		template, err := revisions.Template(rev)
		if err != nil {
			return err
		}
		templates[current] = template
	}
	names := map[bool]string{true: r.currentName, false: r.updateName}
	_, err := controllers.Batches(len(list), func(i int) error {
		c := list[i]
		if stale, err := s.stale(r.set, c.ordinal); stale || err != nil {
			return err // the deletion of the claim starts another reconcile
		}
		pod := newPod(r.set, templates[c.current], names[c.current], c.ordinal)
		err := s.provide(ctx, r.set, pod)
		if err == nil {
			var created *corev1.Pod
			if created, err = s.PodsAPI.Create(ctx, pod); err == nil {
				pod = created
			}
		}
		if apierrors.HasCause(err, "NamespaceTerminating") {
			return err
		}
		if err != nil {
			s.podEvent(r.set, pod, "Create", err)
			return err
		}
		if _, err = s.bequeath(ctx, r.set, pod, false, true); err != nil {
			s.podEvent(r.set, pod, "Update", err)
			return err
		}
		s.podEvent(r.set, pod, "Create", nil)
		return nil
	})
	return err
}

// podEvent records what was done with a pod.
func (s *statefulSets) podEvent(set *appsv1.StatefulSet, pod *corev1.Pod, verb string, err error) {
	if err == nil {
		s.Recorder.Eventf(set, corev1.EventTypeNormal, "Successful"+verb, "%s Pod %s in StatefulSet %s successful", verb, pod.Name, set.Name)
		return
	}
	s.Recorder.Eventf(set, corev1.EventTypeWarning, "Failed"+verb, "%s Pod %s in StatefulSet %s failed error: %s", verb, pod.Name, set.Name, err)
}

// restore gives a pod its labels and volumes, and its claims the owner that the retention policy says.
func (s *statefulSets) restore(ctx context.Context, set *appsv1.StatefulSet, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	identifies := !identified(set, pod)
	if identifies {
		if err := s.identify(ctx, set, pod); err != nil {
			if !apierrors.IsConflict(err) {
				s.podEvent(set, pod, "Update", err)
			}
			return err
		}
	}
	bequeathed, err := s.bequeath(ctx, set, pod, false, false)
	if err != nil || identifies || bequeathed {
		s.podEvent(set, pod, "Update", err)
	}
	return err
}

// identify gives a pod its labels and volumes, the claims of which exist then.
func (s *statefulSets) identify(ctx context.Context, set *appsv1.StatefulSet, pod *corev1.Pod) error {
	next := codec.DeepCopy(pod)
	identify(set, next, ordinalOf(set, pod))
	mount(set, next, ordinalOf(set, pod))
	err := s.provide(ctx, set, next)
	if err == nil {
		_, err = s.PodsAPI.Update(ctx, next)
	}
	return err
}

func (s *statefulSets) delete(ctx context.Context, set *appsv1.StatefulSet, pod *corev1.Pod) error {
	err := s.PodsAPI.Delete(ctx, pod.Key(), client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	s.podEvent(set, pod, "Delete", err)
	return err
}
