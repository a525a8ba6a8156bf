package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/keelson-dev/keelson/store"
)

const (
	requestTimeout = 10 * time.Second
	listTimeout    = 60 * time.Second
)

func (s *Store) kv(kv *mvccpb.KeyValue) store.KV {
	return store.KV{
		Key:            strings.TrimPrefix(string(kv.Key), s.opts.Prefix),
		Value:          kv.Value,
		Revision:       kv.ModRevision,
		CreateRevision: kv.CreateRevision,
	}
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string) (store.KV, int64, error) {
	bounded, cancel, err := s.begin(ctx, requestTimeout)
	if err != nil {
		return store.KV{}, 0, err
	}
	defer cancel()
	resp, err := s.client.Get(bounded, s.full(key))
	if err != nil {
		return store.KV{}, 0, s.failure(ctx, "get", false, err)
	}
	if len(resp.Kvs) == 0 {
		return store.KV{}, resp.Header.Revision, fmt.Errorf("%w: %q", store.ErrNotFound, key)
	}
	return s.kv(resp.Kvs[0]), resp.Header.Revision, nil
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix string, opts store.ListOptions) (store.ListResult, error) {
	bounded, cancel, err := s.begin(ctx, listTimeout)
	if err != nil {
		return store.ListResult{}, err
	}
	defer cancel()
	from, to := s.rangeOf(prefix)
	if opts.After != "" {
		if after := s.full(opts.After) + "\x00"; after > from {
			from = after
		}
	}
	options := []clientv3.OpOption{clientv3.WithRange(to)}
	if opts.Revision > 0 {
		options = append(options, clientv3.WithRev(opts.Revision))
	}
	if opts.Since > 0 {
		options = append(options, clientv3.WithMinModRev(opts.Since+1))
	}
	switch {
	case from >= to: // after the whole prefix: only the revision is needed
		from, options = s.full("/\x00"), append(options[1:], clientv3.WithCountOnly())
		opts.Since = 0
	case opts.Limit > 0:
		options = append(options, clientv3.WithLimit(int64(opts.Limit)))
	}
	if opts.KeysOnly {
		options = append(options, clientv3.WithKeysOnly())
	}
	resp, err := s.client.Get(bounded, from, options...)
	if err != nil {
		return store.ListResult{}, s.listFailure(ctx, opts.Revision, err)
	}
	result := store.ListResult{Revision: resp.Header.Revision}
	if opts.Revision > 0 {
		result.Revision = opts.Revision
	}
	if opts.Since > 0 {
		result.Total, result.More = resp.Count, resp.More
	}
	if len(resp.Kvs) == 0 {
		return result, nil
	}
	result.Items = make([]store.KV, len(resp.Kvs))
	for i, kv := range resp.Kvs {
		result.Items[i] = s.kv(kv)
	}
	if opts.Since == 0 {
		result.Remaining = resp.Count - int64(len(resp.Kvs))
		result.More = result.Remaining > 0
	}
	return result, nil
}

func (s *Store) listFailure(ctx context.Context, revision int64, err error) error {
	err = s.failure(ctx, "list", false, err)
	var future *store.FutureRevisionError
	if errors.As(err, &future) {
		future.Requested = revision
		future.Current, _ = s.revision(ctx)
	}
	var expired *store.ExpiredError
	if errors.As(err, &expired) {
		expired.Compacted = s.compacted(ctx)
	}
	return err
}

// compacted returns the oldest revision, which etcd reports to a watch from the first one. It returns zero if
// that fails.
func (s *Store) compacted(ctx context.Context) int64 {
	ctx, cancel, err := s.begin(clientv3.WithRequireLeader(ctx), requestTimeout)
	if err != nil {
		return 0
	}
	defer cancel()
	for resp := range s.client.Watch(ctx, compactKey, clientv3.WithRev(1), clientv3.WithCreatedNotify()) {
		if resp.CompactRevision != 0 || !resp.Created {
			return resp.CompactRevision
		}
	}
	return 0
}

// revision reads the current revision from a quorum.
func (s *Store) revision(ctx context.Context) (int64, error) {
	bounded, cancel, err := s.begin(ctx, requestTimeout)
	if err != nil {
		return 0, err
	}
	defer cancel()
	resp, err := s.client.Get(bounded, compactKey, clientv3.WithCountOnly())
	if err != nil {
		return 0, s.failure(ctx, "progress", false, err)
	}
	return resp.Header.Revision, nil
}

// Progress implements store.Store.
func (s *Store) Progress(ctx context.Context, prefix string) (int64, error) {
	revision, err := s.revision(ctx)
	if err != nil || !s.progress.Load() {
		return revision, err
	}
	for _, st := range s.openStreams(prefix) {
		st.requested.Set()
	}
	return revision, nil
}

// Compact implements store.Store.
func (s *Store) Compact(ctx context.Context, revision int64) error {
	bounded, cancel, err := s.begin(ctx, requestTimeout)
	if err != nil {
		return err
	}
	defer cancel()
	if _, err := s.client.Compact(bounded, revision); err != nil {
		err = s.failure(ctx, "compact", true, err)
		var future *store.FutureRevisionError
		if errors.As(err, &future) {
			future.Requested = revision
		}
		return err
	}
	return nil
}

// Size implements store.Sized: the bytes of the database file of the first endpoint that answers.
func (s *Store) Size(ctx context.Context) (int64, error) {
	var failures []error
	for _, endpoint := range s.opts.Endpoints {
		bounded, cancel, err := s.begin(ctx, requestTimeout)
		if err != nil {
			return 0, err
		}
		status, err := s.client.Status(bounded, endpoint)
		cancel()
		if err == nil {
			return status.DbSize, nil
		}
		failures = append(failures, s.failure(ctx, "status", false, err))
	}
	return 0, errors.Join(failures...)
}
