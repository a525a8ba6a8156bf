package kubeconfig

import (
	"context"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/client/rest"
)

// expiryMargin is how long before its expiry a credential is replaced.
const expiryMargin = 10 * time.Second

// credentialCache is a rest.CredentialSource that fetches a credential once for all callers.
type credentialCache struct {
	// fetch returns a new credential and its expiry, zero if it has none.
	fetch func(ctx context.Context, rejected bool) (*rest.Credential, time.Time, error)

	mu      sync.Mutex
	cred    *rest.Credential
	expires time.Time
	flight  chan struct{}
}

// Credential implements rest.CredentialSource.
func (c *credentialCache) Credential(ctx context.Context, rejected *rest.Credential) (*rest.Credential, error) {
	for {
		c.mu.Lock()
		if c.cred != nil && c.cred != rejected && (c.expires.IsZero() || time.Until(c.expires) > expiryMargin) {
			cred := c.cred
			c.mu.Unlock()
			return cred, nil
		}
		if wait := c.flight; wait != nil {
			c.mu.Unlock()
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		done := make(chan struct{})
		c.flight = done
		c.mu.Unlock()
		cred, expires, err := c.fetch(ctx, rejected != nil)
		c.mu.Lock()
		if err == nil {
			c.cred, c.expires = cred, expires
		}
		c.flight = nil
		c.mu.Unlock()
		close(done)
		return cred, err
	}
}
