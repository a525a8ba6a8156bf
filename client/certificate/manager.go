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
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
)

// Options configure a Manager. Conn, Signer and Request are required.
type Options struct {
	// Conn sends the requests. Once there is a certificate, Use, if not nil, returns another connection that
	// authenticates with it.
	Conn client.Conn
	Use  func() client.Conn
	// Signer is the name of the signer.
	Signer string
	// Request returns the certificate request; it is called for each one. A certificate that has not all of
	// its names, addresses and organizations, or another common name, is replaced at once, and after a minute
	// if the signer has left them out. Nil means that there is nothing to request yet. After a change of what
	// it returns call [Manager.Check].
	Request func() *x509.CertificateRequest
	// Usages of the key; nil means digital signature and client auth.
	Usages []certificatesv1.KeyUsage
	// Lifetime is the requested lifetime, at least 10 minutes; 0 means the signer's default.
	Lifetime time.Duration
	// Initial, if not nil, is used until there is another one and renewed like it. It needs a Leaf.
	Initial *tls.Certificate
	// File stores certificate and key across runs; empty keeps them in memory only. A name that ends with
	// -current.pem becomes a link to a file with the date in its name, as those of client-go's file store, so
	// that programs with either can follow each other.
	File string
	// Wait is how long to wait for the result of one request; 0 means 15 minutes.
	Wait time.Duration
	// Logger logs new certificates and failures; nil discards them.
	Logger *slog.Logger
	// OnChange, if not nil, is called with each new certificate.
	OnChange func(*tls.Certificate)
}

// Manager manages one certificate. Its methods may be called from many goroutines.
type Manager struct {
	opts    Options
	pending *ecdsa.PrivateKey // of the request without a result; used by Run only

	mu      sync.Mutex
	cred    *rest.Credential
	refused *rest.Credential // by the server; ignored unless it is cred
	adopted time.Time        // when cred was issued to this manager
	changed chan struct{}    // closed and replaced with each new certificate
	wake    chan struct{}    // wakes Run
	failed  uint64           // attempts
	failure error            // of the last attempt, nil if it succeeded
}

// ErrRefused reports that the server did not accept the certificate, and that another one has been requested.
var ErrRefused = errors.New("certificate: server refused the certificate, and there is no other yet")

// refusedPause is the minimum time between a new certificate and the next one that is requested because it
// was refused.
const refusedPause = time.Minute

var _ rest.CredentialSource = (*Manager)(nil)

// New returns a manager with the certificate in Options.File, if that is valid now. Run requests and renews
// it.
func New(opts Options) (*Manager, error) {
	if opts.Conn == nil || opts.Signer == "" || opts.Request == nil {
		return nil, errors.New("certificate: Options.Conn, Signer and Request are required")
	}
	if opts.Wait <= 0 {
		opts.Wait = 15 * time.Minute
	}
	if opts.Usages == nil {
		opts.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Manager{opts: opts, changed: make(chan struct{}), wake: make(chan struct{}, 1)}
	if c := opts.Initial; c != nil {
		if c.Leaf == nil {
			return nil, errors.New("certificate: Options.Initial has no Leaf")
		}
		m.cred = &rest.Credential{Certificate: c}
	}
	if opts.File != "" {
		cert, err := load(opts.File)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			opts.Logger.Warn("load certificate failed", "file", opts.File, "err", err)
		case time.Now().Before(cert.Leaf.NotAfter):
			m.cred = &rest.Credential{Certificate: cert}
		}
	}
	return m, nil
}

// Current returns the current certificate if it is valid now, or nil.
func (m *Manager) Current() *tls.Certificate {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cred == nil || !time.Now().Before(m.cred.Certificate.Leaf.NotAfter) {
		return nil
	}
	return m.cred.Certificate
}

// Failures returns how many attempts to get a certificate have failed, and the error of the last attempt, nil
// if it succeeded.
func (m *Manager) Failures() (count uint64, last error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed, m.failure
}

// Credential implements rest.CredentialSource: it waits until there is a valid certificate. If rejected is
// the current one it returns ErrRefused and requests another one as soon as possible, through Options.Conn;
// until then later calls return it again, because a refusal may be temporary.
func (m *Manager) Credential(ctx context.Context, rejected *rest.Credential) (*rest.Credential, error) {
	for {
		m.mu.Lock()
		cred, changed := m.cred, m.changed
		m.mu.Unlock()
		if cred != nil && time.Now().Before(cred.Certificate.Leaf.NotAfter) {
			if cred != rejected {
				return cred, nil
			}
			m.noteRefused(cred)
			return nil, ErrRefused
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("certificate: none issued yet: %w", ctx.Err())
		}
	}
}

