package rest

import (
	"context"
	"sync"
	"time"
)

// renewalRetry is the time between attempts to renew a credential that still serves.
const renewalRetry = 10 * time.Second

// Fetched is a credential with the times of its life.
type Fetched struct {
	Credential *Credential
	// RenewAt is when the next one is fetched; zero means Expires.
	RenewAt time.Time
	// Expires is when it serves no longer; zero means never.
	Expires time.Time
}

// serves reports whether requests may be made with f. rejected is the credential that the server has refused.
func (f *Fetched) serves(rejected *Credential, now time.Time) bool {
	return f.Credential != nil && f.Credential != rejected && (f.Expires.IsZero() || now.Before(f.Expires))
}

// fresh reports whether it is too early to renew f.
func (f *Fetched) fresh(now time.Time) bool { return f.RenewAt.IsZero() || now.Before(f.RenewAt) }

// CacheCredentials returns a source that calls fetch when it has no credential, when its credential is to be
// renewed and when the server has refused that one, which fetch is then called with. There is one call at a
// time: requests that need its result wait for it and share its error, and the others go on with the
// credential that still serves, as they do for another 10 s after a renewal has failed. A call has the
// context of the first request that needs it; if that request ends early, the next one makes its own call.
func CacheCredentials(fetch func(ctx context.Context, rejected *Credential) (Fetched, error)) CredentialSource {
	return &credentialCache{fetch: fetch}
}

// credentialCache is the source that CacheCredentials returns.
type credentialCache struct {
	fetch func(ctx context.Context, rejected *Credential) (Fetched, error)

	mu   sync.Mutex
	have Fetched
	call *credentialCall // in progress, or nil
}

// credentialCall is a call of fetch. All fields but done are written before done is closed.
type credentialCall struct {
	done       chan struct{}
	credential *Credential
	err        error
	abandoned  bool // the request that made it has ended
}

// Credential implements CredentialSource.
func (c *credentialCache) Credential(ctx context.Context, rejected *Credential) (*Credential, error) {
	for {
		c.mu.Lock()
		now, call := time.Now(), c.call
		if have := c.have; have.serves(rejected, now) && (call != nil || have.fresh(now)) {
			c.mu.Unlock()
			return have.Credential, nil
		}
		if call == nil {
			call = &credentialCall{done: make(chan struct{})}
			c.call = call
			c.mu.Unlock()
			c.run(ctx, call, rejected)
			return call.credential, call.err
		}
		c.mu.Unlock()
		select {
		case <-call.done:
			if !call.abandoned && (call.err != nil || call.credential != rejected) {
				return call.credential, call.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// run fetches a credential for all that wait for call.
func (c *credentialCache) run(ctx context.Context, call *credentialCall, rejected *Credential) {
	next, err := c.fetch(ctx, rejected)
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		if next.RenewAt.IsZero() {
			next.RenewAt = next.Expires
		}
		c.have, call.credential = next, next.Credential
	case c.have.serves(rejected, now):
		c.have.RenewAt, call.credential = now.Add(renewalRetry), c.have.Credential
	default:
		call.err, call.abandoned = err, ctx.Err() != nil
	}
	c.call = nil
	close(call.done)
}
