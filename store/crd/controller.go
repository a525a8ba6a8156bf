package crd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/registry"
	"github.com/keelson-dev/keelson/store/webhook"
	"github.com/keelson-dev/keelson/workqueue"
)

// Resource is the resource of definitions.
var Resource = apiextensionsv1.GroupVersion.WithResource("customresourcedefinitions")

// Converter converts objects between versions of a definition whose strategy is Webhook.
type Converter interface {
	// To returns the function that converts objects of any version to version to, keeping their order. It may
	// change and return them. ctx ends with the request that needs the conversion.
	To(d *apiextensionsv1.CustomResourceDefinition, to schema.GroupVersion) func(ctx context.Context, objs []metav1.Object) ([]metav1.Object, error)
}

// Options configure a Controller. The zero value works.
type Options struct {
	// Converter serves the webhook conversion strategy. Nil means a [Webhook] that finds services in the
	// registry.
	Converter Converter
	// WebhookDial opens the connections of that Webhook; nil means the network.
	WebhookDial webhook.DialFunc
	// Loopback sends that Webhook's requests to the API server itself, see webhook.Options; nil means that it
	// is as any other service.
	Loopback http.RoundTripper
	// Called, if set, is called after each call of that Webhook.
	Called func(webhook.Call)
	// Metrics are called as resources are validated and converted.
	Metrics Metrics
	// Queue is the metrics of the queue of definitions; nil means none.
	Queue *workqueue.Metrics
	// Logger receives what cannot be returned. Nil discards.
	Logger *slog.Logger
}

// Controller serves the resources of the CustomResourceDefinitions in a registry.
type Controller struct {
	registry  *registry.Registry
	access    registry.Access
	documents *openapi.Documents
	options   Options
	queue     *workqueue.Queue[string]
	claims    claims // used by the reconciling goroutine only

	synced  chan struct{} // closed when the definitions stored at the start are served
	mu      sync.Mutex
	served  map[string]*servedResources // by the definition's name
	settled chan struct{}               // closed and replaced when known changes
}

