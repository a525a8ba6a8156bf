package informers

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// MutationError reports that a shared object was modified. The modified form is dropped and the object
// decoded again.
type MutationError struct {
	// Resource and Key name the object.
	Resource string
	Key      types.NamespacedName
	// Before and After are the object as JSON.
	Before, After string
}

// Error names the object and shows both states.
func (e *MutationError) Error() string {
	return fmt.Sprintf("informers: shared object %s %s was modified: before %s, after %s", e.Resource, e.Key, e.Before, e.After)
}

// checksum returns the encoding that checkMutation compares with; empty without DetectMutations.
func (c *core[T]) checksum(obj T) string {
	if !c.set.opts.DetectMutations {
		return ""
	}
	b, _ := codec.Marshal(obj)
	return string(b)
}

// checkMutation reports a shared object that differs from when it was decoded.
func (c *core[T]) checkMutation(o *object[T]) {
	if o == nil || !c.set.opts.DetectMutations {
		return
	}
	obj, err, ok := o.cached()
	d := o.decoded.Load()
	if !ok || err != nil || d == nil || d.kept == nil || d.kept.checksum == "" {
		return
	}
	if after := c.checksum(obj); after != d.kept.checksum {
		c.fail(&MutationError{Resource: c.name(), Key: o.key, Before: d.kept.checksum, After: after})
		if o.body != "" {
			o.decoded.Store(nil)
		}
	}
}
