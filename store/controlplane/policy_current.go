package controlplane

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// ownChangeLimit is how long a request waits for changes of the policy that were made through this server:
// far longer than their watch takes, short enough for users while the store's watches are down.
const ownChangeLimit = 2 * time.Second

// currentRBAC decides by a policy that has every change made through this server before the request came: a
// right is in force, and a deleted one is not, once the request that changed it was answered. Changes made
// through other servers arrive a moment later.
type currentRBAC struct {
	policy *policy
	rbac   *authz.RBAC
}

// Authorize implements authz.Authorizer.
func (c currentRBAC) Authorize(ctx context.Context, a authz.Attributes) (authz.Decision, string, error) {
	c.policy.catchUp(ctx)
	return c.rbac.Authorize(ctx, a)
}

// RulesFor implements authz.RuleResolver.
func (c currentRBAC) RulesFor(ctx context.Context, u *authn.User, namespace string) ([]authz.ResourceRule, []authz.NonResourceRule, bool, error) {
	c.policy.catchUp(ctx)
	return c.rbac.RulesFor(ctx, u, namespace)
}

// catchUp waits until the policy has all changes that were made through this server before the call, for at
// most ownChangeLimit. Changes that did not arrive in time are not waited for again.
func (p *policy) catchUp(ctx context.Context) {
	for _, f := range p.watches() {
		if target := f.written(); !f.has(target) {
			p.waitFor(ctx, f, target)
		}
	}
}

func (p *policy) waitFor(ctx context.Context, f *watchProgress, target int64) {
	ctx, cancel := context.WithTimeout(ctx, ownChangeLimit)
	defer cancel()
	for {
		moved := p.moved.wait()
		if f.has(target) {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			if ctx.Err() == context.DeadlineExceeded {
				raise(&f.abandoned, target)
			}
			return
		}
	}
}

// has reports whether the changes up to a revision are in force, or are not waited for any more.
func (f *watchProgress) has(revision int64) bool {
	return revision <= f.delivered.Load() || revision <= f.abandoned.Load()
}

// arrived records that the changes up to a revision are in force.
func (p *policy) arrived(f *watchProgress, revision int64) {
	raise(&f.delivered, revision)
	p.moved.notify()
}

func raise(v *atomic.Int64, to int64) {
	for have := v.Load(); to > have && !v.CompareAndSwap(have, to); have = v.Load() {
	}
}

// broadcast wakes all who wait. The zero value is ready for use.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{} // nil while no one waits
}

// wait returns a channel that the next notify closes.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
