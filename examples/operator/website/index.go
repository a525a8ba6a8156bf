package website

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	v1 "github.com/keelson-dev/keelson/examples/operator/api/v1"
)

// IndexName is the name of the ConfigMap in each namespace with websites; its entries are the names of the
// Services by host.
const IndexName = "websites"

// Finalizer keeps a deleted Website until its host is no longer listed. The ConfigMap belongs to all websites
// of the namespace, so that the garbage collector does not do it.
const Finalizer = "demo.keelson.dev/index"

// hostIndex is the ConfigMaps. Each website applies its own entry as a field manager of its own: an entry
// that is not applied any more disappears, and one that another website owns is a conflict.
type hostIndex struct {
	maps *client.Client[*corev1.ConfigMap]
}

// set makes host the entry of a website. A conflict means that another website has the host.
func (x hostIndex) set(ctx context.Context, site *v1.Website, host string) error {
	_, err := x.apply(ctx, site, map[string]string{host: site.Name})
	return err
}

// remove removes the entry of a website, and the ConfigMap with the last entry.
func (x hostIndex) remove(ctx context.Context, site *v1.Website) (removed bool, err error) {
	// An apply would create what is not there, which a namespace that is being deleted refuses.
	before, err := x.maps.Get(ctx, types.NamespacedName{Namespace: site.Namespace, Name: IndexName})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	after, err := x.apply(ctx, site, nil)
	if err != nil {
		return false, err
	}
	if len(after.Data) == 0 {
		err = x.maps.Delete(ctx, metav1.KeyOf(after), client.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &after.UID, ResourceVersion: &after.ResourceVersion}})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			err = nil // another website has added or removed an entry since
		}
	}
	return len(after.Data) < len(before.Data), err
}

func (x hostIndex) apply(ctx context.Context, site *v1.Website, data map[string]string) (*corev1.ConfigMap, error) {
	return x.maps.Apply(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: IndexName}, Data: data},
		client.ApplyOptions{FieldManager: Name + "-" + string(site.UID)})
}
