package webhook

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/keelson-dev/keelson/controllers/internal/serve"
)

// Options configure a Server. The zero value listens on port 9443 of all addresses with the certificate in
// /tmp/k8s-webhook-server/serving-certs, where generated manifests of operators mount it.
type Options struct {
	// Addr is the host and port to listen on; empty means ":9443".
	Addr string
	// Listener, if not nil, is used instead of Addr. The server closes it.
	Listener net.Listener
	// CertDir holds tls.crt and tls.key in PEM. They may change while the server runs.
	CertDir string
	// Certificate, if not nil, is asked instead of CertDir for the certificate of a connection.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Patience is how long calls under way may take after the end of Run's context; zero means 10 s.
	Patience time.Duration
	// Logger is told of certificates that cannot be read, of broken connections, and of panics with their
	// stacks; nil discards, and the stacks are then in the answers instead.
	Logger *slog.Logger
}

// Server serves the handlers of an operator's webhooks over HTTPS, and /healthz and /readyz beside them. It
// is a manager.Runnable: add it with AddAlways, because the API server calls any replica. It is also an
// http.Handler, for those who serve it themselves.
type Server struct {
	options Options
	mux     *http.ServeMux
	certs   files
	panics  *slog.Logger // nil if the options have none
}

// New returns a server without webhooks.
func New(o Options) *Server {
	if o.Addr == "" {
		o.Addr = ":9443"
	}
	if o.CertDir == "" {
		o.CertDir = "/tmp/k8s-webhook-server/serving-certs"
	}
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	panics := o.Logger
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{options: o, mux: http.NewServeMux(), certs: files{dir: o.CertDir, log: o.Logger}, panics: panics}
	for _, path := range []string{"/healthz", "/readyz"} {
		s.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	}
	return s
}

// Handle serves h at path, which is the path of the webhook's clientConfig. Like http.ServeMux it panics if
// path is taken.
func (s *Server) Handle(path string, h http.Handler) { s.mux.Handle(path, h) }

// ServeHTTP serves the handlers.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.panics != nil {
		r = r.WithContext(context.WithValue(r.Context(), loggerKey{}, s.panics))
	}
	s.mux.ServeHTTP(w, r)
}

// Run serves until ctx ends and the calls under way are answered, or Patience is over. It fails at once if it
// cannot listen or there is no certificate.
func (s *Server) Run(ctx context.Context) error {
	certificate := s.options.Certificate
	if certificate == nil {
		if _, err := s.certs.get(nil); err != nil {
			return fmt.Errorf("webhook: %w", err)
		}
		certificate = s.certs.get
	}
	l := s.options.Listener
	if l == nil {
		var err error
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.options.Addr); err != nil {
			return fmt.Errorf("webhook: %w", err)
		}
	}
	srv := &http.Server{
		Handler: s, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		TLSConfig: &tls.Config{GetCertificate: certificate, MinVersion: tls.VersionTLS12},
		ErrorLog:  slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelDebug),
	}
	if err := serve.Run(ctx, srv, l, s.options.Patience); err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	return nil
}
