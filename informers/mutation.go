package informers

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// MutationError says that somebody changed an object that is shared. The cache drops it and decodes it anew.
type MutationError struct {
	// Resource and Key name the object.
	Resource string
	Key      types.NamespacedName
	// Before and After are its JSON.
	Before, After string
}

// Error names the object and shows both states.
func (e *MutationError) Error() string {
	return fmt.Sprintf("informers: a shared %s %s was changed: it was %s and is %s", e.Resource, e.Key, e.Before, e.After)
}

// sum is what checkMutation compares with; empty if mutations are not looked for.
func (c *core[T]) sum(obj T) string {
	if !c.set.o.DetectMutations {
		return ""
	}
	b, _ := codec.Marshal(obj)
	return string(b)
}

// checkMutation reports a shared object that is not what it was when it was decoded.
func (c *core[T]) checkMutation(o *object[T]) {
	if o == nil || !c.set.o.DetectMutations {
		return
	}
	obj, err, ok := o.hot()
	d := o.decoded.Load()
	if !ok || err != nil || d == nil || d.sum == "" {
		return
	}
	if after := c.sum(obj); after != d.sum {
		c.fail(&MutationError{Resource: c.name(), Key: o.key, Before: d.sum, After: after})
		if o.body != "" {
			o.decoded.Store(nil)
		}
	}
}
