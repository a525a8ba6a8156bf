package namespace

import (
	"context"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/controllers/internal/parallel"
)

// empty deletes what is in the namespace, stage by stage, and returns what is left.
func (n *namespaces) empty(ctx context.Context, namespace string) *content {
	catalog, err := n.discovery.Refresh(ctx)
	if catalog == nil {
		return unknown(err)
	}
	left := &content{remaining: map[string]int{}, finalizers: map[string]int{}, discovery: err}
	for _, resources := range stages(catalog.Preferred()) {
		if len(left.remaining) == 0 {
			n.sweep(ctx, namespace, resources, left)
		}
	}
	return left
}

// sweep deletes the objects of the resources of a stage and adds to left what is left of them.
func (n *namespaces) sweep(ctx context.Context, namespace string, resources []discovery.Resource, left *content) {
	objects := make([][]*metav1.PartialObjectMetadata, len(resources))
	errs := parallel.Do(len(resources), func(i int) (err error) {
		objects[i], err = n.clear(ctx, namespace, resources[i])
		return err
	})
	now := time.Now()
	for i, r := range resources {
		if errs[i] != nil {
			left.deletion = append(left.deletion, fmt.Errorf("%s: %w", r.GVR.GroupResource(), errs[i]))
		}
		left.count(r.GVR.GroupResource(), objects[i], now)
	}
}

// clear deletes all objects of one resource and returns those that are left, metadata only.
func (n *namespaces) clear(ctx context.Context, namespace string, r discovery.Resource) ([]*metav1.PartialObjectMetadata, error) {
	res := r.Client()
	res.Metadata = true
	api := client.ForResource[*metav1.PartialObjectMetadata](n.conn, res)
	list, err := api.List(ctx, client.ListOptions{Namespace: namespace})
	if err != nil || len(list.Items) == 0 {
		return nil, ignoreUnsupported(err)
	}
	background := client.DeleteOptions{PropagationPolicy: metav1.DeletePropagationBackground}
	if r.HasVerb("deletecollection") {
		err = api.DeleteCollection(ctx, client.ListOptions{Namespace: namespace}, background)
	} else {
		for _, obj := range list.Items {
			if e := api.Delete(ctx, obj.Key(), background); e != nil && !apierrors.IsNotFound(e) && err == nil {
				err = e
			}
		}
	}
	list, listErr := api.List(ctx, client.ListOptions{Namespace: namespace})
	if err == nil {
		err = listErr
	}
	if list == nil {
		return nil, ignoreUnsupported(err)
	}
	return list.Items, ignoreUnsupported(err)
}

// ignoreUnsupported drops the errors of a resource whose collections cannot be read or deleted. A 404 is none
// of them: discovery has just listed the resource, so that its objects may only be out of sight, behind a
// server that does not know the definition yet. If it is not served any more, the next pass does not find it
// in discovery.
func ignoreUnsupported(err error) error {
	if apierrors.IsMethodNotSupported(err) {
		return nil
	}
	return err
}
