// Package authn identifies the users that send requests. Authenticators are tried one by one until one
// identifies the user; see [Union]. Everything here is safe for concurrent use.
package authn

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// User is an authenticated user. It is immutable once it is part of a request.
type User struct {
	// Name identifies the user, such as "alice" or "system:serviceaccount:ns:name".
	Name string
	// UID distinguishes users who had the same name at different times; may be empty.
	UID string
	// Groups the user is in.
	Groups []string
	// Extra attributes, such as the pod a token is bound to.
	Extra map[string][]string
}

// Well-known users and groups.
const (
	Anonymous             = "system:anonymous"
	GroupAuthenticated    = "system:authenticated"
	GroupUnauthenticated  = "system:unauthenticated"
	GroupMasters          = "system:masters"
	GroupNodes            = "system:nodes"
	GroupServiceAccounts  = "system:serviceaccounts"
	GroupMonitoring       = "system:monitoring"
	ServiceAccountPrefix  = "system:serviceaccount:"
	NodePrefix            = "system:node:"
	ControllerManagerUser = "system:kube-controller-manager"
	SchedulerUser         = "system:kube-scheduler"
	ProxyUser             = "system:kube-proxy"
	APIServerUser         = "system:apiserver"
)

// NodeName returns the name of the node that a user is, a user system:node:NAME in the group system:nodes.
// It is empty, and ok true, for a node without a name.
func NodeName(u *User) (name string, ok bool) {
	if u == nil {
		return "", false
	}
	if name, ok = strings.CutPrefix(u.Name, NodePrefix); !ok || !slices.Contains(u.Groups, GroupNodes) {
		return "", false
	}
	return name, true
}

// Response is a successful authentication.
type Response struct {
	User *User
	// Audiences the credential is valid for; nil for credentials that are not audience-bound.
	Audiences []string
	// Notes are about the credential, for the audit record of the request.
	Notes []Note
	// Warnings are for the client that has sent the credential.
	Warnings []string
}

// Note is an annotation of an audit record.
type Note struct{ Key, Value string }

// Refusal is the error of a credential whose refusal has a note of its own in the audit record of the
// request.
type Refusal struct {
	Err  error
	Note Note
}

func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns Err.
func (r *Refusal) Unwrap() error { return r.Err }

// Authenticator identifies the sender of a request.
type Authenticator interface {
	// Authenticate returns false and no error when the request carries no credential of this
	// kind, and an error when it carries one that is refused.
	Authenticate(r *http.Request) (*Response, bool, error)
}

// Func adapts a function to Authenticator.
type Func func(r *http.Request) (*Response, bool, error)

// Authenticate calls f.
func (f Func) Authenticate(r *http.Request) (*Response, bool, error) { return f(r) }

// TokenAuthenticator identifies the bearer of a token. Audiences the caller requires are in ctx, see
// [WithAudiences].
type TokenAuthenticator interface {
	AuthenticateToken(ctx context.Context, token string) (*Response, bool, error)
}

type userKey struct{}

// WithUser returns ctx carrying the request's user.
func WithUser(ctx context.Context, u *User) context.Context {
	return context.WithValue(ctx, userKey{}, u)
}

// AsServer returns ctx without a user, for actions of the server itself during a request.
func AsServer(ctx context.Context) context.Context { return WithUser(ctx, nil) }

// UserFrom returns the user ctx carries, or nil.
func UserFrom(ctx context.Context) *User {
	u, _ := ctx.Value(userKey{}).(*User)
	return u
}

type audiencesKey struct{}

// WithAudiences returns ctx carrying audiences, for one of which a token must be valid.
func WithAudiences(ctx context.Context, audiences []string) context.Context {
	return context.WithValue(ctx, audiencesKey{}, audiences)
}

// AudiencesFrom returns the audiences ctx carries.
func AudiencesFrom(ctx context.Context) []string {
	a, _ := ctx.Value(audiencesKey{}).([]string)
	return a
}
