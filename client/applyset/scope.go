package applyset

import (
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// scope is where a set has objects.
type scope struct {
	kinds      map[schema.GroupKind]bool
	namespaces map[string]bool
}

// newScope returns a scope without kinds. The parent's own namespace, if it has one, always belongs to it.
func newScope(parent string) scope {
	s := scope{kinds: map[schema.GroupKind]bool{}, namespaces: map[string]bool{}}
	if parent != "" {
		s.namespaces[parent] = true
	}
	return s
}

func (s scope) add(gk schema.GroupKind, namespace string) {
	s.kinds[gk] = true
	if namespace != "" {
		s.namespaces[namespace] = true
	}
}

func (s scope) union(t scope) scope {
	out := scope{kinds: maps.Clone(s.kinds), namespaces: maps.Clone(s.namespaces)}
	maps.Copy(out.kinds, t.kinds)
	maps.Copy(out.namespaces, t.namespaces)
	return out
}

// kindsText is the value of KindsAnnotation.
func (s scope) kindsText() string {
	var out []string
	for gk := range s.kinds {
		out = append(out, gk.String())
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// namespacesText is the value of NamespacesAnnotation.
func (s scope) namespacesText(parent string) string {
	out := slices.Sorted(maps.Keys(s.namespaces))
	return strings.Join(slices.DeleteFunc(out, func(ns string) bool { return ns == parent }), ",")
}

// parse reads the annotations of a parent into the scope.
func (s scope) parse(annotations map[string]string) {
	for text := range strings.SplitSeq(annotations[KindsAnnotation], ",") {
		if kind, group, _ := strings.Cut(text, "."); kind != "" {
			s.kinds[schema.GroupKind{Group: group, Kind: kind}] = true
		}
	}
	for ns := range strings.SplitSeq(annotations[NamespacesAnnotation], ",") {
		if ns != "" {
			s.namespaces[ns] = true
		}
	}
}
