package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/workqueue"
)

func newQueue(opts workqueue.Options[string]) *workqueue.Queue[string] { return workqueue.New(opts) }

// get takes a key that must be there.
func get[K comparable](t *testing.T, q *workqueue.Queue[K]) K {
	t.Helper()
	require.Positive(t, q.Len(), "no key is ready")
	k, err := q.Get(t.Context())
	require.NoError(t, err)
	return k
}

// drain takes and finishes all ready keys.
func drain[K comparable](t *testing.T, q *workqueue.Queue[K]) []K {
	t.Helper()
	var keys []K
	for q.Len() > 0 {
		k := get(t, q)
		keys = append(keys, k)
		q.Done(k)
	}
	return keys
}

// pass advances virtual time and waits for what is due.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestAddWhileQueuedIsOneRun(t *testing.T) {
	q := newQueue(workqueue.Options[string]{})
	for range 100 {
		q.Add("a")
		q.Add("b")
	}
	require.Equal(t, 2, q.Len())
	require.Equal(t, []string{"a", "b"}, drain(t, q))
}

func TestAddWhileProcessingIsOneMoreRun(t *testing.T) {
	q := newQueue(workqueue.Options[string]{})
	q.Add("a")
	require.Equal(t, "a", get(t, q))
	for range 100 {
		q.Add("a")
	}
	require.Zero(t, q.Len(), "not while it is processed")
	q.Done("a")
	require.Equal(t, []string{"a"}, drain(t, q))
	q.Done("a")
	q.Done("never added")
	require.Zero(t, q.Len())
}

func TestNeverTwoWorkersOnOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[int]{})
		var busy [10]atomic.Int32
		var runs atomic.Int32
		var workers sync.WaitGroup
		for range 32 {
			workers.Go(func() {
				for {
					k, err := q.Get(t.Context())
					if err != nil {
						return
					}
					if busy[k].Add(1) != 1 {
						t.Errorf("two workers on %d", k)
					}
					time.Sleep(time.Millisecond)
					runs.Add(1)
					busy[k].Add(-1)
					q.Done(k)
				}
			})
		}
		for i := range 5000 {
			q.Add(i % len(busy))
			if i%7 == 0 {
				time.Sleep(300 * time.Microsecond)
			}
		}
		require.NoError(t, q.ShutDownWithDrain(t.Context()))
		workers.Wait()
		require.Greater(t, runs.Load(), int32(1000))
	})
}

func TestEarliestDeadlineWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(workqueue.Options[string]{})
		defer q.ShutDown()
		began := time.Now()
		q.AddAfter("a", 10*time.Second)
		q.AddAfter("a", time.Second)
		q.AddAfter("a", 5*time.Second)
		require.Zero(t, q.Len())
		k, err := q.Get(t.Context())
		require.NoError(t, err)
		require.Equal(t, "a", k)
		require.Equal(t, time.Second, time.Since(began))
		q.Done(k)
		time.Sleep(time.Hour)
		require.Zero(t, q.Len(), "one run")

		q.AddAfter("now", 0)
		q.AddAfter("now", -time.Second)
		require.Equal(t, []string{"now"}, drain(t, q))
	})
}

func TestADelayIsNotSwallowedByAnAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(workqueue.Options[string]{})
		defer q.ShutDown()
		q.AddAfter("a", time.Minute)
		q.Add("a")
		require.Equal(t, []string{"a"}, drain(t, q))
		q.Add("a")
		q.AddAfter("a", 30*time.Second)
		require.Equal(t, []string{"a"}, drain(t, q))
		pass(30 * time.Second)
		require.Equal(t, []string{"a"}, drain(t, q))
		pass(time.Hour)
		require.Zero(t, q.Len())

		// A deadline that comes while the key is processed means one more run.
		q.Add("a")
		require.Equal(t, "a", get(t, q))
		q.AddAfter("a", time.Second)
		pass(time.Minute)
		require.Zero(t, q.Len())
		q.Done("a")
		require.Equal(t, []string{"a"}, drain(t, q))
	})
}

func TestEqualDeadlinesKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[int]{})
		defer q.ShutDown()
		want := make([]int, 100)
		for i := range want {
			want[i] = i
			q.AddAfter(i, time.Second)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, want, drain(t, q))
	})
}

func TestPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(workqueue.Options[string]{})
		for i := range 10_000 {
			q.AddWith(fmt.Sprint("list-", i), workqueue.AddOptions{Priority: workqueue.LowPriority})
		}
		q.Add("user")
		require.Equal(t, "user", get(t, q))
		q.Done("user")

		q.AddWith("list-9999", workqueue.AddOptions{Priority: 10})
		require.Equal(t, "list-9999", get(t, q), "adding it again at a higher priority moves it forward")
		q.Done("list-9999")
		q.AddWith("list-0", workqueue.AddOptions{Priority: -1000})
		require.Equal(t, "list-0", get(t, q), "a lower priority does not move it back")
		q.Done("list-0")
		require.Equal(t, 9998, q.Len())
		require.Len(t, drain(t, q), 9998)
	})
}

