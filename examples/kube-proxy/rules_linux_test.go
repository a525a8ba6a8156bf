package main

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
)

// TestRulesBeside runs upstream's kube-proxy and this one over one API server, in network namespaces of their
// own. The rules of both must be the same for Services of all kinds, and after each of some changes.
func TestRulesBeside(t *testing.T) {
	upstream := seeds.Peer(t, "kube-proxy")
	ours := build(t)
	for _, mode := range []proxy.Mode{proxy.NFTables, proxy.IPTables} {
		t.Run(string(mode), func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{})
			for _, f := range fixtures() {
				f.create(c)
			}
			theirs, mine := newNode(t, c), newNode(t, c)
			theirs.run(upstream, besideConfig(mode))
			mine.run(ours, besideConfig(mode))
			var last []string
			same := func(what string) {
				t.Helper()
				var a, b []string
				for end := time.Now().Add(patience); time.Now().Before(end); <-time.After(time.Second) {
					a, b = theirs.lines(mode), mine.lines(mode)
					if slices.Equal(a, b) && !slices.Equal(a, last) {
						break
					}
				}
				require.Empty(t, without(a, b), "%s: only kube-proxy's", what)
				require.Empty(t, without(b, a), "%s: only ours", what)
				require.NotEqual(t, last, a, "%s: nothing has changed", what)
				last = a
				t.Logf("%s: %d equal lines", what, len(a))
			}
			same("at the start")
			require.Greater(t, len(last), 100)
			for _, change := range fixtureChanges {
				change.make(c)
				same(change.name)
			}
		})
	}
}

// without are the lines of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(line string) bool { return slices.Contains(b, line) })
}

// fixture is a Service and its endpoints.
type fixture struct {
	svc       *corev1.Service
	ingress   string
	endpoints []proxytest.Endpoint
}

var (
	onNode    = proxytest.Endpoint{IP: "10.244.0.2", Node: "here"}
	elsewhere = proxytest.Endpoint{IP: "10.244.1.3", Node: "there"}
	notReady  = proxytest.Endpoint{IP: "10.244.1.4", Node: "there", NotReady: true}
	leaving   = proxytest.Endpoint{IP: "10.244.0.5", Node: "here", Leaving: true}
	inZoneA   = proxytest.Endpoint{IP: "10.244.1.6", Node: "there", Zones: []string{"a"}}
	inZoneB   = proxytest.Endpoint{IP: "10.244.1.7", Node: "there", Zones: []string{"b"}, Nodes: []string{"here"}}
	forOther  = proxytest.Endpoint{IP: "10.244.1.8", Node: "there", Zones: []string{"a"}, Nodes: []string{"other"}}
)

func (f fixture) create(c *controllertest.Cluster) {
	f.svc.Namespace = "default"
	svc := controllertest.Create(c, f.svc)
	controllertest.Create(c, proxytest.Slice(svc, discoveryv1.AddressTypeIPv4, f.endpoints...))
	if f.ingress != "" {
		controllertest.UpdateStatus(c, "default", svc.Name, func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: f.ingress}}
		})
	}
}

// fixtures are Services with every field that rules depend on.
func fixtures() []fixture {
	tcp, udp, sctp := corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP
	both := []proxytest.Endpoint{onNode, elsewhere}
	nodePort := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }
	balancer := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer }
	local := func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }
	external := func(ip string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.ExternalIPs = []string{ip} }
	}
	ranges := func(list ...string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = list }
	}
	sticky := func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }
	internal := func(s *corev1.Service) {
		s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
	}
	label := func(key string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Labels = map[string]string{key: "x"} }
	}
	service := func(name, ip string, port int32, set ...func(*corev1.Service)) *corev1.Service {
		return proxytest.Service(name, ip, func(s *corev1.Service) {
			for _, f := range set {
				f(s)
			}
		}, proxytest.Port("http", tcp, 80, port))
	}
	return []fixture{
		{svc: service("one", "10.96.0.11", 0), endpoints: both[:1]},
		{svc: proxytest.Service("ports", "10.96.0.12", nil, proxytest.Port("dns", udp, 53, 0), proxytest.Port("dns-tcp", tcp, 53, 0), proxytest.Port("s", sctp, 53, 0)), endpoints: both},
		{svc: service("empty", "10.96.0.13", 30013, nodePort, external("203.0.113.13"))},
		{svc: service("node", "10.96.0.14", 30014, nodePort), endpoints: both},
		{svc: service("local", "10.96.0.15", 30015, nodePort, local), endpoints: both},
		{svc: service("elsewhere", "10.96.0.16", 30016, nodePort, local), endpoints: both[1:]},
		{svc: service("internal", "10.96.0.17", 0, internal), endpoints: both},
		{svc: service("internal-elsewhere", "10.96.0.18", 0, internal), endpoints: both[1:]},
		{svc: service("sticky", "10.96.0.19", 0, sticky), endpoints: both},
		{svc: service("sticky-local", "10.96.0.20", 30020, nodePort, local, sticky), endpoints: both},
		{svc: service("external", "10.96.0.21", 0, external("203.0.113.21")), endpoints: both},
		{svc: service("ranges", "10.96.0.22", 30022, balancer, ranges("198.51.100.0/24", "192.0.2.0/24")), ingress: "203.0.113.22", endpoints: both},
		{svc: service("balanced", "10.96.0.23", 30023, balancer, local), ingress: "203.0.113.23", endpoints: both},
		{svc: service("other-proxy", "10.96.0.25", 0, label("service.kubernetes.io/service-proxy-name")), endpoints: both},
		{svc: service("some-ready", "10.96.0.27", 0), endpoints: []proxytest.Endpoint{onNode, notReady, leaving}},
		{svc: service("only-leaving", "10.96.0.28", 0), endpoints: []proxytest.Endpoint{leaving, notReady}},
		{svc: service("leaving-here", "10.96.0.29", 30029, nodePort, local), endpoints: []proxytest.Endpoint{leaving, elsewhere}},
		{svc: service("zones", "10.96.0.30", 0), endpoints: []proxytest.Endpoint{inZoneA, forOther, {IP: "10.244.1.9", Node: "there", Zones: []string{"b"}}}},
		{svc: service("nodes", "10.96.0.31", 30031, nodePort), endpoints: []proxytest.Endpoint{inZoneB, forOther}},
		{svc: service("some-hints", "10.96.0.32", 0), endpoints: []proxytest.Endpoint{inZoneA, elsewhere}},
		{svc: service("both-local", "10.96.0.24", 30024, balancer, local, internal, ranges("198.51.100.0/24")), ingress: "203.0.113.24", endpoints: both},
	}
}

