package apiserver_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/builtin"
	"github.com/stretchr/testify/require"
)

func TestServiceAddresses(t *testing.T) {
	s := startCluster(t, apiserver.Options{Builtin: builtin.Options{ServiceCIDR: "10.0.0.0/29", NodePorts: builtin.PortRange{First: 30000, Last: 30002}}})
	services := "/api/v1/namespaces/default/services"
	svc := func(name, spec string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"ports":[{"port":80}]%s}}`, name, spec)
	}
	seen := map[string]bool{"10.0.0.1": true}
	for i := range 5 {
		o := s.do("POST", services, svc(fmt.Sprintf("s%d", i), "")).ok(201)
		require.False(t, seen[o.str("spec.clusterIP")], "allocated twice")
		seen[o.str("spec.clusterIP")] = true
	}
	full := s.do("POST", services, svc("full", ""))
	require.Equal(t, 500, full.code)
	require.Contains(t, string(full.body), "range is full")
	s.do("GET", services+"/full", nil).ok(404)
	freed := s.do("DELETE", services+"/s3", nil).ok(200).str("spec.clusterIP")
	require.Equal(t, freed, s.do("POST", services, svc("again", "")).ok(201).str("spec.clusterIP"))
	no := s.do("POST", services, svc("taken", fmt.Sprintf(`,"clusterIP":%q`, freed))).ok(422)
	require.Contains(t, no.str("message"), "already allocated")
	s.do("DELETE", services+"/again", nil).ok(200)

	np := s.do("POST", services, svc("np", `,"type":"NodePort"`)).ok(201)
	port := np["spec"].(map[string]any)["ports"].([]any)[0].(map[string]any)["nodePort"]
	require.NotNil(t, port)
	s.do("DELETE", services+"/s1", nil).ok(200)
	no = s.do("POST", services, fmt.Sprintf(`{"metadata":{"name":"clash"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":%v}]}}`, port)).ok(422)
	require.Contains(t, no.str("message"), "already allocated")
	// Changing it to a ClusterIP service releases the port.
	s.do("PATCH", services+"/np", `{"spec":{"type":"ClusterIP","ports":null}}`, "Content-Type", "application/merge-patch+json")
	s.do("PATCH", services+"/np", `{"spec":{"type":"ClusterIP"}}`, "Content-Type", "application/merge-patch+json").ok(200)
	s.do("POST", services, fmt.Sprintf(`{"metadata":{"name":"clash"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":%v}]}}`, port)).ok(201)
	require.Len(t, s.do("GET", "/apis/networking.k8s.io/v1/ipaddresses", nil).ok(200).items(), 1+5)
}

// Services created concurrently never share an address, and every address has its IPAddress.
func TestServiceAddressesInARace(t *testing.T) {
	s := startCluster(t, apiserver.Options{Builtin: builtin.Options{ServiceCIDR: "10.0.0.0/24"}})
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			s.do("POST", "/api/v1/namespaces/default/services", fmt.Sprintf(`{"metadata":{"name":"s%d"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`, i)).ok(201)
		})
	}
	wg.Wait()
	ips, ports := map[string]int{}, map[any]int{}
	for _, i := range s.do("GET", "/api/v1/namespaces/default/services", nil).ok(200).items() {
		o := object(i.(map[string]any))
		ips[o.str("spec.clusterIP")]++
		if p, ok := o.at("spec.ports").([]any)[0].(map[string]any)["nodePort"]; ok {
			ports[p]++
		}
	}
	require.Len(t, ips, 61)
	require.Len(t, ports, 60)
	require.Len(t, s.do("GET", "/apis/networking.k8s.io/v1/ipaddresses", nil).ok(200).items(), 61)
}

// Allocations that were changed by hand are repaired.
func TestServiceAllocationsAreRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		faults := map[string]int{}
		s := startCluster(t, apiserver.Options{Builtin: builtin.Options{Metrics: builtin.Metrics{
			Repaired: func(ports bool, f builtin.Fault) {
				mu.Lock()
				defer mu.Unlock()
				faults[fmt.Sprint(ports, " ", f)]++
			},
			Unrepaired: func(bool) { t.Error("unrepaired") },
		}}})
		o := s.do("POST", "/api/v1/namespaces/default/services", `{"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`).ok(201)
		addresses := "/apis/networking.k8s.io/v1/ipaddresses"
		s.do("DELETE", addresses+"/"+o.str("spec.clusterIP"), nil).ok(200)
		s.do("POST", addresses, `{"metadata":{"name":"10.96.9.9","labels":{"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io","ipaddress.kubernetes.io/ip-family":"IPv4"}},"spec":{"parentRef":{"resource":"services","namespace":"default","name":"gone"}}}`).ok(201)
		_, err := s.Registry().Store().Delete(t.Context(), "/ranges/servicenodeports", store.AnyRevision, store.WriteOptions{})
		require.NoError(t, err)
		time.Sleep(4 * time.Minute)
		require.Equal(t, []string{"10.96.0.1", o.str("spec.clusterIP")}, s.do("GET", addresses, nil).ok(200).names())
		port := o["spec"].(map[string]any)["ports"].([]any)[0].(map[string]any)["nodePort"]
		s.do("POST", "/api/v1/namespaces/default/services", fmt.Sprintf(`{"metadata":{"name":"clash"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":%v}]}}`, port)).ok(422)
		s.stop()
		require.Equal(t, map[string]int{"false repair": 1, "false leak": 1, "true repair": 1}, faults)
	})
}
