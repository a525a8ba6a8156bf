package main

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
)

// TestCleanup: the rules stay when the program ends, and --cleanup removes them, of each mode, without a
// file or an API server, and nothing that others have made.
func TestCleanup(t *testing.T) {
	program := build(t)
	c := controllertest.Start(t, controllertest.Options{})
	svc := proxytest.Service("web", "10.96.0.40", func(s *corev1.Service) { s.Namespace = "default" }, proxytest.Port("t", corev1.ProtocolTCP, 80, 0))
	controllertest.Create(c, svc)
	controllertest.Create(c, proxytest.Slice(svc, discoveryv1.AddressTypeIPv4, proxytest.Endpoint{IP: "10.244.0.2", Node: "here"}))
	for _, mode := range []proxy.Mode{proxy.NFTables, proxy.IPTables} {
		t.Run(string(mode), func(t *testing.T) {
			n := newNode(t, c)
			in := func(argv ...string) string {
				out, err := exec.CommandContext(t.Context(), "nsenter", append([]string{"--net=" + n.ns, "--"}, argv...)...).CombinedOutput()
				require.NoError(t, err, "%s: %s", argv, out)
				return string(out)
			}
			in("iptables", "-A", "INPUT", "-s", "203.0.113.9", "-j", "DROP")
			p := n.run(program, "mode: "+string(mode)+"\n")
			p.end(syscall.SIGTERM)
			require.Contains(t, in("nft", "list", "ruleset"), "10.96.0.40")
			in(program, "--cleanup")
			rules := in("nft", "list", "ruleset")
			require.NotContains(t, rules, "KUBE-")
			require.NotContains(t, rules, "kube-proxy")
			require.NotContains(t, rules, "10.96.0.40")
			require.Contains(t, rules, "203.0.113.9")
			in(program, "--cleanup") // where nothing is left
		})
	}
}
