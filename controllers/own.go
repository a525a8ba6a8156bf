package controllers

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
)

// OwnedError is returned by [Own] for an object that already has another controller.
type OwnedError struct {
	// Key of the object.
	Key types.NamespacedName
	// Owner is the object's controller.
	Owner metav1.OwnerReference
}

// Error implements error.
func (e *OwnedError) Error() string {
	return fmt.Sprintf("controllers: %s is already controlled by %s %s", e.Key, e.Owner.Kind, e.Owner.Name)
}

// Own adds an owner reference to obj, in memory, that makes owner its controller. Once obj is written with
// it, obj is garbage collected after owner is deleted, and [Owns] enqueues owner when obj changes. The kind
// of owner is looked up in s.
//
// Own returns an *OwnedError if obj has another controller. It also fails for references that the garbage
// collector would treat as dangling: owner has no UID, because it was not read from a server, or owner is in
// another namespace than obj. In case of an error obj is unchanged.
func Own(s *scheme.Scheme, owner, obj metav1.Object) error {
	own, err := ownerRef(s, owner, obj)
	if err != nil {
		return err
	}
	if now := metav1.ControllerOf(obj); now != nil && now.UID != own.UID {
		return &OwnedError{Key: metav1.KeyOf(obj), Owner: *now}
	}
	own.Controller, own.BlockOwnerDeletion = new(true), new(true)
	setOwner(obj, own)
	return nil
}

// AddOwner adds an owner reference to obj, in memory, that does not make owner its controller: an object may
// have many such owners, and is garbage collected after all of them are deleted. An owner that already is the
// controller stays it. The errors are those of [Own] without *OwnedError.
func AddOwner(s *scheme.Scheme, owner, obj metav1.Object) error {
	own, err := ownerRef(s, owner, obj)
	if err != nil {
		return err
	}
	if !metav1.IsControlledBy(obj, own.UID) {
		setOwner(obj, own)
	}
	return nil
}

// RemoveOwner removes the references to owner from obj, in memory, and reports whether there were any.
func RemoveOwner(owner, obj metav1.Object) bool {
	m, uid := metav1.MetaOf(obj), metav1.MetaOf(owner).UID
	kept := withoutOwner(m.OwnerReferences, uid)
	removed := len(kept) < len(m.OwnerReferences)
	if removed {
		m.OwnerReferences = kept
	}
	return removed
}

// ownerRef returns a reference to owner that the garbage collector will not treat as dangling.
func ownerRef(s *scheme.Scheme, owner, obj metav1.Object) (metav1.OwnerReference, error) {
	ref, err := events.Reference(s, owner)
	if err != nil {
		return metav1.OwnerReference{}, fmt.Errorf("controllers: cannot own %s: %w", metav1.KeyOf(obj), err)
	}
	if ref.UID == "" {
		return metav1.OwnerReference{}, fmt.Errorf("controllers: %s %s cannot own %s: it has no uid; read it from the server first", ref.Kind, metav1.KeyOf(owner), metav1.KeyOf(obj))
	}
	if ref.Namespace != "" && ref.Namespace != obj.GetNamespace() {
		return metav1.OwnerReference{}, fmt.Errorf("controllers: %s %s cannot own %s: a namespaced owner must be in the same namespace", ref.Kind, metav1.KeyOf(owner), metav1.KeyOf(obj))
	}
	return metav1.OwnerReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}, nil
}

// setOwner puts a reference in the place of those with its UID, at the end.
func setOwner(obj metav1.Object, ref metav1.OwnerReference) {
	m := metav1.MetaOf(obj)
	m.OwnerReferences = append(withoutOwner(m.OwnerReferences, ref.UID), ref)
}

// withoutOwner returns a copy of refs without those to uid.
func withoutOwner(refs []metav1.OwnerReference, uid types.UID) []metav1.OwnerReference {
	out := make([]metav1.OwnerReference, 0, len(refs)+1)
	for _, r := range refs {
		if r.UID != uid {
			out = append(out, r)
		}
	}
	return out
}
