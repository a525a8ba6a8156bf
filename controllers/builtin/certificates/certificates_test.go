package certificates_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/certificate"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/builtin/certificates"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

type csr = certificatesv1.CertificateSigningRequest

const (
	digital  = certificatesv1.UsageDigitalSignature
	encipher = certificatesv1.UsageKeyEncipherment
	forUse   = certificatesv1.UsageClientAuth
	toServe  = certificatesv1.UsageServerAuth

	anyClient     = certificatesv1.KubeAPIServerClientSignerName
	kubeletClient = certificatesv1.KubeAPIServerClientKubeletSignerName
	kubeletServes = certificatesv1.KubeletServingSignerName
)

// office runs controllers that write with the rights they have in a cluster.
func office(c *controllertest.Cluster, add ...controllertest.Adder) {
	conn := c.Conn(client.User{Name: "system:serviceaccount:kube-system:certificate-controller"})
	c.Run(c.Manager("controllers", func(m *manager.Manager) error {
		for _, f := range add {
			if err := f(m.As(conn)); err != nil {
				return err
			}
		}
		return nil
	}))
}

func signing(c *controllertest.Cluster, life time.Duration) controllertest.Adder {
	return func(m *manager.Manager) error {
		return certificates.AddSigning(m, certificates.SigningOptions{Cert: c.Authority().Cert, Key: c.Authority().Key, Duration: life})
	}
}

// ask creates a signing request as the user of conn.
func ask(t *testing.T, conn client.Conn, name, signer string, x *x509.CertificateRequest, usages []certificatesv1.KeyUsage, seconds *int32) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, x, key)
	require.NoError(t, err)
	r := &csr{ObjectMeta: controllertest.Name("", name)}
	r.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	r.Spec.SignerName, r.Spec.Usages, r.Spec.ExpirationSeconds = signer, usages, seconds
	_, err = client.For[*csr](conn).Create(t.Context(), r)
	require.NoError(t, err)
}

// answer approves or denies a request, as kubectl certificate does.
func answer(t *testing.T, c *controllertest.Cluster, name string, verdict certificatesv1.RequestConditionType) {
	t.Helper()
	r := get(c, name)
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: verdict, Status: corev1.ConditionTrue, Reason: "Test"})
	_, err := client.Subresource[*csr](client.For[*csr](c.Admin()), "approval").Update(t.Context(), types.NamespacedName{Name: name}, r)
	require.NoError(t, err)
}

func get(c *controllertest.Cluster, name string) *csr { return controllertest.Get[*csr](c, "", name) }

func issued(t *testing.T, r *csr) *x509.Certificate {
	t.Helper()
	block, rest := pem.Decode(r.Status.Certificate)
	require.NotNil(t, block, "%s: nothing is issued: %v", r.Name, r.Status.Conditions)
	require.Empty(t, rest)
	cert, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return cert
}

func node(name string) *x509.CertificateRequest {
	return &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}}}
}

func bind(c *controllertest.Cluster, group, role string) {
	b := &rbacv1.ClusterRoleBinding{ObjectMeta: controllertest.Name("", group+":"+role)}
	b.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupVersion.Group, Kind: "ClusterRole", Name: role}
	b.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupVersion.Group, Kind: "Group", Name: group}}
	controllertest.Create(c, b)
}

const (
	mayAsk   = "system:node-bootstrapper"
	anyNode  = "system:certificates.k8s.io:certificatesigningrequests:nodeclient"
	sameNode = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"
)

