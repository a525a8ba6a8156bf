package client

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Sub reads and writes one subresource of a resource, whose body is a B.
type Sub[B metav1.Object] struct {
	c    *Client[B]
	name string
}

// Subresource returns access to a subresource whose body is of another kind:
//
//	scales := client.Subresource[*autoscalingv1.Scale](client.For[*appsv1.Deployment](conn), "scale")
//
// It is for scale, binding, eviction, token and others. The status is written with [UpdateStatus],
// [Client.UpdateStatus], and PatchOptions or ApplyOptions with the Subresource status.
func Subresource[B, T metav1.Object](c *Client[T], name string) *Sub[B] {
	if c.err != nil {
		return &Sub[B]{c: &Client[B]{conn: c.conn, err: c.err, tm: -1}, name: name}
	}
	s := &Sub[B]{c: ForResource[B](c.conn, Resource{GVR: c.res.GVR, GVK: c.bodyKind(name, reflect.TypeFor[B]()), Namespaced: c.res.Namespaced}), name: name}
	if !c.proto.Load() && reflect.TypeFor[B]() == reflect.TypeFor[T]() {
		s.c.proto.Store(false)
	}
	return s
}

// bodyKind returns the kind of a subresource's body: as registered, as fixed by the API, or T's own.
func (c *Client[T]) bodyKind(name string, body reflect.Type) schema.GroupVersionKind {
	for _, s := range c.subs {
		if s.Name == name && s.Kind != "" {
			gv := c.res.GVK.GroupVersion()
			if s.Version != "" {
				gv = schema.GroupVersion{Group: s.Group, Version: s.Version}
			}
			return gv.WithKind(s.Kind)
		}
	}
	switch name {
	case "scale":
		return schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
	case "eviction":
		return schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}
	case "token":
		return schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}
	case "binding":
		return schema.GroupVersionKind{Version: "v1", Kind: "Binding"}
	}
	if info := c.conn.Scheme().ForType(body); info != nil {
		return info.GVK
	}
	return c.res.GVK
}

// Get reads the subresource of the object key.
func (s *Sub[B]) Get(ctx context.Context, key types.NamespacedName) (B, error) {
	return s.c.object(ctx, s.c.request("GET", key, s.name))
}

// Create posts body to the subresource of the object key and returns the reply, which is zero if
// the server replies with a Status (binding, eviction).
func (s *Sub[B]) Create(ctx context.Context, key types.NamespacedName, body B, opts ...CreateOptions) (B, error) {
	if err := s.c.checkObject(body); err != nil {
		var zero B
		return zero, err
	}
	r := s.c.request("POST", key, s.name)
	r.Query = atMostOne(opts).query()
	return s.c.write(ctx, r, body)
}

// Update replaces the subresource of the object key.
func (s *Sub[B]) Update(ctx context.Context, key types.NamespacedName, body B, opts ...UpdateOptions) (B, error) {
	if err := s.c.checkObject(body); err != nil {
		var zero B
		return zero, err
	}
	r := s.c.request("PUT", key, s.name)
	r.Query = CreateOptions(atMostOne(opts)).query()
	return s.c.write(ctx, r, body)
}

// Patch changes the subresource of the object key.
func (s *Sub[B]) Patch(ctx context.Context, key types.NamespacedName, p Patch, opts ...PatchOptions) (B, error) {
	po := atMostOne(opts)
	if err := s.checkSubresource(po.Subresource); err != nil {
		var zero B
		return zero, err
	}
	po.Subresource = s.name
	return s.c.Patch(ctx, key, p, po)
}

// Apply applies body to the subresource of the object key (server-side apply).
func (s *Sub[B]) Apply(ctx context.Context, key types.NamespacedName, body B, opts ApplyOptions) (B, error) {
	var zero B
	if err := cmp.Or(s.c.err, s.checkSubresource(opts.Subresource)); err != nil {
		return zero, err
	}
	data, err := ApplyBody(body, s.c.res.GVK, opts.Explicit...)
	if err != nil {
		return zero, err
	}
	return s.c.Patch(ctx, key, Patch{Type: types.ApplyYAMLPatchType, Data: data}, opts.patch(s.name))
}

// checkSubresource refuses an option that names another subresource.
func (s *Sub[B]) checkSubresource(subresource string) error {
	if subresource != "" && subresource != s.name {
		return fmt.Errorf("client: the subresource %s cannot be written through %s", subresource, s.name)
	}
	return nil
}
