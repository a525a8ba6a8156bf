package apiserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// check is one health check.
type check struct {
	name string
	run  func(ctx context.Context) error
}

// Health checks need no credentials and have no rate limit, so the store is queried at most once per
// probeInterval, and all requests get the last result.
const (
	probeInterval = time.Second
	probeTimeout  = 2 * time.Second
)

// storeProbe checks whether the store can be read.
type storeProbe struct {
	ping func(ctx context.Context) error

	mu      sync.Mutex
	running chan struct{} // closed when the check under way has ended; nil if there is none
	at      time.Time     // of the last result
	err     error         // the last result
}

// check returns the last result, or waits for the next one if that is older than probeInterval.
func (p *storeProbe) check(ctx context.Context) error {
	p.mu.Lock()
	if p.running == nil && !p.at.IsZero() && time.Since(p.at) < probeInterval {
		defer p.mu.Unlock()
		return p.err
	}
	if done := p.running; done != nil {
		p.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	}
	done := make(chan struct{})
	p.running = done
	p.mu.Unlock()
	// A canceled request must not fail the others that wait for the result.
	pingCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	err := errors.New("the store's probe panicked")
	defer func() {
		p.mu.Lock()
		p.at, p.err, p.running = time.Now(), err, nil
		p.mu.Unlock()
		close(done)
	}()
	err = p.ping(pingCtx)
	return err
}

// checks returns the checks behind a path.
func (s *Server) checks(path string) []check {
	list := []check{
		{"ping", func(context.Context) error { return nil }},
		{"log", func(context.Context) error { return nil }},
		{"etcd", s.probe.check},
	}
	if path == "/readyz" {
		list = append(list, check{"etcd-readiness", list[2].run}, check{"informer-sync", func(context.Context) error { return s.isReady() }})
	}
	list = append(list, check{"poststarthook/bootstrap", func(context.Context) error { return s.isReady() }})
	if s.custom != nil {
		list = append(list, check{"poststarthook/crd-informer-synced", func(context.Context) error {
			select {
			case <-s.custom.Synced():
				return nil
			default:
				return errNotFinished
			}
		}})
	}
	for _, name := range slices.Sorted(maps.Keys(s.opts.Checks)) {
		list = append(list, check{name, s.opts.Checks[name]})
	}
	if path != "/livez" {
		for _, name := range slices.Sorted(maps.Keys(s.opts.ReadyChecks)) {
			list = append(list, check{name, s.opts.ReadyChecks[name]})
		}
	}
	if path == "/readyz" {
		list = append(list, check{"shutdown", func(context.Context) error {
			if s.lifecycle.has(draining) {
				return fmt.Errorf("process is shutting down")
			}
			return nil
		}})
	}
	return list
}

func (s *Server) isReady() error {
	if !s.lifecycle.has(serving) {
		return errNotFinished
	}
	return nil
}

var errNotFinished = errors.New("not finished")

// serveHealth serves /healthz, /livez and /readyz, each check below them, and verbose and exclude.
func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request) {
	path := "/" + splitPath(r.URL.Path)[0]
	only := strings.Trim(strings.TrimPrefix(r.URL.Path, path), "/")
	query := r.URL.Query()
	excluded := slices.Compact(slices.Sorted(slices.Values(query["exclude"])))
	ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
	defer cancel()
	var out strings.Builder
	failed, found := false, only == ""
	for _, c := range s.checks(path) {
		if only != "" && c.name != only {
			continue
		}
		found = true
		if at := slices.Index(excluded, c.name); at >= 0 && only == "" {
			excluded = slices.Delete(excluded, at, at+1)
			fmt.Fprintf(&out, "[+]%s excluded: ok\n", c.name)
			continue
		}
		err := c.run(ctx)
		if hook := s.opts.Metrics.HealthCheck; hook != nil {
			hook(path[1:], c.name, err)
		}
		if err != nil && only != "" {
			http.Error(w, "internal server error: "+err.Error(), http.StatusInternalServerError)
			return
		}
		if err != nil {
			failed = true
			s.logger.Info("health check failed", "check", c.name, "err", err)
			fmt.Fprintf(&out, "[-]%s failed: reason withheld\n", c.name)
			continue
		}
		fmt.Fprintf(&out, "[+]%s ok\n", c.name)
	}
	if len(excluded) > 0 && only == "" {
		fmt.Fprintf(&out, "warn: some health checks cannot be excluded: no matches for %s\n", quoted(excluded))
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	name := path[1:]
	switch {
	case !found:
		http.Error(w, "404 page not found", http.StatusNotFound)
	case failed:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "%s%s check failed\n", out.String(), name)
	case query.Has("verbose") && only == "":
		fmt.Fprintf(w, "%s%s check passed\n", out.String(), name)
	default:
		fmt.Fprint(w, "ok")
	}
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strconv.Quote(n)
	}
	return strings.Join(out, ",")
}
