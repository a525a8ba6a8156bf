package leaderelection_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/locktest"
)

// TestRandomHistories runs candidates through random faults of the lock, clocks
// that jump, ends and restarts of processes: the work of two holders must never
// overlap, and once the faults stop there must be a leader.
func TestRandomHistories(t *testing.T) {
	for _, seed := range seeds.Of(t, 1000) {
		synctest.Test(t, func(t *testing.T) { newHistory(t, seed).run() })
		if t.Failed() {
			t.Fatalf("failed with seed %d", seed)
		}
	}
}

// TestAHistoryIsReplayed: a seed decides everything that happens in a history, the waits of the electors
// included.
func TestAHistoryIsReplayed(t *testing.T) {
	for _, seed := range seeds.Of(t, 5) {
		var traces [2][]string
		for n := range traces {
			synctest.Test(t, func(t *testing.T) {
				h := newHistory(t, seed)
				h.requests = true
				h.run()
				// Lines of the same instant are in no order.
				slices.Sort(h.log)
				traces[n] = h.log
			})
		}
		require.NotEmpty(t, traces[0])
		require.Equal(t, traces[0], traces[1], "seed %d", seed)
	}
}

// history is one random run.
type history struct {
	t     *testing.T
	seed  uint64
	store *locktest.Store

	mu      sync.Mutex
	draws   *seeds.Draws
	trouble [4]int // percentage of requests of each candidate that go wrong; 100 is a partition
	locks   [4]*locktest.Lock
	leading map[string]bool
	tokens  map[fence.Token]bool
	terms   int
	last    time.Time // when the last leader's work ended
	log     []string
	// requests adds every request to the log.
	requests bool
}

func newHistory(t *testing.T, seed uint64) *history {
	return &history{
		t: t, seed: seed, store: locktest.NewStore("ns", "x"), draws: seeds.NewDraws(seed),
		leading: map[string]bool{}, tokens: map[fence.Token]bool{},
	}
}

// upTo draws a time below d for a purpose of one goroutine.
func (h *history) upTo(purpose string, d time.Duration) time.Duration {
	return time.Duration(h.draws.For(purpose).IntN(int(d)))
}

func (h *history) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, fmt.Sprintf("%v %s", time.Now().Format("15:04:05.000000"), fmt.Sprintf(format, args...)))
}

func (h *history) fail(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.log[max(0, len(h.log)-60):] {
		h.t.Log(line)
	}
	h.t.Errorf("seed %d: %s", h.seed, fmt.Sprintf(format, args...))
}

// fault draws what happens to one request of candidate i.
func (h *history) fault(i int) func(string) locktest.Fault {
	return func(op string) locktest.Fault {
		rng := h.draws.For(fmt.Sprint("request ", i, " ", op))
		h.mu.Lock()
		trouble := h.trouble[i]
		h.mu.Unlock()
		if h.requests {
			h.note("%d: %s", i, op)
		}
		f := locktest.Fault{Before: time.Duration(rng.IntN(int(50 * time.Millisecond)))}
		if rng.IntN(100) >= trouble {
			return f
		}
		switch rng.IntN(5) {
		case 0:
			f.Drop = true
		case 1:
			f.Lose = true
		case 2:
			f.Before = time.Duration(rng.IntN(int(40 * time.Second)))
			f.Late = op != "wait"
		case 3:
			f.Before = time.Hour
		case 4:
			f.After = time.Duration(rng.IntN(int(20 * time.Second)))
		}
		return f
	}
}

