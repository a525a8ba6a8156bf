package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/certificate"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/controllers/builtin/certificates"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
	"github.com/keelson-dev/keelson/controllers/kubelet/kubeletconfig"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/storetest"
)

type csr = certificatesv1.CertificateSigningRequest

// joining is a machine with a bootstrap token, and a cluster that it joins.
type joining struct {
	t         *testing.T
	c         *controllertest.Cluster
	dir, port string
	rt        *fakecri.Runtime
}

func newJoining(t *testing.T) *joining {
	c := controllertest.Start(t, controllertest.Options{})
	j := &joining{t: t, c: c, dir: t.TempDir(), rt: fakecri.New("img")}
	c.Run(c.Manager("signers", func(m *manager.Manager) error {
		return errors.Join(certificates.AddApproving(m), certificates.AddSigning(m, certificates.SigningOptions{Cert: c.Authority().Cert, Key: c.Authority().Key}))
	}))
	for group, roles := range map[string][]string{
		"system:bootstrappers": {"system:node-bootstrapper", "system:certificates.k8s.io:certificatesigningrequests:nodeclient"},
		"system:nodes":         {"system:node", "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"},
	} {
		for _, role := range roles {
			controllertest.Create(c, &rbacv1.ClusterRoleBinding{ObjectMeta: controllertest.Name("", group+":"+role),
				RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: "ClusterRole", Name: role},
				Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupVersion.Group, Kind: "Group", Name: group}}})
		}
	}
	// The address is that of a cloud, because a node cannot find the one of its loopback by itself.
	node := controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "n1")})
	controllertest.UpdateStatus(c, "", node.Name, func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}, {Type: corev1.NodeHostName, Address: "n1"}}
	})
	controllertest.Create(c, &corev1.Secret{ObjectMeta: controllertest.Name("kube-system", "bootstrap-token-abc123"), Type: "bootstrap.kubernetes.io/token",
		StringData: map[string]string{"token-id": "abc123", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true"}})
	admin, err := kubeconfig.Load(kubeconfig.Options{Path: c.Kubeconfig(), NoInCluster: true})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(j.path("bootstrap.conf"), fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: u, user: {token: abc123.0123456789abcdef}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, admin.Host, base64.StdEncoding.EncodeToString(c.RootCA())), 0o600))

	ctx, stop := context.WithCancel(context.Background())
	dial, wait := j.rt.Serve(ctx)
	t.Cleanup(func() { stop(); wait() })
	l, err := net.Listen("unix", j.path("cri.sock"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go forward(l, dial)
	_, j.port, err = net.SplitHostPort(storetest.FreeAddress(t))
	require.NoError(t, err)
	return j
}

func (j *joining) path(name string) string { return filepath.Join(j.dir, name) }

// start runs the kubelet until stop is called.
func (j *joining) start() (stop func()) {
	ctx, cancel := context.WithCancel(j.t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"--bootstrap-kubeconfig=" + j.path("bootstrap.conf"), "--kubeconfig=" + j.path("kubelet.conf"), "--container-runtime-endpoint=unix://" + j.path("cri.sock"),
			"--root-dir=" + j.dir, "--cert-dir=" + j.path("pki"), "--hostname-override=n1", "--cloud-provider=external", "--port=" + j.port, "--healthz-port=0", "--address=127.0.0.1",
			"--rotate-certificates", "--rotate-server-certificates", "--config=" + config(j.t, j.dir)})
	}()
	return func() {
		j.t.Helper()
		cancel()
		require.NoError(j.t, <-done)
	}
}

// requests counts the requests for certificates, by signer.
func (j *joining) requests() map[string]int {
	n := map[string]int{}
	for _, r := range controllertest.List[*csr](j.c, "") {
		n[r.Spec.SignerName]++
	}
	return n
}

// served returns the certificate of the kubelet API.
func (j *joining) served() (*x509.Certificate, error) {
	conn, err := tls.Dial("tcp", net.JoinHostPort("127.0.0.1", j.port), &tls.Config{RootCAs: j.c.Authority().Pool(), MinVersion: tls.VersionTLS12})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0], nil
}

