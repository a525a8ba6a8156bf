package crd

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/columns"
	"github.com/keelson-dev/keelson/store/registry"
)

// servedResources is the resources of one definition.
type servedResources struct {
	generation  int64
	names       apiextensionsv1.CustomResourceDefinitionNames
	terminating bool
	resources   []*registry.Definition
	documents   []openapi.Resource
}

// build returns the resources of a definition, one for each served version.
func build(d *definition, convert Converter, rules openapi.RuleMetrics) (*servedResources, error) {
	s := &servedResources{generation: d.Generation, names: d.Status.AcceptedNames, terminating: isTrue(d, apiextensionsv1.Terminating)}
	stored, err := storedInfo(d)
	if err != nil {
		return nil, err
	}
	schemas := make([]*openapi.Structural, len(d.Spec.Versions))
	for i := range d.Spec.Versions {
		if schemas[i], err = structural(&d.Spec.Versions[i]); err != nil {
			return nil, fmt.Errorf("version %s: %w", d.Spec.Versions[i].Name, err)
		}
		if schemas[i] != nil {
			schemas[i].Measure(rules)
		}
	}
	fields, err := selectable(d, schemas)
	if err != nil {
		return nil, err
	}
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		if !v.Served {
			continue
		}
		def, doc, err := version(d, v, schemas[i])
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", v.Name, err)
		}
		def.Stored = stored
		if c := d.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter && convert != nil && len(d.Spec.Versions) > 1 {
			// The storage version too: stored objects may be of a previous one.
			def.FromStoredAll = convert.To(d, def.Info.GVK.GroupVersion())
			def.FromStored, def.ToStored = single(def.FromStoredAll), single(convert.To(d, stored.GVK.GroupVersion()))
			fields.ofServed(&def.Fields, v.Name)
		} else {
			fields.ofStored(&def.Fields, v.Name)
		}
		s.resources = append(s.resources, def)
		s.documents = append(s.documents, *doc)
	}
	return s, nil
}

