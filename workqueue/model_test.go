package workqueue_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/workqueue"
)

// model is a naive implementation of the queue: slices, searched linearly. It uses neither locks nor
// goroutines.
type model struct {
	passOver int
	passed   int
	tenants  bool
	debounce time.Duration

	now     time.Duration
	ready   []*run // oldest first
	turns   map[int][]string
	busy    []int
	again   map[int]*run
	waiting map[int]*waiting
	seq     int
}

type run struct{ key, priority int }

type waiting struct {
	at, bounce time.Duration // 0: none
	seq        int
	priority   int
}

func (m *model) tenant(k int) string {
	if !m.tenants {
		return ""
	}
	return strconv.Itoa(k % 3)
}

func (m *model) add(k, priority int, delay time.Duration, debounced bool) {
	_, again := m.again[k]
	if debounced && m.debounce > 0 && m.find(k) == nil && !again {
		m.delay(k, priority, m.debounce, true)
		return
	}
	if delay > 0 {
		m.delay(k, priority, delay, false)
		return
	}
	m.addNow(k, priority)
}

func (m *model) delay(k, priority int, d time.Duration, bounce bool) {
	w := m.waiting[k]
	if w == nil {
		w = &waiting{priority: priority}
		m.waiting[k] = w
	}
	w.priority = max(w.priority, priority)
	before := w.due()
	if at := m.now + d; bounce && (w.bounce == 0 || at < w.bounce) {
		w.bounce = at
	} else if !bounce && (w.at == 0 || at < w.at) {
		w.at = at
	}
	if w.due() != before {
		m.seq++
		w.seq = m.seq
	}
}

func (w *waiting) due() time.Duration {
	switch {
	case w.at == 0:
		return w.bounce
	case w.bounce == 0:
		return w.at
	}
	return min(w.at, w.bounce)
}

func (m *model) find(k int) *run {
	for _, r := range m.ready {
		if r.key == k {
			return r
		}
	}
	return nil
}

func (m *model) addNow(k, priority int) {
	if r := m.find(k); r != nil {
		if priority > r.priority {
			m.remove(r)
			m.enter(k, priority)
		}
		return
	}
	if slices.Contains(m.busy, k) {
		if r := m.again[k]; r != nil {
			r.priority = max(r.priority, priority)
		} else {
			m.again[k] = &run{key: k, priority: priority}
		}
		return
	}
	m.enter(k, priority)
}

func (m *model) enter(k, priority int) {
	m.ready = append(m.ready, &run{key: k, priority: priority})
	if t := m.tenant(k); !slices.Contains(m.turns[priority], t) {
		m.turns[priority] = append(m.turns[priority], t)
	}
}

// remove takes r out, and its tenant out of the round if that was its last.
func (m *model) remove(r *run) {
	m.ready = slices.DeleteFunc(m.ready, func(o *run) bool { return o == r })
	t := m.tenant(r.key)
	for _, o := range m.ready {
		if o.priority == r.priority && m.tenant(o.key) == t {
			return
		}
	}
	m.turns[r.priority] = slices.DeleteFunc(m.turns[r.priority], func(o string) bool { return o == t })
}

// get hands out the next key: of the highest priority, or that of the oldest run if it was passed over often
// enough, the tenant whose turn it is, its oldest run.
func (m *model) get() int {
	p := m.ready[0].priority
	for _, r := range m.ready {
		p = max(p, r.priority)
	}
	if oldest := m.ready[0].priority; p != oldest && m.passOver >= 0 {
		if m.passed++; m.passed > m.passOver {
			p, m.passed = oldest, 0
		}
	}
	t := m.turns[p][0]
	for _, r := range m.ready {
		if r.priority == p && m.tenant(r.key) == t {
			m.remove(r)
			if len(m.turns[p]) > 0 && m.turns[p][0] == t {
				m.turns[p] = append(m.turns[p][1:], t)
			}
			m.busy = append(m.busy, r.key)
			return r.key
		}
	}
	panic("a tenant without a run")
}

func (m *model) done(k int) {
	m.busy = slices.DeleteFunc(m.busy, func(o int) bool { return o == k })
	if r := m.again[k]; r != nil {
		delete(m.again, k)
		m.enter(k, r.priority)
	}
}

// sleep advances the time by d.
func (m *model) sleep(d time.Duration) {
	end := m.now + d
	for {
		key, first := -1, (*waiting)(nil)
		for k, w := range m.waiting {
			if w.due() <= end && (first == nil || w.due() < first.due() || w.due() == first.due() && w.seq < first.seq) {
				key, first = k, w
			}
		}
		if first == nil {
			m.now = end
			return
		}
		m.now = first.due()
		if first.at == m.now {
			first.at = 0
		}
		if first.bounce == m.now {
			first.bounce = 0
		}
		if first.due() == 0 {
			delete(m.waiting, key)
		} else {
			m.seq++
			first.seq = m.seq
		}
		m.addNow(key, first.priority)
	}
}

// TestModel compares the queue with the model on random histories on virtual
// time: the same key must come out at every Get.
func TestModel(t *testing.T) {
	for _, seed := range seeds.Of(t, 2000) {
		synctest.Test(t, func(t *testing.T) { compare(t, seed) })
		if t.Failed() {
			t.Fatalf("failed with seed %d", seed)
		}
	}
}

