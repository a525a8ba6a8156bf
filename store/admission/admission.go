// Package admission defines the plugins that see every create, update, delete and connect request
// after authorization: first those that may change the object, then those that may only refuse it.
// Reads never reach them.
package admission

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/authn"
)

// Operation is what a request does.
type Operation string

// The operations.
const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// Attributes is one request as plugins see it. Object may be changed in place by a Mutator; it must
// not be kept after the call. Old is never changed.
type Attributes struct {
	Operation   Operation
	Kind        schema.GroupVersionKind
	Resource    schema.GroupVersionResource
	Subresource string
	Namespace   string
	// Name is empty for a create whose name is still to be generated.
	Name   string
	User   *authn.User
	DryRun bool
	// Object is the new state; nil for Delete. For a connect or a subresource with a body of its own kind it is that body.
	Object metav1.Object
	// Old is the stored state for Update and Delete; nil otherwise.
	Old metav1.Object
	// Body is the request's body where it is no metav1.Object with storage (a Scale, a Binding, PodExecOptions); nil otherwise.
	Body any
	// Options are the decoded *metav1.CreateOptions, UpdateOptions, PatchOptions or DeleteOptions.
	Options any
	// Warn sends a warning to the client. Never nil.
	Warn func(text string)
	// Annotate adds to the audit event. Never nil.
	Annotate func(key, value string)
}

// Plugin is a named member of the chain that implements Mutator, Validator or both.
type Plugin interface {
	// Name is the name --enable-admission-plugins knows it by.
	Name() string
	// Handles says whether the plugin wants requests of this kind at all.
	Handles(op Operation) bool
}

// Mutator may change Attributes.Object. An error refuses the request; make it an *apierrors.StatusError to choose code and reason.
type Mutator interface {
	Plugin
	Admit(ctx context.Context, a *Attributes) error
}

// Validator may refuse but not change.
type Validator interface {
	Plugin
	Validate(ctx context.Context, a *Attributes) error
}
