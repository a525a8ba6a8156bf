package discoveryv1_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestDefaults(t *testing.T) {
	e := &discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{}, {Name: new("dns"), Protocol: new(corev1.ProtocolUDP)}}}
	discoveryv1.DefaultEndpointSlice(e)
	require.Equal(t, []discoveryv1.EndpointPort{{Name: new(""), Protocol: new(corev1.ProtocolTCP)}, {Name: new("dns"), Protocol: new(corev1.ProtocolUDP)}}, e.Ports)
}

// many returns the JSON of a list of n items.
func many(n int, item func(i int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item(i)
	}
	return "[" + strings.Join(items, ",") + "]"
}

func TestCreateRules(t *testing.T) {
	endpoint := func(int) string { return `{"addresses":["192.0.2.1"]}` }
	address := func(i int) string { return fmt.Sprintf(`"192.0.2.%d"`, i%250) }
	zone := func(i int) string { return fmt.Sprintf(`{"name":"z%d"}`, i) }
	apitest.Create(t, [][4]string{
		{"endpointslice", "addressType", `""`, "addressType Required"},
		{"endpointslice", "addressType", `"IPv5"`, "addressType NotSupported"},
		{"endpointslice", "endpoints", many(1000, endpoint), ""},
		{"endpointslice", "endpoints", many(1001, endpoint), "endpoints TooMany"},
		{"endpointslice", "endpoints.0.addresses", `[]`, "endpoints[0].addresses Required"},
		{"endpointslice", "endpoints.0.addresses", many(100, address), ""},
		{"endpointslice", "endpoints.0.addresses", many(101, address), "endpoints[0].addresses TooMany"},
		{"endpointslice", "endpoints.0.addresses", `["2001:db8::1"]`, "endpoints[0].addresses Invalid"},
		{"endpointslice", "endpoints.0.addresses", `["x"]`, "endpoints[0].addresses[0] Invalid"},
		{"endpointslice", "endpoints.0.addresses", `["0.0.0.0"]`, "endpoints[0].addresses[0] Invalid"},
		{"endpointslice", "endpoints.0.addresses", `["127.0.0.1"]`, "endpoints[0].addresses[0] Invalid"},
		{"endpointslice", "endpoints.0.addresses", `["169.254.1.1"]`, "endpoints[0].addresses[0] Invalid"},
		{"endpointslice", "endpoints.0.addresses", `["224.0.0.1"]`, "endpoints[0].addresses[0] Invalid"},
		{"endpointslice", "endpoints.0.nodeName", `"A"`, "endpoints[0].nodeName Invalid"},
		{"endpointslice", "endpoints.0.hostname", `"a.b"`, "endpoints[0].hostname Invalid"},
		{"endpointslice", "endpoints.0.deprecatedTopology", `{"a b":""}`, "endpoints[0].deprecatedTopology Invalid"},
		{"endpointslice", "endpoints.0.hints", `{"forZones":` + many(8, zone) + `}`, ""},
		{"endpointslice", "endpoints.0.hints", `{"forZones":` + many(9, zone) + `}`, "endpoints[0].hints.forZones TooMany"},
		{"endpointslice", "endpoints.0.hints", `{"forZones":[{"name":"z"},{"name":"z"}]}`, "endpoints[0].hints.forZones[1].name Duplicate"},
		{"endpointslice", "endpoints.0.hints", `{"forNodes":[{"name":"n"},{"name":"N"}]}`, "endpoints[0].hints.forNodes[1].name Invalid"},
		{"endpointslice", "ports", `[{"name":"a"},{"name":"a"}]`, "ports[1].name Duplicate"},
		{"endpointslice", "ports", `[{},{}]`, "ports[1].name Duplicate"},
		{"endpointslice", "ports", `[{"name":"A"}]`, "ports[0].name Invalid"},
		{"endpointslice", "ports", `[{"protocol":"ICMP"}]`, "ports[0].protocol NotSupported"},
		{"endpointslice", "ports", `[{"appProtocol":"a.test/x/y"}]`, "ports[0].appProtocol Invalid"},
	})
}

func TestUpdateRules(t *testing.T) {
	none := [2]string{"endpoints", "[]"}
	apitest.Update(t, []apitest.Updated{
		{Alter: [4]string{"endpointslice", "endpoints.0.addresses", `["192.0.2.9"]`, ""}},
		{Setup: [][2]string{none}, Alter: [4]string{"endpointslice", "addressType", `"IPv6"`, "addressType Invalid"}},
	})
}

func TestWarnings(t *testing.T) {
	info := apitest.Scheme(t).ForObject(&discoveryv1.EndpointSlice{})
	require.Empty(t, info.Rules.Warnings(&discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}, nil))
	require.Equal(t, []string{"spec.addressType: FQDN endpoints are deprecated"},
		info.Rules.Warnings(&discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeFQDN}, nil))
}
