package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/examples/internal/flagtest"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte("apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"+text), 0o600))
	return path
}

func TestFlagsWinOverTheFile(t *testing.T) {
	file := write(t, "mode: nftables\nclusterCIDR: 10.1.0.0/16\nnodePortAddresses: [192.0.2.0/24]\nnftables: {minSyncPeriod: 3s, masqueradeBit: 15}\nconntrack: {maxPerCore: 0}\n")
	_, c, err := parse([]string{"--config", file, "--cluster-cidr=10.2.0.0/16,fd00::/64", "--masquerade-all", "--hostname-override=n1"})
	require.NoError(t, err)
	o, err := c.options(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, proxy.NFTables, o.Mode)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.2.0.0/16"), netip.MustParsePrefix("fd00::/64")}, o.DetectLocal.CIDRs)
	require.Equal(t, []string{"192.0.2.0/24"}, o.NodePortAddresses)
	require.True(t, o.MasqueradeAll)
	require.Equal(t, 15, *o.MasqueradeBit)
	require.Equal(t, 3*time.Second, o.MinSyncPeriod)
	require.Equal(t, "n1", o.NodeName)
	require.Zero(t, o.Conntrack.Max)

	_, c, err = parse([]string{"--config", file, "--nodeport-addresses=primary,10.0.0.0/8", "--iptables-min-sync-period=5s"})
	require.NoError(t, err)
	require.Equal(t, []string{"primary", "10.0.0.0/8"}, c.NodePortAddresses)
	require.Equal(t, 5*time.Second, c.NFTables.MinSyncPeriod.Duration)
}

func TestDefaultsAreUpstreams(t *testing.T) {
	_, c, err := parse(nil)
	require.NoError(t, err)
	o, err := c.options(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, proxy.IPTables, o.Mode)
	require.True(t, o.KeepRules)
	require.Equal(t, 30*time.Second, o.SyncPeriod)
	require.Equal(t, time.Second, o.MinSyncPeriod)
	require.Equal(t, 24*time.Hour, o.Conntrack.TCPEstablished)
	require.GreaterOrEqual(t, o.Conntrack.Max, 131072)
	require.Equal(t, "0.0.0.0:10256", c.HealthzBindAddress)

	_, c, err = parse([]string{"--proxy-mode=ipvs"})
	require.NoError(t, err)
	o, err = c.options(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, proxy.IPVS, o.Mode)
	require.True(t, o.FallBack, "to iptables, where the kernel has no IPVS")
}

func TestOptionsOfIPVS(t *testing.T) {
	file := write(t, "mode: ipvs\nipvs: {scheduler: lc, strictARP: true, excludeCIDRs: [198.18.0.0/24], tcpTimeout: 900s, syncPeriod: 10s}\n")
	_, c, err := parse([]string{"--config", file, "--ipvs-udp-timeout=5m", "--ipvs-min-sync-period=2s", "--hostname-override=n1"})
	require.NoError(t, err)
	o, err := c.options(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, proxy.IPVSOptions{Scheduler: "lc", StrictARP: true, ExcludeCIDRs: []netip.Prefix{netip.MustParsePrefix("198.18.0.0/24")},
		TCPTimeout: 15 * time.Minute, UDPTimeout: 5 * time.Minute}, o.IPVS)
	require.Equal(t, 10*time.Second, o.SyncPeriod)
	require.Equal(t, 2*time.Second, o.MinSyncPeriod)
}

