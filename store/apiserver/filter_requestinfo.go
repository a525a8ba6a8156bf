package apiserver

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// requestInfo holds what a request's method, path and query determine.
type requestInfo struct {
	// Resource reports that the request is for API objects.
	Resource bool
	// Path as sent.
	Path string
	// Verb is the API verb, empty for methods that have none; for requests that are not for API objects, the
	// method in lower case.
	Verb string
	// GVR is the resource in the path, at the version of the path.
	GVR schema.GroupVersionResource
	// Subresource, Namespace and Name; each may be empty. For a namespace both Namespace and Name are its
	// name.
	Subresource, Namespace, Name string
	// Rest is what follows the subresource, for proxies: path elements joined by slashes.
	Rest string

	namespaced bool // the path names a namespace, and after it the resource
	named      bool // Name is from the path, not from a field selector
	watch      bool // the path begins with watch/, the legacy form of a watch
	malformed  bool // the path has an empty element
}

// longRunning reports whether the request is exempt from the request timeout.
func (i *requestInfo) longRunning() bool {
	if !i.Resource {
		return false
	}
	switch i.Subresource {
	case "exec", "attach", "portforward", "proxy", "log":
		return true
	}
	return i.Verb == "watch"
}

// methodVerbs are the verbs of methods; a get or delete without a name becomes that of a collection. Other
// methods have no verb: they are allowed only to callers with every right, and only proxies forward them.
var methodVerbs = map[string]string{
	http.MethodPost: "create", http.MethodGet: "get", http.MethodHead: "get", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// parseRequest reads a request's method, path and query. It does not check that the resource exists.
func parseRequest(r *http.Request, query url.Values) requestInfo {
	info := requestInfo{Path: r.URL.Path, Verb: strings.ToLower(r.Method)}
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
	if len(parts) < 2 || len(parts) == 2 && (parts[1] == "watch" || parts[1] == "proxy") {
		return info
	}
	info.GVR.Version, parts = parts[0], parts[1:]
	info.Resource = true
	info.Verb = methodVerbs[r.Method]
	if parts[0] == "watch" || parts[0] == "proxy" {
		info.watch = parts[0] == "watch"
		info.Verb, parts = parts[0], parts[1:]
	}
	info.object(parts)
	if info.Rest != "" && strings.HasSuffix(r.URL.Path, "/") {
		info.Rest += "/"
	}
	info.collectionVerb(query)
	return info
}

// object reads the elements of the path that follow the version and watch/.
func (i *requestInfo) object(parts []string) {
	if parts[0] == "namespaces" && len(parts) > 1 {
		i.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			i.namespaced, parts = true, parts[2:]
		}
	}
	i.GVR.Resource = parts[0]
	if len(parts) > 1 {
		i.Name, i.named = parts[1], true
	}
	if len(parts) > 2 {
		i.Subresource = parts[2]
	}
	if len(parts) > 3 {
		i.Rest = strings.Join(parts[3:], "/")
	}
	i.malformed = i.GVR.Resource == "" || i.namespaced && i.Namespace == "" || i.named && i.Name == "" || len(parts) > 2 && i.Subresource == ""
}

// collectionVerb finds list, watch and deletecollection.
func (i *requestInfo) collectionVerb(query url.Values) {
	if i.named {
		return
	}
	switch i.Verb {
	case "delete":
		i.Verb = "deletecollection"
		return
	case "get":
		i.Verb = "list"
		if boolParam(query, "watch") {
			i.Verb = "watch"
		}
	default:
		return
	}
	// A list or watch of one name may be allowed to those who may read only that one.
	if s := query.Get("fieldSelector"); strings.Contains(s, "metadata.name") {
		if sel, err := fields.Parse(s); err == nil {
			if name, ok := sel.RequiresExactMatch("metadata.name"); ok && len(validation.IsPathSegmentName(name)) == 0 {
				i.Name = name
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

// boolParam reads a boolean query parameter as upstream does: absence, 0 and false are false, any other
// value, the empty one included, is true.
func boolParam(q url.Values, name string) bool {
	values := q[name]
	return len(values) > 0 && values[0] != "0" && !strings.EqualFold(values[0], "false")
}
