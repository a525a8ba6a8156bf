package nodestream

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
)

// Attributes returns the accesses that a request to the kubelet API of a node needs: the verb of the method
// on a subresource of the node with that name. The path determines the subresource; if there are two, either
// is sufficient. An empty name means all nodes.
//
// Running a command in a pod and connecting to it need the verb create whatever the method: WebSockets begin
// with a GET, and a user who may only read must not get a shell that way.
func Attributes(node string) func(*http.Request) []authorizationv1.SubjectAccessReviewSpec {
	return func(r *http.Request) []authorizationv1.SubjectAccessReviewSpec {
		// The path element as http.ServeMux splits it: an escaped slash is not a separator.
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
		first, err := url.PathUnescape(first)
		if err != nil {
			return nil
		}
		verb := verbs[r.Method]
		if sessions[first] {
			verb = "create"
		}
		if verb == "" {
			return nil
		}
		subresources, ok := subresources[first]
		if !ok {
			subresources = []string{"proxy"}
		}
		var specs []authorizationv1.SubjectAccessReviewSpec
		for _, s := range subresources {
			specs = append(specs, authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Version: "v1", Resource: "nodes", Subresource: s, Name: node}})
		}
		return specs
	}
}

var (
	verbs = map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}
	// sessions are the first elements of paths that run a command in or connect to a pod.
	sessions = map[string]bool{"exec": true, "attach": true, "portForward": true, "run": true}
	// subresources are those of nodes, by the first element of the path. All other paths need proxy.
	subresources = map[string][]string{
		"stats": {"stats"}, "metrics": {"metrics"}, "logs": {"log"}, "checkpoint": {"checkpoint"},
		"pods": {"pods", "proxy"}, "runningpods": {"pods", "proxy"}, "healthz": {"healthz", "proxy"}, "configz": {"configz", "proxy"}, "statusz": {"statusz"}, "flagz": {"configz"},
	}
)
