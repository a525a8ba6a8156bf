// Package objects reads and writes objects of any kind by one client, so that a program can apply a list of
// them, such as the manifests it has read, without a typed client for each kind.
//
//	c := objects.New(conn, objects.Options{Namespace: "shop"})
//	objs, err := manifest.ReadFS(os.DirFS("config"))
//	_, err = c.ApplyAll(ctx, objects.List(objs), client.ApplyOptions{FieldManager: "shop"})
//	err = c.WaitAll(ctx, objects.List(objs), wait.Ready)
//
// An object is of a Go type that is in the scheme of the connection, or carries its kind, as
// metav1.Unstructured does. The resource of a kind comes from the scheme or else from discovery, which is
// read again for a kind that is not in it. What is returned has the Go type of what was given. Objects passed
// in are only read.
package objects

import (
	"context"
	"fmt"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/wait"
)

// Options configure a Client. The zero value is usable.
type Options struct {
	// Namespace is that of objects without one whose kind is namespaced; empty makes them an error.
	Namespace string
	// Discovery maps the kinds that are not in the scheme; nil means a new one.
	Discovery *discovery.Client
}

// Client reads and writes objects of any kind. It may be used by many goroutines at once.
type Client struct {
	conn client.Conn
	opts Options
}

// New returns a client.
func New(conn client.Conn, opts Options) *Client {
	if opts.Discovery == nil {
		opts.Discovery = discovery.New(conn, discovery.Options{})
	}
	return &Client{conn: conn, opts: opts}
}

// Conn returns the connection.
func (c *Client) Conn() client.Conn { return c.conn }

// Namespace returns Options.Namespace.
func (c *Client) Namespace() string { return c.opts.Namespace }

// KindOf returns the kind of an object by the scheme of the connection, or the one it carries.
func (c *Client) KindOf(obj metav1.Object) schema.GroupVersionKind {
	return manifest.KindOf(c.conn.Scheme(), obj)
}

// List returns objects of one Go type as objects of any.
func List[T metav1.Object](objs []T) []metav1.Object {
	out := make([]metav1.Object, len(objs))
	for i, obj := range objs {
		out[i] = obj
	}
	return out
}

// Error reports a failure with one object.
type Error struct {
	// Verb is get, create, apply, patch, delete or wait.
	Verb string
	// Kind of the object.
	Kind schema.GroupVersionKind
	// Object that was given.
	Object metav1.Object
	// Err is the reason.
	Err error
}

// Error names the object and the reason.
func (e *Error) Error() string {
	key := e.Object.GetName()
	if ns := e.Object.GetNamespace(); ns != "" {
		key = ns + "/" + key
	}
	return fmt.Sprintf("objects: %s %s %s: %v", e.Verb, e.Kind.Kind, key, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Resource returns where the objects of a kind are. An empty version means the preferred one of the server.
// The error is a *discovery.NoMatchError if the server does not serve the kind.
func (c *Client) Resource(ctx context.Context, gvk schema.GroupVersionKind) (client.Resource, error) {
	if info := c.conn.Scheme().ForKind(gvk); info != nil {
		return client.Resource{GVR: info.GVR, GVK: info.GVK, Namespaced: info.Namespaced}, nil
	}
	var versions []string
	if gvk.Version != "" {
		versions = []string{gvk.Version}
	}
	r, err := c.opts.Discovery.ForKind(ctx, gvk.GroupKind(), versions...)
	if err != nil {
		return client.Resource{}, err
	}
	return r.Client(), nil
}

// For returns the client of a kind, to list and watch its objects and to use the options of client.Client.
// They have the Go type that is registered for the kind, or are Unstructured.
func (c *Client) For(ctx context.Context, gvk schema.GroupVersionKind) (*client.Client[metav1.Object], error) {
	r, err := c.Resource(ctx, gvk)
	if err != nil {
		return nil, err
	}
	if info := c.conn.Scheme().ForKind(r.GVK); info != nil {
		return client.ForObject(c.conn, r, info.New()), nil
	}
	return client.ForObject(c.conn, r, &metav1.Unstructured{}), nil
}

// Place returns the client for an object, and the object as it is sent: with Options.Namespace if it lacks
// one, and without one if its kind is not namespaced.
func (c *Client) Place(ctx context.Context, obj metav1.Object) (*client.Client[metav1.Object], metav1.Object, error) {
	gvk := c.KindOf(obj)
	if gvk.Kind == "" || gvk.Version == "" {
		return nil, nil, &scheme.UnregisteredError{Type: reflect.TypeOf(obj)}
	}
	r, err := c.Resource(ctx, gvk)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !r.Namespaced && obj.GetNamespace() != "":
		obj = inNamespace(obj, "")
	case r.Namespaced && obj.GetNamespace() == "" && c.opts.Namespace != "":
		obj = inNamespace(obj, c.opts.Namespace)
	}
	_, r.Metadata = obj.(*metav1.PartialObjectMetadata)
	return client.ForObject(c.conn, r, obj), obj, nil
}

// inNamespace returns a copy of an object in another namespace. It shares all but that with the object, which
// is enough for one that is only read.
func inNamespace(obj metav1.Object, namespace string) metav1.Object {
	v := reflect.New(reflect.TypeOf(obj).Elem())
	v.Elem().Set(reflect.ValueOf(obj).Elem())
	out := v.Interface().(metav1.Object)
	out.SetNamespace(namespace)
	return out
}

// do places an object and calls send with it.
func (c *Client) do(ctx context.Context, verb string, obj metav1.Object, send func(*client.Client[metav1.Object], metav1.Object) (metav1.Object, error)) (metav1.Object, error) {
	if v := reflect.ValueOf(obj); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("objects: no object to %s: it is nil", verb)
	}
	api, placed, err := c.Place(ctx, obj)
	if err == nil {
		placed, err = send(api, placed)
	}
	if err != nil {
		return nil, &Error{Verb: verb, Kind: c.KindOf(obj), Object: obj, Err: err}
	}
	return placed, nil
}

