package client

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/patch"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// PatchFromOptions configure how the patch between two states of an object is made and sent.
type PatchFromOptions struct {
	PatchOptions
	// Strategic makes a strategic merge patch, which merges lists by key, in place of a JSON merge patch,
	// which replaces them. Custom resources have no strategic merge patches.
	Strategic bool
	// Lock makes the patch fail with a conflict if the object has changed since before was read.
	Lock bool
}

// PatchBetween returns the patch that makes after of before, two states of one object. A patch that changes
// nothing is [Patch.Empty], with Lock too. The objects are only read.
func PatchBetween(before, after metav1.Object, o PatchFromOptions) (Patch, error) {
	p := Patch{Type: types.MergePatchType}
	if t := reflect.TypeOf(after); t != reflect.TypeOf(before) {
		return p, fmt.Errorf("client: cannot make a patch between a %T and a %T", before, after)
	}
	from, err := codec.Marshal(before)
	if err != nil {
		return p, fmt.Errorf("client: encode the object before the change: %w", err)
	}
	to, err := codec.Marshal(after)
	if err != nil {
		return p, fmt.Errorf("client: encode the changed object: %w", err)
	}
	if o.Strategic {
		switch before.(type) {
		case *metav1.Unstructured, *metav1.PartialObjectMetadata:
			return p, fmt.Errorf("client: a strategic merge patch needs the Go type of the kind, not %T: use a JSON merge patch", before)
		}
		p.Type = types.StrategicMergePatchType
		p.Data, err = patch.CreateTwoWayStrategic(from, to, reflect.TypeOf(before))
	} else {
		p.Data, err = patch.CreateMerge(from, to)
	}
	if err != nil {
		return p, fmt.Errorf("client: make a patch: %w", err)
	}
	if p.Empty() || !o.Lock {
		return p, nil
	}
	return p.locked(before.GetResourceVersion())
}

// Empty reports whether a merge patch changes nothing.
func (p Patch) Empty() bool { return string(p.Data) == "{}" }

