package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Event is a change to an object.
type Event[T metav1.Object] struct {
	// Type is Added, Modified, Deleted or, with WatchOptions.Bookmarks, Bookmark.
	Type EventType
	// Object after the change; the last state for Deleted; for Bookmark only its resourceVersion is set.
	Object T
}

// Watch iterates over changes of the selected objects, after ResourceVersion or, if that is empty,
// after every existing object as Added. It ends without an error when ctx ends.
//
// Watch recovers from closed connections, timeouts, server errors and silence: it resumes after the last
// version seen, so no event is lost or repeated. It ends with an error when resuming is impossible
// (apierrors.IsExpired: list again), when the server refuses the request, when listing the existing objects
// fails, and when the first reply does not come from an API server. OnRetry is called with all other
// failures. An event that cannot be decoded is yielded as a *DecodeError and the iteration continues.
func (c *Client[T]) Watch(ctx context.Context, opts WatchOptions) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		if c.err != nil {
			yield(Event[T]{}, c.err)
			return
		}
		w := watcher[T]{c: c, opts: opts, yield: yield}
		if err := w.run(ctx); err != nil && ctx.Err() == nil {
			yield(Event[T]{}, err)
		}
	}
}

// errStop ends a watch whose consumer has stopped the iteration.
var errStop = errors.New("stop")

type watcher[T metav1.Object] struct {
	c     *Client[T]
	opts  WatchOptions
	yield func(Event[T], error) bool
	tries int
}

func (w *watcher[T]) run(ctx context.Context) error {
	if w.opts.ResourceVersion == "" {
		if err := w.yieldExisting(ctx); err != nil {
			return withoutStop(err)
		}
	}
	firstTry := true
	for ctx.Err() == nil {
		err := w.connection(ctx)
		if errors.Is(err, errStop) {
			return nil
		}
		if ctx.Err() != nil || isFinal(err) {
			return err
		}
		// A first reply that cannot be decoded does not come from an API server.
		if _, bad := errors.AsType[*DecodeError](err); bad && firstTry {
			return err
		}
		firstTry = false
		wait := retryWait(ctx, w.tries)
		if after, ok := apierrors.RetryAfter(err); ok {
			wait = max(wait, after)
		}
		w.tries++
		if w.opts.OnRetry != nil && !errors.Is(err, io.EOF) {
			w.opts.OnRetry(err, wait)
		}
		if backoff.Sleep(ctx, wait) != nil {
			return nil
		}
	}
	return nil
}

func withoutStop(err error) error {
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// yieldExisting yields the existing objects and stores the version at which they were listed.
func (w *watcher[T]) yieldExisting(ctx context.Context) error {
	lo := ListOptions{Namespace: w.opts.Namespace, LabelSelector: w.opts.LabelSelector, FieldSelector: w.opts.FieldSelector, Limit: defaultPage}
	given := map[types.NamespacedName]Encoded{}
	for {
		page, err := w.c.listEncoded(ctx, lo, EncodedOptions{}, true)
		again := err != nil && lo.Continue != "" && apierrors.IsResourceExpired(err)
		if again {
			lo.Limit, lo.Continue = 0, ""
			page, err = w.c.listEncoded(ctx, lo, EncodedOptions{}, true)
		}
		if err != nil {
			return err
		}
		for _, e := range page.Errors {
			delete(given, e.Key) // its state is unknown
			if !w.yield(Event[T]{}, e) {
				return errStop
			}
		}
		if again {
			err = w.yieldChanges(page, given)
		} else {
			err = w.yieldAdded(page, given)
		}
		if err != nil {
			return err
		}
		w.opts.ResourceVersion = page.ResourceVersion
		if lo.Continue = page.Continue; lo.Continue == "" {
			return nil
		}
	}
}

// yieldAdded yields a page as Added and, if others follow, adds it to given.
func (w *watcher[T]) yieldAdded(page *EncodedList, known map[types.NamespacedName]Encoded) error {
	for _, e := range page.Items {
		if page.Continue != "" {
			known[e.Key] = e
		}
		if !w.deliver(Added, e) {
			return errStop
		}
	}
	return nil
}

// yieldChanges yields the differences between a second list and the pages that were yielded of the first,
// whose later pages had expired.
func (w *watcher[T]) yieldChanges(page *EncodedList, known map[types.NamespacedName]Encoded) error {
	for _, e := range page.Items {
		typ := Added
		if old, ok := known[e.Key]; ok {
			delete(known, e.Key)
			switch {
			case old.UID != e.UID:
				if !w.deliver(Deleted, old) {
					return errStop
				}
			case old.ResourceVersion == e.ResourceVersion:
				continue
			default:
				typ = Modified
			}
		}
		if !w.deliver(typ, e) {
			return errStop
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(known), types.NamespacedName.Compare) {
		if !w.deliver(Deleted, known[key]) {
			return errStop
		}
	}
	return nil
}

func (w *watcher[T]) deliver(typ EventType, e Encoded) bool {
	obj, err := w.c.Decode(e)
	if err != nil {
		return w.yield(Event[T]{}, err)
	}
	return w.yield(Event[T]{Type: typ, Object: obj}, nil)
}

// connection runs one connection of the watch until it ends.
func (w *watcher[T]) connection(ctx context.Context) error {
	s, err := w.c.WatchEncoded(ctx, EncodedWatchOptions{WatchOptions: w.opts})
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		ev, err := s.Next()
		if err != nil {
			return err
		}
		if ev.Type == Error {
			if _, ok := errors.AsType[*apierrors.StatusError](ev.Err); ok {
				return ev.Err
			}
			if !w.yield(Event[T]{}, ev.Err) {
				return errStop
			}
			continue
		}
		w.tries = 0
		// A bookmark of a server that is behind must not make the watch repeat events.
		if v := ev.Object.ResourceVersion; v != "" && (ev.Type != Bookmark || !metav1.IsOlder(v, w.opts.ResourceVersion)) {
			w.opts.ResourceVersion = strings.Clone(v)
		}
		if ev.Type == Bookmark && !w.opts.Bookmarks {
			continue
		}
		if !w.deliver(ev.Type, ev.Object) {
			return errStop
		}
	}
}

// isRefusal reports whether err means that the request as such cannot succeed.
func isRefusal(err error) bool {
	code := apierrors.CodeOf(err)
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests
}

// isFinal reports whether a watch cannot be resumed after err.
func isFinal(err error) bool { return apierrors.IsExpired(err) || isRefusal(err) }

// retryWait returns how long to wait after n failures in a row: 0, then 0.2 s doubling to 30 s, the upper
// half of it random.
func retryWait(ctx context.Context, n int) time.Duration {
	return backoff.Policy{Initial: 100 * time.Millisecond, Max: 15 * time.Second, Jitter: 1}.Delay(ctx, n)
}
