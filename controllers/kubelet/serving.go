package kubelet

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/client/certificate"
)

// newServing returns the manager of the certificate that the kubelet API is served with.
func newServing(k *Kubelet) (*certificate.Manager, error) {
	opts := certificate.Options{Conn: k.m.Conn(), Signer: certificatesv1.KubeletServingSignerName, Logger: k.log,
		Usages:  []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
		File:    filepath.Join(k.opts.CertDir, "kubelet-server-current.pem"),
		Request: func() *x509.CertificateRequest { return servingRequest(&k.opts) }}
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

// servingRequest is the request of a serving certificate: for the addresses that the node reports.
func servingRequest(opts *Options) *x509.CertificateRequest {
	r := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:" + opts.NodeName, Organization: []string{"system:nodes"}},
		IPAddresses: []net.IP{opts.NodeIP.AsSlice()}}
	switch ip := net.ParseIP(opts.NodeName); {
	case ip == nil:
		r.DNSNames = []string{opts.NodeName}
	case !ip.Equal(r.IPAddresses[0]):
		r.IPAddresses = append(r.IPAddresses, ip)
	}
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
