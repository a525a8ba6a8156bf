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

	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
)

// reloading is a control plane whose certificates, authorities and keys lie in the files of a folder.
type reloading struct {
	t             *testing.T
	dir           string
	cp            *controlplane.ControlPlane
	before, after *certs.Pair // a client's, of the first and the second authority
	serving       *tls.Config
	kubelet       *component.ClientTLS
	old           string // a token of the first key
}

func (r *reloading) at(name string) string { return filepath.Join(r.dir, name) }

func (r *reloading) write(name string, data []byte) {
	require.NoError(r.t, os.WriteFile(r.at(name), data, 0o600))
}

// start runs the control plane, with more flags, and returns a function that ends it.
func (r *reloading) start(first *certs.Authority, more ...string) (stop func()) {
	for _, name := range []string{"serving", "kubelet"} {
		r.write(name+".crt", r.before.CertPEM())
		r.write(name+".key", r.before.KeyPEM())
	}
	r.write("ca.crt", first.CertPEM())
	r.write("sa.key", r.before.KeyPEM())
	o, err := parse(append([]string{"--storage-backend=memory", "--client-ca-file=" + r.at("ca.crt"), "--tls-cert-file=" + r.at("serving.crt"), "--tls-private-key-file=" + r.at("serving.key"),
		"--kubelet-client-certificate=" + r.at("kubelet.crt"), "--kubelet-client-key=" + r.at("kubelet.key"), "--service-account-issuer=https://me", "--service-account-signing-key-file=" + r.at("sa.key")}, more...))
	require.NoError(r.t, err)
	log := slog.New(slog.DiscardHandler)
	st := memory.New(memory.Options{})
	r.cp, err = o.controlPlane(st, log)
	require.NoError(r.t, err)
	r.serving, err = o.tls.Config(log, o.generate)
	require.NoError(r.t, err)
	r.kubelet, err = component.NewClientTLS(log, "", o.nodes.certFile, o.nodes.keyFile)
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.t.Context())
	done, followed := make(chan error, 1), make(chan struct{})
	go func() { done <- r.cp.Run(ctx) }()
	go func() { defer close(followed); followKeys(ctx, o.keys, r.cp.Tokens(), log) }()
	<-r.cp.Ready()
	r.old = r.sign()
	return func() {
		cancel()
		<-done
		<-followed
		require.NoError(r.t, st.Close())
	}
}

// ask returns the code of a request with a client's certificate.
func (r *reloading) ask(who *certs.Pair) int {
	req := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces", nil)
	req.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{who.Cert}}
	w := httptest.NewRecorder()
	r.cp.ServeHTTP(w, req)
	return w.Code
}

func (r *reloading) sign() string {
	token, err := r.cp.Tokens().Sign(authn.TokenClaims{Namespace: "default", ServiceAccount: authn.ObjectRef{Name: "a"}, Expires: time.Now().Add(time.Hour)})
	require.NoError(r.t, err)
	return token
}

// known reports whether a token is signed by a known key.
func (r *reloading) known(token string) bool {
	_, _, err := r.cp.Tokens().AuthenticateToken(r.t.Context(), token)
	require.Error(r.t, err, "there is no such account")
	return err.Error() != "authn: service account token: the signature is not by a known key"
}

// check waits until the files have been read again, and requires the name in the certificates in use, the
// codes of requests of the two clients, and whether the old token counts.
func (r *reloading) check(name string, before, after int, oldCounts bool) {
	r.t.Helper()
	time.Sleep(2 * component.ReloadEvery)
	synctest.Wait()
	served, err := r.serving.GetCertificate(&tls.ClientHelloInfo{})
	require.NoError(r.t, err)
	require.Equal(r.t, name, served.Leaf.Subject.CommonName)
	sent, err := r.kubelet.Config().GetClientCertificate(&tls.CertificateRequestInfo{})
	require.NoError(r.t, err)
	require.Equal(r.t, name, sent.Leaf.Subject.CommonName)
	require.Equal(r.t, before, r.ask(r.before))
	require.Equal(r.t, after, r.ask(r.after))
	require.Equal(r.t, oldCounts, r.known(r.old))
	require.True(r.t, r.known(r.sign()))
}

// Certificates, authorities and keys that are replaced on disk are used shortly afterwards, without a
// restart; while a certificate and its key do not match, or a file is invalid, the previous ones stay in use.
func TestFilesAreReloaded(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first, err := certs.NewAuthority("first")
		require.NoError(t, err)
		second, err := certs.NewAuthority("second")
		require.NoError(t, err)
		r := &reloading{t: t, dir: dir}
		r.before, err = first.Client("before", "system:masters")
		require.NoError(t, err)
		r.after, err = second.Client("after", "system:masters")
		require.NoError(t, err)
		stop := r.start(first)
		r.check("before", 200, 401, true)
		r.write("serving.crt", r.after.CertPEM())
		r.write("kubelet.crt", r.after.CertPEM())
		r.write("ca.crt", []byte("nothing"))
		r.write("sa.key", []byte("nothing"))
		r.check("before", 200, 401, true)
		r.write("serving.key", r.after.KeyPEM())
		r.write("kubelet.key", r.after.KeyPEM())
		r.write("ca.crt", append(first.CertPEM(), second.CertPEM()...))
		r.write("sa.key", r.after.KeyPEM())
		r.check("after", 200, 200, false)
		r.write("ca.crt", second.CertPEM())
		r.check("after", 401, 200, false)
		stop()
	})
}

// Without a key that signs tokens, a server with persistent or shared storage does not start.
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
