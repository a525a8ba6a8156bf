package health

import (
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

// Check returns nil if what it looks at is well. Its context ends with the request, or after Options.Timeout.
type Check func(ctx context.Context) error

// Options configure a Server. The zero value serves plain HTTP on port 8081 of all addresses.
type Options struct {
	// Addr is the host and port to listen on; empty means ":8081".
	Addr string
	// Listener, if not nil, is used instead of Addr. The server closes it.
	Listener net.Listener
	// Certificate, if not nil, is asked for the certificate of a connection: then it serves HTTPS.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Timeout is how long one check may take; 0 means 5 s.
	Timeout time.Duration
	// Logger is told of checks that fail and pass again; nil discards.
	Logger *slog.Logger
}

// Server runs checks when it is asked, side by side. It is a manager.Runnable, to be added with AddAlways,
// and an http.Handler. All methods may be called from many goroutines.
type Server struct {
	options Options
	mux     *http.ServeMux

	mu     sync.Mutex
	checks []*check
}

type check struct {
	name string
	run  Check
	live bool

	mu      sync.Mutex
	failing bool
	// running is true while a call has not returned: one that hangs is not called again.
	running bool
}

// New returns a server without checks: all is well.
func New(o Options) *Server {
	if o.Addr == "" {
		o.Addr = ":8081"
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{options: o, mux: http.NewServeMux()}
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		s.mux.HandleFunc("GET "+path, s.all)
		s.mux.HandleFunc("GET "+path+"/{name}", s.one)
	}
	return s
}

// Live adds a check without which the program should be started anew. It panics if the name is taken, empty,
// or has a slash.
func (s *Server) Live(name string, c Check) { s.add(&check{name: name, run: c, live: true}) }

// Ready adds a check without which the program should get no requests yet. It panics as Live does.
func (s *Server) Ready(name string, c Check) { s.add(&check{name: name, run: c}) }

func (s *Server) add(c *check) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.name == "" || strings.Contains(c.name, "/") || c.run == nil || slices.ContainsFunc(s.checks, func(o *check) bool { return o.name == c.name }) {
		panic(fmt.Sprintf("health: the check %q needs a function and a name of its own without a slash", c.name))
	}
	s.checks = append(s.checks, c)
}

// Handle serves h beside the checks, at a pattern of http.ServeMux such as "GET /metrics". It panics as that
// does.
func (s *Server) Handle(pattern string, h http.Handler) { s.mux.Handle(pattern, h) }

// ServeHTTP serves the checks.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Run serves until ctx ends. It fails at once if it cannot listen.
func (s *Server) Run(ctx context.Context) error {
	l := s.options.Listener
	if l == nil {
		var err error
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.options.Addr); err != nil {
			return fmt.Errorf("health: %w", err)
		}
	}
	srv := &http.Server{Handler: s.mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelDebug)}
	if s.options.Certificate != nil {
		srv.TLSConfig = &tls.Config{GetCertificate: s.options.Certificate, MinVersion: tls.VersionTLS12}
	}
	if err := serve.Run(ctx, srv, l, time.Second); err != nil {
		return fmt.Errorf("health: %w", err)
	}
	return nil
}

// of returns the checks behind a path.
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
	results := make([]error, len(checks))
	var running sync.WaitGroup
	for i, c := range checks {
		if !slices.Contains(exclude, c.name) {
			running.Go(func() { results[i] = s.run(r.Context(), c) })
		}
	}
	running.Wait()
	var told strings.Builder
	failed := false
	for i, c := range checks {
		switch {
		case slices.Contains(exclude, c.name):
			fmt.Fprintf(&told, "[+]%s excluded: ok\n", c.name)
		case results[i] != nil:
			failed = true
			fmt.Fprintf(&told, "[-]%s failed: reason withheld\n", c.name)
		default:
			fmt.Fprintf(&told, "[+]%s ok\n", c.name)
		}
	}
	name := strings.Trim(r.URL.Path, "/")
	switch {
	case failed:
		http.Error(w, told.String()+name+" check failed", http.StatusInternalServerError)
	case query.Has("verbose"):
		fmt.Fprintf(w, "%s%s check passed\n", told.String(), name)
	default:
		fmt.Fprint(w, "ok")
	}
}

func (s *Server) one(w http.ResponseWriter, r *http.Request) {
	list := s.of(r.URL.Path)
	i := slices.IndexFunc(list, func(c *check) bool { return c.name == r.PathValue("name") })
	switch {
	case i < 0:
		http.NotFound(w, r)
	case s.run(r.Context(), list[i]) != nil:
		http.Error(w, "failed: reason withheld", http.StatusInternalServerError)
	default:
		fmt.Fprint(w, "ok")
	}
}

// errTimeout is a check that is still running.
var errTimeout = errors.New("no answer in time")

// run runs a check for no longer than it may take and logs when its outcome changes.
func (s *Server) run(ctx context.Context, c *check) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	err := c.call(ctx)
	c.mu.Lock()
	changed := c.failing != (err != nil)
	c.failing = err != nil
	c.mu.Unlock()
	switch {
	case changed && err != nil:
		s.options.Logger.Warn("health check fails", "check", c.name, "err", err)
	case changed:
		s.options.Logger.Info("health check passes again", "check", c.name)
	}
	return err
}

// call calls the check, unless an earlier call has not returned in its time and is still under way.
func (c *check) call(ctx context.Context) error {
	c.mu.Lock()
	hangs := c.running && c.failing
	c.running = true
	c.mu.Unlock()
	if hangs {
		return errTimeout
	}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("panic: %v", p)
			}
			c.mu.Lock()
			c.running = false
			c.mu.Unlock()
		}()
		done <- c.run(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errTimeout
	}
}
