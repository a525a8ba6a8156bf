package leaselock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
)

// lagging is a connection whose requests take a random time to reach the server.
type lagging struct {
	client.Conn
	delay func() time.Duration
}

func (l lagging) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	time.Sleep(l.delay())
	return l.Conn.Do(ctx, r)
}

// TestFencedHistories lets leaders that are suspended at random, and whose writes are under way for longer
// than any lease lasts, write even after their context has ended: the server must accept no write of a term
// after one of a later term, and refuse none of the current term.
func TestFencedHistories(t *testing.T) {
	for _, seed := range seeds.Of(t, 40) {
		serve(t, func(t *testing.T, connect func() *rest.Conn) { fencedHistory(t, seed, connect) })
		if t.Failed() {
			t.Fatalf("failed with seed %d", seed)
		}
	}
}

// draws is a generator that several goroutines may use.
type draws struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (d *draws) upTo(most time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.rng.Int64N(int64(most)))
}

func (d *draws) oneIn(n int) bool { return d.upTo(time.Duration(n)) == 0 }

func fencedHistory(t *testing.T, seed uint64, connect func() *rest.Conn) {
	watched := client.For[*corev1.ConfigMap](connect())
	first, err := watched.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: target.Name}})
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	var terms []int
	var watching, running sync.WaitGroup
	watching.Go(func() {
		for e, err := range watched.Watch(ctx, client.WatchOptions{Namespace: target.Namespace, ResourceVersion: first.ResourceVersion}) {
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
				return
			}
			if text, ok := e.Object.Data["term"]; ok {
				n, _ := strconv.Atoi(text)
				terms = append(terms, n)
			}
		}
	})
	for i := range 3 {
		// Its own, so that others do not change what it draws.
		dice := &draws{rng: seeds.Rand(seed + uint64(i)<<40)}
		// The elector waits beside what it leads, so its waits follow from the time.
		ctx := backoff.WithJitter(ctx, func() float64 {
			return rand.New(rand.NewPCG(seed+uint64(i)<<40, uint64(time.Now().UnixNano()))).Float64()
		})
		link, data := &paused{Conn: connect()}, connect()
		maps := client.For[*corev1.ConfigMap](lagging{data, func() time.Duration {
			if dice.oneIn(6) {
				return dice.upTo(40 * time.Second)
			}
			return dice.upTo(100 * time.Millisecond)
		}})
		running.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond) // of two at the same instant, either may be first
			for n := 0; ctx.Err() == nil; n++ {
				link.on.Store(false)
				e, err := leaderelection.New(leaselock.New(link, key, leaselock.Options{}), leaderelection.Options{Identity: fmt.Sprintf("%d-%d", i, n), DrainTimeout: -1})
				if err != nil {
					t.Error(err)
					return
				}
				_ = e.Run(ctx, func(led context.Context) error {
					defer link.on.Store(false)
					return zombie(ctx, led, dice, link, maps, func(err error) { t.Errorf("seed %d: %s: %v", seed, e.Identity(), err) })
				})
			}
		})
	}
	time.Sleep(90 * time.Second)
	end()
	running.Wait()
	watching.Wait()
	require.IsNonDecreasing(t, terms, "seed %d", seed)
	require.NotEmpty(t, terms, "seed %d: hardly anything was written", seed)
}

// zombie writes until it is refused, or for a while. It ignores the end of its led context, and is suspended
// at random.
func zombie(ctx, led context.Context, dice *draws, link *paused, maps *client.Client[*corev1.ConfigMap], fail func(error)) error {
	token, ok := fence.FromContext(led)
	if !ok {
		fail(fmt.Errorf("no token"))
	}
	for k := 0; k < 12 && ctx.Err() == nil; k++ {
		if dice.oneIn(5) {
			link.on.Store(true)
		}
		_, err := client.Update(context.WithoutCancel(led), maps, target, func(m *corev1.ConfigMap) error {
			m.Data = map[string]string{"term": fmt.Sprint(token.Transitions), "write": fmt.Sprint(k)}
			return nil
		})
		switch {
		case apierrors.IsFenced(err):
			if led.Err() == nil {
				fail(fmt.Errorf("refused while it led: %w", err))
			}
			return nil
		case err != nil && !apierrors.IsConflict(err):
			fail(err)
			return err
		}
		time.Sleep(dice.upTo(3 * time.Second))
	}
	return nil
}