// A file as kubeadm stores it in the ConfigMap kube-proxy: every field, most with a zero that means the
// default.
func TestAFileOfKubeadmLoads(t *testing.T) {
	file := write(t, `
bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection: {acceptContentTypes: "", burst: 0, contentType: "", kubeconfig: /var/lib/kube-proxy/kubeconfig.conf, qps: 0}
clusterCIDR: 10.244.0.0/16
configSyncPeriod: 0s
conntrack: {maxPerCore: null, min: null, tcpBeLiberal: false, tcpCloseWaitTimeout: null, tcpEstablishedTimeout: null, udpStreamTimeout: 0s, udpTimeout: 0s}
detectLocal: {bridgeInterface: "", interfaceNamePrefix: ""}
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: ""
hostnameOverride: ""
iptables: {localhostNodePorts: null, masqueradeAll: false, masqueradeBit: null, minSyncPeriod: 0s, syncPeriod: 0s}
ipvs: {excludeCIDRs: null, minSyncPeriod: 0s, scheduler: "", strictARP: false, syncPeriod: 0s, tcpFinTimeout: 0s, tcpTimeout: 0s, udpTimeout: 0s}
logging: {flushFrequency: 0, options: {json: {infoBufferSize: "0"}, text: {infoBufferSize: "0"}}, verbosity: 2}
metricsBindAddress: ""
mode: ""
nftables: {masqueradeAll: false, masqueradeBit: null, minSyncPeriod: 0s, syncPeriod: 0s}
nodePortAddresses: null
oomScoreAdj: null
portRange: ""
showHiddenMetricsForVersion: ""
winkernel: {enableDSR: false, forwardHealthCheckVip: false, networkName: "", rootHnsEndpointName: "", sourceVip: ""}
`)
	_, c, err := parse([]string{"--config", file, "--hostname-override=n1"})
	require.NoError(t, err)
	require.Equal(t, 2, c.Logging.Verbosity)
	require.Equal(t, "0.0.0.0:10256", c.HealthzBindAddress)
	require.Equal(t, "127.0.0.1:10249", c.MetricsBindAddress)
	require.Zero(t, c.connection(nil).QPS)
	o, err := c.options(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, time.Second, o.MinSyncPeriod, "0s in a file is upstream's default")
	require.Equal(t, 30*time.Second, o.SyncPeriod)
	require.Equal(t, 14, *o.MasqueradeBit)

	_, c, err = parse([]string{"--config", file, "--iptables-min-sync-period=0s", "--healthz-bind-address="})
	require.NoError(t, err)
	o, err = c.options(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Negative(t, o.MinSyncPeriod, "a flag may lift the limit")
	require.Empty(t, c.HealthzBindAddress)

	_, c, err = parse([]string{"--config", write(t, "clientConnection: {qps: 7}\n")})
	require.NoError(t, err)
	require.InDelta(t, 7, c.connection(nil).QPS, 0)
	require.Equal(t, 10, c.connection(nil).Burst)
}

func TestWhatTheProxyDoesNotDoIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		"featureGates: {Magic: true}":                      "no feature Magic",
		"logging: {format: json}":                          "logging.format",
		"showHiddenMetricsForVersion: \"1.35\"":            "showHiddenMetricsForVersion",
		"clientConnection: {contentType: application/xml}": "clientConnection.contentType",
	} {
		_, _, err := parse([]string{"--config", write(t, text+"\n")})
		require.ErrorContains(t, err, says)
	}
}

