// Package dynamic reads and writes objects whose Go type is not known when the program is built: as
// [metav1.Unstructured], as metadata only, or through their scale. The clients are ordinary client.Client
// values, so everything said there holds, watches and apply included.
package dynamic

import (
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
)

// For returns a client for a resource as JSON values. Objects carry their own apiVersion and kind; those
// given to a write must have both unless the scheme of c knows the resource.
func For(c client.Conn, gvr schema.GroupVersionResource) *client.Client[*metav1.Unstructured] {
	return client.ForResource[*metav1.Unstructured](c, Resource(c, gvr))
}

// Metadata returns a client that reads, watches, patches and deletes by metadata only: the server sends
// nothing else. It cannot create or update. Objects carry the kind they are of if the scheme of c knows the
// resource, else PartialObjectMetadata.
func Metadata(c client.Conn, gvr schema.GroupVersionResource) *client.Client[*metav1.PartialObjectMetadata] {
	r := Resource(c, gvr)
	r.Metadata = true
	return client.ForResource[*metav1.PartialObjectMetadata](c, r)
}

// Scale returns the scale of any resource that has one.
func Scale(c client.Conn, gvr schema.GroupVersionResource) *client.Sub[*autoscalingv1.Scale] {
	return client.Subresource[*autoscalingv1.Scale](For(c, gvr), "scale")
}

// Resource describes gvr as far as the scheme of c knows it, for client.ForResource and
// informers.ForResource.
func Resource(c client.Conn, gvr schema.GroupVersionResource) client.Resource {
	r := client.Resource{GVR: gvr, GVK: schema.GroupVersionKind{Group: gvr.Group, Version: gvr.Version}}
	if info := c.Scheme().ForResource(gvr); info != nil {
		r.GVK, r.Namespaced = info.GVK, info.Namespaced
	}
	return r
}
