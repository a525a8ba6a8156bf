package leaderelection_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/locktest"
)

func newElector(t *testing.T, lock leaderelection.Lock, opts leaderelection.Options) *leaderelection.Elector {
	t.Helper()
	e, err := leaderelection.New(lock, opts)
	require.NoError(t, err)
	return e
}

// candidate is an elector that runs in the background.
type candidate struct {
	*leaderelection.Elector
	stop    context.CancelFunc
	led     chan time.Time // when lead was called
	result  chan error
	drain   time.Duration // how long lead takes to return
	leading atomic.Bool
}

func start(t *testing.T, lock leaderelection.Lock, opts leaderelection.Options, drain time.Duration) *candidate {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &candidate{
		Elector: newElector(t, lock, opts), stop: cancel, drain: drain,
		led: make(chan time.Time, 16), result: make(chan error, 1),
	}
	go func() { c.result <- c.Run(ctx, c.lead) }()
	return c
}

func (c *candidate) lead(ctx context.Context) error {
	c.leading.Store(true)
	c.led <- time.Now()
	<-ctx.Done()
	time.Sleep(c.drain)
	c.leading.Store(false)
	return nil
}

func TestOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		opts  leaderelection.Options
		field string
	}{
		{leaderelection.Options{LeaseDuration: 10 * time.Second}, "LeaseDuration"},
		{leaderelection.Options{RenewDeadline: 20 * time.Second}, "LeaseDuration"},
		{leaderelection.Options{RetryPeriod: 9 * time.Second}, "RenewDeadline"},
		{leaderelection.Options{RenewDeadline: 2400 * time.Millisecond}, "RenewDeadline"},
		{leaderelection.Options{LeaseDuration: -1}, "LeaseDuration"},
		{leaderelection.Options{RenewDeadline: -1}, "RenewDeadline"},
		{leaderelection.Options{RetryPeriod: -1}, "RetryPeriod"},
	} {
		_, err := leaderelection.New(locktest.NewStore("ns", "x").Lock(), c.opts)
		var bad *leaderelection.OptionError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, c.field, bad.Field)
		require.ErrorContains(t, err, c.field)
	}
	e := newElector(t, locktest.NewStore("ns", "x").Lock(), leaderelection.Options{})
	require.NotEqual(t, e.Identity(), newElector(t, locktest.NewStore("ns", "x").Lock(), leaderelection.Options{}).Identity())
}

func TestOneLeadsTheOtherWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := locktest.NewStore("ns", "x")
		var seen []string
		a := start(t, store.Lock(), leaderelection.Options{Identity: "a"}, 0)
		<-a.led
		b := start(t, store.Lock(), leaderelection.Options{
			Identity: "b", OnNewLeader: func(id string) { seen = append(seen, id) },
		}, 0)
		time.Sleep(time.Hour)
		require.True(t, a.IsLeader())
		require.False(t, b.IsLeader())
		require.Empty(t, b.led)
		require.Equal(t, "a", b.Leader())
		require.Equal(t, []string{"a"}, seen)
		r, _ := store.Record()
		require.Equal(t, "a", r.HolderIdentity)
		require.Equal(t, 15*time.Second, r.LeaseDuration)
		require.Zero(t, r.LeaderTransitions)
		require.Less(t, time.Since(r.RenewTime), 2*time.Second)

		a.stop()
		require.NoError(t, <-a.result)
		<-b.led
		r, _ = store.Record()
		require.Equal(t, "b", r.HolderIdentity)
		require.Equal(t, int32(1), r.LeaderTransitions)
		require.Equal(t, []string{"a", "b"}, seen)
		b.stop()
		require.NoError(t, <-b.result)
		r, _ = store.Record()
		require.Empty(t, r.HolderIdentity)
		require.Equal(t, time.Second, r.LeaseDuration)
	})
}

