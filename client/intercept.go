package client

import (
	"context"
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Call describes a request to an interceptor.
type Call struct {
	// Verb is get, list, watch, create, update, patch, delete or deletecollection; see [Request.Verb].
	Verb string
	// Resource and Subresource address what is read or written; zero for a request by Path.
	Resource    schema.GroupVersionResource
	Subresource string
	// Kind of the objects, if the resource is in the scheme of the connection, else zero.
	Kind schema.GroupVersionKind
	// Key of the object; without a name for collections. That of a create is read from its body.
	Key types.NamespacedName
	// Request is the request itself. It must not be modified; [Edit] modifies requests.
	Request *Request
}

// ErrNotSent reports a request that an interceptor has neither sent nor failed.
var ErrNotSent = errors.New("client: the interceptor did not send the request")

// Intercept returns a connection that calls around for every request, in the goroutine of its caller. send
// sends the request and returns its error, and must be called at most once. What around returns is the error
// of the request: without calling send it fails a request that the server never gets, and by returning an
// error after send has succeeded it acts as if the reply had been lost. If it returns nil without calling
// send, or although send failed, the request fails with [ErrNotSent] or with the error of send.
//
// The reply of a watch or log begins when send returns; later failures of its stream are not seen here.
func Intercept(c Conn, around func(ctx context.Context, call Call, send func(context.Context) error) error) Conn {
	return interceptedConn{wrappedConn{c}, around}
}

type interceptedConn struct {
	wrappedConn
	around func(ctx context.Context, call Call, send func(context.Context) error) error
}

// Do implements Conn.
func (i interceptedConn) Do(ctx context.Context, r *Request) (*Response, error) {
	return intercept(ctx, i, r, i.Conn.Do, func(*Response) {})
}

// Stream implements Conn.
func (i interceptedConn) Stream(ctx context.Context, r *Request) (*Stream, error) {
	return intercept(ctx, i, r, i.Conn.Stream, func(s *Stream) { _ = s.Body.Close() })
}

// Upgrade implements Upgrader.
func (i interceptedConn) Upgrade(ctx context.Context, r *Request) (*Upgraded, error) {
	return intercept(ctx, i, r, i.wrappedConn.Upgrade, func(u *Upgraded) { _ = u.Conn.Close() })
}

// intercept runs the interceptor around one request; drop releases a reply that is not returned.
func intercept[R any](ctx context.Context, i interceptedConn, r *Request, send func(context.Context, *Request) (*R, error), drop func(*R)) (*R, error) {
	var (
		reply *R
		sent  error = ErrNotSent
	)
	err := i.around(ctx, i.call(r), func(ctx context.Context) error {
		reply, sent = send(ctx, r)
		return sent
	})
	if err == nil {
		err = sent
	}
	if err != nil {
		if reply != nil && sent == nil {
			drop(reply)
		}
		return nil, err
	}
	return reply, nil
}

func (i interceptedConn) call(r *Request) Call {
	call := Call{Verb: r.Verb(), Resource: r.Resource, Subresource: r.Subresource, Key: types.NamespacedName{Namespace: r.Namespace, Name: r.Name}, Request: r}
	if info := i.Scheme().ForResource(r.Resource); info != nil && r.Path == "" {
		call.Kind = info.GVK
	}
	if call.Verb == "create" && r.Path == "" && r.Name == "" {
		call.Key.Name = nameIn(r)
	}
	return call
}

// nameIn returns the name of the object in a request's body, or "".
func nameIn(r *Request) string {
	form, err := formOf(r.ContentType)
	if err != nil {
		return ""
	}
	body := r.Body
	if form == Protobuf {
		if _, _, body, err = codec.DecodeEnvelope(body); err != nil {
			return ""
		}
	}
	e, err := scanEncoded(form, body)
	if err != nil {
		return ""
	}
	return e.Key.Name
}