// A machine joins with a bootstrap token: its client certificate is approved by a controller, its serving
// certificate by an administrator, and until then clients cannot connect. Later starts have both already.
// If the client certificate has expired meanwhile, the token serves again.
func TestNodeJoins(t *testing.T) {
	j := newJoining(t)
	const patience, pause = time.Minute, 20 * time.Millisecond
	stop := j.start()
	require.Eventually(t, func() bool { return j.requests()[certificatesv1.KubeletServingSignerName] == 1 }, patience, pause)
	require.Eventually(t, func() bool {
		return controllertest.Get[*corev1.Node](j.c, "", "n1").Status.NodeInfo.KubeletVersion != ""
	}, patience, pause)
	require.Eventually(t, func() bool {
		_, err := j.served()
		var refused *net.OpError
		return err != nil && errors.As(err, &refused) && refused.Op == "remote error" // a TLS alert
	}, patience, pause)
	requests := client.For[*csr](j.c.Admin())
	for _, r := range controllertest.List[*csr](j.c, "") {
		if r.Spec.SignerName != certificatesv1.KubeletServingSignerName {
			require.Equal(t, "system:bootstrap:abc123", r.Spec.Username)
			continue
		}
		require.Equal(t, "system:node:n1", r.Spec.Username)
		r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
		_, err := client.Subresource[*csr](requests, "approval").Update(t.Context(), metav1.KeyOf(r), r)
		require.NoError(t, err)
	}
	var first *x509.Certificate
	require.Eventually(t, func() (ok bool) {
		var err error
		first, err = j.served()
		return err == nil
	}, patience, pause)
	require.Equal(t, []string{"n1"}, first.DNSNames)
	stop()

	before := j.requests()
	stop = j.start()
	var again *x509.Certificate
	require.Eventually(t, func() (ok bool) {
		var err error
		again, err = j.served()
		return err == nil
	}, patience, pause)
	require.Equal(t, first.SerialNumber, again.SerialNumber)
	require.Equal(t, before, j.requests(), "nothing is requested that is there")
	stop()

	expired := expiredPair(t)
	require.NoError(t, os.WriteFile(j.path("pki/kubelet-client-current.pem"), expired, 0o600))
	stop = j.start()
	require.Eventually(t, func() bool {
		return j.requests()[certificatesv1.KubeAPIServerClientKubeletSignerName] == before[certificatesv1.KubeAPIServerClientKubeletSignerName]+1
	}, patience, pause)
	require.Eventually(t, func() bool {
		_, err := j.served()
		return err == nil && unusable(j.path("kubelet.conf")) == nil
	}, patience, pause)
	stop()
}

// expiredPair is a client certificate that is not valid any more, with its key.
func expiredPair(t *testing.T) []byte {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour),
		Subject: pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
	require.NoError(t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})...)
}

// A kubeconfig is used in place of that for the start only while it has a valid client certificate.
func TestUnusableKubeconfigs(t *testing.T) {
	dir := t.TempDir()
	write := func(name, user string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://192.0.2.1'}}]\nusers: [{name: u, user: {"+user+
			"}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"), 0o600))
		return path
	}
	old := filepath.Join(dir, "expired.pem")
	require.NoError(t, os.WriteFile(old, expiredPair(t), 0o600))
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file",
		write("token", "token: x"): "has no client certificate",
		write("missing", "client-certificate: "+old+".no, client-key: "+old+".no"):       "no such file",
		write("expired", "client-certificate: "+old+", client-key: "+old):                "has expired",
		write("garbled", "client-certificate-data: bm90aGluZw==, client-key-data: eA=="): "client certificate of the kubeconfig",
	} {
		require.ErrorContains(t, unusable(path), want, path)
	}
}

// refusing is an API server that answers all requests with an error.
type refusing struct {
	client.Conn
	err error
}

func (r *refusing) Do(context.Context, *client.Request) (*client.Response, error) { return nil, r.err }

// A kubelet without a valid certificate ends when the API server refuses to issue one, because the next
// start may have other credentials, but not while the API server is away.
func TestLostCertificate(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		ends bool
	}{"refused": {apierrors.NewUnauthorized("expired"), true}, "away": {&url.Error{Op: "Post", Err: errors.New("connection refused")}, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := controllertest.Start(t, controllertest.Options{}).Conn()
				m, err := certificate.New(certificate.Options{Conn: &refusing{conn, c.err}, Signer: certificatesv1.KubeAPIServerClientKubeletSignerName,
					Request: func() *x509.CertificateRequest {
						return &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:n1"}}
					}})
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				err = (&connection{certs: m}).runWith(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
				if !c.ends {
					require.NoError(t, err)
					require.Equal(t, time.Hour, time.Since(began))
					return
				}
				require.ErrorContains(t, err, "the API server issues none")
				require.InDelta(t, uncertified, time.Since(began), float64(2*certificatePoll))
			})
		})
	}
}

// Certificates and authorities are read again when their files change.
func TestServingFilesAreReloaded(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	synctest.Test(t, func(t *testing.T) {
		write := func() *x509.Certificate {
			ca, err := certs.NewAuthority("ca")
			require.NoError(t, err)
			pair, err := ca.Serving("n1", "n1")
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(cert, pair.CertPEM(), 0o600))
			require.NoError(t, os.WriteFile(key, pair.KeyPEM(), 0o600))
			return pair.Cert
		}
		first := write()
		c := kubeletconfig.Default()
		c.TLSCertFile, c.TLSPrivateKeyFile = cert, key
		config, err := serving(&flags{}, c, "n1", nil, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		shown := func() *x509.Certificate {
			pair, err := config.GetCertificate(nil)
			require.NoError(t, err)
			return pair.Leaf
		}
		require.True(t, first.Equal(shown()))
		second := write()
		time.Sleep(2 * time.Second)
		require.True(t, second.Equal(shown()))
		require.NoError(t, os.WriteFile(cert, []byte("half"), 0o600))
		time.Sleep(2 * time.Second)
		require.True(t, second.Equal(shown()), "a broken file leaves what there was")
	})
}
