package apiserver

import (
	"context"
	"errors"
	"time"

	"github.com/keelson-dev/keelson/store"
)

// compact drops, every Options.CompactInterval, the states that are older than the previous run.
func (s *Server) compact(ctx context.Context) {
	if s.opts.CompactInterval < 0 {
		return
	}
	tick := time.NewTicker(s.opts.CompactInterval)
	defer tick.Stop()
	var before int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		revision, err := s.compactTo(ctx, before)
		switch {
		case err == nil:
			before = revision
		case ctx.Err() == nil:
			s.logger.Warn("compaction failed", "err", err)
		}
	}
}

// compactTo drops the states before a revision, none if it is 0, and returns the current revision.
func (s *Server) compactTo(ctx context.Context, revision int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.RequestTimeout)
	defer cancel()
	now, err := s.store.Progress(ctx, "")
	if err != nil || revision == 0 {
		return now, err
	}
	s.compacted.Store(revision)
	if s.store.Capabilities().Compacts {
		return now, nil
	}
	err = s.store.Compact(ctx, revision)
	if _, done := errors.AsType[*store.ExpiredError](err); done {
		err = nil // nothing was written since, or another server has compacted
	}
	return now, err
}
