package controllertest

// Settle returns when nothing is left to do until time passes: every goroutine of the bubble waits for another one or for a
// timer, and every open watch has delivered all there is. It never advances time; time.Sleep does, and lets timers of the
// controllers fire: requeues, back-offs, deadlines. It needs a bubble.
func (c *Cluster) Settle() {
	c.t.Helper()
	if !inBubble() {
		c.t.Fatal("controllertest: Settle works in a testing/synctest bubble only: wrap the test in synctest.Test")
	}
	// The server's caches and watches hold nothing back for a time, so what an idle server has not sent is what
	// its client does not read.
	if conns, bytes := c.net.unread(); conns > 0 {
		c.t.Fatalf("controllertest: Settle: %d connection(s) hold %d bytes that the client does not read: an event handler or the reader of a watch is blocked", conns, bytes)
	}
}
