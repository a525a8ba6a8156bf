// Package leaselock keeps the record of a leader election in a Lease object
// (coordination.k8s.io/v1), as Kubernetes components do: kubectl get lease shows
// the holder, and candidates that use client-go's elector on the same Lease and
// ours exclude each other.
//
// A candidate needs the verbs get, create and update on leases in the Lease's
// namespace, and should have watch: then it takes a released lease at once,
// otherwise it polls. The namespace must exist.
package leaselock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/leaderelection"
)

// EventReason is the reason of the events of changes of leadership.
const EventReason = "LeaderElection"

// Options configure a Lock. The zero value is usable.
type Options struct {
	// Labels are set on a Lease this candidate creates.
	Labels map[string]string

	// Event, if not nil, records an event of type Normal about the Lease, for
	// example through an event recorder. It must not block.
	Event func(regarding *coordinationv1.Lease, reason, message string)
}

// Lock implements leaderelection.Lock, Watcher, EventRecorder and Fencer over one
// Lease. It is safe for concurrent use. Create it with New.
type Lock struct {
	key     types.NamespacedName
	opts    Options
	leases  *client.Client[*coordinationv1.Lease]
	fencing *fencingConn

	unwatchable atomic.Bool

	mu   sync.Mutex
	last *coordinationv1.Lease // as last read or written; never changed in place
}

var (
	_ leaderelection.Watcher       = (*Lock)(nil)
	_ leaderelection.EventRecorder = (*Lock)(nil)
	_ leaderelection.Fencer        = (*Lock)(nil)
	_ leaderelection.ServerNamer   = (*Lock)(nil)
)

// New returns the lock kept in the Lease named key, which is created by the first
// candidate. coordinationv1 must be registered in the connection's scheme.
func New(conn client.Conn, key types.NamespacedName, opts Options) *Lock {
	w := &fencingConn{Conn: conn}
	return &Lock{key: key, opts: opts, fencing: w, leases: client.For[*coordinationv1.Lease](w)}
}

// Key implements leaderelection.Lock.
func (l *Lock) Key() types.NamespacedName { return l.key }

// Get implements leaderelection.Lock.
func (l *Lock) Get(ctx context.Context) (leaderelection.Record, error) {
	lease, err := l.leases.Get(ctx, l.key)
	if err != nil {
		return leaderelection.Record{}, l.failure("get", err)
	}
	return l.read(lease), nil
}

// Create implements leaderelection.Lock.
func (l *Lock) Create(ctx context.Context, r leaderelection.Record) (leaderelection.Record, error) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: l.key.Namespace, Name: l.key.Name, Labels: l.opts.Labels,
	}}
	setSpec(&lease.Spec, r)
	lease, err := l.leases.Create(ctx, lease)
	switch {
	case apierrors.IsNotFound(err):
		// Not the lease but its namespace, so not leaderelection.ErrNotFound.
		return leaderelection.Record{}, fmt.Errorf("leaselock: create lease %s: %v", l.key, err)
	case err != nil:
		return leaderelection.Record{}, l.failure("create", err)
	}
	return l.read(lease), nil
}

// Update implements leaderelection.Lock. It preserves other parts of the Lease
// (labels, annotations, strategy, preferred holder).
func (l *Lock) Update(ctx context.Context, r leaderelection.Record) (leaderelection.Record, error) {
	base, err := l.leaseAt(ctx, r.Version)
	if err != nil {
		return leaderelection.Record{}, err
	}
	lease := codec.DeepCopy(base)
	setSpec(&lease.Spec, r)
	lease, err = l.leases.Update(ctx, lease)
	if err != nil {
		return leaderelection.Record{}, l.failure("update", err)
	}
	return l.read(lease), nil
}

