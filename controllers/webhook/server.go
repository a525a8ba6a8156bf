package webhook

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/controllers/internal/serve"
)

// Options of a Server. The zero value listens on port 9443 of all addresses with the certificate in
// /tmp/k8s-webhook-server/serving-certs, where the generated manifests of operators mount it.
type Options struct {
	// Addr is the host and port to listen on; empty means ":9443".
	Addr string
	// Listener, if not nil, is used instead of Addr. Run closes it.
	Listener net.Listener
	// CertDir is the directory with tls.crt and tls.key in PEM. The files may change while the server runs.
	CertDir string
	// Certificate, if not nil, replaces CertDir.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// StopTimeout is how long requests in progress may take after the end of Run's context; 0 means 10 s.
	StopTimeout time.Duration
	// Logger receives certificates that cannot be read, connection errors, and panics with their stacks. Nil
	// discards, and the stacks of panics are part of the responses instead.
	Logger *slog.Logger
	// Metrics are the metrics hooks of the requests.
	Metrics Metrics
}

// Metrics are hooks that a Server calls; path is that of Handle. Each may be nil. They may be called
// concurrently.
type Metrics struct {
	// Active is called with +1 when a request begins and with -1 when it ends.
	Active func(path string, delta int)
	// Served is called after a request with the HTTP status of its response and its duration. The status of
	// a request that was rejected by the webhook is 200.
	Served func(path string, code int, took time.Duration)
	// Panicked is called after a panic of a webhook; conversion is true for those of Conversion.
	Panicked func(path string, conversion bool)
}

// Server serves webhook handlers over HTTPS, and /healthz and /readyz. It is an http.Handler and a
// manager.Runnable; add it with AddWithoutLeaderElection, because the API server calls any replica.
type Server struct {
	opts    Options
	mux     *http.ServeMux
	certs   files
	panics  panics
	serving atomic.Bool
}

// New returns a server without webhooks.
func New(opts Options) *Server {
	if opts.Addr == "" {
		opts.Addr = ":9443"
	}
	if opts.CertDir == "" {
		opts.CertDir = "/tmp/k8s-webhook-server/serving-certs"
	}
	if opts.StopTimeout == 0 {
		opts.StopTimeout = 10 * time.Second
	}
	log := opts.Logger
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	s := &Server{opts: opts, mux: http.NewServeMux(), certs: files{dir: opts.CertDir, log: opts.Logger}, panics: panics{log: log, count: opts.Metrics.Panicked}}
	for _, path := range []string{"/healthz", "/readyz"} {
		s.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	}
	return s
}

// Handle registers h for path, the path of the webhook's clientConfig. It panics as http.ServeMux.Handle
// does, for example if path is already registered.
func (s *Server) Handle(path string, h http.Handler) {
	p := s.panics
	p.path = path
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), panicsKey{}, p))
		m := &s.opts.Metrics
		if m.Active != nil {
			m.Active(path, 1)
			defer m.Active(path, -1)
		}
		if m.Served == nil {
			h.ServeHTTP(w, r)
			return
		}
		start, rec := time.Now(), &statusRecorder{ResponseWriter: w, code: http.StatusOK}
		h.ServeHTTP(rec, r)
		m.Served(path, rec.code, time.Since(start))
	})
}

// statusRecorder keeps the status of a response.
type statusRecorder struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (r *statusRecorder) WriteHeader(code int) {
	r.code = code
	r.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Healthy returns an error unless Run serves, for a readiness check with health.Server.Ready; the
// certificate is read again, so that one that is missing or has expired is an error too.
func (s *Server) Healthy(context.Context) error {
	if !s.serving.Load() {
		return errors.New("webhook: the server does not run")
	}
	certificate := s.opts.Certificate
	if certificate == nil {
		certificate = s.certs.get
	}
	c, err := certificate(&tls.ClientHelloInfo{})
	if err == nil && c == nil {
		err = errors.New("there is no certificate")
	}
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	leaf := c.Leaf
	if leaf == nil && len(c.Certificate) > 0 {
		leaf, err = x509.ParseCertificate(c.Certificate[0])
	}
	if leaf == nil || err != nil {
		return fmt.Errorf("webhook: the certificate cannot be read: %w", cmp.Or(err, errors.New("it is empty")))
	}
	if time.Now().After(leaf.NotAfter) {
		return fmt.Errorf("webhook: the certificate expired at %s", leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// Run serves until ctx ends, waits up to Options.StopTimeout for the requests in progress and returns nil. It
// returns an error immediately if it cannot listen or has no certificate.
func (s *Server) Run(ctx context.Context) error {
	certificate := s.opts.Certificate
	if certificate == nil {
		if _, err := s.certs.get(nil); err != nil {
			return fmt.Errorf("webhook: %w", err)
		}
		certificate = s.certs.get
	}
	l := s.opts.Listener
	if l == nil {
		var err error
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.opts.Addr); err != nil {
			return fmt.Errorf("webhook: %w", err)
		}
	}
	srv := &http.Server{
		Handler: s, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		TLSConfig: &tls.Config{GetCertificate: certificate, MinVersion: tls.VersionTLS12},
		ErrorLog:  slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug),
	}
	s.serving.Store(true)
	defer s.serving.Store(false)
	if err := serve.Run(ctx, srv, l, s.opts.StopTimeout); err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	return nil
}
