package metav1

import "slices"

// HasFinalizer reports whether obj has a finalizer.
func HasFinalizer(obj Object, finalizer string) bool {
	return slices.Contains(obj.GetFinalizers(), finalizer)
}

// AddFinalizer adds a finalizer to obj and reports whether it was missing. A server refuses new ones on an
// object that is being deleted.
func AddFinalizer(obj Object, finalizer string) bool {
	if HasFinalizer(obj, finalizer) {
		return false
	}
	obj.SetFinalizers(append(slices.Clip(obj.GetFinalizers()), finalizer))
	return true
}

// RemoveFinalizer removes a finalizer from obj and reports whether it was there.
func RemoveFinalizer(obj Object, finalizer string) bool {
	if !HasFinalizer(obj, finalizer) {
		return false
	}
	obj.SetFinalizers(slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return f == finalizer }))
	return true
}

// IsTerminating reports whether obj is being deleted: it has a deletion time and waits for its finalizers or
// its grace period.
func IsTerminating(obj Object) bool { return MetaOf(obj).DeletionTimestamp != nil }
