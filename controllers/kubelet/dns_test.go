package kubelet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// resolvConf gives the node a resolv.conf.
func resolvConf(r *rig, text string) (path string) {
	path = filepath.Join(r.t.TempDir(), "resolv.conf")
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o600))
	r.opts.ResolvConf = path
	return path
}

// resolver is what the runtime writes to resolv.conf for a pod.
func (r *rig) resolver(pod string) string {
	c := r.rt.SandboxConfig(pod).DnsConfig
	return fmt.Sprint(c.Servers, c.Searches, c.Options)
}

func withReason(list []string, reason string) []string {
	return slices.DeleteFunc(list, func(e string) bool { return !strings.HasPrefix(e, reason+":") })
}

// Pods that cannot have the cluster's DNS have the node's, with an event of the pod and one of the node.
func TestMissingClusterDNS(t *testing.T) {
	for _, given := range []string{"", "10.96.0.10"} {
		bubble(t, func(r *rig) {
			resolvConf(r, "nameserver 192.0.2.1\nsearch example.com\noptions ndots:2 rotate\noptions ndots:3\n")
			r.opts.ClusterDNS, r.opts.ClusterDomain = nil, "cluster.local"
			if given != "" {
				r.opts.ClusterDNS = []string{given}
			}
		}, func(r *rig) {
			const why = `kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`
			const own, cluster = "[192.0.2.1] [example.com] [rotate ndots:3]", "[10.96.0.10] [default.svc.cluster.local svc.cluster.local cluster.local example.com] [ndots:5]"
			for name, c := range map[string]struct {
				policy corev1.DNSPolicy
				host   bool
				falls  bool // the pod's policy is ClusterFirst in effect
			}{
				"first": {corev1.DNSClusterFirst, false, true}, "host": {corev1.DNSClusterFirst, true, false},
				"with": {corev1.DNSClusterFirstWithHostNet, true, true}, "node": {corev1.DNSDefault, false, false},
			} {
				p := r.pod(name, func(p *corev1.Pod) { p.Spec.DNSPolicy, p.Spec.HostNetwork = c.policy, c.host }, "c")
				time.Sleep(5 * time.Second)
				want, list := own, []string{}
				switch {
				case c.falls && given == "":
					list = append(list, fmt.Sprintf(`MissingClusterDNS: pod: "%s_default(%s)". %s`, name, p.UID, why))
				case c.falls:
					want = cluster
				}
				require.Equal(t, want, r.resolver(name), name)
				require.ElementsMatch(t, list, withReason(r.eventsOf(name), "MissingClusterDNS"), name)
			}
			ofNode := withReason(r.eventsOf("n1"), "MissingClusterDNS")
			if given == "" {
				require.Equal(t, []string{"MissingClusterDNS: " + why}, slices.Compact(ofNode))
			} else {
				require.Empty(t, ofNode)
			}
			for _, e := range controllertest.List[*corev1.Event](r.c, "default") {
				if e.Reason == "MissingClusterDNS" {
					require.Equal(t, "Warning", e.Type)
				}
			}
		})
	}
}

// The events of a pod that falls back count the looks at it, as with the real kubelet, not its containers.
func TestMissingClusterDNSIsCountedPerSync(t *testing.T) {
	bubble(t, func(r *rig) {
		resolvConf(r, "nameserver 192.0.2.1\n")
		r.opts.ClusterDNS = nil
	}, func(r *rig) {
		r.pod("p", func(p *corev1.Pod) { p.Spec.DNSPolicy = corev1.DNSClusterFirst }, "a", "b", "c", "d", "e", "f")
		count := func() (n int32) {
			for _, e := range controllertest.List[*corev1.Event](r.c, "default") {
				if e.Reason == "MissingClusterDNS" && e.InvolvedObject.Name == "p" {
					n += e.Count
				}
			}
			return n
		}
		time.Sleep(5 * time.Second)
		first := count()
		require.GreaterOrEqual(t, first, int32(2), "for the sandbox and for what is in it")
		require.LessOrEqual(t, first, int32(5))
		time.Sleep(10 * time.Minute)
		require.GreaterOrEqual(t, count()-first, int32(8), "once a minute")
		require.LessOrEqual(t, count()-first, int32(15))
	})
}

