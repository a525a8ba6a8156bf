package flowcontrol_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/flowcontrol"
)

func user(name string, groups ...string) *authn.User {
	return &authn.User{Name: name, Groups: append(groups, authn.GroupAuthenticated)}
}

func get(u *authn.User, resource, namespace string) *authz.Attributes {
	return &authz.Attributes{User: u, Verb: "get", ResourceRequest: true, Resource: resource, Namespace: namespace}
}

func TestClassify(t *testing.T) {
	c := flowcontrol.New(flowcontrol.Options{})
	account := "system:serviceaccount:kube-system:deployment-controller"
	for _, tc := range []struct {
		schema, level string
		a             *authz.Attributes
	}{
		{"exempt", "exempt", get(user("root", authn.GroupMasters), "pods", "x")},
		{"probes", "exempt", &authz.Attributes{User: &authn.User{Name: authn.Anonymous, Groups: []string{authn.GroupUnauthenticated}}, Verb: "get", Path: "/livez"}},
		{"global-default", "global-default", &authz.Attributes{User: user("ann"), Verb: "get", Path: "/version"}},
		{"system-leader-election", "leader-election", &authz.Attributes{User: user("system:kube-scheduler"), Verb: "update", ResourceRequest: true,
			APIGroup: "coordination.k8s.io", Resource: "leases", Namespace: "kube-system", Name: "kube-scheduler"}},
		{"kube-controller-manager", "workload-high", get(user("system:kube-controller-manager"), "endpoints", "a")},
		{"kube-system-service-accounts", "workload-high", get(user("system:serviceaccount:kube-system:x"), "configmaps", "a")},
		{"kube-scheduler", "workload-high", get(user("system:kube-scheduler"), "pods", "a")},
		{"kube-system-service-accounts", "workload-high", get(user(account, authn.GroupServiceAccounts), "pods", "a")},
		{"service-accounts", "workload-low", get(user("system:serviceaccount:app:default", authn.GroupServiceAccounts), "pods", "a")},
		{"system-node-high", "node-high", get(user("system:node:n1", "system:nodes"), "nodes", "")},
		{"system-nodes", "system", get(user("system:node:n1", "system:nodes"), "pods", "a")},
		{"global-default", "global-default", get(user("ann"), "pods", "a")},
		{"catch-all", "catch-all", get(&authn.User{Name: "of no group"}, "pods", "a")},
	} {
		f := c.Classify(tc.a)
		require.Equal(t, tc.schema, f.Schema, "%+v", tc.a)
		require.Equal(t, tc.level, f.Level)
		require.Equal(t, tc.level == "exempt", f.Exempt())
	}
}

// one configures one level for all users, and the mandatory ones, which get few seats.
func one(c *flowcontrol.Controller, seats, queues, hand, longest int32) {
	schemas, levels := flowcontrol.Defaults()
	all := schemas[slices.IndexFunc(schemas, func(f *flowcontrolv1.FlowSchema) bool { return f.Name == "global-default" })]
	all.Spec.PriorityLevelConfiguration.Name = "all"
	l := levels[slices.IndexFunc(levels, func(p *flowcontrolv1.PriorityLevelConfiguration) bool { return p.Name == "global-default" })]
	l.ObjectMeta = metav1.ObjectMeta{Name: "all", UID: "level"}
	l.Spec.Limited.NominalConcurrencyShares = new(int32(1000))
	l.Spec.Limited.LendablePercent = new(int32(0))
	l.Spec.Limited.LimitResponse.Queuing = &flowcontrolv1.QueuingConfiguration{Queues: queues, HandSize: hand, QueueLengthLimit: longest}
	none := &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "catch-all"}, Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
		Type: flowcontrolv1.PriorityLevelEnablementLimited, Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{NominalConcurrencyShares: new(int32(0)),
			LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject}}}}
	c.Configure([]*flowcontrolv1.FlowSchema{all}, []*flowcontrolv1.PriorityLevelConfiguration{l, none})
}

func state(t *testing.T, c *flowcontrol.Controller, level string) flowcontrol.LevelState {
	all := c.Levels()
	i := slices.IndexFunc(all, func(s flowcontrol.LevelState) bool { return s.Name == level })
	require.GreaterOrEqual(t, i, 0)
	return all[i]
}

