package webhook

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

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
	services = corev1.GroupVersion.WithResource("services")
	slices   = discoveryv1.GroupVersion.WithResource("endpointslices")
)

// Resolve returns host and port of a port of a service: of one of its ready endpoints, which works without a
// service proxy, or its cluster IP if there is no endpoint.
func Resolve(ctx context.Context, s Services, namespace, name string, port int32) (string, error) {
	obj, err := s.Get(ctx, services, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return "", err
	}
	svc, ok := obj.(*corev1.Service)
	if !ok {
		return "", fmt.Errorf("service %q is of an unknown type", name)
	}
	at := func(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return at(svc.Spec.ExternalName, port), nil
	}
	var wanted *corev1.ServicePort
	for i := range svc.Spec.Ports {
		if svc.Spec.Ports[i].Port == port {
			wanted = &svc.Spec.Ports[i]
		}
	}
	if wanted == nil {
		return "", fmt.Errorf("no service port %d found for service %q", port, name)
	}
	objs, err := s.List(ctx, slices, namespace, labels.SelectorFromSet(map[string]string{discoveryv1.LabelServiceName: name}))
	if err != nil {
		return "", err
	}
	if all := ready(objs, wanted.Name, at); len(all) > 0 {
		return all[rand.IntN(len(all))], nil
	}
	if svc.Spec.ClusterIP == "" || svc.Spec.ClusterIP == corev1.ClusterIPNone {
		return "", fmt.Errorf("no endpoints available for service %q", name)
	}
	return at(svc.Spec.ClusterIP, port), nil
}

// ready returns the addresses of the ready endpoints of a port.
func ready(objs []metav1.Object, port string, at func(string, int32) string) []string {
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
