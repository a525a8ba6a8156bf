package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/keelson-dev/keelson/store"
)

// Watcher runs a watch and checks, batch by batch, the promises that a single watch can check: order, no
// repetition, whole commits, revisions that never go down, events that follow from the state before.
type Watcher struct {
	prefix string
	from   int64
	cancel context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	changed chan struct{} // closed and replaced with every batch
	events  []store.Event
	reached int64
	live    map[string]store.KV // state by the events, of keys seen
	broken  error
	err     error // what Watch returned
}

// Watch starts a watch that ends with the test.
func Watch(t testing.TB, ctx context.Context, s store.Store, prefix string, from int64) *Watcher {
	ctx, cancel := context.WithCancel(ctx)
	w := &Watcher{
		prefix: prefix, from: from, cancel: cancel, reached: from,
		ended: make(chan struct{}), changed: make(chan struct{}), live: map[string]store.KV{},
	}
	go func() {
		defer close(w.ended)
		err := s.Watch(ctx, prefix, from, store.WatchOptions{Prev: true}, w.deliver)
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
	}()
	t.Cleanup(func() { _ = w.Stop() })
	return w
}

// Stop ends the watch and returns the violation that it found, if any.
func (w *Watcher) Stop() error {
	w.cancel()
	<-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

// Ended waits for the watch to end by itself and returns the error of Watch.
func (w *Watcher) Ended(ctx context.Context) error {
	select {
	case <-w.ended:
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.err
	case <-ctx.Done():
		return fmt.Errorf("storetest: the watch did not end: %w", ctx.Err())
	}
}

// Until waits for the first n events and returns all so far.
func (w *Watcher) Until(ctx context.Context, n int) ([]store.Event, error) {
	return w.await(ctx, func() bool { return len(w.events) >= n })
}

// Reached waits until everything up to revision has been delivered and returns all events so far.
func (w *Watcher) Reached(ctx context.Context, revision int64) ([]store.Event, error) {
	return w.await(ctx, func() bool { return w.reached >= revision })
}

func (w *Watcher) await(ctx context.Context, done func() bool) ([]store.Event, error) {
	for {
		w.mu.Lock()
		ok, changed, events, broken, reached := done(), w.changed, w.events, w.broken, w.reached
		w.mu.Unlock()
		if broken != nil {
			return events, broken
		}
		if ok {
			return events, nil
		}
		select {
		case <-changed:
		case <-w.ended:
			return events, fmt.Errorf("storetest: the watch of %q ended: %w", w.prefix, w.err)
		case <-ctx.Done():
			return events, fmt.Errorf("storetest: the watch of %q stays at %d events, revision %d: %w", w.prefix, len(events), reached, ctx.Err())
		}
	}
}

func (w *Watcher) deliver(b store.Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.check(b); err != nil && w.broken == nil {
		w.broken = fmt.Errorf("storetest: watch of %q from %d: %w", w.prefix, w.from, err)
	}
	w.events = append(w.events, b.Events...)
	w.reached = b.Revision
	close(w.changed)
	w.changed = make(chan struct{})
	return w.broken
}

func (w *Watcher) check(b store.Batch) error {
	if b.Revision < w.reached {
		return fmt.Errorf("batch goes back from revision %d to %d", w.reached, b.Revision)
	}
	last := w.reached
	for i, e := range b.Events {
		kv := e.KV
		switch {
		case !strings.HasPrefix(kv.Key, w.prefix):
			return fmt.Errorf("event of %q", kv.Key)
		case i == 0 && kv.Revision <= w.reached:
			return fmt.Errorf("event of revision %d after everything up to %d was delivered", kv.Revision, w.reached)
		case kv.Revision < last:
			return fmt.Errorf("event of revision %d after %d", kv.Revision, last)
		case kv.Revision > b.Revision:
			return fmt.Errorf("event of revision %d in a batch up to %d", kv.Revision, b.Revision)
		}
		last = kv.Revision
		if err := w.fits(e); err != nil {
			return err
		}
	}
	return nil
}

// fits checks an event against the state of its key by the events before.
func (w *Watcher) fits(e store.Event) error {
	before, known := w.live[e.KV.Key]
	if e.Prev != nil && known && e.Prev.Revision != before.Revision {
		return fmt.Errorf("%s of %q at %d: previous revision is %d, the watch has seen %d", e.Type, e.KV.Key, e.KV.Revision, e.Prev.Revision, before.Revision)
	}
	switch {
	case e.Type == store.Delete:
		if e.KV.Value != nil {
			return errors.New("a deletion has a value")
		}
		delete(w.live, e.KV.Key)
		return nil
	case e.Created() && known:
		return fmt.Errorf("%q is created at %d, but was not deleted since %d", e.KV.Key, e.KV.Revision, before.Revision)
	case known && e.KV.CreateRevision != before.CreateRevision:
		return fmt.Errorf("%q changes its creation from %d to %d at %d", e.KV.Key, before.CreateRevision, e.KV.CreateRevision, e.KV.Revision)
	}
	w.live[e.KV.Key] = e.KV
	return nil
}