// single returns the conversion of one object by that of many.
func single(all func(context.Context, []metav1.Object) ([]metav1.Object, error)) func(context.Context, metav1.Object) (metav1.Object, error) {
	return func(ctx context.Context, obj metav1.Object) (metav1.Object, error) {
		out, err := all(ctx, []metav1.Object{obj})
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
}

func storedInfo(d *definition) (*scheme.Info, error) {
	for i := range d.Spec.Versions {
		if v := &d.Spec.Versions[i]; v.Storage {
			return info(d, v)
		}
	}
	return nil, fmt.Errorf("%s has no storage version", d.Name)
}

// verbs are what custom resources serve, in the order in which discovery has always listed them.
func verbs() []string {
	return []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
}

// info returns the kind of a version.
func info(d *definition, v *apiextensionsv1.CustomResourceDefinitionVersion) (*scheme.Info, error) {
	n := &d.Status.AcceptedNames
	k := scheme.Kind{
		Name: n.Kind, Resource: n.Plural, Singular: n.Singular, Namespaced: d.Spec.Scope == apiextensionsv1.NamespaceScoped,
		ShortNames: n.ShortNames, Categories: n.Categories, Verbs: verbs(),
	}
	if sub := v.Subresources; sub != nil {
		change := []string{"get", "patch", "update"}
		if sub.Status != nil {
			k.Subresources = append(k.Subresources, scheme.Subresource{Name: "status", Kind: n.Kind, Verbs: change})
		}
		if sub.Scale != nil {
			k.Subresources = append(k.Subresources, scheme.Subresource{Name: "scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Verbs: change})
		}
	}
	gv := schema.GroupVersion{Group: d.Spec.Group, Version: v.Name}
	one := scheme.New()
	if err := scheme.Add[*metav1.Unstructured](one, gv, k); err != nil {
		return nil, err
	}
	return one.ForKind(gv.WithKind(n.Kind)), nil
}

// version returns the resource of a served version and its OpenAPI document.
func version(d *definition, v *apiextensionsv1.CustomResourceDefinitionVersion, s *openapi.Structural) (*registry.Definition, *openapi.Resource, error) {
	in, err := info(d, v)
	if err != nil {
		return nil, nil, err
	}
	def := &registry.Definition{
		Info: in, Custom: true, Terminating: isTrue(d, apiextensionsv1.Terminating), Prefix: registry.CustomPrefix(in.GVR.GroupResource()),
		Strategy: registry.Strategy{VersionRequired: true, Generation: registry.OnSpec},
	}
	if def.Table, err = columns.Custom(v.AdditionalPrinterColumns); err != nil {
		return nil, nil, err
	}
	if v.Subresources != nil && v.Subresources.Scale != nil {
		sc := v.Subresources.Scale
		paths := registry.ScalePaths{Spec: sc.SpecReplicasPath, Status: sc.StatusReplicasPath}
		if sc.LabelSelectorPath != nil {
			paths.Selector = *sc.LabelSelectorPath
		}
		def.Scale = paths.Scale()
	}
	if v.Deprecated {
		def.Deprecated = deprecation(d, v)
	}
	doc := &openapi.Resource{GVK: in.GVK, GVR: in.GVR, Namespaced: in.Namespaced, Verbs: in.Verbs, Subresources: in.Subresources}
	if s == nil {
		return def, doc, nil
	}
	doc.Schema = openapi.FromProps(v.Schema.OpenAPIV3Schema)
	names := make([]string, len(v.SelectableFields))
	for i, f := range v.SelectableFields {
		names[i] = strings.TrimPrefix(f.JSONPath, ".")
	}
	doc.Schema.Selectable(names...)
	return def, doc, addRules(def, d, s)
}

// structural returns the schema of a version, or nil if it has none.
func structural(v *apiextensionsv1.CustomResourceDefinitionVersion) (*openapi.Structural, error) {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return nil, nil
	}
	return openapi.CompileSchema(v.Schema.OpenAPIV3Schema)
}

// addRules makes the resource prune, default and validate by its schema.
func addRules(def *registry.Definition, d *definition, s *openapi.Structural) (err error) {
	if def.Managed, err = s.Ownership(); err != nil {
		return err
	}
	def.Prune = func(obj metav1.Object) []string {
		// A definition of Kubernetes 1.21 or earlier can keep every field.
		if u, ok := obj.(*metav1.Unstructured); ok && !d.Spec.PreserveUnknownFields {
			return s.Prune(u)
		}
		return nil
	}
	fill := func(obj metav1.Object) {
		if u, ok := obj.(*metav1.Unstructured); ok {
			def.Prune(u)
			s.SetDefaults(u)
		}
	}
	def.Info.Rules = scheme.Rules{
		Default: fill,
		Validate: func(obj metav1.Object) validation.ErrorList {
			return s.Validate(obj.(*metav1.Unstructured))
		},
		ValidateUpdate: func(obj, old metav1.Object) validation.ErrorList {
			return s.ValidateUpdate(obj.(*metav1.Unstructured), old.(*metav1.Unstructured))
		},
		ValidateStatus: func(obj, old metav1.Object) validation.ErrorList {
			return s.ValidateStatus(obj.(*metav1.Unstructured), old.(*metav1.Unstructured))
		},
	}
	// Stored objects are pruned and defaulted again only if they can differ from the schema: it may have
	// changed since, or another version may have written them.
	if d.Generation > 1 || len(d.Spec.Versions) > 1 {
		def.OnRead = fill
	}
	return nil
}

// deprecation returns the warning of a deprecated version.
func deprecation(d *definition, v *apiextensionsv1.CustomResourceDefinitionVersion) string {
	if v.DeprecationWarning != nil {
		return *v.DeprecationWarning
	}
	text := fmt.Sprintf("%s/%s %s is deprecated", d.Spec.Group, v.Name, d.Status.AcceptedNames.Kind)
	best := ""
	for i := range d.Spec.Versions {
		o := &d.Spec.Versions[i]
		if o.Served && !o.Deprecated && schema.CompareVersions(o.Name, cmp.Or(best, v.Name)) > 0 {
			best = o.Name
		}
	}
	if best != "" {
		text += fmt.Sprintf("; use %s/%s %s", d.Spec.Group, best, d.Status.AcceptedNames.Kind)
	}
	return text
}
