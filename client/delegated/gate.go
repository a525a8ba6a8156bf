package delegated

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
)

// Gate protects a handler: it authenticates and authorizes each request. All fields but Logger are required.
type Gate struct {
	// Authenticate identifies the user, as [Authenticator.Authenticate] does.
	Authenticate func(r *http.Request) (*authenticationv1.UserInfo, bool, error)
	// Attributes returns the accesses one of which the user must have; the user is not set in them. If there
	// is none the request is refused.
	Attributes func(r *http.Request) []authorizationv1.SubjectAccessReviewSpec
	// Authorize decides, as [Authorizer.Authorize] does.
	Authorize func(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (allowed bool, reason string, err error)
	// Logger logs why a request was refused; nil discards it.
	Logger *slog.Logger
}

// ByPath is [Gate].Attributes of pages such as /metrics: the path of the request as a non-resource URL, with
// its method in lower case as the verb. A ClusterRole allows it by nonResourceURLs.
func ByPath(r *http.Request) []authorizationv1.SubjectAccessReviewSpec {
	return []authorizationv1.SubjectAccessReviewSpec{{NonResourceAttributes: &authorizationv1.NonResourceAttributes{
		Path: r.URL.Path, Verb: strings.ToLower(r.Method)}}}
}

// Wrap returns a handler that replies 401 to requests without a valid user, 403 to those that are not
// allowed, 500 if a review failed, and calls next for the others.
func (g Gate) Wrap(next http.Handler) http.Handler {
	if g.Logger == nil {
		g.Logger = slog.New(slog.DiscardHandler)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, ok, err := g.Authenticate(r)
		if !ok {
			if err != nil {
				g.Logger.Warn("authenticate request failed", "path", r.URL.Path, "remote", r.RemoteAddr, "err", err)
			}
			refuse(w, http.StatusUnauthorized, "Unauthorized")
			return
		}
		code, text := g.authorize(r, u)
		if code != http.StatusOK {
			refuse(w, code, text)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g Gate) authorize(r *http.Request, u *authenticationv1.UserInfo) (code int, text string) {
	wanted := g.Attributes(r)
	var failure error
	for _, spec := range wanted {
		spec.User, spec.UID, spec.Groups = u.Username, u.UID, u.Groups
		if len(u.Extra) > 0 {
			spec.Extra = map[string]authorizationv1.ExtraValue{}
			for k, v := range u.Extra {
				spec.Extra[k] = authorizationv1.ExtraValue(v)
			}
		}
		allowed, _, err := g.Authorize(r.Context(), spec)
		if err == nil && allowed {
			return http.StatusOK, ""
		}
		if err != nil {
			failure = err
		}
	}
	if failure != nil {
		g.Logger.Warn("authorize request failed", "path", r.URL.Path, "user", u.Username, "err", failure)
		return http.StatusInternalServerError, fmt.Sprintf("Authorization error (user=%s, %s)", u.Username, describe(wanted))
	}
	g.Logger.Debug("request refused", "path", r.URL.Path, "user", u.Username)
	return http.StatusForbidden, fmt.Sprintf("Forbidden (user=%s, %s)", u.Username, describe(wanted))
}

// describe returns the refused access, for the reply.
func describe(wanted []authorizationv1.SubjectAccessReviewSpec) string {
	if len(wanted) == 0 {
		return "nothing allows this request"
	}
	if n := wanted[0].NonResourceAttributes; n != nil {
		return fmt.Sprintf("verb=%s, path=%s", n.Verb, n.Path)
	}
	a := wanted[0].ResourceAttributes
	if a == nil {
		return "nothing allows this request"
	}
	var subresources []string
	for _, w := range wanted {
		if w.ResourceAttributes != nil {
			subresources = append(subresources, w.ResourceAttributes.Subresource)
		}
	}
	return fmt.Sprintf("verb=%s, resource=%s, subresource(s)=[%s]", a.Verb, a.Resource, strings.Join(subresources, " "))
}

func refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text)
}
