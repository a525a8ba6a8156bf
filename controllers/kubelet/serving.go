package kubelet

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client/certificate"
)

// newServing returns the manager of the certificate that the kubelet API is served with.
func newServing(k *Kubelet) (*certificate.Manager, error) {
	opts := certificate.Options{Conn: k.m.Conn(), Signer: certificatesv1.KubeletServingSignerName, Logger: k.log,
		Usages:  []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
		File:    filepath.Join(k.opts.CertDir, "kubelet-server-current.pem"),
		Request: func() *x509.CertificateRequest { return servingRequest(k.opts.NodeName, k.node.object()) }}
	if given := k.opts.TLS.Certificates; len(given) > 0 {
		first := given[0]
		if first.Leaf == nil {
			leaf, err := x509.ParseCertificate(first.Certificate[0])
			if err != nil {
				return nil, fmt.Errorf("kubelet: Options.TLS: %w", err)
			}
			first.Leaf = leaf
		}
		opts.Initial = &first
	}
	var m *certificate.Manager
	var before atomic.Pointer[tls.Certificate]
	opts.OnChange = func(now *tls.Certificate) {
		if old := before.Swap(now); old != nil {
			k.metrics.servingAge.Observe(time.Since(old.Leaf.NotBefore).Seconds())
		}
	}
	m, err := certificate.New(opts)
	if err != nil {
		return nil, err
	}
	before.Store(m.Current())
	return m, nil
}

// servingRequest is the request of a serving certificate: for the addresses and names that the node has. It
// is nil as long as the node has no address.
func servingRequest(name string, node *corev1.Node) *x509.CertificateRequest {
	if node == nil {
		return nil
	}
	r := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}}}
	for _, a := range node.Status.Addresses {
		ip := net.ParseIP(a.Address)
		switch {
		case ip != nil && a.Type != corev1.NodeExternalDNS && a.Type != corev1.NodeInternalDNS:
			if !slices.ContainsFunc(r.IPAddresses, ip.Equal) {
				r.IPAddresses = append(r.IPAddresses, ip)
			}
		case a.Address == "" || a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP || slices.Contains(r.DNSNames, a.Address):
		default:
			r.DNSNames = append(r.DNSNames, a.Address)
		}
	}
	if len(r.IPAddresses) == 0 {
		return nil
	}
	slices.Sort(r.DNSNames)
	slices.SortFunc(r.IPAddresses, func(a, b net.IP) int { return cmp.Compare(a.String(), b.String()) })
	return r
}

// errNoServing ends the handshakes of clients while no certificate has been issued, as upstream.
var errNoServing = errors.New("no serving certificate available for the kubelet")

// serveWith makes config serve with the newest certificate of m.
func serveWith(config *tls.Config, m *certificate.Manager) {
	config.Certificates = nil
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if c := m.Current(); c != nil {
			return c, nil
		}
		return nil, errNoServing
	}
}
