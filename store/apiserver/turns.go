package apiserver

import (
	"runtime"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

// turns bounds how many requests evaluate large selectors at a time: half as many as there are processors. To
// parse a selector of 100 kB and match thousands of objects with it takes 10 to 300 ms of a processor. The
// goroutines of other requests would wait behind all that are under way, several times for each request.
type turns chan struct{}

func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)/2)) }

// largeQuery is the length of a query, in bytes, from which its selectors are large.
const largeQuery = 8 << 10

// take waits for a turn if the request has large selectors, and returns the function that ends it. The error
// is the 504 of a request that ends before its turn.
func (t turns) take(r *request) (end func(), err error) {
	if len(r.URL.RawQuery) < largeQuery {
		return func() {}, nil
	}
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-r.Context().Done():
		return nil, apierrors.NewTimeout("the request ended while others with large selectors came first", 0)
	}
}
