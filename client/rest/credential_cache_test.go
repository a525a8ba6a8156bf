package rest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/client/rest"
)

// fetcher fetches numbered tokens, each in a second, which are to be renewed after a minute and end after
// two.
type fetcher struct {
	mu      sync.Mutex
	fetched int
	err     error
}

func (f *fetcher) fetch(ctx context.Context, _ *rest.Credential) (rest.Fetched, error) {
	f.mu.Lock()
	f.fetched++
	n, err := f.fetched, f.err
	f.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return rest.Fetched{}, ctx.Err()
	}
	if err != nil {
		return rest.Fetched{}, err
	}
	now := time.Now()
	return rest.Fetched{Credential: &rest.Credential{Token: fmt.Sprint(n)}, RenewAt: now.Add(time.Minute), Expires: now.Add(2 * time.Minute)}, nil
}

func (f *fetcher) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// together returns the tokens or errors that ten concurrent callers get, and how often each.
func together(source rest.CredentialSource, rejected *rest.Credential) map[string]int {
	var mu sync.Mutex
	got := map[string]int{}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			c, err := source.Credential(context.Background(), rejected)
			text := fmt.Sprint(err)
			if err == nil {
				text = c.Token
			}
			mu.Lock()
			defer mu.Unlock()
			got[text]++
		})
	}
	all.Wait()
	return got
}

// Callers that need a credential at the same time share one call and its result.
func TestCachedCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{}
		source := rest.CacheCredentials(f.fetch)
		require.Equal(t, map[string]int{"1": 10}, together(source, nil))
		first, err := source.Credential(t.Context(), nil)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.Equal(t, map[string]int{"1": 9, "2": 1}, together(source, nil), "who does not renew it does not wait")
		require.Equal(t, map[string]int{"2": 10}, together(source, first), "the refused one was replaced before")
		second, err := source.Credential(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, map[string]int{"3": 10}, together(source, second))
		f.fail(errors.New("no"))
		third, err := source.Credential(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, map[string]int{"no": 10}, together(source, third), "a refused one does not serve until it ends")
		require.Equal(t, 4, f.fetched)
		time.Sleep(2 * time.Minute)
		require.Equal(t, map[string]int{"no": 10}, together(source, nil))
		require.Equal(t, 5, f.fetched)
	})
}

// A credential serves until it ends while it cannot be renewed, which is tried every ten seconds.
func TestFailedRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{}
		source := rest.CacheCredentials(f.fetch)
		require.Equal(t, map[string]int{"1": 10}, together(source, nil))
		f.fail(errors.New("no"))
		time.Sleep(time.Minute)
		for range 20 {
			require.Equal(t, map[string]int{"1": 10}, together(source, nil))
			time.Sleep(time.Second)
		}
		require.Equal(t, 3, f.fetched)
		time.Sleep(time.Minute)
		require.Equal(t, map[string]int{"no": 10}, together(source, nil))
		f.fail(nil)
		require.Equal(t, map[string]int{"5": 10}, together(source, nil))
	})
}

// The others do not fail with a request that ends while it fetches.
func TestAbandonedFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{}
		source := rest.CacheCredentials(f.fetch)
		short, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			_, err := source.Credential(short, nil)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
		synctest.Wait()
		require.Equal(t, map[string]int{"2": 10}, together(source, nil))
		all.Wait()
		require.Equal(t, 2, f.fetched)
	})
}
