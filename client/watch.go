package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Event is a change to an object.
type Event[T metav1.Object] struct {
	// Type is Added, Modified, Deleted or, if asked for, Bookmark.
	Type EventType
	// Object after the change; the last state for Deleted; for Bookmark only its resourceVersion is set.
	Object T
}

// Watch iterates over changes of the selected objects, after ResourceVersion or, if that is empty,
// after first giving every existing object as Added. It ends without an error when ctx ends.
//
// Closed connections, timeouts, server errors and silence are recovered from: the watch resumes after the
// last version seen, so nothing is lost and nothing is given twice. It ends with an error when resuming is
// impossible (apierrors.IsExpired: list again), when the server refuses the request, when the reading of what
// exists fails, and when what answers first is no API server. OnRetry is told of everything else. An event
// that cannot be decoded is given as a *DecodeError and the iteration goes on.
func (c *Client[T]) Watch(ctx context.Context, o WatchOptions) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		if c.err != nil {
			yield(Event[T]{}, c.err)
			return
		}
		w := watching[T]{c: c, o: o, yield: yield}
		if err := w.run(ctx); err != nil && ctx.Err() == nil {
			yield(Event[T]{}, err)
		}
	}
}

// errStop ends a watch whose consumer has had enough.
var errStop = errors.New("stop")

type watching[T metav1.Object] struct {
	c     *Client[T]
	o     WatchOptions
	yield func(Event[T], error) bool
	tries int
}

func (w *watching[T]) run(ctx context.Context) error {
	if w.o.ResourceVersion == "" {
		if err := w.existing(ctx); err != nil {
			return stopped(err)
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
		// Who answers the first time with something else will not become an API server.
		if _, bad := errors.AsType[*DecodeError](err); bad && firstTry {
			return err
		}
		firstTry = false
		wait := backoff(w.tries)
		if after, ok := apierrors.RetryAfter(err); ok {
			wait = max(wait, after)
		}
		w.tries++
		if w.o.OnRetry != nil && !errors.Is(err, io.EOF) {
			w.o.OnRetry(err, wait)
		}
		if !sleep(ctx, wait) {
			return nil
		}
	}
	return nil
}

func stopped(err error) error {
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// existing gives what is there already and notes the version it was read at.
func (w *watching[T]) existing(ctx context.Context) error {
	lo := ListOptions{Namespace: w.o.Namespace, LabelSelector: w.o.LabelSelector, FieldSelector: w.o.FieldSelector, Limit: defaultPage}
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
			delete(given, e.Key) // what became of it is not known
			if !w.yield(Event[T]{}, e) {
				return errStop
			}
		}
		if again {
			err = w.changes(page, given)
		} else {
			err = w.added(page, given)
		}
		if err != nil {
			return err
		}
		w.o.ResourceVersion = page.ResourceVersion
		if lo.Continue = page.Continue; lo.Continue == "" {
			return nil
		}
	}
}

// added gives a page and, if others follow, notes it in given.
func (w *watching[T]) added(page *EncodedList, given map[types.NamespacedName]Encoded) error {
	for _, e := range page.Items {
		if page.Continue != "" {
			given[e.Key] = e
		}
		if !w.give(Added, e) {
			return errStop
		}
	}
	return nil
}

// changes gives how a second reading differs from what was given of the first, whose later pages had expired.
func (w *watching[T]) changes(page *EncodedList, given map[types.NamespacedName]Encoded) error {
	for _, e := range page.Items {
		typ := Added
		if old, ok := given[e.Key]; ok {
			delete(given, e.Key)
			switch {
			case old.UID != e.UID:
				if !w.give(Deleted, old) {
					return errStop
				}
			case old.ResourceVersion == e.ResourceVersion:
				continue
			default:
				typ = Modified
			}
		}
		if !w.give(typ, e) {
			return errStop
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(given), types.NamespacedName.Compare) {
		if !w.give(Deleted, given[key]) {
			return errStop
		}
	}
	return nil
}

func (w *watching[T]) give(typ EventType, e Encoded) bool {
	obj, err := w.c.Decode(e)
	if err != nil {
		return w.yield(Event[T]{}, err)
	}
	return w.yield(Event[T]{Type: typ, Object: obj}, nil)
}

// connection runs one connection of the watch to its end.
func (w *watching[T]) connection(ctx context.Context) error {
	s, err := w.c.WatchEncoded(ctx, EncodedWatchOptions{WatchOptions: w.o})
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
		if v := ev.Object.ResourceVersion; v != "" && (ev.Type != Bookmark || !metav1.IsOlder(v, w.o.ResourceVersion)) {
			w.o.ResourceVersion = cloneString(v)
		}
		if ev.Type == Bookmark && !w.o.Bookmarks {
			continue
		}
		if !w.give(ev.Type, ev.Object) {
			return errStop
		}
	}
}

func cloneString(s string) string { return string([]byte(s)) }

// isRefusal reports whether err says that the request as such cannot succeed.
func isRefusal(err error) bool {
	code := apierrors.CodeOf(err)
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests
}

// isFinal reports whether a watch cannot be resumed after err.
func isFinal(err error) bool { return apierrors.IsExpired(err) || isRefusal(err) }

// backoff is how long to wait after n failures in a row: 0, then 0.2 s doubling to 30 s, the upper half of it
// random.
func backoff(n int) time.Duration {
	if n == 0 {
		return 0
	}
	d := min(200*time.Millisecond<<min(n-1, 10), 30*time.Second)
	return d/2 + rand.N(d/2)
}

// sleep waits for d or until ctx ends, and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
