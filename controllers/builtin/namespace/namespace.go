// Package namespace deletes the contents of terminating namespaces and then finalizes them: pods first,
// because they may use other objects, then everything else, including custom resources. Failures are reported
// in the conditions of the namespace.
package namespace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of the controller.
type Options struct {
	// Concurrency is the number of namespaces deleted concurrently; 0 means 10.
	Concurrency int
}

// finalizer is the one this controller removes.
const finalizer = corev1.FinalizerName("kubernetes")

// parallel is how many resources of one namespace are emptied at once.
const parallel = 8

type namespaces struct {
	conn      client.Conn
	list      informers.Lister[*corev1.Namespace]
	client    *client.Client[*corev1.Namespace]
	discovery *discovery.Client
	patience  patience
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 10
	}
	n := &namespaces{conn: m.Conn(), list: informers.For[*corev1.Namespace](m.Informers()).Lister(),
		client: client.For[*corev1.Namespace](m.Conn()), discovery: discovery.New(m.Conn(), discovery.Options{})}
	_, err := controllers.Add(m, "namespace", reconcile.Func(n.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.For(func(e informers.Event[*corev1.Namespace]) bool {
			return e.Type != informers.Deleted && e.New().DeletionTimestamp != nil
		}))
	return err
}

func (n *namespaces) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	ns, err := n.list.Get(req)
	if apierrors.IsNotFound(err) || err == nil && (ns.DeletionTimestamp == nil || !slices.Contains(ns.Spec.Finalizers, finalizer)) {
		n.patience.forget(req.Name)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	found := n.empty(ctx, ns.Name)
	if ctx.Err() != nil {
		return reconcile.Result{}, ctx.Err()
	}
	if err := n.report(ctx, ns, found); err != nil {
		return reconcile.Result{}, err
	}
	if len(found.remaining) > 0 {
		return reconcile.Result{RequeueAfter: n.patience.after(ns.Name, found)}, nil
	}
	n.patience.forget(ns.Name)
	if err := found.failure(); err != nil {
		return reconcile.Result{}, err
	}
	live, err := n.client.Get(ctx, req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	live.Spec.Finalizers = slices.DeleteFunc(live.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == finalizer })
	_, err = client.Subresource[*corev1.Namespace](n.client, "finalize").Update(ctx, req, live)
	return reconcile.Result{}, apierrors.IgnoreNotFound(err)
}

// content is what one pass found.
type content struct {
	mu         sync.Mutex
	remaining  map[string]int // number of objects by resource.group, with the dot for the core group too
	finalizers map[string]int // number of objects by finalizer that holds them
	grace      time.Duration  // the longest time a pod still has
	discovery  error
	deletion   []error
}

func (c *content) failure() error {
	if c.discovery != nil {
		return fmt.Errorf("namespace: discovery: %w", c.discovery)
	}
	if len(c.deletion) > 0 {
		return fmt.Errorf("namespace: %w", c.deletion[0])
	}
	return nil
}

// empty deletes what is in the namespace and counts what is left.
func (n *namespaces) empty(ctx context.Context, namespace string) *content {
	c := &content{remaining: map[string]int{}, finalizers: map[string]int{}}
	catalog, err := n.discovery.Refresh(ctx)
	if catalog == nil {
		c.discovery = err
		c.remaining["unknown"] = 1
		return c
	}
	c.discovery = err
	var pods, others []discovery.Resource
	for _, r := range catalog.Preferred() {
		if !r.Namespaced || !r.HasVerb("delete") || !r.HasVerb("list") {
			continue
		}
		if r.GVR.Group == "" && r.GVR.Resource == "pods" {
			pods = append(pods, r)
		} else {
			others = append(others, r)
		}
	}
	n.sweep(ctx, namespace, pods, c)
	if len(c.remaining) > 0 {
		return c // what the pods use stays until they are gone
	}
	n.sweep(ctx, namespace, others, c)
	return c
}

func (n *namespaces) sweep(ctx context.Context, namespace string, resources []discovery.Resource, c *content) {
	slots := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for _, r := range resources {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			left, err := n.clear(ctx, namespace, r)
			c.mu.Lock()
			defer c.mu.Unlock()
			if err != nil {
				c.deletion = append(c.deletion, fmt.Errorf("%s: %w", r.GVR.GroupResource(), err))
			}
			for _, obj := range left {
				c.remaining[r.GVR.Resource+"."+r.GVR.Group]++
				for _, f := range obj.Finalizers {
					c.finalizers[f]++
				}
				if obj.DeletionTimestamp != nil && len(obj.Finalizers) == 0 {
					c.grace = max(c.grace, time.Until(obj.DeletionTimestamp.Time))
				}
			}
		})
	}
	wg.Wait()
}

