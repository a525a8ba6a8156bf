package schema

import "strings"

// GroupResource is a resource of a group, whatever the version.
type GroupResource struct {
	Group    string
	Resource string
}

// ParseGroupResource reads "deployments.apps"; without a dot it is a resource
// of the core group.
func ParseGroupResource(s string) GroupResource {
	resource, group, _ := strings.Cut(s, ".")
	return GroupResource{Group: group, Resource: resource}
}

// Empty reports whether neither group nor resource is set.
func (gr GroupResource) Empty() bool { return gr == GroupResource{} }

// String is "resource.group", or "resource" for the core group. It is the form
// used in messages and in the names of custom resource definitions.
func (gr GroupResource) String() string {
	if gr.Group == "" {
		return gr.Resource
	}
	return gr.Resource + "." + gr.Group
}

// WithVersion names this resource in one version.
func (gr GroupResource) WithVersion(version string) GroupVersionResource {
	return GroupVersionResource{Group: gr.Group, Version: version, Resource: gr.Resource}
}

// Compare orders by group, then by resource.
func (gr GroupResource) Compare(other GroupResource) int {
	if c := strings.Compare(gr.Group, other.Group); c != 0 {
		return c
	}
	return strings.Compare(gr.Resource, other.Resource)
}

// GroupVersionResource identifies a resource in one version of its group.
type GroupVersionResource struct {
	Group    string
	Version  string
	Resource string
}

// ParseResourceArg reads "resource.version.group" and the same text as "resource.group", because the two are
// ambiguous: "deployments.v1.apps" gives a non-nil first result, "deployments.apps" does not.
func ParseResourceArg(s string) (*GroupVersionResource, GroupResource) {
	var gvr *GroupVersionResource
	if parts := strings.SplitN(s, ".", 3); len(parts) == 3 {
		gvr = &GroupVersionResource{Group: parts[2], Version: parts[1], Resource: parts[0]}
	}
	return gvr, ParseGroupResource(s)
}

// Empty reports whether nothing is set.
func (gvr GroupVersionResource) Empty() bool { return gvr == GroupVersionResource{} }

// GroupResource drops the version.
func (gvr GroupVersionResource) GroupResource() GroupResource {
	return GroupResource{Group: gvr.Group, Resource: gvr.Resource}
}

// GroupVersion drops the resource.
func (gvr GroupVersionResource) GroupVersion() GroupVersion {
	return GroupVersion{Group: gvr.Group, Version: gvr.Version}
}

// String is "group/version, Resource=resource".
func (gvr GroupVersionResource) String() string {
	return gvr.Group + "/" + gvr.Version + ", Resource=" + gvr.Resource
}
