package garbagecollector

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/informers"
)

// monitor watches the metadata of one resource. Its fields are guarded by the collector's mu.
type monitor struct {
	kind *client.Resource
	inf  *informers.Informer[*metav1.PartialObjectMetadata]
	reg  *informers.Registration
	// unserved is since when the server does not say that it serves the resource; zero while it does.
	unserved time.Time
	// behind is since when the copy has been known to be incomplete; zero while it is in step.
	behind time.Time
	// settled is true once the first reading has been followed by a look at what was in doubt before it.
	settled bool
}

// inStep reports whether every object that was there at first has been seen, and the last request for changes
// succeeded.
func (m *monitor) inStep() bool { return m.reg.HasSynced() && m.inf.Status().LastError == nil }

// stopped reports whether the resource is not served any more, so that the graph has what there is: all that
// was there when it was last served, which may hold up its owners, or nothing of one that was never read and
// has not been served for a while. A definition that is deleted would otherwise hold up the deletion of every
// owner in the cluster.
func (m *monitor) stopped() bool {
	return !m.unserved.IsZero() && (m.reg.HasSynced() || time.Since(m.unserved) >= patience)
}

// lag is how long after a change of a resource definition the served resources are listed again: the server
// learns of the change from a watch as this controller does, so its first answer may be that of before.
const lag = time.Second

// follow keeps the watched resources equal to the served ones.
func (c *collector) follow(ctx context.Context) {
	wait := c.opts.ResyncPeriod
	for first := true; ctx.Err() == nil; {
		err := c.resync(ctx)
		if err != nil && ctx.Err() == nil {
			c.log.Warn("list served resources failed", "err", err)
		}
		if first && err == nil {
			first = false
			close(c.begun)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.nudge:
			wait = min(lag, c.opts.ResyncPeriod)
		case <-time.After(wait):
			wait = c.opts.ResyncPeriod
		}
	}
}

// waitForFirst waits until every resource has been read first, so that work does not look up what is about to
// be seen. One that cannot be read holds nothing up for long.
func (c *collector) waitForFirst(ctx context.Context) {
	select {
	case <-c.begun:
	case <-ctx.Done():
		return
	}
	c.mu.Lock()
	var all []<-chan struct{}
	for _, m := range c.monitors {
		all = append(all, m.reg.Synced())
	}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, synced := range all {
		select {
		case <-synced:
		case <-ctx.Done():
			return
		}
	}
}

func (c *collector) resync(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("garbagecollector: panic: %v\n%s", p, debug.Stack())
		}
	}()
	catalog, err := c.discovery.Refresh(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	served := map[schema.GroupResource]bool{}
	for _, r := range catalog.Preferred() {
		gr := r.GVR.GroupResource()
		if !r.HasVerb("list") || !r.HasVerb("watch") || !r.HasVerb("delete") || slices.Contains(c.opts.Ignored, gr) {
			continue
		}
		served[gr] = true
		c.serve(gr, r)
	}
	back := map[schema.GroupKind]bool{}
	var check []types.UID
	for gr, m := range c.monitors {
		if m.reg.HasSynced() && !m.settled {
			m.settled = true
			back[m.kind.GVK.GroupKind()] = true
		}
		// A group whose server does not answer is only out of sight.
		if served[gr] || slices.Contains(catalog.Stale, m.kind.GVR.GroupVersion()) {
			m.unserved = time.Time{}
			continue
		}
		if m.unserved.IsZero() {
			m.unserved = time.Now()
		}
		if time.Since(m.unserved) >= unservedFor {
			m.inf.Release()
			delete(c.monitors, gr)
			check = append(check, c.graph.forget(m.kind)...)
		}
	}
	if len(back) > 0 {
		check = append(check, c.graph.inDoubt(back)...)
	}
	c.check(check)
	return nil
}

// serve watches a resource, if it is not watched yet or in another version. c.mu is held.
func (c *collector) serve(gr schema.GroupResource, r discovery.Resource) {
	kind := r.Client()
	kind.Metadata = true
	m := c.monitors[gr]
	switch {
	case m == nil:
	case *m.kind == kind:
		if !m.unserved.IsZero() {
			m.settled = false // what was in doubt meanwhile can be looked up again
		}
		return
	default:
		m.inf.Release()
		c.graph.doubtAll(m.kind)
	}
	m = &monitor{kind: &kind}
	c.monitors[gr] = m
	m.inf = informers.ForResource[*metav1.PartialObjectMetadata](c.set, kind)
	definitions := gr == schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	m.reg = m.inf.AddHandler(func(e informers.Event[*metav1.PartialObjectMetadata]) {
		if definitions { // the first ones too: they may be newer than the first listing of served resources
			select {
			case c.nudge <- struct{}{}:
			default:
			}
		}
		c.see(&kind, e)
	}, informers.HandlerOptions{Name: name})
}

// see takes in an event.
func (c *collector) see(kind *client.Resource, e informers.Event[*metav1.PartialObjectMetadata]) {
	switch {
	case e.Type == informers.Deleted && e.StateUnknown:
		c.check(c.graph.doubt(e.UID))
	case e.Type == informers.Deleted:
		c.check(c.graph.remove(e.UID))
	default:
		// An object that cannot be decoded stays what it was: as an owner that is not known it is looked up.
		if obj := e.New(); obj != nil {
			c.check(c.graph.observe(identity{kind, e.Key}, &obj.ObjectMeta))
		}
	}
}

// unseen returns the resources whose objects the graph may not all have at the moment. early is true if one
// of them may be in step soon, so that it is better to wait.
func (c *collector) unseen() (kinds []*client.Resource, early bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.monitors {
		if m.inStep() || m.stopped() {
			m.behind = time.Time{}
			continue
		}
		if m.behind.IsZero() {
			m.behind = time.Now()
		}
		early = early || time.Since(m.behind) < patience
		kinds = append(kinds, m.kind)
	}
	slices.SortFunc(kinds, func(a, b *client.Resource) int { return strings.Compare(a.GVR.String(), b.GVR.String()) })
	return kinds, early
}
