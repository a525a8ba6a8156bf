package informers

import (
	"context"
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// Reader returns the lister as a client.Reader, so that the same code reads from a cache or from the server.
// The context is not used, because nothing is requested. Options that need the server are refused with an
// error: a resourceVersion, a field selector, pages.
func (l Lister[T]) Reader() client.Reader[T] { return reader[T]{l} }

type reader[T metav1.Object] struct{ lister Lister[T] }

// Get implements client.Reader.
func (r reader[T]) Get(_ context.Context, key types.NamespacedName, opts ...client.GetOptions) (T, error) {
	for _, o := range opts {
		if o.ResourceVersion != "" {
			var zero T
			return zero, errors.New("informers: a cache cannot be read at a resourceVersion: use Lister.AtLeast first")
		}
	}
	return r.lister.Get(key)
}

// List implements client.Reader. As with a client, the list is returned beside a *client.PartialError.
func (r reader[T]) List(_ context.Context, o client.ListOptions) (*metav1.List[T], error) {
	switch {
	case o.ResourceVersion != "" || o.ResourceVersionMatch != "":
		return nil, errors.New("informers: a cache cannot be read at a resourceVersion: use Lister.AtLeast first")
	case !o.FieldSelector.Empty():
		return nil, errors.New("informers: a cache does not select by fields: use an index")
	case o.Limit != 0 || o.Continue != "":
		return nil, errors.New("informers: a cache has no pages: leave Limit and Continue empty")
	}
	items, err := r.lister.List(ListOptions{Namespace: o.Namespace, LabelSelector: o.LabelSelector})
	if err != nil {
		if _, partial := errors.AsType[*client.PartialError](err); !partial {
			return nil, err
		}
	}
	return &metav1.List[T]{ListMeta: metav1.ListMeta{ResourceVersion: r.lister.Version()}, Items: items}, err
}
