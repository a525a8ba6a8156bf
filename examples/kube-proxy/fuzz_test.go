package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A configuration is refused, or the proxy can be made with it, and what is written of it reads the same.
func FuzzConfiguration(f *testing.F) {
	const head = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"
	f.Add([]byte(head + "mode: nftables\nclusterCIDR: 10.0.0.0/8,fd00::/8\nnodePortAddresses: [primary]\nconntrack: {maxPerCore: null, tcpEstablishedTimeout: 1h}"))
	f.Add([]byte(head + "mode: ipvs\nhostnameOverride: a\nipvs: {scheduler: rr, excludeCIDRs: [10.0.0.0/8], tcpTimeout: 1s}"))
	f.Add([]byte(head + "detectLocalMode: BridgeInterface\ndetectLocal: {bridgeInterface: br0}\nbindAddress: '::'\niptables: {masqueradeBit: 14, syncPeriod: 0s}"))
	f.Add([]byte(head + "logging: &a {verbosity: 1}\nwinkernel: *a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "config")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		c := defaults()
		if c.load(path) != nil || c.validate() != nil {
			return
		}
		_, err := c.options(slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.NoError(t, c.write(path))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		again := defaults()
		require.NoError(t, again.load(path), "%s", text)
		require.NoError(t, again.write(path))
		repeated, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(text), string(repeated))
	})
}
