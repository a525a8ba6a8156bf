package direct

import (
	"bytes"
	"cmp"
	"context"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/store/authn"
)

// Turn is the virtual time of a request's turn. A request is chosen in the middle between two turns, because
// goroutines that wake at the same instant run in any order: what is served sets its timers at whole turns.
const Turn = time.Microsecond

// turns serves the requests of a bubble, and delivers the data of streams, one after the other, so that a run
// does not depend on the order in which goroutines run: a request waits until every goroutine of the bubble
// is blocked, and of those that wait then the one that came in an earlier turn is served, or, of one turn,
// the one that the seed decides. A turn takes time, because it is by sleeping that one waits until all
// goroutines are blocked.
type turns struct {
	seed uint64

	mu      sync.Mutex
	turn    uint64
	waiting []*ticket
	running chan struct{} // closed when run returns; nil while it does not run
}

// ticket is a request, or data of a stream, that waits for its turn.
type ticket struct {
	turn   uint64 // in which it came
	order  uint64 // among those that came in that turn
	name   string // what the request is, for those of equal order
	served chan struct{}
}

// wait returns when it is the turn of a request. The error is that of the request's context. The returned
// request is to be served in place of r: its body was read.
func (t *turns) wait(r *http.Request, u *authn.User) (*http.Request, error) {
	r, body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	if !t.queue(nameOf(r, u)+" "+string(body), r.Context().Done()) {
		return nil, context.Cause(r.Context())
	}
	return r, nil
}

// nameOf names a request and what is sent in response.
func nameOf(r *http.Request, u *authn.User) string {
	return u.Name + " " + r.UserAgent() + " " + r.Method + " " + r.URL.RequestURI()
}

// queue returns true when it is the turn of what is named, or false when cancelled is closed.
func (t *turns) queue(name string, cancelled <-chan struct{}) bool {
	w := &ticket{name: name, served: make(chan struct{})}
	t.mu.Lock()
	w.turn = t.turn
	h := fnv.New64a()
	_, _ = io.WriteString(h, w.name)
	w.order = mix(h.Sum64() ^ mix(t.seed^mix(uint64(time.Now().UnixMicro()))))
	t.waiting = append(t.waiting, w)
	if t.running == nil {
		t.running = make(chan struct{})
		go t.run(t.running)
	}
	t.mu.Unlock()
	select {
	case <-w.served:
		return true
	case <-cancelled:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.waiting = slices.DeleteFunc(t.waiting, func(other *ticket) bool { return other == w })
		return false
	}
}

// run gives one request after the other its turn, until none is left.
func (t *turns) run(done chan struct{}) {
	defer close(done)
	for {
		sleepUntil(Turn / 2) // all goroutines are blocked, and hardly any wakes now
		t.mu.Lock()
		if len(t.waiting) == 0 {
			t.running = nil
			t.mu.Unlock()
			return
		}
		t.turn++
		next := slices.MinFunc(t.waiting, func(a, b *ticket) int {
			return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name))
		})
		t.waiting = slices.DeleteFunc(t.waiting, func(w *ticket) bool { return w == next })
		t.mu.Unlock()
		sleepUntil(0) // others may wake then too: they come too late for this turn
		close(next.served)
	}
}

// sleepUntil sleeps until the next instant that is that long after a whole number of turns.
func sleepUntil(phase time.Duration) {
	since := time.Duration(time.Now().UnixNano()) % Turn
	time.Sleep((phase-since+Turn-1)%Turn + 1)
}

// busy reports whether requests wait or the last one may still cause others.
func (t *turns) busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running != nil
}

// end waits until no request waits.
func (t *turns) end() {
	t.mu.Lock()
	running := t.running
	t.mu.Unlock()
	if running != nil {
		<-running
	}
}

// mix is the finalizer of SplitMix64: each bit of the result depends on each of x.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// readBody returns the body of a request of known length, and the request with a copy of it.
func readBody(r *http.Request) (*http.Request, []byte, error) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength <= 0 {
		return r, nil, nil
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, nil, err
	}
	copied := r.WithContext(r.Context())
	copied.Body = io.NopCloser(bytes.NewReader(body))
	return copied, body, nil
}