func TestHandOverIsQuick(t *testing.T) {
	for name, c := range map[string]struct {
		watch bool
		limit time.Duration
	}{
		"notified by a watch": {true, 10 * time.Millisecond},
		"polling":             {false, leaderelection.DefaultRetryPeriod},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := locktest.NewStore("ns", "x")
				lock := func() leaderelection.Lock {
					if c.watch {
						return locktest.Watched{Lock: store.Lock()}
					}
					return store.Lock()
				}
				a := start(t, lock(), leaderelection.Options{Identity: "a"}, 3*time.Second)
				<-a.led
				b := start(t, lock(), leaderelection.Options{Identity: "b"}, 0)
				time.Sleep(time.Minute)
				a.stop()
				time.Sleep(3*time.Second - 1)
				require.True(t, a.leading.Load())
				require.Empty(t, b.led, "the lease is kept until the work has returned")
				released := time.Now()
				require.LessOrEqual(t, (<-b.led).Sub(released), c.limit)
				require.False(t, a.leading.Load())
				b.stop()
				require.NoError(t, <-a.result)
				require.NoError(t, <-b.result)
			})
		})
	}
}

func TestDrainingRenewsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := locktest.NewStore("ns", "x")
		a := start(t, store.Lock(), leaderelection.Options{Identity: "a", DrainTimeout: -1}, 10*time.Minute)
		<-a.led
		b := start(t, store.Lock(), leaderelection.Options{Identity: "b"}, 0)
		a.stop()
		time.Sleep(9 * time.Minute)
		require.Empty(t, b.led)
		require.False(t, a.IsLeader(), "its context has ended")
		require.NoError(t, a.Healthy(0))
		<-b.led
		require.False(t, a.leading.Load())
		require.NoError(t, <-a.result)
		b.stop()
		require.NoError(t, <-b.result)
	})
}

func TestWorkThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := locktest.NewStore("ns", "x")
		a := start(t, store.Lock(), leaderelection.Options{Identity: "a"}, 100*time.Second)
		<-a.led
		a.stop()
		began := time.Now()
		require.ErrorIs(t, <-a.result, leaderelection.ErrNotDrained)
		require.Equal(t, 30*time.Second, time.Since(began))
		r, _ := store.Record()
		require.Equal(t, "a", r.HolderIdentity, "not released")
		require.Error(t, a.Run(t.Context(), a.lead), "the old work may still run")
		require.NoError(t, a.Healthy(0))
		time.Sleep(20 * time.Second)
		require.ErrorContains(t, a.Healthy(0), "ns/x")
		require.NoError(t, a.Healthy(time.Minute))
		time.Sleep(time.Minute)
	})
}

func TestTakeOverAfterDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := locktest.NewStore("ns", "x")
		var dead atomic.Bool
		lock := store.Lock()
		lock.Fault = func(string) locktest.Fault { return locktest.Fault{Drop: dead.Load()} }
		a := start(t, lock, leaderelection.Options{Identity: "a"}, 0)
		<-a.led
		b := start(t, locktest.Watched{Lock: store.Lock()}, leaderelection.Options{Identity: "b"}, 0)
		time.Sleep(time.Minute)
		dead.Store(true)
		died := time.Now()
		err := <-a.result
		require.ErrorIs(t, err, leaderelection.ErrLost)
		require.LessOrEqual(t, time.Since(died), 10*time.Second+5*time.Second, "work ended at the deadline, release gave up")
		took := (<-b.led).Sub(died)
		require.LessOrEqual(t, took, 15*time.Second+100*time.Millisecond)
		require.Greater(t, took, 10*time.Second)
		r, _ := store.Record()
		require.Equal(t, int32(1), r.LeaderTransitions)
		b.stop()
		require.NoError(t, <-b.result)
	})
}

