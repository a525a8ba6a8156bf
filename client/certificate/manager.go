package certificate

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
)

// Options say which certificate is wanted. Conn, Signer and Request are required.
type Options struct {
	// Conn makes the requests. Once there is a certificate Use, if set, gives another one, which
	// authenticates with it.
	Conn client.Conn
	Use  func() client.Conn
	// Signer is the name of the signer.
	Signer string
	// Request returns what to ask for; it is called for each request.
	Request func() *x509.CertificateRequest
	// Usages of the key; nil means digital signature and client auth.
	Usages []certificatesv1.KeyUsage
	// Lifetime wished for, at least 10 minutes; 0 leaves it to the signer.
	Lifetime time.Duration
	// File keeps certificate and key across runs; empty keeps them in memory only.
	File string
	// Wait is how long to wait for an answer to one request; 0 means 15 minutes.
	Wait time.Duration
	// Logger gets what happens; nil discards.
	Logger *slog.Logger
	// OnChange, if set, is called with each new certificate.
	OnChange func(*tls.Certificate)
}

// Manager keeps a certificate. Its methods may be called from many goroutines.
type Manager struct {
	o       Options
	pending *ecdsa.PrivateKey // of the request without a result; used by Run only

	mu      sync.Mutex
	cred    *rest.Credential
	refused *rest.Credential // by the server; what is not cred any more is of no interest
	adopted time.Time        // when cred was issued to this manager
	changed chan struct{}    // closed and replaced with each new certificate
	wake    chan struct{}    // tells Run that cred was refused
}

// ErrRefused says that the server did not accept the certificate, and that another one has been asked for.
var ErrRefused = errors.New("certificate: the server refused the certificate, and there is no other yet")

// refusedPause is the least time between a new certificate and the next one that is asked for because it was
// refused.
const refusedPause = time.Minute

var _ rest.CredentialSource = (*Manager)(nil)

// New returns a manager that has what is in Options.File, if that is a certificate in force. Run does the
// rest.
func New(o Options) (*Manager, error) {
	if o.Conn == nil || o.Signer == "" || o.Request == nil {
		return nil, errors.New("certificate: Options.Conn, Signer and Request are required")
	}
	if o.Wait <= 0 {
		o.Wait = 15 * time.Minute
	}
	if o.Usages == nil {
		o.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Manager{o: o, changed: make(chan struct{}), wake: make(chan struct{}, 1)}
	if o.File != "" {
		cert, err := load(o.File)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			o.Logger.Warn("the certificate on disk cannot be used", "file", o.File, "error", err)
		case time.Now().Before(cert.Leaf.NotAfter):
			m.cred = &rest.Credential{Certificate: cert}
		}
	}
	return m, nil
}

// Current returns the certificate in force, or nil.
func (m *Manager) Current() *tls.Certificate {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cred == nil || !time.Now().Before(m.cred.Certificate.Leaf.NotAfter) {
		return nil
	}
	return m.cred.Certificate
}

// Credential implements rest.CredentialSource: it waits until there is a certificate in force. A refused one
// is answered with ErrRefused and replaced as soon as may be, through Options.Conn; until then it is given
// out again, because a server may be wrong for a moment.
func (m *Manager) Credential(ctx context.Context, rejected *rest.Credential) (*rest.Credential, error) {
	for {
		m.mu.Lock()
		cred, changed := m.cred, m.changed
		m.mu.Unlock()
		if cred != nil && time.Now().Before(cred.Certificate.Leaf.NotAfter) {
			if cred != rejected {
				return cred, nil
			}
			m.refuse(cred)
			return nil, ErrRefused
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("certificate: there is none yet: %w", ctx.Err())
		}
	}
}

// Run keeps the certificate in force until ctx ends, and returns nil.
func (m *Manager) Run(ctx context.Context) error {
	failures := 0
	for {
		wait := m.due()
		if failures > 0 {
			wait = min(5*time.Second<<min(failures-1, 6), 5*time.Minute)
			wait = wait/2 + mathrand.N(wait/2)
		}
		wake := m.wake
		if failures > 0 {
			wake = nil // a refusal makes nothing more urgent
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-wake: // it may be due earlier
			t.Stop()
			continue
		case <-ctx.Done():
			t.Stop()
			return nil
		}
		cert, err := m.request(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			failures++
			m.o.Logger.Error("no certificate", "signer", m.o.Signer, "error", err)
			continue
		}
		failures = 0
		m.adopt(cert)
	}
}

