package client

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Reader reads objects: from the server, as a [Client], or from a cache, as informers.Lister.Reader.
type Reader[T metav1.Object] interface {
	// Get returns one object, or a NotFound *apierrors.StatusError.
	Get(ctx context.Context, key types.NamespacedName, opts ...GetOptions) (T, error)
	// List returns the selected objects.
	List(ctx context.Context, opts ListOptions) (*metav1.List[T], error)
}

// Writer writes objects, as a [Client] does.
type Writer[T metav1.Object] interface {
	Create(ctx context.Context, obj T, opts ...CreateOptions) (T, error)
	Update(ctx context.Context, obj T, opts ...UpdateOptions) (T, error)
	UpdateStatus(ctx context.Context, obj T, opts ...UpdateOptions) (T, error)
	Patch(ctx context.Context, key types.NamespacedName, p Patch, opts ...PatchOptions) (T, error)
	Apply(ctx context.Context, obj T, opts ApplyOptions) (T, error)
	Delete(ctx context.Context, key types.NamespacedName, opts ...DeleteOptions) error
	DeleteCollection(ctx context.Context, selected ListOptions, opts DeleteOptions) error
}

var (
	_ Reader[*metav1.Unstructured] = (*Client[*metav1.Unstructured])(nil)
	_ Writer[*metav1.Unstructured] = (*Client[*metav1.Unstructured])(nil)
)
