package openapi

import (
	"errors"
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Version is one version of a definition, for [DeriveVersions]. It is made by [VersionOf].
type Version struct {
	name   string
	derive func(gv schema.GroupVersion, k scheme.Kind) (definitionVersion, *scheme.Info, error)
}

// VersionOf returns the version called name, such as v1beta1, whose objects are of Go type T. [Derive]
// describes how the schema follows from T.
func VersionOf[T metav1.Object](name string, o DeriveOptions) Version {
	return Version{name: name, derive: func(gv schema.GroupVersion, k scheme.Kind) (definitionVersion, *scheme.Info, error) {
		s := scheme.New()
		if err := scheme.Add[T](s, gv, k); err != nil {
			return definitionVersion{}, nil, err
		}
		info, err := scheme.InfoFor[T](s)
		if err != nil {
			return definitionVersion{}, nil, err
		}
		v, err := o.version(gv.Version, info)
		return v, info, err
	}}
}

// VersionFor returns the version of a registered kind, as [VersionOf] does for a Go type.
func VersionFor(info *scheme.Info, o DeriveOptions) Version {
	return Version{name: info.GVK.Version, derive: func(schema.GroupVersion, scheme.Kind) (definitionVersion, *scheme.Info, error) {
		v, err := o.version(info.GVK.Version, info)
		return v, info, err
	}}
}

// DefinitionOptions are the parts of a definition that concern all its versions. The zero value works.
type DefinitionOptions struct {
	// Conversion between the versions; nil changes only apiVersion, which suits versions with the same
	// fields.
	Conversion *apiextensionsv1.CustomResourceConversion
	// Labels and Annotations of the definition, such as one that requests the CA bundle of the conversion
	// webhook to be filled in.
	Labels, Annotations map[string]string
}

// DeriveVersions returns the definition of a custom resource with several versions, each from the Go type of
// its objects, as [Derive] does for one. The version with DeriveOptions.Stored is the one objects are stored
// in; if none has it, it is the first. A definition that a server would refuse is an error of
// [CheckDefinition], which names the field.
//
// The types may have different names; the kind is then k.Name, which must not be empty.
func DeriveVersions(group string, k scheme.Kind, o DefinitionOptions, versions ...Version) (*apiextensionsv1.CustomResourceDefinition, error) {
	if len(versions) == 0 {
		return nil, errors.New("openapi: a definition needs a version")
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.SetGroupVersionKind(apiextensionsv1.GroupVersion.WithKind("CustomResourceDefinition"))
	crd.Labels, crd.Annotations = o.Labels, o.Annotations
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{Group: group, Scope: apiextensionsv1.ClusterScoped, Conversion: o.Conversion}
	if k.Namespaced {
		crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	}
	for _, version := range versions {
		v, info, err := version.derive(schema.GroupVersion{Group: group, Version: version.name}, k)
		if err != nil {
			return nil, fmt.Errorf("openapi: version %s: %w", version.name, err)
		}
		names := apiextensionsv1.CustomResourceDefinitionNames{
			Plural: info.GVR.Resource, Singular: info.Singular, Kind: info.GVK.Kind, ListKind: info.GVK.Kind + "List",
			ShortNames: info.ShortNames, Categories: info.Categories,
		}
		if before := crd.Spec.Names.Kind; before != "" && before != names.Kind {
			return nil, fmt.Errorf("openapi: the versions are of kinds %s and %s: the kind's Name says which it is", before, names.Kind)
		}
		crd.Name, crd.Spec.Names = names.Plural+"."+group, names
		crd.Spec.Versions = append(crd.Spec.Versions, v)
	}
	if !slices.ContainsFunc(crd.Spec.Versions, func(v definitionVersion) bool { return v.Storage }) {
		crd.Spec.Versions[0].Storage = true
	}
	asStored := codec.DeepCopy(crd)
	apiextensionsv1.DefaultCustomResourceDefinition(asStored)
	if err := CheckDefinition(asStored).Err(); err != nil {
		return nil, fmt.Errorf("openapi: the definition of %s: %w", crd.Name, err)
	}
	return crd, nil
}
