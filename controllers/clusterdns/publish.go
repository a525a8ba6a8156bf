package clusterdns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// Service is the name of the Service of the cluster's DNS.
var Service = types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: "kube-dns"}

// managedBy marks the EndpointSlice of Publish.
const managedBy = "clusterdns.keelson.dev"

// ErrClusterIP is returned if the Service of the cluster's DNS already has another cluster IP, which cannot
// be changed.
var ErrClusterIP = errors.New("clusterdns: the service has another cluster IP")

// Publish creates or updates the Service kube-system/kube-dns, without a selector, with clusterIP, and an
// EndpointSlice for it with the address and port of a server, which must not be a loopback address. The
// proxy's rules forward queries from one to the other.
func Publish(ctx context.Context, conn client.Conn, clusterIP, address netip.Addr, port uint16) error {
	if err := publishService(ctx, conn, clusterIP, port); err != nil {
		return fmt.Errorf("clusterdns: publish service %s: %w", Service, err)
	}
	if err := publishSlice(ctx, conn, address, port); err != nil {
		return fmt.Errorf("clusterdns: publish endpoints of %s: %w", Service, err)
	}
	return nil
}

func publishService(ctx context.Context, conn client.Conn, clusterIP netip.Addr, port uint16) error {
	services := client.For[*corev1.Service](conn)
	ports := []corev1.ServicePort{
		{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53, TargetPort: intstr.FromInt32(int32(port))},
		{Name: "dns-tcp", Protocol: corev1.ProtocolTCP, Port: 53, TargetPort: intstr.FromInt32(int32(port))},
	}
	labels := map[string]string{"k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"}
	return retryConflict(func() error {
		svc, err := services.Get(ctx, Service)
		if apierrors.IsNotFound(err) {
			_, err = services.Create(ctx, &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: Service.Namespace, Name: Service.Name, Labels: labels},
				Spec:       corev1.ServiceSpec{ClusterIP: clusterIP.String(), ClusterIPs: []string{clusterIP.String()}, Ports: ports},
			})
		}
		if err != nil || svc == nil {
			return err
		}
		if svc.Spec.ClusterIP != clusterIP.String() {
			return fmt.Errorf("%w: %s, not %s", ErrClusterIP, svc.Spec.ClusterIP, clusterIP)
		}
		next := codec.DeepCopy(svc)
		next.Spec.Selector = nil
		next.Spec.Ports = ports
		if codec.Equal(svc, next) {
			return nil
		}
		_, err = services.Update(ctx, next)
		return err
	})
}

func publishSlice(ctx context.Context, conn client.Conn, address netip.Addr, port uint16) error {
	family := discoveryv1.AddressTypeIPv4
	if address.Unmap().Is6() {
		family = discoveryv1.AddressTypeIPv6
	}
	want := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: Service.Namespace, Name: Service.Name, Labels: map[string]string{
			discoveryv1.LabelServiceName: Service.Name, discoveryv1.LabelManagedBy: managedBy}},
		AddressType: family,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address.Unmap().String()}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		Ports: []discoveryv1.EndpointPort{
			{Name: new("dns"), Protocol: new(corev1.ProtocolUDP), Port: new(int32(port))},
			{Name: new("dns-tcp"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(port))},
		},
	}
	slices := client.For[*discoveryv1.EndpointSlice](conn)
	return retryConflict(func() error {
		have, err := slices.Get(ctx, want.Key())
		if apierrors.IsNotFound(err) {
			_, err = slices.Create(ctx, codec.DeepCopy(want))
			return err
		}
		if err != nil {
			return err
		}
		if have.AddressType != family { // it cannot be changed
			if err := slices.Delete(ctx, want.Key()); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			_, err = slices.Create(ctx, codec.DeepCopy(want))
			return err
		}
		next := codec.DeepCopy(have)
		next.Labels, next.Endpoints, next.Ports = want.Labels, want.Endpoints, want.Ports
		if codec.Equal(have, next) {
			return nil
		}
		_, err = slices.Update(ctx, next)
		return err
	})
}

// retryConflict calls f again while somebody else changes what it read.
func retryConflict(f func() error) error {
	var err error
	for range 5 {
		if err = f(); !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return err
}