func TestErrorsWithinTheDeadlineAreSurvived(t *testing.T) {
	for name, fault := range map[string]locktest.Fault{
		"dropped":      {Drop: true},
		"answer lost":  {Lose: true},
		"stalled":      {Before: time.Hour},
		"landing late": {Before: 7 * time.Second, Late: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := locktest.NewStore("ns", "x")
				lock := store.Lock()
				var bad atomic.Bool
				lock.Fault = func(string) locktest.Fault {
					if bad.Load() {
						return fault
					}
					return locktest.Fault{}
				}
				slow := 0
				a := start(t, lock, leaderelection.Options{Identity: "a", Metrics: leaderelection.Metrics{
					SlowPath: func() { slow++ },
				}}, 0)
				<-a.led
				for range 20 {
					time.Sleep(30 * time.Second)
					bad.Store(true)
					time.Sleep(4 * time.Second)
					bad.Store(false)
				}
				time.Sleep(time.Minute)
				require.True(t, a.IsLeader())
				r, _ := store.Record()
				require.Zero(t, r.LeaderTransitions)
				if fault.Lose {
					require.Positive(t, slow)
				}
				a.stop()
				require.NoError(t, <-a.result)
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestDeadlineHoldsEvenIfTheLockHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := locktest.NewStore("ns", "x")
		hang := hanging{Lock: store.Lock(), release: make(chan struct{})}
		e := newElector(t, &hang, leaderelection.Options{})
		var renewed time.Time
		err := e.Run(t.Context(), func(ctx context.Context) error {
			time.Sleep(7 * time.Second)
			r, _ := store.Record()
			renewed = r.RenewTime
			hang.on.Store(true)
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), leaderelection.ErrLost)
			require.InDelta(t, 10, time.Since(renewed).Seconds(), 0.001)
			require.False(t, e.IsLeader())
			close(hang.release)
			return errors.New("interrupted")
		})
		require.ErrorIs(t, err, leaderelection.ErrLost)
		require.ErrorContains(t, err, "interrupted")
	})
}

// hanging ignores contexts once it is on.
type hanging struct {
	*locktest.Lock
	on      atomic.Bool
	release chan struct{}
}

func (h *hanging) Update(ctx context.Context, r leaderelection.Record) (leaderelection.Record, error) {
	if h.on.Load() {
		<-h.release
	}
	return h.Lock.Update(ctx, r)
}

func TestSkewDoesNotShortenTheWait(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := locktest.NewStore("ns", "x")
			lock := store.Lock()
			lock.Skew = skew
			a := start(t, lock, leaderelection.Options{Identity: "a"}, 0)
			<-a.led
			b := start(t, store.Lock(), leaderelection.Options{Identity: "b"}, 0)
			time.Sleep(10 * time.Minute)
			require.True(t, a.IsLeader())
			require.Empty(t, b.led)
			a.stop()
			b.stop()
			require.NoError(t, <-a.result)
			require.NoError(t, <-b.result)
		})
	}
}

func TestLosingToAnother(t *testing.T) {
	for name, take := range map[string]func(r *leaderelection.Record){
		"another holder":               func(r *leaderelection.Record) { r.HolderIdentity = "intruder" },
		"its own name, another term":   func(r *leaderelection.Record) { r.LeaderTransitions++ },
		"its own name, acquired later": func(r *leaderelection.Record) { r.AcquireTime = r.AcquireTime.Add(time.Second) },
		"nobody":                       func(r *leaderelection.Record) { r.HolderIdentity = "" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := locktest.NewStore("ns", "x")
				a := start(t, store.Lock(), leaderelection.Options{Identity: "a"}, 0)
				<-a.led
				intruder := store.Lock()
				r, err := intruder.Get(t.Context())
				require.NoError(t, err)
				take(&r)
				r, err = intruder.Update(t.Context(), r)
				require.NoError(t, err)
				began := time.Now()
				err = <-a.result
				require.ErrorIs(t, err, leaderelection.ErrLost)
				require.ErrorContains(t, err, r.HolderIdentity)
				require.LessOrEqual(t, time.Since(began), 2*time.Second)
				require.Equal(t, r.HolderIdentity, a.Leader())
				now, _ := store.Record()
				require.Equal(t, r, now, "not released: it is not ours")
			})
		})
	}
}

func TestAChangeOfMetadataIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := locktest.NewStore("ns", "x")
		a := start(t, store.Lock(), leaderelection.Options{Identity: "a"}, 0)
		<-a.led
		for range 10 {
			time.Sleep(time.Second)
			store.Touch()
		}
		time.Sleep(time.Minute)
		require.True(t, a.IsLeader())
		a.stop()
		require.NoError(t, <-a.result)
		r, _ := store.Record()
		require.Empty(t, r.HolderIdentity)
	})
}

func TestADeletedLeaseIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := locktest.NewStore("ns", "x")
		a := start(t, store.Lock(), leaderelection.Options{Identity: "a"}, 0)
		<-a.led
		store.Delete()
		time.Sleep(3 * time.Second)
		require.True(t, a.IsLeader())
		r, ok := store.Record()
		require.True(t, ok)
		require.Equal(t, "a", r.HolderIdentity)
		a.stop()
		require.NoError(t, <-a.result)
	})
}

func TestEqualIdentitiesAreDifferentCandidates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := locktest.NewStore("ns", "x")
		a := start(t, store.Lock(), leaderelection.Options{Identity: "same"}, 0)
		<-a.led
		b := start(t, store.Lock(), leaderelection.Options{Identity: "same"}, 0)
		time.Sleep(time.Minute)
		require.Empty(t, b.led)
		a.stop()
		<-b.led
		r, _ := store.Record()
		require.Equal(t, int32(1), r.LeaderTransitions, "another term, so that tokens differ")
		b.stop()
		require.NoError(t, <-a.result)
		require.NoError(t, <-b.result)
	})
}

func TestLedContextCarriesTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := locktest.NewStore("ns", "x")
		lock := store.Lock()
		lock.Enforced = true
		var events []string
		lock.Events = func(m string) { events = append(events, m) }
		var status []bool
		e := newElector(t, lock, leaderelection.Options{Identity: "me", Metrics: leaderelection.Metrics{
			Status: func(on bool) { status = append(status, on) },
		}})
		require.True(t, e.Fenced())
		for term := range int32(3) {
			err := e.Run(t.Context(), func(ctx context.Context) error {
				token, ok := fence.FromContext(ctx)
				require.True(t, ok)
				require.Equal(t, fence.Token{
					Lease: types.NamespacedName{Namespace: "ns", Name: "x"}, Holder: "me", Transitions: term,
				}, token)
				return nil
			})
			require.NoError(t, err)
		}
		require.Equal(t, []bool{false, true, false, false, true, false, false, true, false}, status)
		require.Equal(t, []string{
			"me became leader", "me stopped leading", "me became leader", "me stopped leading", "me became leader", "me stopped leading",
		}, events)
	})
}

// TestTheEndOfLeadingIsReported: also where lead returns at the end of its context during a renewal.
func TestTheEndOfLeadingIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := locktest.NewStore("ns", "x").Lock()
		lock.Fault = func(op string) locktest.Fault {
			if op == "update" {
				return locktest.Fault{Before: time.Second}
			}
			return locktest.Fault{}
		}
		var status []bool
		e := newElector(t, lock, leaderelection.Options{RetryPeriod: 2 * time.Second, Metrics: leaderelection.Metrics{
			Status: func(on bool) { status = append(status, on) },
		}})
		for range 50 {
			status = nil
			ctx, stop := context.WithCancel(t.Context())
			require.NoError(t, e.Run(ctx, func(led context.Context) error {
				time.Sleep(2500 * time.Millisecond) // a renewal has begun, after 1.6 to 2 s, and takes 1 s
				stop()
				return nil
			}))
			require.Equal(t, []bool{false, true, false}, status)
		}
	})
}

func TestRunReturnsWhatLeadReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := locktest.NewStore("ns", "x")
		e := newElector(t, store.Lock(), leaderelection.Options{})
		broken := errors.New("broken")
		require.ErrorIs(t, e.Run(t.Context(), func(context.Context) error { return broken }), broken)
		r, _ := store.Record()
		require.Empty(t, r.HolderIdentity, "released at once")

		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, e.Run(ctx, func(led context.Context) error {
			cancel()
			<-led.Done()
			return led.Err()
		}), "the end of ctx is no error")
		require.NoError(t, e.Run(ctx, func(context.Context) error { panic("ctx has ended") }))
	})
}

func TestWarmComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := locktest.NewStore("ns", "x")
		a := start(t, store.Lock(), leaderelection.Options{Identity: "a", Warm: func(context.Context) error {
			time.Sleep(time.Minute)
			return nil
		}}, 0)
		b := start(t, store.Lock(), leaderelection.Options{Identity: "b"}, 0)
		time.Sleep(50 * time.Second)
		require.Empty(t, a.led, "not warm")
		require.Equal(t, "b", a.Leader(), "it watches the lease meanwhile")
		time.Sleep(time.Minute)
		b.stop()
		<-a.led
		a.stop()
		require.NoError(t, <-a.result)
		require.NoError(t, <-b.result)

		broken := errors.New("no cache")
		c := newElector(t, store.Lock(), leaderelection.Options{Warm: func(context.Context) error { return broken }})
		require.ErrorIs(t, c.Run(t.Context(), a.lead), broken)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		d := newElector(t, store.Lock(), leaderelection.Options{Warm: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		require.NoError(t, d.Run(ctx, a.lead))
	})
}