// Run requests and renews the certificate until ctx ends, and returns nil.
func (m *Manager) Run(ctx context.Context) error {
	failures := 0
	for {
		wait := m.timeToRenewal(ctx)
		if failures > 0 {
			wait = min(5*time.Second<<min(failures-1, 6), 5*time.Minute)
			wait = wait/2 + backoff.Spread(ctx, wait/2)
		}
		wake := m.wake
		if failures > 0 {
			wake = nil // a refusal does not shorten the wait
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
		want := m.opts.Request()
		if want == nil {
			failures = 0
			continue
		}
		cert, err := m.request(ctx, want)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			failures++
			m.mu.Lock()
			m.failed, m.failure = m.failed+1, err
			m.mu.Unlock()
			m.opts.Logger.Error("request certificate failed", "signer", m.opts.Signer, "err", err)
			continue
		}
		failures = 0
		m.adopt(cert)
	}
}

// timeToRenewal returns how long from now the certificate must be replaced.
func (m *Manager) timeToRenewal(ctx context.Context) time.Duration {
	cert, want := m.Current(), m.opts.Request()
	switch {
	case want == nil:
		return math.MaxInt64 // until Check
	case cert == nil:
		return 0
	}
	m.mu.Lock()
	refused, adopted := m.refused == m.cred, m.adopted
	m.mu.Unlock()
	if refused || !covers(cert.Leaf, want) {
		return max(0, time.Until(adopted.Add(refusedPause)))
	}
	life := cert.Leaf.NotAfter.Sub(cert.Leaf.NotBefore)
	at := cert.Leaf.NotBefore.Add(time.Duration(float64(life) * (0.7 + 0.2*backoff.Jitter(ctx))))
	return max(0, time.Until(at))
}

// covers reports whether a certificate has everything that is requested. It may have more.
func covers(have *x509.Certificate, want *x509.CertificateRequest) bool {
	lacks := func(have, want []string) bool {
		return slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) })
	}
	missing := slices.ContainsFunc(want.IPAddresses, func(ip net.IP) bool { return !slices.ContainsFunc(have.IPAddresses, ip.Equal) })
	return !missing && have.Subject.CommonName == want.Subject.CommonName && !lacks(have.DNSNames, want.DNSNames) && !lacks(have.Subject.Organization, want.Subject.Organization)
}

// noteRefused notes that the server has refused a certificate.
func (m *Manager) noteRefused(cred *rest.Credential) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refused == cred {
		return
	}
	m.refused = cred
	m.Check()
}

// Check makes Run look at what is to be requested again.
func (m *Manager) Check() {
	select {
	case m.wake <- struct{}{}:
	default: // Run is notified already
	}
}

func (m *Manager) adopt(cert *tls.Certificate) {
	m.mu.Lock()
	m.adopted, m.refused, m.failure = time.Now(), nil, nil
	m.cred = &rest.Credential{Certificate: cert}
	close(m.changed)
	m.changed = make(chan struct{})
	m.mu.Unlock()
	m.opts.Logger.Info("new certificate", "signer", m.opts.Signer, "notAfter", cert.Leaf.NotAfter)
	if m.opts.OnChange != nil {
		m.opts.OnChange(cert)
	}
}

func (m *Manager) conn() client.Conn {
	m.mu.Lock()
	refused := m.refused != nil && m.refused == m.cred
	m.mu.Unlock()
	if m.opts.Use != nil && m.Current() != nil && !refused {
		return m.opts.Use()
	}
	return m.opts.Conn
}

// RefusedError reports that a request was denied or could not be signed.
type RefusedError struct {
	// Request is the name of the CertificateSigningRequest.
	Request string
	// Condition is Denied or Failed; Reason and Message are the signer's.
	Condition, Reason, Message string
}

// Error names the request and the reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("certificate: request %s: %s: %s: %s", e.Request, e.Condition, e.Reason, e.Message)
}

// request gets one certificate.
func (m *Manager) request(ctx context.Context, want *x509.CertificateRequest) (*tls.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, m.opts.Wait)
	defer cancel()
	key, err := m.pendingKey()
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, want, key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	csr := &certificatesv1.CertificateSigningRequest{}
	csr.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	csr.Spec.SignerName, csr.Spec.Usages = m.opts.Signer, m.opts.Usages
	if m.opts.Lifetime > 0 {
		csr.Spec.ExpirationSeconds = new(int32(m.opts.Lifetime / time.Second))
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
		return nil, fmt.Errorf("certificate: invalid certificate issued for %s: %w", made.Name, err)
	}
	if m.opts.File != "" {
		if err := save(m.opts.File, chain, keyPEM); err != nil {
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
	return nil, fmt.Errorf("certificate: no result of request %s: %w", made.Name, context.Cause(ctx))
}
