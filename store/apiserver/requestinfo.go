package apiserver

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// RequestInfo is what a request's method, path and query say about it.
type RequestInfo struct {
	// Resource tells requests for API objects from the others.
	Resource bool
	// Path as sent.
	Path string
	// Verb is the API verb, or the method in lower case for other requests.
	Verb string
	// GVR is the resource asked for, at the version of the path.
	GVR schema.GroupVersionResource
	// Subresource, Namespace and Name; each may be empty. For a namespace both Namespace and Name are its name.
	Subresource, Namespace, Name string
	// Rest is what follows the subresource, for proxies: path elements joined by slashes.
	Rest string
}

// long reports whether the request may take as long as it likes.
func (i *RequestInfo) long() bool {
	switch i.Subresource {
	case "exec", "attach", "portforward", "proxy", "log":
		return true
	}
	return i.Verb == "watch"
}

// requestInfo parses a request. Whether the resource exists is not its business.
func requestInfo(r *http.Request, query url.Values) RequestInfo {
	info := RequestInfo{Path: r.URL.Path, Verb: strings.ToLower(r.Method)}
	rest, core := strings.CutPrefix(r.URL.Path, "/api/")
	if !core {
		var ok bool
		if rest, ok = strings.CutPrefix(r.URL.Path, "/apis/"); !ok {
			return info
		}
	}
	parts := splitPath(rest)
	if !core {
		if len(parts) < 3 {
			return info
		}
		info.GVR.Group, parts = parts[0], parts[1:]
	}
	if len(parts) < 2 {
		return info
	}
	info.GVR.Version, parts = parts[0], parts[1:]
	info.Resource = true
	switch r.Method {
	case http.MethodPost:
		info.Verb = "create"
	case http.MethodGet, http.MethodHead:
		info.Verb = "get"
	case http.MethodPut:
		info.Verb = "update"
	case http.MethodPatch:
		info.Verb = "patch"
	case http.MethodDelete:
		info.Verb = "delete"
	}
	oldWatch := false
	if parts[0] == "watch" || parts[0] == "proxy" {
		if len(parts) < 2 {
			info.Resource = false
			return info
		}
		oldWatch = parts[0] == "watch"
		info.Verb, parts = parts[0], parts[1:]
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		info.Namespace = parts[1]
		if len(parts) > 2 && !(len(parts) == 3 && (parts[2] == "status" || parts[2] == "finalize")) {
			parts = parts[2:]
		}
	}
	info.GVR.Resource = parts[0]
	if len(parts) > 1 {
		info.Name = parts[1]
	}
	if len(parts) > 2 {
		info.Subresource = parts[2]
		if len(parts) > 3 {
			info.Rest = strings.Join(parts[3:], "/")
			if strings.HasSuffix(r.URL.Path, "/") {
				info.Rest += "/"
			}
		}
	}
	info.collectionVerb(query, oldWatch)
	return info
}

// collectionVerb finds list, watch and deletecollection.
func (i *RequestInfo) collectionVerb(query url.Values, oldWatch bool) {
	switch {
	case i.Verb == "get" && i.Name == "" && flag(query, "watch"), oldWatch:
		i.Verb = "watch"
	case i.Verb == "get" && i.Name == "":
		i.Verb = "list"
	case i.Verb == "delete" && i.Name == "":
		i.Verb = "deletecollection"
	}
	if i.Name == "" && (i.Verb == "list" || i.Verb == "watch" || i.Verb == "deletecollection") {
		// A list of one name may be allowed to those who may get only that one.
		if s := query.Get("fieldSelector"); strings.Contains(s, "metadata.name") {
			if sel, err := fields.Parse(s); err == nil {
				if name, ok := sel.RequiresExactMatch("metadata.name"); ok && name != "" && !strings.Contains(name, "/") {
					i.Name = name
				}
			}
		}
	}
}

func splitPath(p string) []string {
	p = strings.Trim(p, "/")
	if p == "" {
		return nil
	}
	return strings.Split(p, "/")
}

// flag reads a boolean query parameter as upstream does: absence, 0 and false are false, anything else is true, nothing included.
func flag(q url.Values, name string) bool {
	values := q[name]
	return len(values) > 0 && values[0] != "0" && !strings.EqualFold(values[0], "false")
}
