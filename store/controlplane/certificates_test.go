package controlplane_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

func signingRequest(t testing.TB, name, signer string, organizations ...string) *certificatesv1.CertificateSigningRequest {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "ann", Organization: organizations}}, key)
	require.NoError(t, err)
	csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: planetest.Meta("", name)}
	csr.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	csr.Spec.SignerName = signer
	csr.Spec.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth}
	return csr
}

// The right to write the subresources is not the right to approve, or to sign, for a signer.
func TestCertificateRequests(t *testing.T) {
	p := planetest.Start(t)
	admin := p.Admin()
	const signer = "example.com/boats"
	planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "writer"), Rules: []rbacv1.PolicyRule{{Verbs: []string{"get", "update", "patch"},
		APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests/approval", "certificatesigningrequests/status", "certificatesigningrequests"}}}})
	for name, resource := range map[string]string{"exactly": signer, "domain": "example.com/*"} {
		planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", name), Rules: []rbacv1.PolicyRule{{Verbs: []string{"approve", "sign"},
			APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"signers"}, ResourceNames: []string{resource}}}})
	}
	for _, name := range []string{"writer", "exactly", "domain"} {
		user := rbacv1.Subject{APIGroup: rbacGroup, Kind: "User", Name: name}
		bindCluster(t, admin, "write-"+name, "writer", user)
		if name != "writer" {
			bindCluster(t, admin, name, name, user)
		}
	}
	approval := func(c client.Conn) *client.Sub[*certificatesv1.CertificateSigningRequest] {
		return client.Subresource[*certificatesv1.CertificateSigningRequest](client.For[*certificatesv1.CertificateSigningRequest](c), "approval")
	}
	for _, name := range []string{"exactly", "domain", "writer"} {
		t.Run(name, func(t *testing.T) {
			csr := planetest.Create(t, admin, signingRequest(t, name, signer))
			as := p.As(name)
			csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
			// Bindings take effect shortly after they are stored.
			p.Eventually("it may write", func() bool {
				_, err := client.For[*certificatesv1.CertificateSigningRequest](as).Get(t.Context(), planetest.Key("", name))
				return err == nil
			})
			if name == "writer" {
				_, err := approval(as).Update(t.Context(), planetest.Key("", name), csr)
				require.True(t, apierrors.IsForbidden(err), "%v", err)
				require.ErrorContains(t, err, `user not permitted to approve requests with signerName "example.com/boats"`)
				csr.Status.Conditions[0] = certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: "Test"}
				_, err = client.For[*certificatesv1.CertificateSigningRequest](as).UpdateStatus(t.Context(), csr)
				require.True(t, apierrors.IsForbidden(err), "%v", err)
				require.ErrorContains(t, err, `user not permitted to sign requests with signerName "example.com/boats"`)
				return
			}
			p.Eventually("it may approve", func() bool {
				_, err := approval(as).Update(t.Context(), planetest.Key("", name), csr)
				require.True(t, err == nil || apierrors.IsForbidden(err), "%v", err)
				return err == nil
			})
		})
	}
	err := planetest.TryCreate(t, admin, signingRequest(t, "masters", certificatesv1.KubeAPIServerClientSignerName, "dev", "system:masters"))
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed")
	planetest.Create(t, admin, signingRequest(t, "dev", certificatesv1.KubeAPIServerClientSignerName, "dev"))
	planetest.Create(t, admin, signingRequest(t, "elsewhere", signer, "system:masters"))
}

