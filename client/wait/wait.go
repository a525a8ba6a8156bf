// Package wait waits until an object is as a check demands, by watching it:
//
//	pod, err := wait.For(ctx, pods, key, wait.Ready)
//	_, err = wait.For(ctx, sites, key, wait.Condition("Published", "True"))
//	_, err = wait.For(ctx, jobs, key, wait.Deleted)
//
// It needs the rights to list and watch, for the one name only. It survives closed connections, restarts of
// the server and versions that expire: after a gap the object is read again, so the check sees its latest
// state, though not every state between. When ctx ends, the error has the last state and what the check said
// of it.
package wait

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// Check judges a state of an object, nil if the object does not exist. It returns nil if the state is what is
// waited for, an error of [NotYet] to wait on, and any other error to stop waiting. It must not keep or
// change the object.
type Check func(obj metav1.Object) error

// Pending says what is missing.
type Pending struct {
	// Reason is a sentence, such as "1 of 3 replicas are ready".
	Reason string
	// RecheckAfter, if not zero, is the time after which the check is repeated although the object has not
	// changed.
	RecheckAfter time.Duration
}

// Error returns the reason.
func (p *Pending) Error() string { return p.Reason }

// NotYet returns the error of a check that makes For wait on.
func NotYet(format string, args ...any) error { return &Pending{Reason: fmt.Sprintf(format, args...)} }

// That makes a check of a function of one Go type. An object that does not exist is waited for.
func That[T metav1.Object](check func(obj T) error) Check {
	return func(obj metav1.Object) error {
		if obj == nil {
			return errAbsent
		}
		typed, ok := obj.(T)
		if !ok {
			var want T
			return fmt.Errorf("wait: the check is for a %T, not for a %T", want, obj)
		}
		return check(typed)
	}
}

var errAbsent = NotYet("it does not exist")

// Error reports that an object did not become as a check demands.
type Error struct {
	// Kind and Key name the object.
	Kind string
	Key  types.NamespacedName
	// Last is the last state seen, or nil if the object did not exist or could not be read.
	Last metav1.Object
	// Reason is what the check said of the last state, or the failure to read it.
	Reason string
	// Err is why the wait ended: the cause of the end of ctx, the error of the check, or that of the server.
	Err error
}

