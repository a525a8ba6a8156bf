package apiserver

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/registry"
)

// proxyNode forwards a request to the kubelet, or to another port of its node.
func (s *Server) proxyNode(r *request, node *corev1.Node) {
	t := r.target()
	host, err := s.kubeletOf(node)
	ofKubelet := true
	if address, port, splitErr := net.SplitHostPort(host); err == nil && splitErr == nil && t.port != "" && t.port != port {
		host, ofKubelet = net.JoinHostPort(address, t.port), false
	}
	if err == nil {
		err = s.checkReachableAddress(r, host)
	}
	scheme := t.scheme
	if ofKubelet {
		scheme = "https"
	}
	u := s.proxyURL(r, scheme, host)
	switch {
	case err != nil:
		r.fail(r.backendError(u, err, false))
	case ofKubelet:
		s.forwardToNode(r, u)
	default:
		s.forward(r, s.backends(), u)
	}
}

// proxyURL returns the URL of the rest of the path and the query at another host. The path has no empty
// elements and none that lead out of it, such as those of "a//b" and "../a".
func (s *Server) proxyURL(r *request, scheme, host string) *url.URL {
	if scheme == "" {
		scheme = "http"
	}
	at := path.Join("/", r.proxyPath())
	if strings.HasSuffix(r.URL.Path, "/") && at != "/" {
		at += "/"
	}
	return &url.URL{Scheme: scheme, Host: host, Path: at, RawQuery: r.URL.RawQuery}
}

// backends reaches pods and services.
func (s *Server) backends() http.RoundTripper {
	if s.opts.Backends != nil {
		return s.opts.Backends
	}
	return s.direct
}

// newDirect returns a transport to pods, services and ports of nodes. Unlike net/http's default one it
// ignores the proxy of the environment, which is for hosts outside the cluster, and it does not verify
// certificates: they are for the names by which a backend is known, and it is reached at its address.
// kube-apiserver does the same.
func newDirect() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	return t
}

func (s *Server) proxyPod(r *request, pod *corev1.Pod) {
	t := r.target()
	if pod.Status.PodIP == "" {
		r.fail(apierrors.NewServiceUnavailable("the pod has no address yet"))
		return
	}
	port := cmp.Or(t.port, firstPort(pod), defaultPort(t.scheme))
	host := net.JoinHostPort(pod.Status.PodIP, port)
	u := s.proxyURL(r, t.scheme, host)
	if err := s.checkReachableAddress(r, host); err != nil {
		r.fail(r.backendError(u, err, false))
		return
	}
	s.forward(r, s.backends(), u)
}

// firstPort is the first port that a container of the pod declares; empty if none does.
func firstPort(pod *corev1.Pod) string {
	for i := range pod.Spec.Containers {
		if ports := pod.Spec.Containers[i].Ports; len(ports) > 0 {
			return strconv.Itoa(int(ports[0].ContainerPort))
		}
	}
	return ""
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

func (s *Server) proxyService(r *request, svc *corev1.Service) {
	t := r.target()
	host, err := s.endpointOf(r, svc, t.port)
	if err == nil {
		err = s.checkReachableAddress(r, host)
	}
	u := s.proxyURL(r, t.scheme, host)
	if err != nil {
		r.fail(r.backendError(u, err, false))
		return
	}
	s.forward(r, s.backends(), u)
}

// endpointOf picks a ready endpoint of a service at random, out of those that are pods of its namespace: an
// EndpointSlice may name any address.
func (s *Server) endpointOf(r *request, svc *corev1.Service, port string) (string, error) {
	name, err := portOf(svc, port)
	if err != nil {
		return "", err
	}
	found, err := registry.List[*discoveryv1.EndpointSlice](r.Context(), s.Access(), gvr{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
		svc.Namespace, labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: svc.Name}))
	if err != nil {
		return "", err
	}
	var hosts []string
	for _, slice := range found {
		for _, p := range slice.Ports {
			if p.Port == nil || p.Name != nil && *p.Name != name {
				continue
			}
			for _, e := range slice.Endpoints {
				if e.Conditions.Ready != nil && !*e.Conditions.Ready {
					continue
				}
				for _, a := range e.Addresses {
					if s.isPod(r, svc.Namespace, e.TargetRef, a) {
						hosts = append(hosts, joinHostPort(a, int(*p.Port)))
					}
				}
			}
		}
	}
	if len(hosts) == 0 {
		return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", svc.Name))
	}
	return hosts[s.registry.Draw("endpoint "+svc.Namespace+"/"+svc.Name)%uint64(len(hosts))], nil
}

// portOf returns the name of the port of a service that a proxied path names or has the number of; the only
// one if the path has none.
func portOf(svc *corev1.Service, port string) (string, error) {
	if port == "" && len(svc.Spec.Ports) == 1 {
		return svc.Spec.Ports[0].Name, nil
	}
	number, err := strconv.ParseInt(port, 10, 64)
	for _, p := range svc.Spec.Ports {
		if err != nil && p.Name == port || err == nil && int64(p.Port) == number {
			return p.Name, nil
		}
	}
	if err == nil {
		return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, svc.Name))
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %q found for service %q", port, svc.Name))
}

// isPod reports whether an endpoint refers to a pod of the namespace that has the address.
func (s *Server) isPod(r *request, namespace string, ref *corev1.ObjectReference, address string) bool {
	if ref == nil || ref.Kind != "Pod" || ref.Namespace != "" && ref.Namespace != namespace {
		return false
	}
	obj, err := s.Access().Get(r.Context(), gvr{Version: "v1", Resource: "pods"}, types.NamespacedName{Namespace: namespace, Name: ref.Name})
	if err != nil {
		return false
	}
	status := &obj.(*corev1.Pod).Status
	return status.PodIP == address || slices.ContainsFunc(status.PodIPs, func(ip corev1.PodIP) bool { return ip.IP == address })
}
