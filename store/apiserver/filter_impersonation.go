package apiserver

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// impersonate replaces the user of a request by the one in its Impersonate- headers, if the caller may do so.
func (s *Server) impersonate(r *request) bool {
	asked := false
	for h := range r.Header {
		asked = asked || strings.HasPrefix(h, "Impersonate-")
	}
	if !asked {
		return true
	}
	name := r.Header.Get("Impersonate-User")
	groups, uid := r.Header["Impersonate-Group"], r.Header.Get("Impersonate-Uid")
	extra := map[string][]string{}
	for h, v := range r.Header {
		if key, ok := strings.CutPrefix(h, "Impersonate-Extra-"); ok {
			key = strings.ToLower(key)
			if k, err := url.PathUnescape(key); err == nil {
				key = k
			}
			extra[key] = v
		}
	}
	if name == "" {
		if len(groups) > 0 || uid != "" || len(extra) > 0 {
			r.fail(apierrors.NewBadRequest("requests that impersonate groups, a uid or extra fields must impersonate a user too"))
			return false
		}
		return true
	}
	caller := authn.UserFrom(r.Context())
	if err := s.mayImpersonate(r, caller, name, uid, groups, extra); err != nil {
		r.fail(err)
		return false
	}
	r.Header.Del("Impersonate-User")
	r.Header.Del("Impersonate-Group")
	r.Header.Del("Impersonate-Uid")
	for h := range r.Header {
		if strings.HasPrefix(h, "Impersonate-Extra-") {
			r.Header.Del(h)
		}
	}
	r.Request = r.WithContext(authn.WithUser(r.Context(), impersonated(name, uid, groups, extra)))
	return true
}

func impersonated(name, uid string, groups []string, extra map[string][]string) *authn.User {
	u := &authn.User{Name: name, UID: uid, Groups: slices.Clone(groups)}
	if len(extra) > 0 {
		u.Extra = extra
	}
	if account, ok := strings.CutPrefix(name, authn.ServiceAccountPrefix); ok && len(groups) == 0 {
		ns, _, _ := strings.Cut(account, ":")
		u.Groups = append(u.Groups, authn.GroupServiceAccounts, authn.GroupServiceAccounts+":"+ns)
	}
	switch {
	case name == authn.Anonymous:
		if !slices.Contains(u.Groups, authn.GroupUnauthenticated) {
			u.Groups = append(u.Groups, authn.GroupUnauthenticated)
		}
	case !slices.Contains(u.Groups, authn.GroupAuthenticated) && !slices.Contains(u.Groups, authn.GroupUnauthenticated):
		u.Groups = append(u.Groups, authn.GroupAuthenticated)
	}
	return u
}

func (s *Server) mayImpersonate(r *request, caller *authn.User, name, uid string, groups []string, extra map[string][]string) error {
	check := func(group, resource, subresource, namespace, name string) error {
		a := authz.Attributes{User: caller, Verb: "impersonate", ResourceRequest: true, APIGroup: group, APIVersion: "v1",
			Resource: resource, Subresource: subresource, Namespace: namespace, Name: name}
		d, reason, err := s.decide(r.Context(), a)
		if d == authz.Allow {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, name,
			errors.New(forbidden(a, reason, err)))
	}
	if account, ok := strings.CutPrefix(name, authn.ServiceAccountPrefix); ok {
		ns, sa, _ := strings.Cut(account, ":")
		if err := check("", "serviceaccounts", "", ns, sa); err != nil {
			return err
		}
	} else if err := check("", "users", "", "", name); err != nil {
		return err
	}
	for _, g := range groups {
		if err := check("", "groups", "", "", g); err != nil {
			return err
		}
	}
	if uid != "" {
		if err := check("authentication.k8s.io", "uids", "", "", uid); err != nil {
			return err
		}
	}
	for k, values := range extra {
		for _, v := range values {
			if err := check("authentication.k8s.io", "userextras", k, "", v); err != nil {
				return err
			}
		}
	}
	return nil
}
