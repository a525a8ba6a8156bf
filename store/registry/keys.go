package registry

import (
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// oddPrefixes are the resources whose keys do not begin with their own name.
var oddPrefixes = map[schema.GroupResource]string{
	{Resource: "nodes"}:                                 "/minions/",
	{Resource: "services"}:                              "/services/specs/",
	{Resource: "endpoints"}:                             "/services/endpoints/",
	{Resource: "replicationcontrollers"}:                "/controllers/",
	{Group: "networking.k8s.io", Resource: "ingresses"}: "/ingress/",
}

// groupedPrefixes are the built-in groups whose keys, like those of custom resources, begin with the group.
var groupedPrefixes = map[string]bool{"apiextensions.k8s.io": true, "apiregistration.k8s.io": true}

// Prefix returns the key prefix, with a slash at its end, under which a built-in resource is kept. What comes
// before it in a shared etcd, /registry by default, is the backend's to add.
func Prefix(gr schema.GroupResource) string {
	if p, ok := oddPrefixes[gr]; ok {
		return p
	}
	if groupedPrefixes[gr.Group] {
		return CustomPrefix(gr)
	}
	return "/" + gr.Resource + "/"
}

// CustomPrefix returns the key prefix of a custom resource: the group comes first.
func CustomPrefix(gr schema.GroupResource) string {
	return "/" + gr.Group + "/" + gr.Resource + "/"
}

// keyOf returns the key of one object below prefix.
func keyOf(prefix string, key types.NamespacedName) string {
	if key.Namespace == "" {
		return prefix + key.Name
	}
	return prefix + key.Namespace + "/" + key.Name
}
