package controllertest

import (
	"context"
	"fmt"
	"strings"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/controllers/controllertest/internal/direct"
)

// Settle returns when nothing is left to do until time passes. When it returns,
//
//   - every other goroutine of the bubble is blocked, waiting for another one or for a later time; timers due
//     now have fired, including those set meanwhile without delay, and the work they started is done;
//   - the server's watch caches have reached the store's revision, and every open watch has written all
//     events up to it;
//   - no connection holds unread bytes, so every informer has reached the store's revision and called its
//     handlers.
//
// Time does not advance, but by a microsecond per request with Options.Seed: requeues, back-offs and
// deadlines stay pending until the test calls time.Sleep. After a sleep call Settle again, because goroutines
// that woke at the same instant as the test have yet to run; or use [Cluster.Sleep].
//
// If a watch cannot deliver its events without time passing, because an event handler blocks or the client
// does not read, Settle fails the test and reports the watch. It also fails the test if a reconcile never
// ends; see Options.MaxRuns. Settle must be called in a bubble, and not concurrently.
func (c *Cluster) Settle() {
	c.t.Helper()
	if !inBubble() {
		c.t.Fatalf("controllertest: Settle works in a testing/synctest bubble only: wrap the test in synctest.Test")
	}
	if problem := c.settle(); problem != "" {
		c.guard.reported()
		c.t.Fatalf("controllertest: Settle: %s%s", problem, c.timeline("the cluster", func(h *History) *History { return h }))
	}
}

const (
	settled = 2       // consecutive rounds that must find nothing changed
	rounds  = 100_000 // maximum number of rounds
)

// settle waits as Settle does and returns the reason if it cannot succeed.
func (c *Cluster) settle() (problem string) {
	ctx := context.Background()
	for round, same, last := 0, 0, (activity{}); same < settled; round++ {
		if round == rounds {
			return "a timer without delay is set again each time it fires"
		}
		c.idle()
		if problem := c.guard.problem(); problem != "" {
			return problem
		}
		// Caches of resources without writes reach the revision only on request.
		revision, err := c.store.Progress(ctx, "")
		if err != nil {
			return "query progress of the store failed: " + err.Error()
		}
		c.idle()
		now := activity{revision, c.net.carried.Load() + c.direct.Moved()}
		if now == last {
			same++
		} else {
			same, last = 0, now
		}
		problem = c.undelivered(revision)
	}
	return problem
}

// activity changes whenever clients or the server do something.
type activity struct {
	revision int64 // of the store
	messages int64 // requests in process, and bytes carried by the network
}

// idle waits as the function does, and until all requests of a seeded cluster have had their turn and all
// watches that KEELSON_ORDER makes late have delivered.
func (c *cluster) idle() {
	for idle(); c.direct.Busy() || c.gate.pending.Load() > 0; idle() {
		if c.guard.problem() != "" {
			return
		}
		time.Sleep(direct.Turn)
	}
}

// idle waits until every other goroutine of the bubble is blocked. Unlike synctest.Wait, it returns after
// timers that are already due have fired: they fire only when all goroutines of the bubble are blocked, the
// caller included, so it waits for a timer without delay.
func idle() {
	synctest.Wait()
	fired := make(chan struct{})
	time.AfterFunc(0, func() { close(fired) }) // a timer with a channel would fire without blocking
	<-fired
	synctest.Wait()
}

// undelivered describes the connections and watches that have not delivered their data up to revision.
func (c *Cluster) undelivered(revision int64) string {
	var what []string
	conns, bytes := c.net.unread()
	streams, more := c.direct.Unread()
	if conns, bytes = conns+streams, bytes+more; conns > 0 {
		what = append(what, fmt.Sprintf("%d connection(s) hold %d unread bytes: an event handler or the reader of a watch is blocked", conns, bytes))
	}
	if late := c.server.Registry().Undelivered(revision); len(late) > 0 {
		what = append(what, fmt.Sprintf("the server's watches of %s have not delivered revision %d", strings.Join(late, ", "), revision))
	}
	return strings.Join(what, "; ")
}

// Sleep sleeps for d and then calls Settle.
func (c *Cluster) Sleep(d time.Duration) {
	c.t.Helper()
	time.Sleep(d)
	c.Settle()
}
