// Package garbagecollector deletes objects whose owners are gone and carries out foreground deletion and
// orphaning, for every resource that can be listed, watched and deleted, custom resources included.
//
// It keeps a graph of all objects' metadata. The graph only proposes: before an object is deleted, each owner
// that the graph does not know is looked up live, and the delete carries the object's uid and version, so that
// an old cache never collects what has an owner.
package garbagecollector

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/workqueue"
)

// Options of the controller.
type Options struct {
	// Concurrency is how many objects are worked on at once; 0 means 20.
	Concurrency int
	// ResyncPeriod is how often the served resources are asked for; 0 means 30 s. A change of a
	// CustomResourceDefinition is noticed at once.
	ResyncPeriod time.Duration
	// Ignored resources are not collected; nil means Events.
	Ignored []schema.GroupResource
}

type collector struct {
	conn      client.Conn
	set       *informers.Set
	discovery *discovery.Client
	opts      Options
	log       *slog.Logger
	graph     *graph
	queue     *workqueue.Queue[types.UID]

	mu      sync.Mutex
	watched map[schema.GroupVersionResource]*informers.Informer[*metav1.PartialObjectMetadata]
	absent  map[types.UID]time.Time // owners that a live look-up did not find
	nudge   chan struct{}           // a resource definition changed
	catalog *discovery.Catalog
}

// Add registers the controller with m.
func Add(m *manager.Manager, o Options) error {
	if o.Concurrency == 0 {
		o.Concurrency = 20
	}
	if o.ResyncPeriod == 0 {
		o.ResyncPeriod = 30 * time.Second
	}
	if o.Ignored == nil {
		o.Ignored = []schema.GroupResource{{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}}
	}
	c := &collector{conn: m.Conn(), set: m.Informers(), opts: o, log: m.Logger(), graph: newGraph(),
		discovery: discovery.New(m.Conn(), discovery.Options{}), queue: workqueue.New(workqueue.Options[types.UID]{}),
		watched: map[schema.GroupVersionResource]*informers.Informer[*metav1.PartialObjectMetadata]{},
		absent:  map[types.UID]time.Time{}, nudge: make(chan struct{}, 1)}
	m.Add("garbage-collector", c)
	return nil
}

// Run implements manager.Runnable.
func (c *collector) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { c.follow(ctx) })
	for range c.opts.Concurrency {
		wg.Go(func() {
			for {
				uid, err := c.queue.Get(ctx)
				if err != nil {
					return
				}
				if err := c.work(ctx, uid); err != nil && ctx.Err() == nil {
					c.log.Debug("garbage collection will be tried again", "uid", uid, "err", err)
					c.queue.AddRateLimited(uid)
				} else {
					c.queue.Forget(uid)
				}
				c.queue.Done(uid)
			}
		})
	}
	wg.Wait()
	c.queue.ShutDown()
	for _, inf := range c.watched {
		inf.Release()
	}
	return nil
}

