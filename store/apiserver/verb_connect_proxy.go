package apiserver

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/registry"
)

// proxyNode forwards a request to the kubelet.
func (s *Server) proxyNode(r *request, node *corev1.Node) {
	host, err := s.kubeletOf(node)
	if err == nil {
		err = s.checkReachableAddress(r, host)
	}
	if err != nil {
		r.fail(err)
		return
	}
	s.forwardToNode(r, s.proxyURL(r, "https", host))
}

// proxyURL returns the URL of the rest of the path and the query at another host.
func (s *Server) proxyURL(r *request, scheme, host string) *url.URL {
	if scheme == "" {
		scheme = "http"
	}
	return &url.URL{Scheme: scheme, Host: host, Path: "/" + r.info.Rest, RawQuery: r.URL.RawQuery}
}

// backends reaches pods and services.
func (s *Server) backends() http.RoundTripper {
	if s.opts.Backends != nil {
		return s.opts.Backends
	}
	return s.direct
}

// newDirect returns a transport to pods. Unlike net/http's default one it ignores the proxy of the
// environment, which is for hosts outside the cluster.
func newDirect() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	return t
}

func (s *Server) proxyPod(r *request, pod *corev1.Pod) {
	scheme, _, port := splitTarget(r.info.Name)
	if pod.Status.PodIP == "" {
		r.fail(apierrors.NewServiceUnavailable("the pod has no address yet"))
		return
	}
	if port == "" {
		port = "80"
		if len(pod.Spec.Containers) > 0 && len(pod.Spec.Containers[0].Ports) > 0 {
			port = strconv.Itoa(int(pod.Spec.Containers[0].Ports[0].ContainerPort))
		}
	}
	host := net.JoinHostPort(pod.Status.PodIP, port)
	if err := s.checkReachableAddress(r, host); err != nil {
		r.fail(err)
		return
	}
	s.forward(r, s.backends(), s.proxyURL(r, scheme, host))
}

func (s *Server) proxyService(r *request, svc *corev1.Service) {
	scheme, _, port := splitTarget(r.info.Name)
	host, err := s.endpointOf(r, svc, port)
	if err == nil {
		err = s.checkReachableAddress(r, host)
	}
	if err != nil {
		r.fail(err)
		return
	}
	s.forward(r, s.backends(), s.proxyURL(r, scheme, host))
}

// endpointOf picks a ready endpoint of a service at random, out of those that are pods of its namespace: an
// EndpointSlice may name any address.
func (s *Server) endpointOf(r *request, svc *corev1.Service, port string) (string, error) {
	name, ok := "", len(svc.Spec.Ports) == 1 && port == ""
	for _, p := range svc.Spec.Ports {
		if ok || p.Name == port || strconv.Itoa(int(p.Port)) == port || p.TargetPort == intstr.Parse(port) && port != "" {
			name, ok = p.Name, true
			break
		}
	}
	if !ok {
		return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %q found for service %q", port, svc.Name))
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
