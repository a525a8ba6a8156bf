package informers

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// accept turns a received object into the stored form. An object that cannot be transformed or, where objects
// are kept decoded, cannot be decoded is stored with the error, since it exists nevertheless.
func (c *core[T]) accept(e client.Encoded) *object[T] {
	if c.opts.Transform != nil {
		t, err := c.transform(e)
		if err != nil {
			return c.unreadable(e, err)
		}
		e = t
	}
	if c.keepsDecoded() {
		obj, err := c.client.Decode(e)
		if err != nil {
			return c.unreadable(e, err)
		}
		return c.decodedObject(obj)
	}
	return newObject[T](e)
}

// unreadable returns an object of which only the metadata is available, and reports the error.
func (c *core[T]) unreadable(e client.Encoded, err error) *object[T] {
	o := newObject[T](e).failed(c.decodeError(e, err))
	c.failedToDecode(o, err)
	return o
}

// decodeError returns err as a *client.DecodeError that names the object.
func (c *core[T]) decodeError(e client.Encoded, err error) *client.DecodeError {
	if d, ok := errors.AsType[*client.DecodeError](err); ok && d.Key == e.Key {
		return d
	}
	return &client.DecodeError{Resource: c.client.Resource().GVR, Key: e.Key, Err: err}
}

// decodedObject returns an object that holds obj and no encoded form.
func (c *core[T]) decodedObject(obj T) *object[T] {
	m := metav1.MetaOf(obj)
	o := &object[T]{
		key: m.Key(), uid: m.UID, version: m.ResourceVersion, generation: m.Generation,
		terminating: m.DeletionTimestamp != nil, finalizers: uint16(min(len(m.Finalizers), 1<<16-1)),
	}
	var labels []client.Label
	for k, v := range m.Labels {
		labels = append(labels, client.Label{Key: k, Value: v})
	}
	o.setLabels(labels)
	o.cache(obj, true, c.checksum(obj))
	return o
}

func (c *core[T]) keepsDecoded() bool { return c.opts.Decoded || c.set.opts.Decoded }

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
	if err := c.opts.Transform(obj); err != nil {
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

// decode returns a private copy of an object. An error is a *client.DecodeError.
func (c *core[T]) decode(o *object[T]) (T, error) {
	if obj, err, ok := o.cached(); ok {
		if err != nil {
			return obj, err
		}
		return codec.DeepCopy(obj), nil
	}
	return c.client.Decode(o.encoded())
}

// shared returns the decoded form that is shared. An error is a *client.DecodeError, and is kept: decoding
// the same bytes again cannot succeed.
func (c *core[T]) shared(o *object[T]) (T, error) {
	if obj, err, ok := o.cached(); ok {
		return obj, err
	}
	obj, err := c.client.Decode(o.encoded())
	if err != nil {
		o.failed(err)
		var zero T
		return zero, err
	}
	o.cache(obj, false, c.checksum(obj))
	return obj, nil
}

// mustDecode returns the decoded form of a state that has been delivered to a handler, and so has been
// decoded before.
func (c *core[T]) mustDecode(o *object[T]) T {
	obj, err := c.shared(o)
	if err != nil {
		panic("informers: decoding an object again failed: " + err.Error())
	}
	return obj
}

// failedToDecode reports, once for each version of an object, that it cannot be decoded.
func (c *core[T]) failedToDecode(o *object[T], err error) {
	if !o.reported.Swap(true) {
		c.fail(err)
	}
}

// partial collects the objects a read has to omit.
type partial[T metav1.Object] struct {
	core  *core[T]
	items []*client.DecodeError
}

// add adds an object that cannot be decoded.
func (p *partial[T]) add(o *object[T], err error) {
	p.core.failedToDecode(o, err)
	p.items = append(p.items, p.core.decodeError(o.encoded(), err))
}

// err returns a *client.PartialError, or nil if nothing was omitted.
func (p *partial[T]) err() error {
	if len(p.items) == 0 {
		return nil
	}
	return &client.PartialError{Items: slices.Clip(p.items)}
}

// controller returns the controlling owner of an object, from its bytes if there are any.
func (c *core[T]) controller(o *object[T]) (metav1.OwnerReference, bool) {
	if o.body != "" {
		e := o.encoded()
		return e.Controller()
	}
	obj, err := c.shared(o)
	if err != nil {
		return metav1.OwnerReference{}, false
	}
	if ref := metav1.ControllerOf(obj); ref != nil {
		return *ref, true
	}
	return metav1.OwnerReference{}, false
}
