package apiserver

import (
	"fmt"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/columns"
	"github.com/keelson-dev/keelson/store/registry"
)

// routes are the resources served at one time: immutable, rebuilt when the registry changes.
type routes struct {
	generation int64
	byGVR      map[schema.GroupVersionResource]*route
	discovery  func() *discovery // made when it is first requested
}

// route is one resource at one version.
type route struct {
	info     *scheme.Info
	res      *registry.Resource // nil for computed resources
	computed Computed
	table    *columns.Table
	proto    bool // objects have a protobuf form

	deprecated string // the warning with every response; empty for none
}

// table returns the current routes.
func (s *Server) table() *routes {
	rt := s.routes.Load()
	if rt != nil && rt.generation == s.registry.Generation() {
		return rt
	}
	if err := s.rebuildRoutes(); err != nil {
		s.logger.Error("rebuilding routes failed", "err", err)
		return rt
	}
	return s.routes.Load()
}

func (s *Server) rebuildRoutes() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &routes{generation: s.registry.Generation()}
	before := s.routes.Load()
	if before == nil {
		before = &routes{}
	}
	computed := append(s.builtinComputed(), s.opts.Computed...)
	var added []route // together, which saves most of the allocations of a start
	if len(before.byGVR) == 0 {
		added = make([]route, 0, s.registry.Len()+len(computed))
	}
	next.byGVR = make(map[schema.GroupVersionResource]*route, s.registry.Len()+len(computed))
	for res := range s.registry.All() {
		d := res.Definition()
		if rt := before.byGVR[d.Info.GVR]; rt != nil && rt.res == res {
			next.byGVR[d.Info.GVR] = rt
			continue
		}
		added = append(added, route{info: d.Info, res: res, table: orDefault(&d.Table), deprecated: d.Deprecated, proto: res.Protobuf()})
		next.byGVR[d.Info.GVR] = &added[len(added)-1]
	}
	for _, c := range computed {
		if c.Info == nil {
			return fmt.Errorf("apiserver: a Computed needs Info")
		}
		added = append(added, route{info: c.Info, computed: c, table: orDefault(&c.Table), deprecated: c.Deprecated, proto: hasProto(c.Info)})
		next.byGVR[c.Info.GVR] = &added[len(added)-1]
	}
	next.discovery = sync.OnceValue(func() *discovery { return newDiscovery(next, nil) })
	s.routes.Store(next)
	return nil
}

// orDefault returns t, or the default table if t has no columns.
func orDefault(t *columns.Table) *columns.Table {
	if len(t.Columns) == 0 {
		return defaultTable
	}
	return t
}

var defaultTable = func() *columns.Table {
	t := columns.Default()
	return &t
}()

// offers are the encodings and representations of the route's objects.
func (rt *route) offers(watch bool) offers {
	return offers{proto: rt.proto, table: true, meta: true, watch: watch}
}

// selector implements selectable.
func (rt *route) selector(sel fields.Selector) (fields.Selector, error) {
	if sel.Empty() {
		return sel, nil
	}
	return sel.Transform(func(field, value string) (string, string, error) {
		if rt.res == nil {
			if !isMetadataField(field) {
				return "", "", registry.ErrOnlyMetadataFields(field)
			}
			return field, value, nil
		}
		name, ok := rt.res.FieldName(field)
		if !ok {
			return "", "", rt.res.UnknownField(field)
		}
		return name, value, nil
	})
}
