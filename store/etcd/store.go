// Package etcd implements package store over an etcd cluster, with the layout of upstream Kubernetes: the
// Store's key "/pods/ns/name" is etcd's "/registry/pods/ns/name".
//
// Every write is one etcd transaction on mod revisions, guards included, so that any number of servers may
// share a cluster. Reads are linearizable. Keys with a TTL share leases. etcd's client retries after
// connection loss, a change of leader and the failure of a member; other failures are
// *store.UnavailableError. A watch buffers at most Options.WatchBuffer undelivered bytes, then closes its
// stream and opens it again from the last revision delivered; it ends with *store.ExpiredError only if etcd
// has compacted that revision.
//
// Progress reports need etcd 3.4.31, 3.5.13 or 3.6 on every member; otherwise Capabilities().Progress is
// false.
//
// etcd's client needs real sockets and real time, so New returns ErrBubble in a testing/synctest bubble: use
// store/memory there.
package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/stats"

	"github.com/keelson-dev/keelson/store"
)

// ErrBubble is returned by New in a testing/synctest bubble.
var ErrBubble = errors.New("etcd: cannot be used in a testing/synctest bubble (sockets and etcd's time are real); use store/memory there")

// Options configure the connection to etcd. Only Endpoints is required.
type Options struct {
	// Endpoints are URLs of members, such as "https://10.0.0.1:2379".
	Endpoints []string
	// TLS returns the configuration of a new connection to an https endpoint. It is called for each, so that
	// certificates and authorities may be replaced while the store is in use, and must be safe for concurrent
	// use. Nil means the defaults of package tls.
	TLS func() *tls.Config
	// Username and Password are used if etcd requires authentication.
	Username, Password string
	// Prefix is put before every key. Empty means "/registry".
	Prefix string
	// DialTimeout bounds how long New waits for the first member to answer. Zero
	// means 20 s.
	DialTimeout time.Duration
	// Timeout bounds a single request, besides its context. Zero means 10 s, except for
	// List, where it means 60 s.
	Timeout time.Duration
	// WatchBuffer bounds the undelivered bytes of one watch. Zero means 32 MiB.
	WatchBuffer int
	// CompactInterval is how often Run compacts; history older than one to two intervals is discarded. Zero
	// means 5 min, negative never.
	CompactInterval time.Duration
	// LeaseGranted is called when etcd has granted a lease, with the number of keys that got the lease of the
	// same TTL before it, and the key that it was granted for. It must be safe for concurrent use, and may be
	// nil.
	LeaseGranted func(keys int)
	// Calls receives the calls of the client, for example to trace them; nil means that nothing does.
	Calls stats.Handler
	// Logger receives compactions and reconnects. Nil discards.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Prefix == "" {
		o.Prefix = "/registry"
	}
	o.Prefix = "/" + strings.Trim(o.Prefix, "/")
	if o.DialTimeout <= 0 {
		o.DialTimeout = 20 * time.Second
	}
	if o.WatchBuffer <= 0 {
		o.WatchBuffer = 32 << 20
	}
	if o.CompactInterval == 0 {
		o.CompactInterval = 5 * time.Minute
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// Store is a store.Store over etcd.
type Store struct {
	opts     Options
	client   *clientv3.Client
	leases   leases
	progress atomic.Bool   // every member that answered reports progress reliably
	done     chan struct{} // closed by Close

	mu      sync.Mutex
	closed  bool
	streams map[*stream]struct{} // open watches
}

var _ store.Store = (*Store)(nil)

// New connects to etcd and waits until a member answers, for at most Options.DialTimeout.
// The store has no goroutine of its own besides those of etcd's client; Run compacts.
func New(ctx context.Context, opts Options) (*Store, error) {
	if inBubble() {
		return nil, ErrBubble
	}
	if len(opts.Endpoints) == 0 {
		return nil, errors.New("etcd: no endpoints")
	}
	opts = opts.withDefaults()
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            opts.Endpoints,
		DialOptions:          opts.dialOptions(),
		Username:             opts.Username,
		Password:             opts.Password,
		DialTimeout:          opts.DialTimeout,
		DialKeepAliveTime:    30 * time.Second,
		DialKeepAliveTimeout: 10 * time.Second,
		Logger:               zap.NewNop(),
	})
	if err != nil {
		return nil, &store.UnavailableError{Op: "connect", Err: err}
	}
	s := &Store{
		opts: opts, client: client,
		leases:  leases{client: client, granted: opts.LeaseGranted, byTTL: map[int64]*lease{}},
		done:    make(chan struct{}),
		streams: map[*stream]struct{}{},
	}
	if err := s.waitForMember(ctx); err != nil {
		_ = client.Close()
		return nil, err
	}
	return s, nil
}

// inBubble reports whether the caller runs in a synctest bubble, whose clock starts in the year 2000.
func inBubble() bool {
	year := time.Now().Year()
	return year >= 2000 && year < 2010
}

// Run compacts history every Options.CompactInterval, together with the other servers of the
// cluster, and keeps Capabilities up to date with the members' versions, until ctx
// ends.
func (s *Store) Run(ctx context.Context) error {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	if s.opts.CompactInterval > 0 {
		tasks.Go(func() { s.compactForever(ctx) })
	}
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.done:
			return nil
		case <-tick.C:
			_ = s.probe(ctx)
		}
	}
}

// Close implements store.Store. It may be called more than once.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.done)
	s.mu.Unlock()
	if err := s.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("etcd: close: %w", err)
	}
	return nil
}

// Capabilities implements store.Store.
func (s *Store) Capabilities() store.Capabilities {
	return store.Capabilities{Progress: s.progress.Load(), Durable: true, Remote: true, Shared: true, Compacts: true}
}

// begin checks that the store is open and bounds a request.
func (s *Store) begin(ctx context.Context, standard time.Duration) (context.Context, context.CancelFunc, error) {
	select {
	case <-s.done:
		return nil, nil, store.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	timeout := s.opts.Timeout
	if timeout <= 0 {
		timeout = standard
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	return bounded, cancel, nil
}

func (s *Store) full(key string) string { return s.opts.Prefix + key }

func (s *Store) rangeOf(prefix string) (from, to string) {
	if prefix == "" {
		prefix = "/"
	}
	from = s.full(prefix)
	return from, clientv3.GetPrefixRangeEnd(from)
}
