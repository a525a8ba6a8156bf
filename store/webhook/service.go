package webhook

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Services reads the objects of the cluster by which services are resolved.
type Services interface {
	Get(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error)
	List(ctx context.Context, gvr schema.GroupVersionResource, namespace string, selector labels.Selector) ([]metav1.Object, error)
}

var (
	services       = corev1.GroupVersion.WithResource("services")
	endpointSlices = discoveryv1.GroupVersion.WithResource("endpointslices")
)

// Resolve returns host and port of a port of a service: of one of its ready endpoints, which works without a
// service proxy, or its cluster IP if there is no endpoint.
func Resolve(ctx context.Context, s Services, namespace, name string, port int32) (string, error) {
	all, err := ResolveAll(ctx, s, namespace, name, port)
	if err != nil {
		return "", err
	}
	return all[0], nil
}

// ResolveAll returns host and port of a port of a service: of all ready endpoints in random order, or the
// cluster IP if there is none.
func ResolveAll(ctx context.Context, s Services, namespace, name string, port int32) ([]string, error) {
	obj, err := s.Get(ctx, services, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return nil, err
	}
	svc, ok := obj.(*corev1.Service)
	if !ok {
		return nil, fmt.Errorf("service %q is of an unknown type", name)
	}
	at := func(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return []string{at(svc.Spec.ExternalName, port)}, nil
	}
	var wanted *corev1.ServicePort
	for i := range svc.Spec.Ports {
		if svc.Spec.Ports[i].Port == port {
			wanted = &svc.Spec.Ports[i]
		}
	}
	if wanted == nil {
		return nil, fmt.Errorf("no service port %d found for service %q", port, name)
	}
	objs, err := s.List(ctx, endpointSlices, namespace, labels.SelectorFromSet(map[string]string{discoveryv1.LabelServiceName: name}))
	if err != nil {
		return nil, err
	}
	if all := readyAddresses(objs, wanted.Name, at); len(all) > 0 {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all, nil
	}
	if svc.Spec.ClusterIP == "" || svc.Spec.ClusterIP == corev1.ClusterIPNone {
		return nil, fmt.Errorf("no endpoints available for service %q", name)
	}
	return []string{at(svc.Spec.ClusterIP, port)}, nil
}

// Dialer returns the function that opens connections to a service, as a Client with these Options does: at
// each of its endpoints, in random order, until one accepts.
func Dialer(s Service, o Options) DialFunc { return o.dialer(&s) }

// dialer returns the function that opens connections to a service, or to any host if that is nil.
func (o *Options) dialer(s *Service) DialFunc {
	var d net.Dialer
	switch {
	case o.Dial != nil:
		return o.Dial
	case s == nil:
		return d.DialContext
	}
	namespace, name, resolver := s.Namespace, s.Name, o.Services
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if resolver == nil {
			return nil, fmt.Errorf("service %q cannot be reached from here", name)
		}
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseInt(port, 10, 32)
		if err != nil {
			return nil, err
		}
		all, err := ResolveAll(ctx, resolver, namespace, name, int32(n))
		if err != nil {
			return nil, err
		}
		return dialFirst(ctx, all, func(ctx context.Context, address string) (net.Conn, error) {
			return d.DialContext(ctx, network, address)
		})
	}
}

// dialTimeout bounds one of several attempts to connect.
const dialTimeout = 3 * time.Second

// dialFirst connects to the first address that accepts, and returns all errors if none does.
func dialFirst(ctx context.Context, addresses []string, dial func(context.Context, string) (net.Conn, error)) (net.Conn, error) {
	var failed []error
	for i, address := range addresses {
		attempt, cancel := ctx, context.CancelFunc(func() {})
		if i < len(addresses)-1 {
			attempt, cancel = context.WithTimeout(ctx, dialTimeout)
		}
		conn, err := dial(attempt, address)
		cancel()
		if err == nil {
			return conn, nil
		}
		if failed = append(failed, err); ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failed...)
}

// readyAddresses returns the addresses of the ready endpoints of a port.
func readyAddresses(objs []metav1.Object, port string, at func(string, int32) string) []string {
	var all []string
	for _, obj := range objs {
		slice, ok := obj.(*discoveryv1.EndpointSlice)
		if !ok {
			continue
		}
		for _, p := range slice.Ports {
			if p.Port == nil || (p.Name != nil && *p.Name != port) || (p.Name == nil && port != "") {
				continue
			}
			for _, e := range slice.Endpoints {
				if len(e.Addresses) > 0 && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
					all = append(all, at(e.Addresses[0], *p.Port))
				}
			}
		}
	}
	return all
}
