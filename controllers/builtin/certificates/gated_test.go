package certificates_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/certificates"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/certs"
)

type (
	bundle     = certificatesv1beta1.ClusterTrustBundle
	podRequest = certificatesv1beta1.PodCertificateRequest
)

// startGated starts a cluster that serves what is off by default, and a controller with the rights of its
// account.
func startGated(t *testing.T, account string, add func(*manager.Manager) error) *controllertest.Cluster {
	served, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	known := api.Scheme().Clone()
	for _, g := range api.AllGated() {
		require.NoError(t, g.AddToScheme(served))
		require.NoError(t, g.AddRules(served))
		require.NoError(t, g.AddToScheme(known))
	}
	c := controllertest.Start(t, controllertest.Options{Scheme: known, Server: apiserver.Options{Scheme: served}})
	user := client.User{Name: "system:serviceaccount:kube-system:" + account, Groups: []string{"system:authenticated"}}
	if add != nil {
		c.Run(c.ManagerOver(c.Conn(), "controllers", func(m *manager.Manager) error { return add(m.As(c.Conn(user))) }))
	}
	return c
}

// newPodRequest is a request for a certificate with a new key.
func newPodRequest(t *testing.T, name string) *podRequest {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	stub, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	require.NoError(t, err)
	r := &podRequest{ObjectMeta: controllertest.Name("default", name)}
	r.Spec = certificatesv1beta1.PodCertificateRequestSpec{SignerName: "example.com/signer", PodName: "web", PodUID: "1", ServiceAccountName: "default", ServiceAccountUID: "2",
		NodeName: "node-1", NodeUID: "3", StubPKCS10Request: stub}
	return r
}

// A PodCertificateRequest goes a quarter of an hour after it was made; one that replaces it has its own time.
func TestPodRequestsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startGated(t, "podcertificaterequestcleaner", certificates.AddPodCleaner)
		require.EqualValues(t, 86400, *controllertest.Create(c, newPodRequest(t, "a")).Spec.MaxExpirationSeconds)
		controllertest.Create(c, newPodRequest(t, "b"))
		c.Sleep(10 * time.Minute)
		controllertest.Delete[*podRequest](c, "default", "b")
		controllertest.Create(c, newPodRequest(t, "b"))
		c.Sleep(4 * time.Minute)
		require.Len(t, controllertest.List[*podRequest](c, "default"), 2)
		c.Sleep(2 * time.Minute)
		require.Len(t, controllertest.List[*podRequest](c, "default"), 1)
		c.Sleep(10 * time.Minute)
		require.Empty(t, controllertest.List[*podRequest](c, "default"))
	})
}

// The bundle of a signer has the certificates of its authority, is repaired, and replaces that of an earlier
// authority.
func TestBundleIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority := func() []byte {
			a, err := certs.NewAuthority("test")
			require.NoError(t, err)
			return a.CertPEM()
		}
		first, second := authority(), authority()
		const account = "kube-apiserver-serving-clustertrustbundle-publisher"
		c := startGated(t, account, nil)
		run := func(name string, ca []byte) (stop func()) {
			user := client.User{Name: "system:serviceaccount:kube-system:" + account, Groups: []string{"system:authenticated"}}
			return c.Run(c.ManagerOver(c.Conn(), name, func(m *manager.Manager) error {
				return certificates.AddBundlePublisher(m.As(c.Conn(user)), certificates.BundleOptions{Signer: certificates.ServingSigner, Bundle: ca})
			}))
		}
		stop := run("first", first)
		other := &bundle{ObjectMeta: controllertest.Name("", "other"), Spec: certificatesv1beta1.ClusterTrustBundleSpec{TrustBundle: string(second)}}
		controllertest.Create(c, other)
		c.Sleep(time.Second)
		published := func() *bundle {
			var found []*bundle
			for _, b := range controllertest.List[*bundle](c, "") {
				if b.Spec.SignerName == certificates.ServingSigner {
					found = append(found, b)
				}
			}
			require.Len(t, found, 1)
			return found[0]
		}
		b := published()
		require.Equal(t, string(first), b.Spec.TrustBundle)
		require.Regexp(t, "^kubernetes.io:kube-apiserver-serving:[0-9a-f]{24}$", b.Name)
		controllertest.Update(c, "", b.Name, func(b *bundle) { b.Spec.TrustBundle = string(second) })
		c.Sleep(time.Second)
		require.Equal(t, string(first), published().Spec.TrustBundle)
		controllertest.Delete[*bundle](c, "", b.Name)
		c.Sleep(time.Second)
		require.Equal(t, string(first), published().Spec.TrustBundle)
		stop()
		run("second", second)
		c.Sleep(time.Second)
		require.Equal(t, string(second), published().Spec.TrustBundle)
		require.True(t, controllertest.Exists[*bundle](c, "", "other"))
	})
	for _, opts := range []certificates.BundleOptions{{Signer: "a.test/b"}, {Bundle: []byte("x")}} {
		require.ErrorContains(t, certificates.AddBundlePublisher(nil, opts), "needs a signer and its certificates")
	}
}

