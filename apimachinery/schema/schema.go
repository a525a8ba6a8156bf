// Package schema names the kinds and resources of an API: group, version,
// kind and resource, alone and combined.
//
// Every type is a small comparable value: it can be a map key, is copied by
// assignment, and its zero value means "nothing named". The package does no
// I/O and holds no state.
package schema

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalidGroupVersion is wrapped by the errors of ParseGroupVersion.
var ErrInvalidGroupVersion = errors.New("invalid group/version")

// GroupVersion is an API group and one of its versions. The legacy core group
// has the empty name.
type GroupVersion struct {
	Group   string
	Version string
}

// ParseGroupVersion reads an apiVersion: "v1" (the core group), "apps/v1".
// The empty string and "/" give the zero value. More than one slash is an
// error wrapping ErrInvalidGroupVersion.
func ParseGroupVersion(s string) (GroupVersion, error) {
	if s == "" || s == "/" {
		return GroupVersion{}, nil
	}
	group, version, found := strings.Cut(s, "/")
	if !found {
		return GroupVersion{Version: s}, nil
	}
	if strings.Contains(version, "/") {
		return GroupVersion{}, fmt.Errorf("%w: %q has more than one slash", ErrInvalidGroupVersion, s)
	}
	return GroupVersion{Group: group, Version: version}, nil
}

// Empty reports whether neither group nor version is set.
func (gv GroupVersion) Empty() bool { return gv == GroupVersion{} }

// String is the apiVersion form: "v1" for the core group, else "group/version".
func (gv GroupVersion) String() string {
	if gv.Group == "" {
		return gv.Version
	}
	return gv.Group + "/" + gv.Version
}

// Identifier is String; it exists so that a GroupVersion can stand for itself
// where a set of versions is named.
func (gv GroupVersion) Identifier() string { return gv.String() }

// WithKind names a kind of this group and version.
func (gv GroupVersion) WithKind(kind string) GroupVersionKind {
	return GroupVersionKind{Group: gv.Group, Version: gv.Version, Kind: kind}
}

// WithResource names a resource of this group and version.
func (gv GroupVersion) WithResource(resource string) GroupVersionResource {
	return GroupVersionResource{Group: gv.Group, Version: gv.Version, Resource: resource}
}

// Compare orders by group, then by version, both as plain strings. It is meant
// for stable output; CompareVersions orders versions by their maturity.
func (gv GroupVersion) Compare(other GroupVersion) int {
	if c := strings.Compare(gv.Group, other.Group); c != 0 {
		return c
	}
	return strings.Compare(gv.Version, other.Version)
}
