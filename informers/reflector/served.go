package reflector

import (
	"context"
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
)

// served queries discovery for a resource. Only a document that lists other resources shows that it is
// absent: a 404 may come from a proxy, or mean that the path prefix is wrong.
func served(ctx context.Context, c client.Conn, gvr schema.GroupVersionResource) (bool, error) {
	root := "/apis"
	group := "/apis/" + gvr.Group + "/" + gvr.Version
	if gvr.Group == "" {
		root, group = "/api", "/api/"+gvr.Version
	}
	var resources metav1.APIResourceList
	err := document(ctx, c, group, "APIResourceList", &resources, &resources.TypeMeta)
	if err == nil {
		return slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == gvr.Resource }), nil
	}
	if !apierrors.IsNotFound(err) {
		return false, err
	}
	if gvr.Group == "" {
		var versions metav1.APIVersions
		err = document(ctx, c, root, "APIVersions", &versions, &versions.TypeMeta)
		return slices.Contains(versions.Versions, gvr.Version), err
	}
	var groups metav1.APIGroupList
	err = document(ctx, c, root, "APIGroupList", &groups, &groups.TypeMeta)
	return slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool {
		return slices.ContainsFunc(g.Versions, func(v metav1.GroupVersionForDiscovery) bool { return v.GroupVersion == gvr.GroupVersion().String() })
	}), err
}

// document reads a discovery document of a kind into obj, whose type is meta.
func document(ctx context.Context, c client.Conn, path, kind string, obj any, meta *metav1.TypeMeta) error {
	resp, err := c.Do(ctx, &client.Request{Path: path, Accept: client.MediaJSON})
	if err != nil {
		return err
	}
	if err := codec.Unmarshal(resp.Body, obj); err != nil {
		return fmt.Errorf("reflector: %s: %w", path, err)
	}
	if meta.Kind != kind {
		return fmt.Errorf("reflector: %s is not an %s: the reply may not come from an API server", path, kind)
	}
	return nil
}
