// Package resourceclaim gives pods the ResourceClaims of their templates, and takes claims from consumers
// that no longer need them.
//
//   - A pod with an entry of spec.resourceClaims that names a ResourceClaimTemplate gets a claim of its own,
//     with the annotation resource.kubernetes.io/pod-claim-name, which status.resourceClaimStatuses names.
//   - A pod that was put on a node without the scheduler is entered in reservedFor of its allocated claims.
//   - The reservation of a pod ends when the pod is gone or will not run any more. With the last one, the
//     allocation of the claim ends and its finalizer is removed; a claim made for that pod is deleted.
//
// Consumers that are not pods are left in reservedFor. PodGroups, of which 1.36 has an alpha version only,
// have no claims here.
//
// resourceclaim.go reads objects and has the order of the steps, decide.go and status.go say what to write,
// as pure functions, and apply.go writes. Between two writes the process may end: a claim that was made and
// is in no status is found by its owner.
package resourceclaim

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/internal/podclaims"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// FieldManager owns the names of claims in the status of pods.
const FieldManager = "ResourceClaimController"

// Options of the controller.
type Options struct {
	// Concurrency is the number of pods, and of claims, reconciled concurrently; 0 means 10.
	Concurrency int
}

var podKind = corev1.GroupVersion.WithKind("Pod")

type resourceClaims struct {
	pods        informers.Lister[*corev1.Pod]
	podsByClaim informers.Index[*corev1.Pod]
	podsByUse   informers.Index[*corev1.Pod] // of a template
	podsAPI     *client.Client[*corev1.Pod]
	claims      informers.Lister[*resourcev1.ResourceClaim]
	claimsOfPod informers.Index[*resourcev1.ResourceClaim]
	claimsAPI   *client.Client[*resourcev1.ResourceClaim]
	templates   informers.Lister[*resourcev1.ResourceClaimTemplate]
	recorder    *events.Recorder
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 10
	}
	pods, claims := informers.For[*corev1.Pod](m.Informers()), informers.For[*resourcev1.ResourceClaim](m.Informers())
	c := &resourceClaims{
		pods: pods.Lister(), podsByClaim: pods.Index(podclaims.ByClaim), podsByUse: pods.Index(podsByTemplate), podsAPI: client.For[*corev1.Pod](m.Conn()),
		claims: claims.Lister(), claimsOfPod: claims.Index(claimsOfPod), claimsAPI: client.For[*resourcev1.ResourceClaim](m.Conn()),
		templates: informers.For[*resourcev1.ResourceClaimTemplate](m.Informers()).Lister(), recorder: m.Recorder("resource_claim"),
	}
	o := controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}}
	_, err := controllers.Add(m, "resourceclaim", reconcile.Func(c.reconcilePod), o,
		controllers.For(func(e informers.Event[*corev1.Pod]) bool {
			return e.Type != informers.Deleted && !e.Terminating && podclaims.Used(e.New())
		}),
		controllers.Watches(func(e informers.Event[*resourcev1.ResourceClaim]) []reconcile.Request {
			return under(c.podsByClaim, e.Key)
		}),
		controllers.Watches(func(e informers.Event[*resourcev1.ResourceClaimTemplate]) []reconcile.Request {
			return under(c.podsByUse, e.Key)
		}))
	if err != nil {
		return err
	}
	_, err = controllers.Add(m, "resourceclaim-release", reconcile.Func(c.reconcileClaim), o,
		controllers.For(func(e informers.Event[*resourcev1.ResourceClaim]) bool { return e.Type != informers.Deleted }),
		controllers.Watches(released))
	return err
}

// under returns the keys of an index; an object that cannot be read now is reconciled when it can.
func under(x informers.Index[*corev1.Pod], key types.NamespacedName) []reconcile.Request {
	keys, err := x.Keys(key.String())
	if err != nil {
		return nil
	}
	return keys
}

// podsByTemplate files pods under the templates of their claims.
var podsByTemplate = informers.DefineIndex("resourceclaim.templates", func(p *corev1.Pod) []string {
	var out []string
	for i := range p.Spec.ResourceClaims {
		if t := p.Spec.ResourceClaims[i].ResourceClaimTemplateName; t != nil {
			out = append(out, p.Namespace+"/"+*t)
		}
	}
	return out
})

// claimsOfPod files the claims that were made for pods under the UIDs of those.
var claimsOfPod = informers.DefineIndex("resourceclaim.pods", func(c *resourcev1.ResourceClaim) []string {
	if pod := podclaims.Owner(c); pod != nil {
		return []string{string(pod.UID)}
	}
	return nil
})

// reconcilePod creates the claims of a pod, and reserves those it has for it.
func (c *resourceClaims) reconcilePod(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	pod, err := c.pods.Get(req)
	if err != nil || pod.DeletionTimestamp != nil || ended(pod) {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	made := map[string]string{}
	for _, entry := range wanted(pod) {
		if made[entry.Name], err = c.provide(ctx, pod, entry); err != nil {
			if apierrors.HasCause(err, "NamespaceTerminating") {
				return reconcile.Result{}, nil // nothing more will come of this namespace
			}
			c.recorder.Eventf(pod, corev1.EventTypeWarning, "FailedResourceClaimCreation", "PodResourceClaim %s: %v", entry.Name, err)
			return reconcile.Result{}, fmt.Errorf("PodResourceClaim %s: %w", entry.Name, err)
		}
	}
	if statuses, changed := statusOf(pod, made); changed {
		if pod, err = c.report(ctx, pod, statuses); err != nil {
			return reconcile.Result{}, err
		}
	}
	if pod.Spec.NodeName == "" {
		return reconcile.Result{}, nil // the scheduler reserves what it allocates
	}
	return reconcile.Result{}, c.reserve(ctx, pod)
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
	claim, err = c.release(ctx, claim, decide(claim, remaining))
	if err != nil || claim == nil || len(remaining) > 0 {
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
