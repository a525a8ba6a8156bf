package health

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/controllers/internal/serve"
)

// Check returns nil if it passes. It never runs twice at a time: requests that come while it runs get the
// same result. Its context ends after Options.Timeout and has the values of that of the request which began
// it.
type Check func(ctx context.Context) error

// Options of a Server. The zero value serves plain HTTP on port 8081 of all addresses.
type Options struct {
	// Addr is the host and port to listen on; empty means ":8081".
	Addr string
	// Listener, if not nil, is used instead of Addr. Run closes it.
	Listener net.Listener
	// Certificate, if not nil, makes the server use HTTPS with the certificate it returns.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Wrap, if not nil, returns the handler of Run, given that of the server: one that authenticates callers
	// first, for example.
	Wrap func(http.Handler) http.Handler
	// Timeout bounds one call of a check; 0 means 5 s.
	Timeout time.Duration
	// Logger receives a line when a check starts to fail and when it passes again; nil discards.
	Logger *slog.Logger
}

// Server runs its checks concurrently. It is an http.Handler and a manager.Runnable; add it
// with AddWithoutLeaderElection. All methods may be called concurrently.
type Server struct {
	opts Options
	mux  *http.ServeMux

	mu     sync.Mutex
	checks []*check
}

type check struct {
	name   string
	run    Check
	live   bool
	report bool // its failure does not count

	mu      sync.Mutex
	failing bool
	running *call // the only one that has not returned, or nil
}

// call is one call of a check. Requests during it share it, so that neither many requests nor a check that
// hangs make more calls.
type call struct {
	timeUp   <-chan struct{} // closed at the end of Options.Timeout, or after returned
	returned chan struct{}
	err      error // once returned is closed
}

// New returns a server without checks; its endpoints answer 200.
func New(opts Options) *Server {
	if opts.Addr == "" {
		opts.Addr = ":8081"
	}
	if opts.Timeout == 0 {
		opts.Timeout = 5 * time.Second
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	s := &Server{opts: opts, mux: http.NewServeMux()}
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		s.mux.HandleFunc("GET "+path, s.all)
		s.mux.HandleFunc("GET "+path+"/{name}", s.one)
	}
	return s
}

// Live adds a liveness check: if it fails, the program should be restarted. It panics if the name is empty,
// contains a slash or is already used.
func (s *Server) Live(name string, c Check) { s.add(&check{name: name, run: c, live: true}) }

// Ready adds a readiness check: while it fails, the program should not receive requests. It panics as Live
// does.
func (s *Server) Ready(name string, c Check) { s.add(&check{name: name, run: c}) }

// Report adds a check whose failure is shown by /readyz?verbose and by /readyz/NAME only: something needs
// attention, but restarting the program or sending requests elsewhere would not help. It panics as Live does.
func (s *Server) Report(name string, c Check) { s.add(&check{name: name, run: c, report: true}) }

func (s *Server) add(c *check) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.name == "" || strings.Contains(c.name, "/") || c.run == nil || slices.ContainsFunc(s.checks, func(o *check) bool { return o.name == c.name }) {
		panic(fmt.Sprintf("health: check %q: the function must not be nil and the name must be unique and without a slash", c.name))
	}
	s.checks = append(s.checks, c)
}

// Handle registers h for a pattern of http.ServeMux, such as "GET /metrics". It panics as ServeMux.Handle
// does.
func (s *Server) Handle(pattern string, h http.Handler) { s.mux.Handle(pattern, h) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Run serves until ctx ends and returns nil. It returns an error immediately if it cannot listen.
func (s *Server) Run(ctx context.Context) error {
	l := s.opts.Listener
	if l == nil {
		var err error
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.opts.Addr); err != nil {
			return fmt.Errorf("health: %w", err)
		}
	}
	var h http.Handler = s.mux
	if s.opts.Wrap != nil {
		h = s.opts.Wrap(h)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug)}
	if s.opts.Certificate != nil {
		srv.TLSConfig = &tls.Config{GetCertificate: s.opts.Certificate, MinVersion: tls.VersionTLS12}
	}
	if err := serve.Run(ctx, srv, l, time.Second); err != nil {
		return fmt.Errorf("health: %w", err)
	}
	return nil
}

