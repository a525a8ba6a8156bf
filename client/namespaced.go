package client

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// NamespaceError reports a request that was not sent because it is not limited to the namespace of its
// connection; see [InNamespace].
type NamespaceError struct {
	// Verb of the request, as in Call.
	Verb string
	// Resource as "deployments.apps", or the path of a request by Path.
	Resource string
	// Key of the object; without a name for collections.
	Key types.NamespacedName
	// Namespace of the connection.
	Namespace string
}

// Error names the request and the namespace.
func (e *NamespaceError) Error() string {
	what := e.Resource
	switch {
	case e.Key.Name != "" && e.Key.Namespace != "":
		what += " " + e.Key.String()
	case e.Key.Name != "":
		what += " " + e.Key.Name
	case e.Key.Namespace != "":
		what += " in namespace " + e.Key.Namespace
	}
	return fmt.Sprintf("client: %s %s: the connection is limited to namespace %s", e.Verb, what, e.Namespace)
}

// InNamespace returns a connection that is limited to one namespace. Lists, watches and deletions of
// collections of a resource that the scheme has as namespaced, and that name no namespace, are made in this
// one. Other requests that reach outside of it fail with a *NamespaceError and are not sent:
//
//   - any request in another namespace;
//   - writes of resources without namespaces, but not reviews of access and tokens, which store nothing;
//   - requests across namespaces of a resource that is not in the scheme;
//   - requests by Path other than GET.
//
// Resources without namespaces can be read. It protects a program from its own mistakes; what it may do is
// for the server to decide.
func InNamespace(c Conn, namespace string) Conn { return namespacedConn{wrappedConn{c}, namespace} }

type namespacedConn struct {
	wrappedConn
	namespace string
}

// Do implements Conn.
func (n namespacedConn) Do(ctx context.Context, r *Request) (*Response, error) {
	r, err := n.limited(r)
	if err != nil {
		return nil, err
	}
	return n.Conn.Do(ctx, r)
}

// Stream implements Conn.
func (n namespacedConn) Stream(ctx context.Context, r *Request) (*Stream, error) {
	r, err := n.limited(r)
	if err != nil {
		return nil, err
	}
	return n.Conn.Stream(ctx, r)
}

// Upgrade implements Upgrader.
func (n namespacedConn) Upgrade(ctx context.Context, r *Request) (*Upgraded, error) {
	r, err := n.limited(r)
	if err != nil {
		return nil, err
	}
	return n.wrappedConn.Upgrade(ctx, r)
}

// limited returns the request as it is sent, or an error.
func (n namespacedConn) limited(r *Request) (*Request, error) {
	verb := r.Verb()
	if r.Path != "" {
		if verb == "get" {
			return r, nil
		}
		return nil, &NamespaceError{Verb: verb, Resource: r.Path, Namespace: n.namespace}
	}
	refused := &NamespaceError{
		Verb: verb, Resource: r.Resource.GroupResource().String(), Key: types.NamespacedName{Namespace: r.Namespace, Name: r.Name}, Namespace: n.namespace,
	}
	switch {
	case r.Namespace == n.namespace && n.namespace != "":
		return r, nil
	case r.Namespace != "" || n.namespace == "":
		return nil, refused
	}
	info := n.Scheme().ForResource(r.Resource)
	reads := verb == "get" || verb == "list" || verb == "watch"
	switch {
	case info != nil && info.Namespaced && r.Name == "" && verb != "create":
		limited := *r
		limited.Namespace = n.namespace
		return &limited, nil
	case info != nil && !info.Namespaced && (reads || isReview(r)):
		return r, nil
	case info == nil && verb == "get": // a resource with namespaces has no objects outside of them
		return r, nil
	}
	return nil, refused
}

// isReview reports whether a request is a question to the server.
func isReview(r *Request) bool {
	return r.Resource.Group == "authorization.k8s.io" || r.Resource.Group == "authentication.k8s.io"
}