// locked returns a merge patch that fails unless the object has a version.
func (p Patch) locked(version string) (Patch, error) {
	if version == "" {
		return p, errors.New("client: a patch with Lock needs the resourceVersion of the object before the change")
	}
	var tree map[string]any
	if err := codec.Unmarshal(p.Data, &tree); err != nil {
		return p, err
	}
	meta, _ := tree["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["resourceVersion"] = version
	tree["metadata"] = meta
	var err error
	p.Data, err = codec.Marshal(tree)
	return p, err
}

// PatchFrom sends the patch that makes after of before, see [PatchBetween], and returns the object as stored.
// If nothing has changed it sends nothing and returns after.
func PatchFrom[T metav1.Object](ctx context.Context, c *Client[T], before, after T, o PatchFromOptions) (T, error) {
	var zero T
	if err := c.checkObject(after); err != nil {
		return zero, err
	}
	p, err := PatchBetween(before, after, o)
	if err != nil {
		return zero, err
	}
	if p.Empty() {
		return after, nil
	}
	return c.Patch(ctx, metav1.KeyOf(before), p, o.PatchOptions)
}

// Outcome is what a conditional write did.
type Outcome string

const (
	// Unchanged means that the object was as wanted.
	Unchanged Outcome = "unchanged"
	// Created means that the object did not exist.
	Created Outcome = "created"
	// Updated means that the object was changed.
	Updated Outcome = "updated"
)

// CreateOrUpdate makes the object of obj's key as change wants it. If it exists, change is called with it,
// and it is written if that changed its meaning; else change is called with a copy of obj, which is created.
// Conflicts with other writers are retried, so change may be called several times. Its errors are returned
// unchanged, and ErrNoChange leaves the object as it is: an object that does not exist is then not created,
// and the result is zero.
//
// The object is read from the server, or first from a cache, such as informers.Lister.Reader, if one is
// given: an object that is cached as wanted costs no request, and one that is to be written costs one. If a
// write that follows from what the cache has fails with Conflict, AlreadyExists or NotFound, the object is
// read from the server. Callers only read the object that is returned, which may be the cached one.
//
// Two states mean the same if they differ in nil and empty lists, in the notation of quantities and times,
// and in fields whose value is the kind's default. Defaults are known of kinds whose rules are in the scheme
// of the connection, see scheme.SetRules and api.AddRules. Without them an object that lacks defaults is
// sent, and the outcome is Unchanged if the server finds no difference. The status is not written.
func CreateOrUpdate[T metav1.Object](ctx context.Context, c *Client[T], obj T, change func(obj T) error, cache ...Reader[T]) (T, Outcome, error) {
	var out T
	did := Unchanged
	if err := c.checkObject(obj); err != nil {
		return out, did, err
	}
	raced := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	if len(cache) > 0 {
		out, did, err := createOrUpdate(ctx, c, cache[0], obj, change)
		if err == nil || !raced(err) && !apierrors.IsNotFound(err) {
			return out, did, err
		}
	}
	err := Retry(ctx, RetryPolicy{On: raced}, func(ctx context.Context) (err error) {
		out, did, err = createOrUpdate(ctx, c, c, obj, change)
		return err
	})
	return out, did, err
}

func createOrUpdate[T metav1.Object](ctx context.Context, c *Client[T], from Reader[T], obj T, change func(T) error) (out T, did Outcome, err error) {
	now, err := from.Get(ctx, metav1.KeyOf(obj))
	if err == nil {
		out, err = c.changed(ctx, now, change, c.Update)
		if err == nil && out.GetResourceVersion() != now.GetResourceVersion() {
			return out, Updated, nil
		}
		return out, Unchanged, err
	}
	if !apierrors.IsNotFound(err) {
		return out, Unchanged, err
	}
	wanted, err := c.copy(obj)
	if err != nil {
		return out, Unchanged, err
	}
	if err := change(wanted); errors.Is(err, ErrNoChange) {
		return out, Unchanged, nil
	} else if err != nil {
		return out, Unchanged, err
	}
	if err := sameKey(obj, wanted); err != nil {
		return out, Unchanged, err
	}
	out, err = c.Create(ctx, wanted)
	return out, Created, err
}

// changed calls change with a copy of now, which was read from the server, and writes the copy if its meaning
// has changed. It returns the object as stored.
func (c *Client[T]) changed(ctx context.Context, now T, change func(T) error, write func(context.Context, T, ...UpdateOptions) (T, error)) (T, error) {
	var zero T
	obj, err := c.copy(now)
	if err != nil {
		return zero, err
	}
	if err := change(obj); errors.Is(err, ErrNoChange) {
		return now, nil
	} else if err != nil {
		return zero, err
	}
	if err := sameKey(now, obj); err != nil {
		return zero, err
	}
	if c.sameMeaning(now, obj) {
		return now, nil
	}
	return write(ctx, obj)
}

// sameKey refuses a change of the object's key.
func sameKey(before, after metav1.Object) error {
	if a, b := metav1.KeyOf(before), metav1.KeyOf(after); a != b {
		return fmt.Errorf("client: the change renames %s to %s, which a write cannot do", a, b)
	}
	return nil
}

// copy returns a copy of obj: by its encoding if its type holds pointers that cannot be followed, as some of
// k8s.io do.
func (c *Client[T]) copy(obj T) (T, error) {
	var zero T
	if _, err := codec.PlanOf(c.typ); err == nil {
		return codec.DeepCopy(obj), nil
	}
	raw, err := codec.Marshal(obj)
	if err != nil {
		return zero, fmt.Errorf("client: encode %s: %w", c.res.GVK.Kind, err)
	}
	out := reflect.New(c.typ).Interface().(T)
	if err := codec.Unmarshal(raw, out); err != nil {
		return zero, fmt.Errorf("client: copy %s: %w", c.res.GVK.Kind, err)
	}
	return out, nil
}

// sameMeaning reports whether two states are equal, or would be with the defaults of the kind.
func (c *Client[T]) sameMeaning(a, b T) bool {
	if codec.Equal(a, b) {
		return true
	}
	info := c.conn.Scheme().ForObject(b)
	if info == nil || info.Rules.Default == nil {
		return false
	}
	a, errA := c.copy(a)
	b, errB := c.copy(b)
	if errA != nil || errB != nil {
		return false
	}
	info.Rules.Default(a)
	info.Rules.Default(b)
	return codec.Equal(a, b)
}

// AddFinalizer adds finalizers to the object that obj is a state of, with one write, and returns the object
// as stored. It sends nothing if obj has them. Finalizers that others add or remove meanwhile are kept. An
// object that is being deleted is an error: the server refuses new finalizers.
func AddFinalizer[T metav1.Object](ctx context.Context, c *Client[T], obj T, finalizers ...string) (T, error) {
	return changeFinalizers(ctx, c, obj, func(obj T) (bool, error) {
		missing := slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return metav1.HasFinalizer(obj, f) })
		if len(missing) > 0 && metav1.IsTerminating(obj) {
			return false, fmt.Errorf("client: %s %s is being deleted and takes no finalizer", c.res.GVK.Kind, metav1.KeyOf(obj))
		}
		for _, f := range missing {
			metav1.AddFinalizer(obj, f)
		}
		return len(missing) > 0, nil
	})
}

// RemoveFinalizer removes finalizers from the object that obj is a state of, with one write, and returns the
// object as stored, or as before the removal if the server has then deleted it. It sends nothing if obj has
// none of them, and an object that does not exist any longer is no error.
func RemoveFinalizer[T metav1.Object](ctx context.Context, c *Client[T], obj T, finalizers ...string) (T, error) {
	out, err := changeFinalizers(ctx, c, obj, func(obj T) (bool, error) {
		removed := false
		for _, f := range finalizers {
			removed = metav1.RemoveFinalizer(obj, f) || removed
		}
		return removed, nil
	})
	if apierrors.IsNotFound(err) {
		return obj, nil
	}
	return out, err
}

// changeFinalizers patches the finalizers of an object, with the version they were read at; after a conflict
// it reads the object again.
func changeFinalizers[T metav1.Object](ctx context.Context, c *Client[T], obj T, change func(T) (bool, error)) (T, error) {
	var out T
	if err := c.checkObject(obj); err != nil {
		return out, err
	}
	now, uid := obj, metav1.MetaOf(obj).UID
	err := Retry(ctx, RetryPolicy{}, func(ctx context.Context) error {
		if metav1.MetaOf(now).UID != uid {
			// Another object of the name.
			return apierrors.NewNotFound(c.res.GVR.GroupResource(), obj.GetName())
		}
		next, err := c.copy(now)
		if err != nil {
			return err
		}
		if do, err := change(next); err != nil || !do {
			out = now
			return err
		}
		out, err = PatchFrom(ctx, c, now, next, PatchFromOptions{Lock: true})
		if apierrors.IsConflict(err) {
			fresh, readErr := c.Get(ctx, metav1.KeyOf(obj))
			if readErr != nil {
				return readErr
			}
			now = fresh
		}
		return err
	})
	return out, err
}
