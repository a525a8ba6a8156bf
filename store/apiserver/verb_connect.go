package apiserver

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/registry"
)

// connect forwards a request to the kubelet of the object's node, or to the object's own address.
func (s *Server) connect(rt *route, r *request) {
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
		_, key.Name, _ = splitTarget(key.Name)
	}
	o, err := rt.res.Get(r.Context(), key, registry.Freshness{})
	if err != nil {
		return nil, err
	}
	return rt.res.Decode(r.Context(), o)
}

// splitTarget splits scheme:name:port; scheme and port may be missing.
func splitTarget(text string) (scheme, name, port string) {
	parts := strings.Split(text, ":")
	switch len(parts) {
	case 2:
		return "", parts[0], parts[1]
	case 3:
		return parts[0], parts[1], parts[2]
	}
	return "", text, ""
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
		options = &corev1.PodProxyOptions{TypeMeta: coreKind("PodProxyOptions"), Path: r.query.Get("path")}
	case *corev1.Node:
		options = &corev1.NodeProxyOptions{TypeMeta: coreKind("NodeProxyOptions"), Path: r.query.Get("path")}
	default:
		options = &corev1.ServiceProxyOptions{TypeMeta: coreKind("ServiceProxyOptions"), Path: r.query.Get("path")}
	}
	return rt.res.Connect(r.Context(), metav1.KeyOf(obj), options, registry.Write{Warn: r.warn, Annotate: r.annotate(), Subresource: "proxy"})
}

func joinHostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
