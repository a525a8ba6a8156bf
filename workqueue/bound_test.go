package workqueue_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/workqueue"
)

// item is a key that is added once, with what the bounds speak of.
type item struct {
	id       int
	tenant   int
	priority int
	at       time.Duration
	out      int // number of its hand-out, from 1
	before   int // hand-outs before it was added
}

func (x *item) rank(aging time.Duration) time.Duration {
	return x.at - time.Duration(x.priority)*aging
}

// TestBoundOnWaiting checks the two bounds of the package comment, as they are
// written there, on random histories.
func TestBoundOnWaiting(t *testing.T) {
	for _, seed := range seeds.Of(t, 300) {
		rng := rand.New(rand.NewPCG(seed, 4))
		aging := time.Duration(1+rng.IntN(50)) * time.Millisecond
		var items []*item
		synctest.Test(t, func(*testing.T) { items = history(t, rng, aging, false) })
		orderBound(t, seed, items, aging)
		synctest.Test(t, func(*testing.T) { items = history(t, rng, aging, true) })
		shareBound(t, seed, items, aging)
		if t.Failed() {
			t.Fatalf("failed with seed %d", seed)
		}
	}
}

// history adds items faster than it takes them, in bursts, and then takes the rest.
func history(t *testing.T, rng *rand.Rand, aging time.Duration, tenants bool) []*item {
	opts := workqueue.Options[*item]{Aging: aging}
	if tenants {
		opts.Tenant = func(x *item) string { return strconv.Itoa(x.tenant) }
	}
	q := workqueue.New(opts)
	began := time.Now()
	var items []*item
	taken := 0
	take := func() {
		x := get(t, q)
		taken++
		x.out = taken
		q.Done(x)
	}
	for range 150 {
		switch rng.IntN(4) {
		case 0, 1:
			x := &item{id: len(items), tenant: rng.IntN(1 + rng.IntN(5)), priority: rng.IntN(9) - 4, at: time.Since(began), before: taken}
			items = append(items, x)
			q.AddWith(x, workqueue.AddOptions{Priority: x.priority})
		case 2:
			time.Sleep(time.Duration(rng.IntN(int(aging))))
		case 3:
			if q.Len() > 0 {
				take()
			}
		}
	}
	for q.Len() > 0 {
		take()
	}
	return items
}

// orderBound: x goes before every key that became ready at priority q later than
// t + (q-p)*Aging.
func orderBound(t *testing.T, seed uint64, items []*item, aging time.Duration) {
	for _, x := range items {
		for _, y := range items {
			waited := y.out > x.before // x was ready when y was handed out
			if waited && y.at > x.at+time.Duration(y.priority-x.priority)*aging && y.out < x.out {
				t.Errorf("seed %d: %+v was handed out before %+v", seed, y, x)
			}
		}
	}
}

// shareBound: at most the sum over q of m(q)*T(q) hand-outs happen up to x's.
func shareBound(t *testing.T, seed uint64, items []*item, aging time.Duration) {
	for _, x := range items {
		oldest := map[[2]int]int{} // priority and tenant: keys of rank up to x's
		tenants := map[int]map[int]bool{}
		for _, y := range items {
			waited := y.out > x.before && y.before < x.out // was ready while x was
			if !waited {
				continue
			}
			if tenants[y.priority] == nil {
				tenants[y.priority] = map[int]bool{}
			}
			tenants[y.priority][y.tenant] = true
			if y.rank(aging) <= x.rank(aging) {
				oldest[[2]int{y.priority, y.tenant}]++
			}
		}
		m := map[int]int{}
		for k, n := range oldest {
			m[k[0]] = max(m[k[0]], n)
		}
		bound := 0
		for p, n := range m {
			bound += n * len(tenants[p])
		}
		if waited := x.out - x.before; waited > bound {
			t.Errorf("seed %d: %+v waited for %d hand-outs, bound %d", seed, x, waited, bound)
		}
	}
}
