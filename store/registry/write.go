package registry

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/admission"
)

// Write are the options of a write. The zero value is an ordinary write.
type Write struct {
	// DryRun does everything but store the object.
	DryRun bool
	// FieldManager becomes the owner of the fields written; empty means kube-apiserver.
	FieldManager string
	// Warn sends a warning to the client; nil drops it.
	Warn func(text string)
	// Annotate adds to the audit event; nil drops it.
	Annotate func(key, value string)
	// Admitted skips admission, because the request that the write is a part of was admitted.
	Admitted bool
	// WebhookWait, if not nil, is increased by the times spent waiting for admission webhooks.
	WebhookWait *admission.WebhookWait
	// Options are the request's decoded *metav1.CreateOptions, UpdateOptions, PatchOptions or DeleteOptions,
	// for admission.
	Options any
	// Tracked skips the update of managedFields, because Apply made the object.
	Tracked bool
	// Subresource is the one written to, such as status; empty for the resource itself.
	Subresource string
	// Body is the body of the request if it is of another kind than the resource's objects; nil otherwise.
	Body *Body
}

// Body is an object that stands for a change of another one, such as a Scale. Admission plugins get it in
// place of that one.
type Body struct {
	Kind      schema.GroupVersionKind
	Operation admission.Operation
	// Object is the body that was sent; Old, for an update, the one it replaces.
	Object, Old metav1.Object
	// Apply, if set, is called after the mutating plugins, which may have changed Object, to apply it again
	// to obj, the object to be stored.
	Apply func(obj metav1.Object) error
}

// reapplyBody applies the body to the object again after the mutating plugins have run.
func (w Write) reapplyBody(obj metav1.Object) error {
	if w.Body == nil || w.Body.Apply == nil {
		return nil
	}
	return w.Body.Apply(obj)
}

func (w Write) warn(text string) {
	if w.Warn != nil {
		w.Warn(text)
	}
}