// Wait implements leaderelection.Watcher. Once the server has refused a watch it
// fails with errors.ErrUnsupported.
func (l *Lock) Wait(ctx context.Context, last leaderelection.Record) (leaderelection.Record, error) {
	if l.unwatchable.Load() {
		return leaderelection.Record{}, fmt.Errorf("leaselock: watch lease %s: %w", l.key, errors.ErrUnsupported)
	}
	events := l.leases.Watch(ctx, client.WatchOptions{
		Namespace:       l.key.Namespace,
		FieldSelector:   fields.OneEqual("metadata.name", l.key.Name),
		ResourceVersion: last.Version,
	})
	for event, err := range events {
		switch {
		case apierrors.IsExpired(err):
			return l.Get(ctx)
		case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
			l.unwatchable.Store(true)
			return leaderelection.Record{}, fmt.Errorf("leaselock: watch lease %s: %w: %w", l.key, errors.ErrUnsupported, err)
		case err != nil:
			return leaderelection.Record{}, l.failure("watch", err)
		case event.Type == client.Deleted:
			return leaderelection.Record{}, leaderelection.ErrNotFound
		case event.Type == client.Added, event.Type == client.Modified:
			return l.read(event.Object), nil
		}
	}
	if err := ctx.Err(); err != nil {
		return leaderelection.Record{}, err
	}
	return leaderelection.Record{}, fmt.Errorf("leaselock: watch lease %s ended", l.key)
}

// Event implements leaderelection.EventRecorder.
func (l *Lock) Event(message string) {
	if l.opts.Event == nil {
		return
	}
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	if last == nil {
		last = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.key.Namespace, Name: l.key.Name}}
	}
	l.opts.Event(codec.DeepCopy(last), EventReason, message)
}

// Fenced implements leaderelection.Fencer: a reply about this Lease has shown that
// the server checks fence tokens.
func (l *Lock) Fenced() bool { return l.fencing.enforced.Load() }

// leaseAt returns the Lease at that version, as the base of an update.
func (l *Lock) leaseAt(ctx context.Context, version string) (*coordinationv1.Lease, error) {
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	if last != nil && last.ResourceVersion == version {
		return last, nil
	}
	lease, err := l.leases.Get(ctx, l.key)
	if err != nil {
		return nil, l.failure("get", err)
	}
	if lease.ResourceVersion != version {
		return nil, fmt.Errorf("leaselock: lease %s has another version: %w", l.key, leaderelection.ErrConflict)
	}
	return lease, nil
}

// read keeps lease for the next update and returns its record.
func (l *Lock) read(lease *coordinationv1.Lease) leaderelection.Record {
	l.mu.Lock()
	l.last = lease
	l.mu.Unlock()
	s := &lease.Spec
	r := leaderelection.Record{Version: lease.ResourceVersion}
	if s.HolderIdentity != nil {
		r.HolderIdentity = *s.HolderIdentity
	}
	if s.LeaseDurationSeconds != nil {
		r.LeaseDuration = time.Duration(*s.LeaseDurationSeconds) * time.Second
	}
	if s.AcquireTime != nil {
		r.AcquireTime = s.AcquireTime.Time
	}
	if s.RenewTime != nil {
		r.RenewTime = s.RenewTime.Time
	}
	if s.LeaseTransitions != nil {
		r.LeaderTransitions = *s.LeaseTransitions
	}
	if s.PreferredHolder != nil {
		r.PreferredHolder = *s.PreferredHolder
	}
	return r
}

func setSpec(s *coordinationv1.LeaseSpec, r leaderelection.Record) {
	seconds := int32(r.LeaseDuration / time.Second)
	acquired, renewed := metav1.NewMicroTime(r.AcquireTime), metav1.NewMicroTime(r.RenewTime)
	s.HolderIdentity = nil // of a lease that is free
	if r.HolderIdentity != "" {
		s.HolderIdentity = &r.HolderIdentity
	}
	s.LeaseDurationSeconds = &seconds
	s.AcquireTime, s.RenewTime, s.LeaseTransitions = &acquired, &renewed, &r.LeaderTransitions
}

// failure wraps an API error with the matching error of leaderelection.
func (l *Lock) failure(op string, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("leaselock: %s lease %s: %w: %w", op, l.key, leaderelection.ErrNotFound, err)
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return fmt.Errorf("leaselock: %s lease %s: %w: %w", op, l.key, leaderelection.ErrConflict, err)
	}
	return fmt.Errorf("leaselock: %s lease %s: %w", op, l.key, err)
}

// Server implements leaderelection.ServerNamer.
func (l *Lock) Server() string {
	if s := l.fencing.server.Load(); s != nil {
		return *s
	}
	return ""
}
