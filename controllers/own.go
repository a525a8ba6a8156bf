package controllers

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
)

// OwnedError says that an object has another controller already.
type OwnedError struct {
	// Key of the object.
	Key types.NamespacedName
	// Owner is its controller.
	Owner metav1.OwnerReference
}

// Error names both.
func (e *OwnedError) Error() string {
	return fmt.Sprintf("controllers: %s is controlled by %s %s already", e.Key, e.Owner.Kind, e.Owner.Name)
}

// Own makes owner the controller of obj, in memory: written with it, obj is collected when owner is gone, and
// [Owns] enqueues owner when obj changes. s names the owner's kind. It fails, and changes nothing, with an
// *OwnedError if obj has another controller, and with an error that says why if such a reference would not
// work: owner has no uid because it was not read from a server, or lives in another namespace, where the
// garbage collector takes it for gone.
func Own(s *scheme.Scheme, owner, obj metav1.Object) error {
	ref, err := events.Reference(s, owner)
	if err != nil {
		return fmt.Errorf("controllers: cannot own %s: %w", metav1.KeyOf(obj), err)
	}
	if ref.UID == "" {
		return fmt.Errorf("controllers: %s %s cannot own %s: it has no uid; read it from the server first", ref.Kind, metav1.KeyOf(owner), metav1.KeyOf(obj))
	}
	if ref.Namespace != "" && ref.Namespace != obj.GetNamespace() {
		return fmt.Errorf("controllers: %s %s cannot own %s: an owner in a namespace owns objects of that namespace only", ref.Kind, metav1.KeyOf(owner), metav1.KeyOf(obj))
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
