package proxy

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden compares the rules of a few Services with testdata, which is easier to read than the code.
func TestGolden(t *testing.T) {
	web := service("web", "10.96.0.1", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }, port("http", tcp, 80, 30080))
	lb := service("lb", "10.96.0.2", func(s *corev1.Service) {
		s.Spec.Type = corev1.ServiceTypeLoadBalancer
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		s.Spec.HealthCheckNodePort = 30099
		s.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.2"}}
	}, port("", tcp, 443, 30443))
	sticky := service("sticky", "10.96.0.3", func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }, port("dns", udp, 53, 0))
	empty := service("empty", "10.96.0.4", func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"203.0.113.4"} }, port("", tcp, 80, 0))
	eps := map[*corev1.Service][]where{
		web: {here(0), elsewhere(1)}, lb: {here(0), elsewhere(1)}, sticky: {here(2)},
	}
	var ports []*ServicePort
	for _, svc := range []*corev1.Service{web, lb, sticky, empty} {
		ports = append(ports, Plan(IPv4, svc, []*discoveryv1.EndpointSlice{slice(svc, discoveryv1.AddressTypeIPv4, eps[svc]...)}, Node{Name: "here"})...)
	}
	slices.SortFunc(ports, func(a, b *ServicePort) int { return a.Name.Compare(b.Name) })
	for _, mode := range modes {
		cfg := config(mode)
		cfg.LocalhostNodePorts = mode == IPTables
		got := NewCompiler(cfg).Compile(ports).Text()
		path := filepath.Join("testdata", string(mode)+".golden")
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), got, "after a change that is meant: go test -run TestGolden -update")
	}
}

// TestNamesAreUpstreams: chain names are digests that kube-proxy computes too; these were seen in a real
// cluster.
func TestNamesAreUpstreams(t *testing.T) {
	api := PortName{Port: "https", Protocol: tcp}
	api.Service.Namespace, api.Service.Name = "default", "kubernetes"
	require.Equal(t, "KUBE-SVC-NPX46M4PTMTKRN6Y", iptPortChain("KUBE-SVC-", api))
	name := PortName{Port: "dns", Protocol: udp}
	name.Service.Namespace, name.Service.Name = "kube-system", "kube-dns"
	require.Equal(t, "KUBE-SVC-TCOU7JCQXEZGVUNU", iptPortChain("KUBE-SVC-", name))
	require.Equal(t, "2QRHZV4L-default/kubernetes/tcp/https", nftName(api))
	name.Port, name.Protocol = "dns-tcp", tcp
	require.Equal(t, "NWBZK7IH-kube-system/kube-dns/tcp/dns-tcp", nftName(name))
}
