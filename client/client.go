package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/internal/scan"
)

// Client reads and writes the objects of one resource as T. It holds no state but what it learned
// about the server's media types; make as many as you like.
type Client[T metav1.Object] struct {
	conn Conn
	res  Resource
	typ  reflect.Type // the struct
	tm   int          // index of the TypeMeta field, or -1
	subs []scheme.Subresource
	err  error
	// proto is whether to offer and send protobuf; cleared when the server refuses it.
	proto atomic.Bool
}

// Resource says how objects of a client are addressed.
type Resource struct {
	// GVR and GVK name the resource and the kind of its objects.
	GVR schema.GroupVersionResource
	GVK schema.GroupVersionKind
	// Namespaced is true when objects live in a namespace.
	Namespaced bool
	// Metadata asks the server for metadata only; T must be *metav1.PartialObjectMetadata.
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
	t := reflect.TypeFor[T]()
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

// Protobuf reports whether the client offers and sends protobuf.
func (c *Client[T]) Protobuf() bool { return c.proto.Load() }

// Get reads one object.
func (c *Client[T]) Get(ctx context.Context, key types.NamespacedName, opts ...GetOptions) (T, error) {
	r := c.request("GET", key, "")
	if v := first(opts).ResourceVersion; v != "" {
		r.Query = map[string][]string{"resourceVersion": {v}}
	}
	return c.object(ctx, r)
}

// Create stores a new object and returns it as stored. With an empty name generateName must be set.
func (c *Client[T]) Create(ctx context.Context, obj T, opts ...CreateOptions) (T, error) {
	r := c.request("POST", types.NamespacedName{Namespace: obj.GetNamespace()}, "")
	r.Query = first(opts).query()
	return c.write(ctx, r, obj)
}

// Update replaces an object. A resourceVersion in obj makes it fail with a conflict if the object has
// changed since; without one it overwrites, where the resource allows that.
func (c *Client[T]) Update(ctx context.Context, obj T, opts ...UpdateOptions) (T, error) {
	r := c.request("PUT", metav1.KeyOf(obj), "")
	r.Query = CreateOptions(first(opts)).query()
	return c.write(ctx, r, obj)
}

// UpdateStatus replaces an object's status; everything else in obj but metadata is ignored by the server.
func (c *Client[T]) UpdateStatus(ctx context.Context, obj T, opts ...UpdateOptions) (T, error) {
	r := c.request("PUT", metav1.KeyOf(obj), "status")
	r.Query = CreateOptions(first(opts)).query()
	return c.write(ctx, r, obj)
}

// Patch changes an object.
func (c *Client[T]) Patch(ctx context.Context, key types.NamespacedName, p Patch, opts ...PatchOptions) (T, error) {
	o := first(opts)
	r := c.request("PATCH", key, o.Subresource)
	r.Query, r.Body, r.ContentType = o.query(), p.Data, string(p.Type)
	return c.object(ctx, r)
}

// Apply makes the fields set in obj the applier's own (server-side apply), creating the object if
// need be. Exactly the fields set are sent: those whose Go value is not zero, and those named in
// ApplyOptions.Explicit. A pointer, map or slice that is set but empty counts as set.
func (c *Client[T]) Apply(ctx context.Context, obj T, o ApplyOptions) (T, error) {
	var zero T
	if c.err != nil {
		return zero, c.err
	}
	if o.FieldManager == "" {
		return zero, errors.New("client: ApplyOptions.FieldManager is empty")
	}
	body, err := ApplyBody(obj, c.res.GVK, o.Explicit...)
	if err != nil {
		return zero, err
	}
	po := PatchOptions{Subresource: o.Subresource, FieldManager: o.FieldManager, DryRun: o.DryRun, FieldValidation: o.FieldValidation}
	if o.Force {
		po.Force = &o.Force
	}
	return c.Patch(ctx, metav1.KeyOf(obj), Patch{Type: types.ApplyYAMLPatchType, Data: body}, po)
}

// Delete asks for an object to be removed. It returns when the server has accepted that; finalizers and
// graceful deletion may keep the object for longer.
func (c *Client[T]) Delete(ctx context.Context, key types.NamespacedName, opts ...DeleteOptions) error {
	if c.err == nil && key.Name == "" {
		return errors.New("client: Delete needs a name; see DeleteCollection")
	}
	r := c.request("DELETE", key, "")
	return c.remove(ctx, r, first(opts))
}

// DeleteCollection asks for every object selected to be removed.
func (c *Client[T]) DeleteCollection(ctx context.Context, o ListOptions, opts ...DeleteOptions) error {
	r := c.request("DELETE", types.NamespacedName{Namespace: o.Namespace}, "")
	r.Query = o.query()
	return c.remove(ctx, r, first(opts))
}

func (c *Client[T]) remove(ctx context.Context, r *Request, o DeleteOptions) error {
	if c.err != nil {
		return c.err
	}
	if !o.empty() {
		body, err := codec.Marshal(o.wire())
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

// accept is the Accept header for objects, lists and watches.
func (c *Client[T]) accept() string {
	if c.res.Metadata {
		const as = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		return MediaProtobuf + as + "," + MediaJSON + as + "," + MediaJSON
	}
	if c.proto.Load() {
		return MediaProtobuf + "," + MediaJSON
	}
	return MediaJSON
}

// object sends r and decodes the object it answers with.
func (c *Client[T]) object(ctx context.Context, r *Request) (T, error) {
	var zero T
	if c.err != nil {
		return zero, c.err
	}
	if r.Method != "POST" && r.Name == "" {
		return zero, fmt.Errorf("client: %s of %s needs a name", r.Verb(), c.res.GVR.GroupResource())
	}
	resp, err := c.do(ctx, r)
	if err != nil {
		return zero, err
	}
	return c.decodeReply(resp, r)
}

// write sends obj and decodes the answer. The body is protobuf where the type has such a form.
func (c *Client[T]) write(ctx context.Context, r *Request, obj T) (T, error) {
	var zero T
	if c.err != nil {
		return zero, c.err
	}
	if c.res.Metadata {
		// The server would take everything else for removed.
		return zero, errors.New("client: a metadata client cannot create or update; use Patch")
	}
	if c.proto.Load() {
		raw, err := codec.MarshalProto(obj)
		if err != nil {
			return zero, fmt.Errorf("client: encode %s: %w", c.res.GVK.Kind, err)
		}
		r.Body, r.ContentType = scan.AppendEnvelope(nil, c.res.GVK.APIVersion(), c.res.GVK.Kind, raw), MediaProtobuf
		got, err := c.object(ctx, r)
		if !refusesProto(err) {
			return got, err
		}
		c.proto.Store(false)
	}
	body, err := codec.Marshal(obj)
	if err != nil {
		return zero, fmt.Errorf("client: encode %s: %w", c.res.GVK.Kind, err)
	}
	if body = withTypeMeta(body, c.res.GVK); c.res.GVK.Kind == "" && bytes.Contains(body[:min(len(body), 16)], []byte(`"kind":""`)) {
		return zero, fmt.Errorf("client: the object to write to %s has no kind", c.res.GVR.GroupResource())
	}
	r.Body, r.ContentType = body, MediaJSON
	return c.object(ctx, r)
}

// do sends r with the client's Accept header, and again without protobuf if the server refuses it.
func (c *Client[T]) do(ctx context.Context, r *Request) (*Response, error) {
	r.Accept = c.accept()
	resp, err := c.conn.Do(ctx, r)
	if err != nil && r.ContentType != MediaProtobuf && c.proto.Load() && refusesProto(err) {
		c.proto.Store(false)
		r.Accept = c.accept()
		resp, err = c.conn.Do(ctx, r)
	}
	return resp, err
}

// refusesProto reports whether err is the answer of a server that does not speak protobuf for a resource.
func refusesProto(err error) bool {
	s, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && (s.Status().Code == 406 || s.Status().Code == 415)
}

// withTypeMeta puts apiVersion and kind in front of an encoded object that lacks them.
func withTypeMeta(body []byte, gvk schema.GroupVersionKind) []byte {
	if len(body) < 2 || body[0] != '{' {
		return body
	}
	hasKind, hasVersion := false, false
	_ = scan.Members(body, func(key, _ []byte, _, _ int) bool {
		switch string(key) {
		case "kind":
			hasKind = true
		case "apiVersion":
			hasVersion = true
		}
		return !hasKind || !hasVersion
	})
	if hasKind && hasVersion {
		return body
	}
	var head strings.Builder
	head.WriteByte('{')
	member := func(k, v string) {
		if head.Len() > 1 {
			head.WriteByte(',')
		}
		q, _ := json.Marshal(v)
		head.WriteString(`"` + k + `":`)
		head.Write(q)
	}
	if !hasKind {
		member("kind", gvk.Kind)
	}
	if !hasVersion {
		member("apiVersion", gvk.APIVersion())
	}
	if body[1] != '}' {
		head.WriteByte(',')
	}
	return append([]byte(head.String()), body[1:]...)
}

// decodeReply decodes the object in a reply. A Status of success, as some subresources answer with,
// gives a zero T.
func (c *Client[T]) decodeReply(resp *Response, r *Request) (T, error) {
	var zero T
	fail := func(err error) (T, error) {
		return zero, &DecodeError{Resource: c.res.GVR, Key: types.NamespacedName{Namespace: r.Namespace, Name: r.Name}, Err: err}
	}
	form, err := formOf(resp.ContentType)
	if err != nil {
		return fail(err)
	}
	e := Encoded{Form: form, Body: resp.Body}
	if form == Protobuf {
		if e.apiVersion, e.kind, e.Body, err = scan.Envelope(resp.Body); err != nil {
			return fail(err)
		}
	} else {
		_ = scan.Members(resp.Body, func(key, value []byte, _, _ int) bool {
			switch string(key) {
			case "kind":
				e.kind = scan.Text(value)
			case "apiVersion":
				e.apiVersion = scan.Text(value)
			}
			return e.kind == "" || e.apiVersion == ""
		})
	}
	if e.kind == "Status" && e.apiVersion == "v1" {
		return zero, nil
	}
	obj, err := c.Decode(e)
	if err != nil {
		return fail(err)
	}
	return obj, nil
}

// Decode decodes an object that came for this client's resource. The result belongs to the caller.
func (c *Client[T]) Decode(e Encoded) (T, error) {
	var zero T
	if c.err != nil {
		return zero, c.err
	}
	v := reflect.New(c.typ)
	obj := v.Interface().(T)
	var err error
	if e.Form == Protobuf {
		err = codec.UnmarshalProto(e.Body, obj)
	} else {
		err = codec.Unmarshal(e.Body, obj)
	}
	if err != nil {
		return zero, &DecodeError{Resource: c.res.GVR, Key: e.Key, Err: err}
	}
	c.setKind(v.Elem())
	return obj, nil
}

// setKind fills apiVersion and kind where they are empty: list items and protobuf bodies come without.
func (c *Client[T]) setKind(v reflect.Value) {
	if c.tm < 0 {
		return
	}
	tm := v.Field(c.tm)
	kind, version := tm.FieldByName("Kind"), tm.FieldByName("APIVersion")
	if kind.String() != "" {
		return
	}
	gvk := c.res.GVK
	if gvk.Kind == "" && !c.res.Metadata {
		return
	}
	if c.res.Metadata {
		gvk = schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"}
	}
	kind.SetString(gvk.Kind)
	version.SetString(gvk.APIVersion())
}
