package resourceclaim

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/internal/podclaims"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// released returns the claims of a pod that does not need them any more.
func released(e informers.Event[*corev1.Pod]) []reconcile.Request {
	var pod *corev1.Pod
	switch old := e.Old(); {
	case e.Type == informers.Deleted:
		pod = old
	case old != nil && old.UID != e.UID: // another pod of the name
		pod = old
	default:
		if pod = e.New(); pod != nil && !ended(pod) {
			return nil
		}
	}
	if pod == nil || !podclaims.Used(pod) {
		return nil
	}
	var out []reconcile.Request
	for _, name := range podclaims.Names(pod) {
		out = append(out, reconcile.Request{Namespace: pod.Namespace, Name: name})
	}
	return out
}

// reconcileClaim ends the reservations of pods that do not need a claim, and then what is not needed: its
// allocation, its finalizer, and the claim itself if it was made for a pod.
func (c *resourceClaims) reconcileClaim(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim, err := c.claims.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	remaining := make([]resourcev1.ResourceClaimConsumerReference, 0, len(claim.Status.ReservedFor))
	for _, consumer := range claim.Status.ReservedFor {
		needed, err := c.needed(ctx, claim.Namespace, consumer)
		if err != nil {
			return reconcile.Result{}, err
		}
		if needed {
			remaining = append(remaining, consumer)
		}
	}
	if claim, err = c.release(ctx, claim, remaining); err != nil || claim == nil || len(remaining) > 0 {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	return reconcile.Result{}, c.deleteUnused(ctx, claim)
}

// needed reports whether a consumer may still use a claim. The copy of pods here may be older than the claim:
// a pod that it does not have is looked for on the server.
func (c *resourceClaims) needed(ctx context.Context, namespace string, consumer resourcev1.ResourceClaimConsumerReference) (bool, error) {
	if consumer.APIGroup != "" || consumer.Resource != "pods" {
		return true, nil
	}
	key := types.NamespacedName{Namespace: namespace, Name: consumer.Name}
	pod, err := c.pods.Get(key)
	if apierrors.IsNotFound(err) {
		if pod, err = c.podsAPI.Get(ctx, key); apierrors.IsNotFound(err) {
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	return pod.UID == consumer.UID && !ended(pod), nil
}

// release writes the remaining reservations. An allocation ends with the last of them, so that the next
// consumer may get devices of another node, or with the deletion of a claim that has none. It does not end
// otherwise: a claim may be allocated before it is reserved. It returns the claim as stored, nil if it is
// gone with its finalizer.
func (c *resourceClaims) release(ctx context.Context, claim *resourcev1.ResourceClaim, remaining []resourcev1.ResourceClaimConsumerReference) (*resourcev1.ResourceClaim, error) {
	fewer := len(remaining) < len(claim.Status.ReservedFor)
	unused := len(remaining) == 0 && metav1.HasFinalizer(claim, resourcev1.Finalizer) && (fewer || claim.DeletionTimestamp != nil)
	deallocated := unused && claim.Status.Allocation != nil
	var err error
	if fewer || deallocated {
		claim.Status.ReservedFor = remaining
		if deallocated {
			claim.Status.Allocation = nil
		}
		// An update, not a patch: it fails if a pod was entered meanwhile.
		if claim, err = c.claimsAPI.UpdateStatus(ctx, claim); err != nil {
			return nil, fmt.Errorf("release claim: %w", err)
		}
	}
	if !unused || claim.Status.Allocation != nil || !metav1.RemoveFinalizer(claim, resourcev1.Finalizer) {
		return claim, nil
	}
	gone := claim.DeletionTimestamp != nil && len(claim.Finalizers) == 0
	if claim, err = c.claimsAPI.Update(ctx, claim); err != nil {
		return nil, fmt.Errorf("remove the finalizer of claim: %w", err)
	}
	if gone {
		return nil, nil
	}
	return claim, nil
}

// deleteUnused deletes a claim that was made for a pod which does not need it, but may exist for long. When
// the pod is deleted, the garbage collector deletes its claims.
func (c *resourceClaims) deleteUnused(ctx context.Context, claim *resourcev1.ResourceClaim) error {
	owner := podclaims.Owner(claim)
	if owner == nil || claim.DeletionTimestamp != nil {
		return nil
	}
	pod, err := c.pods.Get(types.NamespacedName{Namespace: claim.Namespace, Name: owner.Name})
	if err != nil {
		return apierrors.IgnoreNotFound(err)
	}
	if pod.UID == owner.UID && !ended(pod) {
		return nil
	}
	err = c.claimsAPI.Delete(ctx, claim.Key(), client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &claim.UID}})
	if err = apierrors.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("delete unused claim: %w", err)
	}
	return nil
}
