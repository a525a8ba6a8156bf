package apiserver

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/registry"
)

// connect forwards a request to the kubelet of the object's node, or to the object's own address.
func (s *Server) connect(rt *route, r *request) {
	if r.query.Has("dryRun") {
		r.fail(apierrors.NewBadRequest("dryRun is not supported"))
		return
	}
	if err := checkConnectOptions(r.info.Subresource, r.info.Name, r.query); err != nil {
		r.fail(err)
		return
	}
	obj, err := s.connectTarget(rt, r)
	if err != nil {
		r.fail(err)
		return
	}
	if r.info.Subresource == "proxy" {
		if err := s.admitProxy(rt, r, obj); err != nil {
			r.fail(err)
			return
		}
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		if r.info.Subresource == "proxy" {
			s.proxyPod(r, o)
		} else {
			s.connectPod(rt, r, o)
		}
	case *corev1.Node:
		s.proxyNode(r, o)
	case *corev1.Service:
		s.proxyService(r, o)
	default:
		r.fail(errNoResource())
	}
}

// connectTarget returns the object a connection is for. In a proxy path a name may carry a scheme and a port.
func (s *Server) connectTarget(rt *route, r *request) (metav1.Object, error) {
	key := r.key(rt.info.Namespaced)
	if r.info.Subresource == "proxy" {
		t, ok := splitTarget(key.Name)
		if !ok {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid %s request %q", strings.ToLower(rt.info.GVK.Kind), key.Name))
		}
		key.Name = t.name
	}
	o, err := rt.res.Get(r.Context(), key, registry.Freshness{})
	if err != nil {
		return nil, err
	}
	return rt.res.Decode(r.Context(), o)
}

// target is what a name in a proxy path says.
type target struct{ scheme, name, port string }

// splitTarget splits NAME, NAME:PORT or SCHEME:NAME:PORT, of which scheme and port may be empty; ok is false
// for others.
func splitTarget(text string) (t target, ok bool) {
	switch parts := strings.Split(text, ":"); len(parts) {
	case 1:
		t.name = text
	case 2:
		t.name, t.port = parts[0], parts[1]
	case 3:
		t.scheme, t.name, t.port = parts[0], parts[1], parts[2]
	}
	return t, t.name != "" && (t.scheme == "" || t.scheme == "http" || t.scheme == "https")
}

// target is what the name of a proxied request says, which connectTarget has checked.
func (r *request) target() target {
	t, _ := splitTarget(r.info.Name)
	return t
}

// proxyPath is the path of a proxied request at the backend: what follows the subresource, with the slash
// that ends it. It is empty if nothing follows.
func (r *request) proxyPath() string {
	p := r.info.Rest
	if p != "" {
		p = "/" + p
	}
	if strings.HasSuffix(r.URL.Path, "/") && !strings.HasSuffix(p, "/") {
		p += "/"
	}
	return p
}

// proxyPrefix is the path of a proxied request as far as the subresource.
func (r *request) proxyPrefix() string {
	trim := func(s string) string { return strings.TrimRight(s, "/") }
	return trim(strings.TrimSuffix(trim(r.URL.Path), trim(r.info.Rest)))
}

// redirectToRoot redirects a client that reads from a proxy without a path to the path that ends with a
// slash, on which the relative links of a page depend.
func (r *request) redirectToRoot() bool {
	if r.proxyPath() != "" || r.Method != http.MethodGet && r.Method != http.MethodHead || r.upgrades() {
		return false
	}
	to := r.URL.EscapedPath() + "/"
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	r.w.Header().Set("Location", to)
	r.w.WriteHeader(http.StatusMovedPermanently)
	return true
}

// upgrades reports whether the request is for another protocol on the connection.
func (r *request) upgrades() bool {
	return strings.Contains(strings.ToLower(strings.Join(r.Header["Connection"], ",")), "upgrade")
}

// mayUpgrade checks that a caller that opens a WebSocket to a pod may create its subresource: such a request
// is a GET, for which the right to read would be enough.
func (r *request) mayUpgrade() error {
	if r.info.Subresource == "log" || r.info.Verb == "create" || !r.webSocket() {
		return nil
	}
	return r.mayCreate(r.Context())
}

// connectOptions are the options of a connection as admission sees them.
func connectOptions(subresource string, q url.Values) any {
	switch subresource {
	case "exec":
		return &corev1.PodExecOptions{TypeMeta: coreKind("PodExecOptions"), Stdin: boolParam(q, "stdin"), Stdout: boolParam(q, "stdout"), Stderr: boolParam(q, "stderr"),
			TTY: boolParam(q, "tty"), Container: q.Get("container"), Command: q["command"]}
	case "attach":
		return &corev1.PodAttachOptions{TypeMeta: coreKind("PodAttachOptions"), Stdin: boolParam(q, "stdin"), Stdout: boolParam(q, "stdout"), Stderr: boolParam(q, "stderr"),
			TTY: boolParam(q, "tty"), Container: q.Get("container")}
	}
	return &corev1.PodPortForwardOptions{TypeMeta: coreKind("PodPortForwardOptions")}
}

func coreKind(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "v1", Kind: kind} }

// admitProxy runs admission for a request that is forwarded to obj.
func (s *Server) admitProxy(rt *route, r *request, obj metav1.Object) error {
	var options any
	switch obj.(type) {
	case *corev1.Pod:
		options = &corev1.PodProxyOptions{TypeMeta: coreKind("PodProxyOptions"), Path: r.proxyPath()}
	case *corev1.Node:
		options = &corev1.NodeProxyOptions{TypeMeta: coreKind("NodeProxyOptions"), Path: r.proxyPath()}
	default:
		options = &corev1.ServiceProxyOptions{TypeMeta: coreKind("ServiceProxyOptions"), Path: r.proxyPath()}
	}
	return rt.res.Connect(r.Context(), metav1.KeyOf(obj), options, registry.Write{Warn: r.warn, Annotate: r.annotate(), Subresource: "proxy"})
}

func joinHostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
