package apiserver

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/flowcontrol"
	"github.com/keelson-dev/keelson/store/registry"
)

var (
	flowSchemas    = gvr{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Resource: "flowschemas"}
	priorityLevels = gvr{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Resource: "prioritylevelconfigurations"}
)

// flowConfig collects the objects that configure the flows.
type flowConfig struct {
	s       *Server
	from    int64         // revision of the objects it began with, zero without
	changed chan struct{} // capacity 1

	mu      sync.Mutex
	schemas map[string]*flowcontrolv1.FlowSchema
	levels  map[string]*flowcontrolv1.PriorityLevelConfiguration
	synced  map[gvr]bool
}

// flowObjects are the objects that configured the flows at a revision, by name. They must not be changed.
type flowObjects struct {
	schemas  map[string]*flowcontrolv1.FlowSchema
	levels   map[string]*flowcontrolv1.PriorityLevelConfiguration
	revision int64
}

// newFlows makes the flow controller of the options, and what configures it, beginning with the objects of
// the image.
func (s *Server) newFlows() {
	if o := &s.opts; o.NoPriorityAndFairness || o.MaxInFlight <= 0 || o.MaxMutatingInFlight <= 0 {
		return
	}
	o := flowcontrol.Options{Seats: s.opts.MaxInFlight + s.opts.MaxMutatingInFlight, Wait: s.opts.RequestTimeout / 4, Metrics: s.opts.Metrics.Flows}
	c := &flowConfig{s: s, schemas: map[string]*flowcontrolv1.FlowSchema{}, levels: map[string]*flowcontrolv1.PriorityLevelConfiguration{},
		synced: map[gvr]bool{}, changed: make(chan struct{}, 1)}
	if s.opts.Image != nil && s.opts.Image.flows != nil {
		from := s.opts.Image.flows
		c.schemas, c.levels, c.from = maps.Clone(from.schemas), maps.Clone(from.levels), from.revision
		c.synced[flowSchemas], c.synced[priorityLevels] = true, true
		o.Schemas, o.Levels = c.objects()
	}
	s.flows, s.flowConfig = flowcontrol.New(o), c
}

// configureFlows applies changes of the configuration objects to the flow controller until ctx ends.
func (s *Server) configureFlows(ctx context.Context) {
	if s.flows == nil || s.registry.Resource(flowSchemas) == nil || s.registry.Resource(priorityLevels) == nil {
		return
	}
	c := s.flowConfig
	var tasks sync.WaitGroup
	defer tasks.Wait()
	for _, resource := range []gvr{flowSchemas, priorityLevels} {
		tasks.Go(func() { c.follow(ctx, resource) })
	}
	if c.from > 0 {
		c.writeStatuses(ctx, c.stale())
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
			s.flows.Configure(c.objects())
			c.writeStatuses(ctx, c.stale())
		}
	}
}

// follow collects the objects of a resource until ctx ends.
func (c *flowConfig) follow(ctx context.Context, resource gvr) {
	deliver := func(e registry.Event) error { c.onConfigEvent(resource, e); return nil }
	var err error
	if a := c.s.Access(); c.from > 0 {
		err = a.Follow(ctx, resource, "", c.from, deliver)
	} else {
		err = a.Watch(ctx, resource, "", deliver)
	}
	if err != nil && ctx.Err() == nil {
		c.s.logger.Error("watch of the priority and fairness configuration failed", "resource", resource.Resource, "err", err)
	}
}

// flowObjects returns the objects that configure the flows, if the watches have delivered them up to a
// revision.
func (s *Server) flowObjects(revision int64) *flowObjects {
	c := s.flowConfig
	if c == nil || !s.registry.Delivered(revision, flowSchemas, priorityLevels) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.synced[flowSchemas] || !c.synced[priorityLevels] {
		return nil
	}
	return &flowObjects{maps.Clone(c.schemas), maps.Clone(c.levels), revision}
}

// onConfigEvent applies a change to the collected objects.
func (c *flowConfig) onConfigEvent(resource gvr, e registry.Event) {
	c.mu.Lock()
	switch o := e.Object.(type) {
	case *flowcontrolv1.FlowSchema:
		if delete(c.schemas, o.Name); e.Type != cache.Deleted {
			c.schemas[o.Name] = o
		}
	case *flowcontrolv1.PriorityLevelConfiguration:
		if delete(c.levels, o.Name); e.Type != cache.Deleted {
			c.levels[o.Name] = o
		}
	default:
		c.synced[resource] = e.InitialEnd
		if e.Expired {
			if resource == flowSchemas {
				clear(c.schemas)
			} else {
				clear(c.levels)
			}
		}
	}
	ready := c.synced[flowSchemas] && c.synced[priorityLevels]
	c.mu.Unlock()
	if ready {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
}

// objects returns the collected objects, in the order of their names.
func (c *flowConfig) objects() ([]*flowcontrolv1.FlowSchema, []*flowcontrolv1.PriorityLevelConfiguration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return byName(c.schemas), byName(c.levels)
}

// byName returns the values in the order of their names.
func byName[V any](m map[string]V) []V {
	out := make([]V, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[name])
	}
	return out
}

// stale returns the schemas whose condition Dangling is missing or outdated.
func (c *flowConfig) stale() []*flowcontrolv1.FlowSchema {
	schemas, _ := c.objects()
	return slices.DeleteFunc(schemas, func(f *flowcontrolv1.FlowSchema) bool {
		want := c.dangling(f)
		return slices.ContainsFunc(f.Status.Conditions, func(have flowcontrolv1.FlowSchemaCondition) bool {
			return have.Type == want.Type && have.Status == want.Status
		})
	})
}

// dangling is the condition that a schema should have.
func (c *flowConfig) dangling(f *flowcontrolv1.FlowSchema) flowcontrolv1.FlowSchemaCondition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return flowcontrol.Dangling(f, c.levels[f.Spec.PriorityLevelConfiguration.Name] != nil)
}

func (c *flowConfig) writeStatuses(ctx context.Context, schemas []*flowcontrolv1.FlowSchema) {
	for _, f := range schemas {
		c.writeStatus(ctx, f)
	}
}

// writeStatus writes the condition into a schema's status.
func (c *flowConfig) writeStatus(ctx context.Context, f *flowcontrolv1.FlowSchema) {
	_, err := c.s.Access().Update(ctx, flowSchemas, metav1.KeyOf(f), func(obj metav1.Object) error {
		f := obj.(*flowcontrolv1.FlowSchema)
		cond := c.dangling(f)
		f.Status.Conditions = append(slices.DeleteFunc(f.Status.Conditions, func(have flowcontrolv1.FlowSchemaCondition) bool {
			return have.Type == cond.Type
		}), cond)
		return nil
	}, registry.Write{Subresource: "status", FieldManager: "api-priority-and-fairness-config-consumer-v1"})
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		c.s.logger.Warn("update of the status of a flow schema failed", "name", f.Name, "err", err)
	}
}