// of returns the checks of an endpoint.
func (s *Server) of(path string) []*check {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*check
	for _, c := range s.checks {
		if c.live || strings.HasPrefix(path, "/readyz") {
			out = append(out, c)
		}
	}
	return out
}

func (s *Server) all(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	exclude := query["exclude"]
	checks := s.of(r.URL.Path)
	if !query.Has("verbose") {
		checks = slices.DeleteFunc(checks, func(c *check) bool { return c.report })
	}
	results := make([]error, len(checks))
	var running sync.WaitGroup
	for i, c := range checks {
		if !slices.Contains(exclude, c.name) {
			running.Go(func() { results[i] = s.run(r.Context(), c) })
		}
	}
	running.Wait()
	var report strings.Builder
	failed := false
	for i, c := range checks {
		switch {
		case slices.Contains(exclude, c.name):
			fmt.Fprintf(&report, "[+]%s excluded: ok\n", c.name)
		case results[i] != nil && c.report:
			fmt.Fprintf(&report, "[!]%s failed, not required: %s\n", c.name, reason(results[i]))
		case results[i] != nil:
			failed = true
			fmt.Fprintf(&report, "[-]%s failed: %s\n", c.name, reason(results[i]))
		default:
			fmt.Fprintf(&report, "[+]%s ok\n", c.name)
		}
	}
	name := strings.Trim(r.URL.Path, "/")
	switch {
	case failed:
		http.Error(w, report.String()+name+" check failed", http.StatusInternalServerError)
	case query.Has("verbose"):
		fmt.Fprintf(w, "%s%s check passed\n", report.String(), name)
	default:
		fmt.Fprint(w, "ok")
	}
}

func (s *Server) one(w http.ResponseWriter, r *http.Request) {
	list := s.of(r.URL.Path)
	i := slices.IndexFunc(list, func(c *check) bool { return c.name == r.PathValue("name") })
	if i < 0 {
		http.NotFound(w, r)
		return
	}
	if err := s.run(r.Context(), list[i]); err != nil {
		http.Error(w, "failed: "+reason(err), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, "ok")
}

// reason returns what may be shown of an error.
func reason(err error) string {
	if shown := public(err); len(shown) > 0 {
		return strings.Join(shown, ", ") + ": reason withheld"
	}
	return "reason withheld"
}

// public returns the public texts of an error and of those it wraps.
func public(err error) []string {
	switch e := err.(type) { //nolint:errorlint // the tree is walked
	case interface{ Public() string }:
		return []string{e.Public()}
	case interface{ Unwrap() error }:
		return public(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []string
		for _, err := range e.Unwrap() {
			all = append(all, public(err)...)
		}
		return all
	}
	return nil
}

// errTimeout is the result of a check that did not return in time.
var errTimeout = errors.New("timed out")

// run returns the result of a check after at most Options.Timeout and logs when it changes.
func (s *Server) run(ctx context.Context, c *check) error {
	call := c.call(ctx, s.opts.Timeout)
	select {
	case <-call.returned:
	case <-call.timeUp:
	case <-ctx.Done():
		// The answer is read by no one, and clients that vanish must not fail the checks of others.
		return context.Cause(ctx)
	}
	err := errTimeout
	select {
	case <-call.returned:
		err = call.err
	default:
	}
	c.mu.Lock()
	changed := c.failing != (err != nil)
	c.failing = err != nil
	c.mu.Unlock()
	switch {
	case changed && err != nil:
		s.opts.Logger.Warn("health check failed", "check", c.name, "err", err)
	case changed:
		s.opts.Logger.Info("health check passed again", "check", c.name)
	}
	return err
}

// call returns the call of the check that runs, or begins one.
func (c *check) call(ctx context.Context, timeout time.Duration) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		return c.running
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	running := &call{timeUp: ctx.Done(), returned: make(chan struct{})}
	c.running = running
	go func() {
		defer cancel()
		defer close(running.returned)
		defer func() {
			if p := recover(); p != nil {
				running.err = fmt.Errorf("panic: %v", p)
			}
			// Before the result can be read: the next request begins a call of its own.
			c.mu.Lock()
			c.running = nil
			c.mu.Unlock()
		}()
		running.err = c.run(ctx)
	}()
	return running
}