// A signer with an authority of its own signs with that, and one without any signs nothing.
func TestAuthorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		self := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "clients"}, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
		der, err := x509.CreateCertificate(rand.Reader, self, self, key.Public(), key)
		require.NoError(t, err)
		cert, err := x509.ParseCertificate(der)
		require.NoError(t, err)
		own := certificates.SigningOptions{Authorities: map[string]certificates.Authority{anyClient: {Cert: cert, Key: key}}}
		office(c, func(m *manager.Manager) error { return certificates.AddSigning(m, own) })
		x := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "ann"}}
		ask(t, c.Admin(), "client", anyClient, x, []certificatesv1.KeyUsage{forUse}, nil)
		ask(t, c.Admin(), "kubelet", kubeletClient, node("n"), []certificatesv1.KeyUsage{digital, forUse}, nil)
		for _, name := range []string{"client", "kubelet"} {
			answer(t, c, name, certificatesv1.CertificateApproved)
		}
		c.Settle()
		require.NoError(t, issued(t, get(c, "client")).CheckSignatureFrom(cert))
		require.Empty(t, get(c, "kubelet").Status.Certificate)
		require.Len(t, get(c, "kubelet").Status.Conditions, 1, "it is left to others")

		for why, opts := range map[string]certificates.SigningOptions{
			"are required without Authorities":     {},
			"leave them empty with Authorities":    {Cert: cert, Key: key, Authorities: own.Authorities},
			"no rules of signer \"example.com/x\"": {Authorities: map[string]certificates.Authority{"example.com/x": {Cert: cert, Key: key}}},
			"has no certificate or no key":         {Authorities: map[string]certificates.Authority{anyClient: {Cert: cert}}},
			"is not that of its certificate":       {Cert: cert, Key: c.Authority().Key},
		} {
			require.ErrorContains(t, certificates.AddSigning(c.Manager(why), opts), why)
		}
	})
}