// clear deletes all objects of one resource and returns those that are left, metadata only.
func (n *namespaces) clear(ctx context.Context, namespace string, r discovery.Resource) ([]*metav1.PartialObjectMetadata, error) {
	res := r.Client()
	res.Metadata = true
	api := client.ForResource[*metav1.PartialObjectMetadata](n.conn, res)
	list, err := api.List(ctx, client.ListOptions{Namespace: namespace})
	if err != nil || len(list.Items) == 0 {
		return nil, ignoreUnsupported(err)
	}
	background := client.DeleteOptions{PropagationPolicy: metav1.DeletePropagationBackground}
	if r.HasVerb("deletecollection") {
		err = api.DeleteCollection(ctx, client.ListOptions{Namespace: namespace}, background)
	} else {
		for _, obj := range list.Items {
			if e := api.Delete(ctx, obj.Key(), background); e != nil && !apierrors.IsNotFound(e) && err == nil {
				err = e
			}
		}
	}
	list, listErr := api.List(ctx, client.ListOptions{Namespace: namespace})
	if err == nil {
		err = listErr
	}
	if list == nil {
		return nil, ignoreUnsupported(err)
	}
	return list.Items, ignoreUnsupported(err)
}

// ignoreUnsupported drops the errors of a resource whose collections cannot be read or deleted. A 404 is none
// of them: discovery has just listed the resource, so that its objects may only be out of sight, behind a
// server that does not know the definition yet. If it is not served any more, the next pass does not find it
// in discovery.
func ignoreUnsupported(err error) error {
	if apierrors.IsMethodNotSupported(err) {
		return nil
	}
	return err
}

// report writes the conditions if they say something new. All of them are written when one is bad, or was: a
// namespace that empties at once needs no word about it.
func (n *namespaces) report(ctx context.Context, ns *corev1.Namespace, c *content) error {
	conditions := c.conditions()
	bad := slices.ContainsFunc(conditions, func(c corev1.NamespaceCondition) bool { return c.Status == corev1.ConditionTrue })
	if !bad && len(ns.Status.Conditions) == 0 {
		return nil
	}
	next := codec.DeepCopy(ns)
	for _, cond := range conditions {
		i := slices.IndexFunc(next.Status.Conditions, func(have corev1.NamespaceCondition) bool { return have.Type == cond.Type })
		if i < 0 {
			next.Status.Conditions = append(next.Status.Conditions, cond)
			continue
		}
		have := &next.Status.Conditions[i]
		if have.Status == cond.Status {
			cond.LastTransitionTime = have.LastTransitionTime
		}
		*have = cond
	}
	if codec.Equal(&next.Status, &ns.Status) {
		return nil
	}
	_, err := n.client.UpdateStatus(ctx, next)
	return apierrors.IgnoreNotFound(err)
}

// conditions says what one pass found.
func (c *content) conditions() (out []corev1.NamespaceCondition) {
	add := func(t corev1.NamespaceConditionType, bad bool, badReason, okReason, badText, okText string) {
		cond := corev1.NamespaceCondition{Type: t, Status: corev1.ConditionFalse, Reason: okReason, Message: okText, LastTransitionTime: metav1.Now()}
		if bad {
			cond.Status, cond.Reason, cond.Message = corev1.ConditionTrue, badReason, badText
		}
		out = append(out, cond)
	}
	discovery, deletion := "", make([]string, len(c.deletion))
	if c.discovery != nil {
		discovery = c.discovery.Error()
	}
	for i, err := range c.deletion {
		deletion[i] = err.Error()
	}
	slices.Sort(deletion)
	add("NamespaceDeletionDiscoveryFailure", c.discovery != nil, "DiscoveryFailed", "ResourcesDiscovered", "Discovery failed for some groups: "+discovery, "All resources successfully discovered")
	add("NamespaceDeletionGroupVersionParsingFailure", false, "", "ParsedGroupVersions", "", "All legacy kube types successfully parsed")
	add("NamespaceDeletionContentFailure", len(deletion) > 0, "ContentDeletionFailed", "ContentDeleted",
		fmt.Sprintf("Failed to delete all resource types, %d remaining: %s", len(deletion), strings.Join(deletion, ", ")), "All content successfully deleted, may be waiting on finalization")
	add("NamespaceContentRemaining", len(c.remaining) > 0, "SomeResourcesRemain", "ContentRemoved", "Some resources are remaining: "+counts(c.remaining, "%s has %d resource instances"), "All content successfully removed")
	add("NamespaceFinalizersRemaining", len(c.finalizers) > 0, "SomeFinalizersRemain", "ContentHasNoFinalizers", "Some content in the namespace has finalizers remaining: "+counts(c.finalizers, "%s in %d resource instances"), "All content-preserving finalizers finished")
	return out
}

func counts(m map[string]int, format string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf(format, k, m[k]))
	}
	return strings.Join(parts, ", ")
}
