package leaselock_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
)

var target = types.NamespacedName{Namespace: "default", Name: "target"}

// paused is the connection of a leader's lock whose machine is suspended: the elector cannot renew, and the
// work does not notice that time passes.
type paused struct {
	client.Conn
	on atomic.Bool
}

func (p *paused) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	if p.on.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return p.Conn.Do(ctx, r)
}

// TestAReplacedLeaderCannotWrite is the promise of fencing: work that continues after its lease was taken,
// because it was suspended or ignores its context, has its writes refused once the next leader has the lease.
func TestAReplacedLeaderCannotWrite(t *testing.T) {
	serve(t, func(t *testing.T, connect func() *rest.Conn) {
		conn := connect()
		maps := client.For[*corev1.ConfigMap](conn)
		write := func(ctx context.Context, who string) error {
			_, err := client.Update(ctx, maps, target, func(m *corev1.ConfigMap) error {
				m.Data = map[string]string{"writer": who}
				return nil
			})
			return err
		}
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: target.Name},
		})
		require.NoError(t, err)

		link := &paused{Conn: connect()}
		old, err := leaderelection.New(leaselock.New(link, key, leaselock.Options{}), leaderelection.Options{Identity: "old"})
		require.NoError(t, err)
		started := make(chan context.Context)
		wake := make(chan struct{})
		oldDone := make(chan error, 1)
		go func() {
			oldDone <- old.Run(t.Context(), func(ctx context.Context) error {
				started <- context.WithoutCancel(ctx) // it does not notice that its context ends
				<-wake
				return nil
			})
		}()
		stale := <-started
		require.True(t, old.Fenced())
		require.NoError(t, write(stale, "old"))
		link.on.Store(true)

		next, err := leaderelection.New(leaselock.New(connect(), key, leaselock.Options{}), leaderelection.Options{Identity: "next"})
		require.NoError(t, err)
		require.NoError(t, next.Run(t.Context(), func(ctx context.Context) error {
			require.NoError(t, write(ctx, "next"))
			err := write(stale, "old")
			require.True(t, apierrors.IsFenced(err), "%v", err)
			err = maps.Delete(stale, target)
			require.True(t, apierrors.IsFenced(err), "%v", err)
			_, err = maps.Create(stale, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "new"}})
			require.True(t, apierrors.IsFenced(err), "%v", err)
			_, err = maps.Patch(stale, target, client.Patch{Type: types.MergePatchType, Data: []byte(`{"data":{"writer":"old"}}`)})
			require.True(t, apierrors.IsFenced(err), "%v", err)
			_, err = maps.Get(stale, target)
			require.NoError(t, err, "reads are not fenced")
			return nil
		}))
		m, err := maps.Get(t.Context(), target)
		require.NoError(t, err)
		require.Equal(t, "next", m.Data["writer"])
		err = write(stale, "old")
		require.True(t, apierrors.IsFenced(err), "also when the lease is free: %v", err)
		close(wake)
		require.ErrorIs(t, <-oldDone, leaderelection.ErrLost)
	})
}

// TestWritesOfTwoLeadersNeverMix lets many leaders write as fast as they can,
// each ignoring the end of its term: in the history of the object the terms must
// be in order.
func TestWritesOfTwoLeadersNeverMix(t *testing.T) {
	serve(t, func(t *testing.T, connect func() *rest.Conn) {
		maps := client.For[*corev1.ConfigMap](connect())
		first, err := maps.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: target.Name},
		})
		require.NoError(t, err)

		ctx, end := context.WithCancel(t.Context())
		var terms []int32
		var watching, running sync.WaitGroup
		watching.Go(func() {
			o := client.WatchOptions{Namespace: target.Namespace, ResourceVersion: first.ResourceVersion}
			for e, err := range maps.Watch(ctx, o) {
				if err != nil {
					t.Error(err)
					return
				}
				if text, ok := e.Object.Data["term"]; ok {
					n, _ := strconv.Atoi(text)
					terms = append(terms, int32(n))
				}
			}
		})
		var refused atomic.Int32
		for i := range 4 {
			link := &paused{Conn: connect()}
			running.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					link.on.Store(false)
					e, err := leaderelection.New(leaselock.New(link, key, leaselock.Options{}), leaderelection.Options{
						Identity: fmt.Sprintf("%d-%d", i, n), DrainTimeout: -1,
					})
					if err != nil {
						t.Error(err)
						return
					}
					_ = e.Run(ctx, func(led context.Context) error {
						token, _ := fence.FromContext(led)
						zombie := context.WithoutCancel(led)
						for k := 0; ctx.Err() == nil; k++ {
							if k == 20 {
								link.on.Store(true)
							}
							_, err := client.Update(zombie, maps, target, func(m *corev1.ConfigMap) error {
								m.Data = map[string]string{"term": fmt.Sprint(token.Transitions), "write": fmt.Sprint(k)}
								return nil
							})
							switch {
							case apierrors.IsFenced(err):
								refused.Add(1)
								return nil
							case err != nil && !apierrors.IsConflict(err):
								t.Error(err)
								return err
							}
							time.Sleep(100 * time.Millisecond)
						}
						return nil
					})
				}
			})
		}
		time.Sleep(10 * time.Minute)
		end()
		running.Wait()
		watching.Wait()
		require.Greater(t, refused.Load(), int32(10))
		require.IsNonDecreasing(t, terms)
		require.Greater(t, terms[len(terms)-1], int32(10))
	})
}