func TestSigning(t *testing.T) {
	usages := func(u ...certificatesv1.KeyUsage) []certificatesv1.KeyUsage { return u }
	dns, ip := []string{"n.example.com"}, []net.IP{net.IPv4(10, 0, 0, 1).To4()}
	with := func(f func(x *x509.CertificateRequest)) *x509.CertificateRequest {
		x := node("n")
		f(x)
		return x
	}
	serves := func(x *x509.CertificateRequest) { x.DNSNames, x.IPAddresses = dns, ip }
	for name, tc := range map[string]struct {
		signer  string
		request *x509.CertificateRequest
		usages  []certificatesv1.KeyUsage
		refusal string // of the signer
	}{
		"client":                      {anyClient, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "ann", Organization: []string{"dev", "ops"}}}, usages(digital, encipher, forUse), ""},
		"client-alone":                {anyClient, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "ann"}}, usages(forUse), ""},
		"client-that-serves":          {anyClient, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "ann"}}, usages(forUse, toServe), "invalid usage for client certificate: server auth"},
		"client-without-use":          {anyClient, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "ann"}}, usages(digital), "missing required usage for client certificate: client auth"},
		"client-authority":            {anyClient, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "ann"}}, usages(forUse, certificatesv1.UsageCertSign), "invalid usage for client certificate: cert sign"},
		"kubelet":                     {kubeletClient, node("n"), usages(digital, encipher, forUse), ""},
		"kubelet-ecdsa":               {kubeletClient, node("n"), usages(forUse, digital), ""},
		"kubelet-without-signature":   {kubeletClient, node("n"), usages(forUse, encipher), `usages did not match [client auth digital signature key encipherment]`},
		"kubelet-that-serves":         {kubeletClient, node("n"), usages(digital, toServe), `usages did not match [client auth digital signature key encipherment]`},
		"kubelet-with-name":           {kubeletClient, with(serves), usages(digital, forUse), "DNS subjectAltNames are not allowed"},
		"kubelet-with-address":        {kubeletClient, with(func(x *x509.CertificateRequest) { x.IPAddresses = ip }), usages(digital, forUse), "IP subjectAltNames are not allowed"},
		"kubelet-with-mail":           {kubeletClient, with(func(x *x509.CertificateRequest) { x.EmailAddresses = []string{"a@b.example"} }), usages(digital, forUse), "Email subjectAltNames are not allowed"},
		"kubelet-with-uri":            {kubeletClient, with(func(x *x509.CertificateRequest) { x.URIs = []*url.URL{{Scheme: "spiffe", Host: "n"}} }), usages(digital, forUse), "URI subjectAltNames are not allowed"},
		"kubelet-other-group":         {kubeletClient, with(func(x *x509.CertificateRequest) { x.Subject.Organization = []string{"system:masters"} }), usages(digital, forUse), "subject organization is not system:nodes"},
		"kubelet-two-groups":          {kubeletClient, with(func(x *x509.CertificateRequest) { x.Subject.Organization = []string{"system:nodes", "system:masters"} }), usages(digital, forUse), "subject organization is not system:nodes"},
		"kubelet-other-name":          {kubeletClient, with(func(x *x509.CertificateRequest) { x.Subject.CommonName = "ann" }), usages(digital, forUse), "subject common name does not begin with system:node:"},
		"serving":                     {kubeletServes, with(serves), usages(digital, encipher, toServe), ""},
		"serving-without-name":        {kubeletServes, node("n"), usages(digital, toServe), "DNS or IP subjectAltName is required"},
		"serving-as-client":           {kubeletServes, with(serves), usages(digital, forUse), `usages did not match [digital signature key encipherment server auth]`},
		"serving-other-group":         {kubeletServes, with(func(x *x509.CertificateRequest) { serves(x); x.Subject.Organization = nil }), usages(digital, toServe), "subject organization is not system:nodes"},
		"serving-as-client-and-serve": {kubeletServes, with(serves), usages(digital, toServe, forUse), `usages did not match [digital signature key encipherment server auth]`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := controllertest.Start(t, controllertest.Options{})
				office(c, signing(c, 0))
				ask(t, c.Admin(), name, tc.signer, tc.request, tc.usages, nil)
				c.Settle()
				require.Empty(t, get(c, name).Status.Certificate, "it is not approved yet")
				answer(t, c, name, certificatesv1.CertificateApproved)
				c.Settle()
				r := get(c, name)
				if tc.refusal != "" {
					require.Empty(t, r.Status.Certificate)
					failed := r.Status.Conditions[len(r.Status.Conditions)-1]
					require.Equal(t, certificatesv1.CertificateFailed, failed.Type)
					require.Equal(t, corev1.ConditionTrue, failed.Status)
					require.Equal(t, "SignerValidationFailure", failed.Reason)
					require.Equal(t, tc.refusal, failed.Message)
					return
				}
				cert := issued(t, r)
				use := x509.ExtKeyUsageClientAuth
				if tc.signer == kubeletServes {
					use = x509.ExtKeyUsageServerAuth
				}
				_, err := cert.Verify(x509.VerifyOptions{Roots: c.Authority().Pool(), KeyUsages: []x509.ExtKeyUsage{use}})
				require.NoError(t, err)
				require.Equal(t, []x509.ExtKeyUsage{use}, cert.ExtKeyUsage)
				require.Equal(t, tc.request.Subject.String(), cert.Subject.String())
				require.Equal(t, tc.request.DNSNames, cert.DNSNames)
				require.Equal(t, tc.request.IPAddresses, cert.IPAddresses)
				require.False(t, cert.IsCA)
				now := time.Now().Truncate(time.Second) // the resolution of certificates
				require.Equal(t, now.Add(-5*time.Minute), cert.NotBefore.Local())
				require.Equal(t, now.Add(8760*time.Hour-5*time.Minute), cert.NotAfter.Local())
			})
		})
	}
}

func TestLifeOfACertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		office(c, signing(c, 30*24*time.Hour))
		for name, tc := range map[string]struct {
			seconds *int32
			want    time.Duration
		}{
			"as-the-signer-likes": {nil, 30*24*time.Hour - 5*time.Minute},
			"an-hour":             {new(int32(3600)), time.Hour},
			"the-least":           {new(int32(600)), 10 * time.Minute},
			"too-long":            {new(int32(1 << 30)), 30*24*time.Hour - 5*time.Minute},
		} {
			ask(t, c.Admin(), name, anyClient, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "ann"}}, []certificatesv1.KeyUsage{forUse}, tc.seconds)
			answer(t, c, name, certificatesv1.CertificateApproved)
			c.Settle()
			cert := issued(t, get(c, name))
			now := time.Now().Truncate(time.Second) // the resolution of certificates
			require.Equal(t, tc.want, cert.NotAfter.Sub(now), name)
			require.Equal(t, 5*time.Minute, now.Sub(cert.NotBefore), name)
		}
		ask(t, c.Admin(), "denied", anyClient, &x509.CertificateRequest{}, []certificatesv1.KeyUsage{forUse}, nil)
		answer(t, c, "denied", certificatesv1.CertificateDenied)
		ask(t, c.Admin(), "elsewhere", "example.com/signer", &x509.CertificateRequest{}, []certificatesv1.KeyUsage{forUse}, nil)
		answer(t, c, "elsewhere", certificatesv1.CertificateApproved)
		c.Settle()
		require.Empty(t, get(c, "denied").Status.Certificate)
		require.Empty(t, get(c, "elsewhere").Status.Certificate)
		require.Len(t, get(c, "elsewhere").Status.Conditions, 1)
	})
}

// TestNoLegacySigner keeps out the name that the signers need no rules for.
func TestNoLegacySigner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		ask(t, c.Admin(), "good", anyClient, node("a"), []certificatesv1.KeyUsage{forUse}, nil)
		r := &csr{ObjectMeta: controllertest.Name("", "legacy"), Spec: get(c, "good").Spec}
		r.Spec.SignerName = "kubernetes.io/legacy-unknown"
		_, err := client.For[*csr](c.Admin()).Create(t.Context(), r)
		require.True(t, apierrors.IsInvalid(err), err)
		require.ErrorContains(t, err, "the legacy signerName is not allowed via this API version")
	})
}

func TestSigningOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		m := c.Manager("controllers")
		a := c.Authority()
		require.ErrorContains(t, certificates.AddSigning(m, certificates.SigningOptions{Cert: a.Cert}), "required")
		other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		require.ErrorContains(t, certificates.AddSigning(m, certificates.SigningOptions{Cert: a.Cert, Key: other}), "is not that of its certificate")
		require.ErrorContains(t, certificates.AddSigning(m, certificates.SigningOptions{Cert: a.Cert, Key: a.Key, Duration: time.Minute}), "10m")
	})
}

