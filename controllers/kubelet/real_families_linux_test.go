package kubelet_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRealTwoFamilies runs pods with addresses of both families on a real containerd.
func TestRealTwoFamilies(t *testing.T) {
	inNamespace(t, func(t *testing.T) {
		four, six := netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()
		n := startReal(t, func(n *realNode) {
			n.ips, n.pods6 = []netip.Addr{four, six}, netip.MustParsePrefix("fd00:7::/64")
		})
		n.until("node ready", func(s string) bool { return strings.Contains(s, " Ready ") }, "get", "node", "node1", "--no-headers")
		n.until("service account", has("default"), "get", "serviceaccount", "default", "-o", "name")
		require.Equal(t, "127.0.0.1 ::1", n.kubectl("get", "node", "node1", "-o", `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`))

		ips := n.familyPod("first", false)
		require.Equal(t, []bool{false, true}, []bool{ips[0].Is6(), ips[1].Is6()})
		hosts := n.kubectl("exec", "first", "--", "cat", "/etc/hosts")
		require.Contains(t, hosts, fmt.Sprintf("%v\tfirst\n%v\tfirst\n", ips[0], ips[1]))
		env := n.kubectl("exec", "first", "--", "sh", "-c", "echo $IPS $NODE_IPS")
		require.Equal(t, fmt.Sprintf("%v,%v 127.0.0.1,::1\n", ips[0], ips[1]), env)
		for _, ip := range ips {
			resp, err := http.Get("http://" + net.JoinHostPort(ip.String(), "8080") + "/etc/hostname")
			require.NoError(t, err)
			b, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, "first\n", string(b))
		}
		require.Equal(t, []netip.Addr{four, six}, n.familyPod("host", true))

		// With the other family first the same pods show their addresses the other way round, and probes use
		// the first one.
		n.stop()
		n.ips = []netip.Addr{six, four}
		n.stop = n.startKubelet(true)
		n.until("other order", is(fmt.Sprintf("%v %v", ips[1], ips[0])), "get", "pod", "first", "-o", "jsonpath={.status.podIPs[*].ip}")
		later := n.familyPod("later", false)
		require.Equal(t, []bool{true, false}, []bool{later[0].Is6(), later[1].Is6()})
		require.Equal(t, "::1 127.0.0.1", n.kubectl("get", "pod", "later", "-o", "jsonpath={.status.hostIPs[*].ip}"))
		n.stop()
		_ = syscall.Unmount(filepath.Join(n.dir, "kubelet"), 0) // SharedRoot's, which the first kubelet left
	})
}

// familyPod runs a pod with a server until it is ready and returns its addresses.
func (n *realNode) familyPod(name string, onHost bool) []netip.Addr {
	port := 8080
	if onHost {
		port = 8081
	}
	n.apply(fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  nodeName: node1
  hostNetwork: %t
  terminationGracePeriodSeconds: 0
  containers:
  - name: c
    image: busybox
    imagePullPolicy: IfNotPresent
    command: [httpd, -f, -p, "[::]:%d", -h, /]
    env:
    - {name: IPS, valueFrom: {fieldRef: {fieldPath: status.podIPs}}}
    - {name: NODE_IPS, valueFrom: {fieldRef: {fieldPath: status.hostIPs}}}
    readinessProbe: {httpGet: {port: %d, path: /etc/hostname}, periodSeconds: 1, timeoutSeconds: 20}
`, name, onHost, port, port))
	n.until("pod ready", is("True"), "get", "pod", name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	var ips []netip.Addr
	for text := range strings.FieldsSeq(n.kubectl("get", "pod", name, "-o", "jsonpath={.status.podIPs[*].ip}")) {
		ips = append(ips, netip.MustParseAddr(text))
	}
	require.Len(n.t, ips, 2)
	return ips
}
