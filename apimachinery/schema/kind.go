package schema

import "strings"

// GroupKind is a kind of a group, whatever the version.
type GroupKind struct {
	Group string
	Kind  string
}

// ParseGroupKind reads "Deployment.apps"; without a dot it is a kind of the
// core group.
func ParseGroupKind(s string) GroupKind {
	kind, group, _ := strings.Cut(s, ".")
	return GroupKind{Group: group, Kind: kind}
}

// Empty reports whether neither group nor kind is set.
func (gk GroupKind) Empty() bool { return gk == GroupKind{} }

// String is "Kind.group", or "Kind" for the core group.
func (gk GroupKind) String() string {
	if gk.Group == "" {
		return gk.Kind
	}
	return gk.Kind + "." + gk.Group
}

// WithVersion names this kind in one version.
func (gk GroupKind) WithVersion(version string) GroupVersionKind {
	return GroupVersionKind{Group: gk.Group, Version: version, Kind: gk.Kind}
}

// GroupVersionKind identifies a kind in one version of its group.
type GroupVersionKind struct {
	Group   string
	Version string
	Kind    string
}

// FromAPIVersionAndKind builds the identity from the two TypeMeta fields. An
// apiVersion that cannot be parsed leaves group and version empty, so that the
// kind is still there to be reported.
func FromAPIVersionAndKind(apiVersion, kind string) GroupVersionKind {
	gv, err := ParseGroupVersion(apiVersion)
	if err != nil {
		return GroupVersionKind{Kind: kind}
	}
	return gv.WithKind(kind)
}

// ParseKindArg reads "Kind.version.group" and the same text as "Kind.group", because the two are ambiguous:
// "Deployment.v1.apps" gives a non-nil first result, "Deployment.apps" does not.
func ParseKindArg(s string) (*GroupVersionKind, GroupKind) {
	var gvk *GroupVersionKind
	if parts := strings.SplitN(s, ".", 3); len(parts) == 3 {
		gvk = &GroupVersionKind{Group: parts[2], Version: parts[1], Kind: parts[0]}
	}
	return gvk, ParseGroupKind(s)
}

// Empty reports whether nothing is set.
func (gvk GroupVersionKind) Empty() bool { return gvk == GroupVersionKind{} }

// GroupKind drops the version.
func (gvk GroupVersionKind) GroupKind() GroupKind {
	return GroupKind{Group: gvk.Group, Kind: gvk.Kind}
}

// GroupVersion drops the kind.
func (gvk GroupVersionKind) GroupVersion() GroupVersion {
	return GroupVersion{Group: gvk.Group, Version: gvk.Version}
}

// APIVersion is the apiVersion field of an object of this kind: "v1", "apps/v1".
func (gvk GroupVersionKind) APIVersion() string { return gvk.GroupVersion().String() }

// ToAPIVersionAndKind gives the two TypeMeta fields; both are empty for the
// zero value.
func (gvk GroupVersionKind) ToAPIVersionAndKind() (apiVersion, kind string) {
	if gvk.Empty() {
		return "", ""
	}
	return gvk.APIVersion(), gvk.Kind
}

// String is "group/version, Kind=kind".
func (gvk GroupVersionKind) String() string {
	return gvk.Group + "/" + gvk.Version + ", Kind=" + gvk.Kind
}
