package markers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Root is a type with the marker +kubebuilder:object:root, as its markers describe it.
type Root struct {
	// ImportPath and Package are the path and the name of its package, Type is its name.
	ImportPath, Package, Type string
	// GroupVersion is that of the package's markers +groupName and +versionName; without the latter the
	// version is the name of the package.
	GroupVersion schema.GroupVersion
	// Kind has the names of the marker +kubebuilder:resource. Without a path the plural is formed from the
	// name by the usual rules of English.
	Kind scheme.Kind
}

// Roots returns the types with the marker +kubebuilder:object:root, ordered by group, version and name, for a
// program that registers them in a scheme. Lists, and types with the marker skipversion, are left out. A
// package with such a type and without the marker +groupName is an error.
func (s *Source) Roots() ([]Root, error) {
	var out []Root
	for _, name := range slices.Sorted(maps.Keys(s.types)) {
		c := s.types[name]
		root := c.find(prefix + "object:root")
		_, isList := c.fields["Items"]
		if len(root) == 0 || root[0].given && root[0].value != "true" || isList || len(c.find(prefix+"skipversion")) > 0 {
			continue
		}
		dot := strings.LastIndexByte(name, '.')
		r := Root{ImportPath: name[:dot], Package: c.in.name, Type: name[dot+1:], Kind: scheme.Kind{Namespaced: true}}
		if c.in.group == "" {
			return nil, fmt.Errorf("markers: %w", root[0].errorf("the package %s has no marker +groupName=GROUP", r.ImportPath))
		}
		r.GroupVersion = schema.GroupVersion{Group: c.in.group, Version: cmp.Or(c.in.version, c.in.name)}
		r.Kind.Resource = plural(strings.ToLower(r.Type))
		for _, m := range c.find(prefix + "resource") {
			if err := m.kind(&r.Kind); err != nil {
				return nil, fmt.Errorf("markers: %w", err)
			}
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Root) int {
		return cmp.Or(cmp.Compare(a.GroupVersion.Group, b.GroupVersion.Group), cmp.Compare(a.GroupVersion.Version, b.GroupVersion.Version), cmp.Compare(a.Type, b.Type))
	})
	return out, nil
}

// kind sets the names of the marker resource.
func (m mark) kind(k *scheme.Kind) error {
	var resource, scope string
	if err := m.texts(map[string]*string{"path": &resource, "scope": &scope, "singular": &k.Singular}); err != nil {
		return err
	}
	k.Resource = cmp.Or(resource, k.Resource)
	switch scope {
	case "", "Namespaced":
	case "Cluster":
		k.Namespaced = false
	default:
		return m.errorf("scope is %s, but must be Namespaced or Cluster", scope)
	}
	var err error
	if k.ShortNames, err = m.list("shortName"); err != nil {
		return err
	}
	k.Categories, err = m.list("categories")
	return err
}

// plural returns the regular plural of a word in lower case.
func plural(word string) string {
	switch last := word[len(word)-1:]; {
	case last == "y" && len(word) > 1 && !strings.ContainsAny(word[len(word)-2:len(word)-1], "aeiou"):
		return word[:len(word)-1] + "ies"
	case last == "s" || last == "x" || last == "z" || strings.HasSuffix(word, "ch") || strings.HasSuffix(word, "sh"):
		return word + "es"
	}
	return word + "s"
}

// packageMark applies a marker of a package.
func (p *packageSource) packageMark(m mark) {
	switch m.name {
	case "groupName":
		p.group = m.value
	case "versionName":
		p.version = m.value
	case prefix + "validation:Optional":
		p.optional = true
	}
}
