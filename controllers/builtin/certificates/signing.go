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

// SigningOptions are the options of AddSigning. Cert and Key are required.
type SigningOptions struct {
	// Cert and Key are the certificate and key of the certificate authority.
	Cert *x509.Certificate
	Key  crypto.Signer
	// Duration is the default and maximum lifetime of a certificate; 0 means 8760 h, one year. The minimum is
	// 10 minutes, and no certificate outlives Cert.
	Duration time.Duration
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
	if opts.Cert == nil || opts.Key == nil {
		return errors.New("certificates: SigningOptions.Cert and Key are required")
	}
	if same, ok := opts.Cert.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !same.Equal(opts.Key.Public()) {
		return errors.New("certificates: SigningOptions.Key is not the key of Cert")
	}
	if opts.Duration == 0 {
		opts.Duration = 8760 * time.Hour
	}
	if opts.Duration < minLife {
		return fmt.Errorf("certificates: SigningOptions.Duration must be %s at least, not %s", minLife, opts.Duration)
	}
	requests := informers.For[*request](m.Informers()).Lister()
	api := client.For[*request](m.Conn())
	_, err := controllers.Add(m, "certificatesigningrequest-signing", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		r, err := requests.Get(req)
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, nil
		}
		if err != nil {
			return reconcile.Result{}, err
		}
		check := rules[r.Spec.SignerName]
		if check == nil || len(r.Status.Certificate) > 0 || condition(r, certificatesv1.CertificateApproved) == nil ||
			condition(r, certificatesv1.CertificateDenied) != nil || condition(r, certificatesv1.CertificateFailed) != nil {
			return reconcile.Result{}, nil
		}
		x, err := parse(r)
		if err == nil {
			err = check(x, r.Spec.Usages)
		}
		if err != nil {
			setCondition(r, certificatesv1.CertificateFailed, "SignerValidationFailure", err.Error())
		} else if r.Status.Certificate, err = opts.sign(x, r.Spec.Usages, r.Spec.ExpirationSeconds); err != nil {
			return reconcile.Result{}, err
		}
		if _, err = api.UpdateStatus(ctx, r); apierrors.IsNotFound(err) {
			err = nil
		}
		return reconcile.Result{}, err
	}), controllers.Options{}, controllers.For[*request]())
	return err
}

// sign issues the certificate x asks for, in PEM.
func (opts *SigningOptions) sign(x *x509.CertificateRequest, usages []certificatesv1.KeyUsage, seconds *int32) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now, life := time.Now(), opts.Duration
	if seconds != nil {
		life = max(minLife, min(life, time.Duration(*seconds)*time.Second))
	}
	if !now.Before(opts.Cert.NotAfter) {
		return nil, fmt.Errorf("certificates: the authority's own certificate expired at %s", opts.Cert.NotAfter.Format(time.RFC3339))
	}
	t := &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)), Subject: x.Subject,
		DNSNames: x.DNSNames, IPAddresses: x.IPAddresses, EmailAddresses: x.EmailAddresses, URIs: x.URIs,
		NotBefore: now.Add(-backdate), NotAfter: now.Add(life), BasicConstraintsValid: true,
	}
	if life >= shortLife {
		t.NotAfter = t.NotAfter.Add(-backdate)
	}
	if t.NotAfter.After(opts.Cert.NotAfter) {
		t.NotAfter = opts.Cert.NotAfter
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
	der, err := x509.CreateCertificate(rand.Reader, t, opts.Cert, x.PublicKey, opts.Key)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
