package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/policyv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/registry"
)

var (
	evictionKind = schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}
	budgets      = schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}
)

// evict answers POST pods/NAME/eviction: a delete that disruption budgets may refuse.
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
	options := eviction.DeleteOptions
	if options == nil {
		options = &metav1.DeleteOptions{}
	}
	wo.dryRun = wo.dryRun || len(options.DryRun) > 0
	if err := s.evictPod(rt, r, eviction, options, wo); err != nil {
		r.fail(err)
		return
	}
	r.succeed(http.StatusCreated, nil)
}

func (s *Server) evictPod(rt *route, r *request, eviction *policyv1.Eviction, options *metav1.DeleteOptions, wo writeOptions) error {
	ctx, err := s.fenced(r)
	if err != nil {
		return err
	}
	key := r.key(true)
	obj, err := s.Access().GetLatest(ctx, rt.info.GVR, key)
	if err != nil {
		return err
	}
	pod := obj.(*corev1.Pod)
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != pod.UID {
		return apierrors.NewConflict(rt.info.GVR.GroupResource(), pod.Name, fmt.Errorf("the UID in the precondition does not match the UID in record"))
	}
	if !exemptFromBudgets(pod) {
		budget, err := s.budgetOf(ctx, pod)
		if err != nil {
			return err
		}
		if budget != nil && !mayEvictUnready(budget, pod) {
			if err := s.spendBudget(ctx, budget, pod, wo.dryRun); err != nil {
				return err
			}
			// The pod that was counted is the one that must go.
			p := metav1.Preconditions{UID: &pod.UID}
			if options.Preconditions != nil {
				p.ResourceVersion = options.Preconditions.ResourceVersion
			}
			copied := *options
			copied.Preconditions = &p
			options = &copied
		}
	}
	w := r.write(wo, createOptions(r, wo))
	w.Subresource = "eviction"
	registry.SetKind(eviction, evictionKind)
	eviction.Name, eviction.Namespace = key.Name, key.Namespace
	w.Body = &registry.Body{Kind: evictionKind, Operation: admission.Create, Object: eviction}
	w.DryRun = wo.dryRun
	_, err = rt.res.Delete(ctx, key, options, w)
	return err
}

// exemptFromBudgets reports that nothing is lost by the pod's end.
func exemptFromBudgets(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodPending ||
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
			return nil, apierrors.NewInternalError(fmt.Errorf("this pod has more than one PodDisruptionBudget, which the eviction subresource does not support"))
		}
		found = b
	}
	return found, nil
}

// mayEvictUnready reports that a pod which is not ready may go without being counted.
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

// spendBudget takes one disruption from the budget, or says why it cannot.
func (s *Server) spendBudget(ctx context.Context, b *policyv1.PodDisruptionBudget, pod *corev1.Pod, dryRun bool) error {
	refuse := func(why string, retry int) error {
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget. "+why, retry)
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: "DisruptionBudget", Message: why})
		return err
	}
	_, err := s.Access().Update(ctx, budgets, metav1.KeyOf(b), func(obj metav1.Object) error {
		b := obj.(*policyv1.PodDisruptionBudget)
		switch {
		case b.Status.ObservedGeneration < b.Generation:
			return refuse("The disruption budget "+b.Name+" is still being processed by the server.", 10)
		case b.Status.DisruptionsAllowed < 0:
			return apierrors.NewForbidden(budgets.GroupResource(), b.Name, fmt.Errorf("pdb disruptions allowed is negative"))
		case len(b.Status.DisruptedPods) > maxDisruptedPods:
			return apierrors.NewForbidden(budgets.GroupResource(), b.Name, fmt.Errorf("DisruptedPods map too big - too many evictions not confirmed by PDB controller"))
		case b.Status.DisruptionsAllowed == 0:
			// Without a time to wait the client itself decides when to ask again, and can tell its user meanwhile.
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
