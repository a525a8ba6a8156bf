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
	leaseMaxLate = 60 * time.Second // how long after its TTL a key may expire
	leaseMaxTTLs = 64               // different TTLs remembered
)

// leases grants leases that many keys share: a lease lives a little longer (5 %, at most a minute) than the
// TTL it was granted for, and all keys with the same TTL share it until that surplus is used up.
type leases struct {
	client  *clientv3.Client
	granted func(keys int) // Options.LeaseGranted

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
	start := time.Now() // before the request, so that the lease ends no earlier than computed
	resp, err := l.client.Grant(ctx, seconds+surplus)
	if err != nil {
		return 0, err
	}
	keys := 1
	if surplus > 0 {
		keys += l.remember(seconds, &lease{id: resp.ID, expires: start.Add(time.Duration(resp.TTL) * time.Second), keys: 1})
	}
	if l.granted != nil {
		l.granted(keys)
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

// remember keeps a lease for the next keys, and returns how many keys the one before it has.
func (l *leases) remember(seconds int64, fresh *lease) (before int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.byTTL[seconds]; known != nil {
		before = known.keys
	}
	if len(l.byTTL) >= leaseMaxTTLs {
		clear(l.byTTL)
	}
	l.byTTL[seconds] = fresh
	return before
}

// forget drops all leases, so that every following key gets a new one.
func (l *leases) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.byTTL)
}
