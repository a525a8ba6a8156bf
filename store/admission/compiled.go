package admission

import (
	"context"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// compiled caches values compiled from the objects of a resource, such as webhooks from their configurations.
// Only changed objects are compiled again.
type compiled[T any] struct {
	access Access
	gvr    schema.GroupVersionResource
	// compile returns the T of one object, which must not be changed.
	compile func(obj metav1.Object) T
	state   atomic.Pointer[compiledState[T]]
}

type compiledState[T any] struct {
	state any
	list  []T
	known map[compiledKey]T
}

type compiledKey struct {
	uid     types.UID
	version string
}

// load returns the compiled objects, ordered by name. Every write of this server is included.
func (c *compiled[T]) load(ctx context.Context) ([]T, error) {
	contents, err := c.access.Contents(ctx, c.gvr)
	if err != nil {
		return nil, err
	}
	before := c.state.Load()
	if before != nil && before.state == contents.State {
		return before.list, nil
	}
	next := &compiledState[T]{state: contents.State, known: map[compiledKey]T{}}
	for _, obj := range contents.Objects() {
		m := metav1.MetaOf(obj)
		key := compiledKey{m.UID, m.ResourceVersion}
		var made T
		known := false
		if before != nil {
			made, known = before.known[key]
		}
		if !known {
			made = c.compile(obj)
		}
		next.known[key] = made
		next.list = append(next.list, made)
	}
	c.state.Store(next)
	return next.list, nil
}
