package certificates

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// SigningOptions are the options of AddSigning. Cert and Key, or Authorities, are required.
type SigningOptions struct {
	// Cert and Key are those of the certificate authority of all signers.
	Cert *x509.Certificate
	Key  crypto.Signer
	// Authorities are those of single signers, by their names, in the place of Cert and Key: requests to
	// others are not signed.
	Authorities map[string]Authority
	// Duration is the default and maximum lifetime of a certificate; 0 means 8760 h, one year. The minimum is
	// 10 minutes, and no certificate outlives that of the authority.
	Duration time.Duration
}

// Authority is the certificate and the key of a certificate authority.
type Authority struct {
	Cert *x509.Certificate
	Key  crypto.Signer
}

// Enabled reports whether there is an authority.
func (opts *SigningOptions) Enabled() bool { return opts.Cert != nil || len(opts.Authorities) > 0 }

// authorities returns the authority of each signer, by name.
func (opts *SigningOptions) authorities() (map[string]Authority, error) {
	all := map[string]Authority{}
	switch {
	case len(opts.Authorities) == 0:
		if opts.Cert == nil || opts.Key == nil {
			return nil, errors.New("certificates: SigningOptions.Cert and Key are required without Authorities")
		}
		for signer := range rules {
			all[signer] = Authority{opts.Cert, opts.Key}
		}
	case opts.Cert != nil || opts.Key != nil:
		return nil, errors.New("certificates: SigningOptions.Cert and Key are for all signers: leave them empty with Authorities")
	}
	for signer, a := range opts.Authorities {
		if rules[signer] == nil {
			return nil, fmt.Errorf("certificates: SigningOptions.Authorities: there are no rules of signer %q", signer)
		}
		all[signer] = a
	}
	for signer, a := range all {
		if a.Cert == nil || a.Key == nil {
			return nil, fmt.Errorf("certificates: the authority of signer %s has no certificate or no key", signer)
		}
		if same, ok := a.Cert.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !same.Equal(a.Key.Public()) {
			return nil, fmt.Errorf("certificates: the key of the authority of signer %s is not that of its certificate", signer)
		}
	}
	return all, nil
}

const (
	minLife = 10 * time.Minute
	// backdate lets clocks that are a little behind use a new certificate. A life shorter than shortLife is
	// not shortened by it.
	backdate  = 5 * time.Minute
	shortLife = 8 * time.Hour
)

// AddSigning adds the controller "certificatesigningrequest-signing" to m. It signs approved requests to
// kubernetes.io/kube-apiserver-client, kubernetes.io/kube-apiserver-client-kubelet and
// kubernetes.io/kubelet-serving. A request that violates the rules of its signer gets the condition Failed
// with reason SignerValidationFailure.
func AddSigning(m *manager.Manager, opts SigningOptions) error {
	authorities, err := opts.authorities()
	if err != nil {
		return err
	}
	if opts.Duration == 0 {
		opts.Duration = 8760 * time.Hour
	}
	if opts.Duration < minLife {
		return fmt.Errorf("certificates: SigningOptions.Duration must be %s at least, not %s", minLife, opts.Duration)
	}
	requests := informers.For[*request](m.Informers()).Lister()
	api := client.For[*request](m.Conn())
	_, err = controllers.Add(m, "certificatesigningrequest-signing", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		r, err := requests.Get(req)
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, nil
		}
		if err != nil {
			return reconcile.Result{}, err
		}
		authority, signs := authorities[r.Spec.SignerName]
		if !signs || len(r.Status.Certificate) > 0 || condition(r, certificatesv1.CertificateApproved) == nil ||
			condition(r, certificatesv1.CertificateDenied) != nil || condition(r, certificatesv1.CertificateFailed) != nil {
			return reconcile.Result{}, nil
		}
		x, err := parse(r)
		if err == nil {
			err = rules[r.Spec.SignerName](x, r.Spec.Usages)
		}
		if err != nil {
			setCondition(r, certificatesv1.CertificateFailed, "SignerValidationFailure", err.Error())
		} else if r.Status.Certificate, err = authority.sign(x, r.Spec.Usages, lifeOf(r, opts.Duration)); err != nil {
			return reconcile.Result{}, err
		}
		if _, err = api.UpdateStatus(ctx, r); apierrors.IsNotFound(err) {
			err = nil
		}
		return reconcile.Result{}, err
	}), controllers.Options{}, controllers.For[*request]())
	return err
}

// lifeOf returns the lifetime of the certificate of a request.
func lifeOf(r *request, most time.Duration) time.Duration {
	if r.Spec.ExpirationSeconds == nil {
		return most
	}
	return max(minLife, min(most, time.Duration(*r.Spec.ExpirationSeconds)*time.Second))
}

// sign issues the certificate that x requests, in PEM.
func (a *Authority) sign(x *x509.CertificateRequest, usages []certificatesv1.KeyUsage, life time.Duration) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if !now.Before(a.Cert.NotAfter) {
		return nil, fmt.Errorf("certificates: the authority's own certificate expired at %s", a.Cert.NotAfter.Format(time.RFC3339))
	}
	t := &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)), Subject: x.Subject,
		DNSNames: x.DNSNames, IPAddresses: x.IPAddresses, EmailAddresses: x.EmailAddresses, URIs: x.URIs,
		NotBefore: now.Add(-backdate), NotAfter: now.Add(life), BasicConstraintsValid: true,
	}
	if life >= shortLife {
		t.NotAfter = t.NotAfter.Add(-backdate)
	}
	if t.NotAfter.After(a.Cert.NotAfter) {
		t.NotAfter = a.Cert.NotAfter
	}
	for _, u := range usages {
		switch u {
		case certificatesv1.UsageDigitalSignature:
			t.KeyUsage |= x509.KeyUsageDigitalSignature
		case certificatesv1.UsageKeyEncipherment:
			t.KeyUsage |= x509.KeyUsageKeyEncipherment
		case certificatesv1.UsageClientAuth:
			t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
		case certificatesv1.UsageServerAuth:
			t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		default: // no rule lets it pass
			return nil, fmt.Errorf("certificates: usage %q cannot be signed", u)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.Cert, x.PublicKey, a.Key)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
