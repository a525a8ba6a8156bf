// Package applyset applies a set of objects and deletes those that no longer belong to it, as "kubectl apply
// --prune --applyset" does and by the same labels and annotations (KEP-3659), so that either can continue
// what the other has begun:
//
//	all := objects.New(conn, objects.Options{Namespace: "shop"})
//	set := applyset.New(all, applyset.Options{Namespace: "shop", Name: "app"})
//	differences, err := set.Diff(ctx, objs)
//	result, err := set.Apply(ctx, objs)
//
// A parent object, a Secret unless another kind is chosen, records the kinds and namespaces in which the set
// has objects; each object has a label with the id of its set. The record is widened before anything is
// applied and narrowed after everything is pruned. So a process may end at any point: the next Apply finds
// all objects of the set and completes it. Two processes must not apply one set at the same time.
package applyset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/objects"
)

// The labels and annotations of the specification.
const (
	// PartOfLabel is the label of the objects of a set; its value is the set's id.
	PartOfLabel = "applyset.kubernetes.io/part-of"
	// IDLabel is the label of a parent with the set's id.
	IDLabel = "applyset.kubernetes.io/id"
	// ParentTypeLabel is the label of definitions whose custom resources may be parents.
	ParentTypeLabel = "applyset.kubernetes.io/is-parent-type"
	// ToolingAnnotation of a parent names the program that manages the set, and its version.
	ToolingAnnotation = "applyset.kubernetes.io/tooling"
	// KindsAnnotation of a parent lists the kinds of the set's objects.
	KindsAnnotation = "applyset.kubernetes.io/contains-group-kinds"
	// NamespacesAnnotation of a parent lists the namespaces of the set's objects other than its own.
	NamespacesAnnotation = "applyset.kubernetes.io/additional-namespaces"
)

// Options configure a Set.
type Options struct {
	// Kind of the parent; zero means Secret. Only a Secret or a ConfigMap is made if it does not exist. The
	// definition of a custom resource must have the label ParentTypeLabel.
	Kind schema.GroupVersionKind
	// Namespace and Name of the parent.
	Namespace, Name string
	// Tooling names the program that manages the set, as NAME/VERSION; empty means keelson/v1. A set of
	// another name is refused. Use kubectl/v1.32 for a set that kubectl manages too.
	Tooling string
	// TakeOver are the names of other programs whose sets may be taken over.
	TakeOver []string
	// FieldManager of the objects; empty means the name in Tooling.
	FieldManager string
	// Force takes the ownership of fields of other managers; without it they are a conflict.
	Force bool
	// Propagation is how the dependents of pruned objects are deleted; empty means in the background.
	Propagation metav1.DeletionPropagation
	// DryRun lets the server check everything and store nothing.
	DryRun bool
}

// Set is one apply set.
type Set struct {
	all  *objects.Client
	opts Options
	tool string // name of the tooling
}

// New returns a set. It sends nothing.
func New(all *objects.Client, opts Options) *Set {
	if opts.Kind.Empty() {
		opts.Kind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	}
	opts.Tooling = cmp.Or(opts.Tooling, "keelson/v1")
	opts.Propagation = cmp.Or(opts.Propagation, metav1.DeletePropagationBackground)
	opts.FieldManager = cmp.Or(opts.FieldManager, toolName(opts.Tooling))
	return &Set{all: all, opts: opts, tool: toolName(opts.Tooling)}
}

// toolName is the name in NAME/VERSION; a name may contain slashes.
func toolName(tooling string) string {
	if i := strings.LastIndexByte(tooling, '/'); i >= 0 {
		return tooling[:i]
	}
	return tooling
}

// ID is the id of the set, which follows from the kind, namespace and name of its parent.
func (s *Set) ID() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{s.opts.Name, s.opts.Namespace, s.opts.Kind.Kind, s.opts.Kind.Group}, ".")))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
}

// Result is what Apply has done.
type Result struct {
	// Applied are the objects as stored, in the order given; nil for those that failed.
	Applied []metav1.Object
	// Pruned are the objects whose deletion was requested.
	Pruned []*metav1.PartialObjectMetadata
}

// Apply makes objs the objects of the set: it applies them and then deletes the others. If one cannot be
// applied nothing is deleted. Without objects everything of the set is deleted; the parent stays. The result
// is valid beside an error, and says what has been done.
func (s *Set) Apply(ctx context.Context, objs []metav1.Object) (*Result, error) {
	result := &Result{}
	members, err := s.members(objs)
	if err != nil {
		return result, err
	}
	known, err := s.read(ctx)
	if err != nil {
		return result, err
	}
	if err := s.write(ctx, known.union(s.expected(ctx, members))); err != nil {
		return result, err
	}
	ao := client.ApplyOptions{FieldManager: s.opts.FieldManager, Force: s.opts.Force, DryRun: s.opts.DryRun}
	if result.Applied, err = s.all.ApplyAll(ctx, members, ao); err != nil {
		return result, fmt.Errorf("applyset: nothing was pruned: %w", err)
	}
	now := newScope(s.opts.Namespace)
	for _, obj := range result.Applied {
		now.add(s.all.KindOf(obj).GroupKind(), obj.GetNamespace())
	}
	if result.Pruned, err = s.prune(ctx, known.union(now), result.Applied); err != nil {
		return result, err
	}
	return result, s.write(ctx, now)
}

