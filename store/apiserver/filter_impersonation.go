package apiserver

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/authn"
)

// impersonate replaces the user of a request by the one in its Impersonate- headers, if the caller may do so.
func (s *Server) impersonate(r *request) bool {
	requested := false
	for h := range r.Header {
		requested = requested || strings.HasPrefix(h, "Impersonate-")
	}
	if !requested {
		return true
	}
	wanted := impersonationOf(r.Header)
	if wanted.name == "" {
		if len(wanted.groups) > 0 || wanted.uid != "" || len(wanted.extra) > 0 {
			r.fail(apierrors.NewBadRequest("requests that impersonate groups, a uid or extra fields must impersonate a user too"))
			return false
		}
		return true
	}
	began := time.Now()
	user, constraint, err := wanted.authorize(r)
	if hook := s.opts.Metrics.Impersonated; hook != nil {
		mode := ""
		if err == nil {
			mode = modeLabel(strings.TrimPrefix(constraint, "impersonate:"))
		}
		hook(mode, time.Since(began))
	}
	if err != nil {
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
	r.audit.Impersonated(user, constraint)
	r.Request = r.WithContext(authn.WithUser(r.Context(), user))
	return true
}

// modeLabel is how a mode is called in metrics.
func modeLabel(mode string) string { return cmp.Or(mode, "legacy") }

// impersonationOf reads the headers.
func impersonationOf(headers http.Header) *impersonation {
	w := &impersonation{name: headers.Get("Impersonate-User"), uid: headers.Get("Impersonate-Uid"), groups: headers["Impersonate-Group"], extra: map[string][]string{}}
	for h, v := range headers {
		if key, ok := strings.CutPrefix(h, "Impersonate-Extra-"); ok {
			key = strings.ToLower(key)
			if k, err := url.PathUnescape(key); err == nil {
				key = k
			}
			w.extra[key] = append(w.extra[key], v...)
		}
	}
	return w
}
