package registry

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/storagemigrationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// beta is a kind of Kubernetes that api.Scheme() leaves out.
var beta = reflect.TypeFor[storagemigrationv1beta1.StorageVersionMigration]()

// Builtins returns the definitions of the stored kinds of s: those that can be listed and created. Kinds of
// Kubernetes get what is particular to them; any other kind the general rules.
func (r *Registry) Builtins(s *scheme.Scheme) ([]Definition, error) {
	var defs []Definition
	for _, info := range s.All() {
		if !info.HasVerb("create") || !info.HasVerb("list") {
			continue
		}
		d, err := r.Builtin(s, info)
		if err != nil {
			return nil, err
		}
		defs = append(defs, d)
	}
	return defs, nil
}

// Builtin returns the definition of one kind of s.
func (r *Registry) Builtin(s *scheme.Scheme, info *scheme.Info) (Definition, error) {
	d := Definition{Info: info, Facts: builtinFacts(info.GVR.GroupResource())}
	_, d.StatusSubresource = info.Subresource("status")
	obj := info.New()
	d.Strategy = r.strategyOf(obj)
	d.OnRead = onRead(obj)
	fields := builtinFields(obj)
	if gvr, ok := storedKinds[info.GVR]; ok {
		if d.Stored = s.ForResource(gvr); d.Stored == nil {
			return d, fmt.Errorf("registry: %v is stored as %v, which is not registered", info.GVR, gvr)
		}
		d.FromStored, d.ToStored = conversions(obj)
		fields = builtinFields(d.Stored.New())
		d.Strategy.Selectors = renamedFields(obj)
	}
	d.Strategy.FieldNames, d.Strategy.Fields, d.Strategy.NoNamespaceField = fields.names, fields.fields, fields.noNamespace
	if d.Strategy.FieldPaths = fields.paths; fields.paths == nil {
		d.Strategy.FieldPaths = fields.names
	}
	if b := api.Scheme().ForKind(info.GVK); (b == nil || b.Type != info.Type) && info.Type != beta {
		// A kind of an embedder: like a custom resource, but in protobuf if its type has that form.
		d.Prefix = CustomPrefix(info.GVR.GroupResource())
		d.Facts.Generation, d.Facts.VersionRequired = OnSpec, true
		if _, err := codec.SizeProto(obj); err != nil {
			d.Facts.JSON = true
		}
	}
	return d, nil
}

// strategyOf returns what is particular to a built-in kind.
func (r *Registry) strategyOf(obj metav1.Object) Strategy {
	for _, family := range []func(*Registry, metav1.Object) (Strategy, bool){coreStrategy, workloadStrategy, otherStrategy} {
		if s, ok := family(r, obj); ok {
			return s
		}
	}
	return Strategy{}
}

// eventTTL is the strategy of both kinds of events.
func (r *Registry) eventTTL() Strategy {
	ttl := time.Duration(r.options.EventTTL) * time.Second
	return Strategy{TTL: func(metav1.Object) time.Duration { return ttl }}
}

// on adapts a function about one Go type.
func on[T metav1.Object](f func(obj T)) func(context.Context, metav1.Object) {
	return func(_ context.Context, obj metav1.Object) { f(obj.(T)) }
}

// onBoth adapts a function about a new and an old object of one Go type.
func onBoth[T metav1.Object](f func(obj, old T)) func(context.Context, metav1.Object, metav1.Object) {
	return func(_ context.Context, obj, old metav1.Object) { f(obj.(T), old.(T)) }
}
