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
	"github.com/keelson-dev/keelson/controllers/internal/creation"
	"github.com/keelson-dev/keelson/controllers/internal/podclaims"
)

// provide returns the name of the claim of an entry, which it creates if it is missing.
func (c *resourceClaims) provide(ctx context.Context, pod *corev1.Pod, entry *corev1.PodResourceClaim) (string, error) {
	if have, _ := podclaims.Name(pod, entry); have != "" {
		claim, err := c.claims.Get(types.NamespacedName{Namespace: pod.Namespace, Name: have})
		if err == nil && metav1.IsControlledBy(claim, pod.UID) {
			return have, nil
		}
		if err := apierrors.IgnoreNotFound(err); err != nil {
			return "", err
		}
	}
	claim, err := c.made(pod, entry)
	if err != nil || claim != "" {
		return claim, err
	}
	template, err := c.templates.Get(types.NamespacedName{Namespace: pod.Namespace, Name: *entry.ResourceClaimTemplateName})
	if err != nil {
		return "", fmt.Errorf("resource claim template %q: %w", *entry.ResourceClaimTemplateName, err)
	}
	created, err := creation.Create(ctx, c.claimsAPI, c.claims, newClaim(pod, entry, template.Spec))
	if err != nil {
		return "", fmt.Errorf("create ResourceClaim: %w", err)
	}
	return created.Name, nil
}

// made returns the name of a claim that was made for an entry, whose name could not be written to the pod.
func (c *resourceClaims) made(pod *corev1.Pod, entry *corev1.PodResourceClaim) (name string, err error) {
	err = c.claimsOfPod.View(string(pod.UID), func(claim *resourcev1.ResourceClaim) bool {
		if isFor(claim, pod, entry) {
			name = claim.Name
		}
		return name == ""
	})
	return name, err
}

// report writes the names of claims to the status of a pod, and returns the pod as stored.
func (c *resourceClaims) report(ctx context.Context, pod *corev1.Pod, statuses []corev1.PodResourceClaimStatus) (*corev1.Pod, error) {
	apply := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, Status: corev1.PodStatus{ResourceClaimStatuses: statuses}}
	pod, err := c.podsAPI.Apply(ctx, apply, client.ApplyOptions{FieldManager: FieldManager, Force: true, Subresource: "status"})
	if err != nil {
		return nil, fmt.Errorf("write the names of claims: %w", err)
	}
	return pod, nil
}

// reserve enters a pod that is on a node in the allocated claims that it uses.
func (c *resourceClaims) reserve(ctx context.Context, pod *corev1.Pod) error {
	for i := range pod.Spec.ResourceClaims {
		entry := &pod.Spec.ResourceClaims[i]
		name, _ := podclaims.Name(pod, entry)
		if name == "" {
			continue
		}
		claim, err := c.claims.Get(types.NamespacedName{Namespace: pod.Namespace, Name: name})
		if apierrors.IsNotFound(err) {
			continue // its creation causes another reconcile
		}
		if err != nil {
			return err
		}
		if entry.ResourceClaimTemplateName != nil && !metav1.IsControlledBy(claim, pod.UID) {
			return fmt.Errorf("ResourceClaim %s was not created for pod %s (pod is not owner)", claim.Key(), pod.Key())
		}
		if !reservable(claim, pod) {
			continue
		}
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
		if _, err := c.claimsAPI.UpdateStatus(ctx, claim); err != nil {
			return fmt.Errorf("reserve claim %s: %w", claim.Key(), err)
		}
	}
	return nil
}

// release does what a plan says. It returns the claim as stored, nil if it is gone with its finalizer.
func (c *resourceClaims) release(ctx context.Context, claim *resourcev1.ResourceClaim, p plan) (*resourcev1.ResourceClaim, error) {
	var err error
	if p.status != nil {
		claim.Status = *p.status
		// An update, not a patch: it fails if a pod was entered meanwhile.
		if claim, err = c.claimsAPI.UpdateStatus(ctx, claim); err != nil {
			return nil, fmt.Errorf("release claim: %w", err)
		}
	}
	if !p.finalizer || claim.Status.Allocation != nil || !metav1.RemoveFinalizer(claim, resourcev1.Finalizer) {
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
