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
