package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/registry"
)

var (
	evictionKind = schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}
	podsGVR      = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	budgets      = schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}
)

// evict serves POST pods/NAME/eviction: a delete that disruption budgets may refuse.
func (s *Server) evict(rt *route, r *request) {
	wo, err := r.writeOptions("CreateOptions")
	if err != nil {
		r.fail(err)
		return
	}
	eviction := &policyv1.Eviction{}
	if err := r.decode(eviction, evictionKind); err != nil {
		r.fail(err)
		return
	}
	if eviction.Name != "" && eviction.Name != r.info.Name {
		r.fail(apierrors.NewBadRequest("name in URL does not match name in Eviction object"))
		return
	}
	if err := s.evictPod(rt, r, eviction, wo); err != nil {
		r.fail(err)
		return
	}
	r.succeed(http.StatusCreated, nil)
}

// evictPod runs admission, takes a disruption from the pod's budget, and deletes the pod.
// The writes below are made as the server itself: a caller that may evict need not have the right to change
// budgets and pods.
func (s *Server) evictPod(rt *route, r *request, eviction *policyv1.Eviction, wo writeOptions) error {
	ctx, err := s.fenceContext(r)
	if err != nil {
		return err
	}
	key := r.key(true)
	registry.SetKind(eviction, evictionKind)
	eviction.Name, eviction.Namespace = key.Name, key.Namespace
	w := r.write(wo, createOptions(r, wo))
	w.Subresource = "eviction"
	w.DryRun = w.DryRun || eviction.DeleteOptions != nil && len(eviction.DeleteOptions.DryRun) > 0
	w.Body = &registry.Body{Kind: evictionKind, Operation: admission.Create, Object: eviction}
	if err := rt.res.AdmitBody(ctx, key, w); err != nil {
		return err
	}
	w.Admitted = true
	options := eviction.DeleteOptions // as changed by admission
	if options == nil {
		options = &metav1.DeleteOptions{}
	}
	w.DryRun = w.DryRun || len(options.DryRun) > 0
	for {
		obj, err := s.Access().GetLatest(ctx, rt.info.GVR, key)
		if err != nil {
			return err
		}
		pod := obj.(*corev1.Pod)
		version, err := s.disrupt(ctx, pod, options, w.DryRun)
		if errors.Is(err, errPodChanged) {
			continue
		}
		if err != nil {
			return err
		}
		// The pod that was checked and counted is the one to delete.
		chosen := *options
		chosen.Preconditions = &metav1.Preconditions{UID: &pod.UID}
		if p := options.Preconditions; p != nil && p.ResourceVersion != nil {
			chosen.Preconditions.ResourceVersion = &version
		}
		_, err = rt.res.Delete(ctx, key, &chosen, w)
		return err
	}
}

// errPodChanged reports that a pod has changed since its budget was read.
var errPodChanged = errors.New("the pod has changed")

// disrupt takes a disruption from the pod's budget, if it counts, and sets the condition DisruptionTarget, by
// which controllers distinguish an eviction from a failure. It returns the pod's resourceVersion from then
// on.
func (s *Server) disrupt(ctx context.Context, pod *corev1.Pod, options *metav1.DeleteOptions, dryRun bool) (version string, err error) {
	if err := checkPreconditions(pod, options.Preconditions); err != nil {
		return "", err
	}
	var budget *policyv1.PodDisruptionBudget
	if !exemptFromBudgets(pod) {
		if budget, err = s.budgetOf(ctx, pod); err != nil {
			return "", err
		}
	}
	counts := budget != nil && !mayEvictUnready(budget, pod)
	if counts {
		if err := s.spendBudget(ctx, budget, pod, dryRun); err != nil {
			return "", err
		}
	}
	if dryRun {
		return pod.ResourceVersion, nil
	}
	obj, err := s.Access().Update(authn.AsServer(ctx), podsGVR, metav1.KeyOf(pod), func(obj metav1.Object) error {
		now := obj.(*corev1.Pod)
		switch {
		case now.UID != pod.UID:
			return apierrors.NewNotFound(podsGVR.GroupResource(), pod.Name)
		case !counts && now.ResourceVersion != pod.ResourceVersion:
			return errPodChanged // it may have to be counted after the change
		}
		if err := checkPreconditions(now, options.Preconditions); err != nil {
			return err
		}
		setDisruptionTarget(now)
		return nil
	}, registry.Write{Subresource: "status", Admitted: true, Tracked: true})
	if err != nil {
		return "", err
	}
	return obj.GetResourceVersion(), nil
}