func TestApproving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		office(c, certificates.AddApproving)
		bind(c, "joiners", mayAsk)
		bind(c, "joiners", anyNode)
		bind(c, "system:nodes", mayAsk)
		bind(c, "system:nodes", sameNode)
		bind(c, "askers", mayAsk)
		c.Settle() // the authorizer knows the bindings
		joiner, asker := c.Conn(client.User{Name: "joiner", Groups: []string{"joiners"}}), c.Conn(client.User{Name: "asker", Groups: []string{"askers"}})
		self := c.Conn(client.User{Name: "system:node:a", Groups: []string{"system:nodes"}})
		use := []certificatesv1.KeyUsage{digital, forUse}
		message := func(name string) string {
			r := get(c, name)
			if len(r.Status.Conditions) == 0 {
				return ""
			}
			require.Len(t, r.Status.Conditions, 1)
			cond := r.Status.Conditions[0]
			require.Equal(t, certificatesv1.CertificateApproved, cond.Type)
			require.Equal(t, "AutoApproved", cond.Reason)
			require.Equal(t, time.Now().Unix(), cond.LastUpdateTime.Unix())
			return cond.Message
		}
		const byJoiner = "Auto approving kubelet client certificate after SubjectAccessReview."
		c.Settle()
		for name, tc := range map[string]struct {
			conn    client.Conn
			signer  string
			request *x509.CertificateRequest
			usages  []certificatesv1.KeyUsage
			want    string
		}{
			"join":            {joiner, kubeletClient, node("a"), use, byJoiner},
			"renew":           {self, kubeletClient, node("a"), use, "Auto approving self kubelet client certificate after SubjectAccessReview."},
			"of-another-node": {self, kubeletClient, node("b"), use, ""},
			"without-rights":  {asker, kubeletClient, node("a"), use, ""},
			"serving":         {joiner, kubeletServes, &x509.CertificateRequest{Subject: node("a").Subject, DNSNames: []string{"a"}}, []certificatesv1.KeyUsage{digital, toServe}, ""},
			"any-client":      {joiner, anyClient, node("a"), use, ""},
			"not-a-node":      {joiner, kubeletClient, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:admin", Organization: []string{"system:masters"}}}, use, ""},
			"wrong-usage":     {joiner, kubeletClient, node("a"), []certificatesv1.KeyUsage{digital, forUse, toServe}, ""},
		} {
			ask(t, tc.conn, name, tc.signer, tc.request, tc.usages, nil)
			c.Settle()
			require.Equal(t, tc.want, message(name), name)
		}
		ask(t, c.Admin(), "denied", kubeletClient, node("a"), use, nil) // an administrator may do everything
		c.Settle()
		require.Equal(t, "Auto approving kubelet client certificate after SubjectAccessReview.", message("denied"))
		bind(c, "askers", anyNode)
		c.Sleep(2 * time.Minute)
		require.Equal(t, certificatesv1.CertificateApproved, get(c, "without-rights").Status.Conditions[0].Type, "once it may")
	})
}

func TestCleaner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		office(c, signing(c, 0), certificates.AddCleaner)
		made := time.Now()
		request := func(name, signer string, usage certificatesv1.KeyUsage, seconds *int32) {
			ask(t, c.Admin(), name, signer, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "ann"}}, []certificatesv1.KeyUsage{usage}, seconds)
		}
		for _, name := range []string{"pending", "denied", "issued", "later"} {
			request(name, anyClient, forUse, nil)
		}
		request("failed", anyClient, toServe, nil)
		request("short", anyClient, forUse, new(int32(600)))
		request("unsigned", "example.com/signer", forUse, nil)
		answer(t, c, "denied", certificatesv1.CertificateDenied)
		for _, name := range []string{"issued", "failed", "short", "unsigned"} {
			answer(t, c, name, certificatesv1.CertificateApproved)
		}
		there := func(after time.Duration) (names []string) {
			c.Sleep(time.Until(made.Add(after)))
			for _, r := range controllertest.List[*csr](c, "") {
				names = append(names, r.Name)
			}
			return names
		}
		require.ElementsMatch(t, []string{"pending", "later", "denied", "issued", "failed", "short", "unsigned"}, there(9*time.Minute))
		require.ElementsMatch(t, []string{"pending", "later", "denied", "issued", "failed", "unsigned"}, there(11*time.Minute), "its certificate has expired")
		require.ElementsMatch(t, []string{"pending", "later", "denied", "issued", "failed", "unsigned"}, there(59*time.Minute))
		require.ElementsMatch(t, []string{"pending", "later"}, there(61*time.Minute))
		require.ElementsMatch(t, []string{"pending", "later"}, there(23*time.Hour+30*time.Minute))
		answer(t, c, "later", certificatesv1.CertificateApproved)
		require.ElementsMatch(t, []string{"later"}, there(24*time.Hour+time.Minute))
		require.Empty(t, there(24*time.Hour+31*time.Minute))
	})
}

