package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// authorize fails the request unless the caller may make it.
func (s *Server) authorize(r *request) bool {
	if s.opts.Authorizer == nil {
		return true
	}
	a := r.attributes()
	switch a.Verb {
	case "list", "watch", "deletecollection":
		a.FieldSelector, a.LabelSelector = r.query.Get("fieldSelector"), r.query.Get("labelSelector")
	}
	d, reason, err := s.decide(r.Context(), a)
	r.auditDecision(d, reason, err)
	if err := refusal(a, d, reason, err); err != nil {
		if apierrors.IsForbidden(err) {
			r.w.Header().Set("X-Content-Type-Options", "nosniff") // the message has parts of the path
		}
		r.fail(err)
		return false
	}
	return true
}

// mayCreate checks the verb create: for an update or a patch of a missing object, and for a WebSocket of a
// subresource.
func (r *request) mayCreate(ctx context.Context) error {
	a := r.attributes()
	a.Verb = "create"
	return r.permitted(ctx, a)
}

// permitted returns nil if a is allowed, else a 403, or a 500 if the authorizers failed, so that a retry may
// help.
func (r *request) permitted(ctx context.Context, a authz.Attributes) error {
	d, reason, err := r.server.decide(ctx, a)
	return refusal(a, d, reason, err)
}

// refusal returns the error for a decision, nil if it is to allow.
func refusal(a authz.Attributes, d authz.Decision, reason string, err error) error {
	switch {
	case d == authz.Allow:
		return nil
	case err != nil:
		return apierrors.NewInternalError(fmt.Errorf("authorization: %w", err))
	}
	return forbiddenTo(a, reason, nil)
}

// AttributesOf returns what a request that Options.Intercept gets is about: the caller, and what its method,
// path and query say. The resource need not exist.
func AttributesOf(hr *http.Request) authz.Attributes {
	r := &request{Request: hr, query: hr.URL.Query()}
	r.info = parseRequest(hr, r.query)
	return r.selectingAttributes()
}

// attributes are the authorization attributes of the request, except for selectors.
func (r *request) attributes() authz.Attributes {
	return authz.Attributes{
		User: authn.UserFrom(r.Context()), Verb: r.info.Verb, ResourceRequest: r.info.Resource, Path: r.info.Path,
		APIGroup: r.info.GVR.Group, APIVersion: r.info.GVR.Version, Resource: r.info.GVR.Resource,
		Subresource: r.info.Subresource, Namespace: r.info.Namespace, Name: r.info.Name,
	}
}

// selectingAttributes are the authorization attributes of the request.
func (r *request) selectingAttributes() authz.Attributes {
	a := r.attributes()
	switch a.Verb {
	case "list", "watch", "deletecollection":
		a.FieldSelector, a.LabelSelector = r.query.Get("fieldSelector"), r.query.Get("labelSelector")
	}
	return a
}

// decide decides about a request, and reports the decision to the metrics.
func (s *Server) decide(ctx context.Context, a authz.Attributes) (d authz.Decision, reason string, err error) {
	if hook := s.opts.Metrics.Authorized; hook != nil {
		defer func(began time.Time) { hook(d, err, time.Since(began)) }(time.Now())
	}
	return s.callAuthorizer(ctx, a)
}

func (s *Server) callAuthorizer(ctx context.Context, a authz.Attributes) (authz.Decision, string, error) {
	if s.opts.Authorizer == nil {
		return authz.Allow, "", nil
	}
	return s.opts.Authorizer.Authorize(ctx, a)
}

// forbidden is the message of a 403, in the words that tools look for.
func forbidden(a authz.Attributes, reason string, err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "User %s cannot %s ", strconv.Quote(a.User.Name), a.Verb)
	if !a.ResourceRequest {
		fmt.Fprintf(&b, "path %s", strconv.Quote(a.Path))
	} else {
		resource := a.Resource
		if a.Subresource != "" {
			resource += "/" + a.Subresource
		}
		fmt.Fprintf(&b, "resource %s in API group %s", strconv.Quote(resource), strconv.Quote(a.APIGroup))
		if a.Namespace != "" && a.Resource != "namespaces" {
			fmt.Fprintf(&b, " in the namespace %s", strconv.Quote(a.Namespace))
		} else {
			b.WriteString(" at the cluster scope")
		}
	}
	if reason != "" {
		b.WriteString(": " + reason)
	}
	if err != nil && reason == "" {
		b.WriteString(": " + err.Error())
	}
	return b.String()
}