func TestMistakesAreErrors(t *testing.T) {
	for what, test := range map[string]struct {
		args []string
		says string
	}{
		"unknown flag":        {[]string{"--nope"}, "unknown flag: --nope"},
		"argument":            {[]string{"stray"}, "unexpected argument"},
		"unknown field":       {[]string{"--config", write(t, "bogus: 1\n")}, "bogus"},
		"unknown mode":        {[]string{"--proxy-mode=userspace"}, "userspace"},
		"bad range":           {[]string{"--cluster-cidr=10.0.0.0"}, "clusterCIDR"},
		"detection half said": {[]string{"--detect-local-mode=BridgeInterface"}, "bridgeInterface"},
		"unknown scheduler":   {[]string{"--ipvs-scheduler=fastest"}, `ipvs.scheduler "fastest": want one of rr, wrr`},
		"bad excluded range":  {[]string{"--ipvs-exclude-cidrs=198.18.0.0"}, "ipvs.excludeCIDRs[0]"},
		"no address":          {[]string{"--bind-address=node"}, "bindAddress"},
		"no port":             {[]string{"--metrics-bind-address=127.0.0.1"}, "metricsBindAddress"},
		"name of node":        {[]string{"--hostname-override= "}, "hostnameOverride"},
		"range of node ports": {[]string{"--nodeport-addresses=primary,10.0.0.1"}, "nodePortAddresses[1]"},
		"two of a family":     {[]string{"--cluster-cidr=10.0.0.0/8,192.0.2.0/24"}, "one of each family"},
		"bad score":           {[]string{"--oom-score-adj=5000"}, "oomScoreAdj 5000: want -1000 to 1000"},
		"no period":           {[]string{"--iptables-sync-period=0s"}, "iptables.syncPeriod 0s: want more than 0"},
		"order of periods":    {[]string{"--ipvs-min-sync-period=1m"}, "ipvs.minSyncPeriod 1m0s: want 0 to 30s"},
		"bad bit":             {[]string{"--iptables-masquerade-bit=32"}, "masqueradeBit 32"},
		"negative number":     {[]string{"--conntrack-min=-1"}, "conntrack.min -1"},
		"half a second":       {[]string{"--conntrack-udp-timeout=1500ms"}, "conntrack.udpTimeout"},
		"gate without value":  {[]string{"--feature-gates=Magic"}, "want name=true or name=false"},
		"unknown gate":        {[]string{"--feature-gates=Magic=true"}, "there is no feature Magic"},
		"format of the log":   {[]string{"--logging-format=json"}, "logging.format"},
		"no file":             {[]string{"--config", "/does/not/exist"}, "no such file"},
	} {
		_, _, err := parse(test.args)
		require.ErrorContains(t, err, test.says, what)
	}
	path := filepath.Join(t.TempDir(), "x.yaml")
	require.NoError(t, os.WriteFile(path, []byte("apiVersion: v1\nkind: Pod\n"), 0o600))
	_, _, err := parse([]string{"--config", path})
	require.ErrorContains(t, err, "want kind KubeProxyConfiguration")
}

// Every flag of kube-proxy is known, and docs/kube-proxy-flags.md says what becomes of it.
func TestEveryFlagIsKnown(t *testing.T) {
	flagtest.Check(t, new(flags).register(defaults()))
	for name, why := range refusedFlags {
		_, _, err := parse([]string{"--" + name + "=1"})
		require.ErrorContains(t, err, why, name)
	}
}

// TestFlagsAreFields: flags of the process and of the connection set what the file would.
func TestFlagsAreFields(t *testing.T) {
	file := write(t, "bindAddress: 192.0.2.7\nconfigSyncPeriod: 1m\n")
	_, c, err := parse([]string{"--config", file, "--kube-api-qps=7.5", "--kube-api-burst=9", "--kube-api-content-type=" + protobuf,
		"--oom-score-adj=-500", "--profiling", "--bind-address-hard-fail", "-v=4", "--hostname-override= Node-1 "})
	require.NoError(t, err)
	require.InDelta(t, 7.5, c.connection(nil).QPS, 0)
	require.Equal(t, 9, c.connection(nil).Burst)
	require.EqualValues(t, -500, *c.OOMScoreAdj)
	require.True(t, c.EnableProfiling && c.BindAddressHardFail)
	require.Equal(t, 4, c.Logging.Verbosity)
	require.Equal(t, time.Minute, c.ConfigSyncPeriod.Duration)
	o, err := c.options(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, "node-1", o.NodeName)
	require.Equal(t, netip.MustParseAddr("192.0.2.7"), o.NodeAddr)
	_, c, err = parse([]string{"--config", file, "--bind-address=::"})
	require.NoError(t, err)
	o, err = c.options(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.False(t, o.NodeAddr.IsValid())
}

// TestWrittenConfigurationLoads: what --write-config-to writes is a file for --config.
func TestWrittenConfigurationLoads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "written.yaml")
	require.NoError(t, run([]string{"--write-config-to", path, "--proxy-mode=nftables", "--conntrack-max-per-core=0", "--ipvs-exclude-cidrs=198.18.0.0/24,198.19.0.0/24"}))
	_, want, err := parse([]string{"--proxy-mode=nftables", "--conntrack-max-per-core=0", "--ipvs-exclude-cidrs=198.18.0.0/24,198.19.0.0/24"})
	require.NoError(t, err)
	_, got, err := parse([]string{"--config", path})
	require.NoError(t, err)
	before, err := codec.Marshal(want)
	require.NoError(t, err)
	after, err := codec.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, string(before), string(after))
}

