package apiserver_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/builtin"
)

const services = "/api/v1/namespaces/default/services"

func service(name, spec string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"ports":[{"port":80}]%s}}`, name, spec)
}

// The IPAddress of a service is created and deleted with it; an address that is taken, or in no range, is
// refused with upstream's message.
func TestServiceAddressObjects(t *testing.T) {
	s := startCluster(t, apiserver.Options{Builtin: builtin.Options{ServiceCIDR: "10.96.0.0/24"}})
	const addresses = "/apis/networking.k8s.io/v1/ipaddresses"
	s.do("POST", services, service("a", `,"clusterIP":"10.96.0.10"`)).ok(201)
	ip := s.do("GET", addresses+"/10.96.0.10", nil).ok(200)
	require.Equal(t, "a", ip.str("spec.parentRef.name"))
	require.Equal(t, map[string]any{"ipaddress.kubernetes.io/ip-family": "IPv4", "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}, ip.at("metadata.labels"))
	for address, why := range map[string]string{
		"10.96.0.10":  "provided IP is already allocated",
		"10.97.0.1":   "the provided network does not match the current range",
		"10.96.0.0":   "the provided network does not match the current range",
		"10.96.0.255": "the provided network does not match the current range",
	} {
		got := s.do("POST", services, service("b", `,"clusterIP":"`+address+`"`)).ok(422)
		require.Equal(t, fmt.Sprintf(`Service "b" is invalid: spec.clusterIPs: Invalid value: [%q]: failed to allocate IP %s: %s`, address, address, why), got.str("message"))
	}
	s.do("PATCH", services+"/a", `{"spec":{"type":"ExternalName","externalName":"example.com","clusterIP":"","clusterIPs":null}}`, "Content-Type", "application/merge-patch+json").ok(200)
	s.do("GET", addresses+"/10.96.0.10", nil).ok(404)
	s.do("POST", services, service("b", `,"clusterIP":"10.96.0.10"`)).ok(201)
	s.do("DELETE", services+"/b", nil).ok(200)
	s.do("GET", addresses+"/10.96.0.10", nil).ok(404)
	require.Len(t, s.do("GET", addresses, nil).ok(200).items(), 1, "the service kubernetes")
}

// An added range is used when the first is full; addresses that the server picks are outside the lower band,
// which is for explicit requests.
func TestServiceRanges(t *testing.T) {
	s := startCluster(t, apiserver.Options{Builtin: builtin.Options{ServiceCIDR: "10.96.0.0/29"}})
	s.do("POST", "/apis/networking.k8s.io/v1/servicecidrs", `{"metadata":{"name":"more"},"spec":{"cidrs":["10.250.0.0/24"]}}`).ok(201)
	first, more := netip.MustParsePrefix("10.96.0.0/29"), netip.MustParsePrefix("10.250.0.0/24")
	inFirst, inMore := 0, 0
	for i := range 30 {
		ip := netip.MustParseAddr(s.do("POST", services, service(fmt.Sprintf("s%d", i), "")).ok(201).str("spec.clusterIP"))
		switch {
		case first.Contains(ip):
			inFirst++
		case more.Contains(ip):
			inMore++
			require.Greater(t, ip.As4()[3], byte(16), "the lower band is for explicit requests")
		}
	}
	require.Equal(t, 5, inFirst, "six addresses, and the service kubernetes has one")
	require.Equal(t, 25, inMore)
	s.do("POST", services, service("static", `,"clusterIP":"10.250.0.2"`)).ok(201)
	got := s.do("POST", "/apis/networking.k8s.io/v1/servicecidrs", `{"metadata":{"name":"bad"},"spec":{"cidrs":["10.1.2.3/24"]}}`).ok(422)
	require.Contains(t, got.str("message"), "spec.cidrs[0]")
}

// Dual stack: addresses of both families, in the order asked for, and a service that becomes dual or single
// later.
func TestDualStackServices(t *testing.T) {
	s := startCluster(t, apiserver.Options{Builtin: builtin.Options{ServiceCIDR: "10.96.0.0/16,fd00::/108"}})
	families := func(o object) string {
		var out []string
		for _, ip := range o.at("spec.clusterIPs").([]any) {
			if netip.MustParseAddr(ip.(string)).Is4() {
				out = append(out, "4")
			} else {
				out = append(out, "6")
			}
		}
		return strings.Join(out, ",")
	}
	require.Equal(t, "4", families(s.do("POST", services, service("one", "")).ok(201)))
	require.Equal(t, "6,4", families(s.do("POST", services, service("two", `,"ipFamilyPolicy":"RequireDualStack","ipFamilies":["IPv6"]`)).ok(201)))
	merge := []string{"Content-Type", "application/merge-patch+json"}
	require.Equal(t, "4,6", families(s.do("PATCH", services+"/one", `{"spec":{"ipFamilyPolicy":"PreferDualStack"}}`, merge...).ok(200)))
	require.Len(t, s.do("GET", "/apis/networking.k8s.io/v1/ipaddresses", nil).ok(200).items(), 5)
	require.Equal(t, "4", families(s.do("PATCH", services+"/one", `{"spec":{"ipFamilyPolicy":"SingleStack"}}`, merge...).ok(200)))
	require.Len(t, s.do("GET", "/apis/networking.k8s.io/v1/ipaddresses", nil).ok(200).items(), 4)
}

// Node ports: taken, out of range, one for two protocols, for health checks, released.
func TestNodePorts(t *testing.T) {
	s := startCluster(t, apiserver.Options{Builtin: builtin.Options{NodePorts: builtin.PortRange{First: 30000, Last: 30099}}})
	port := func(name, ports, more string) *answer {
		return s.do("POST", services, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"type":"NodePort","ports":[%s]%s}}`, name, ports, more))
	}
	port("a", `{"port":80,"nodePort":30001}`, "").ok(201)
	require.Equal(t, `Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated`,
		port("b", `{"port":80,"nodePort":30001}`, "").ok(422).str("message"))
	require.Equal(t, `Service "b" is invalid: spec.ports[0].nodePort: Invalid value: 29999: provided port is not in the valid range. The range of valid ports is 30000-30099`,
		port("b", `{"port":80,"nodePort":29999}`, "").ok(422).str("message"))
	both := port("dns", `{"name":"u","port":53,"protocol":"UDP"},{"name":"t","port":53,"protocol":"TCP"}`, "").ok(201).at("spec.ports").([]any)
	require.Equal(t, both[0].(map[string]any)["nodePort"], both[1].(map[string]any)["nodePort"], "one port number for both protocols")
	require.GreaterOrEqual(t, both[0].(map[string]any)["nodePort"], float64(30016), "the lower band is for explicit requests")
	lb := s.do("POST", services, `{"metadata":{"name":"lb"},"spec":{"type":"LoadBalancer","externalTrafficPolicy":"Local","healthCheckNodePort":30002,"ports":[{"port":80}]}}`).ok(201)
	require.Equal(t, float64(30002), lb.at("spec.healthCheckNodePort"))
	require.Contains(t, port("b", `{"port":80,"nodePort":30002}`, "").ok(422).str("message"), "provided port is already allocated")
	s.do("DELETE", services+"/lb", nil).ok(200)
	s.do("DELETE", services+"/a", nil).ok(200)
	port("c", `{"name":"y","port":80,"nodePort":30002},{"name":"x","port":81,"nodePort":30001}`, "").ok(201)
}

