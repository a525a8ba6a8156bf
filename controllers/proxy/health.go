package proxy

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// health is what the proxy knows of itself. The zero value is a proxy that has written nothing yet.
type health struct {
	period time.Duration

	mu      sync.Mutex
	last    time.Time // of the last write that worked
	pending time.Time // since when a change waits to be taken up by a sync; zero if none does
	// Since when a change waits that a sync has taken up and not written yet; zero if none does.
	taken   time.Time
	leaving bool
}

func (h *health) queued(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pending.IsZero() {
		h.pending = at
	}
}

// take notes that a sync has taken up all changes so far. Changes that come from now on wait for the next
// one, even if they come at the same instant.
func (h *health) take() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken.IsZero() {
		h.taken = h.pending
	}
	h.pending = time.Time{}
}

// synced notes that everything that was taken up has been written by now.
func (h *health) synced(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.taken = now, time.Time{}
}

func (h *health) setLeaving(leaving bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaving = leaving
}

// healthy reports whether the rules are there and no change has waited for two periods.
func (h *health) healthy() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.healthyLocked(time.Now())
}

func (h *health) healthyLocked(now time.Time) bool {
	waits := func(since time.Time) bool { return !since.IsZero() && now.Sub(since) >= 2*h.period }
	return !h.last.IsZero() && !waits(h.pending) && !waits(h.taken)
}

// Healthz returns the handler of kube-proxy's /healthz on port 10256, for load balancers: 200 while rules are
// written in time and the node is not being deleted, else 503.
func (p *Proxy) Healthz() http.Handler { return p.health.handler(true) }

// Livez is like Healthz but ignores the deletion of the node, for the path /livez.
func (p *Proxy) Livez() http.Handler { return p.health.handler(false) }

func (h *health) handler(eligible bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		now := time.Now()
		h.mu.Lock()
		ok, leaving, last := h.healthyLocked(now), h.leaving, h.last
		h.mu.Unlock()
		body := map[string]any{"lastUpdated": last.String(), "currentTime": now.String()}
		if eligible {
			body["nodeEligible"] = !leaving
			ok = ok && !leaving
		}
		writeJSON(w, ok, body)
	})
}

func writeJSON(w http.ResponseWriter, ok bool, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(body)
}
