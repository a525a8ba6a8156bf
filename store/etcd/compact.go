package etcd

import (
	"context"
	"errors"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// compactKey is where the servers of a cluster, upstream's too, agree on who compacts: its version
// is a logical clock and its value the revision last compacted.
const compactKey = "compact_rev_key"

// compactor compacts, at each tick that it wins, to the revision it read one tick before, so that at least
// one interval of history remains.
type compactor struct {
	clock    int64 // last version of compactKey
	revision int64 // last revision of the store
}

func (s *Store) compactForever(ctx context.Context) {
	tick := time.NewTicker(s.opts.CompactInterval)
	defer tick.Stop()
	var c compactor
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.done:
			return
		case <-tick.C:
		}
		old := c.revision
		next, won, err := s.compactOnce(ctx, c)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.opts.Logger.Error("etcd compaction failed", "err", err)
		case won && old > 0:
			s.opts.Logger.Info("etcd compacted", "revision", old)
		}
		c = next
	}
}

// compactOnce advances the clock and compacts, unless another server did so since the last time.
func (s *Store) compactOnce(ctx context.Context, c compactor) (compactor, bool, error) {
	ctx, cancel, err := s.begin(ctx, requestTimeout)
	if err != nil {
		return c, false, err
	}
	defer cancel()
	resp, err := s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.Version(compactKey), "=", c.clock)).
		Then(clientv3.OpPut(compactKey, strconv.FormatInt(c.revision, 10))).
		Else(clientv3.OpGet(compactKey)).
		Commit()
	if err != nil {
		return c, false, err
	}
	next := compactor{clock: c.clock + 1, revision: resp.Header.Revision}
	if !resp.Succeeded {
		next.clock = 0
		if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
			next.clock = kvs[0].Version
		}
		return next, false, nil
	}
	if c.revision == 0 {
		return next, true, nil
	}
	if _, err := s.client.Compact(ctx, c.revision); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return next, true, err
	}
	return next, true, nil
}
