package kubelet_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/certificates"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// approve lets an administrator approve the requests that have no answer, and returns how many there were.
func (r *rig) approve() (n int) {
	requests := client.For[*certificatesv1.CertificateSigningRequest](r.c.Admin())
	for _, csr := range controllertest.List[*certificatesv1.CertificateSigningRequest](r.c, "") {
		if len(csr.Status.Conditions) > 0 {
			continue
		}
		n++
		require.Equal(r.t, certificatesv1.KubeletServingSignerName, csr.Spec.SignerName)
		csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
		_, err := client.Subresource[*certificatesv1.CertificateSigningRequest](requests, "approval").Update(r.t.Context(), metav1.KeyOf(csr), csr)
		require.NoError(r.t, err)
	}
	r.c.Settle()
	return n
}

// shown is the certificate that clients of the port get.
func (p *port) shown(roots *x509.CertPool, name string) (*x509.Certificate, error) {
	conn, err := p.Dial(p.t.Context(), "tcp", "n1")
	require.NoError(p.t, err)
	defer conn.Close()
	c := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12})
	if err := c.HandshakeContext(p.t.Context()); err != nil {
		return nil, err
	}
	return c.ConnectionState().PeerCertificates[0], nil
}

// requesting prepares a kubelet whose serving certificate is requested, and lives an hour.
func requesting(p *port, edit func(*rig)) func(*rig) {
	return func(r *rig) {
		p.open(r)
		r.opts.RequestServing, r.opts.NodeIPs = true, addrs("192.0.2.7")
		r.opts.TLS.Certificates = nil
		if edit != nil {
			edit(r)
		}
		r.c.Run(r.c.Manager("signer", func(m *manager.Manager) error {
			return certificates.AddSigning(m, certificates.SigningOptions{Cert: r.c.Authority().Cert, Key: r.c.Authority().Key, Duration: time.Hour})
		}))
	}
}

// The serving certificate comes from the cluster, for the name and the address of the node. Before it is
// approved there is none, and it is replaced before it expires, without a moment in which none is valid.
func TestServingCertificateIsRequested(t *testing.T) {
	var p port
	bubble(t, requesting(&p, nil), func(r *rig) {
		roots := r.c.Authority().Pool()
		_, err := p.shown(roots, "n1")
		require.ErrorContains(t, err, "internal error", "no handshake without a certificate")
		r.allow("ada", []string{"get"}, "nodes/metrics")
		time.Sleep(20 * time.Minute)
		require.Len(t, controllertest.List[*certificatesv1.CertificateSigningRequest](r.c, ""), 1, "the same request all the time")
		require.Equal(t, 1, r.approve())
		r.c.Sleep(6 * time.Minute) // longer than the longest pause
		first, err := p.shown(roots, "n1")
		require.NoError(t, err)
		require.Equal(t, "system:node:n1", first.Subject.CommonName)
		require.Equal(t, []string{"system:nodes"}, first.Subject.Organization)
		require.Equal(t, []string{"n1"}, first.DNSNames)
		require.NoError(t, first.VerifyHostname("192.0.2.7"))
		require.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, first.ExtKeyUsage)

		pair, err := p.ca.Client("ada")
		require.NoError(t, err)
		reader := p.as(pair, "")
		reader.http.Transport.(*http.Transport).TLSClientConfig.RootCAs = roots
		code, text := reader.do("GET", "/metrics")
		require.Equal(t, 200, code)
		require.Regexp(t, `kubelet_server_expiration_renew_errors [1-9]`, text)
		require.Regexp(t, `kubelet_certificate_manager_server_ttl_seconds [23]\d\d\d\n`, text)
		require.Contains(t, text, "kubelet_certificate_manager_server_rotation_seconds_count 0")

		serials := map[string]bool{first.SerialNumber.String(): true}
		for range 40 { // longer than three lives
			r.c.Sleep(5 * time.Minute)
			r.approve()
			now, err := p.shown(roots, "192.0.2.7")
			require.NoError(t, err)
			serials[now.SerialNumber.String()] = true
		}
		require.GreaterOrEqual(t, len(serials), 4)
		_, text = reader.do("GET", "/metrics")
		require.Regexp(t, `kubelet_certificate_manager_server_rotation_seconds_count [3-9]`, text)

		// A kubelet that starts again has it already. It may renew at once, because the time of the renewal
		// is chosen again, but then no request is approved.
		r.c.Sleep(10 * time.Second)
		links, err := filepath.EvalSymlinks(filepath.Join(r.opts.RootDir, "pki", "kubelet-server-current.pem"))
		require.NoError(t, err)
		require.Regexp(t, `/kubelet-server-[0-9-]+\.pem$`, links)
		before, err := p.shown(roots, "n1")
		require.NoError(t, err)
		r.restart(&p, nil)
		after, err := p.shown(roots, "n1")
		require.NoError(t, err)
		require.Equal(t, before.SerialNumber, after.SerialNumber)
		r.approve()

		// With another address it gets another one.
		r.restart(&p, func() { r.opts.NodeIPs = addrs("192.0.2.8") })
		var moved *x509.Certificate
		for range 5 { // a renewal for the old address may come before
			r.c.Sleep(time.Minute)
			r.approve()
			if moved, err = p.shown(roots, "192.0.2.8"); err == nil {
				break
			}
		}
		require.NoError(t, err)
		require.Equal(t, []string{"n1"}, moved.DNSNames)
	})
}