// A flow that floods the server delays itself, and a single request of another flow hardly waits.
func TestFairness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := flowcontrol.New(flowcontrol.Options{Seats: 2, Wait: time.Hour})
		one(c, 2, 64, 1, 1000)
		flood, polite := c.Classify(get(user("flood"), "pods", "a")), c.Classify(get(user("polite"), "pods", "a"))
		var tasks sync.WaitGroup
		ended := 0
		var mu sync.Mutex
		for range 100 {
			tasks.Go(func() {
				seat, err := c.Acquire(t.Context(), flood, 1)
				require.NoError(t, err)
				time.Sleep(time.Second)
				seat.Release()
				mu.Lock()
				ended++
				mu.Unlock()
			})
		}
		synctest.Wait()
		require.Equal(t, 2, state(t, c, "all").Used)
		require.Equal(t, 98, state(t, c, "all").Waiting)
		begun := time.Now()
		seat, err := c.Acquire(t.Context(), polite, 1)
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(begun), time.Second)
		seat.Release()
		tasks.Wait()
		require.Equal(t, 100, ended)
		require.Zero(t, state(t, c, "all").Used)
	})
}

func TestRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		rejected := map[flowcontrol.Reason]int{}
		c := flowcontrol.New(flowcontrol.Options{Seats: 1, Wait: time.Second, Metrics: flowcontrol.Metrics{
			Rejected: func(_, _ string, r flowcontrol.Reason) { mu.Lock(); rejected[r]++; mu.Unlock() }}})
		one(c, 1, 4, 1, 2)
		f := c.Classify(get(user("ann"), "pods", "a"))
		seat, err := c.Acquire(t.Context(), f, 1)
		require.NoError(t, err)
		var tasks sync.WaitGroup
		for range 2 {
			tasks.Go(func() {
				_, err := c.Acquire(t.Context(), f, 1)
				require.EqualError(t, err, "flowcontrol: rejected: time-out")
			})
		}
		synctest.Wait()
		_, err = c.Acquire(t.Context(), f, 1)
		require.EqualError(t, err, "flowcontrol: rejected: queue-full")
		tasks.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		tasks.Go(func() {
			_, err := c.Acquire(ctx, f, 1)
			require.EqualError(t, err, "flowcontrol: rejected: cancelled")
		})
		synctest.Wait()
		cancel()
		tasks.Wait()
		require.Zero(t, state(t, c, "all").Waiting)

		none := c.Classify(get(&authn.User{Name: "nobody"}, "pods", "a"))
		first, err := c.Acquire(t.Context(), none, 5)
		require.NoError(t, err)
		_, err = c.Acquire(t.Context(), none, 1)
		require.EqualError(t, err, "flowcontrol: rejected: concurrency-limit")
		first.Release()
		first.Release() // twice is no more than once
		seat.Release()
		require.Zero(t, state(t, c, "catch-all").Used)
		require.Equal(t, map[flowcontrol.Reason]int{flowcontrol.TimeOut: 2, flowcontrol.QueueFull: 1, flowcontrol.Cancelled: 1, flowcontrol.ConcurrencyLimit: 1}, rejected)
	})
}

// A busy level borrows seats of others, and guaranteed seats are available at once nevertheless.
func TestBorrowing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := flowcontrol.New(flowcontrol.Options{Seats: 245, Wait: time.Minute}) // as many seats as shares
		busy := c.Classify(get(user("system:serviceaccount:a:b", authn.GroupServiceAccounts), "pods", "a"))
		require.Equal(t, 100, state(t, c, "workload-low").Nominal)
		require.Equal(t, 10, state(t, c, "workload-low").Guaranteed)
		var seatsHeld []*flowcontrol.Seat
		done := make(chan struct{})
		var tasks sync.WaitGroup
		for range 200 {
			tasks.Go(func() {
				seat, err := c.Acquire(t.Context(), busy, 1)
				require.NoError(t, err)
				<-done
				seat.Release()
			})
		}
		synctest.Wait()
		low := state(t, c, "workload-low")
		require.Greater(t, low.Used, low.Nominal)
		require.Equal(t, 200, low.Used+low.Waiting)
		lease := c.Classify(&authz.Attributes{User: user("system:kube-scheduler"), Verb: "update", ResourceRequest: true,
			APIGroup: "coordination.k8s.io", Resource: "leases", Namespace: "kube-system", Name: "x"})
		begun := time.Now()
		for range 10 {
			seat, err := c.Acquire(t.Context(), lease, 1)
			require.NoError(t, err)
			seatsHeld = append(seatsHeld, seat)
		}
		require.Zero(t, time.Since(begun))
		close(done)
		tasks.Wait()
		for _, s := range seatsHeld {
			s.Release()
		}
		for _, l := range c.Levels() {
			require.Zero(t, l.Used, l.Name)
		}
	})
}

// Random requests and configurations: seats are never overbooked, every request ends, and no state is left.
func TestRandom(t *testing.T) {
	for _, seed := range seeds.Of(t, 60) {
		synctest.Test(t, func(t *testing.T) { random(t, seed) })
	}
}

