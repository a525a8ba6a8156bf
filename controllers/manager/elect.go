package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/candidate"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
)

// maxWarm is how long a candidate waits for its informers: one that can never sync, for example because a
// permission is missing, blocks only the controllers that declare it.
const maxWarm = 10 * time.Second

// elect makes the elector of Options.Lease.
func (m *Manager) elect() {
	if m.opts.Elector != nil {
		m.err = errors.New("manager: Options has both a Lease and an Elector: use one of them")
		return
	}
	opts := m.opts.Election
	if opts.Logger == nil {
		opts.Logger = m.log
	}
	if opts.Warm == nil {
		opts.Warm = m.warm
	}
	measured, ok := m.opts.Monitor.(interface {
		Leader(name string) leaderelection.Metrics
	})
	if ok && opts.Metrics.Status == nil && opts.Metrics.SlowPath == nil {
		opts.Metrics = measured.Leader(m.opts.Lease.Name)
	}
	recorder := m.Recorder(m.opts.Lease.Name)
	lock := leaselock.New(m.conn, m.opts.Lease, leaselock.Options{Event: func(lease *coordinationv1.Lease, reason, message string) {
		recorder.Event(lease, events.Normal, reason, message)
	}})
	opts.Coordinated = opts.Coordinated || m.opts.Candidate != nil
	if m.elector, m.err = leaderelection.New(lock, opts); m.err != nil {
		m.err = fmt.Errorf("manager: Options.Election: %w", m.err)
		return
	}
	m.opts.Elector = m.elector
	m.stand()
}

// stand adds the replica's LeaseCandidate.
func (m *Manager) stand() {
	if m.opts.Candidate == nil {
		return
	}
	opts := *m.opts.Candidate
	opts.Logger = cmp.Or(opts.Logger, m.log)
	one, err := candidate.New(m.conn, types.NamespacedName{Namespace: m.opts.Lease.Namespace, Name: m.elector.Identity()}, m.opts.Lease.Name, opts)
	if err != nil {
		m.err = fmt.Errorf("manager: Options.Candidate: %w", err)
		return
	}
	m.AddWithoutLeaderElection("lease candidate", one)
}

// warm waits for the informers before the lease is taken.
func (m *Manager) warm(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, maxWarm)
	defer cancel()
	err := m.set.WaitForSyncOrAbsent(soon)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	m.log.Warn("sync of some informers failed: the replica takes part in the election nevertheless", "err", err)
	return nil
}
