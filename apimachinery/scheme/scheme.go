// Package scheme ties Go types to API kinds and resources. A [Scheme] is filled once, by explicit
// registration, and read by clients, informers and servers from any number of goroutines. Nothing is guessed:
// a type that was not added is an error that names the call to make. A scheme that several users share, such
// as api.Scheme, is frozen: nothing can be added to it, only to a [Scheme.Clone] of it.
package scheme

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// Kind says how a Go type appears in the API.
type Kind struct {
	// Name is the kind; empty means the Go type's name.
	Name string
	// Resource is the lower-case plural in paths. Required.
	Resource string
	// Singular is the lower-case singular; empty means Name in lower case.
	Singular string
	// Namespaced is true when objects live in a namespace.
	Namespaced bool
	// ShortNames are aliases kubectl accepts.
	ShortNames []string
	// Categories are groups of resources kubectl accepts, such as "all".
	Categories []string
	// Verbs the resource serves; nil means [AllVerbs].
	Verbs []string
	// Subresources beside the main resource, such as status and scale.
	Subresources []Subresource
}

// Subresource is a path below an object.
type Subresource struct {
	// Name is the last path element.
	Name string
	// Kind, Group and Version of the body. Group and Version are empty when they are the resource's own.
	Kind, Group, Version string
	// Verbs the subresource serves.
	Verbs []string
}

// AllVerbs are the verbs of an ordinary stored resource.
func AllVerbs() []string {
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// Info is a registered kind. It is immutable: SetRules replaces it.
type Info struct {
	Kind
	// GVK and GVR are the kind's and the resource's full names.
	GVK schema.GroupVersionKind
	GVR schema.GroupVersionResource
	// Type is the struct type (not the pointer).
	Type reflect.Type
	// Rules are applied by servers; zero for a client-only scheme.
	Rules Rules

	new     func() metav1.Object
	newList func() any
}

// New returns a new empty object of the kind, a pointer to Type.
func (i *Info) New() metav1.Object { return i.new() }

// NewList returns a new *metav1.List[*T] of the kind.
func (i *Info) NewList() any { return i.newList() }

// ListKind is the kind of the list, such as PodList.
func (i *Info) ListKind() schema.GroupVersionKind {
	return i.GVK.GroupVersion().WithKind(i.GVK.Kind + "List")
}

// Subresource returns the named subresource.
func (i *Info) Subresource(name string) (Subresource, bool) {
	for _, s := range i.Subresources {
		if s.Name == name {
			return s, true
		}
	}
	return Subresource{}, false
}

// HasVerb reports whether the resource itself serves verb.
func (i *Info) HasVerb(verb string) bool { return slices.Contains(i.Verbs, verb) }

// Rules are what a server applies to the objects of a kind beyond their shape. The functions get
// objects of the registered Go type and may be called concurrently. Each may be nil.
type Rules struct {
	// Default fills unset fields of a decoded object.
	Default func(obj metav1.Object)
	// Validate checks an object to be created, metadata's general rules excepted.
	Validate func(obj metav1.Object) validation.ErrorList
	// ValidateUpdate checks a change, immutable fields included. It covers the rules of Validate.
	ValidateUpdate func(obj, old metav1.Object) validation.ErrorList
	// ValidateStatus checks a change through the status subresource.
	ValidateStatus func(obj, old metav1.Object) validation.ErrorList
	// NameRule returns what is wrong with a name; nil means the DNS subdomain rule.
	// prefix is true for a generateName prefix.
	NameRule func(name string, prefix bool) []string
	// Meta is what the kind requires of metadata.
	Meta MetaRule
	// Warnings are sent to the client beside a successful write; old is nil on create.
	Warnings func(obj, old metav1.Object) []string
}

// MetaRule is what a kind requires of its objects' metadata beyond what holds for all objects.
type MetaRule uint8

const (
	// MetaOrdinary checks all metadata on create, and on update what may change.
	MetaOrdinary MetaRule = iota
	// MetaStrict checks on update, too, what is required of new objects: that generateName obeys the name
	// rule.
	MetaStrict
	// MetaLoose has no further requirements: names are path segments, finalizers need no domain, and metadata
	// is checked only if nothing else is wrong with a new object.
	MetaLoose
)

// Scheme is a set of registered kinds. The zero value is empty and ready. Registration and reading
// may run concurrently, though registration normally ends before reading begins.
type Scheme struct {
	mu     sync.RWMutex
	byType map[reflect.Type]*Info
	byKind map[schema.GroupVersionKind]*Info
	byGVR  map[schema.GroupVersionResource]*Info
	order  []*Info
	frozen bool
}

// New returns an empty scheme.
func New() *Scheme { return &Scheme{} }

// Add registers the pointer type T as kind k of group-version gv. Adding the same registration
// twice is a no-op; a conflicting one, or a type without ObjectMeta, is an error.
func Add[T metav1.Object](s *Scheme, gv schema.GroupVersion, k Kind) error {
	t := reflect.TypeFor[T]()
	if err := metav1.CheckMeta(t); err != nil {
		return fmt.Errorf("scheme: cannot add %v: %w", t, err)
	}
	if k.Resource == "" {
		return fmt.Errorf("scheme: cannot add %v: Kind.Resource is empty", t)
	}
	if k.Name == "" {
		k.Name = t.Elem().Name()
	}
	if k.Singular == "" {
		k.Singular = strings.ToLower(k.Name)
	}
	if k.Verbs == nil {
		k.Verbs = AllVerbs()
	}
	info := &Info{
		Kind: k, GVK: gv.WithKind(k.Name), GVR: gv.WithResource(k.Resource), Type: t.Elem(),
		new:     func() metav1.Object { return reflect.New(t.Elem()).Interface().(metav1.Object) },
		newList: func() any { return new(metav1.List[T]) },
	}
	return s.add(info)
}

// Freeze makes every later registration and change of rules an error, so that s can be shared.
func (s *Scheme) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = true
}