// restart stops the kubelet and starts it again with other options, on a new listener.
func (r *rig) restart(p *port, edit func()) {
	r.stop()
	p.Listener = pipenet.New()
	r.opts.Listener = p
	if edit != nil {
		edit()
	}
	r.start()
	r.c.Sleep(3 * time.Second)
}

// A certificate that is given serves until there is another one.
func TestGivenServingCertificateComesFirst(t *testing.T) {
	var p port
	bubble(t, requesting(&p, func(r *rig) {
		pair, err := p.ca.Serving("n1", "n1")
		require.NoError(t, err)
		r.opts.TLS.Certificates = []tls.Certificate{pair.TLS()}
	}), func(r *rig) {
		_, err := p.shown(p.ca.Pool(), "n1")
		require.NoError(t, err)
		r.c.Sleep(time.Minute)
		require.Equal(t, 1, r.approve(), "it is not for the node's address")
		r.c.Sleep(time.Minute)
		_, err = p.shown(p.ca.Pool(), "n1")
		require.Error(t, err)
		_, err = p.shown(r.c.Authority().Pool(), "n1")
		require.NoError(t, err)
	})
}

// The certificate is for the addresses that the node has, of which a cloud provider may set others at any
// time. Without an address none is requested.
func TestServingCertificateFollowsTheNode(t *testing.T) {
	var p port
	bubble(t, requesting(&p, func(r *rig) { r.opts.ExternalCloud, r.opts.NodeIPs = true, nil }), func(r *rig) {
		requests := func() []*certificatesv1.CertificateSigningRequest {
			return controllertest.List[*certificatesv1.CertificateSigningRequest](r.c, "")
		}
		r.c.Sleep(20 * time.Minute)
		require.Empty(t, requests())
		set := func(addresses ...corev1.NodeAddress) {
			controllertest.UpdateStatus(r.c, "", "n1", func(n *corev1.Node) {
				n.Status.Addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: "n1"})
			})
			r.c.Sleep(time.Minute)
			require.Equal(t, 1, r.approve())
			r.c.Sleep(6 * time.Minute)
		}
		set(corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "2001:db8::7"})
		first, err := p.shown(r.c.Authority().Pool(), "n1")
		require.NoError(t, err)
		require.NoError(t, first.VerifyHostname("2001:db8::7"))
		set(corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "203.0.113.7"},
			corev1.NodeAddress{Type: corev1.NodeExternalDNS, Address: "n1.example.com"})
		second, err := p.shown(r.c.Authority().Pool(), "203.0.113.7")
		require.NoError(t, err)
		require.Equal(t, []string{"n1", "n1.example.com"}, second.DNSNames)
		require.NoError(t, second.VerifyHostname("192.0.2.7"))
		require.Len(t, requests(), 2)
	})
}

func TestServingCertificateNeedsServers(t *testing.T) {
	_, err := kubelet.New(nil, kubelet.Options{NodeName: "n1", RootDir: t.TempDir(), RequestServing: true})
	require.ErrorContains(t, err, "Options.RequestServing needs Options.Listener")
	l := pipenet.New()
	defer l.Close()
	opts := kubelet.Options{NodeName: "n1", RootDir: t.TempDir(), RequestServing: true, Listener: l, TLS: &tls.Config{MinVersion: tls.VersionTLS12},
		Authenticate: func(*http.Request) (*authenticationv1.UserInfo, bool, error) { return nil, false, nil },
		Authorize: func(context.Context, authorizationv1.SubjectAccessReviewSpec) (bool, string, error) {
			return false, "", nil
		}}
	_, err = kubelet.New(nil, opts)
	require.ErrorContains(t, err, "Options.RequestServing needs an API server")
}
