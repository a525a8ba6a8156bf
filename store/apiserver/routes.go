package apiserver

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/columns"
	"github.com/keelson-dev/keelson/store/registry"
)

// routes is what the server serves at one time: immutable, made anew when the registry changes.
type routes struct {
	generation int64
	byGVR      map[schema.GroupVersionResource]*route
	discovery  discovery
}

// route is one resource at one version.
type route struct {
	info     *scheme.Info
	res      *registry.Resource // nil for computed resources
	computed Computed
	table    columns.Table
	proto    bool // objects have a protobuf form
	hash     string
}

// table returns the current routes.
func (s *Server) table() *routes {
	rt := s.routes.Load()
	if rt != nil && rt.generation == s.registry.Generation() {
		return rt
	}
	if err := s.rebuildRoutes(); err != nil {
		s.logger.Error("routes could not be rebuilt", "err", err)
		return rt
	}
	return s.routes.Load()
}

func (s *Server) rebuildRoutes() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &routes{generation: s.registry.Generation(), byGVR: map[schema.GroupVersionResource]*route{}}
	for _, res := range s.registry.Resources() {
		d := res.Definition()
		rt := &route{info: d.Info, res: res, table: d.Table, proto: !d.Custom && (!d.Facts.JSON || hasProto(d.Info)), hash: storageHash(res)}
		if len(rt.table.Columns) == 0 {
			rt.table = s.columns(d.Info.GVR)
		}
		next.byGVR[d.Info.GVR] = rt
	}
	for _, c := range append(s.builtinComputed(), s.options.Computed...) {
		if c.Info == nil {
			return fmt.Errorf("apiserver: a Computed needs Info")
		}
		next.byGVR[c.Info.GVR] = &route{info: c.Info, computed: c, table: s.columns(c.Info.GVR), proto: hasProto(c.Info)}
	}
	next.discovery = newDiscovery(next)
	s.routes.Store(next)
	return nil
}

// columns is how the objects of a resource are shown.
func (s *Server) columns(resource schema.GroupVersionResource) columns.Table {
	if t, ok := s.options.Tables[resource]; ok {
		return t
	}
	return columns.For(resource)
}

// offers says what can be sent of the route's objects.
func (rt *route) offers(watch bool) offers {
	return offers{proto: rt.proto, table: true, meta: true, watch: watch}
}

// selector implements selectable.
func (rt *route) selector(sel fields.Selector) (fields.Selector, error) {
	if sel.Empty() {
		return sel, nil
	}
	return sel.Transform(func(field, value string) (string, string, error) {
		name, ok := field, ofMetadata(field)
		if rt.res != nil {
			name, ok = rt.res.FieldName(field)
		}
		if !ok {
			return "", "", rt.unselectable(field)
		}
		return name, value, nil
	})
}

// unselectable says, in upstream's words for the kind, that objects cannot be selected by a field.
func (rt *route) unselectable(field string) error {
	switch resource := rt.info.GVR.GroupResource(); {
	case resource == schema.GroupResource{Group: "batch", Resource: "jobs"}:
		return fmt.Errorf("field label %q not supported for batchv1.Job", field)
	case resource == schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceslices"}:
		return fmt.Errorf("field label not supported for %s: %s", rt.info.GVK, field)
	case rt.res != nil && (rt.res.Definition().Custom || len(rt.res.Definition().Strategy.FieldNames) > 0):
		return fmt.Errorf("field label not supported: %s", field)
	}
	return fmt.Errorf(`%q is not a known field selector: only "metadata.name", "metadata.namespace"`, field)
}
