package controllertest

import (
	"context"
	"fmt"
	"strings"
	"testing/synctest"
	"time"
)

// Settle returns when nothing is left to do until time passes. What it promises when it returns:
//
//   - Every other goroutine of the bubble waits: for another one, or for a time that has not come. Timers
//     that are due now have fired, those too that were set meanwhile to fire at once, and what they started
//     is done.
//   - The server's watch caches have reached the store's revision, and every open watch has written every
//     event up to there.
//   - No connection holds bytes that its receiver has not read. So every informer has seen the store's
//     revision and has called its handlers.
//
// Time does not advance: requeues, back-offs and deadlines stay where they are until the test calls
// time.Sleep. After a sleep call Settle again: what woke at the same instant as the test has still to run.
//
// If a watch cannot deliver, because an event handler blocks or its client does not read, and nothing but
// time can change that, Settle fails the test and says which. So it does if a reconcile never ends, see
// Options.MaxRuns. It needs a bubble, and only one goroutine of the bubble may be in it.
func (c *Cluster) Settle() {
	c.t.Helper()
	if !inBubble() {
		c.t.Fatal("controllertest: Settle works in a testing/synctest bubble only: wrap the test in synctest.Test")
	}
	if problem := c.settle(); problem != "" {
		c.guard.reported()
		c.t.Fatal("controllertest: Settle: " + problem)
	}
}

const (
	settled = 2       // rounds in a row that must find nothing changed
	rounds  = 100_000 // rounds at most
)

// settle does what Settle promises, or says why that cannot be.
func (c *Cluster) settle() (problem string) {
	ctx := context.Background()
	for round, same, last := 0, 0, (activity{}); same < settled; round++ {
		if round == rounds {
			return "something is always due at once: a timer without delay is set again whenever it fires"
		}
		idle()
		if problem := c.guard.problem(); problem != "" {
			return problem
		}
		// Caches of resources that nobody writes to learn the revision only if asked.
		revision, err := c.store.Progress(ctx, "")
		if err != nil {
			return "the store does not answer: " + err.Error()
		}
		idle()
		now := activity{revision, c.net.carried.Load()}
		if now == last {
			same++
		} else {
			same, last = 0, now
		}
		problem = c.undelivered(revision)
	}
	return problem
}

// activity grows with everything that clients and server do.
type activity struct {
	revision int64 // of the store
	bytes    int64 // carried by the network
}

// idle waits until every other goroutine of the bubble waits for others or for a time to come, which is
// synctest.Wait but for one thing: Wait returns before timers fire that are due already. They fire when the
// whole bubble waits for time, as it does here, for no time at all.
func idle() {
	synctest.Wait()
	<-time.After(0)
	synctest.Wait()
}

// undelivered says what has not been delivered up to revision.
func (c *Cluster) undelivered(revision int64) string {
	var what []string
	if conns, bytes := c.net.unread(); conns > 0 {
		what = append(what, fmt.Sprintf("%d connection(s) hold %d bytes that the receiver does not read: an event handler or the reader of a watch is blocked", conns, bytes))
	}
	if late := c.server.Registry().Undelivered(revision); len(late) > 0 {
		what = append(what, fmt.Sprintf("the server's watches of %s have not delivered revision %d", strings.Join(late, ", "), revision))
	}
	return strings.Join(what, "; ")
}

// Sleep lets d pass and settles, so that what woke last has run too.
func (c *Cluster) Sleep(d time.Duration) {
	c.t.Helper()
	time.Sleep(d)
	c.Settle()
}
