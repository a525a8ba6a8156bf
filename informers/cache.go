package informers

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
)

// Cache is what the informers of a set hold, unless the Options of a call of For or ForResource say
// otherwise. The zero value holds every object of every resource that is used.
//
//	informers.SetOptions{Cache: informers.Cache{
//		Namespaces: []string{"shop"},
//		Types: []informers.TypeCache{
//			informers.CacheOf(informers.Options[*corev1.Secret]{LabelSelector: selector}),
//			informers.CacheOf(informers.Options[*corev1.Pod]{Namespaces: []string{metav1.NamespaceAll}}),
//		},
//	}}
//
// A program whose Cache names its namespaces needs the verbs list and watch in these alone: a Role in each,
// and no ClusterRole unless it reads resources without namespaces.
type Cache struct {
	// Namespaces are watched with one watch each, of resources that have namespaces. Empty, or containing
	// metav1.NamespaceAll, means all with one watch. They apply to every informer whose own Options name
	// none.
	Namespaces []string
	// LabelSelector and FieldSelector limit the collections on the server, of resources without an entry in
	// Types.
	LabelSelector labels.Selector
	FieldSelector fields.Selector
	// Transform may change each object before it is stored, of resources without an entry in Types. It gets
	// the Go type of the informer and must keep the name, namespace, uid and resourceVersion. See
	// Options.Transform.
	Transform func(metav1.Object) error
	// Types has at most one entry for a resource.
	Types []TypeCache
}

// TypeCache is an entry of Cache.Types. It is made by [CacheOf] and [CacheOfResource].
type TypeCache struct {
	find func(*scheme.Scheme) (schema.GroupResource, error)
	opts any // an Options[T]
	rest Options[metav1.Object]
}

// CacheOf is what informers for the resource of T hold, instead of what Cache says: its selectors and its
// transform. Without Namespaces it has those of the Cache. It applies to informers of the resource in any
// version and of any Go type, but its Transform and Decoded to those of T only. Share is not used.
func CacheOf[T metav1.Object](opts Options[T]) TypeCache {
	return newTypeCache(opts, func(s *scheme.Scheme) (schema.GroupResource, error) {
		info, err := scheme.InfoFor[T](s)
		if err != nil {
			return schema.GroupResource{}, err
		}
		return info.GVR.GroupResource(), nil
	})
}

// CacheOfResource is CacheOf with a resource that need not be in the scheme; see [ForResource].
func CacheOfResource[T metav1.Object](r client.Resource, opts Options[T]) TypeCache {
	return newTypeCache(opts, func(*scheme.Scheme) (schema.GroupResource, error) { return r.GVR.GroupResource(), nil })
}

func newTypeCache[T metav1.Object](opts Options[T], find func(*scheme.Scheme) (schema.GroupResource, error)) TypeCache {
	return TypeCache{find: find, opts: opts, rest: Options[metav1.Object]{
		Namespaces: opts.Namespaces, LabelSelector: opts.LabelSelector, FieldSelector: opts.FieldSelector,
	}}
}

// cachePolicy is a Cache with its types resolved.
type cachePolicy struct {
	Cache
	types map[schema.GroupResource]TypeCache
	err   error
}

func newCachePolicy(c Cache, s *scheme.Scheme) cachePolicy {
	p := cachePolicy{Cache: c, types: map[schema.GroupResource]TypeCache{}}
	for _, t := range c.Types {
		if t.find == nil {
			p.err = errors.New("informers: an entry of Cache.Types is empty: use CacheOf")
			break
		}
		resource, err := t.find(s)
		if err != nil {
			p.err = fmt.Errorf("informers: Cache.Types: %w", err)
			break
		}
		if _, twice := p.types[resource]; twice {
			p.err = fmt.Errorf("informers: Cache.Types has two entries for %s", resource)
			break
		}
		p.types[resource] = t
	}
	return p
}

// complete returns the options of an informer: those given, if any, or else those of the policy.
func complete[T metav1.Object](p cachePolicy, r client.Resource, given []Options[T]) (opts Options[T], byPolicy bool) {
	entry, hasEntry := p.types[r.GVR.GroupResource()]
	switch {
	case len(given) > 1:
		panic(fmt.Sprintf("informers: %d Options in one call, want at most one", len(given)))
	case len(given) == 1:
		opts = given[0]
	case hasEntry:
		byPolicy = true
		opts = Options[T]{LabelSelector: entry.rest.LabelSelector, FieldSelector: entry.rest.FieldSelector}
		if own, ok := entry.opts.(Options[T]); ok {
			opts = own
			opts.Share = ""
		}
	default:
		byPolicy = true
		opts = Options[T]{LabelSelector: p.LabelSelector, FieldSelector: p.FieldSelector}
		if p.Transform != nil {
			opts.Transform = func(obj T) error { return p.Transform(obj) }
		}
	}
	if !r.Namespaced && (byPolicy || len(opts.Namespaces) == 0) {
		opts.Namespaces = nil
		return opts, byPolicy
	}
	if len(opts.Namespaces) == 0 {
		opts.Namespaces = entry.rest.Namespaces
	}
	if len(opts.Namespaces) == 0 {
		opts.Namespaces = p.Namespaces
	}
	opts.Namespaces = normalNamespaces(opts.Namespaces)
	return opts, byPolicy
}

// normalNamespaces returns the namespaces in order and once each; nil means all.
func normalNamespaces(namespaces []string) []string {
	if slices.Contains(namespaces, metav1.NamespaceAll) {
		return nil
	}
	sorted := slices.Clone(namespaces)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// NotHeldError reports a read of a namespace that an informer does not hold, so that an object which the
// informer cannot know is not taken for one that does not exist.
type NotHeldError struct {
	// Resource of the informer.
	Resource string
	// Namespace that was read.
	Namespace string
	// Namespaces are those that the informer holds.
	Namespaces []string
}

// Error names the namespace and those that can be read.
func (e *NotHeldError) Error() string {
	return fmt.Sprintf("informers: the cache of %s does not hold namespace %q, only %q: add it to Cache.Namespaces or Options.Namespaces", e.Resource, e.Namespace, e.Namespaces)
}

// typeName returns the name of T for people.
func typeName[T metav1.Object]() string { return reflect.TypeFor[T]().String() }
