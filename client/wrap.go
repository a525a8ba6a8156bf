package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// wrappedConn is the base of wrappers: it forwards every method.
type wrappedConn struct{ Conn }

// Unwrap returns the wrapped connection.
func (w wrappedConn) Unwrap() Conn { return w.Conn }

// findConn returns the outermost connection of type W among c and those that it wraps.
func findConn[W Conn](c Conn) (found W, ok bool) {
	for c != nil {
		if found, ok = c.(W); ok {
			return found, true
		}
		w, wraps := c.(interface{ Unwrap() Conn })
		if !wraps {
			return found, false
		}
		c = w.Unwrap()
	}
	return found, false
}

// Upgrade implements Upgrader if the wrapped connection does.
func (w wrappedConn) Upgrade(ctx context.Context, r *Request) (*Upgraded, error) {
	if u, ok := w.Conn.(Upgrader); ok {
		return u.Upgrade(ctx, r)
	}
	return nil, fmt.Errorf("client: %T cannot upgrade requests: %w", w.Conn, errors.ErrUnsupported)
}

// editedConn changes a copy of every request.
type editedConn struct {
	wrappedConn
	edit func(r *Request)
}

func (e editedConn) copy(r *Request) *Request {
	c := *r
	e.edit(&c)
	return &c
}

// Do implements Conn.
func (e editedConn) Do(ctx context.Context, r *Request) (*Response, error) {
	return e.Conn.Do(ctx, e.copy(r))
}

// Stream implements Conn.
func (e editedConn) Stream(ctx context.Context, r *Request) (*Stream, error) {
	return e.Conn.Stream(ctx, e.copy(r))
}

// Upgrade implements Upgrader.
func (e editedConn) Upgrade(ctx context.Context, r *Request) (*Upgraded, error) {
	return e.wrappedConn.Upgrade(ctx, e.copy(r))
}

// Edit returns a connection that calls edit with a copy of every request before sending it. The copy shares
// Query, Body and Header with the original: edit may replace them but must not modify them.
func Edit(c Conn, edit func(r *Request)) Conn { return editedConn{wrappedConn{c}, edit} }

// WithHeader returns a connection that sets a header on every request.
func WithHeader(c Conn, key, value string) Conn {
	return Edit(c, func(r *Request) {
		h := maps.Clone(r.Header)
		if h == nil {
			h = map[string]string{}
		}
		h[key] = value
		r.Header = h
	})
}

// WithUserAgent returns a connection that sends agent as the User-Agent.
func WithUserAgent(c Conn, agent string) Conn { return WithHeader(c, "User-Agent", agent) }

// User is an identity to act as.
type User struct {
	// Name of the user. Required if any other field is set.
	Name string
	// UID, Groups and Extra further describe the user.
	UID    string
	Groups []string
	Extra  map[string][]string
}

// SetHeader sets the headers of a request that acts as the user, for requests that no [Conn] sends. Keys of
// Extra are percent-encoded, as the names of headers are limited.
func (u *User) SetHeader(h http.Header) {
	h.Set("Impersonate-User", u.Name)
	if u.UID != "" {
		h.Set("Impersonate-Uid", u.UID)
	}
	for _, g := range u.Groups {
		h.Add("Impersonate-Group", g)
	}
	for k, vs := range u.Extra {
		for _, v := range vs {
			h.Add("Impersonate-Extra-"+headerKey(k), v)
		}
	}
}