// Frozen reports whether Freeze has been called.
func (s *Scheme) Frozen() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.frozen
}

// errFrozen is the error of a change of a frozen scheme.
func errFrozen(t reflect.Type) error {
	return fmt.Errorf("scheme: cannot add *%v: the scheme is shared: add to a Clone of it", t)
}

func (s *Scheme) add(info *Info) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.byKind[info.GVK]; old != nil {
		if old.Type == info.Type && old.GVR == info.GVR {
			return nil
		}
		return fmt.Errorf("scheme: %v is already registered as %v", info.GVK, old.Type)
	}
	if old := s.byGVR[info.GVR]; old != nil {
		return fmt.Errorf("scheme: resource %v is already registered for kind %s", info.GVR, old.GVK.Kind)
	}
	if s.frozen {
		return errFrozen(info.Type)
	}
	if s.byType == nil {
		s.byType = map[reflect.Type]*Info{}
		s.byKind = map[schema.GroupVersionKind]*Info{}
		s.byGVR = map[schema.GroupVersionResource]*Info{}
	}
	// A type may serve several kinds (Unstructured); the first registration answers for the type.
	if s.byType[info.Type] == nil {
		s.byType[info.Type] = info
	}
	s.byKind[info.GVK], s.byGVR[info.GVR] = info, info
	s.order = append(s.order, info)
	return nil
}

// SetRules attaches the server-side rules of the kind registered for T. Info values obtained before
// stay as they were, and so do the schemes that s was cloned from or to.
func SetRules[T metav1.Object](s *Scheme, r Rules) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.byType[reflect.TypeFor[T]().Elem()]
	if old == nil {
		return &UnregisteredError{Type: reflect.TypeFor[T]()}
	}
	if s.frozen {
		return errFrozen(old.Type)
	}
	info := *old
	info.Rules = r
	s.byType[info.Type], s.byKind[info.GVK], s.byGVR[info.GVR] = &info, &info, &info
	s.order[slices.Index(s.order, old)] = &info
	return nil
}

// InfoFor returns the registration of the pointer type T, or an *UnregisteredError. The methods of Scheme
// return nil for what is not registered.
func InfoFor[T metav1.Object](s *Scheme) (*Info, error) {
	t := reflect.TypeFor[T]()
	if info := s.ForType(t); info != nil {
		return info, nil
	}
	return nil, &UnregisteredError{Type: t}
}

// ForObject returns the registration of obj's Go type, or nil.
func (s *Scheme) ForObject(obj metav1.Object) *Info { return s.ForType(reflect.TypeOf(obj)) }

// ForType returns the registration of the pointer type t, or nil.
func (s *Scheme) ForType(t reflect.Type) *Info {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if t == nil || t.Kind() != reflect.Pointer {
		return nil
	}
	return s.byType[t.Elem()]
}

// ForKind returns the registration of a kind, or nil.
func (s *Scheme) ForKind(gvk schema.GroupVersionKind) *Info {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byKind[gvk]
}

// ForResource returns the registration of a resource, or nil.
func (s *Scheme) ForResource(gvr schema.GroupVersionResource) *Info {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byGVR[gvr]
}

// All returns every registration in the order it was made.
func (s *Scheme) All() []*Info {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.order)
}

// Versions returns the registered group-versions in the order of their first registration.
func (s *Scheme) Versions() []schema.GroupVersion {
	var out []schema.GroupVersion
	for _, i := range s.All() {
		if gv := i.GVK.GroupVersion(); !slices.Contains(out, gv) {
			out = append(out, gv)
		}
	}
	return out
}

// Clone returns an independent scheme with the same registrations, which is not frozen; Info values are
// shared.
func (s *Scheme) Clone() *Scheme {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return &Scheme{byType: maps.Clone(s.byType), byKind: maps.Clone(s.byKind), byGVR: maps.Clone(s.byGVR), order: slices.Clone(s.order)}
}

// Only returns an independent scheme with those registrations for which keep returns true, which is not
// frozen. Info values are shared.
func (s *Scheme) Only(keep func(*Info) bool) *Scheme {
	out := New()
	for _, info := range s.All() {
		if keep(info) {
			_ = out.add(info) // s has no two that contradict each other, so out has not
		}
	}
	return out
}

// UnregisteredError reports the use of a Go type that has not been registered with Add.
type UnregisteredError struct{ Type reflect.Type }

func (e *UnregisteredError) Error() string {
	return fmt.Sprintf("scheme: %v is not registered: call scheme.Add[%v](s, groupVersion, scheme.Kind{Resource: ...}) first", e.Type, e.Type)
}

// IsUnregistered reports whether err is or wraps an *UnregisteredError.
func IsUnregistered(err error) bool {
	_, ok := errors.AsType[*UnregisteredError](err)
	return ok
}
