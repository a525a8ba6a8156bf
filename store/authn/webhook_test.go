package authn_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/store/authn"
)

// reviewer answers reviews of the tokens that the tests use, and counts them.
type reviewer struct {
	t     *testing.T
	calls atomic.Int32
}

func (v *reviewer) review(ctx context.Context, r *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
	v.calls.Add(1)
	require.Equal(v.t, "authentication.k8s.io/v1beta1", r.APIVersion)
	out := *r
	switch r.Spec.Token {
	case "ann":
		out.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "ann", UID: "1", Groups: []string{"dev"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}}
	case "vault":
		out.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "ann"}, Audiences: []string{"vault"}}
	case "nameless":
		out.Status.Authenticated = true
	case "failed":
		out.Status.Error = "no database"
	case "down":
		return nil, errors.New("unreachable")
	case "hangs":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &out, nil
}

func TestWebhook(t *testing.T) {
	inWebhook(t, "results are shared for their TTL", webhookShares)
	inWebhook(t, "audiences", webhookAudiences)
	inWebhook(t, "refusals are cached, errors not", webhookRefuses)
	inWebhook(t, "a caller that does not wait", webhookCallerLeaves)
}

// inWebhook runs a subtest in a bubble, with a webhook of its own.
func inWebhook(t *testing.T, name string, test func(t *testing.T, w *authn.Webhook, v *reviewer)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			v := &reviewer{t: t}
			w, err := authn.NewWebhook(authn.WebhookOptions{Review: v.review, Version: "v1beta1", TTL: time.Minute, Timeout: 5 * time.Second, Audiences: []string{"api"}})
			require.NoError(t, err)
			test(t, w, v)
		})
	})
}

func webhookShares(t *testing.T, w *authn.Webhook, v *reviewer) {
	results := make(chan *authn.Response)
	for range 3 {
		go func() {
			resp, _, _ := w.AuthenticateToken(t.Context(), "ann")
			results <- resp
		}()
	}
	for range 3 {
		require.Equal(t, &authn.Response{User: &authn.User{Name: "ann", UID: "1", Groups: []string{"dev"}, Extra: map[string][]string{"k": {"v"}}}, Audiences: []string{"api"}}, <-results)
	}
	require.EqualValues(t, 1, v.calls.Load(), "requests with one token share a call")
	time.Sleep(time.Minute)
	_, ok, err := w.AuthenticateToken(t.Context(), "ann")
	require.NoError(t, err)
	require.True(t, ok)
	require.EqualValues(t, 2, v.calls.Load(), "the result holds for a minute")
}

func webhookAudiences(t *testing.T, w *authn.Webhook, _ *reviewer) {
	_, ok, err := w.AuthenticateToken(t.Context(), "ann")
	require.NoError(t, err)
	require.True(t, ok)
	_, ok, err = w.AuthenticateToken(authn.WithAudiences(t.Context(), []string{"other"}), "ann")
	require.NoError(t, err)
	require.False(t, ok, "the token is for this server only")
	resp, ok, err := w.AuthenticateToken(authn.WithAudiences(t.Context(), []string{"other", "vault"}), "vault")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"vault"}, resp.Audiences)
	_, ok, err = w.AuthenticateToken(t.Context(), "vault")
	require.NoError(t, err)
	require.False(t, ok, "it is not for this server")
}

func webhookRefuses(t *testing.T, w *authn.Webhook, v *reviewer) {
	for range 2 {
		_, ok, err := w.AuthenticateToken(t.Context(), "unknown")
		require.NoError(t, err)
		require.False(t, ok)
	}
	require.EqualValues(t, 1, v.calls.Load(), "refusals are cached")
	for token, text := range map[string]string{"nameless": "the review has no user name", "failed": "no database", "down": "unreachable", "hangs": "deadline exceeded"} {
		_, ok, err := w.AuthenticateToken(t.Context(), token)
		require.ErrorContains(t, err, "authn: webhook: ")
		require.ErrorContains(t, err, text)
		require.False(t, ok)
	}
	before := v.calls.Load()
	_, _, err := w.AuthenticateToken(t.Context(), "down")
	require.Error(t, err)
	require.EqualValues(t, 1, v.calls.Load()-before, "errors are not cached")
}

func webhookCallerLeaves(t *testing.T, w *authn.Webhook, _ *reviewer) {
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	_, _, err := w.AuthenticateToken(short, "hangs")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, time.Second, time.Since(began))
	time.Sleep(5 * time.Second) // the call ends
}

func TestWebhookOptions(t *testing.T) {
	_, err := authn.NewWebhook(authn.WebhookOptions{})
	require.ErrorContains(t, err, "authn: WebhookOptions.Review is required")
	_, err = authn.NewWebhook(authn.WebhookOptions{Version: "v2", Review: func(context.Context, *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
		return nil, nil
	}})
	require.ErrorContains(t, err, `unsupported authentication webhook version "v2", supported versions are "v1", "v1beta1"`)
}

// Requests are measured by whether the result was in the cache, and calls by outcome.
func TestWebhookMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, seen := &reviewer{t: t}, map[string]int{}
		var mu sync.Mutex
		note := func(what string, n int) {
			mu.Lock()
			defer mu.Unlock()
			seen[what] += n
		}
		read := func() map[string]int {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return maps.Clone(seen)
		}
		w, err := authn.NewWebhook(authn.WebhookOptions{Review: v.review, Version: "v1beta1", TTL: time.Minute, Timeout: 5 * time.Second, Metrics: authn.WebhookMetrics{
			Looked: func(hit bool, elapsed time.Duration) {
				note(fmt.Sprint("hit ", hit), 1)
				note("seconds", int(elapsed/time.Second))
			},
			Waiting: func(delta int) { note("waiting", delta) },
			Calling: func(delta int) { note("calling", delta) },
			Called:  func(err error) { note(fmt.Sprint("good ", err == nil), 1) },
		}})
		require.NoError(t, err)
		for range 3 {
			_, _, _ = w.AuthenticateToken(t.Context(), "ann")
		}
		require.Equal(t, map[string]int{"hit true": 2, "hit false": 1, "seconds": 0, "waiting": 0, "calling": 0, "good true": 1}, read())
		mu.Lock()
		clear(seen)
		mu.Unlock()
		go func() { _, _, _ = w.AuthenticateToken(t.Context(), "hangs") }()
		go func() { _, _, _ = w.AuthenticateToken(t.Context(), "hangs") }()
		require.Equal(t, map[string]int{"waiting": 2, "calling": 1}, read(), "while it hangs")
		time.Sleep(5 * time.Second)
		require.Equal(t, map[string]int{"hit false": 2, "seconds": 10, "waiting": 0, "calling": 0, "good false": 1}, read())
	})
}