// headerKey percent-encodes characters that are invalid in a header name, and '%' itself.
func headerKey(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		ch := s[i]
		if ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9' || strings.IndexByte("!#$&'*+-.^_`|~", ch) >= 0 {
			b.WriteByte(ch)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", ch)
	}
	return b.String()
}

// Impersonate returns a connection that acts as user, which requires the permission to impersonate.
func Impersonate(c Conn, user User) Conn {
	return Edit(c, func(r *Request) { r.Impersonate = &user })
}

// Write is a write the server has accepted.
type Write struct {
	// Verb is create, update, patch, delete or deletecollection.
	Verb string
	// Resource, Subresource and Key address what was written.
	Resource    schema.GroupVersionResource
	Subresource string
	Key         types.NamespacedName
	// UID of the object, if known.
	UID types.UID
	// Object is the object as stored, if the reply contained it.
	Object *Encoded
	// Removed is true for a write that removed the object: a delete, or an update that removed the last
	// finalizer of a terminating object. Object then has the version before the removal in the latter case.
	Removed bool
}

// Observe returns a connection that calls notify with every write the server has accepted, before the write
// returns and in the goroutine of its caller. notify is not called for dry runs and for writes whose reply
// was lost.
func Observe(c Conn, notify func(Write)) Conn {
	if _, dry := findConn[dryConn](c); dry {
		return c
	}
	return observedConn{wrappedConn{c}, notify}
}

type observedConn struct {
	wrappedConn
	notify func(Write)
}

// Do implements Conn.
func (o observedConn) Do(ctx context.Context, r *Request) (*Response, error) {
	resp, err := o.Conn.Do(ctx, r)
	if err != nil || r.Path != "" || r.Method == "" || r.Method == "GET" || r.Query.Has("dryRun") {
		return resp, err
	}
	if w, ok := writeOf(r, resp); ok {
		o.notify(w)
	}
	return resp, nil
}

// wholeObject lists the subresources whose replies are the object itself.
var wholeObject = []string{"", "status", "approval", "finalize", "resize", "ephemeralcontainers"}

// writeOf returns the effect of a write from its reply.
func writeOf(r *Request, resp *Response) (Write, bool) {
	w := Write{Verb: r.Verb(), Resource: r.Resource, Subresource: r.Subresource, Key: types.NamespacedName{Namespace: r.Namespace, Name: r.Name}}
	if strings.HasPrefix(w.Verb, "delete") && strings.Contains(string(r.Body), `"dryRun":`) {
		return w, false
	}
	if w.Verb == "deletecollection" || !slices.Contains(wholeObject, r.Subresource) {
		return w, true
	}
	form, err := formOf(resp.ContentType)
	if err != nil {
		return w, true
	}
	body := resp.Body
	var kind string
	if form == Protobuf {
		if _, kind, body, err = codec.DecodeEnvelope(body); err != nil {
			return w, true
		}
	}
	// A copy, because the reply belongs to the caller.
	e, err := scanEncoded(form, copyBody(form, body, false))
	if err != nil {
		return w, true
	}
	if form == JSON {
		kind = e.kind
	}
	if kind == "Status" {
		var s metav1.Status
		if form == Protobuf {
			err = codec.UnmarshalProto(body, &s)
		} else {
			err = codec.Unmarshal(body, &s)
		}
		if err == nil && s.Details != nil {
			w.UID = s.Details.UID
		}
		w.Removed = w.Verb == "delete" && err == nil && s.Status == metav1.StatusSuccess
		return w, true
	}
	if kind == "PartialObjectMetadata" {
		e.Body = nil
	}
	w.Key, w.UID, w.Object = e.Key, e.UID, &e
	// The reply to a write that completes a deletion is the final state, which is terminating if the deletion
	// was pending before: a kubelet's last deletion of a pod has no grace period left.
	switch {
	case e.Finalizers > 0:
	case !e.Terminating:
		w.Removed = w.Verb == "delete"
	default:
		w.Removed = w.Resource.GroupResource() != namespacesResource && !hasGracePeriod(form, body)
	}
	return w, true
}

// namespacesResource also have spec.finalizers.
var namespacesResource = schema.GroupResource{Resource: "namespaces"}

// hasGracePeriod reports whether a terminating object has a grace period left, as pods have.
func hasGracePeriod(form Form, body []byte) bool {
	var m metav1.PartialObjectMetadata
	var err error
	if form == Protobuf {
		err = codec.UnmarshalProto(body, &m)
	} else {
		err = codec.Unmarshal(body, &m)
	}
	return err != nil || m.DeletionGracePeriodSeconds != nil && *m.DeletionGracePeriodSeconds > 0
}
