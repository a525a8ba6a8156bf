package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/store"
)

// waitForMember probes until a member answers.
func (s *Store) waitForMember(ctx context.Context) error {
	outer := ctx
	ctx, cancel := context.WithTimeout(outer, s.opts.DialTimeout)
	defer cancel()
	retry := time.NewTicker(200 * time.Millisecond)
	defer retry.Stop()
	for {
		err := s.probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-retry.C:
		case <-outer.Done():
			return outer.Err()
		case <-ctx.Done():
			return &store.UnavailableError{Op: "connect", Err: err}
		}
	}
}

// probe queries the version of every endpoint. Progress is used if all that answer report it reliably, that
// is, the lowest version decides. It fails only if none answers.
func (s *Store) probe(ctx context.Context) error {
	answered, progress := 0, true
	var failures []error
	for _, endpoint := range s.opts.Endpoints {
		bounded, cancel := context.WithTimeout(ctx, 3*time.Second)
		status, err := s.client.Status(bounded, endpoint)
		cancel()
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", endpoint, err))
			continue
		}
		answered++
		if !reportsProgress(status.Version) {
			progress = false
		}
	}
	if answered == 0 {
		return errors.Join(failures...)
	}
	s.progress.Store(progress)
	return nil
}

// reportsProgress reports whether a version of etcd answers progress requests only after the
// events that came before: fixed in 3.4.31, 3.5.13 and 3.6.0.
func reportsProgress(version string) bool {
	var major, minor, patch int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); n < 3 {
		return false
	}
	switch {
	case major != 3:
		return major > 3
	case minor == 4:
		return patch >= 31
	case minor == 5:
		return patch >= 13
	default:
		return minor > 5
	}
}