// lateContext has no error yet at the instant of its end, as for a goroutine that asks right before.
type lateContext func() context.Context

func (c lateContext) Deadline() (time.Time, bool) { return c().Deadline() }
func (c lateContext) Done() <-chan struct{}       { return c().Done() }
func (c lateContext) Value(key any) any           { return c().Value(key) }
func (c lateContext) Err() error {
	if end, _ := c.Deadline(); !time.Now().After(end) {
		return nil
	}
	return c().Err()
}

// The end of its context is no failure of Warm, whenever the elector notices it.
func TestTheEndIsNoFailureOfWarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		e := newElector(t, locktest.NewStore("ns", "x").Lock(), leaderelection.Options{Warm: func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return context.Cause(ctx)
		}})
		require.NoError(t, e.Run(lateContext(func() context.Context { return ctx }), func(context.Context) error { panic("ctx has ended") }))
	})
}

func TestALeaseWonWithoutAnswer(t *testing.T) {
	t.Run("is kept", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := locktest.NewStore("ns", "x")
			lock := store.Lock()
			first := true
			lock.Fault = func(op string) locktest.Fault {
				lose := first && op == "create"
				first = first && !lose
				return locktest.Fault{Lose: lose}
			}
			a := start(t, lock, leaderelection.Options{Identity: "a"}, 0)
			began := time.Now()
			require.LessOrEqual(t, (<-a.led).Sub(began), 2*time.Second)
			r, _ := store.Record()
			require.Zero(t, r.LeaderTransitions)
			a.stop()
			require.NoError(t, <-a.result)
		})
	})
	t.Run("is released when ctx ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := locktest.NewStore("ns", "x")
			lock := store.Lock()
			lock.Fault = func(op string) locktest.Fault { return locktest.Fault{Lose: op == "create"} }
			a := start(t, lock, leaderelection.Options{Identity: "a"}, 0)
			time.Sleep(time.Second)
			r, _ := store.Record()
			require.Equal(t, "a", r.HolderIdentity)
			a.stop()
			require.NoError(t, <-a.result)
			r, _ = store.Record()
			require.Empty(t, r.HolderIdentity)
		})
	})
}

// TestSince: what is read at that version or later has all writes of the leaders before.
func TestSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := locktest.NewStore("ns", "x")
		a := start(t, store.Lock(), leaderelection.Options{Identity: "a"}, 0)
		<-a.led
		require.Empty(t, a.Since(), "there was no leader before")
		time.Sleep(time.Minute)
		a.stop()
		require.NoError(t, <-a.result)
		released, _ := store.Record()
		require.Empty(t, released.HolderIdentity)
		var dead atomic.Bool
		lock := store.Lock()
		lock.Fault = func(string) locktest.Fault { return locktest.Fault{Drop: dead.Load()} }
		b := start(t, lock, leaderelection.Options{Identity: "b"}, 0)
		<-b.led
		require.Equal(t, released.Version, b.Since(), "the leader before wrote nothing after it released the lease")
		dead.Store(true)
		again := start(t, store.Lock(), leaderelection.Options{Identity: "b"}, 0)
		<-again.led
		taken, _ := store.Record()
		require.Equal(t, taken.Version, again.Since(), "the one before may have written until then, whatever its name")
		require.ErrorIs(t, <-b.result, leaderelection.ErrLost)
		again.stop()
		require.NoError(t, <-again.result)
	})
}

func TestMemoryLock(t *testing.T) {
	locktest.Test(t, func(*testing.T) (a, b leaderelection.Lock) {
		store := locktest.NewStore("ns", "x")
		return locktest.Watched{Lock: store.Lock()}, locktest.Watched{Lock: store.Lock()}
	})
}
