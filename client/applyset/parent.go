package applyset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// deprecatedResources is how kubectl recorded the contents before it recorded kinds.
const deprecatedResources = "applyset.kubernetes.io/contains-group-resources"

// parents returns the client of the parent's metadata, which is all of it that is read or written.
func (s *Set) parents(ctx context.Context) (*client.Client[*metav1.PartialObjectMetadata], error) {
	if s.opts.Name == "" {
		return nil, errors.New("applyset: Options.Name is empty: the set needs the name of its parent")
	}
	r, err := s.all.Resource(ctx, s.opts.Kind)
	if err != nil {
		return nil, fmt.Errorf("applyset: the kind of the parent: %w", err)
	}
	if r.Namespaced && s.opts.Namespace == "" {
		return nil, fmt.Errorf("applyset: Options.Namespace is empty, and a %s is in a namespace", s.opts.Kind.Kind)
	}
	if !r.Namespaced && s.opts.Namespace != "" {
		return nil, fmt.Errorf("applyset: Options.Namespace is %s, and a %s is in no namespace", s.opts.Namespace, s.opts.Kind.Kind)
	}
	if !s.builtin() {
		gk := types.NamespacedName{Name: r.GVR.GroupResource().String()}
		definitions := client.ForResource[*metav1.PartialObjectMetadata](s.all.Conn(), client.Resource{
			GVR: apiextensionsv1.GroupVersion.WithResource("customresourcedefinitions"), GVK: apiextensionsv1.GroupVersion.WithKind("CustomResourceDefinition"), Metadata: true})
		definition, err := definitions.Get(ctx, gk)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("applyset: the definition of the parent: %w", err)
		}
		if err != nil || definition.Labels[ParentTypeLabel] == "" {
			return nil, fmt.Errorf("applyset: a %s cannot be a parent: its definition has no label %s=true", s.opts.Kind.Kind, ParentTypeLabel)
		}
	}
	r.Metadata = true
	return client.ForResource[*metav1.PartialObjectMetadata](s.all.Conn(), r), nil
}

// builtin reports whether the parent's kind is one that is made if it does not exist.
func (s *Set) builtin() bool {
	return s.opts.Kind.Group == "" && (s.opts.Kind.Kind == "Secret" || s.opts.Kind.Kind == "ConfigMap")
}

// read returns what the parent records. A parent that is not one of this set, or is another program's, is an
// error.
func (s *Set) read(ctx context.Context) (scope, error) {
	out := newScope(s.opts.Namespace)
	api, err := s.parents(ctx)
	if err != nil {
		return out, err
	}
	parent, err := api.Get(ctx, types.NamespacedName{Namespace: s.opts.Namespace, Name: s.opts.Name})
	if apierrors.IsNotFound(err) && s.builtin() {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("applyset: the parent: %w", err)
	}
	tooling, kept := parent.Annotations[ToolingAnnotation]
	name := toolName(tooling)
	_, kinds := parent.Annotations[KindsAnnotation]
	switch id := parent.Labels[IDLabel]; {
	case id == "" && !kept && !s.builtin():
		return out, nil // a custom resource that becomes a parent
	case !kept:
		return out, fmt.Errorf("applyset: %s %s exists and is no parent: it has no annotation %s", s.opts.Kind.Kind, s.opts.Name, ToolingAnnotation)
	case name != s.tool && !slices.Contains(s.opts.TakeOver, name):
		return out, fmt.Errorf("applyset: the set %s is managed by %q, not by %q: name it in Options.TakeOver to take it over", s.opts.Name, name, s.tool)
	case id != s.ID():
		return out, fmt.Errorf("applyset: the label %s of %s is %q, want %q", IDLabel, s.opts.Name, id, s.ID())
	case !kinds && parent.Annotations[deprecatedResources] != "":
		return out, fmt.Errorf("applyset: %s has the annotation %s of an old kubectl: apply it once with kubectl 1.28 or later", s.opts.Name, deprecatedResources)
	case !kinds:
		return out, fmt.Errorf("applyset: %s has no annotation %s, so the kinds of its objects are not known", s.opts.Name, KindsAnnotation)
	}
	out.parse(parent.Annotations)
	return out, nil
}

// write records a scope in the parent.
func (s *Set) write(ctx context.Context, in scope) error {
	api, err := s.parents(ctx)
	if err != nil {
		return err
	}
	parent := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.opts.Namespace, Name: s.opts.Name, Labels: map[string]string{IDLabel: s.ID()},
		Annotations: map[string]string{ToolingAnnotation: s.opts.Tooling, KindsAnnotation: in.kindsText(), NamespacesAnnotation: in.namespacesText(s.opts.Namespace)},
	}}
	// The fields belong to the sets' programs alone, so nothing is lost by force.
	if _, err := api.Apply(ctx, parent, client.ApplyOptions{FieldManager: s.tool + "-applyset", Force: true, DryRun: s.opts.DryRun}); err != nil {
		return fmt.Errorf("applyset: record the contents in the parent: %w", err)
	}
	return nil
}
