package client

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Client reads and writes the objects of one resource as T. Its only state is whether the server accepts
// protobuf, so a program may create any number of them.
type Client[T metav1.Object] struct {
	conn Conn
	res  Resource
	typ  reflect.Type // the struct
	tm   int          // index of the TypeMeta field, or -1
	subs []scheme.Subresource
	err  error
	// proto is whether to accept and send protobuf; cleared when the server refuses it.
	proto atomic.Bool
}

// Resource describes how objects of a client are addressed.
type Resource struct {
	// GVR and GVK name the resource and the kind of its objects.
	GVR schema.GroupVersionResource
	GVK schema.GroupVersionKind
	// Namespaced is true when objects live in a namespace.
	Namespaced bool
	// Metadata requests metadata only; T must be *metav1.PartialObjectMetadata.
	Metadata bool
}

// For returns the client for T as registered in the connection's scheme. If T is not registered every
// method returns an *scheme.UnregisteredError.
func For[T metav1.Object](c Conn) *Client[T] {
	info, err := scheme.InfoFor[T](c.Scheme())
	if err != nil {
		return &Client[T]{conn: c, err: err, tm: -1}
	}
	cl := ForResource[T](c, Resource{GVR: info.GVR, GVK: info.GVK, Namespaced: info.Namespaced})
	cl.subs = info.Subresources
	return cl
}

// ForResource returns a client for a resource that need not be in the scheme, as the dynamic and
// metadata clients do. T is a pointer to a struct with ObjectMeta.
func ForResource[T metav1.Object](c Conn, r Resource) *Client[T] {
	return forType[T](c, r, reflect.TypeFor[T]())
}

// ForObject returns a client for a resource whose objects have the Go type of example, a pointer to a struct
// with ObjectMeta, so that one program handles objects of several types. Nothing but the type of example is
// used, and writes of objects of other types are refused. Package client/objects finds the resource of an
// object and chooses its type.
func ForObject(c Conn, r Resource, example metav1.Object) *Client[metav1.Object] {
	if example == nil {
		return &Client[metav1.Object]{conn: c, err: errors.New("client: ForObject needs an example of the objects: it is nil"), tm: -1}
	}
	return forType[metav1.Object](c, r, reflect.TypeOf(example))
}

func forType[T metav1.Object](c Conn, r Resource, t reflect.Type) *Client[T] {
	if err := metav1.CheckMeta(t); err != nil {
		return &Client[T]{conn: c, err: err, tm: -1}
	}
	cl := &Client[T]{conn: c, res: r, typ: t.Elem(), tm: -1}
	if f, ok := cl.typ.FieldByName("TypeMeta"); ok && len(f.Index) == 1 && f.Type.Kind() == reflect.Struct {
		if k, ok := f.Type.FieldByName("Kind"); ok && k.Type.Kind() == reflect.String {
			cl.tm = f.Index[0]
		}
	}
	cl.proto.Store(hasProto(t))
	return cl
}

// Resource returns what the client addresses; zero if T is not registered.
func (c *Client[T]) Resource() Resource { return c.res }

// Conn returns the connection.
func (c *Client[T]) Conn() Conn { return c.conn }

// Err is the error every method will return, or nil.
func (c *Client[T]) Err() error { return c.err }

// Protobuf reports whether the client accepts and sends protobuf.
func (c *Client[T]) Protobuf() bool { return c.proto.Load() }

// Get reads one object.
func (c *Client[T]) Get(ctx context.Context, key types.NamespacedName, opts ...GetOptions) (T, error) {
	r := c.request("GET", key, "")
	if v := atMostOne(opts).ResourceVersion; v != "" {
		r.Query = map[string][]string{"resourceVersion": {v}}
	}
	return c.object(ctx, r)
}

// Create creates an object and returns it as stored. With an empty name generateName must be set.
func (c *Client[T]) Create(ctx context.Context, obj T, opts ...CreateOptions) (T, error) {
	if err := c.checkObject(obj); err != nil {
		var zero T
		return zero, err
	}
	r := c.request("POST", types.NamespacedName{Namespace: obj.GetNamespace()}, "")
	r.Query = atMostOne(opts).query()
	return c.write(ctx, r, obj)
}

