package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/memory"
)

// Certificates, authorities and keys that are replaced on disk are in use a moment later, without a restart;
// while a certificate and its key do not belong together, or a file holds nothing of use, the ones before
// stay in use.
func TestFilesAreReloaded(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, data []byte) { require.NoError(t, os.WriteFile(at(name), data, 0o600)) }
	synctest.Test(t, func(t *testing.T) {
		first, err := certs.NewAuthority("first")
		require.NoError(t, err)
		second, err := certs.NewAuthority("second")
		require.NoError(t, err)
		pair := func(ca *certs.Authority, name string) *certs.Pair {
			p, err := ca.Client(name, "system:masters")
			require.NoError(t, err)
			return p
		}
		before, after := pair(first, "before"), pair(second, "after")
		for _, name := range []string{"serving", "kubelet"} {
			write(name+".crt", before.CertPEM())
			write(name+".key", before.KeyPEM())
		}
		write("ca.crt", first.CertPEM())
		write("sa.key", before.KeyPEM())
		o, err := parse([]string{"--storage-backend=memory", "--client-ca-file=" + at("ca.crt"), "--tls-cert-file=" + at("serving.crt"), "--tls-private-key-file=" + at("serving.key"),
			"--kubelet-client-certificate=" + at("kubelet.crt"), "--kubelet-client-key=" + at("kubelet.key"), "--service-account-issuer=https://me", "--service-account-signing-key-file=" + at("sa.key")})
		require.NoError(t, err)
		log := slog.New(slog.DiscardHandler)
		st := memory.New(memory.Options{})
		cp, err := o.controlPlane(st, log)
		require.NoError(t, err)
		serving, err := o.servingCertificate(log)
		require.NoError(t, err)
		kubelet, err := newClientTLS(log, "", o.kubeletCert, o.kubeletKey)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done, followed := make(chan error, 1), make(chan struct{})
		go func() { done <- cp.Run(ctx) }()
		go func() { defer close(followed); followKeys(ctx, o.keys, cp.Tokens(), log) }()
		<-cp.Ready()

		ask := func(who *certs.Pair) int {
			r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces", nil)
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{who.Cert}}
			w := httptest.NewRecorder()
			cp.ServeHTTP(w, r)
			return w.Code
		}
		served := func() string {
			c, err := serving(nil)
			require.NoError(t, err)
			return c.Leaf.Subject.CommonName
		}
		shown := func() string {
			return kubelet.config().Certificates[0].Leaf.Subject.CommonName
		}
		sign := func() string {
			token, err := cp.Tokens().Sign(authn.TokenClaims{Namespace: "default", ServiceAccount: authn.ObjectRef{Name: "a"}, Expires: time.Now().Add(time.Hour)})
			require.NoError(t, err)
			return token
		}
		known := func(token string) bool {
			_, _, err := cp.Tokens().AuthenticateToken(ctx, token)
			require.Error(t, err, "there is no such account")
			return err.Error() != "authn: service account token: the signature is not by a known key"
		}
		old := sign()
		check := func(name string, firsts, seconds int, oldCounts bool) {
			t.Helper()
			time.Sleep(2 * reloadEvery)
			synctest.Wait()
			require.Equal(t, name, served())
			require.Equal(t, name, shown())
			require.Equal(t, firsts, ask(before))
			require.Equal(t, seconds, ask(after))
			require.Equal(t, oldCounts, known(old))
			require.True(t, known(sign()))
		}
		check("before", 200, 401, true)
		write("serving.crt", after.CertPEM())
		write("kubelet.crt", after.CertPEM())
		write("ca.crt", []byte("nothing"))
		write("sa.key", []byte("nothing"))
		check("before", 200, 401, true)
		write("serving.key", after.KeyPEM())
		write("kubelet.key", after.KeyPEM())
		write("ca.crt", append(first.CertPEM(), second.CertPEM()...))
		write("sa.key", after.KeyPEM())
		check("after", 200, 200, false)
		write("ca.crt", second.CertPEM())
		check("after", 401, 200, false)
		cancel()
		<-done
		<-followed
		require.NoError(t, st.Close())
	})
}

// Without a key to sign tokens with, a server whose objects outlive it, or that others serve too, does not
// start.
func TestSigningKeyIsRequired(t *testing.T) {
	for _, c := range []struct {
		flags []string
		ok    bool
	}{
		{[]string{"--storage-backend=memory"}, true},
		{[]string{"--storage-backend=file", "--storage-dir=x"}, false},
		{[]string{"--etcd-servers=http://127.0.0.1:1"}, false},
		{[]string{"--etcd-servers=http://127.0.0.1:1", "--service-account-key-file=k", "--service-account-issuer=https://me"}, false},
		{[]string{"--etcd-servers=http://127.0.0.1:1", "--generate-service-account-key"}, true},
		{[]string{"--etcd-servers=http://127.0.0.1:1", "--service-account-signing-key-file=k", "--service-account-issuer=https://me"}, true},
	} {
		_, err := parse(c.flags)
		require.Equal(t, c.ok, err == nil, "%v: %v", c.flags, err)
		if !c.ok {
			require.ErrorContains(t, err, "--service-account-signing-key-file is required")
		}
	}
}