// What a server refuses of requests.
func TestImpossibleRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startGated(t, "", nil)
		a, err := certs.NewAuthority("test")
		require.NoError(t, err)
		requests := client.For[*podRequest](c.Conn())
		for want, edit := range map[string]func(*certificatesv1beta1.PodCertificateRequestSpec){
			"spec.signerName": func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.SignerName = "x" }, "spec.podName": func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.PodName = "" },
			"spec.nodeUID": func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.NodeUID = "" }, "in the range [3600, 7862400]": func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.MaxExpirationSeconds = new(int32(60)) },
			"in the range [3600, 86400]": func(s *certificatesv1beta1.PodCertificateRequestSpec) {
				s.SignerName, s.MaxExpirationSeconds = "kubernetes.io/a", new(int32(86401))
			},
			"exactly one of": func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.PKIXPublicKey = s.StubPKCS10Request },
			"valid PKCS#10":  func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.StubPKCS10Request = []byte("x") },
			"invalid signature": func(s *certificatesv1beta1.PodCertificateRequestSpec) {
				s.StubPKCS10Request[len(s.StubPKCS10Request)-1] ^= 1
			},
			"proof-of-possession": func(s *certificatesv1beta1.PodCertificateRequestSpec) {
				public, key, _ := ed25519.GenerateKey(rand.Reader)
				s.PKIXPublicKey, _ = x509.MarshalPKIXPublicKey(public)
				s.ProofOfPossession, s.StubPKCS10Request = ed25519.Sign(key, []byte("another pod")), nil
			},
		} {
			r := newPodRequest(t, "bad")
			edit(&r.Spec)
			_, err := requests.Create(t.Context(), r)
			require.ErrorContains(t, err, want)
		}
		proven := newPodRequest(t, "proven")
		public, key, err := ed25519.GenerateKey(rand.Reader)
		require.NoError(t, err)
		proven.Spec.PKIXPublicKey, err = x509.MarshalPKIXPublicKey(public)
		require.NoError(t, err)
		proven.Spec.ProofOfPossession, proven.Spec.StubPKCS10Request = ed25519.Sign(key, []byte(proven.Spec.PodUID)), nil
		controllertest.Create(c, proven)
		issue(t, c, requests, a, public)
	})
}

// issue goes through the results of the request "proven": only a certificate for its key is accepted, and
// then nothing changes it.
func issue(t *testing.T, c *controllertest.Cluster, requests *client.Client[*podRequest], a *certs.Authority, public ed25519.PublicKey) {
	now := time.Now().Truncate(time.Second)
	certificate := func(key any, lifetime time.Duration) string {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now, NotAfter: now.Add(lifetime)}
		der, err := x509.CreateCertificate(rand.Reader, template, a.Cert, key, a.Key)
		require.NoError(t, err)
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	other, _, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	set := func(chain string, lifetime, refresh time.Duration, result string) error {
		r := controllertest.Get[*podRequest](c, "default", "proven")
		r.Status = certificatesv1beta1.PodCertificateRequestStatus{CertificateChain: chain, NotBefore: &metav1.Time{Time: now},
			NotAfter: &metav1.Time{Time: now.Add(lifetime)}, BeginRefreshAt: &metav1.Time{Time: now.Add(refresh)},
			Conditions: []metav1.Condition{{Type: result, Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: metav1.Now()}}}
		_, err := requests.UpdateStatus(t.Context(), r)
		return err
	}
	good := certificate(public, 2*time.Hour)
	for _, bad := range []struct {
		chain             string
		lifetime, refresh time.Duration
		result, want      string
	}{
		{"", time.Hour, time.Hour, "Issued", "at least one certificate"}, {certificate(other, 2*time.Hour), 2 * time.Hour, time.Hour, "Issued", "not issued to the requested public key"},
		{certificate(public, time.Minute), time.Minute, time.Hour, "Issued", "must be >= 1 hour"}, {certificate(public, 48*time.Hour), 48 * time.Hour, time.Hour, "Issued", "must be <= spec.maxExpirationSeconds"},
		{good, time.Hour, time.Hour, "Issued", "status.notAfter"}, {good, 2 * time.Hour, time.Minute, "Issued", "at least 10 minutes after"}, {good, 2 * time.Hour, 2 * time.Hour, "Issued", "at least 10 minutes before"},
		{good, 2 * time.Hour, time.Hour, "Denied", "must be empty when denying"}, {good, 2 * time.Hour, time.Hour, "Approved", "status.conditions[0].type"},
	} {
		require.ErrorContains(t, set(bad.chain, bad.lifetime, bad.refresh, bad.result), bad.want)
	}
	require.NoError(t, set(good, 2*time.Hour, time.Hour, "Issued"))
	require.ErrorContains(t, set(good, 2*time.Hour, time.Hour+time.Second, "Issued"), "immutable after")
}