// members returns copies of the objects with the label of the set.
func (s *Set) members(objs []metav1.Object) ([]metav1.Object, error) {
	out := make([]metav1.Object, len(objs))
	for i, obj := range objs {
		if v := reflect.ValueOf(obj); !v.IsValid() || v.IsNil() {
			return nil, errors.New("applyset: an object is nil")
		}
		if _, ok := obj.GetLabels()[PartOfLabel]; ok {
			return nil, fmt.Errorf("applyset: %s has the label %s already: it is set here", metav1.KeyOf(obj), PartOfLabel)
		}
		marked := map[string]string{PartOfLabel: s.ID()}
		maps.Copy(marked, obj.GetLabels())
		// The copy shares all but the labels with the object, which is only read.
		v := reflect.New(reflect.TypeOf(obj).Elem())
		v.Elem().Set(reflect.ValueOf(obj).Elem())
		out[i] = v.Interface().(metav1.Object)
		out[i].SetLabels(marked)
	}
	return out, nil
}

// expected is where the objects will be. The scope of a kind that is not served yet is not known, so its
// objects are expected in the default namespace too.
func (s *Set) expected(ctx context.Context, objs []metav1.Object) scope {
	out := newScope(s.opts.Namespace)
	for _, obj := range objs {
		gk := s.all.KindOf(obj).GroupKind()
		_, placed, err := s.all.Place(ctx, obj)
		if err != nil {
			out.add(gk, cmp.Or(obj.GetNamespace(), s.all.Namespace()))
			continue
		}
		out.add(gk, placed.GetNamespace())
	}
	return out
}

// Diff returns what Apply would change, object by object in the order given and then the objects that it
// would delete. The server computes it with a dry run, and nothing is written. An object in a namespace or of
// a kind that Apply would create first is an error.
func (s *Set) Diff(ctx context.Context, objs []metav1.Object) (out []*objects.Difference, err error) {
	members, err := s.members(objs)
	if err != nil {
		return nil, err
	}
	known, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	now := newScope(s.opts.Namespace)
	var kept []metav1.Object
	for _, obj := range members {
		d, err := s.all.Diff(ctx, obj, client.ApplyOptions{FieldManager: s.opts.FieldManager, Force: s.opts.Force})
		if err != nil {
			return nil, fmt.Errorf("applyset: diff: %w", err)
		}
		out = append(out, d)
		now.add(d.Kind.GroupKind(), d.After.GetNamespace())
		kept = append(kept, d.After)
	}
	stale, err := s.stale(ctx, known.union(now), kept)
	if err != nil {
		return nil, err
	}
	for _, obj := range stale {
		d, err := s.all.Deletion(obj)
		if err != nil {
			return nil, fmt.Errorf("applyset: diff: %w", err)
		}
		out = append(out, d)
	}
	return out, nil
}

// stale returns the objects in a scope that have the label of the set and are not among applied, in the order
// in which they are deleted.
func (s *Set) stale(ctx context.Context, in scope, applied []metav1.Object) (stale []*metav1.PartialObjectMetadata, err error) {
	keep := map[types.UID]bool{}
	for _, obj := range applied {
		keep[metav1.MetaOf(obj).UID] = true
	}
	// Hooks first and definitions last, the reverse of the order in which they are applied.
	kinds := slices.SortedFunc(maps.Keys(in.kinds), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(manifest.OrderOf(b), manifest.OrderOf(a)), cmp.Compare(a.String(), b.String()))
	})
	for _, gk := range kinds {
		found, err := s.find(ctx, gk, in)
		if err != nil {
			return nil, fmt.Errorf("applyset: list %s to prune: %w", gk, err)
		}
		for _, obj := range found {
			if !keep[obj.UID] {
				stale = append(stale, obj)
			}
		}
	}
	return stale, nil
}

// prune deletes the objects in a scope that have the label of the set and are not among applied.
func (s *Set) prune(ctx context.Context, in scope, applied []metav1.Object) (pruned []*metav1.PartialObjectMetadata, err error) {
	stale, err := s.stale(ctx, in, applied)
	if err != nil {
		return nil, err
	}
	for _, obj := range stale {
		o := client.DeleteOptions{PropagationPolicy: s.opts.Propagation, DryRun: s.opts.DryRun, Preconditions: &metav1.Preconditions{UID: &obj.UID}}
		err := s.all.Delete(ctx, obj, o)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			continue // it is gone, or another object has its name
		}
		if err != nil {
			return pruned, fmt.Errorf("applyset: prune: %w", err)
		}
		pruned = append(pruned, obj)
	}
	return pruned, nil
}

// find lists the objects of a kind that are in the set. A kind that is not served has none.
func (s *Set) find(ctx context.Context, gk schema.GroupKind, in scope) (out []*metav1.PartialObjectMetadata, err error) {
	r, err := s.all.Resource(ctx, gk.WithVersion(""))
	if missing, ok := errors.AsType[*discovery.NoMatchError](err); ok && !slices.ContainsFunc(missing.Stale, func(gv schema.GroupVersion) bool { return gv.Group == gk.Group }) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.Metadata = true
	api := client.ForResource[*metav1.PartialObjectMetadata](s.all.Conn(), r)
	namespaces := []string{""}
	if r.Namespaced {
		namespaces = slices.Sorted(maps.Keys(in.namespaces))
	}
	for _, namespace := range namespaces {
		selected := client.ListOptions{Namespace: namespace, LabelSelector: labels.SelectorFromSet(labels.Set{PartOfLabel: s.ID()})}
		for obj, err := range api.All(ctx, selected) {
			if err != nil && !apierrors.IsNotFound(err) {
				return nil, err
			}
			if err == nil {
				out = append(out, obj)
			}
		}
	}
	return out, nil
}