func random(t *testing.T, seed uint64) {
	r := seeds.Rand(seed)
	seats := 1 + r.IntN(40)
	c := flowcontrol.New(flowcontrol.Options{Seats: seats, Wait: 5 * time.Second})
	people := []*authz.Attributes{
		get(user("ann"), "pods", "a"), get(user("bob"), "pods", "b"), get(&authn.User{Name: "x"}, "pods", "a"),
		get(user("system:serviceaccount:a:b", authn.GroupServiceAccounts), "pods", "a"), get(user("system:node:n", "system:nodes"), "pods", "a"),
		get(user("root", authn.GroupMasters), "pods", "a"),
	}
	var tasks sync.WaitGroup
	for range 50 + r.IntN(200) {
		f, n, length := c.Classify(people[r.IntN(len(people))]), 1+r.IntN(4), time.Duration(r.IntN(2000))*time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(10000))*time.Millisecond)
		tasks.Go(func() {
			defer cancel()
			seat, err := c.Acquire(ctx, f, n)
			if err == nil {
				time.Sleep(length)
				seat.Release()
			}
		})
		switch r.IntN(20) {
		case 0:
			one(c, int32(seats), 1+r.Int32N(8), 1+r.Int32N(4), 1+r.Int32N(20))
		case 1:
			c.Configure(flowcontrol.Defaults())
		case 2, 3, 4:
			time.Sleep(time.Duration(r.IntN(500)) * time.Millisecond)
		}
		synctest.Wait()
		nominal := 0
		for _, l := range c.Levels() {
			nominal += l.Nominal
			require.GreaterOrEqual(t, l.Used, 0, "seed %d: %+v", seed, l)
			require.GreaterOrEqual(t, l.Waiting, 0, "seed %d: %+v", seed, l)
		}
	}
	tasks.Wait()
	for _, l := range c.Levels() {
		require.Zero(t, l.Used+l.Waiting, "seed %d: %+v", seed, l)
	}
}

func ExampleController() {
	c := flowcontrol.New(flowcontrol.Options{Seats: 100})
	ann := &authn.User{Name: "ann", Groups: []string{authn.GroupAuthenticated}}
	flow := c.Classify(&authz.Attributes{User: ann, Verb: "list", ResourceRequest: true, Resource: "pods"})
	seat, err := c.Acquire(context.Background(), flow, 1)
	if err != nil {
		fmt.Println("too many requests:", err)
		return
	}
	defer seat.Release()
	fmt.Println(flow.Schema, flow.Level)
	// Output: global-default global-default
}

func BenchmarkAcquire(b *testing.B) {
	c := flowcontrol.New(flowcontrol.Options{})
	a := get(user("ann"), "pods", "a")
	b.ReportAllocs()
	for b.Loop() {
		seat, err := c.Acquire(b.Context(), c.Classify(a), 1)
		if err != nil {
			b.Fatal(err)
		}
		seat.Release()
	}
}

// Hooks report how long a request waited and ran, and the seats it waits for return to zero.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var waits, runs []time.Duration
		var requests, seats, most int
		c := flowcontrol.New(flowcontrol.Options{Seats: 1, Wait: time.Minute, Metrics: flowcontrol.Metrics{
			Waiting: func(_, _ string, n, s int) {
				mu.Lock()
				requests, seats = requests+n, seats+s
				most = max(most, seats)
				mu.Unlock()
			},
			Started: func(_, _ string, s int, waited time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				require.Equal(t, 1, s)
				waits = append(waits, waited)
			},
			Finished: func(_, _ string, watch bool, ran time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				require.False(t, watch)
				runs = append(runs, ran)
			},
		}})
		one(c, 1, 4, 1, 2)
		f := c.Classify(get(user("ann"), "pods", "a"))
		first, err := c.Acquire(t.Context(), f, 1)
		require.NoError(t, err)
		var tasks sync.WaitGroup
		tasks.Go(func() {
			second, err := c.Acquire(t.Context(), f, 1)
			require.NoError(t, err)
			require.Equal(t, 2*time.Second, second.Waited())
			time.Sleep(time.Second)
			second.Release()
		})
		time.Sleep(2 * time.Second)
		first.Release()
		tasks.Wait()
		require.Equal(t, []time.Duration{0, 2 * time.Second}, waits)
		require.Equal(t, []time.Duration{2 * time.Second, time.Second}, runs)
		require.Equal(t, []int{0, 0, 1}, []int{requests, seats, most})
		exempt := c.Classify(get(&authn.User{Name: "root", Groups: []string{authn.GroupMasters}}, "pods", "a"))
		require.True(t, exempt.Exempt())
		seat, err := c.Acquire(t.Context(), exempt, 1)
		require.NoError(t, err)
		seat.Release()
		require.Equal(t, []time.Duration{0, 2 * time.Second, -1}, waits)
	})
}

