package leaderelection

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// Timing defaults, those of Kubernetes components.
const (
	DefaultLeaseDuration = 15 * time.Second
	DefaultRenewDeadline = 10 * time.Second
	DefaultRetryPeriod   = 2 * time.Second
	DefaultDrainTimeout  = 30 * time.Second

	// retryMargin is the factor by which a retry may be late: at least one renewal
	// must fit into RenewDeadline nevertheless.
	retryMargin = 1.2
)

// Options configure an Elector. The zero value uses the defaults above
// and an identity made of the host name and random letters.
type Options struct {
	// Identity is written into the lease while this candidate holds it. It must
	// be different for every candidate. Empty means host name, "_" and 26 random
	// letters.
	Identity string

	// LeaseDuration is how long candidates wait after a leader's last renewal.
	// It is written in whole seconds, rounded up. 0 means 15 s.
	LeaseDuration time.Duration

	// RenewDeadline is how long a leader continues without a successful renewal.
	// It must be below LeaseDuration; the difference is the time its work has to
	// stop. 0 means 10 s.
	RenewDeadline time.Duration

	// RetryPeriod is the time between two renewals of a leader, and between two
	// reads of a candidate. 1.2 times this must be below RenewDeadline. 0 means 2 s.
	RetryPeriod time.Duration

	// DrainTimeout is how long the work may take to return after its context
	// ended. The lease is renewed meanwhile if it was not lost. 0 means 30 s,
	// negative means without limit.
	DrainTimeout time.Duration

	// Coordinated leaves the choice of the holder to the API server, which chooses among
	// LeaseCandidates: see package candidate. The lease is taken only if the server has given it to
	// Identity, which must then be the name of this process' candidate, and the work ends when the
	// server prefers another one: Run releases the lease and returns ErrLost.
	Coordinated bool

	// Warm, if not nil, is called when Run starts, on every candidate, for example
	// to fill caches. The lease is not taken before it has returned nil; an
	// error ends Run. Its context ends with that of Run.
	Warm func(ctx context.Context) error

	// OnNewLeader, if not nil, is called with the identity of every new holder
	// this candidate sees, itself included. It must return quickly.
	OnNewLeader func(identity string)

	// Logger logs changes of leadership and failed renewals; nil discards them.
	Logger *slog.Logger

	// Metrics are called on events of the election.
	Metrics Metrics
}

// Metrics are functions called by an elector. Each may be nil and must return
// quickly. The comments name the metric of Kubernetes that each feeds; its label
// "name" is the name of the lease.
type Metrics struct {
	// Status is called when this candidate becomes the leader or stops being it.
	// leader_election_master_status (gauge, 1 or 0).
	Status func(leading bool)
	// SlowPath is called when a renewal fails with a conflict and the lease has to
	// be read first. leader_election_slowpath_total.
	SlowPath func()
}

// OptionError reports an invalid field of Options.
type OptionError struct {
	Field  string
	Reason string
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("leaderelection: Options.%s %s", e.Field, e.Reason)
}

// complete fills in defaults and checks the rest.
func (o *Options) complete() error {
	setDefault(&o.LeaseDuration, DefaultLeaseDuration)
	setDefault(&o.RenewDeadline, DefaultRenewDeadline)
	setDefault(&o.RetryPeriod, DefaultRetryPeriod)
	setDefault(&o.DrainTimeout, DefaultDrainTimeout)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("leaderelection: make an identity: %w", err)
		}
		o.Identity = host + "_" + rand.Text()
	}
	switch {
	case o.LeaseDuration < 0:
		return &OptionError{"LeaseDuration", fmt.Sprintf("(%v) must be positive", o.LeaseDuration)}
	case o.RenewDeadline < 0:
		return &OptionError{"RenewDeadline", fmt.Sprintf("(%v) must be positive", o.RenewDeadline)}
	case o.RetryPeriod < 0:
		return &OptionError{"RetryPeriod", fmt.Sprintf("(%v) must be positive", o.RetryPeriod)}
	case o.LeaseDuration <= o.RenewDeadline:
		return &OptionError{"LeaseDuration", fmt.Sprintf("(%v) must be longer than RenewDeadline (%v)", o.LeaseDuration, o.RenewDeadline)}
	case float64(o.RenewDeadline) <= retryMargin*float64(o.RetryPeriod):
		return &OptionError{"RenewDeadline", fmt.Sprintf("(%v) must be longer than %v times RetryPeriod (%v)", o.RenewDeadline, retryMargin, o.RetryPeriod)}
	}
	return nil
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}