// due is how long from now the certificate is to be replaced.
func (m *Manager) due() time.Duration {
	cert := m.Current()
	if cert == nil {
		return 0
	}
	m.mu.Lock()
	refused, adopted := m.refused == m.cred, m.adopted
	m.mu.Unlock()
	if refused {
		return max(0, time.Until(adopted.Add(refusedPause)))
	}
	life := cert.Leaf.NotAfter.Sub(cert.Leaf.NotBefore)
	at := cert.Leaf.NotBefore.Add(time.Duration(float64(life) * (0.7 + 0.2*mathrand.Float64())))
	return max(0, time.Until(at))
}

// refuse remembers that the server does not accept a certificate.
func (m *Manager) refuse(cred *rest.Credential) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refused == cred {
		return
	}
	m.refused = cred
	select {
	case m.wake <- struct{}{}:
	default: // Run is notified already
	}
}

func (m *Manager) adopt(cert *tls.Certificate) {
	m.mu.Lock()
	m.adopted, m.refused = time.Now(), nil
	m.cred = &rest.Credential{Certificate: cert}
	close(m.changed)
	m.changed = make(chan struct{})
	m.mu.Unlock()
	m.o.Logger.Info("new certificate", "signer", m.o.Signer, "notAfter", cert.Leaf.NotAfter)
	if m.o.OnChange != nil {
		m.o.OnChange(cert)
	}
}

func (m *Manager) conn() client.Conn {
	m.mu.Lock()
	refused := m.refused != nil && m.refused == m.cred
	m.mu.Unlock()
	if m.o.Use != nil && m.Current() != nil && !refused {
		return m.o.Use()
	}
	return m.o.Conn
}

// RefusedError says that a request was denied or could not be signed.
type RefusedError struct {
	// Request is the name of the CertificateSigningRequest.
	Request string
	// Condition is Denied or Failed; Reason and Message are the signer's.
	Condition, Reason, Message string
}

// Error gives the request and the reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("certificate: request %s: %s: %s: %s", e.Request, e.Condition, e.Reason, e.Message)
}

// request gets one certificate.
func (m *Manager) request(ctx context.Context) (*tls.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, m.o.Wait)
	defer cancel()
	key, err := m.pendingKey()
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, m.o.Request(), key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	csr := &certificatesv1.CertificateSigningRequest{}
	csr.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	csr.Spec.SignerName, csr.Spec.Usages = m.o.Signer, m.o.Usages
	if m.o.Lifetime > 0 {
		csr.Spec.ExpirationSeconds = new(int32(m.o.Lifetime / time.Second))
	}
	csrs := client.For[*certificatesv1.CertificateSigningRequest](m.conn())
	made, err := m.submit(ctx, csrs, csr)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	chain, err := await(ctx, csrs, made)
	if err != nil {
		if _, refused := errors.AsType[*RefusedError](err); refused {
			m.dropPending()
		}
		return nil, err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	cert, err := pair(chain, keyPEM)
	if err != nil {
		m.dropPending()
		return nil, fmt.Errorf("certificate: what the signer issued for %s: %w", made.Name, err)
	}
	if m.o.File != "" {
		if err := save(m.o.File, chain, keyPEM); err != nil {
			return nil, fmt.Errorf("certificate: %w", err)
		}
	}
	m.dropPending()
	return cert, nil
}

// await waits for a request's certificate.
func await(ctx context.Context, csrs *client.Client[*certificatesv1.CertificateSigningRequest], made *certificatesv1.CertificateSigningRequest) ([]byte, error) {
	o := client.WatchOptions{FieldSelector: fields.OneEqual(metav1.ObjectNameField, made.Name)}
	for ev, err := range csrs.Watch(ctx, o) {
		if err != nil {
			return nil, fmt.Errorf("certificate: wait for %s: %w", made.Name, err)
		}
		if ev.Object.UID != made.UID {
			continue
		}
		if ev.Type == client.Deleted {
			return nil, fmt.Errorf("certificate: request %s was deleted", made.Name)
		}
		for _, c := range ev.Object.Status.Conditions {
			if c.Type == certificatesv1.CertificateDenied || c.Type == certificatesv1.CertificateFailed {
				return nil, &RefusedError{Request: made.Name, Condition: string(c.Type), Reason: c.Reason, Message: c.Message}
			}
		}
		if len(ev.Object.Status.Certificate) > 0 {
			return ev.Object.Status.Certificate, nil
		}
	}
	return nil, fmt.Errorf("certificate: request %s was not answered: %w", made.Name, context.Cause(ctx))
}
