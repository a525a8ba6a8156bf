// Package fence identifies a leader's term by a fencing token, so that a server can reject writes of a leader
// that has been replaced but has not noticed yet.
//
// A [Token] is (lease, holder, transitions). While one holder keeps a lease its token does not change; when
// the lease changes hands, or the same holder acquires it again, transitions grows. The elector puts the
// token into the context of the led work, the client sends the token of a request's context in the header
// [Header], and a server that understands it compares the token with the lease in the transaction of the
// write. Other servers ignore the header.
//
// The package depends only on the object key, because elector, client and server import it.
package fence

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Header is the HTTP header a token travels in. A server that enforces fencing
// sends it back, with the value Enforced, in its answers to requests for leases.
const Header = "Keelson-Fence"

// Enforced is the value of Header in answers of a server that checks tokens.
const Enforced = "enforced"

// Token identifies one term of one leader. Tokens are compared with ==.
type Token struct {
	// Lease is the key of the Lease object.
	Lease types.NamespacedName
	// Holder is the lease's holderIdentity during the term.
	Holder string
	// Transitions is the lease's leaseTransitions during the term.
	Transitions int32
}

// ErrMalformed is wrapped by the errors of Parse.
var ErrMalformed = errors.New("malformed fence token")

// String is the token in the form Parse reads, which is also the header's value:
//
//	namespace/name;transitions;holder
//
// with every part but the number escaped as in a URL path.
func (t Token) String() string {
	return url.PathEscape(t.Lease.Namespace) + "/" + url.PathEscape(t.Lease.Name) + ";" +
		strconv.Itoa(int(t.Transitions)) + ";" + escapeHolder(t.Holder)
}

// escapeHolder also escapes what net/url leaves alone but our format or an HTTP
// header gives a meaning to.
func escapeHolder(s string) string {
	return strings.ReplaceAll(url.PathEscape(s), ",", "%2C")
}

// Parse reads what String wrote. It accepts nothing else: escapes that String
// would not have written are refused, so that equal tokens have equal text.
func Parse(s string) (Token, error) {
	lease, rest, ok1 := strings.Cut(s, ";")
	number, holder, ok2 := strings.Cut(rest, ";")
	namespace, name, ok3 := strings.Cut(lease, "/")
	if !ok1 || !ok2 || !ok3 {
		return Token{}, fmt.Errorf("%w: %.100q is not namespace/name;transitions;holder", ErrMalformed, s)
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 0 {
		return Token{}, fmt.Errorf("%w: transitions %.20q is not a number from 0 to 2147483647", ErrMalformed, number)
	}
	t := Token{Transitions: int32(n)}
	var errs [3]error
	t.Lease.Namespace, errs[0] = url.PathUnescape(namespace)
	t.Lease.Name, errs[1] = url.PathUnescape(name)
	t.Holder, errs[2] = url.PathUnescape(holder)
	if err := errors.Join(errs[:]...); err != nil {
		return Token{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if t.Lease.Name == "" || t.Holder == "" {
		return Token{}, fmt.Errorf("%w: lease name and holder must not be empty", ErrMalformed)
	}
	if t.String() != s {
		return Token{}, fmt.Errorf("%w: %.100q is not in canonical form", ErrMalformed, s)
	}
	return t, nil
}

type contextKey struct{}

// bound is a token and the server it is for; empty means any.
type bound struct {
	token  Token
	server string
}

// WithToken returns a context whose requests are made under t, to whatever server.
func WithToken(ctx context.Context, t Token) context.Context {
	return WithTokenFor(ctx, t, "")
}

// WithTokenFor returns a context whose requests to one server are made under t: the one that keeps the lease.
// Other servers do not have the lease, or have another one of that name, and would reject every write. server
// is a name that connections give with Sent; empty means any.
func WithTokenFor(ctx context.Context, t Token, server string) context.Context {
	return context.WithValue(ctx, contextKey{}, bound{t, server})
}

// WithoutToken returns a context whose requests are not fenced, for servers that WithTokenFor cannot
// distinguish from the one that keeps the lease.
func WithoutToken(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, nil)
}

// FromContext returns the token requests of ctx are made under, if any.
func FromContext(ctx context.Context) (Token, bool) {
	b, ok := ctx.Value(contextKey{}).(bound)
	return b.token, ok
}

// Value is the header's value for requests of ctx to a server, or "" if they are not fenced. An empty server
// is one that the connection has no name for: it gets every token.
func Value(ctx context.Context, server string) string {
	b, ok := ctx.Value(contextKey{}).(bound)
	if !ok || b.server != "" && server != "" && b.server != server {
		return ""
	}
	return b.token.String()
}

type witnessKey struct{}

// WithWitness returns a context in which saw is given the name of the server of each request. Names are the
// same for all connections to one server that are configured alike.
func WithWitness(ctx context.Context, saw func(server string)) context.Context {
	return context.WithValue(ctx, witnessKey{}, saw)
}

// Sent is called by connections for each request, with the name they have for the server.
func Sent(ctx context.Context, server string) {
	if saw, ok := ctx.Value(witnessKey{}).(func(string)); ok {
		saw(server)
	}
}
