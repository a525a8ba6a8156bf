package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// The flags of peers need what peers need, and each part of the address has a default.
func TestPeeringFlags(t *testing.T) {
	dir := t.TempDir()
	ca, err := certs.NewAuthority("front")
	require.NoError(t, err)
	pair, err := ca.Client("front-proxy-client")
	require.NoError(t, err)
	for name, data := range map[string][]byte{"ca": ca.CertPEM(), "crt": pair.CertPEM(), "key": pair.KeyPEM()} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	peerCA, proxy := "--peer-ca-file="+filepath.Join(dir, "ca"), []string{"--proxy-client-cert-file=" + filepath.Join(dir, "crt"), "--proxy-client-key-file=" + filepath.Join(dir, "key")}
	etcd := []string{"--etcd-servers=http://127.0.0.1:1", "--generate-service-account-key", "--advertise-address=192.0.2.9", "--secure-port=7443"}
	for want, flags := range map[string][]string{
		"--peer-ca-file requires UnknownVersionInteroperabilityProxy feature to be turned on":      append([]string{peerCA, "--feature-gates=UnknownVersionInteroperabilityProxy=false"}, proxy...),
		"--peer-advertise-ip requires UnknownVersionInteroperabilityProxy feature to be turned on": {"--peer-advertise-ip=192.0.2.1", "--feature-gates=UnknownVersionInteroperabilityProxy=false"},
		"--peer-advertise-port requires the feature APIServerIdentity":                             {"--peer-advertise-port=1", "--feature-gates=APIServerIdentity=false"},
		"--peer-ca-file requires --proxy-client-cert-file and --proxy-client-key-file":             {peerCA},
		"--peer-advertise-ip: ParseAddr":                                                           {"--peer-advertise-ip=example.com"},
		"--peer-advertise-port=65536: want 1 to 65535":                                             {"--peer-advertise-port=65536"},
	} {
		_, err := parse(append(flags, etcd...))
		require.ErrorContains(t, err, want)
	}
	_, err = parse([]string{"--storage-backend=memory", "--peer-advertise-port=1"})
	require.ErrorContains(t, err, "--peer-advertise-port does not go with --storage-backend=memory")

	for want, flags := range map[string][]string{
		"192.0.2.9:7443":     nil,
		"[2001:db8::1]:7443": {"--peer-advertise-ip=2001:db8::1"},
		"192.0.2.9:1":        {"--peer-advertise-port=1"},
		"192.0.2.1:1":        {"--peer-advertise-ip=192.0.2.1", "--peer-advertise-port=1"},
		"":                   {"--feature-gates=UnknownVersionInteroperabilityProxy=false"},
	} {
		o, err := parse(append(flags, etcd...))
		require.NoError(t, err)
		var co controlplane.Options
		require.NoError(t, o.peering.apply(&co, o, apimetrics.New(), slog.New(slog.DiscardHandler)))
		require.Equal(t, want, co.Bookkeeping.PeerAddress)
		require.Nil(t, co.Server.Peers, "requests are passed on with --peer-ca-file only")
	}
	o, err := parse(append(append(proxy, peerCA), etcd...))
	require.NoError(t, err)
	var co controlplane.Options
	require.NoError(t, o.aggregation.apply(&co, slog.New(slog.DiscardHandler)))
	require.NoError(t, o.peering.apply(&co, o, apimetrics.New(), slog.New(slog.DiscardHandler)))
	require.NotNil(t, co.Server.Peers)
}
