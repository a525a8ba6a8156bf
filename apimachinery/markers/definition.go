package markers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Options of Definitions. The zero value works.
type Options struct {
	// Conversion between the versions of each kind; nil changes only apiVersion.
	Conversion *apiextensionsv1.CustomResourceConversion
	// Labels and Annotations of the definitions, in addition to those of markers.
	Labels, Annotations map[string]string
	// Texts describes the types that are not in the source, such as explain.Text of the built-in ones. Nil
	// leaves their descriptions out, which keeps definitions with a pod template small.
	Texts openapi.Texts
}

// Definitions returns the definitions of the kinds of an API group that are registered in a scheme, ordered
// by name. The scheme has the names and the scope of a kind, and its versions; markers add the rest, and an
// error reports one that contradicts the scheme. Types with the marker skipversion, and those that are not in
// the source, are left out. A definition that a server would refuse is an error.
func (s *Source) Definitions(kinds *scheme.Scheme, group string, opts Options) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	byKind := map[string][]*scheme.Info{}
	for _, info := range kinds.All() {
		c := s.typeOf(info.Type)
		if info.GVK.Group == group && c != nil && len(c.find(prefix+"skipversion")) == 0 {
			byKind[info.GVK.Kind] = append(byKind[info.GVK.Kind], info)
		}
	}
	if len(byKind) == 0 {
		return nil, fmt.Errorf("markers: the scheme has no kind of group %s whose type is in the source", group)
	}
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, versions := range byKind {
		crd, err := s.definition(versions, opts)
		if err != nil {
			return nil, fmt.Errorf("markers: %w", err)
		}
		out = append(out, crd)
	}
	slices.SortFunc(out, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// definition returns the definition of a kind with the given versions.
func (s *Source) definition(infos []*scheme.Info, opts Options) (*apiextensionsv1.CustomResourceDefinition, error) {
	slices.SortFunc(infos, func(a, b *scheme.Info) int { return strings.Compare(a.GVK.Version, b.GVK.Version) })
	of := openapi.DefinitionOptions{Conversion: opts.Conversion, Labels: map[string]string{}, Annotations: map[string]string{}}
	for from, to := range map[*map[string]string]map[string]string{&opts.Labels: of.Labels, &opts.Annotations: of.Annotations} {
		for k, v := range *from {
			to[k] = v
		}
	}
	var versions []openapi.Version
	kind, stored := infos[0].Kind, 0
	kind.Name = infos[0].GVK.Kind
	for _, info := range infos {
		c := s.typeOf(info.Type)
		o, err := s.version(c, info, opts)
		if err != nil {
			return nil, err
		}
		if err := c.names(info); err != nil {
			return nil, err
		}
		if err := c.metadata(of); err != nil {
			return nil, err
		}
		if o.Stored {
			stored++
		}
		versions = append(versions, openapi.VersionFor(info, o))
	}
	if stored != 1 && len(infos) > 1 {
		return nil, fmt.Errorf("%d of the %d versions of %s have the marker +%sstorageversion, which one must have", stored, len(infos), kind.Name, prefix)
	}
	return openapi.DeriveVersions(infos[0].GVK.Group, kind, of, versions...)
}

// version returns the options of one version.
func (s *Source) version(c *typeSource, info *scheme.Info, opts Options) (openapi.DeriveOptions, error) {
	o := openapi.DeriveOptions{
		Texts: opts.Texts, Marks: s, Status: len(c.find(prefix+"subresource:status")) > 0,
		Stored: len(c.find(prefix+"storageversion")) > 0, Unserved: len(c.find(prefix+"unservedversion")) > 0,
	}
	if _, served := info.Subresource("status"); len(info.Subresources) > 0 && served != o.Status {
		return o, fmt.Errorf("%v: the scheme and the marker +%ssubresource:status differ on whether there is a status subresource", info.Type, prefix)
	}
	for _, m := range c.marks {
		if err := m.inVersion(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}

// inVersion applies a marker of an object's type to the options of its version.
func (m mark) inVersion(o *openapi.DeriveOptions) (err error) {
	switch strings.TrimPrefix(m.name, prefix) {
	case "deprecatedversion":
		o.Deprecated = true
		o.DeprecationWarning, err = m.text("warning")
	case "selectablefield":
		f := apiextensionsv1.SelectableField{}
		f.JSONPath, err = m.text("JSONPath")
		o.Selectable = append(o.Selectable, f)
	case "subresource:scale":
		o.Scale = &apiextensionsv1.CustomResourceSubresourceScale{}
		selector := ""
		err = m.texts(map[string]*string{"specpath": &o.Scale.SpecReplicasPath, "statuspath": &o.Scale.StatusReplicasPath, "selectorpath": &selector})
		if selector != "" {
			o.Scale.LabelSelectorPath = &selector
		}
	case "printcolumn":
		c := apiextensionsv1.CustomResourceColumnDefinition{}
		if priority, err := m.number("priority"); err != nil {
			return err
		} else if priority != nil {
			c.Priority = *priority
		}
		err = m.texts(map[string]*string{"name": &c.Name, "type": &c.Type, "JSONPath": &c.JSONPath, "description": &c.Description, "format": &c.Format})
		o.Columns = append(o.Columns, c)
	}
	return err
}

// texts sets the arguments that are strings.
func (m mark) texts(to map[string]*string) (err error) {
	for name, v := range to {
		if *v, err = m.text(name); err != nil {
			return err
		}
	}
	return nil
}

// names compares the marker resource with the names of the scheme.
func (c *typeSource) names(info *scheme.Info) error {
	for _, m := range c.find(prefix + "resource") {
		scope := "Cluster"
		if info.Namespaced {
			scope = "Namespaced"
		}
		var path, marked, singular string
		if err := m.texts(map[string]*string{"path": &path, "scope": &marked, "singular": &singular}); err != nil {
			return err
		}
		for name, pair := range map[string][2]string{"path": {path, info.GVR.Resource}, "scope": {marked, scope}, "singular": {singular, info.Singular}} {
			if pair[0] != "" && pair[0] != pair[1] {
				return m.errorf("%s is %s, but in the scheme %s", name, pair[0], pair[1])
			}
		}
		for name, names := range map[string][]string{"shortName": info.ShortNames, "categories": info.Categories} {
			list, err := m.list(name)
			if err != nil {
				return err
			}
			if list != nil && !slices.Equal(list, names) {
				return m.errorf("%s is %v, but in the scheme %v", name, list, names)
			}
		}
	}
	return nil
}

// metadata adds the labels and annotations of the marker metadata, which are written KEY=VALUE;KEY=VALUE.
func (c *typeSource) metadata(o openapi.DefinitionOptions) error {
	for _, m := range c.find(prefix + "metadata") {
		for name, to := range map[string]map[string]string{"labels": o.Labels, "annotations": o.Annotations} {
			list, err := m.list(name)
			if err != nil {
				return err
			}
			for _, pair := range list {
				key, value, ok := strings.Cut(pair, "=")
				if !ok {
					return m.errorf("%s: %q is not KEY=VALUE", name, pair)
				}
				to[key] = value
			}
		}
	}
	return nil
}
