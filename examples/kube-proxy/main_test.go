package main

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/proxy"
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
	require.Equal(t, proxy.IPTables, o.Mode, "ipvs falls back")
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
	f, c, err := parse([]string{"--config", file, "--hostname-override=n1"})
	require.NoError(t, err)
	require.Equal(t, 2, f.verbosity)
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
		"bindAddress: 192.0.2.1":                           "bindAddress",
		"bindAddressHardFail: true":                        "bindAddressHardFail",
		"enableProfiling: true":                            "enableProfiling",
		"featureGates: {Magic: true}":                      "no feature Magic",
		"logging: {format: json}":                          "logging.format",
		"showHiddenMetricsForVersion: \"1.35\"":            "showHiddenMetricsForVersion",
		"clientConnection: {contentType: application/xml}": "clientConnection.contentType",
		"oomScoreAdj: 5000":                                "oomScoreAdj",
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
