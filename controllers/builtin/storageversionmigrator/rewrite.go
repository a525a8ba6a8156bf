package storageversionmigrator

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
)

// metadata is a client for what all objects have.
func (g *migrator) metadata(r *discovery.Resource) *client.Client[*metav1.PartialObjectMetadata] {
	resource := r.Client()
	resource.Metadata = true
	return client.ForResource[*metav1.PartialObjectMetadata](g.conn, resource)
}

// version is how new the resource is.
func (g *migrator) version(ctx context.Context, r *discovery.Resource) (string, error) {
	list, err := g.metadata(r).List(ctx, client.ListOptions{Limit: 1})
	if list == nil {
		return "", final(err)
	}
	return list.ResourceVersion, nil
}

// rewrite has every object that is not newer than checkpoint written again, in the server's storage version,
// by a change that changes nothing.
func (g *migrator) rewrite(ctx context.Context, r *discovery.Resource, checkpoint string) error {
	last, err := strconv.ParseUint(checkpoint, 10, 64)
	if err != nil {
		return &finalError{err}
	}
	objects := g.metadata(r)
	for o, err := range objects.All(ctx, client.ListOptions{}) {
		if err != nil {
			return final(err)
		}
		version, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
		if err != nil {
			return &finalError{err}
		}
		if version > last {
			continue
		}
		patch, err := touch(r, o)
		if err != nil {
			return &finalError{err}
		}
		_, err = objects.Patch(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, patch, client.PatchOptions{FieldManager: FieldManager})
		// Who was faster has written the object, deleted it or made a new one.
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return final(err)
		}
	}
	return nil
}

// touch is an apply of nothing. With the uid it cannot create an object that has been deleted, and with the
// version as well it is refused for one that has been made again.
func touch(r *discovery.Resource, o *metav1.PartialObjectMetadata) (client.Patch, error) {
	apiVersion, kind := r.GVK.APIVersion(), r.GVK.Kind
	data, err := codec.Marshal(map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"uid": string(o.UID), "resourceVersion": o.ResourceVersion}})
	return client.Patch{Type: types.ApplyYAMLPatchType, Data: data}, err
}

// final marks what the server refuses. What it may accept later, and what did not reach it, is tried again.
func final(err error) error {
	code := apierrors.CodeOf(err)
	if _, ok := errors.AsType[*client.DecodeError](err); !ok && (code < 400 || code >= 500) {
		return err
	}
	if code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || apierrors.IsExpired(err) || apierrors.IsUnauthorized(err) {
		return err
	}
	return &finalError{err}
}