// TestAddressesInUse: the proxy goes on and tries again, or ends.
func TestAddressesInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		s := server{l.Addr().String(), http.NotFoundHandler()}
		require.ErrorContains(t, s.run(t.Context(), "metrics", true, slog.New(slog.DiscardHandler)), "metrics server: listen tcp "+s.address)
		var out strings.Builder
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		require.NoError(t, s.run(ctx, "metrics", false, slog.New(slog.NewTextHandler(&out, nil))))
		require.Equal(t, 3, strings.Count(out.String(), "serve failed"))
	})
}

// TestMetrics: what alerts and dashboards of kube-proxy look for is there, with its labels, and metrics of
// other modes are not.
func TestMetrics(t *testing.T) {
	const p = "kubeproxy_sync_proxy_rules_"
	want := map[proxy.Mode]string{
		proxy.IPTables: p + `iptables_restore_failures_total{ip_family="IPv4"} 1
			` + p + `iptables_partial_restore_failures_total{ip_family="IPv6"} 1
			` + p + `iptables_total{ip_family="IPv4",table="nat"} 7
			` + p + `iptables_last{ip_family="IPv4",table="nat"} 3
			kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1`,
		proxy.NFTables: p + `nftables_sync_failures_total{ip_family="IPv4"} 1
			` + p + `nftables_cleanup_failures_total{ip_family="IPv6"} 0
			kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv6"} 1`,
		proxy.IPVS: p + `iptables_restore_failures_total{ip_family="IPv4"} 1`,
	}
	const common = p + `refused_ports{ip_family="IPv4"} 2
		` + p + `duration_seconds_count{ip_family="IPv4"} 1
		` + p + `last_queued_timestamp_seconds{ip_family="IPv6"} 5
		` + p + `service_changes_total 1
		` + p + `endpoint_changes_pending 4
		` + p + `no_local_endpoints_total{ip_family="IPv6",traffic_policy="external"} 6
		kubeproxy_proxy_healthz_total{code="503"} 1
		kubeproxy_conntrack_reconciler_deleted_entries_total{ip_family="IPv4"} 8
		kubeproxy_conntrack_reconciler_sync_duration_seconds_count{ip_family="IPv4"} 1
		kubeproxy_network_programming_duration_seconds_bucket{ip_family="IPv4",le="85"} 0
		kubeproxy_network_programming_duration_seconds_bucket{ip_family="IPv4",le="90"} 1`
	for mode := range want {
		m := newMetrics(mode)
		f := m.functions()
		f.Changed("service")
		f.Pending("endpoint", 4)
		f.Queued(time.Unix(5, 0))
		f.Synced(proxy.IPv4, time.Second, true)
		f.Synced(proxy.IPv6, time.Second, false)
		f.Failed(proxy.IPv4)
		f.PartialFailed(proxy.IPv6)
		f.Refused(proxy.IPv4, 2)
		f.Rules(proxy.IPv4, "nat", 7)
		f.RulesWritten(proxy.IPv4, "nat", 3)
		f.Programmed(proxy.IPv4, 90*time.Second)
		f.NoLocalEndpoints(proxy.IPv6, "external", 6)
		f.FlowsDeleted(proxy.IPv4, 8)
		f.FlowsChecked(proxy.IPv4, time.Second)
		unwell := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		promhttp.InstrumentHandlerCounter(m.healthzTotal, unwell).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/healthz", nil))
		w := httptest.NewRecorder()
		m.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		for line := range strings.Lines(common + "\n" + want[mode]) {
			require.Contains(t, w.Body.String(), strings.TrimSpace(line)+"\n", mode)
		}
		require.Equal(t, mode == proxy.IPTables, strings.Contains(w.Body.String(), "iptables_total"), mode)
		require.Equal(t, mode == proxy.IPVS, !strings.Contains(w.Body.String(), "sync_full_"), mode)
	}
}
