package apiserver

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/registry"
)

// connectPod serves log, exec, attach and portforward.
func (s *Server) connectPod(rt *route, r *request, pod *corev1.Pod) {
	if err := r.mayUpgrade(); err != nil {
		r.fail(err)
		return
	}
	if read := s.opts.Metrics.LogRead; read != nil && r.info.Subresource == "log" {
		read(boolParam(r.query, skipVerification))
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
		w := registry.Write{Warn: r.warn, Annotate: r.annotate(), Subresource: r.info.Subresource}
		if err := rt.res.Connect(r.Context(), r.key(true), connectOptions(r.info.Subresource, r.query), w); err != nil {
			r.fail(err)
			return
		}
	}
	node, host, err := s.kubelet(r, pod.Spec.NodeName)
	if err != nil {
		r.fail(err)
		return
	}
	if r.info.Subresource != "log" {
		if streamed := s.opts.Metrics.Streamed; streamed != nil {
			streamed(r.info.Subresource, !slices.Contains(node.Status.DeclaredFeatures, servesWebSockets))
		}
		if !r.upgrades() {
			r.fail(apierrors.NewBadRequest("Upgrade request required"))
			return
		}
	}
	u := podURL(host, r, pod, container)
	if err := s.checkReachableAddress(r, host); err != nil {
		r.fail(r.backendError(u, err, false))
		return
	}
	switch {
	case r.info.Subresource == "log" && r.webSocket():
		s.socketLog(r, u)
	case r.info.Subresource != "log" && s.connectTranslated(r, node, u):
	default:
		s.forwardToNode(r, u)
	}
}

// containerOf checks the named container, or finds the only one.
func containerOf(pod *corev1.Pod, name string) (string, error) {
	// In the order of their start.
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
			if boolParam(r.query, names[i]) {
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

// kubelet returns a node, and host and port of the server of its kubelet, which have not been checked.
func (s *Server) kubelet(r *request, name string) (*corev1.Node, string, error) {
	if s.opts.Nodes == nil {
		return nil, "", apierrors.NewServiceUnavailable("this server cannot reach nodes")
	}
	obj, err := s.Access().Get(r.Context(), gvr{Version: "v1", Resource: "nodes"}, types.NamespacedName{Name: name})
	if err != nil {
		return nil, "", err
	}
	node := obj.(*corev1.Node)
	host, err := s.kubeletOf(node)
	return node, host, err
}

// defaultKubeletPort is the port of kubelets whose node status has none.
const defaultKubeletPort = 10250

func (s *Server) kubeletOf(node *corev1.Node) (string, error) {
	port := int(node.Status.DaemonEndpoints.KubeletEndpoint.Port)
	if port == 0 {
		port = defaultKubeletPort
	}
	for _, t := range s.opts.NodeAddressTypes {
		for _, a := range node.Status.Addresses {
			if a.Type == t && a.Address != "" {
				return joinHostPort(a.Address, port), nil
			}
		}
	}
	known := make([]string, len(node.Status.Addresses))
	for i, a := range node.Status.Addresses {
		known[i] = fmt.Sprintf("{%s %s}", a.Type, a.Address)
	}
	return "", apierrors.New(http.StatusInternalServerError, "", fmt.Sprintf("no preferred addresses found; known addresses: %v", known))
}

// forwardToNode sends the request to a kubelet, without its origin: kubelets refuse the WebSockets of pages
// of other hosts, and theirs is not the one that the client has.
func (s *Server) forwardToNode(r *request, u *url.URL) {
	r.Header.Del("Origin")
	s.forward(r, s.nodes(r), u)
}

// nodes is how kubelets are reached for a request.
func (s *Server) nodes(r *request) http.RoundTripper {
	if s.opts.NodesUnverified != nil && r.info.Subresource == "log" && boolParam(r.query, skipVerification) {
		return s.opts.NodesUnverified
	}
	return s.opts.Nodes
}

// skipVerification is the parameter of requests for logs from a kubelet whatever its certificate is.
const skipVerification = "insecureSkipTLSVerifyBackend"
