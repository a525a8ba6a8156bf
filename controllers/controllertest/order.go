package controllertest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/store/authz"
)

// orderVariable is the environment variable that changes the order in which watches deliver, in all tests.
const orderVariable = "KEELSON_ORDER"

// orderedDelays is how many delays there are, from 0 in microseconds. Virtual time advances when all
// goroutines are blocked, so that each is enough for all that the other watches deliver to be handled first.
const orderedDelays = 8

// order decides how late each event of a watch in a bubble is, so that a test that depends on which of two
// watches delivers first fails with some numbers, not once in many runs on a busy machine. How events are
// divided into parts is up to chance, so a number does not replay a run. 0 changes nothing.
type order uint64

// newOrder returns the order that the environment names.
func newOrder() (order, error) {
	text := os.Getenv(orderVariable)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%s=%q is not a positive number", orderVariable, text)
	}
	return order(n), nil
}

// late serves a watch and delivers each part of it late, in order, by times that follow from the number, the
// client and the resource. What is on its way is counted in pending.
func (o order) late(a *authz.Attributes, agent string, pending *atomic.Int64, serve http.HandlerFunc) http.HandlerFunc {
	if o == 0 {
		return serve
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, agent, a.APIGroup, a.Resource)
	draw := rand.New(rand.NewPCG(uint64(o), h.Sum64()))
	delay := func() time.Duration { return time.Duration(draw.IntN(orderedDelays)) * time.Microsecond }
	effect := lag(delay, pending)
	return func(w http.ResponseWriter, r *http.Request) { effect(w, r, serve) }
}
