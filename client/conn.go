package client

import (
	"context"
	"io"
	"net/url"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Conn is a connection to one API server. It is implemented by client/rest.Conn and by wrappers, and
// is safe for concurrent use. It does not modify requests.
type Conn interface {
	// Scheme maps Go types to resources.
	Scheme() *scheme.Scheme
	// Do sends a request and reads the whole reply. A status of 400 or more is an *apierrors.StatusError.
	Do(ctx context.Context, r *Request) (*Response, error)
	// Stream sends a request and returns its reply as a stream: a watch, a log. The stream ends when
	// ctx does or its Body is closed, and Body must be closed. Errors are those of Do.
	Stream(ctx context.Context, r *Request) (*Stream, error)
}

// Request is one request to an API server. Either Path is set, or the path is made of Resource,
// Namespace, Name and Subresource.
type Request struct {
	// Method is the HTTP method; empty means GET.
	Method string
	// Path is absolute, such as /healthz. Empty means that it is made of the following fields.
	Path string
	// Resource names the resource; the core group has the empty group.
	Resource schema.GroupVersionResource
	// Namespace is empty for cluster-scoped resources and for requests across namespaces.
	Namespace string
	// Name is empty for collections.
	Name string
	// Subresource may hold several path elements, as in "proxy/healthz".
	Subresource string
	// Query holds the request's options.
	Query url.Values
	// Body is sent again if the request is retried.
	Body []byte
	// ContentType is the media type of Body.
	ContentType string
	// Accept lists the accepted media types; empty means JSON.
	Accept string
	// Header holds further headers.
	Header map[string]string
	// Impersonate, if not nil, is the user to act as.
	Impersonate *User
}

// URLPath returns Path, or the path made of the other fields.
func (r *Request) URLPath() string {
	if r.Path != "" {
		return r.Path
	}
	return ResourcePath(r.Resource, r.Namespace, r.Name, r.Subresource)
}

// ResourcePath returns the path of a collection (empty name), an object or a subresource. Namespace and
// name are escaped, a subresource is not.
func ResourcePath(gvr schema.GroupVersionResource, namespace, name, subresource string) string {
	b := make([]byte, 0, 96)
	if gvr.Group == "" {
		b = append(b, "/api/"...)
	} else {
		b = append(b, "/apis/"...)
		b = append(b, gvr.Group...)
		b = append(b, '/')
	}
	b = append(b, gvr.Version...)
	if namespace != "" {
		b = append(b, "/namespaces/"...)
		b = append(b, url.PathEscape(namespace)...)
	}
	b = append(b, '/')
	b = append(b, gvr.Resource...)
	if name != "" {
		b = append(b, '/')
		b = append(b, url.PathEscape(name)...)
	}
	if subresource != "" {
		b = append(b, '/')
		b = append(b, subresource...)
	}
	return string(b)
}

// Verb returns the API verb of the request: get, list, watch, create, update, patch, delete or
// deletecollection; for a Path those without list, watch and deletecollection.
func (r *Request) Verb() string {
	switch r.Method {
	case "", "GET":
		if r.Path != "" || r.Name != "" {
			return "get"
		}
		if w := r.Query.Get("watch"); w == "true" || w == "1" {
			return "watch"
		}
		return "list"
	case "POST":
		return "create"
	case "PUT":
		return "update"
	case "PATCH":
		return "patch"
	case "DELETE":
		if r.Path == "" && r.Name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	return r.Method
}

// Response is a whole reply.
type Response struct {
	// Code is the HTTP status, below 400.
	Code int
	// ContentType of Body.
	ContentType string
	// Header holds the reply's headers under their canonical names, the first value of each.
	Header map[string]string
	// Body belongs to the caller.
	Body []byte
	// Warnings are the texts of the reply's Warning headers of code 299.
	Warnings []string
}

// Stream is a reply that is read while it is received.
type Stream struct {
	// ContentType of Body.
	ContentType string
	// Header as in Response.
	Header map[string]string
	// Body must be closed; closing ends the request.
	Body io.ReadCloser
}

// Upgrader is implemented by a Conn that can turn a request into a two-way byte stream (WebSocket,
// SPDY); client/stream uses it. Wrappers forward it.
type Upgrader interface {
	// Upgrade sends r with the given protocols and returns the raw connection after a 101 reply.
	Upgrade(ctx context.Context, r *Request) (*Upgraded, error)
}

// Upgraded is a connection after a 101 reply.
type Upgraded struct {
	// Header of the reply.
	Header map[string]string
	// Conn carries the agreed protocol; closing it ends the stream.
	Conn io.ReadWriteCloser
}
