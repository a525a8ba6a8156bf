package workqueue_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/workqueue"
)

// item is a key that is added once, with the quantities that the bounds relate.
type item struct {
	id       int
	tenant   int
	priority int
	ready    int // keys ready when it was added, itself included
	before   int // hand-outs before it was added
	out      int // number of its hand-out, from 1
}

// waited is the hand-outs from when x was added, up to its own.
func (x *item) waited() int { return x.out - x.before }

// TestBoundsOnWaiting checks the bounds of the package comment, as they are
// written there, on random histories.
func TestBoundsOnWaiting(t *testing.T) {
	for _, seed := range seeds.Of(t, 300) {
		rng := seeds.Stream(seed, 4)
		passOver := 1 + rng.IntN(10)
		items := history(t, rng, passOver, false)
		starvationBound(t, seed, items, passOver)
		urgencyBound(t, seed, items, passOver)
		items = history(t, rng, passOver, true)
		shareBound(t, seed, items, passOver)
		if t.Failed() {
			t.Fatalf("failed with seed %d", seed)
		}
	}
}

// history adds items faster than it takes them, in bursts, and then takes the rest.
func history(t *testing.T, rng *rand.Rand, passOver int, tenants bool) []*item {
	opts := workqueue.Options[*item]{PassOver: passOver}
	if tenants {
		opts.Tenant = func(x *item) string { return strconv.Itoa(x.tenant) }
	}
	q := workqueue.New(opts)
	var items []*item
	taken := 0
	take := func() {
		x := get(t, q)
		taken++
		x.out = taken
		q.Done(x)
	}
	for range 200 {
		if rng.IntN(3) > 0 {
			x := &item{id: len(items), tenant: rng.IntN(1 + rng.IntN(5)), priority: rng.IntN(9) - 4, ready: q.Len() + 1, before: taken}
			items = append(items, x)
			q.AddWith(x, workqueue.AddOptions{Priority: x.priority})
		} else if q.Len() > 0 {
			take()
		}
	}
	for q.Len() > 0 {
		take()
	}
	return items
}

// starvationBound: x is handed out after at most (P+1)*n hand-outs.
func starvationBound(t *testing.T, seed uint64, items []*item, passOver int) {
	for _, x := range items {
		if bound := (passOver + 1) * x.ready; x.waited() > bound {
			t.Errorf("seed %d: %+v waited for %d hand-outs, bound %d", seed, x, x.waited(), bound)
		}
	}
}

// urgencyBound: if u keys as urgent are handed out up to x, there are at most u + (u+P-1)/P hand-outs.
func urgencyBound(t *testing.T, seed uint64, items []*item, passOver int) {
	for _, x := range items {
		u := 0
		for _, y := range items {
			if y.priority >= x.priority && y.out > x.before && y.out <= x.out {
				u++
			}
		}
		if bound := u + (u+passOver-1)/passOver; x.waited() > bound {
			t.Errorf("seed %d: %+v waited for %d hand-outs, bound %d", seed, x, x.waited(), bound)
		}
	}
}

// shareBound: at most P+1 times the sum over q of m(q)*T(q) hand-outs happen up to x's.
func shareBound(t *testing.T, seed uint64, items []*item, passOver int) {
	for _, x := range items {
		older := map[[2]int]int{} // priority and tenant: keys that became ready no later than x
		tenants := map[int]map[int]bool{}
		for _, y := range items {
			meanwhile := y.out > x.before && y.before < x.out // was ready while x was
			if !meanwhile {
				continue
			}
			if tenants[y.priority] == nil {
				tenants[y.priority] = map[int]bool{}
			}
			tenants[y.priority][y.tenant] = true
			if y.id <= x.id {
				older[[2]int{y.priority, y.tenant}]++
			}
		}
		m := map[int]int{}
		for k, n := range older {
			m[k[0]] = max(m[k[0]], n)
		}
		bound := 0
		for p, n := range m {
			bound += (passOver + 1) * n * len(tenants[p])
		}
		if x.waited() > bound {
			t.Errorf("seed %d: %+v waited for %d hand-outs, bound %d", seed, x, x.waited(), bound)
		}
	}
}
