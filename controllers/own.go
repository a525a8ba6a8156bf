package controllers

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
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
	ref, err := events.Reference(s, owner)
	if err != nil {
		return fmt.Errorf("controllers: cannot own %s: %w", metav1.KeyOf(obj), err)
	}
	if ref.UID == "" {
		return fmt.Errorf("controllers: %s %s cannot own %s: it has no uid; read it from the server first", ref.Kind, metav1.KeyOf(owner), metav1.KeyOf(obj))
	}
	if ref.Namespace != "" && ref.Namespace != obj.GetNamespace() {
		return fmt.Errorf("controllers: %s %s cannot own %s: a namespaced owner must be in the same namespace", ref.Kind, metav1.KeyOf(owner), metav1.KeyOf(obj))
	}
	m := metav1.MetaOf(obj)
	own := metav1.NewControllerRef(owner, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	if now := metav1.ControllerOf(obj); now != nil && now.UID != own.UID {
		return &OwnedError{Key: metav1.KeyOf(obj), Owner: *now}
	}
	refs := make([]metav1.OwnerReference, 0, len(m.OwnerReferences)+1)
	for _, r := range m.OwnerReferences {
		if r.UID != own.UID {
			refs = append(refs, r)
		}
	}
	m.OwnerReferences = append(refs, own)
	return nil
}
