package apiserver

import (
	"fmt"
	"iter"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/columns"
	"github.com/keelson-dev/keelson/store/registry"
)

// routes are the resources served at one time: immutable, rebuilt when the registry changes.
type routes struct {
	table     *registry.Table
	stored    []route // by the rows of table
	computed  map[schema.GroupVersionResource]*route
	discovery func() *discovery // made when it is first requested
}

// route returns that of a resource, or nil.
func (t *routes) route(gvr schema.GroupVersionResource) *route {
	if row, ok := t.table.Row(gvr); ok {
		return &t.stored[row]
	}
	return t.computed[gvr]
}

// all yields the routes, in no order.
func (t *routes) all() iter.Seq[*route] {
	return func(yield func(*route) bool) {
		for i := range t.stored {
			if !yield(&t.stored[i]) {
				return
			}
		}
		for _, rt := range t.computed {
			if !yield(rt) {
				return
			}
		}
	}
}

// route is one resource at one version.
type route struct {
	info     *scheme.Info
	res      *registry.Resource // nil for computed ones
	computed *Computed          // nil for stored ones
	table    *columns.Table
	proto    bool // objects have a protobuf form

	deprecated string // the warning with every response; empty for none
}

// table returns the current routes.
func (s *Server) table() *routes {
	rt := s.routes.Load()
	if rt != nil && rt.table == s.registry.Table() {
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
	table := s.registry.Table()
	computed := append(s.builtinComputed(), s.opts.Computed...)
	next := &routes{table: table, stored: make([]route, table.Len()), computed: make(map[schema.GroupVersionResource]*route, len(computed))}
	for row, res := range table.All() {
		d := res.Definition()
		next.stored[row] = route{info: d.Info, res: res, table: orDefault(&d.Table), deprecated: d.Deprecated, proto: res.Protobuf()}
	}
	for _, c := range computed {
		if c.Info == nil {
			return fmt.Errorf("apiserver: a Computed needs Info")
		}
		rt := route{info: c.Info, computed: &c, table: orDefault(&c.Table), deprecated: c.Deprecated, proto: hasProto(c.Info)}
		if row, stored := table.Row(c.Info.GVR); stored {
			next.stored[row] = rt
		} else {
			next.computed[c.Info.GVR] = &rt
		}
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
