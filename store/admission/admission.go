// Package admission defines the plugins that see every create, update, delete and connect request
// after authorization: first those that may change the object, then those that may only refuse it.
// Reads never reach them.
package admission

import (
	"context"
	"time"

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
	// Object is the new state; nil for Delete. For a connect or a subresource with a body of its own kind it
	// is that body.
	Object metav1.Object
	// Old is the stored state for Update and Delete; nil otherwise.
	Old metav1.Object
	// Body is the request's body where it is no metav1.Object with storage (a Scale, a Binding,
	// PodExecOptions); nil otherwise.
	Body any
	// Options are the decoded *metav1.CreateOptions, UpdateOptions, PatchOptions or DeleteOptions.
	Options any
	// Warn sends a warning to the client. Never nil.
	Warn func(text string)
	// Annotate adds to the audit event. Never nil.
	Annotate func(key, value string)
	// Outside, if not nil, is what the time that was spent waiting for webhooks is added to.
	Outside *time.Duration
	// Versions are the forms the resource's objects are served in; nil if Object has no other form than its
	// own.
	Versions Versions
	// Round is what mutating plugins keep between their two rounds; nil outside of them.
	Round *Round
}

// Versions converts the objects of one resource between the forms in which it is served.
type Versions interface {
	// Served returns the resources, of any group and version, that show the same objects.
	Served() []Served
	// Convert returns obj, which it leaves alone, in the form of another kind of Served.
	Convert(ctx context.Context, obj metav1.Object, from, to schema.GroupVersionKind) (metav1.Object, error)
	// Decode reads an object of a kind of Served from JSON, prunes it and fills its defaults.
	Decode(data []byte, kind schema.GroupVersionKind) (metav1.Object, error)
	// Merge returns obj, which it leaves alone and which is of a kind of Served, with an apply configuration
	// merged into it.
	Merge(ctx context.Context, obj metav1.Object, config map[string]any, kind schema.GroupVersionKind) (metav1.Object, error)
}

// Served is one form of a resource.
type Served struct {
	Resource schema.GroupVersionResource
	Kind     schema.GroupVersionKind
}

// Plugin is a named member of the chain that implements Mutator, Validator or both.
type Plugin interface {
	// Name is the name --enable-admission-plugins knows it by.
	Name() string
	// Handles says whether the plugin wants requests of this kind at all.
	Handles(op Operation) bool
}

// Mutator may change Attributes.Object. An error refuses the request; make it an *apierrors.StatusError to
// choose code and reason.
type Mutator interface {
	Plugin
	Admit(ctx context.Context, a *Attributes) error
}

// Validator may refuse but not change.
type Validator interface {
	Plugin
	Validate(ctx context.Context, a *Attributes) error
}
