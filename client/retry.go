package client

import (
	"context"
	"errors"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// RetryPolicy determines which errors are retried, and how often. The zero value retries conflicts, with up
// to 16 tries, waiting 10 ms at first, 1.5 times as long each time up to 1 s, half of it random.
type RetryPolicy struct {
	// On reports whether err is retried; nil means apierrors.IsConflict.
	On func(err error) bool
	// Tries is the maximum number of calls of fn; 0 means 16.
	Tries int
	// Wait before the second try and MaxWait before any; 0 means 10 ms and 1 s.
	Wait, MaxWait time.Duration
}

// Retry calls fn until it succeeds or fails with an error that the policy does not retry, the tries are used
// up, or ctx ends. It returns the last error of fn, joined with that of ctx if ctx has ended.
func Retry(ctx context.Context, p RetryPolicy, fn func(ctx context.Context) error) error {
	if p.On == nil {
		p.On = apierrors.IsConflict
	}
	if p.Tries <= 0 {
		p.Tries = 16
	}
	if p.Wait <= 0 {
		p.Wait = 10 * time.Millisecond
	}
	if p.MaxWait <= 0 {
		p.MaxWait = time.Second
	}
	for try := 1; ; try++ {
		err := fn(ctx)
		if err == nil || try == p.Tries || !p.On(err) {
			return err
		}
		wait := p.Wait/2 + backoff.Spread(ctx, p.Wait/2)
		if after, ok := apierrors.RetryAfter(err); ok {
			wait = max(wait, after)
		}
		if backoff.Sleep(ctx, wait) != nil {
			return errors.Join(ctx.Err(), err)
		}
		p.Wait = min(p.Wait*3/2, p.MaxWait)
	}
}

// ErrNoChange, returned by the function given to [Update], [UpdateStatus] or [CreateOrUpdate], leaves the
// object as it is.
var ErrNoChange = errors.New("client: no change")

// Update reads the object key, calls change to modify it and writes it, repeating all of this if it has been
// changed meanwhile. It writes nothing if change has not changed the meaning of the object, see
// [CreateOrUpdate]. It returns the object as stored. An error of change is returned unchanged, except
// ErrNoChange, after which Update returns the object as read.
func Update[T metav1.Object](ctx context.Context, c *Client[T], key types.NamespacedName, change func(obj T) error) (T, error) {
	return update(ctx, c, key, change, c.Update)
}

// UpdateStatus is Update for the status subresource. It is the way to write a status; a status that one
// program owns as a whole may be written with [Client.UpdateStatus], without reading it first.
func UpdateStatus[T metav1.Object](ctx context.Context, c *Client[T], key types.NamespacedName, change func(obj T) error) (T, error) {
	return update(ctx, c, key, change, c.UpdateStatus)
}

func update[T metav1.Object](ctx context.Context, c *Client[T], key types.NamespacedName, change func(T) error, write func(context.Context, T, ...UpdateOptions) (T, error)) (T, error) {
	var out T
	err := Retry(ctx, RetryPolicy{}, func(ctx context.Context) error {
		obj, err := c.Get(ctx, key)
		if err != nil {
			return err
		}
		out, err = c.changed(ctx, obj, change, write)
		return err
	})
	return out, err
}

// GetOrCreate returns the object of obj's key, and creates it as obj if it does not exist.
func GetOrCreate[T metav1.Object](ctx context.Context, c *Client[T], obj T) (T, error) {
	var out T
	if err := c.checkObject(obj); err != nil {
		return out, err
	}
	err := Retry(ctx, RetryPolicy{On: func(err error) bool { return apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) }, Tries: 4}, func(ctx context.Context) (err error) {
		if out, err = c.Get(ctx, metav1.KeyOf(obj)); apierrors.IsNotFound(err) {
			out, err = c.Create(ctx, obj)
			if apierrors.IsNotFound(err) {
				// The namespace does not exist: retrying cannot succeed.
				return &permanentError{err}
			}
		}
		return err
	})
	if n, ok := errors.AsType[*permanentError](err); ok {
		err = n.error
	}
	return out, err
}

type permanentError struct{ error }
