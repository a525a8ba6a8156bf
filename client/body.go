package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/internal/scan"
)

// accept returns the Accept header for the reply to a verb.
func (c *Client[T]) accept(verb string) string {
	if c.res.Metadata {
		as := ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		if verb == "list" || verb == "deletecollection" {
			as = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" // for a list the other form is 406
		}
		return MediaProtobuf + as + "," + MediaJSON + as + "," + MediaJSON
	}
	if c.proto.Load() {
		return MediaProtobuf + "," + MediaJSON
	}
	return MediaJSON
}

// object sends r and decodes the object in the reply.
func (c *Client[T]) object(ctx context.Context, r *Request) (T, error) {
	var zero T
	if c.err != nil {
		return zero, c.err
	}
	if r.Method != "POST" && r.Name == "" {
		verb := r.Verb()
		if r.Method == "GET" {
			verb = "get" // without a name the request would be a list
		}
		return zero, fmt.Errorf("client: %s of %s needs a name", verb, c.res.GVR.GroupResource())
	}
	resp, err := c.do(ctx, r)
	if err != nil {
		return zero, err
	}
	return c.decodeReply(resp, r)
}

// write sends obj and decodes the reply. The body is protobuf if the type has a protobuf form.
func (c *Client[T]) write(ctx context.Context, r *Request, obj T) (T, error) {
	var zero T
	if c.err != nil {
		return zero, c.err
	}
	if c.res.Metadata {
		// The server would remove everything else.
		return zero, errors.New("client: a metadata client cannot create or update; use Patch")
	}
	if c.proto.Load() {
		body, err := codec.MarshalEnvelope(c.res.GVK.APIVersion(), c.res.GVK.Kind, obj)
		if err != nil {
			return zero, fmt.Errorf("client: encode %s: %w", c.res.GVK.Kind, err)
		}
		r.Body, r.ContentType = body, MediaProtobuf
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

// checkObject refuses a nil object, and one that is not of the client's type.
func (c *Client[T]) checkObject(obj T) error {
	if c.err != nil {
		return c.err
	}
	switch v := reflect.ValueOf(obj); {
	case !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil():
		return fmt.Errorf("client: no object to write to %s: it is nil", c.res.GVR.GroupResource())
	case v.Type().Elem() != c.typ:
		return fmt.Errorf("client: the client of %s is for *%v, not for %T", c.res.GVR.GroupResource(), c.typ, obj)
	}
	return nil
}

// check refuses requests whose path would address something else, or for which the reply would be an
// unexplained 404: a namespaced object without a namespace, and names that cannot be an element of a path.
func (c *Client[T]) check(r *Request) error {
	switch {
	case !isSegment(r.Namespace):
		return fmt.Errorf("client: %s of %s: %q cannot be a namespace", r.Verb(), c.res.GVR.GroupResource(), r.Namespace)
	case !isSegment(r.Name):
		return fmt.Errorf("client: %s of %s: %q cannot be a name", r.Verb(), c.res.GVR.GroupResource(), r.Name)
	case c.res.Namespaced && r.Namespace == "" && (r.Name != "" || r.Method == "POST"):
		return fmt.Errorf("client: %s of %s %s needs a namespace", r.Verb(), c.res.GVR.GroupResource(), r.Name)
	}
	return nil
}

// isSegment reports whether s can be one element of a path.
func isSegment(s string) bool { return s != "." && s != ".." && !strings.ContainsAny(s, "/%") }

// checkReply checks that a reply is of the requested kind: a program in front of the server, or another
// server, may send anything. fits reports whether the kind is want. A Status of failure is returned as an
// error, whatever the code of the reply.
func (c *Client[T]) checkReply(resp *Response, e Encoded, fits bool, want string) error {
	err := fmt.Errorf("the server answered with a %s, not with %s", e.kind, want)
	switch {
	case resp.Code >= 300:
		err = fmt.Errorf("the server redirects (%d) to %q", resp.Code, resp.Header["Location"])
	case e.kind == "" || fits:
		return nil
	case e.kind == "Status" && e.apiVersion == "v1":
		var s metav1.Status
		decode := codec.Unmarshal
		if e.Form == Protobuf {
			decode = codec.UnmarshalProto
		}
		if decode(e.Body, &s) == nil && s.Status == metav1.StatusFailure {
			return apierrors.FromStatus(&s)
		}
	}
	return &DecodeError{Resource: c.res.GVR, Key: e.Key, Err: err}
}

// do sends r with the client's Accept header, and again without protobuf if the server refuses it.
func (c *Client[T]) do(ctx context.Context, r *Request) (*Response, error) {
	if err := c.check(r); err != nil {
		return nil, err
	}
	r.Accept = c.accept(r.Verb())
	resp, err := c.conn.Do(ctx, r)
	if err != nil && r.ContentType != MediaProtobuf && c.proto.Load() && refusesProto(err) {
		c.proto.Store(false)
		r.Accept = c.accept(r.Verb())
		resp, err = c.conn.Do(ctx, r)
	}
	return resp, err
}

// refusesProto reports whether err is the reply of a server that does not support protobuf for a resource.
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

// decodeReply decodes the object in a reply. A Status of success, the reply of some subresources, gives a
// zero T.
func (c *Client[T]) decodeReply(resp *Response, r *Request) (T, error) {
	var zero T
	fail := func(err error) (T, error) {
		return zero, &DecodeError{Resource: c.res.GVR, Key: types.NamespacedName{Namespace: r.Namespace, Name: r.Name}, Err: err}
	}
	form, err := formOf(resp.ContentType)
	if err != nil && resp.Code < 300 {
		return fail(err)
	}
	e := Encoded{Form: form, Body: resp.Body, Key: types.NamespacedName{Namespace: r.Namespace, Name: r.Name}}
	if form == Protobuf {
		if e.apiVersion, e.kind, e.Body, err = codec.DecodeEnvelope(resp.Body); err != nil {
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
	if r.Subresource == "" {
		want := c.res.GVK.Kind
		if err := c.checkReply(resp, e, e.kind != "Status" && (want == "" || want == e.kind || c.res.Metadata), "a "+cmp.Or(want, "object of "+c.res.GVR.Resource)); err != nil {
			return zero, err
		}
	} else if e.kind == "Status" && e.apiVersion == "v1" {
		return zero, nil
	}
	obj, bad := c.decode(e)
	if bad != nil {
		return fail(bad.Err)
	}
	return obj, nil
}

// Decode decodes an object of this client's resource. The result belongs to the caller.
func (c *Client[T]) Decode(e Encoded) (T, error) {
	var zero T
	if c.err != nil {
		return zero, c.err
	}
	obj, bad := c.decode(e)
	if bad != nil {
		return zero, bad
	}
	return obj, nil
}

func (c *Client[T]) decode(e Encoded) (T, *DecodeError) {
	v := reflect.New(c.typ)
	obj := v.Interface().(T)
	var err error
	if e.Form == Protobuf {
		err = codec.UnmarshalProto(e.Body, obj)
	} else {
		err = codec.Unmarshal(e.Body, obj)
	}
	if err != nil {
		var zero T
		return zero, &DecodeError{Resource: c.res.GVR, Key: e.Key, Err: err}
	}
	c.setKind(v.Elem())
	return obj, nil
}

// setKind sets apiVersion and kind if they are empty, as in list items and protobuf bodies. Metadata gets the
// kind of the object it describes, if that is known, instead of PartialObjectMetadata.
func (c *Client[T]) setKind(v reflect.Value) {
	if c.tm < 0 {
		return
	}
	tm := v.Field(c.tm)
	kind, version := tm.FieldByName("Kind"), tm.FieldByName("APIVersion")
	gvk := c.res.GVK
	switch {
	case gvk.Kind != "" && (c.res.Metadata || kind.String() == ""):
	case kind.String() != "" || !c.res.Metadata:
		return
	default:
		gvk = schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"}
	}
	kind.SetString(gvk.Kind)
	version.SetString(gvk.APIVersion())
}
