package disruption

import (
	"context"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// staleTimeout is how long a pod may say that it is about to be disrupted without being deleted.
const staleTimeout = 2 * time.Minute

// addStale registers the controller that takes the condition DisruptionTarget back from pods that were not
// deleted after all.
func addStale(m *manager.Manager) error {
	pods, api := informers.For[*corev1.Pod](m.Informers()).Lister(), client.For[*corev1.Pod](m.Conn())
	_, err := controllers.Add(m, "stale-pod-disruption", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		pod, err := pods.Get(req)
		if err != nil {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
		target := targeted(pod)
		if target == nil {
			return reconcile.Result{}, nil
		}
		if wait := time.Until(target.LastTransitionTime.Add(staleTimeout)); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
		*target = corev1.PodCondition{Type: target.Type, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now(), ObservedGeneration: pod.Generation}
		_, err = api.UpdateStatus(ctx, pod)
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}), controllers.Options{}, controllers.For(func(e informers.Event[*corev1.Pod]) bool {
		return e.Type != informers.Deleted && targeted(e.New()) != nil
	}))
	return err
}

// targeted returns the condition by which a pod that lives says it is to be disrupted, or nil.
func targeted(pod *corev1.Pod) *corev1.PodCondition {
	if pod.DeletionTimestamp != nil || pod.HasEnded() {
		return nil
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}