// Levels are measured over time: how many seats are used and demanded, the demand of the last ten seconds,
// and the virtual times of fair queueing.
func TestUsageOverTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var lengths []int
		kinds := map[bool]int{}
		note := func(f func()) { mu.Lock(); defer mu.Unlock(); f() }
		c := flowcontrol.New(flowcontrol.Options{Seats: 10, Wait: time.Minute, Metrics: flowcontrol.Metrics{
			Queued:      func(_, _ string, length int) { note(func() { lengths = append(lengths, length) }) },
			WaitingKind: func(mutating bool, delta int) { note(func() { kinds[mutating] += delta }) },
		}})
		one(c, 10, 1, 1, 20)
		nominal := state(t, c, "all").Nominal
		require.Equal(t, 10, nominal)
		began := time.Now()
		flow := c.Classify(&authz.Attributes{User: user("ann"), Verb: "update", ResourceRequest: true, Resource: "pods"})
		var running []*flowcontrol.Seat
		for range nominal {
			s, err := c.Acquire(t.Context(), flow, 1)
			require.NoError(t, err)
			running = append(running, s)
		}
		done := make(chan struct{})
		for range nominal { // as many wait
			go func() {
				s, err := c.Acquire(t.Context(), flow, 1)
				if err == nil {
					s.Release()
				}
				done <- struct{}{}
			}()
			synctest.Wait()
		}
		require.Equal(t, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, lengths)
		require.Equal(t, map[bool]int{true: 10}, kinds)
		waits := state(t, c, "all")
		require.Equal(t, waits.Latest, waits.Clock)
		require.Positive(t, waits.Next.Low)
		require.Equal(t, waits.Next.Low, waits.Next.High, "there is one queue")
		require.InDelta(t, waits.Next.Low-0.030, waits.Discounted.Low, 1e-9, "ten seats, of three milliseconds each")
		time.Sleep(4 * time.Second)
		for _, s := range running {
			s.Release()
		}
		for range nominal {
			<-done
		}
		require.Equal(t, map[bool]int{true: 0}, kinds)
		time.Sleep(16 * time.Second) // ten seconds are summed up, and the next ones
		got := state(t, c, "all")
		require.Equal(t, 20*time.Second, time.Since(began))
		total := func(h flowcontrol.Histogram) (sum time.Duration) {
			for _, d := range h.Times {
				sum += d
			}
			return sum
		}
		// Twenty seats are demanded of ten for four seconds, and none for sixteen.
		for name, h := range map[string]flowcontrol.Histogram{"demand": got.DemandedSeats, "seats": got.UsedSeats, "waiting": got.WaitingRequests, "executing": got.ExecutingRequests} {
			require.Equal(t, 20*time.Second, total(h), name)
			require.Equal(t, 16*time.Second, h.Times[0], name)
		}
		require.Equal(t, 4*time.Second, got.DemandedSeats.Times[slices.Index(got.DemandedSeats.Bounds, 2)])
		require.Equal(t, float64(8*time.Second), got.DemandedSeats.Sum)
		require.Equal(t, 4*time.Second, got.UsedSeats.Times[slices.Index(got.UsedSeats.Bounds, 1)])
		require.Equal(t, 4*time.Second, got.WaitingRequests.Times[slices.Index(got.WaitingRequests.Bounds, 0.5)], "ten of twenty places")
		require.Equal(t, 4*time.Second, got.ExecutingRequests.Times[slices.Index(got.ExecutingRequests.Bounds, 1)])
		envelope := 8 + math.Sqrt(20*20*0.4-8*8) // of the first ten seconds
		require.Zero(t, got.Demand.High)
		require.Zero(t, got.Demand.Average)
		require.InDelta(t, envelope*0.977, got.Demand.Smoothed, 1e-9, "it falls slowly")
		time.Sleep(100 * time.Second)
		require.InDelta(t, envelope*math.Pow(0.977, 11), state(t, c, "all").Demand.Smoothed, 1e-9)
		idle := state(t, c, "all")
		require.Equal(t, flowcontrol.Bounds{Low: idle.Clock, High: idle.Clock}, idle.Next, "when the next one would start")
	})
}

// The seats available to a level are what it has and what others lend now.
func TestAvailableSeats(t *testing.T) {
	c := flowcontrol.New(flowcontrol.Options{Seats: 600})
	before := state(t, c, "workload-low")
	require.Greater(t, before.Available, before.Nominal, "others lend")
	flow := c.Classify(get(user("system:serviceaccount:kube-system:x"), "configmaps", "a")) // workload-high
	for range state(t, c, "workload-high").Nominal {
		_, err := c.Acquire(t.Context(), flow, 1)
		require.NoError(t, err)
	}
	after := state(t, c, "workload-low")
	high := state(t, c, "workload-high")
	require.Equal(t, before.Available-(high.Nominal-high.Guaranteed), after.Available, "one of them uses what it would lend")
}