func (h *history) run() {
	ctx, end := context.WithCancel(h.t.Context())
	var machines sync.WaitGroup
	for i := range len(h.trouble) {
		machines.Go(func() { h.machine(ctx, i) })
	}
	rng := h.draws.For("history")
	for range 12 {
		h.mu.Lock()
		for i := range h.trouble {
			h.trouble[i] = []int{0, 0, 10, 50, 100}[rng.IntN(5)]
			if l := h.locks[i]; l != nil && rng.IntN(4) == 0 {
				l.Jump(time.Duration(rng.IntN(int(time.Hour))) - 30*time.Minute)
			}
		}
		h.mu.Unlock()
		time.Sleep(time.Duration(rng.IntN(int(time.Minute))))
		if rng.IntN(4) == 0 {
			h.store.Touch()
		}
	}
	// No more faults: requests in flight may still be stuck for RenewDeadline
	// and a write that arrives late may make all candidates wait for a lease duration.
	h.mu.Lock()
	h.trouble = [4]int{}
	h.mu.Unlock()
	time.Sleep(3 * time.Minute)
	h.mu.Lock()
	terms, now := h.terms, len(h.leading)
	h.mu.Unlock()
	if now == 0 {
		time.Sleep(20 * time.Second) // between two terms
		h.mu.Lock()
		now = len(h.leading) + h.terms - terms
		h.mu.Unlock()
	}
	if now == 0 {
		h.fail("there is no leader although there are no faults")
	}
	end()
	machines.Wait()
	time.Sleep(2 * time.Minute) // writes that arrive late
}

// machine runs one process after the other.
func (h *history) machine(ctx context.Context, i int) {
	// Not all at the same instant, whose order is not decided by the seed.
	time.Sleep(h.upTo(fmt.Sprint("start ", i), time.Second))
	for n := 0; ctx.Err() == nil; n++ {
		lock := h.store.Lock()
		lock.Fault = h.fault(i)
		lock.Skew = h.upTo(fmt.Sprint("skew ", i), time.Hour) - 30*time.Minute
		h.mu.Lock()
		h.locks[i] = lock
		h.mu.Unlock()
		var shared leaderelection.Lock = lock
		if i%2 == 0 {
			shared = locktest.Watched{Lock: lock}
		}
		// Machine 3 reuses its identity, as a container that restarts does.
		id := fmt.Sprintf("%d", i)
		if i != 3 {
			id = fmt.Sprintf("%d-%d", i, n)
		}
		e, err := leaderelection.New(shared, leaderelection.Options{Identity: id, DrainTimeout: -1})
		if err != nil {
			h.fail("new: %v", err)
			return
		}
		jittered := backoff.WithJitter(ctx, func() float64 { return h.draws.For(fmt.Sprint("jitter ", i)).Float64() })
		process, kill := context.WithTimeout(jittered, 10*time.Second+h.upTo(fmt.Sprint("life ", i), 4*time.Minute))
		for process.Err() == nil {
			err := e.Run(process, func(led context.Context) error { return h.lead(led, e) })
			h.note("%s: run: %v", id, err)
			if err != nil && !errors.Is(err, leaderelection.ErrLost) {
				h.fail("%s: run: %v", id, err)
			}
		}
		kill()
	}
}

// lead is the work. It takes up to the promised margin to return.
func (h *history) lead(led context.Context, e *leaderelection.Elector) error {
	id := e.Identity()
	token, ok := fence.FromContext(led)
	h.mu.Lock()
	others := len(h.leading)
	again := h.tokens[token]
	h.leading[id], h.tokens[token] = true, true
	h.terms++
	h.mu.Unlock()
	h.note("%s: leads with %v", id, token)
	if others > 0 {
		h.fail("%s leads while %d others do", id, others)
	}
	if !ok || again {
		h.fail("%s: token %v is missing or was used before", id, token)
	}
	work := time.NewTimer(h.upTo("work "+id, 5*time.Minute))
	defer work.Stop()
	select {
	case <-led.Done():
		margin := leaderelection.DefaultLeaseDuration - leaderelection.DefaultRenewDeadline
		time.Sleep(h.upTo("margin "+id, margin))
	case <-work.C:
	}
	h.note("%s: work ends: %v", id, context.Cause(led))
	h.mu.Lock()
	delete(h.leading, id)
	h.last = time.Now()
	h.mu.Unlock()
	return nil
}