// What is beyond the limits of resolvers is left out, with an event of the pod; a node whose own file is
// beyond them has one too.
func TestLimitsOfDNS(t *testing.T) {
	names := func(n, length int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("%0*d", length, i))
		}
		return list
	}
	long := strings.Repeat("a", 254)
	const nodeLine, podLine = "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ",
		"Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: "
	for name, c := range map[string]struct {
		search []string
		kept   []string
		node   string // FILE is the path of the node's file
	}{
		"few":       {names(29, 4), names(29, 4), ""},
		"more":      {names(30, 4), names(30, 4), "Resolv.conf file 'FILE' contains search line consisting of more than 29 domains!"},
		"too many":  {names(33, 4), names(32, 4), "Resolv.conf file 'FILE' contains search line consisting of more than 29 domains!"},
		"long name": {[]string{"a", long, "b"}, []string{"a", "b"}, `Resolv.conf file "FILE" contains a search path which length is more than allowed 253 chars!`},
		// The line of this one has 2,047 bytes.
		"line fits":   {append(names(8, 204), names(2, 203)...), append(names(8, 204), names(2, 203)...), ""},
		"line":        {append(names(9, 204), strings.Repeat("b", 203)), append(names(9, 204), strings.Repeat("b", 203)), ""},
		"longer line": {append(names(9, 204), strings.Repeat("b", 204)), names(9, 204), "Resolv.conf file 'FILE' contains search line which length is more than allowed 2048 chars!"},
	} {
		t.Run(name, func(t *testing.T) {
			var path string
			bubble(t, func(r *rig) {
				r.opts.ClusterDomain = "cluster.local"
				path = resolvConf(r, "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver 192.0.2.4\nsearch "+strings.Join(c.search, " ")+"\n")
			}, func(r *rig) {
				r.pod("p", func(p *corev1.Pod) { p.Spec.DNSPolicy = corev1.DNSDefault }, "c")
				time.Sleep(5 * time.Second)
				require.Equal(t, fmt.Sprint([]string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}, c.kept, []string{}), r.resolver("p"))
				want := []string{"DNSConfigForming: " + podLine + "192.0.2.1 192.0.2.2 192.0.2.3"}
				if len(c.kept) < len(c.search) {
					want = append(want, "DNSConfigForming: "+nodeLine+strings.Join(c.kept, " "))
				}
				require.ElementsMatch(t, want, withReason(r.eventsOf("p"), "DNSConfigForming"))
				ofNode := []string{}
				if c.node != "" {
					ofNode = append(ofNode, "CheckLimitsForResolvConf: "+strings.ReplaceAll(c.node, "FILE", path))
				}
				require.ElementsMatch(t, ofNode, withReason(r.eventsOf("n1"), "CheckLimitsForResolvConf"))
			})
		})
	}
}

// A pod whose resolver configuration cannot be read is not made without one.
func TestUnreadableResolvConf(t *testing.T) {
	var path string
	bubble(t, func(r *rig) { path = resolvConf(r, "nameserver\n") }, func(r *rig) {
		r.pod("p", nil, "c")
		time.Sleep(5 * time.Second)
		fault := path + ": nameserver list is empty"
		require.Equal(t, []string{"CheckLimitsForResolvConf: " + fault}, withReason(r.eventsOf("n1"), "CheckLimitsForResolvConf"))
		require.Contains(t, strings.Join(r.eventsOf("p"), "\n"), fault)
		require.Empty(t, r.rt.Running())
		require.NoError(t, os.Remove(path))
		time.Sleep(time.Minute)
		require.Contains(t, strings.Join(r.eventsOf("p"), "\n"), "open "+path+": no such file or directory")
		require.Empty(t, r.rt.Running())
		require.NoError(t, os.WriteFile(path, []byte("nameserver 192.0.2.1\n"), 0o600))
		time.Sleep(time.Minute)
		require.Equal(t, []string{"p/c"}, r.rt.Running())
	})
}