// Update replaces an object. A resourceVersion in obj makes it fail with a conflict if the object has
// changed since; without one it overwrites, where the resource allows that.
func (c *Client[T]) Update(ctx context.Context, obj T, opts ...UpdateOptions) (T, error) {
	if err := c.checkObject(obj); err != nil {
		var zero T
		return zero, err
	}
	r := c.request("PUT", metav1.KeyOf(obj), "")
	r.Query = CreateOptions(atMostOne(opts)).query()
	return c.write(ctx, r, obj)
}

// UpdateStatus replaces an object's status; everything else in obj but metadata is ignored by the server.
func (c *Client[T]) UpdateStatus(ctx context.Context, obj T, opts ...UpdateOptions) (T, error) {
	if err := c.checkObject(obj); err != nil {
		var zero T
		return zero, err
	}
	r := c.request("PUT", metav1.KeyOf(obj), "status")
	r.Query = CreateOptions(atMostOne(opts)).query()
	return c.write(ctx, r, obj)
}

// Patch applies a patch to an object and returns it as stored.
func (c *Client[T]) Patch(ctx context.Context, key types.NamespacedName, p Patch, opts ...PatchOptions) (T, error) {
	po := atMostOne(opts)
	if p.Type == "" {
		var zero T
		return zero, errors.New("client: Patch.Type is empty, want types.MergePatchType or another of its type")
	}
	r := c.request("PATCH", key, po.Subresource)
	r.Query, r.Body, r.ContentType = po.query(), p.Data, string(p.Type)
	return c.object(ctx, r)
}

// Apply is server-side apply: it sets the fields that are set in obj, makes opts.FieldManager their owner,
// and creates the object if it does not exist. The fields sent are those whose Go value is not zero, and
// those named in ApplyOptions.Explicit. A pointer, map or slice that is not nil but empty counts as set.
func (c *Client[T]) Apply(ctx context.Context, obj T, opts ApplyOptions) (T, error) {
	var zero T
	if err := c.checkObject(obj); err != nil {
		return zero, err
	}
	if opts.FieldManager == "" && fieldManagerOf(c.conn) == "" {
		return zero, errors.New("client: ApplyOptions.FieldManager is empty, and the connection has none from WithFieldManager")
	}
	body, err := ApplyBody(obj, c.res.GVK, opts.Explicit...)
	if err != nil {
		return zero, err
	}
	return c.Patch(ctx, metav1.KeyOf(obj), Patch{Type: types.ApplyYAMLPatchType, Data: body}, opts.patch(opts.Subresource))
}

// Delete deletes an object. It returns when the server has accepted the deletion; finalizers and
// graceful deletion may keep the object for longer.
func (c *Client[T]) Delete(ctx context.Context, key types.NamespacedName, opts ...DeleteOptions) error {
	if c.err == nil && key.Name == "" {
		return errors.New("client: Delete needs a name; see DeleteCollection")
	}
	r := c.request("DELETE", key, "")
	return c.remove(ctx, r, atMostOne(opts))
}

// DeleteCollection deletes every selected object, as Delete does.
func (c *Client[T]) DeleteCollection(ctx context.Context, selected ListOptions, opts DeleteOptions) error {
	r := c.request("DELETE", types.NamespacedName{Namespace: selected.Namespace}, "")
	r.Query = selected.query()
	return c.remove(ctx, r, opts)
}

func (c *Client[T]) remove(ctx context.Context, r *Request, opts DeleteOptions) error {
	if c.err != nil {
		return c.err
	}
	if !opts.empty() {
		body, err := codec.Marshal(opts.wire())
		if err != nil {
			return err
		}
		r.Body, r.ContentType = body, MediaJSON
	}
	_, err := c.do(ctx, r)
	return err
}

func (c *Client[T]) request(method string, key types.NamespacedName, sub string) *Request {
	return &Request{Method: method, Resource: c.res.GVR, Namespace: key.Namespace, Name: key.Name, Subresource: sub}
}