// New returns a controller over the resources of reg, which must serve definitions with [Strategy] and the
// rules of openapi.AddRules.
func New(reg *registry.Registry, documents *openapi.Documents, o Options) (*Controller, error) {
	if o.Converter == nil {
		o.Converter = NewWebhook(WebhookOptions{Services: reg.Access(), Dial: o.WebhookDial, Loopback: o.Loopback, Called: o.Called, Converted: o.Metrics.Converted})
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if reg.Resource(Resource) == nil {
		return nil, errors.New("crd: the registry does not serve customresourcedefinitions")
	}
	return &Controller{
		registry: reg, access: reg.Access(), documents: documents, options: o,
		queue: workqueue.New(workqueue.Options[string]{Metrics: o.Queue}), served: map[string]*servedResources{}, settled: make(chan struct{}),
		synced: make(chan struct{}), claims: newClaims(),
	}, nil
}

// Stats returns the statistics of the queue of definitions.
func (c *Controller) Stats() workqueue.Stats { return c.queue.Stats() }

// Synced returns a channel that is closed when the resources of all definitions that were stored when Run
// began are served.
func (c *Controller) Synced() <-chan struct{} { return c.synced }

// serveStored serves the stored definitions as soon as the store can be reached.
func (c *Controller) serveStored(ctx context.Context) {
	var all []*definition
	err := backoff.Retry(ctx, backoff.Policy{Max: 5 * time.Second, Jitter: 0.5}, nil, func(ctx context.Context) (err error) {
		if _, err = c.registry.Resource(Resource).Snapshot(ctx, registry.Freshness{}); err == nil {
			all, err = registry.List[*definition](ctx, c.access, Resource, "", labels.Everything())
		}
		return err
	})
	if err != nil {
		return // ctx ended
	}
	defer close(c.synced)
	for _, d := range all {
		if isTrue(d, apiextensionsv1.Established) {
			_ = c.serve(d) // failures are logged
		}
	}
}

// Run watches definitions until ctx ends and all goroutines have returned; then it returns nil. It may be
// called once.
func (c *Controller) Run(ctx context.Context) error {
	if closer, ok := c.options.Converter.(io.Closer); ok {
		defer closer.Close()
	}
	c.serveStored(ctx)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	tasks.Go(func() {
		<-ctx.Done()
		c.queue.ShutDown()
	})
	tasks.Go(func() { c.watch(ctx) })
	for {
		name, err := c.queue.Get(ctx)
		if err != nil {
			return nil // ctx has ended
		}
		again, err := c.reconcile(ctx, name)
		switch {
		case err != nil && ctx.Err() == nil:
			if !apierrors.IsConflict(err) {
				c.options.Logger.Warn("reconcile custom resource definition failed", "name", name, "err", err)
			}
			c.queue.AddRateLimited(name)
		case again > 0:
			c.queue.Forget(name)
			c.queue.AddAfter(name, again)
		default:
			c.queue.Forget(name)
		}
		c.queue.Done(name)
	}
}

// watch queues every definition that changes, until ctx ends.
func (c *Controller) watch(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.registry.Resource(Resource).Watch(ctx, types.NamespacedName{}, cache.WatchOptions{InitialEvents: true}, func(events []cache.Event) error {
			for i := range events {
				switch e := &events[i]; {
				case e.Type != cache.Bookmark:
					c.queue.Add(e.Object.Name)
				case e.InitialEnd:
					c.queueServed() // some may have been deleted while there was no watch
				}
			}
			return nil
		})
		if ctx.Err() != nil {
			return
		}
		c.options.Logger.Warn("watch custom resource definitions failed", "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// queueServed queues the definitions that are served, to find those whose deletion was missed.
func (c *Controller) queueServed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.served {
		c.queue.Add(name)
	}
}

// current returns a definition, nil if it does not exist, its state, and the names of the others. The read is
// consistent: names accepted before, also by another server, must not be accepted again.
func (c *Controller) current(ctx context.Context, name string) (*definition, registry.Current, taken, error) {
	var none registry.Current
	res := c.registry.Resource(Resource)
	snap, err := res.Snapshot(ctx, registry.Freshness{})
	if err != nil {
		return nil, none, taken{}, err
	}
	var d *definition
	again := c.claims.update(ctx, snap, res.Decode, func(changed *definition) {
		if changed.Name == name {
			d = changed
		}
	})
	for _, other := range again {
		c.queue.Add(other)
	}
	o, ok := snap.Get(res.Key(types.NamespacedName{Name: name}))
	if !ok {
		return nil, none, taken{}, nil
	}
	if d == nil {
		obj, err := res.Decode(ctx, o)
		if err != nil {
			return nil, none, taken{}, err
		}
		d = obj.(*definition)
	}
	return d, res.CurrentOf(o, d), c.claims.taken(d), nil
}

// reconcile accepts, serves, removes or terminates one definition. It is called again after again, or, if
// that is zero, when the definition changes.
func (c *Controller) reconcile(ctx context.Context, name string) (retryAfter time.Duration, err error) {
	d, state, others, err := c.current(ctx, name)
	if err != nil {
		return 0, err
	}
	if d == nil {
		c.stopServing(name)
		return 0, nil
	}
	wrote := establish(withOwnStatus(d), others)
	if wrote {
		if d, err = c.writeStatus(ctx, name, state, func(now *definition) { establish(now, others) }); err != nil {
			return 0, err
		}
	}
	if isTrue(d, apiextensionsv1.Established) {
		if err := c.serve(d); err != nil {
			return 0, err
		}
	}
	if wrote {
		c.claims.recordWrite(d)
	}
	if !d.DeletionTimestamp.IsZero() && slices.Contains(d.Finalizers, finalizer) {
		return c.terminate(ctx, d)
	}
	return 0, nil
}

// writeStatus changes the status of a definition and returns it as stored. from is its state if that is
// known. change may run several times.
func (c *Controller) writeStatus(ctx context.Context, name string, from registry.Current, change func(*definition)) (*definition, error) {
	set := func(current registry.Current) (metav1.Object, error) {
		d := withOwnStatus(current.Object.(*definition))
		change(d)
		return d, nil
	}
	o := registry.UpdateOptions{Write: registry.Write{Subresource: "status"}, Patch: true, From: from}
	obj, _, err := c.registry.Resource(Resource).Update(ctx, types.NamespacedName{Name: name}, set, o)
	if err != nil {
		return nil, err
	}
	return obj.(*definition), nil
}

// withOwnStatus returns a copy of d that shares its spec, which no write of the status changes.
func withOwnStatus(d *definition) *definition {
	out := *d
	out.ObjectMeta = *codec.DeepCopy(&d.ObjectMeta)
	out.Status = *codec.DeepCopy(&d.Status)
	return &out
}

// serve adds the resources of a definition to the server, unless they are served already.
func (c *Controller) serve(d *definition) error {
	c.mu.Lock()
	old := c.served[d.Name]
	c.mu.Unlock()
	if old != nil && old.generation == d.Generation && sameNames(&old.names, &d.Status.AcceptedNames) && old.terminating == isTrue(d, apiextensionsv1.Terminating) {
		return nil
	}
	next, err := c.build(d)
	if err != nil {
		// A retry would fail the same way: the resources are removed until the definition changes.
		c.options.Logger.Error("serve custom resource definition failed", "name", d.Name, "err", err)
		next = &servedResources{generation: d.Generation, names: d.Status.AcceptedNames, terminating: isTrue(d, apiextensionsv1.Terminating)}
	}
	gone := old.without(next)
	if len(gone) > 0 {
		c.registry.Remove(gone...)
	}
	if _, err := c.registry.Add(next.resources...); err != nil {
		return err
	}
	for _, gvr := range gone {
		c.documents.Remove(gvr)
		c.documented(d.Name, gvr, DocumentRemoved)
	}
	known := old.gvrs()
	for _, doc := range next.documents {
		c.documents.Set(doc)
		change := DocumentAdded
		if slices.Contains(known, doc.GVR) {
			change = DocumentUpdated
		}
		c.documented(d.Name, doc.GVR, change)
	}
	c.setServed(d.Name, next)
	return nil
}

func (c *Controller) build(d *definition) (*servedResources, error) {
	next, err := build(d, c.options.Converter, c.options.Metrics.Rules)
	if err != nil {
		return nil, err
	}
	for _, gvr := range next.gvrs() {
		if res := c.registry.Resource(gvr); res != nil && !res.Definition().Custom {
			return nil, fmt.Errorf("the server has a built-in resource %v", gvr)
		}
	}
	return next, nil
}

func (s *servedResources) gvrs() []schema.GroupVersionResource {
	if s == nil {
		return nil
	}
	out := make([]schema.GroupVersionResource, len(s.resources))
	for i := range s.resources {
		out[i] = s.resources[i].Info.GVR
	}
	return out
}

// without returns the resources of s that next does not have.
func (s *servedResources) without(next *servedResources) []schema.GroupVersionResource {
	kept := next.gvrs()
	return slices.DeleteFunc(s.gvrs(), func(gvr schema.GroupVersionResource) bool { return slices.Contains(kept, gvr) })
}

func (c *Controller) documented(name string, of schema.GroupVersionResource, change DocumentChange) {
	if hook := c.options.Metrics.Documented; hook != nil {
		hook(name, of.GroupVersion(), change)
	}
}

// stopServing removes the resources of a definition from the server.
func (c *Controller) stopServing(name string) {
	c.mu.Lock()
	old := c.served[name]
	c.mu.Unlock()
	if old == nil {
		return
	}
	c.registry.Remove(old.gvrs()...)
	for _, gvr := range old.gvrs() {
		c.documents.Remove(gvr)
		c.documented(name, gvr, DocumentRemoved)
	}
	c.setServed(name, nil)
}

// setServed records the served resources and wakes the callers of Settle.
func (c *Controller) setServed(name string, s *servedResources) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s == nil {
		delete(c.served, name)
	} else {
		c.served[name] = s
	}
	close(c.settled)
	c.settled = make(chan struct{})
}

// Settle waits until a resource whose definition is stored is served, and reports whether it is. It returns
// immediately if there is no such definition, and when ctx ends.
func (c *Controller) Settle(ctx context.Context, gvr schema.GroupVersionResource) bool {
	if gvr.Group == "" {
		return false
	}
	name := gvr.GroupResource().String()
	for {
		c.mu.Lock()
		settled := c.settled
		c.mu.Unlock()
		if c.registry.Resource(gvr) != nil {
			return true
		}
		obj, err := c.access.GetLatest(ctx, Resource, types.NamespacedName{Name: name})
		if err != nil {
			return false
		}
		d, ok := obj.(*definition)
		if !ok || c.done(d, gvr.Version) {
			return c.registry.Resource(gvr) != nil
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return false
		}
	}
}

// done reports whether a definition is in its final state for a version: it does not serve the version, its
// names are refused, or this generation was handled.
func (c *Controller) done(d *definition, version string) bool {
	serves := slices.ContainsFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version && v.Served })
	if !serves || len(d.Status.Conditions) > 0 && !isTrue(d, apiextensionsv1.Established) {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.served[d.Name]
	return s != nil && s.generation >= d.Generation
}
