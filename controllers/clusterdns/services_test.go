package clusterdns

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// TestKeptServices: after every change of Services and EndpointSlices, what is kept is what would be read
// now.
func TestKeptServices(t *testing.T) {
	for _, seed := range seeds.Of(t, 3) {
		synctest.Test(t, func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{Seed: seed})
			var s *Server
			c.Run(c.Manager("dns", func(m *manager.Manager) (err error) {
				s, err = New(m, Options{})
				return err
			}))
			rng := seeds.Rand(seed)
			name := func() string { return fmt.Sprintf("s%d", rng.IntN(2)) }
			for range 60 {
				if svc := name(); rng.IntN(4) > 0 {
					sl := fmt.Sprintf("e%d", rng.IntN(2))
					replace(c, "default", sl, &discoveryv1.EndpointSlice{
						ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: sl, Labels: map[string]string{discoveryv1.LabelServiceName: svc}},
						AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{fmt.Sprintf("10.244.0.%d", rng.IntN(9))}}}})
				} else {
					replace(c, "default", svc, &corev1.Service{ObjectMeta: controllertest.Name("default", svc), Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}})
				}
				c.Settle()
				for i := range 2 {
					key := types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("s%d", i)}
					kept, err := s.find(key)
					var now *service
					want := s.services.View(key, func(obj *corev1.Service) { now = s.read(obj) })
					require.Equal(t, want == nil, err == nil, "seed %d", seed)
					require.Equal(t, now, kept, "seed %d", seed)
				}
			}
		})
	}
}

// replace deletes an object if it exists, changes it if it is an EndpointSlice, or else creates it.
func replace[T metav1.Object](c *controllertest.Cluster, namespace, name string, obj T) {
	if !controllertest.Exists[T](c, namespace, name) {
		controllertest.Create(c, obj)
		return
	}
	if want, ok := any(obj).(*discoveryv1.EndpointSlice); ok && want.Endpoints[0].Addresses[0] != "10.244.0.0" {
		controllertest.Update(c, namespace, name, func(s *discoveryv1.EndpointSlice) { s.Labels, s.Endpoints = want.Labels, want.Endpoints })
		return
	}
	controllertest.Delete[T](c, namespace, name)
}