// follow keeps the watched resources equal to the served ones.
func (c *collector) follow(ctx context.Context) {
	for {
		if err := c.resync(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("garbage collector cannot list the served resources", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.nudge:
		case <-time.After(c.opts.ResyncPeriod):
		}
	}
}

func (c *collector) resync(ctx context.Context) error {
	catalog, err := c.discovery.Refresh(ctx)
	if catalog == nil {
		return err
	}
	wanted := map[schema.GroupVersionResource]discovery.Resource{}
	for _, r := range catalog.Preferred() {
		if r.HasVerb("list") && r.HasVerb("watch") && r.HasVerb("delete") && !slices.Contains(c.opts.Ignored, r.GVR.GroupResource()) {
			wanted[r.GVR] = r
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catalog = catalog
	for gvr, r := range wanted {
		if c.watched[gvr] == nil {
			c.watched[gvr] = c.watch(r)
		}
	}
	// With part of discovery failing nothing is given up: it may only be out of sight.
	if err != nil {
		return err
	}
	for gvr, inf := range c.watched {
		if _, ok := wanted[gvr]; !ok {
			inf.Release()
			delete(c.watched, gvr)
			for _, uid := range c.graph.forget(gvr) {
				c.queue.Add(uid)
			}
		}
	}
	return nil
}

func (c *collector) watch(r discovery.Resource) *informers.Informer[*metav1.PartialObjectMetadata] {
	res := r.Client()
	res.Metadata = true
	inf := informers.ForResource[*metav1.PartialObjectMetadata](c.set, res)
	definitions := r.GVR.GroupResource() == schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	inf.AddHandler(func(e informers.Event[*metav1.PartialObjectMetadata]) {
		if definitions && !e.Initial {
			select {
			case c.nudge <- struct{}{}:
			default:
			}
		}
		if e.Type == informers.Deleted {
			c.gone(e.UID)
			return
		}
		eff := c.graph.observe(identity{r.GVR, e.Key}, &e.New().ObjectMeta)
		for _, uid := range eff.check {
			c.queue.Add(uid)
		}
		if eff.dependents {
			c.queue.Add(e.UID)
		}
	}, informers.HandlerOptions{})
	return inf
}

func (c *collector) gone(uid types.UID) {
	c.remember(uid)
	for _, d := range c.graph.remove(uid) {
		c.queue.Add(d)
	}
}

// absentFor is how long an owner that was looked up and not found is taken as gone. A uid is never used again, so this only
// bounds memory.
const absentFor = 10 * time.Minute

func (c *collector) remember(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if len(c.absent) > 500 {
		for u, at := range c.absent {
			if now.Sub(at) > absentFor {
				delete(c.absent, u)
			}
		}
	}
	c.absent[uid] = now
}

func (c *collector) isAbsent(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.absent[uid]
	return ok && time.Since(at) <= absentFor
}

// work does what one object needs.
func (c *collector) work(ctx context.Context, uid types.UID) error {
	v, ok := c.graph.get(uid)
	if !ok {
		return nil
	}
	switch {
	case v.orphaning:
		return c.orphan(ctx, v)
	case v.foreground:
		return c.awaitDependents(ctx, v)
	case v.deleting:
		return nil // somebody else's finalizers are at work
	}
	return c.collect(ctx, v)
}

// awaitDependents deletes the dependents that block the deletion of a foreground-deleted owner, and lets the
// owner go when none is left.
func (c *collector) awaitDependents(ctx context.Context, v view) error {
	blocked := false
	for _, d := range v.dependents {
		if d.blocks {
			blocked = true
		}
		if !d.deleting {
			c.queue.Add(d.uid)
		}
	}
	if blocked {
		return nil // the end of the last one brings us back
	}
	return c.dropFinalizer(ctx, v, metav1.FinalizerDeleteDependents)
}

// orphan removes the references of all dependents to an owner that asked for it, and then lets the owner go.
func (c *collector) orphan(ctx context.Context, v view) error {
	for _, d := range v.dependents {
		if err := c.removeOwners(ctx, d.id, d.uid, []types.UID{v.uid}); err != nil {
			return err
		}
	}
	return c.dropFinalizer(ctx, v, metav1.FinalizerOrphanDependents)
}

func (c *collector) api(gvr schema.GroupVersionResource) *client.Client[*metav1.PartialObjectMetadata] {
	res := client.Resource{GVR: gvr, Namespaced: true, Metadata: true}
	c.mu.Lock()
	if c.catalog != nil {
		if r := c.catalog.ByResource(gvr); r != nil {
			res = r.Client()
			res.Metadata = true
		}
	}
	c.mu.Unlock()
	return client.ForResource[*metav1.PartialObjectMetadata](c.conn, res)
}

func (c *collector) dropFinalizer(ctx context.Context, v view, finalizer string) error {
	api := c.api(v.id.gvr)
	for range 5 {
		live, err := api.Get(ctx, v.id.key)
		if apierrors.IsNotFound(err) || err == nil && live.UID != v.uid {
			return nil
		}
		if err != nil {
			return err
		}
		if !slices.Contains(live.Finalizers, finalizer) {
			return nil
		}
		left := slices.DeleteFunc(live.Finalizers, func(f string) bool { return f == finalizer })
		err = c.patch(ctx, v.id, map[string]any{"metadata": map[string]any{"resourceVersion": live.ResourceVersion, "uid": v.uid, "finalizers": left}})
		if !apierrors.IsConflict(err) {
			return ignoreGone(err)
		}
	}
	return fmt.Errorf("garbagecollector: %v %v keeps changing", v.id.gvr.Resource, v.id.key)
}

func (c *collector) patch(ctx context.Context, id identity, body map[string]any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	_, err = c.api(id.gvr).Patch(ctx, id.key, client.Patch{Type: types.MergePatchType, Data: data})
	return err
}

// removeOwners takes the given owners out of an object's references.
func (c *collector) removeOwners(ctx context.Context, id identity, uid types.UID, owners []types.UID) error {
	api := c.api(id.gvr)
	for range 5 {
		live, err := api.Get(ctx, id.key)
		if apierrors.IsNotFound(err) || err == nil && live.UID != uid {
			return nil
		}
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(live.OwnerReferences), func(r metav1.OwnerReference) bool { return slices.Contains(owners, r.UID) })
		if len(left) == len(live.OwnerReferences) {
			return nil
		}
		err = c.patch(ctx, id, map[string]any{"metadata": map[string]any{"resourceVersion": live.ResourceVersion, "uid": uid, "ownerReferences": left}})
		if !apierrors.IsConflict(err) {
			return ignoreGone(err)
		}
	}
	return fmt.Errorf("garbagecollector: %v %v keeps changing", id.gvr.Resource, id.key)
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// collect deletes an object none of whose owners lives, and takes references to owners that are gone, or that wait
// for their dependents, out of one that still has another.
func (c *collector) collect(ctx context.Context, v view) error {
	if len(v.owners) == 0 {
		return nil
	}
	live, err := c.api(v.id.gvr).Get(ctx, v.id.key)
	if apierrors.IsNotFound(err) || err == nil && live.UID != v.uid {
		c.gone(v.uid) // a watch event that did not come yet
		return nil
	}
	if err != nil {
		return err
	}
	if live.DeletionTimestamp != nil || len(live.OwnerReferences) == 0 {
		return nil
	}
	var solid int
	var dangling, waiting []types.UID
	for _, ref := range live.OwnerReferences {
		state, err := c.ownerState(ctx, v.id, ref)
		if err != nil {
			return err
		}
		switch state {
		case lives:
			solid++
		case waits:
			waiting = append(waiting, ref.UID)
		default:
			dangling = append(dangling, ref.UID)
		}
	}
	switch {
	case solid > 0 && len(dangling)+len(waiting) > 0:
		return c.removeOwners(ctx, v.id, v.uid, append(dangling, waiting...))
	case solid > 0:
		return nil
	case len(waiting) > 0 && len(v.dependents) > 0:
		// Its owner waits for it, so it waits for its own dependents in turn.
		return c.delete(ctx, v, live, metav1.DeletePropagationForeground)
	}
	policy := metav1.DeletePropagationBackground
	switch {
	case slices.Contains(live.Finalizers, metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(live.Finalizers, metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	}
	return c.delete(ctx, v, live, policy)
}

func (c *collector) delete(ctx context.Context, v view, live *metav1.PartialObjectMetadata, policy metav1.DeletionPropagation) error {
	err := c.api(v.id.gvr).Delete(ctx, v.id.key, client.DeleteOptions{PropagationPolicy: policy,
		Preconditions: &metav1.Preconditions{UID: &v.uid, ResourceVersion: &live.ResourceVersion}})
	return ignoreGone(err)
}

// ownerState is what became of an owner.
type ownerState int

const (
	gone  ownerState = iota
	lives            // it is there
	waits            // it is being deleted and waits for its dependents
)

func (c *collector) ownerState(ctx context.Context, of identity, ref metav1.OwnerReference) (ownerState, error) {
	if c.isAbsent(ref.UID) {
		return gone, nil
	}
	if known, foreground, id := c.graph.owner(ref.UID); known {
		// An owner in another namespace is no owner.
		if id.key.Namespace != "" && id.key.Namespace != of.key.Namespace {
			return gone, nil
		}
		if foreground {
			return waits, nil
		}
		return lives, nil
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return lives, nil // a reference nobody can follow is left alone
	}
	r, err := c.discovery.ForKind(ctx, schema.GroupKind{Group: gv.Group, Kind: ref.Kind}, gv.Version)
	if discovery.IsNoMatch(err) {
		// The owner's kind is not served. Its definition may come back, so its dependents are kept.
		return lives, nil
	}
	if err != nil {
		return lives, err
	}
	key := types.NamespacedName{Name: ref.Name}
	if r.Namespaced {
		if of.key.Namespace == "" {
			return gone, nil // a cluster-scoped object cannot have a namespaced owner
		}
		key.Namespace = of.key.Namespace
	}
	res := r.Client()
	res.Metadata = true
	owner, err := client.ForResource[*metav1.PartialObjectMetadata](c.conn, res).Get(ctx, key)
	switch {
	case apierrors.IsNotFound(err) || err == nil && owner.UID != ref.UID:
		c.remember(ref.UID)
		return gone, nil
	case err != nil:
		return lives, err
	case owner.DeletionTimestamp != nil && slices.Contains(owner.Finalizers, metav1.FinalizerDeleteDependents):
		return waits, nil
	}
	return lives, nil
}
