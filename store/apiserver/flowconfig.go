package apiserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/registry"
)

var (
	flowSchemas    = gvr{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Resource: "flowschemas"}
	priorityLevels = gvr{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Resource: "prioritylevelconfigurations"}
)

// flowConfig collects the objects that configure the flows.
type flowConfig struct {
	s       *Server
	mu      sync.Mutex
	schemas map[string]*flowcontrolv1.FlowSchema
	levels  map[string]*flowcontrolv1.PriorityLevelConfiguration
	synced  map[gvr]bool
	changed chan struct{} // capacity 1
}

// configureFlows applies changes of the configuration objects to the flow controller until ctx ends.
func (s *Server) configureFlows(ctx context.Context) {
	if s.flows == nil || s.registry.Resource(flowSchemas) == nil || s.registry.Resource(priorityLevels) == nil {
		return
	}
	c := &flowConfig{s: s, schemas: map[string]*flowcontrolv1.FlowSchema{}, levels: map[string]*flowcontrolv1.PriorityLevelConfiguration{},
		synced: map[gvr]bool{}, changed: make(chan struct{}, 1)}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	for _, resource := range []gvr{flowSchemas, priorityLevels} {
		tasks.Go(func() {
			err := s.Access().Watch(ctx, resource, "", func(e registry.Event) error { c.onConfigEvent(resource, e); return nil })
			if err != nil && ctx.Err() == nil {
				s.logger.Error("watch of the priority and fairness configuration failed", "resource", resource.Resource, "err", err)
			}
		})
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
			for _, f := range c.apply() {
				c.writeStatus(ctx, f)
			}
		}
	}
}

// onConfigEvent applies a change to the collected objects.
func (c *flowConfig) onConfigEvent(resource gvr, e registry.Event) {
	c.mu.Lock()
	switch o := e.Object.(type) {
	case *flowcontrolv1.FlowSchema:
		if delete(c.schemas, o.Name); e.Type != registry.Deleted {
			c.schemas[o.Name] = o
		}
	case *flowcontrolv1.PriorityLevelConfiguration:
		if delete(c.levels, o.Name); e.Type != registry.Deleted {
			c.levels[o.Name] = o
		}
	default:
		c.synced[resource] = e.Type == registry.Synced
		if e.Type == registry.Restarted {
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

// apply configures the flows and returns the schemas whose condition Dangling is missing or outdated.
func (c *flowConfig) apply() []*flowcontrolv1.FlowSchema {
	c.mu.Lock()
	schemas, levels := slices.Collect(maps.Values(c.schemas)), slices.Collect(maps.Values(c.levels))
	c.mu.Unlock()
	c.s.flows.Configure(schemas, levels)
	var stale []*flowcontrolv1.FlowSchema
	for _, f := range schemas {
		if want := c.dangling(f); !slices.ContainsFunc(f.Status.Conditions, func(have flowcontrolv1.FlowSchemaCondition) bool {
			return have.Type == want.Type && have.Status == want.Status
		}) {
			stale = append(stale, f)
		}
	}
	return stale
}

// dangling is the condition of a schema: whether the level it names is missing.
func dangling(f *flowcontrolv1.FlowSchema, found bool) flowcontrolv1.FlowSchemaCondition {
	c := flowcontrolv1.FlowSchemaCondition{Type: flowcontrolv1.FlowSchemaConditionDangling, Status: flowcontrolv1.ConditionFalse, Reason: "Found",
		Message:            fmt.Sprintf("The PriorityLevelConfiguration %q exists.", f.Spec.PriorityLevelConfiguration.Name),
		LastTransitionTime: metav1.Now().Truncated()}
	if !found {
		c.Status, c.Reason = flowcontrolv1.ConditionTrue, "NotFound"
		c.Message = fmt.Sprintf("The PriorityLevelConfiguration %q does not exist: the schema matches nothing.", f.Spec.PriorityLevelConfiguration.Name)
	}
	return c
}

// dangling is the condition that a schema should have.
func (c *flowConfig) dangling(f *flowcontrolv1.FlowSchema) flowcontrolv1.FlowSchemaCondition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return dangling(f, c.levels[f.Spec.PriorityLevelConfiguration.Name] != nil)
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