// A trust bundle of a signer is written by those who may attest for it, and the garbage collector's changes
// need nothing more.
func TestClusterTrustBundleAttest(t *testing.T) {
	s, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	require.NoError(t, errors.Join(certificatesv1beta1.AddToScheme(s), certificatesv1beta1.AddRules(s)))
	p := planetest.Start(t, func(o *controlplane.Options) { o.Server.Scheme = s })
	admin := p.Admin()
	planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "write"), Rules: []rbacv1.PolicyRule{{Verbs: []string{"create", "update", "get"},
		APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"clustertrustbundles"}}}})
	planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "attest"), Rules: []rbacv1.PolicyRule{{Verbs: []string{"attest"},
		APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"signers"}, ResourceNames: []string{"example.com/*"}}}})
	for _, name := range []string{"writer", "attester"} {
		bindCluster(t, admin, "write-"+name, "write", rbacv1.Subject{APIGroup: rbacGroup, Kind: "User", Name: name})
	}
	bindCluster(t, admin, "attest", "attest", rbacv1.Subject{APIGroup: rbacGroup, Kind: "User", Name: "attester"})
	bundles := func(c client.Conn) *client.Client[*certificatesv1beta1.ClusterTrustBundle] {
		return client.ForResource[*certificatesv1beta1.ClusterTrustBundle](c, client.Resource{GVR: certificatesv1beta1.GroupVersion.WithResource("clustertrustbundles"), GVK: certificatesv1beta1.GroupVersion.WithKind("ClusterTrustBundle")})
	}
	bundle := func(name, signer string) *certificatesv1beta1.ClusterTrustBundle {
		return &certificatesv1beta1.ClusterTrustBundle{ObjectMeta: planetest.Meta("", name), Spec: certificatesv1beta1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: string(p.CA.CertPEM())}}
	}
	p.Eventually("the attester may attest", func() bool {
		_, err := bundles(p.As("attester")).Create(t.Context(), bundle("example.com:boats:a", "example.com/boats"))
		return err == nil
	})
	_, err = bundles(p.As("attester")).Create(t.Context(), bundle("other.example:boats:a", "other.example/boats"))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `user not permitted to attest for signerName "other.example/boats"`)

	writer := bundles(p.As("writer"))
	p.Eventually("the writer may write bundles without a signer", func() bool {
		_, err := writer.Create(t.Context(), bundle("plain", ""))
		return err == nil
	})
	_, err = writer.Create(t.Context(), bundle("example.com:boats:b", "example.com/boats"))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `user not permitted to attest for signerName "example.com/boats"`)
	got, err := writer.Get(t.Context(), planetest.Key("", "example.com:boats:a"))
	require.NoError(t, err)
	got.Finalizers = []string{"a.test/f"}
	got, err = writer.Update(t.Context(), got)
	require.NoError(t, err)
	got.Labels = map[string]string{"a": "b"}
	_, err = writer.Update(t.Context(), got)
	require.True(t, apierrors.IsForbidden(err), err)
}

// The right to write the status of pod certificate requests is not the right to sign for a signer.
func TestPodCertificateSigning(t *testing.T) {
	s, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	require.NoError(t, errors.Join(certificatesv1beta1.AddRequests(s), certificatesv1beta1.AddRequestRules(s)))
	p := planetest.Start(t, func(o *controlplane.Options) { o.Server.Scheme = s })
	admin := p.Admin()
	planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "write"), Rules: []rbacv1.PolicyRule{{Verbs: []string{"get", "update"},
		APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"podcertificaterequests", "podcertificaterequests/status"}}}})
	planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "sign"), Rules: []rbacv1.PolicyRule{{Verbs: []string{"sign"},
		APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"signers"}, ResourceNames: []string{"example.com/boats"}}}})
	for _, name := range []string{"writer", "signer"} {
		bindCluster(t, admin, "write-"+name, "write", rbacv1.Subject{APIGroup: rbacGroup, Kind: "User", Name: name})
	}
	bindCluster(t, admin, "sign", "sign", rbacv1.Subject{APIGroup: rbacGroup, Kind: "User", Name: "signer"})
	requests := func(c client.Conn) *client.Client[*certificatesv1beta1.PodCertificateRequest] {
		return client.ForResource[*certificatesv1beta1.PodCertificateRequest](c, client.Resource{Namespaced: true, GVR: certificatesv1beta1.GroupVersion.WithResource("podcertificaterequests"),
			GVK: certificatesv1beta1.GroupVersion.WithKind("PodCertificateRequest")})
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	require.NoError(t, err)
	const uid = "8e3e1d3c-3a43-4bd7-8c4e-2a1d4a6a0d55"
	r := &certificatesv1beta1.PodCertificateRequest{ObjectMeta: planetest.Meta("default", "r"), Spec: certificatesv1beta1.PodCertificateRequestSpec{SignerName: "example.com/boats", PodName: "p", PodUID: uid,
		ServiceAccountName: "a", ServiceAccountUID: uid, NodeName: "n", NodeUID: uid, MaxExpirationSeconds: new(int32(86400)), StubPKCS10Request: der}}
	r, err = requests(admin).Create(t.Context(), r)
	require.NoError(t, err)
	deny := func(as string) error {
		now, err := requests(admin).Get(t.Context(), planetest.Key("default", "r"))
		require.NoError(t, err)
		now.Status.Conditions = []metav1.Condition{{Type: "Denied", Status: metav1.ConditionTrue, Reason: "No", LastTransitionTime: metav1.Now()}}
		_, err = requests(p.As(as)).UpdateStatus(t.Context(), now)
		return err
	}
	p.Eventually("the writer may write", func() bool {
		err = deny("writer")
		return !apierrors.IsForbidden(err)
	})
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	require.ErrorContains(t, err, `spec.signerName: Forbidden: User "writer" is not permitted to "sign" for signer "example.com/boats"`)
	_, err = requests(p.As("writer")).UpdateStatus(t.Context(), r)
	require.NoError(t, err, "a write that changes nothing needs no right")
	p.Eventually("the signer signs", func() bool { return deny("signer") == nil })
}