// Error names the object and the reason.
func (e *Error) Error() string {
	s := fmt.Sprintf("wait: %s %s: %v", e.Kind, e.Key, e.Err)
	if e.Reason != "" && e.Reason != e.Err.Error() {
		s += ": " + e.Reason
	}
	return s
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// For waits until check returns nil for the object of a key, and returns that state; zero if it does not
// exist. It returns an *Error if ctx ends first, if check stops it, or if the server refuses to let the
// object be watched.
func For[T metav1.Object](ctx context.Context, c *client.Client[T], key types.NamespacedName, check Check) (T, error) {
	w := waiter[T]{c: c, key: key, check: check}
	if err := w.run(ctx); err != nil {
		var zero T
		return zero, w.failure(err)
	}
	return w.last, nil
}

type waiter[T metav1.Object] struct {
	c     *client.Client[T]
	key   types.NamespacedName
	check Check
	// last is the last state, if exists, and reason what the check said of it.
	last   T
	exists bool
	reason string
	// recheck is when the check must be repeated.
	recheck time.Duration
}

// errDone ends a watch after the check has returned nil; errAgain makes the object be read again.
var errDone, errAgain = errors.New("done"), errors.New("again")

func (w *waiter[T]) run(ctx context.Context) error {
	if err := w.c.Err(); err != nil {
		return err
	}
	delays := backoff.Policy{Initial: 100 * time.Millisecond, Max: 15 * time.Second, Jitter: 1}
	for failures := 0; ; failures++ {
		begin := time.Now()
		version, err := w.read(ctx)
		if err == nil {
			err = w.watch(ctx, version)
		}
		if time.Since(begin) > delays.Max {
			failures = 0
		}
		switch {
		case errors.Is(err, errDone):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case isStop(err):
			return err
		case errors.Is(err, errAgain): // also delayed: a server may end every watch at once
		default:
			w.reason = err.Error()
		}
		wait := delays.Delay(ctx, failures)
		if after, ok := apierrors.RetryAfter(err); ok {
			wait = max(wait, after)
		}
		if backoff.Sleep(ctx, wait) != nil {
			return context.Cause(ctx)
		}
	}
}

// stop is an error that ends the wait.
type stop struct{ error }

func (s stop) Unwrap() error { return s.error }

// isStop reports whether err is the check's, or a refusal of the server.
func isStop(err error) bool {
	if _, ok := errors.AsType[stop](err); ok {
		return true
	}
	if _, ok := errors.AsType[*client.DecodeError](err); ok {
		return true
	}
	code := apierrors.CodeOf(err)
	return code >= 400 && code < 500 && code != 408 && code != 410 && code != 429
}

// read lists the object, judges it, and returns the version of the list.
func (w *waiter[T]) read(ctx context.Context) (version string, err error) {
	list, err := w.c.List(ctx, client.ListOptions{Namespace: w.key.Namespace, FieldSelector: w.selector()})
	var obj T
	switch {
	case apierrors.IsNotFound(err):
		// The kind is not served, so there is no such object. Only a check that wants that is content.
		if judged := w.evaluate(obj, false); judged != nil && !isPending(judged) {
			return "", judged
		}
		return "", err
	case err != nil:
		return "", err
	case len(list.Items) > 0:
		obj = list.Items[0]
	}
	err = w.evaluate(obj, len(list.Items) > 0)
	if isPending(err) {
		err = nil
	}
	return list.ResourceVersion, err
}

func (w *waiter[T]) selector() fields.Selector { return fields.OneEqual("metadata.name", w.key.Name) }

// evaluate calls the check. It returns errDone, an error that stops, or a *Pending.
func (w *waiter[T]) evaluate(obj T, exists bool) error {
	w.last, w.exists, w.recheck = obj, exists, 0
	var given metav1.Object
	if exists {
		given = obj
	}
	err := w.check(given)
	if err == nil {
		return errDone
	}
	w.reason = err.Error()
	if p, ok := errors.AsType[*Pending](err); ok {
		w.recheck = p.RecheckAfter
		return err
	}
	return stop{err}
}

func isPending(err error) bool {
	_, ok := errors.AsType[*Pending](err)
	return ok
}

// watch judges every change after version.
func (w *waiter[T]) watch(ctx context.Context, version string) error {
	for {
		err := w.watchUntil(ctx, &version)
		if err == nil {
			continue // with another time of the next check
		}
		if !errors.Is(err, errRecheck) {
			return err
		}
		if err := w.evaluate(w.last, w.exists); !isPending(err) {
			return err
		}
	}
}

var errRecheck = errors.New("recheck")

// watchUntil judges every change after version, until the check is to be repeated, or says when it is.
func (w *waiter[T]) watchUntil(ctx context.Context, version *string) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if w.recheck > 0 {
		timer := time.AfterFunc(w.recheck, func() { cancel(errRecheck) })
		defer timer.Stop()
	}
	o := client.WatchOptions{Namespace: w.key.Namespace, FieldSelector: w.selector(), ResourceVersion: *version, Bookmarks: true}
	for ev, err := range w.c.Watch(inner, o) {
		if err != nil {
			if apierrors.IsExpired(err) || apierrors.IsNotFound(err) {
				return errAgain // a version that is too old, or a kind that is not served any longer
			}
			return err
		}
		*version = ev.Object.GetResourceVersion()
		if ev.Type == client.Bookmark {
			continue
		}
		var obj T
		if ev.Type != client.Deleted {
			obj = ev.Object
		}
		if err := w.evaluate(obj, ev.Type != client.Deleted); !isPending(err) {
			return err
		}
		if w.recheck > 0 {
			return nil
		}
	}
	if ctx.Err() == nil && context.Cause(inner) == errRecheck {
		return errRecheck
	}
	return errAgain
}

func (w *waiter[T]) failure(err error) *Error {
	if s, ok := errors.AsType[stop](err); ok {
		err = s.error
	}
	e := &Error{Kind: w.c.Resource().GVK.Kind, Key: w.key, Reason: w.reason, Err: err}
	if e.Kind == "" {
		e.Kind = w.c.Resource().GVR.Resource
	}
	if w.exists {
		e.Last = w.last
	}
	return e
}
