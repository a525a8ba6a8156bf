// Package dynamic reads and writes objects whose Go type is unknown when the program is built: as
// [metav1.Unstructured], as metadata only, or through their scale. The clients are ordinary client.Client
// values with the same promises, watches and apply included.
package dynamic

import (
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
)

// For returns a client for a resource as JSON values. Objects carry their own apiVersion and kind; those
// passed to a write must have both unless the resource is registered in the scheme of c.
func For(c client.Conn, gvr schema.GroupVersionResource) *client.Client[*metav1.Unstructured] {
	return client.ForResource[*metav1.Unstructured](c, Resource(c, gvr))
}

// Metadata returns a client that reads, watches, patches and deletes metadata only: the server sends
// nothing else. It cannot create or update. Objects carry their kind if the resource is registered in the
// scheme of c, else PartialObjectMetadata.
func Metadata(c client.Conn, gvr schema.GroupVersionResource) *client.Client[*metav1.PartialObjectMetadata] {
	r := Resource(c, gvr)
	r.Metadata = true
	return client.ForResource[*metav1.PartialObjectMetadata](c, r)
}

// Scale returns access to the scale subresource of a resource.
func Scale(c client.Conn, gvr schema.GroupVersionResource) *client.Sub[*autoscalingv1.Scale] {
	return client.Subresource[*autoscalingv1.Scale](For(c, gvr), "scale")
}

// Resource returns gvr with its kind and scope, if it is registered in the scheme of c, for
// client.ForResource and informers.ForResource.
func Resource(c client.Conn, gvr schema.GroupVersionResource) client.Resource {
	r := client.Resource{GVR: gvr, GVK: schema.GroupVersionKind{Group: gvr.Group, Version: gvr.Version}}
	if info := c.Scheme().ForResource(gvr); info != nil {
		r.GVK, r.Namespaced = info.GVK, info.Namespaced
	}
	return r
}