// Get reads the object that has obj's kind and key.
func (c *Client) Get(ctx context.Context, obj metav1.Object) (metav1.Object, error) {
	return c.do(ctx, "get", obj, func(api *client.Client[metav1.Object], obj metav1.Object) (metav1.Object, error) {
		return api.Get(ctx, metav1.KeyOf(obj))
	})
}

// Create creates an object and returns it as stored.
func (c *Client) Create(ctx context.Context, obj metav1.Object, opts ...client.CreateOptions) (metav1.Object, error) {
	return c.do(ctx, "create", obj, func(api *client.Client[metav1.Object], obj metav1.Object) (metav1.Object, error) {
		return api.Create(ctx, obj, opts...)
	})
}

// Apply is server-side apply; see client.Client.Apply. Of an Unstructured everything is sent that it holds.
func (c *Client) Apply(ctx context.Context, obj metav1.Object, opts client.ApplyOptions) (metav1.Object, error) {
	return c.do(ctx, "apply", obj, func(api *client.Client[metav1.Object], obj metav1.Object) (metav1.Object, error) {
		return api.Apply(ctx, obj, opts)
	})
}

// Patch patches the object that has obj's kind and key; see client.PatchBetween for patches.
func (c *Client) Patch(ctx context.Context, obj metav1.Object, p client.Patch, opts ...client.PatchOptions) (metav1.Object, error) {
	return c.do(ctx, "patch", obj, func(api *client.Client[metav1.Object], obj metav1.Object) (metav1.Object, error) {
		return api.Patch(ctx, metav1.KeyOf(obj), p, opts...)
	})
}

// Delete deletes the object that has obj's kind and key. It returns when the server has accepted the
// deletion; wait with wait.Deleted for its end.
func (c *Client) Delete(ctx context.Context, obj metav1.Object, opts ...client.DeleteOptions) error {
	_, err := c.do(ctx, "delete", obj, func(api *client.Client[metav1.Object], obj metav1.Object) (metav1.Object, error) {
		return nil, api.Delete(ctx, metav1.KeyOf(obj), opts...)
	})
	return err
}

// Wait waits until the object that has obj's kind and key is as check demands, and returns that state; nil if
// it does not exist.
func (c *Client) Wait(ctx context.Context, obj metav1.Object, check wait.Check) (metav1.Object, error) {
	return c.do(ctx, "wait for", obj, func(api *client.Client[metav1.Object], obj metav1.Object) (metav1.Object, error) {
		return wait.For(ctx, api, metav1.KeyOf(obj), check)
	})
}