// TestAMachineBecomesANode begins with a bootstrap token, and stays a node when that is gone and certificates
// expire.
func TestAMachineBecomesANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		office(c, signing(c, 0), certificates.AddApproving, certificates.AddCleaner)
		bind(c, "system:bootstrappers:workers", mayAsk)
		bind(c, "system:bootstrappers:workers", anyNode)
		bind(c, "system:nodes", mayAsk)
		bind(c, "system:nodes", sameNode)
		controllertest.Create(c, &rbacv1.ClusterRole{ObjectMeta: controllertest.Name("", "joining"), Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"nodes"}}}})
		bind(c, "system:nodes", "joining")
		controllertest.Create(c, &corev1.Secret{ObjectMeta: controllertest.Name("kube-system", "bootstrap-token-abc123"), Type: "bootstrap.kubernetes.io/token",
			StringData: map[string]string{"token-id": "abc123", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
				"auth-extra-groups": "system:bootstrappers:workers", "expiration": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}})
		c.Settle()

		cfg := rest.Config{Host: controllertest.Host, Dial: c.Dial, BearerToken: "abc123.0123456789abcdef"}
		cfg.TLS.CAData = c.RootCA()
		connect := func(cfg rest.Config) *rest.Conn {
			conn, err := rest.New(cfg, rest.Options{})
			require.NoError(t, err)
			return conn
		}
		bootstrap := connect(cfg)
		defer bootstrap.Close()
		var own *rest.Conn
		var got []*x509.Certificate
		m, err := certificate.New(certificate.Options{
			Conn: bootstrap, Use: func() client.Conn { return own }, Signer: kubeletClient, Lifetime: time.Hour,
			Request:  func() *x509.CertificateRequest { return node("worker-1") },
			OnChange: func(pair *tls.Certificate) { got = append(got, pair.Leaf) },
		})
		require.NoError(t, err)
		cfg.BearerToken, cfg.Credentials = "", m
		own = connect(cfg)
		defer own.Close()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = m.Run(ctx) }()

		_, err = m.Credential(ctx, nil) // waits for the first
		require.NoError(t, err)
		whoami := func() authenticationv1.UserInfo {
			r, err := client.For[*authenticationv1.SelfSubjectReview](own).Create(ctx, &authenticationv1.SelfSubjectReview{})
			require.NoError(t, err)
			return r.Status.UserInfo
		}
		u := whoami()
		require.Equal(t, "system:node:worker-1", u.Username)
		require.Contains(t, u.Groups, "system:nodes")
		_, err = client.For[*corev1.Node](own).Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}})
		require.NoError(t, err, "it can join")

		controllertest.Delete[*corev1.Secret](c, "kube-system", "bootstrap-token-abc123")
		for range 24 {
			c.Sleep(30 * time.Minute)
			require.Equal(t, "system:node:worker-1", whoami().Username)
		}
		require.GreaterOrEqual(t, len(got), 12, "twelve hours of certificates for an hour")
		for i, cert := range got[1:] {
			require.True(t, cert.NotBefore.Before(got[i].NotAfter), "without a gap")
			require.NotEqual(t, cert.PublicKey, got[i].PublicKey, "a new key each time")
		}
		requests := controllertest.List[*csr](c, "")
		require.NotEmpty(t, requests)
		require.Less(t, len(requests), 4, "old requests are removed")
		require.Equal(t, "system:node:worker-1", requests[0].Spec.Username, "renewed by the node itself")
		cancel()
		<-done
	})
}

func TestNothingOutlivesTheAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		old := *c.Authority().Cert
		old.NotAfter = time.Now().Add(time.Hour)
		office(c, func(m *manager.Manager) error {
			return certificates.AddSigning(m, certificates.SigningOptions{Cert: &old, Key: c.Authority().Key})
		})
		request := func(name string) *csr {
			ask(t, c.Admin(), name, anyClient, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "ann"}}, []certificatesv1.KeyUsage{forUse}, nil)
			answer(t, c, name, certificatesv1.CertificateApproved)
			c.Settle()
			return get(c, name)
		}
		require.Equal(t, old.NotAfter.Unix(), issued(t, request("in-time")).NotAfter.Unix())
		c.Sleep(time.Hour)
		late := request("late")
		require.Empty(t, late.Status.Certificate)
		require.Len(t, late.Status.Conditions, 1, "that is not the request's fault: it is tried again")
	})
}
