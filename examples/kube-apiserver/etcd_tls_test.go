package main

import (
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/storetest"
)

// secureEtcd is an etcd that only clients with a certificate reach, and the files of both sides.
type secureEtcd struct {
	t *testing.T
	*storetest.Etcd
	trusted, certFile, keyFile string      // etcd's
	client                     clientFiles // the server's
}

func startSecureEtcd(t *testing.T, serving *certs.Authority, trusted ...*certs.Authority) *secureEtcd {
	dir := t.TempDir()
	e := &secureEtcd{t: t, trusted: filepath.Join(dir, "trusted.crt"), certFile: filepath.Join(dir, "etcd.crt"), keyFile: filepath.Join(dir, "etcd.key"),
		client: newClientFiles(t, serving)}
	e.trust(e.trusted, trusted...)
	e.serve(serving)
	e.Etcd = storetest.StartSecureEtcd(t, e.trusted, e.certFile, e.keyFile)
	return e
}

func (e *secureEtcd) trust(file string, all ...*certs.Authority) {
	var bundle []byte
	for _, ca := range all {
		bundle = append(bundle, ca.CertPEM()...)
	}
	require.NoError(e.t, os.WriteFile(file, bundle, 0o600))
}

// serve replaces etcd's pair.
func (e *secureEtcd) serve(ca *certs.Authority) {
	pair, err := ca.Serving("etcd", "127.0.0.1")
	require.NoError(e.t, err)
	require.NoError(e.t, os.WriteFile(e.certFile, pair.CertPEM(), 0o600))
	require.NoError(e.t, os.WriteFile(e.keyFile, pair.KeyPEM(), 0o600))
}

// accepts reports whether etcd serves a client with a certificate of an authority.
func (e *secureEtcd) accepts(ca *certs.Authority) bool {
	pair, err := ca.Client("someone")
	require.NoError(e.t, err)
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{pair.TLS()}}}}
	resp, err := c.Get(e.Endpoint + "/version")
	if err == nil {
		require.NoError(e.t, resp.Body.Close())
	}
	return err == nil
}

// A cluster replaces the authority of etcd's certificates and of its clients': at first both sides trust the
// old and the new one, then each side gets a new certificate, and in the end the old authority is gone. No
// write fails while files change. A server that was not restarted goes on with the new certificates when
// etcd has been: etcd accepts no others then.
func TestEtcdCertificatesAreReplacedUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes: -short")
	}
	first, err := certs.NewAuthority("first")
	require.NoError(t, err)
	second, err := certs.NewAuthority("second")
	require.NoError(t, err)
	e := startSecureEtcd(t, first, first, second)
	require.True(t, e.accepts(first))
	o, err := parse([]string{"--etcd-servers=" + e.Endpoint, "--etcd-cafile=" + e.client.ca, "--etcd-certfile=" + e.client.cert, "--etcd-keyfile=" + e.client.key,
		"--token-auth-file=" + tokenFile(t), "--authorization-mode=AlwaysAllow", "--generate-service-account-key"})
	require.NoError(t, err)
	st, err := o.openStore(t.Context(), discard)
	require.NoError(t, err)
	t.Cleanup(st.close)
	post := startOver(t, o, st)
	var written atomic.Int64
	write := func() int {
		w := post("/api/v1/namespaces/kube-system/configmaps", map[string]any{"metadata": map[string]any{"generateName": "x-"}})
		written.Add(1)
		return w.Code
	}
	more := func() {
		until := written.Load() + 100
		require.Eventually(t, func() bool { return written.Load() >= until }, time.Minute, time.Millisecond)
	}
	load := func() (end func()) {
		return underLoad(func() bool { return assert.Equal(t, http.StatusCreated, write()) })
	}

	end := load()
	more()
	e.trust(e.client.ca, first, second)
	e.serve(second)
	pair, err := second.Client("server")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(e.client.cert, pair.CertPEM(), 0o600))
	more() // the key is the old one
	require.NoError(t, os.WriteFile(e.client.key, pair.KeyPEM(), 0o600))
	more()
	end()
	if t.Failed() {
		return
	}

	e.trust(e.trusted, second)
	e.trust(e.client.ca, second)
	e.Restart()
	require.False(t, e.accepts(first), "the old authority is retired")
	require.True(t, e.accepts(second))
	require.Eventually(t, func() bool { return write() == http.StatusCreated }, time.Minute, 10*time.Millisecond)
	end = load()
	more()
	end()
}