// fixtureChanges are changes of them.
var fixtureChanges = []struct {
	name string
	make func(*controllertest.Cluster)
}{
	{"an endpoint is gone", func(c *controllertest.Cluster) { setEndpoints(c, "node", onNode) }},
	{"one is there again", func(c *controllertest.Cluster) { setEndpoints(c, "node", elsewhere, onNode) }},
	{"the first endpoint", func(c *controllertest.Cluster) { setEndpoints(c, "empty", onNode) }},
	{"no endpoint", func(c *controllertest.Cluster) { setEndpoints(c, "balanced") }},
	{"none on the node", func(c *controllertest.Cluster) { setEndpoints(c, "sticky-local", elsewhere) }},
	{"a Service is gone", func(c *controllertest.Cluster) { controllertest.Delete[*corev1.Service](c, "default", "ranges") }},
	{"another policy", func(c *controllertest.Cluster) {
		controllertest.Update(c, "default", "local", func(s *corev1.Service) {
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
		})
	}},
	{"sticky no more", func(c *controllertest.Cluster) {
		controllertest.Update(c, "default", "sticky", func(s *corev1.Service) {
			s.Spec.SessionAffinity, s.Spec.SessionAffinityConfig = corev1.ServiceAffinityNone, nil
		})
	}},
	{"the last ready endpoint is leaving", func(c *controllertest.Cluster) { setEndpoints(c, "some-ready", notReady, leaving) }},
	{"the node has a zone", func(c *controllertest.Cluster) {
		controllertest.Update(c, "", "here", func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelTopologyZone: "a"} })
	}},
	{"a node port", func(c *controllertest.Cluster) {
		controllertest.Update(c, "default", "one", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort })
	}},
}

func setEndpoints(c *controllertest.Cluster, name string, list ...proxytest.Endpoint) {
	svc := controllertest.Get[*corev1.Service](c, "default", name)
	slice := proxytest.Slice(svc, discoveryv1.AddressTypeIPv4, list...)
	controllertest.Update(c, "default", slice.Name, func(s *discoveryv1.EndpointSlice) { s.Endpoints = slice.Endpoints })
}

var (
	counters = regexp.MustCompile(`^\[\d+:\d+\] | \[\d+:\d+\]$`)
	// upstream counts packets with nfacct where the kernel has it: those that are dropped because they are
	// invalid, and those to node ports of localhost, which would match the next rule otherwise.
	accounting     = regexp.MustCompile(` -m nfacct --nfacct-name +\S+`)
	localhostCount = "localhost_nps_accepted_pkts"
)

// lines are the rules of a mode in a namespace, in an order that is the same for the same rules: with
// nftables a line for each chain and element; with iptables the lines of iptables-save.
func (n *node) lines(mode proxy.Mode) (lines []string) {
	argv := []string{"iptables-save"}
	if mode == proxy.NFTables {
		argv = []string{"nft", "list", "table", "ip", "kube-proxy"}
	}
	out, err := exec.CommandContext(n.t.Context(), "nsenter", append([]string{"--net=" + n.ns, "--"}, argv...)...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && strings.Contains(string(failed.Stderr), "No such file or directory") {
		return nil // the proxy has not made its table yet
	}
	require.NoError(n.t, err)
	if mode == proxy.NFTables {
		lines = nftLines(string(out))
	} else {
		table := ""
		for line := range strings.Lines(string(out)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "*") {
				table = line[1:]
			}
			if strings.HasPrefix(line, "#") || strings.Contains(line, localhostCount) {
				continue
			}
			lines = append(lines, table+" "+accounting.ReplaceAllString(counters.ReplaceAllString(line, ""), ""))
		}
	}
	slices.Sort(lines)
	return lines
}

// nftLines are the chains of a table with their rules, and the elements of its sets and maps.
func nftLines(text string) (lines []string) {
	text = strings.Replace(text, `comment "rules for kube-proxy"`, "", 1)
	for _, section := range strings.Split(text, "\n\n") {
		section = strings.TrimPrefix(strings.Join(strings.Fields(section), " "), "table ip kube-proxy { ")
		head, elements, found := strings.Cut(strings.TrimRight(section, " }"), " elements = {")
		if words := strings.Fields(head); words[0] == "chain" && len(words) == 3 {
			continue // kube-proxy empties chains, and deletes them in a later write
		}
		lines = append(lines, head)
		if !found {
			continue
		}
		for _, e := range strings.Split(elements, ",") {
			lines = append(lines, head[:strings.Index(head, " {")]+": "+strings.TrimSpace(e))
		}
	}
	return lines
}
