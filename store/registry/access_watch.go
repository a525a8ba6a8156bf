package registry

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/cache"
)

// Event is a cache.Event with a decoded object, as Access.Watch delivers it.
type Event struct {
	// Type is Added, Modified or Deleted, or Bookmark with one of the marks below.
	Type cache.EventType
	// Object is a private copy; of a Deleted event the last state. Nil in a Bookmark.
	Object metav1.Object
	// Revision of the change.
	Revision int64
	// InitialEnd marks the Bookmark that ends the initial events.
	InitialEnd bool
	// Expired marks the Bookmark after which the watch begins again, where a client would receive status 410
	// and list: all objects delivered before may be outdated, and those that exist are delivered as Added.
	Expired bool
}

// Watch implements Access.
func (a access) Watch(ctx context.Context, gvr schema.GroupVersionResource, namespace string, deliver func(Event) error) error {
	return a.watch(ctx, gvr, namespace, cache.WatchOptions{InitialEvents: true}, deliver)
}

// Follow implements Access.
func (a access) Follow(ctx context.Context, gvr schema.GroupVersionResource, namespace string, revision int64, deliver func(Event) error) error {
	return a.watch(ctx, gvr, namespace, cache.WatchOptions{From: revision}, deliver)
}

// Written implements Access.
func (a access) Written(gvr schema.GroupVersionResource) func() int64 {
	var known atomic.Pointer[Resource]
	return func() int64 {
		res := known.Load()
		if res == nil {
			if res = a.r.Resource(gvr); res == nil {
				return 0
			}
			known.Store(res)
		}
		return res.watched.written.Load()
	}
}

// watch begins as opts says, and with all objects whenever changes were missed.
func (a access) watch(ctx context.Context, gvr schema.GroupVersionResource, namespace string, opts cache.WatchOptions, deliver func(Event) error) error {
	res, err := a.resource(gvr, "")
	if err != nil {
		return err
	}
	var failed error
	seen := opts.From
	each := func(events []cache.Event) error {
		for _, e := range events {
			if failed = res.deliverEvent(ctx, e, deliver); failed != nil {
				return failed
			}
			seen = max(seen, e.Revision)
		}
		return nil
	}
	expire := func() error {
		opts.InitialEvents = true
		return deliver(Event{Type: cache.Bookmark, Expired: true})
	}
	for {
		if seen, err = res.waitForRevision(ctx, seen); err != nil {
			return err
		}
		if seen == 0 && !opts.InitialEvents { // the store was restored: the objects may be others
			if err := expire(); err != nil {
				return err
			}
		}
		opts.From = seen
		err = res.Watch(ctx, types.NamespacedName{Namespace: namespace}, opts, each)
		if failed != nil || ctx.Err() != nil || errors.Is(err, cache.ErrStopped) || a.r.Resource(gvr) != res {
			return err
		}
		if _, ok := errors.AsType[*apierrors.StatusError](err); ok {
			return err
		}
		if err := expire(); err != nil {
			return err
		}
	}
}

// waitForRevision waits until the cache has reached a revision, because a cache that lists again begins at an
// older one. It returns zero if the store itself is at an older one, restored from a backup: that revision
// will not come again.
func (r *Resource) waitForRevision(ctx context.Context, revision int64) (int64, error) {
	for revision > 0 {
		c, err := r.reader(ctx)
		if err != nil {
			return 0, err
		}
		if _, err = r.atLeast(ctx, c, revision); err == nil {
			break
		}
		if errors.Is(err, cache.ErrStopped) {
			return 0, err
		}
		if current, err := r.registry.store.Progress(ctx, r.prefix); err == nil && current < revision {
			return 0, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(revisionRetry):
		}
	}
	return revision, nil
}

// revisionRetry is the pause between queries of a store that does not respond.
const revisionRetry = 100 * time.Millisecond

// deliverEvent decodes one event.
func (r *Resource) deliverEvent(ctx context.Context, e cache.Event, deliver func(Event) error) error {
	if e.Type == cache.Bookmark {
		if e.InitialEnd {
			return deliver(Event{Type: cache.Bookmark, Revision: e.Revision, InitialEnd: true})
		}
		return nil
	}
	if e.Object.Err != nil {
		return nil // readers of an undecodable object get an error, watchers no event
	}
	obj, err := r.Decode(ctx, e.Object)
	if err != nil {
		return nil
	}
	return deliver(Event{Type: e.Type, Object: obj, Revision: e.Revision})
}
