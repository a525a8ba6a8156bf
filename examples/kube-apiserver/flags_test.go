package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/flagtest"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/memory"
)

func flagSet(t *testing.T) *pflag.FlagSet {
	gates, err := features()
	require.NoError(t, err)
	return newOptions(gates).flagSet()
}

// Every flag of kube-apiserver is known, and docs/kube-apiserver-flags.md says what becomes of it.
func TestEveryFlagIsKnown(t *testing.T) {
	flagtest.Check(t, flagSet(t))
}

// The command line that kubeadm 1.36 writes into the manifest of kube-apiserver makes a server.
func TestFlagsOfKubeadm(t *testing.T) {
	dir := t.TempDir()
	ca, err := certs.NewAuthority("kubernetes")
	require.NoError(t, err)
	pair, err := ca.Serving("kube-apiserver", "kube-apiserver", "127.0.0.1")
	require.NoError(t, err)
	for _, name := range []string{"ca", "apiserver", "apiserver-etcd-client", "apiserver-kubelet-client", "front-proxy-ca", "front-proxy-client", "etcd-ca", "sa"} {
		cert, key := pair.CertPEM(), pair.KeyPEM()
		if strings.HasSuffix(name, "ca") && name != "sa" {
			cert = ca.CertPEM()
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".crt"), cert, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".key"), key, 0o600))
	}
	text, err := os.ReadFile("testdata/kubeadm-args.txt")
	require.NoError(t, err)
	args := strings.Fields(strings.NewReplacer("/etc/kubernetes/pki/etcd/ca", dir+"/etcd-ca", "/etc/kubernetes/pki/sa.pub", dir+"/sa.crt", "/etc/kubernetes/pki", dir).Replace(string(text)))
	o, err := parse(args)
	require.NoError(t, err)
	require.Equal(t, []string{"https://127.0.0.1:2379"}, o.etcdServers)

	// The same over a store that needs no etcd.
	args = slices.DeleteFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--etcd-") })
	o, err = parse(append(args, "--storage-backend=memory"))
	require.NoError(t, err)
	serveOnce(t, o)
}

// serveOnce runs the server of the flags until it is ready.
func serveOnce(t *testing.T, o *options) {
	st := memory.New(memory.Options{})
	cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- cp.Run(ctx) }()
	select {
	case <-cp.Ready():
	case err := <-done:
		t.Fatal("it ended", err)
	}
	w := httptest.NewRecorder()
	cp.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz?verbose", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	cancel()
	require.NoError(t, <-done)
	require.NoError(t, st.Close())
}

// A flag that has one value accepts that, and refuses others with the reason.
func TestFixedFlags(t *testing.T) {
	for _, args := range [][]string{{"--watch-cache=true"}, {"--watch-cache"}, {"--emulated-version=1.36"}, {"--apiserver-count=3"}, {"--enable-aggregator-routing"}} {
		_, err := parse(append(args, "--storage-backend=memory"))
		require.NoError(t, err, args)
	}
	for flag, why := range map[string]string{"--watch-cache=false": "all reads are served", "--emulated-version=1.35": "no older version",
		"--kubelet-preferred-address-types=Postal": "is none of", "--tls-curve-preferences=x": "invalid"} {
		_, err := parse([]string{flag, "--storage-backend=memory"})
		require.ErrorContains(t, err, why, flag)
	}
}
