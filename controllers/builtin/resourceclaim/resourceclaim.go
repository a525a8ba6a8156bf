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
package resourceclaim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
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

	mu sync.Mutex
	// doubtful are the pods for which a claim may have been created without a reply.
	doubtful map[types.NamespacedName]bool
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
		templates: informers.For[*resourcev1.ResourceClaimTemplate](m.Informers()).Lister(), recorder: m.Recorder("resource_claim"), doubtful: map[types.NamespacedName]bool{},
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

// ended reports whether a pod will not run any more.
func ended(p *corev1.Pod) bool {
	return p.HasEnded() || p.DeletionTimestamp != nil && p.Spec.NodeName == ""
}

// reconcilePod creates the claims of a pod, and reserves those it has for it.
func (c *resourceClaims) reconcilePod(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	pod, err := c.pods.Get(req)
	if err != nil || pod.DeletionTimestamp != nil || ended(pod) {
		c.setDoubtful(req, false)
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	statuses, changed := make([]corev1.PodResourceClaimStatus, 0, len(pod.Spec.ResourceClaims)), false
	for i := range pod.Spec.ResourceClaims {
		entry := &pod.Spec.ResourceClaims[i]
		if entry.ResourceClaimTemplateName == nil {
			continue
		}
		before, known := podclaims.Name(pod, entry)
		now := before
		if !known || before != "" {
			if now, err = c.provide(ctx, pod, entry, before); err != nil {
				if apierrors.HasCause(err, "NamespaceTerminating") {
					return reconcile.Result{}, nil // nothing more will come of this namespace
				}
				c.recorder.Eventf(pod, corev1.EventTypeWarning, "FailedResourceClaimCreation", "PodResourceClaim %s: %v", entry.Name, err)
				return reconcile.Result{}, fmt.Errorf("PodResourceClaim %s: %w", entry.Name, err)
			}
		}
		status := corev1.PodResourceClaimStatus{Name: entry.Name}
		if now != "" {
			status.ResourceClaimName = &now
		}
		statuses, changed = append(statuses, status), changed || now != before
	}
	if changed {
		apply := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, Status: corev1.PodStatus{ResourceClaimStatuses: statuses}}
		if pod, err = c.podsAPI.Apply(ctx, apply, client.ApplyOptions{FieldManager: FieldManager, Force: true, Subresource: "status"}); err != nil {
			return reconcile.Result{}, fmt.Errorf("write the names of claims: %w", err)
		}
	}
	if pod.Spec.NodeName == "" {
		return reconcile.Result{}, nil // the scheduler reserves what it allocates
	}
	return reconcile.Result{}, c.reserve(ctx, pod)
}

// provide returns the name of the claim of an entry, which it creates if it is missing. have is the name in
// the status of the pod.
func (c *resourceClaims) provide(ctx context.Context, pod *corev1.Pod, entry *corev1.PodResourceClaim, have string) (string, error) {
	if have != "" {
		claim, err := c.claims.Get(types.NamespacedName{Namespace: pod.Namespace, Name: have})
		if err == nil && metav1.IsControlledBy(claim, pod.UID) {
			return have, nil
		}
		if err := apierrors.IgnoreNotFound(err); err != nil {
			return "", err
		}
	}
	claim, err := c.made(ctx, pod, entry)
	if err != nil || claim != "" {
		return claim, err
	}
	template, err := c.templates.Get(types.NamespacedName{Namespace: pod.Namespace, Name: *entry.ResourceClaimTemplateName})
	if err != nil {
		return "", fmt.Errorf("resource claim template %q: %w", *entry.ResourceClaimTemplateName, err)
	}
	spec := template.Spec
	if spec.Annotations == nil {
		spec.Annotations = map[string]string{}
	}
	spec.Annotations[resourcev1.PodResourceClaimAnnotation] = entry.Name
	created, err := c.claimsAPI.Create(ctx, &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: baseName(pod.Name, entry.Name), Labels: spec.Labels, Annotations: spec.Annotations,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: podKind.Version, Kind: podKind.Kind, Name: pod.Name, UID: pod.UID, Controller: new(true)}}},
		Spec: spec.Spec,
	})
	if err != nil {
		c.setDoubtful(pod.Key(), !refused(err))
		return "", fmt.Errorf("create ResourceClaim: %w", err)
	}
	return created.Name, nil
}

// made returns the name of a claim that was made for an entry, whose name could not be written to the pod.
// The server lists the claims if one may have been created without a reply, because a second one would stay.
func (c *resourceClaims) made(ctx context.Context, pod *corev1.Pod, entry *corev1.PodResourceClaim) (name string, err error) {
	is := func(claim *resourcev1.ResourceClaim) bool {
		if metav1.IsControlledBy(claim, pod.UID) && claim.Annotations[resourcev1.PodResourceClaimAnnotation] == entry.Name && claim.DeletionTimestamp == nil {
			name = claim.Name
		}
		return name == ""
	}
	if err := c.claimsOfPod.View(string(pod.UID), is); err != nil || name != "" || !c.isDoubtful(pod.Key()) {
		return name, err
	}
	for claim, err := range c.claimsAPI.All(ctx, client.ListOptions{Namespace: pod.Namespace}) {
		if err != nil {
			return "", err
		}
		if !is(claim) {
			return name, nil
		}
	}
	c.setDoubtful(pod.Key(), false)
	return "", nil
}

func (c *resourceClaims) isDoubtful(pod types.NamespacedName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doubtful[pod]
}

func (c *resourceClaims) setDoubtful(pod types.NamespacedName, yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if yes {
		c.doubtful[pod] = true
	} else {
		delete(c.doubtful, pod)
	}
}

// refused reports whether a request has certainly changed nothing.
func refused(err error) bool {
	s, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && s.ErrStatus.Code >= http.StatusBadRequest && s.ErrStatus.Code < http.StatusInternalServerError
}

// baseName is what the name of a claim begins with. Both parts are cut in proportion to their lengths where
// five random characters would not fit into 63 otherwise.
func baseName(pod, entry string) string {
	const most = 57
	whole := len(pod) + len(entry) + len("--")
	if whole <= most {
		return pod + "-" + entry + "-"
	}
	return pod[:len(pod)*most/whole] + "-" + entry[:len(entry)*most/whole]
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
		if claim.Status.Allocation == nil || podclaims.Reserved(claim, pod) || len(claim.Status.ReservedFor) >= resourcev1.ResourceClaimReservedForMaxSize {
			continue
		}
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
		if _, err := c.claimsAPI.UpdateStatus(ctx, claim); err != nil {
			return fmt.Errorf("reserve claim %s: %w", claim.Key(), err)
		}
	}
	return nil
}
