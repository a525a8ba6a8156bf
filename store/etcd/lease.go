package etcd

import (
	"context"
	"math"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	leaseMaxKeys = 1000             // per lease: revoking one deletes them all in one transaction
	leaseMaxLate = 60 * time.Second // how much later than asked a key may go
	leaseMaxTTLs = 64               // different TTLs remembered
)

// leases hands out leases that many keys share: a lease lives a little longer (5 %, at most
// a minute) than was asked for and serves everyone who asks for the same TTL until
// that surplus is used up.
type leases struct {
	client *clientv3.Client

	mu    sync.Mutex
	byTTL map[int64]*lease
}

type lease struct {
	id      clientv3.LeaseID
	expires time.Time
	keys    int
}

// get returns a lease that ends no earlier than ttl from now.
func (l *leases) get(ctx context.Context, ttl time.Duration) (clientv3.LeaseID, error) {
	seconds := int64(math.Ceil(ttl.Seconds()))
	if id, ok := l.reuse(seconds, ttl); ok {
		return id, nil
	}
	surplus := min(int64(float64(seconds)*0.05), int64(leaseMaxLate/time.Second))
	begun := time.Now() // before the request: the lease ends no earlier than this says
	resp, err := l.client.Grant(ctx, seconds+surplus)
	if err != nil {
		return 0, err
	}
	if surplus > 0 {
		l.remember(seconds, &lease{id: resp.ID, expires: begun.Add(time.Duration(resp.TTL) * time.Second), keys: 1})
	}
	return resp.ID, nil
}

func (l *leases) reuse(seconds int64, ttl time.Duration) (clientv3.LeaseID, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.byTTL[seconds]
	if known == nil || known.keys >= leaseMaxKeys || time.Until(known.expires) < ttl {
		return 0, false
	}
	known.keys++
	return known.id, true
}

func (l *leases) remember(seconds int64, fresh *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.byTTL) >= leaseMaxTTLs {
		clear(l.byTTL)
	}
	l.byTTL[seconds] = fresh
}

// forget makes every following key take a new lease.
func (l *leases) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.byTTL)
}
