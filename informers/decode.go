package informers

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// admit turns what came off the wire into what is kept. whole keeps the body even over the memory budget, for
// what is passed on and not kept; pending are the bytes admitted that do not count in the set yet.
func (c *core[T]) admit(e client.Encoded, whole bool, pending int64) (*object[T], error) {
	if c.o.Transform != nil {
		t, err := c.transform(e)
		if err != nil {
			return nil, err
		}
		e = t
	}
	if c.keepsDecoded() {
		obj, err := c.client.Decode(e)
		if err != nil {
			return nil, err
		}
		return c.decodedObject(obj), nil
	}
	if most := c.set.o.MemoryBudget; most > 0 && !whole && c.set.bytes.Load()+pending+int64(len(e.Body)) > most {
		return bare[T](e), nil
	}
	return newObject[T](e), nil
}

// decodedObject keeps obj itself and none of the bytes it came in.
func (c *core[T]) decodedObject(obj T) *object[T] {
	m := metav1.MetaOf(obj)
	o := &object[T]{
		key: m.Key(), uid: m.UID, version: m.ResourceVersion, generation: m.Generation,
		deleting: m.DeletionTimestamp != nil, finalizers: uint16(min(len(m.Finalizers), 1<<16-1)),
	}
	for k, v := range m.Labels {
		o.labels = append(o.labels, client.Label{Key: k, Value: v})
	}
	o.share(obj, true, c.sum(obj))
	return o
}

func (c *core[T]) keepsDecoded() bool { return c.o.Decoded || c.set.o.Decoded }

func (c *core[T]) transform(e client.Encoded) (out client.Encoded, err error) {
	obj, err := c.client.Decode(e)
	if err != nil {
		return out, err
	}
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Where: "transform of " + c.name(), Value: v, Stack: debug.Stack()}
		}
	}()
	if err := c.o.Transform(obj); err != nil {
		return out, fmt.Errorf("informers: transform %s %s: %w", c.name(), e.Key, err)
	}
	if out, err = client.EncodeObject(obj, e.Form, false); err != nil {
		return out, err
	}
	if out.Key != e.Key || out.UID != e.UID || out.ResourceVersion != e.ResourceVersion {
		return out, fmt.Errorf("informers: transform %s %s: a transform must keep name, namespace, uid and resourceVersion", c.name(), e.Key)
	}
	return out, nil
}

// decode returns a private copy of an object.
func (c *core[T]) decode(o *object[T]) (T, error) {
	if obj, ok := o.hot(); ok {
		return codec.DeepCopy(obj), nil
	}
	if o.body == "" {
		return c.live(o)
	}
	return c.client.Decode(o.encoded())
}

// shared returns the decoded form that is shared, and zero after reporting an object that cannot be decoded.
func (c *core[T]) shared(o *object[T]) T {
	obj, err := c.sharedOrError(o)
	if err != nil {
		c.fail(err)
	}
	return obj
}

func (c *core[T]) sharedOrError(o *object[T]) (T, error) {
	if obj, ok := o.hot(); ok {
		return obj, nil
	}
	var obj T
	var err error
	if o.body == "" {
		obj, err = c.live(o)
	} else {
		obj, err = c.client.Decode(o.encoded())
	}
	if err != nil {
		var zero T
		return zero, err
	}
	o.share(obj, false, c.sum(obj))
	return obj, nil
}

// controller returns the controlling owner of an object, from its bytes if there are any.
func (c *core[T]) controller(o *object[T]) (metav1.OwnerReference, bool) {
	if o.body != "" {
		e := o.encoded()
		return e.Controller()
	}
	obj, err := c.sharedOrError(o)
	if err != nil {
		c.fail(err)
		return metav1.OwnerReference{}, false
	}
	if ref := metav1.ControllerOf(obj); ref != nil {
		return *ref, true
	}
	return metav1.OwnerReference{}, false
}

// ErrNotKept says that an object's past state was not kept, because of SetOptions.MemoryBudget.
var ErrNotKept = errors.New("informers: the memory budget did not allow to keep this state")

// live reads an object whose bytes were not kept from the server. It may have changed since, but must be the same one.
func (c *core[T]) live(o *object[T]) (T, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	obj, err := c.client.Get(ctx, o.key)
	if err == nil && metav1.MetaOf(obj).UID != o.uid {
		var zero T
		return zero, fmt.Errorf("%w: %s %s was deleted", ErrNotKept, c.name(), o.key)
	}
	return obj, err
}
