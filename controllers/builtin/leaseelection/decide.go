package leaseelection

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// The times of an election, those of kube-apiserver 1.36 (pkg/controlplane/controller/leaderelection).
const (
	// patience is how long candidates may take to respond, and how long a response counts.
	patience = 5 * time.Second
	// duration is that of a lease that was given to a candidate, who takes it meanwhile.
	duration = 5 * time.Second
	// valid is how long a candidate lives after its last sign of life. After half of it one is requested.
	valid = 30 * time.Minute
)

// errNoResponse is the outcome of an election in which no candidate responded.
var errNoResponse = errors.New("no candidate has responded")

// decision is what follows from a lease and its candidates.
type decision struct {
	// ping are the candidates that are to give a sign of life.
	ping []*candidate
	// lease, if not nil, is to be written: created if there was none.
	lease *lease
}

// decide takes the next step of the election of a lease, which is nil if there is none. Nothing is to be done
// before the next event, or before patience has passed, if the decision is empty.
func decide(l *lease, candidates []*candidate, now time.Time) (decision, error) {
	var d decision
	needed, err := needsElection(l, candidates, now)
	if !needed || err != nil {
		return d, err
	}
	waiting := false
	var present []*candidate
	for _, c := range candidates {
		s := &c.Spec
		switch {
		case responded(c, now):
			present = append(present, c)
		case c.Pinged():
			waiting = waiting || !expired(s.PingTime, patience, now)
		case expired(s.PingTime, patience, now):
			d.ping = append(d.ping, c)
		}
	}
	if waiting || len(d.ping) > 0 {
		return d, nil
	}
	if len(present) == 0 {
		return d, errNoResponse
	}
	strategy, err := strategyOf(present)
	if err != nil {
		return d, err
	}
	holder := ""
	if strategy == coordinationv1.OldestEmulationVersion {
		holder = slices.MinFunc(present, (*candidate).Compare).Name
	}
	d.lease = give(l, strategy, holder, now)
	return d, nil
}

// needsElection reports whether a lease has no holder, or one that should not be it, or whether candidates
// have to give a sign of life.
func needsElection(l *lease, candidates []*candidate, now time.Time) (bool, error) {
	if len(candidates) == 0 {
		return false, nil
	}
	if l == nil || free(l, now) {
		return true, nil
	}
	if slices.ContainsFunc(candidates, func(c *candidate) bool { return expired(c.Spec.RenewTime, valid/2, now) }) {
		return true, nil
	}
	strategy, err := strategyOf(candidates)
	if err != nil || strategy != coordinationv1.OldestEmulationVersion {
		return false, err
	}
	return slices.MinFunc(candidates, (*candidate).Compare).Name != *l.Spec.HolderIdentity, nil
}

// strategyOf returns the strategy of the candidates with the newest binary version.
func strategyOf(candidates []*candidate) (coordinationv1.CoordinatedLeaseStrategy, error) {
	newest := slices.MaxFunc(candidates, (*candidate).CompareBinary)
	for _, c := range candidates {
		if c.CompareBinary(newest) == 0 && c.Spec.Strategy != newest.Spec.Strategy {
			return "", fmt.Errorf("candidates %q and %q of version %s have different strategies, %s and %s",
				newest.Name, c.Name, c.Spec.BinaryVersion, newest.Spec.Strategy, c.Spec.Strategy)
		}
	}
	return newest.Spec.Strategy, nil
}

// give returns the lease with its strategy and holder, or nil if it is so already. A holder that has not
// expired stays: it releases the lease when it sees that another one is preferred. Without a holder, the
// strategy is that of another controller, which sets it.
func give(l *lease, strategy coordinationv1.CoordinatedLeaseStrategy, holder string, now time.Time) *lease {
	changed := &lease{}
	if l != nil {
		changed = codec.DeepCopy(l)
	}
	s := &changed.Spec
	s.Strategy = &strategy
	switch {
	case holder == "" && l == nil:
		s.RenewTime, s.LeaseDurationSeconds = new(metav1.NewMicroTime(now)), new(int32(duration/time.Second))
	case holder == "":
	case l == nil || free(l, now):
		s.HolderIdentity, s.PreferredHolder, s.AcquireTime = &holder, nil, nil
		s.RenewTime, s.LeaseDurationSeconds = new(metav1.NewMicroTime(now)), new(int32(duration/time.Second))
	case *l.Spec.HolderIdentity != holder:
		s.PreferredHolder = &holder
	}
	if l != nil && codec.Equal(l, changed) {
		return nil
	}
	return changed
}

// free reports whether a lease has no holder or has expired.
func free(l *lease, now time.Time) bool {
	s := &l.Spec
	return s.HolderIdentity == nil || *s.HolderIdentity == "" || s.LeaseDurationSeconds == nil ||
		expired(s.RenewTime, time.Duration(*s.LeaseDurationSeconds)*time.Second, now)
}

// expired reports whether t is missing or more than after ago.
func expired(t *metav1.MicroTime, after time.Duration, now time.Time) bool {
	return t == nil || t.Add(after).Before(now)
}

// responded reports whether a candidate has given a sign of life just now, and none is due.
func responded(c *candidate, now time.Time) bool {
	return !c.Pinged() && !expired(c.Spec.RenewTime, patience, now)
}
