package apiserver

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/registry"
)

// connect passes a request on to where an object lives: to the kubelet of its node, or to the object's own
// address.
func (s *Server) connect(rt *route, r *request) {
	if err := checkConnectOptions(r.info.Subresource, r.info.Name, r.query); err != nil {
		r.fail(err)
		return
	}
	obj, err := s.connected(rt, r)
	if err != nil {
		r.fail(err)
		return
	}
	if r.info.Subresource == "proxy" {
		if err := s.askProxy(rt, r, obj); err != nil {
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

// connected returns the object a connection is for. In a proxy path a name may carry a scheme and a port.
func (s *Server) connected(rt *route, r *request) (metav1.Object, error) {
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

// splitTarget takes scheme:name:port apart; scheme and port may be missing.
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

// connectPod serves log, exec, attach and portforward.
func (s *Server) connectPod(rt *route, r *request, pod *corev1.Pod) {
	if err := r.mayUpgrade(); err != nil {
		r.fail(err)
		return
	}
	container := ""
	if r.info.Subresource != "portforward" {
		var err error
		if container, err = containerOf(pod, r.query.Get("container")); err != nil {
			r.fail(err)
			return
		}
	}
	if pod.Spec.NodeName == "" {
		if r.info.Subresource == "log" {
			r.w.WriteHeader(http.StatusNoContent)
			return
		}
		r.fail(apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name)))
		return
	}
	if r.info.Subresource != "log" {
		w := registry.Write{Warn: r.warn, Subresource: r.info.Subresource}
		if err := rt.res.Connect(r.Context(), r.key(true), connectOptions(r.info.Subresource, r.query), w); err != nil {
			r.fail(err)
			return
		}
	}
	host, err := s.kubelet(r, pod.Spec.NodeName)
	if err != nil {
		r.fail(err)
		return
	}
	if u := podURL(host, r, pod, container); r.info.Subresource == "log" && r.webSocket() {
		s.socketLog(r, u)
	} else {
		s.forwardToNode(r, u)
	}
}

// mayUpgrade checks that whoever opens a WebSocket to a pod may create what it is for: such a request is a
// GET, which the right to read would allow.
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
		return &corev1.PodExecOptions{TypeMeta: coreKind("PodExecOptions"), Stdin: flag(q, "stdin"), Stdout: flag(q, "stdout"), Stderr: flag(q, "stderr"),
			TTY: flag(q, "tty"), Container: q.Get("container"), Command: q["command"]}
	case "attach":
		return &corev1.PodAttachOptions{TypeMeta: coreKind("PodAttachOptions"), Stdin: flag(q, "stdin"), Stdout: flag(q, "stdout"), Stderr: flag(q, "stderr"),
			TTY: flag(q, "tty"), Container: q.Get("container")}
	}
	return &corev1.PodPortForwardOptions{TypeMeta: coreKind("PodPortForwardOptions")}
}

func coreKind(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "v1", Kind: kind} }

// askProxy asks admission about a request that is passed on to obj.
func (s *Server) askProxy(rt *route, r *request, obj metav1.Object) error {
	var options any
	switch obj.(type) {
	case *corev1.Pod:
		options = &corev1.PodProxyOptions{TypeMeta: coreKind("PodProxyOptions"), Path: r.query.Get("path")}
	case *corev1.Node:
		options = &corev1.NodeProxyOptions{TypeMeta: coreKind("NodeProxyOptions"), Path: r.query.Get("path")}
	default:
		options = &corev1.ServiceProxyOptions{TypeMeta: coreKind("ServiceProxyOptions"), Path: r.query.Get("path")}
	}
	return rt.res.Connect(r.Context(), metav1.KeyOf(obj), options, registry.Write{Warn: r.warn, Subresource: "proxy"})
}

