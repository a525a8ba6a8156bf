package controllertest

import (
	"net/http"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/store/authz"
)

// Crash makes a client, such as a manager with a user of its own, end at one of its writes, as a process that
// is killed: n is the number of the write among those that match, counted from 0; Events and Leases are not
// counted. The server makes that write if done is true, but the client gets no reply; its watches break, and
// all its later requests fail, until [Crashed.Remove]. A client with fewer writes does not crash. So a test
// finds every write after which a controller must be able to go on:
//
//	for n, crashed := 0, true; crashed; n++ {
//		for _, done := range []bool{true, false} {
//			synctest.Test(t, func(t *testing.T) {
//				c := controllertest.StartFrom(t, snapshot, controllertest.Options{})
//				crash := c.Crash(controllertest.Requests{User: "operator"}, n, done)
//				stop := c.Run(c.ManagerOver(c.Conn(operator), "operator", website.Add))
//				c.Sleep(time.Minute)
//				stop()
//				crash.Remove()
//				c.Run(c.ManagerOver(c.Conn(operator), "operator", website.Add))
//				c.Sleep(time.Minute)
//				... // the end state is that of a run without a crash
//				crashed = crash.Happened()
//			})
//		}
//	}
func (c *Cluster) Crash(q Requests, n int, done bool) *Crashed {
	cr := &Crashed{}
	writes := q
	writes.Matches = func(a authz.Attributes) bool { return isStep(&a) && (q.Matches == nil || q.Matches(a)) }
	cr.fault = c.Inject(Fault{Requests: writes, Skip: n, Times: 1, Optional: true, Effect: func(_ http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		apart := c.Inject(Fault{Requests: q, Optional: true, Effect: Drop()})
		cr.mu.Lock()
		cr.apart = apart
		cr.mu.Unlock()
		c.Break(q)
		if done {
			next(&lostReply{header: http.Header{}}, r)
		}
		panic(http.ErrAbortHandler)
	}})
	return cr
}

// isStep reports whether a request is a step of a controller's work.
func isStep(a *authz.Attributes) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, a.Verb) &&
		a.Resource != "events" && a.Resource != "leases"
}

// Crashed is the crash of a client. It is safe for concurrent use.
type Crashed struct {
	fault *Injected

	mu    sync.Mutex
	apart *Injected // of the requests after the crash; nil before
}

// Happened reports whether the client has made that write.
func (cr *Crashed) Happened() bool { return cr.fault.Hits() > 0 }

// Remove lets clients whose requests match reach the server again: those of the next process.
func (cr *Crashed) Remove() {
	cr.fault.Remove()
	cr.mu.Lock()
	defer cr.mu.Unlock()
	if cr.apart != nil {
		cr.apart.Remove()
	}
}