// The error of a create says if the existing object is being deleted, for clients that wait for that.
func TestCreateWhileDeleted(t *testing.T) {
	s := startCluster(t, apiserver.Options{})
	s.do("POST", configMaps, `{"metadata":{"name":"a","finalizers":["a.test/x"]}}`).ok(201)
	require.Equal(t, `configmaps "a" already exists`, s.do("POST", configMaps, configMap("a")).ok(409).str("message"))
	s.do("DELETE", configMaps+"/a", nil).ok(200)
	for _, path := range []string{configMaps, configMaps + "?dryRun=All"} {
		got := s.do("POST", path, configMap("a")).ok(409)
		require.Equal(t, `object is being deleted: configmaps "a" already exists`, got.str("message"))
		require.Equal(t, "AlreadyExists", got.str("reason"))
	}
}

// A resize may change the requests and limits of containers but not remove them.
func TestResizeRemovesNothing(t *testing.T) {
	s := startCluster(t, apiserver.Options{})
	const pods = "/api/v1/namespaces/default/pods"
	s.do("POST", pods, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"x","resources":{"requests":{"cpu":"100m","memory":"1Gi"},"limits":{"cpu":"200m"}}}]}}`).ok(201)
	resize := func(resources string) *answer {
		return s.do("PATCH", pods+"/p/resize", `{"spec":{"containers":[{"name":"c","resources":`+resources+`}]}}`, "Content-Type", "application/strategic-merge-patch+json")
	}
	require.Contains(t, resize(`{"limits":{"cpu":null}}`).ok(422).str("message"), "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed")
	require.Contains(t, resize(`{"requests":{"memory":null}}`).ok(422).str("message"), "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed")
	resize(`{"requests":{"cpu":"150m"},"limits":{"cpu":"300m"}}`).ok(200)
}

// A resize may change cpu and memory of the pod as a whole, and of nothing else of it.
func TestResizePodLevel(t *testing.T) {
	s := startCluster(t, apiserver.Options{})
	const pods, containers = "/api/v1/namespaces/default/pods", `"containers":[{"name":"c","image":"x"}]`
	s.do("POST", pods, `{"metadata":{"name":"p"},"spec":{`+containers+`,"resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"2"}}}}`).ok(201)
	s.do("POST", pods, `{"metadata":{"name":"bare"},"spec":{"containers":[{"name":"c","image":"x","resources":{"requests":{"cpu":"1"}}}]}}`).ok(201)
	resize := func(pod, spec string) *answer {
		return s.do("PATCH", pods+"/"+pod+"/resize", `{"spec":{`+spec+`}}`, "Content-Type", "application/merge-patch+json")
	}
	resize("p", `"resources":{"requests":{"cpu":"1500m"},"limits":{"cpu":"3"}}`).ok(200)
	require.Equal(t, "1500m", s.do("GET", pods+"/p", nil).ok(200).str("spec.resources.requests.cpu"))
	resize("p", `"resources":{"limits":{"memory":"2Gi"}}`).ok(200)
	resize("bare", `"resources":{"requests":{"cpu":"2"}}`).ok(200)
	for _, c := range []struct{ pod, spec, message string }{
		{"p", `"resources":null`, "spec.resources: Forbidden: pod-level resources cannot be removed"},
		{"p", `"resources":{"limits":{"cpu":null}}`, "spec.resources.limits: Forbidden: pod-level resource limits cannot be removed"},
		{"p", `"resources":{"requests":{"hugepages-2Mi":"2Mi"},"limits":{"hugepages-2Mi":"2Mi"}}`, "spec: Forbidden: only cpu and memory resources are mutable at pod-level"},
		{"p", `"resources":{"requests":{"cpu":"4"}}`, "spec.resources.requests"},
		{"p", `"containers":[{"name":"d","image":"x"}]`, "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"},
		{"p", `"containers":[{"name":"c","image":"x"},{"name":"d","image":"x"}]`, "spec.containers: Forbidden: containers may not be added or removed on resize"},
		{"p", `"containers":[{"name":"c","image":"x","resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}]}]`, "spec: Forbidden: only cpu and memory resources are mutable"},
		{"p", `"resources":{"requests":{"cpu":"3","memory":"2Gi"}}`, "Pod QOS Class may not change as a result of resizing"},
	} {
		require.Contains(t, resize(c.pod, c.spec).ok(422).str("message"), c.message, c.spec)
	}
}