func compare(t *testing.T, seed uint64) {
	rng := seeds.Stream(seed, 2)
	m := &model{
		passOver: []int{-1, 1, 2, workqueue.DefaultPassOver}[rng.IntN(4)],
		tenants:  rng.IntN(2) == 0,
		debounce: []time.Duration{0, 0, 50 * time.Millisecond}[rng.IntN(3)],
		turns:    map[int][]string{}, again: map[int]*run{}, waiting: map[int]*waiting{},
	}
	opts := workqueue.Options[int]{PassOver: m.passOver, Debounce: m.debounce}
	if m.tenants {
		opts.Tenant = m.tenant
	}
	q := workqueue.New(opts)
	keys := 1 + rng.IntN(30)
	var trace []string
	for range 200 {
		k := rng.IntN(keys)
		op := ""
		switch rng.IntN(10) {
		case 0, 1, 2, 3:
			p := []int{0, 0, -100, 5, rng.IntN(20) - 10, -3000, 1000, rng.IntN(2001) - 1000}[rng.IntN(8)]
			op = fmt.Sprintf("add %d priority %d", k, p)
			q.AddWith(k, workqueue.AddOptions{Priority: p})
			m.add(k, max(p, -workqueue.MaxPriority), 0, true)
		case 4:
			d := time.Duration(rng.IntN(200)) * time.Millisecond
			op = fmt.Sprintf("add %d after %v", k, d)
			q.AddAfter(k, d)
			m.add(k, 0, d, false)
		case 5, 6:
			d := time.Duration(rng.IntN(100)) * time.Millisecond
			op = fmt.Sprintf("sleep %v", d)
			time.Sleep(d)
			synctest.Wait()
			m.sleep(d)
		case 7, 8:
			if len(m.ready) > 0 {
				want := m.get()
				got := get(t, q)
				op = fmt.Sprintf("get %d", got)
				if got != want {
					t.Errorf("seed %d: got %d, want %d, after %v", seed, got, want, trace)
					return
				}
			}
		case 9:
			if len(m.busy) > 0 {
				k := m.busy[rng.IntN(len(m.busy))]
				op = fmt.Sprintf("done %d", k)
				q.Done(k)
				m.done(k)
			}
		}
		if op != "" {
			trace = append(trace, op)
		}
		if q.Len() != len(m.ready) {
			t.Errorf("seed %d: %d keys ready, want %d, after %v", seed, q.Len(), len(m.ready), trace)
			return
		}
		if s := q.Stats(); s.Processing != len(m.busy) || s.Waiting != len(m.waiting) {
			t.Errorf("seed %d: %+v, want %d and %d, after %v", seed, s, len(m.busy), len(m.waiting), trace)
			return
		}
	}
	q.ShutDown()
}

// TestNoLostWakeUp runs random workers and adders: in the end every key was processed after its last add, and
// never by two workers at once.
func TestNoLostWakeUp(t *testing.T) {
	for _, seed := range seeds.Of(t, 500) {
		synctest.Test(t, func(t *testing.T) { stress(t, seed) })
		if t.Failed() {
			t.Fatalf("failed with seed %d", seed)
		}
	}
}

func stress(t *testing.T, seed uint64) {
	rng := seeds.Stream(seed, 3)
	opts := workqueue.Options[int]{Seed: seed * uint64(rng.IntN(2))}
	if rng.IntN(2) == 0 {
		opts.Tenant = func(k int) string { return strconv.Itoa(k % 4) }
	}
	if rng.IntN(3) == 0 {
		opts.Debounce = time.Duration(rng.IntN(20)) * time.Millisecond
	}
	q := workqueue.New(opts)
	const keys = 8
	var said, seen [keys]atomic.Int64
	var busy [keys]atomic.Int32
	var workers, adders sync.WaitGroup
	for w := range 1 + rng.IntN(6) {
		own := seeds.Stream(seed, uint64(100+w))
		workers.Go(func() {
			for {
				k, err := q.Get(t.Context())
				if err != nil {
					return
				}
				if busy[k].Add(1) != 1 {
					t.Errorf("seed %d: two workers on %d", seed, k)
				}
				version := said[k].Load()
				time.Sleep(time.Duration(own.IntN(3000)) * time.Microsecond)
				busy[k].Add(-1)
				seen[k].Store(version)
				if own.IntN(5) == 0 {
					q.AddRateLimited(k)
				} else {
					q.Forget(k)
				}
				q.Done(k)
			}
		})
	}
	for a := range 3 {
		own := seeds.Stream(seed, uint64(200+a))
		adders.Go(func() {
			for range 60 {
				k := own.IntN(keys)
				said[k].Add(1)
				q.AddWith(k, workqueue.AddOptions{
					Priority: own.IntN(7) - 3,
					After:    time.Duration(max(0, own.IntN(40)-20)) * time.Millisecond,
				})
				time.Sleep(time.Duration(own.IntN(2000)) * time.Microsecond)
			}
		})
	}
	adders.Wait()
	time.Sleep(time.Hour)
	for k := range keys {
		if said[k].Load() != seen[k].Load() {
			t.Errorf("seed %d: key %d was last seen at %d of %d adds", seed, k, seen[k].Load(), said[k].Load())
		}
	}
	if err := q.ShutDownWithDrain(t.Context()); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	workers.Wait()
}