// checkPreconditions checks the preconditions of the eviction: the uid and resourceVersion of the pod.
func checkPreconditions(pod *corev1.Pod, p *metav1.Preconditions) error {
	switch {
	case p != nil && p.UID != nil && *p.UID != pod.UID:
		return apierrors.NewConflict(podsGVR.GroupResource(), pod.Name, fmt.Errorf("the UID in the precondition does not match the UID in record"))
	case p != nil && p.ResourceVersion != nil && *p.ResourceVersion != pod.ResourceVersion:
		return apierrors.NewConflict(podsGVR.GroupResource(), pod.Name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified",
			*p.ResourceVersion, pod.ResourceVersion))
	}
	return nil
}

// setDisruptionTarget sets the pod condition DisruptionTarget.
func setDisruptionTarget(pod *corev1.Pod) {
	c := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
		LastTransitionTime: metav1.Now(), ObservedGeneration: pod.Generation}
	i := slices.IndexFunc(pod.Status.Conditions, func(have corev1.PodCondition) bool { return have.Type == c.Type })
	if i < 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, c)
		return
	}
	if pod.Status.Conditions[i].Status == c.Status {
		c.LastTransitionTime = pod.Status.Conditions[i].LastTransitionTime
	}
	pod.Status.Conditions[i] = c
}

// exemptFromBudgets reports whether the pod can be deleted without counting: it is pending, has ended, or is
// being deleted.
func exemptFromBudgets(pod *corev1.Pod) bool {
	return pod.HasEnded() || pod.Status.Phase == corev1.PodPending ||
		!pod.DeletionTimestamp.IsZero()
}

// budgetOf returns the disruption budget the pod counts against, or nil. More than one is an error.
func (s *Server) budgetOf(ctx context.Context, pod *corev1.Pod) (*policyv1.PodDisruptionBudget, error) {
	all, err := registry.List[*policyv1.PodDisruptionBudget](ctx, s.Access(), budgets, pod.Namespace, labels.Everything())
	if err != nil {
		return nil, err
	}
	var found *policyv1.PodDisruptionBudget
	for _, b := range all {
		sel, err := b.Spec.Selector.Selector()
		if err != nil || !sel.Matches(pod.Labels) {
			continue
		}
		if found != nil {
			return nil, apierrors.New(http.StatusInternalServerError, "", "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
		}
		found = b
	}
	return found, nil
}

// mayEvictUnready reports whether a pod that is not ready may be evicted without being counted.
func mayEvictUnready(b *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return false
		}
	}
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
}

// maxDisruptedPods bounds the evictions that the disruption controller has not seen yet.
const maxDisruptedPods = 2000

// spendBudget takes one disruption from the budget, or returns why it cannot.
func (s *Server) spendBudget(ctx context.Context, b *policyv1.PodDisruptionBudget, pod *corev1.Pod, dryRun bool) error {
	refuse := func(why string, retry int) error {
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget. "+why, retry)
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: "DisruptionBudget", Message: why})
		return err
	}
	_, err := s.Access().Update(authn.AsServer(ctx), budgets, metav1.KeyOf(b), func(obj metav1.Object) error {
		b := obj.(*policyv1.PodDisruptionBudget)
		switch {
		case b.Status.ObservedGeneration < b.Generation:
			return refuse("The disruption budget "+b.Name+" is still being processed by the server.", 10)
		case b.Status.DisruptionsAllowed < 0:
			return apierrors.NewForbidden(budgets.GroupResource(), b.Name, fmt.Errorf("pdb disruptions allowed is negative"))
		case len(b.Status.DisruptedPods) > maxDisruptedPods:
			return apierrors.NewForbidden(budgets.GroupResource(), b.Name, fmt.Errorf("DisruptedPods map too big - too many evictions not confirmed by PDB controller"))
		case b.Status.DisruptionsAllowed == 0:
			// Without a Retry-After the client decides when to retry, and can inform its user.
			return refuse(fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, b.Status.DesiredHealthy, b.Status.CurrentHealthy), 0)
		}
		b.Status.DisruptionsAllowed--
		if b.Status.DisruptedPods == nil {
			b.Status.DisruptedPods = map[string]metav1.Time{}
		}
		b.Status.DisruptedPods[pod.Name] = metav1.NewTime(time.Now())
		return nil
	}, registry.Write{DryRun: dryRun, Subresource: "status", FieldManager: "apiserver"})
	return err
}

// setPodCondition adds or replaces a condition.
func setPodCondition(pod *corev1.Pod, c corev1.PodCondition) {
	c.LastTransitionTime = metav1.Now()
	for i := range pod.Status.Conditions {
		old := &pod.Status.Conditions[i]
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		*old = c
		return
	}
	pod.Status.Conditions = append(pod.Status.Conditions, c)
}
