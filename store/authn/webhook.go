package authn

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/internal/reviews"
)

// ReviewFunc sends a TokenReview to a server and returns it with its status. ctx bounds it.
type ReviewFunc func(ctx context.Context, r *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error)

// WebhookOptions configure a Webhook.
type WebhookOptions struct {
	// Review calls the server. Required.
	Review ReviewFunc
	// Version is that of the reviews: v1, for which empty stands, or v1beta1.
	Version string
	// TTL is how long results are cached, but not errors; zero means not at all.
	TTL time.Duration
	// Timeout bounds a call; zero means 30 seconds. A call that fails with 429, 500, 504, a time to try again
	// or a lost connection is repeated up to four times, over four seconds.
	Timeout time.Duration
	// Audiences are those of this server. They are sent with a token for which a caller requires none, and
	// hold for a token about whose audiences the server says nothing.
	Audiences []string
	// Metrics are called as tokens are looked up and reviewed.
	Metrics WebhookMetrics
}

// WebhookMetrics are hooks for measurements, which must be fast and safe for concurrent use. Nil functions
// are skipped.
type WebhookMetrics struct {
	// Looked is called when a token has been authenticated or not: hit says that the result was in the cache,
	// without a call.
	Looked func(hit bool, elapsed time.Duration)
	// Waiting is called with +1 and -1 as requests begin and cease to wait for a call, Calling as calls begin
	// and end.
	Waiting, Calling func(delta int)
	// Called is called when a call has ended.
	Called func(err error)
}

// Webhook is a token authenticator that lets a server decide, by TokenReviews. Concurrent requests with the
// same token share a call.
type Webhook struct {
	opts WebhookOptions
	seal [32]byte // the key of the cache's keys, which are no tokens

	mu    sync.Mutex
	cache map[tokenKey]*tokenReview
}

// tokenKey is the keyed hash of a token and the audiences that are required of it.
type tokenKey [sha256.Size]byte

// tokenReview is a call, and when done is closed its result.
type tokenReview struct {
	done   chan struct{}
	status authenticationv1.TokenReviewStatus
	err    error
	until  time.Time // zero while the call runs
}

// maxCachedTokens bounds the results in the cache.
const maxCachedTokens = 32 << 10

// NewWebhook returns a Webhook.
func NewWebhook(opts WebhookOptions) (*Webhook, error) {
	if opts.Review == nil {
		return nil, errors.New("authn: WebhookOptions.Review is required")
	}
	switch opts.Version {
	case "":
		opts.Version = "v1"
	case "v1", "v1beta1":
	default:
		return nil, fmt.Errorf("authn: unsupported authentication webhook version %q, supported versions are %q, %q", opts.Version, "v1", "v1beta1")
	}
	if opts.Timeout == 0 {
		opts.Timeout = 30 * time.Second
	}
	w := &Webhook{opts: opts, cache: map[tokenKey]*tokenReview{}}
	_, _ = rand.Read(w.seal[:]) // never fails
	return w, nil
}

// AuthenticateToken implements TokenAuthenticator.
func (w *Webhook) AuthenticateToken(ctx context.Context, token string) (*Response, bool, error) {
	audiences := AudiencesFrom(ctx)
	if len(audiences) == 0 {
		audiences = w.opts.Audiences
	}
	r, err := w.review(ctx, token, audiences)
	if err != nil {
		return nil, false, err
	}
	switch s := &r.status; {
	case r.err != nil:
		return nil, false, fmt.Errorf("authn: webhook: %w", r.err)
	case !s.Authenticated && s.Error != "":
		return nil, false, fmt.Errorf("authn: webhook: %s", s.Error)
	case !s.Authenticated:
		return nil, false, nil
	case s.User.Username == "":
		return nil, false, errors.New("authn: webhook: the review has no user name")
	}
	held := r.status.Audiences
	if len(held) == 0 {
		held = w.opts.Audiences
	}
	held = slices.DeleteFunc(slices.Clone(audiences), func(a string) bool { return !slices.Contains(held, a) })
	if len(audiences) > 0 && len(held) == 0 {
		return nil, false, nil
	}
	return &Response{User: reviewedUser(&r.status.User), Audiences: held}, true, nil
}

func reviewedUser(info *authenticationv1.UserInfo) *User {
	u := &User{Name: info.Username, UID: info.UID, Groups: slices.Clone(info.Groups)}
	for k, v := range info.Extra {
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		u.Extra[k] = slices.Clone(v)
	}
	return u
}

// review returns the result for a token, from the cache or of a call that it waits for.
func (w *Webhook) review(ctx context.Context, token string, audiences []string) (*tokenReview, error) {
	hit, from := true, time.Now()
	if looked := w.opts.Metrics.Looked; looked != nil {
		defer func() { looked(hit, time.Since(from)) }()
	}
	r, started := w.begin(ctx, token, audiences)
	select {
	case <-r.done:
		if !started { // a call may be done at once
			return r, nil
		}
	default:
	}
	hit = false
	if waiting := w.opts.Metrics.Waiting; waiting != nil {
		waiting(1)
		defer waiting(-1)
	}
	select {
	case <-r.done:
		return r, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// begin returns the review of a token that is cached or runs, or starts one. That is not bound to ctx's end,
// because others may wait for it.
func (w *Webhook) begin(ctx context.Context, token string, audiences []string) (r *tokenReview, started bool) {
	key := w.key(token, audiences)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if r := w.cache[key]; r != nil && (r.until.IsZero() || now.Before(r.until)) {
		return r, false
	}
	if len(w.cache) >= maxCachedTokens {
		maps.DeleteFunc(w.cache, func(_ tokenKey, r *tokenReview) bool { return !r.until.IsZero() && now.After(r.until) })
		if len(w.cache) >= maxCachedTokens {
			clear(w.cache)
		}
	}
	r = &tokenReview{done: make(chan struct{})}
	w.cache[key] = r
	ctx = context.WithoutCancel(ctx)
	go w.call(ctx, key, r, token, audiences)
	return r, true
}

// call sends the review and caches its result.
func (w *Webhook) call(ctx context.Context, key tokenKey, r *tokenReview, token string, audiences []string) {
	defer close(r.done)
	if calling := w.opts.Metrics.Calling; calling != nil {
		calling(1)
		defer calling(-1)
	}
	out, err := reviews.Send(ctx, w.opts.Timeout, func(ctx context.Context) (*authenticationv1.TokenReview, error) {
		return w.opts.Review(ctx, &authenticationv1.TokenReview{TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/" + w.opts.Version, Kind: "TokenReview"},
			Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}})
	})
	if called := w.opts.Metrics.Called; called != nil {
		called(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.until = time.Now().Add(w.opts.TTL)
	if r.err = err; err == nil {
		r.status = out.Status
	}
	if (err != nil || r.status.Error != "" || w.opts.TTL <= 0) && w.cache[key] == r {
		delete(w.cache, key)
	}
}

func (w *Webhook) key(token string, audiences []string) (key tokenKey) {
	h := hmac.New(sha256.New, w.seal[:])
	add := func(text string) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		h.Write(size[:])
		h.Write([]byte(text))
	}
	add(token)
	for _, a := range audiences {
		add(a)
	}
	h.Sum(key[:0])
	return key
}
