package podobjects

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// get keeps nothing.
type get[T metav1.Object] struct{ client *client.Client[T] }

// NewGet returns a store that keeps nothing: each Get is a request, whether or not a pod refers to
// the object.
func NewGet[T metav1.Object](c *client.Client[T]) Store[T] { return get[T]{c} }

func (get[T]) AddReference(types.NamespacedName, types.UID)    {}
func (get[T]) DeleteReference(types.NamespacedName, types.UID) {}

func (g get[T]) Get(ctx context.Context, key types.NamespacedName) (T, error) {
	return g.client.Get(ctx, key)
}
