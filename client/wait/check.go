package wait

import (
	"errors"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/jsonpath"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/readiness"
)

// Exists waits until the object exists.
func Exists(obj metav1.Object) error {
	if obj == nil {
		return errAbsent
	}
	return nil
}

// Deleted waits until the object does not exist. See [DeletedUID] for an object whose name may be used again.
func Deleted(obj metav1.Object) error {
	switch {
	case obj == nil:
		return nil
	case !metav1.IsTerminating(obj):
		return NotYet("it exists and is not being deleted")
	case len(obj.GetFinalizers()) > 0:
		return NotYet("it is being deleted and has the finalizers %q", obj.GetFinalizers())
	}
	return NotYet("it is being deleted")
}

// DeletedUID waits until the object of obj's UID does not exist; another one may have its name.
func DeletedUID(obj metav1.Object) Check {
	uid := metav1.MetaOf(obj).UID
	return func(now metav1.Object) error {
		if now != nil && metav1.MetaOf(now).UID != uid {
			return nil
		}
		return Deleted(now)
	}
}

// Ready waits until the object is Current by package readiness. It waits on while the object is Failed,
// because what is Failed may resolve itself; see [ReadyOrFailed].
func Ready(obj metav1.Object) error {
	r := readiness.Of(obj)
	if r.Status == readiness.Current {
		return nil
	}
	return &Pending{Reason: r.String(), RecheckAfter: r.RecheckAfter}
}

// ReadyOrFailed is Ready, but stops with a [*FailedError] if the object is Failed.
func ReadyOrFailed(obj metav1.Object) error {
	if r := readiness.Of(obj); r.Status == readiness.Failed {
		return &FailedError{Result: r}
	}
	return Ready(obj)
}

// FailedError reports an object that is Failed.
type FailedError struct{ Result readiness.Result }

// Error returns the message of the result.
func (e *FailedError) Error() string { return e.Result.String() }

// Condition waits until the condition of a type has a status, True if status is empty. A condition that was
// observed at an older generation than the object's does not count.
func Condition(typ, status string) Check {
	if status == "" {
		status = "True"
	}
	return func(obj metav1.Object) error {
		if obj == nil {
			return errAbsent
		}
		var o struct {
			Status struct {
				Conditions []metav1.Condition `json:"conditions"`
			} `json:"status"`
		}
		raw, err := codec.Marshal(obj)
		if err != nil {
			return err
		}
		if err := codec.Unmarshal(raw, &o); err != nil {
			return fmt.Errorf("the conditions are malformed: %w", err)
		}
		c := metav1.FindCondition(o.Status.Conditions, typ)
		switch {
		case c == nil:
			return NotYet("it has no condition %s", typ)
		case c.ObservedGeneration != 0 && c.ObservedGeneration < obj.GetGeneration():
			return NotYet("condition %s is of generation %d, and the object's is %d", typ, c.ObservedGeneration, obj.GetGeneration())
		case string(c.Status) != status:
			return NotYet("condition %s is %s: %s: %s", typ, c.Status, c.Reason, c.Message)
		}
		return nil
	}
}

// Path waits until a JSONPath, such as {.status.phase}, leads to a value whose text is want; an empty want
// accepts any. The braces may be left out. A path that cannot be parsed stops the wait.
func Path(path, want string) Check {
	parsed, bad := jsonpath.Parse(path)
	return func(obj metav1.Object) error {
		if bad != nil {
			return bad
		}
		if obj == nil {
			return errAbsent
		}
		tree, err := manifest.ToMap(obj)
		if err != nil {
			return err
		}
		found := parsed.Find(tree)
		switch {
		case len(found) == 0:
			return NotYet("%s leads to nothing", path)
		case len(found) > 1:
			return NotYet("%s leads to %d values", path, len(found))
		}
		if got := formatValue(found[0]); want != "" && got != want {
			return NotYet("%s is %q", path, got)
		}
		return nil
	}
}

// formatValue is a value as text: a string as it is, anything else as JSON.
func formatValue(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	raw, err := codec.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// Not waits until a check would wait on, of an object that exists or not.
func Not(check Check) Check {
	return func(obj metav1.Object) error {
		switch err := check(obj); {
		case err == nil:
			return NotYet("it still is as before")
		case isPending(err):
			return nil
		default:
			return err
		}
	}
}

// All waits until an object is as several checks demand at once.
func All(checks ...Check) Check {
	return func(obj metav1.Object) error {
		var pending *Pending
		for _, check := range checks {
			err := check(obj)
			p, ok := errors.AsType[*Pending](err)
			if err != nil && !ok {
				return err
			}
			if err != nil && pending == nil {
				pending = p
			}
		}
		if pending != nil {
			return pending
		}
		return nil
	}
}