// A user's change goes before an initial list, however long the list is and however long it has waited,
// whatever the rate; and the list makes progress, however many changes come.
func TestChangesGoBeforeTheInitialList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(workqueue.Options[string]{})
		for i := range 10_000 {
			q.AddWith(fmt.Sprint("listed ", i), workqueue.AddOptions{Priority: workqueue.LowPriority})
		}
		time.Sleep(3 * time.Hour) // as on a standby that takes over
		for i := range 100 {
			k := get(t, q)
			require.Equal(t, fmt.Sprint("listed ", 2*i), k)
			q.Done(k)
			time.Sleep(100 * time.Millisecond)
			q.Add("edited")
			k = get(t, q)
			if k != "edited" { // once in eight hand-outs that pass the list over
				q.Done(k)
				k = get(t, q)
			} else {
				other := get(t, q)
				require.Equal(t, fmt.Sprint("listed ", 2*i+1), other)
				q.Done(other)
			}
			require.Equal(t, "edited", k)
			q.Done(k)
		}
	})
	q := newQueue(workqueue.Options[string]{})
	q.AddWith("low", workqueue.AddOptions{Priority: workqueue.LowPriority})
	for n := 1; ; n++ {
		q.Add(fmt.Sprint(n))
		q.Add(fmt.Sprint(n, "b")) // more than the worker does
		k := get(t, q)
		q.Done(k)
		if k == "low" {
			require.Equal(t, workqueue.DefaultPassOver+1, n)
			break
		}
	}
	strict := newQueue(workqueue.Options[string]{PassOver: -1})
	strict.AddWith("low", workqueue.AddOptions{Priority: -1})
	for range 1000 {
		strict.Add("high")
		require.Equal(t, "high", get(t, strict))
		strict.Done("high")
	}
}

func TestTenantsTakeTurns(t *testing.T) {
	q := workqueue.New(workqueue.Options[key]{Tenant: func(k key) string { return k.Namespace }})
	for i := range 1000 {
		q.Add(key{"greedy", fmt.Sprint(i)})
	}
	q.Add(key{"a", "1"})
	q.Add(key{"b", "1"})
	q.Add(key{"a", "2"})
	var order []string
	for range 6 {
		k := get(t, q)
		order = append(order, k.Namespace+k.Name)
		q.Done(k)
	}
	require.Equal(t, []string{"greedy0", "a1", "b1", "greedy1", "a2", "greedy2"}, order)
	require.Len(t, drain(t, q), 997)
}

func TestDebounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(workqueue.Options[string]{Debounce: time.Second})
		defer q.ShutDown()
		for range 10 {
			q.Add("a")
			pass(90 * time.Millisecond)
		}
		require.Zero(t, q.Len())
		pass(100 * time.Millisecond)
		require.Equal(t, []string{"a"}, drain(t, q))
		pass(time.Minute)
		require.Zero(t, q.Len())

		// A key that is added all the time still runs.
		runs := 0
		for range 100 {
			q.Add("a")
			pass(100 * time.Millisecond)
			runs += len(drain(t, q))
		}
		require.InDelta(t, 10, runs, 1)

		pass(time.Minute)
		drain(t, q)
		q.Add("a")
		q.AddAfter("a", time.Minute)
		pass(2 * time.Second)
		require.Equal(t, []string{"a"}, drain(t, q))
		pass(time.Minute)
		require.Equal(t, []string{"a"}, drain(t, q), "the later deadline is not lost in the window")
	})
}

func TestRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(workqueue.Options[string]{})
		defer q.ShutDown()
		wait := func() time.Duration {
			began := time.Now()
			k, err := q.Get(t.Context())
			require.NoError(t, err)
			q.Done(k)
			return time.Since(began)
		}
		for i := range 10 {
			require.Equal(t, i, q.NumRequeues("a"))
			q.AddRateLimited("a")
			require.Equal(t, 5*time.Millisecond<<i, wait())
		}
		q.Forget("a")
		q.AddRateLimited("a")
		require.Equal(t, 5*time.Millisecond, wait())
		q.AddWith("a", workqueue.AddOptions{RateLimited: true, After: time.Minute})
		require.Equal(t, time.Minute, wait())
		require.Equal(t, 2, q.NumRequeues("a"))
	})
}

func TestGetObeysItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(workqueue.Options[string]{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := q.Get(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		q.Add("a")
		_, err = q.Get(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded, "an ended context takes no key")
		require.Equal(t, []string{"a"}, drain(t, q))

	})
}

func TestASignalIsPassedOnByAWaiterThatGaveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(workqueue.Options[string]{})
		worker := func(ctx context.Context) {
			if k, err := q.Get(ctx); err == nil {
				q.Done(k)
			}
		}
		for range 300 {
			ctx, cancel := context.WithCancel(t.Context())
			go worker(t.Context())
			synctest.Wait()
			go worker(ctx) // the one that rested last is signalled first
			synctest.Wait()
			cancel()
			q.Add("a")
			synctest.Wait()
			require.Zero(t, q.Len(), "a key is left although a worker waits")
			q.Add("b")
			synctest.Wait()
			drain(t, q)
		}
		q.ShutDown()
	})
}

func TestIdleWorkersShareABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.New(workqueue.Options[int]{})
		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() {
				for {
					k, err := q.Get(t.Context())
					if err != nil {
						return
					}
					time.Sleep(time.Second)
					q.Done(k)
				}
			})
		}
		synctest.Wait()
		for i := range 16 {
			q.Add(i)
		}
		pass(time.Second)
		require.Equal(t, workqueue.Stats{Processing: 8}, q.Stats())
		pass(time.Second)
		require.Equal(t, workqueue.Stats{}, q.Stats())
		q.ShutDown()
		workers.Wait()
	})
}

func TestShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(workqueue.Options[string]{})
		q.AddAfter("later", time.Hour)
		q.Add("a")
		q.Add("b")
		require.Equal(t, "a", get(t, q))
		q.Add("a")
		q.ShutDown()
		q.Add("c")
		q.AddAfter("d", time.Second)
		q.Done("a")
		require.Equal(t, []string{"b", "a"}, drain(t, q), "ready keys are still handed out")
		_, err := q.Get(t.Context())
		require.ErrorIs(t, err, workqueue.ErrShutDown)
		q.ShutDown()
		require.NoError(t, q.ShutDownWithDrain(t.Context()))
		require.Empty(t, q.Entries())
	})
}

func TestShutDownWakesWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(workqueue.Options[string]{})
		got := make(chan error, 8)
		for range cap(got) {
			go func() { _, err := q.Get(t.Context()); got <- err }()
		}
		synctest.Wait()
		q.ShutDown()
		for range cap(got) {
			require.ErrorIs(t, <-got, workqueue.ErrShutDown)
		}
	})
}

func TestShutDownWithDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(workqueue.Options[string]{})
		q.Add("a")
		q.Add("b")
		require.Equal(t, "a", get(t, q))
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("too slow"))
		defer cancel()
		require.EqualError(t, q.ShutDownWithDrain(ctx), "too slow")
		began := time.Now()
		time.AfterFunc(time.Minute, func() { q.Done("a") })
		time.AfterFunc(2*time.Minute, func() { drain(t, q) })
		require.NoError(t, q.ShutDownWithDrain(t.Context()))
		require.Equal(t, 2*time.Minute, time.Since(began))

		q = newQueue(workqueue.Options[string]{})
		q.Add("a")
		time.AfterFunc(time.Minute, q.ShutDown)
		require.NoError(t, q.ShutDownWithDrain(t.Context()), "ShutDown ends it")
	})
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var adds, retries int
		depth := map[int]int{}
		var queued, worked []time.Duration
		q := newQueue(workqueue.Options[string]{Metrics: &workqueue.Metrics{
			Depth:         func(p, d int) { depth[p] += d },
			Adds:          func() { adds++ },
			Retries:       func() { retries++ },
			QueueDuration: func(d time.Duration) { queued = append(queued, d) },
			WorkDuration:  func(d time.Duration) { worked = append(worked, d) },
		}})
		q.Add("a")
		q.Add("a")
		q.AddWith("b", workqueue.AddOptions{Priority: -5})
		q.AddWith("b", workqueue.AddOptions{Priority: 7})
		require.Equal(t, map[int]int{0: 1, -5: 0, 7: 1}, depth)
		time.Sleep(time.Second)
		require.Equal(t, "b", get(t, q))
		require.Equal(t, "a", get(t, q))
		require.Equal(t, map[int]int{0: 0, -5: 0, 7: 0}, depth)
		q.Add("a")
		time.Sleep(3 * time.Second)
		s := q.Stats()
		require.Equal(t, 6*time.Second, s.UnfinishedWork)
		require.Equal(t, 3*time.Second, s.LongestRunning)
		require.Equal(t, 2, s.Processing)
		q.Done("a")
		q.Done("b")
		require.Equal(t, 1, depth[0])
		require.Equal(t, []string{"a"}, drain(t, q))
		q.AddAfter("c", time.Minute)
		require.Equal(t, 1, q.Stats().Waiting)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, depth[0])
		require.Equal(t, 4, adds)
		require.Equal(t, 1, retries)
		time.Sleep(time.Second)
		require.Equal(t, time.Second, q.Stats().OldestReady)
		drain(t, q)
		require.Equal(t, []time.Duration{time.Second, time.Second, 3 * time.Second, time.Second}, queued)
		require.Equal(t, []time.Duration{3 * time.Second, 3 * time.Second, 0, 0}, worked)
		q.ShutDown()
	})
}

func TestEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(workqueue.Options[string]{Tenant: func(k string) string { return k[:1] }, Metrics: &workqueue.Metrics{}})
		q.AddWith("a1", workqueue.AddOptions{Cause: "first"})
		q.AddWith("a1", workqueue.AddOptions{Cause: "second", Priority: 3})
		q.AddWith("b1", workqueue.AddOptions{Cause: "list", Priority: -100})
		q.AddWith("c1", workqueue.AddOptions{Cause: "retry", After: time.Minute, Priority: 1})
		q.AddRateLimited("d1")
		require.Equal(t, "a1", get(t, q))
		q.AddWith("a1", workqueue.AddOptions{Cause: "again", Priority: 2})
		time.Sleep(2 * time.Millisecond)
		const ms = time.Millisecond
		require.Equal(t, []workqueue.Entry[string]{
			{Key: "a1", State: workqueue.Processing, Priority: 2, Tenant: "a", Cause: "again", Age: 2 * ms, Again: true},
			{Key: "b1", State: workqueue.Ready, Priority: -100, Tenant: "b", Cause: "list", Age: 2 * ms},
			{Key: "d1", State: workqueue.Waiting, Tenant: "d", Age: 2 * ms, Delay: 3 * ms, Requeues: 1},
			{Key: "c1", State: workqueue.Waiting, Priority: 1, Tenant: "c", Cause: "retry", Age: 2 * ms, Delay: time.Minute - 2*ms},
		}, q.Entries())
		e, ok := q.Entry("b1")
		require.True(t, ok)
		require.Equal(t, "list", e.Cause)
		_, ok = q.Entry("x")
		require.False(t, ok)
		q.Done("a1")
		drain(t, q)
		q.ShutDown()
		require.Empty(t, q.Entries())
	})
}

func TestSeededOrder(t *testing.T) {
	order := func(seed uint64, tenants bool) []int {
		opts := workqueue.Options[int]{Seed: seed}
		if tenants {
			opts.Tenant = func(k int) string { return fmt.Sprint(k % 5) }
		}
		q := workqueue.New(opts)
		for i := range 200 {
			q.Add(i)
		}
		return drain(t, q)
	}
	for _, tenants := range []bool{false, true} {
		first := order(1, tenants)
		require.Equal(t, first, order(1, tenants))
		require.NotEqual(t, first, order(2, tenants))
		require.False(t, slices.IsSorted(first))
		slices.Sort(first)
		require.Len(t, slices.Compact(first), 200, "every key once")
	}
}

// stack is a custom order: last in, first out.
type stack struct {
	keys    []string
	touched []string
}

func (s *stack) Push(k string)  { s.keys = append(s.keys, k) }
func (s *stack) Touch(k string) { s.touched = append(s.touched, k) }
func (s *stack) Len() int       { return len(s.keys) }
func (s *stack) Pop() string {
	k := s.keys[len(s.keys)-1]
	s.keys = s.keys[:len(s.keys)-1]
	return k
}

func TestOrderOfTheUser(t *testing.T) {
	s := &stack{}
	q := newQueue(workqueue.Options[string]{Order: s})
	for _, k := range []string{"a", "b", "c", "a"} {
		q.Add(k)
	}
	require.Equal(t, 3, q.Len())
	require.Len(t, q.Entries(), 3)
	require.Equal(t, []string{"a"}, s.touched)
	require.Equal(t, "c", get(t, q))
	q.Add("c")
	require.Equal(t, "b", get(t, q))
	q.Done("c")
	require.Equal(t, []string{"c", "a"}, drain(t, q))
	s.Push("invented")
	require.Panics(t, func() { _, _ = q.Get(t.Context()) })
	require.Zero(t, q.Len(), "and the queue is not locked")
}

func TestMemoryIsGivenBack(t *testing.T) {
	q := workqueue.New(workqueue.Options[int]{})
	for round := range 3 {
		for i := range 100_000 {
			q.Add(i)
		}
		require.Equal(t, 100_000, q.Len())
		require.Len(t, drain(t, q), 100_000, "round %d", round)
	}
	require.Empty(t, q.Entries())
}