// containerOf checks the container asked for, or finds the only one.
func containerOf(pod *corev1.Pod, name string) (string, error) {
	// In the order in which they are started.
	var names []string
	for i := range pod.Spec.InitContainers {
		names = append(names, pod.Spec.InitContainers[i].Name)
	}
	for i := range pod.Spec.Containers {
		names = append(names, pod.Spec.Containers[i].Name)
	}
	for i := range pod.Spec.EphemeralContainers {
		names = append(names, pod.Spec.EphemeralContainers[i].Name)
	}
	switch {
	case name == "" && len(pod.Spec.Containers) == 1:
		return pod.Spec.Containers[0].Name, nil
	case name == "":
		return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %v", pod.Name, names))
	case slices.Contains(names, name):
		return name, nil
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
}

// podURL is where the kubelet serves the subresource.
func podURL(host string, r *request, pod *corev1.Pod, container string) *url.URL {
	u := &url.URL{Scheme: "https", Host: host}
	q := url.Values{}
	copyFlags := func(names ...string) {
		for i := 0; i+1 < len(names); i += 2 {
			if flag(r.query, names[i]) {
				q.Set(names[i+1], "1")
			}
		}
	}
	switch r.info.Subresource {
	case "log":
		u.Path = "/containerLogs/" + pod.Namespace + "/" + pod.Name + "/" + container
		for _, name := range []string{"follow", "previous", "timestamps", "sinceSeconds", "sinceTime", "tailLines", "limitBytes", "stream"} {
			if v := r.query.Get(name); v != "" {
				q.Set(name, v)
			}
		}
	case "portforward":
		u.Path = "/portForward/" + pod.Namespace + "/" + pod.Name
		if ports := r.query["ports"]; len(ports) > 0 {
			q["port"] = ports
		}
	default:
		u.Path = "/" + r.info.Subresource + "/" + pod.Namespace + "/" + pod.Name + "/" + container
		copyFlags("stdin", "input", "stdout", "output", "stderr", "error", "tty", "tty")
		if command := r.query["command"]; len(command) > 0 {
			q["command"] = command
		}
	}
	u.RawQuery = q.Encode()
	return u
}

// kubelet returns host and port of the server of a node's kubelet.
func (s *Server) kubelet(r *request, node string) (string, error) {
	if s.options.Nodes == nil {
		return "", apierrors.NewServiceUnavailable("this server cannot reach nodes")
	}
	obj, err := s.Access().Get(r.Context(), gvr{Version: "v1", Resource: "nodes"}, types.NamespacedName{Name: node})
	if err != nil {
		return "", err
	}
	host, err := kubeletOf(obj.(*corev1.Node))
	if err != nil {
		return "", err
	}
	return host, s.reachableAt(r, host)
}

// defaultKubeletPort is that of kubelets which do not say.
const defaultKubeletPort = 10250

func kubeletOf(node *corev1.Node) (string, error) {
	port := int(node.Status.DaemonEndpoints.KubeletEndpoint.Port)
	if port == 0 {
		port = defaultKubeletPort
	}
	for _, t := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP, corev1.NodeInternalDNS, corev1.NodeExternalDNS, corev1.NodeHostName} {
		for _, a := range node.Status.Addresses {
			if a.Type == t && a.Address != "" {
				return joinHostPort(a.Address, port), nil
			}
		}
	}
	return "", apierrors.NewInternalError(fmt.Errorf("no address of node %s is known", node.Name))
}

// forwardToNode sends the request to a kubelet. Kubelets refuse the WebSockets of pages of other hosts; from
// which pages this server may be used has been decided here.
func (s *Server) forwardToNode(r *request, u *url.URL) {
	r.Header.Del("Origin")
	s.forward(r, s.options.Nodes, u)
}

// forward sends the request to u and copies the answer, also of a connection that is upgraded.
func (s *Server) forward(r *request, to http.RoundTripper, u *url.URL) {
	if to == nil {
		r.fail(apierrors.NewServiceUnavailable("this server cannot reach nodes"))
		return
	}
	proxy := &httputil.ReverseProxy{
		Transport:     to,
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host = u, u.Host
			withoutCredentials(p.Out.Header)
			p.SetXForwarded()
		},
		ModifyResponse: func(resp *http.Response) error {
			if r.info.Subresource == "log" && resp.StatusCode >= 400 {
				return logError(resp)
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			if e, ok := err.(*apierrors.StatusError); ok {
				r.fail(e)
				return
			}
			if r.info.Subresource == "proxy" {
				r.fail(apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: %v", err)))
				return
			}
			r.fail(apierrors.NewInternalError(fmt.Errorf("error dialing backend: %w", err)))
		},
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(r.server.cutting, cancel)()
	proxy.ServeHTTP(r.w, r.WithContext(ctx))
}

// bearerProtocol begins the WebSocket protocol by which browsers send a token.
const bearerProtocol = "base64url.bearer.authorization.k8s.io."

// withoutCredentials removes what the client says about itself, which is for this server only, or would pass
// for this server's word.
func withoutCredentials(h http.Header) {
	h.Del("Authorization")
	for name := range h {
		if strings.HasPrefix(name, "Impersonate-") || strings.HasPrefix(name, "X-Remote-") {
			h.Del(name)
		}
	}
	const name = "Sec-Websocket-Protocol"
	if !strings.Contains(strings.Join(h[name], ","), bearerProtocol) {
		return
	}
	var rest []string
	for protocol := range strings.SplitSeq(strings.Join(h[name], ","), ",") {
		if protocol = strings.TrimSpace(protocol); !strings.HasPrefix(protocol, bearerProtocol) {
			rest = append(rest, protocol)
		}
	}
	h.Del(name)
	if len(rest) > 0 {
		h.Set(name, strings.Join(rest, ", "))
	}
}

// logError is what a kubelet says about logs it cannot give.
func logError(resp *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 2048))
	_ = resp.Body.Close()
	text := strings.TrimSpace(string(b))
	if resp.StatusCode == http.StatusBadRequest {
		return apierrors.NewBadRequest(text)
	}
	return apierrors.NewGenericServerResponse(resp.StatusCode, "get", schema.GroupResource{Resource: "pods/log"}, "", text, 0, true)
}

func joinHostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
