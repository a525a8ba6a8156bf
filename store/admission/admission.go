// Package admission defines the plugins that handle every create, update, delete and connect request after
// authorization: first those that may change the object, then those that may only refuse it. They do not
// handle reads.
//
// Tests of what depends on the rights of users, such as those of the plugins for certificates, are in
// store/controlplane.
package admission

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/authn"
)

// Operation is the kind of a request.
type Operation string

const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// Attributes describe one request to plugins. A Mutator may change Object in place; it must not be kept after
// the call. Old must not be changed.
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
	// WebhookWait, if not nil, is increased by the times spent waiting for webhooks.
	WebhookWait *WebhookWait
	// Versions converts Object to the other versions of its resource; nil if there are none.
	Versions Versions
	// Round is the state that mutating plugins keep between their two rounds; nil outside of them.
	Round *Round
}

// Versions converts the objects of one resource between the versions at which it is served.
type Versions interface {
	// Served returns the resources, of any group and version, that serve the same objects.
	Served() []Served
	// Convert returns a copy of obj converted to another kind of Served.
	Convert(ctx context.Context, obj metav1.Object, from, to schema.GroupVersionKind) (metav1.Object, error)
	// Decode reads an object of a kind of Served from JSON, prunes it and fills its defaults.
	Decode(data []byte, kind schema.GroupVersionKind) (metav1.Object, error)
	// Merge returns a copy of obj, of a kind of Served, with an apply configuration merged into it.
	Merge(ctx context.Context, obj metav1.Object, config map[string]any, kind schema.GroupVersionKind) (metav1.Object, error)
}

// Served is one version of a resource.
type Served struct {
	Resource schema.GroupVersionResource
	Kind     schema.GroupVersionKind
}

// Plugin is a named member of the chain that implements Mutator, Validator or both.
type Plugin interface {
	// Name is the plugin's name in --enable-admission-plugins.
	Name() string
	// Handles reports whether the plugin handles requests of this kind.
	Handles(op Operation) bool
}

// Mutator is a plugin that may change Attributes.Object. An error refuses the request: with 403, or with the
// code and reason of an *apierrors.StatusError.
type Mutator interface {
	Plugin
	Admit(ctx context.Context, a *Attributes) error
}

// Validator is a plugin that may refuse a request, as a Mutator does, but not change it.
type Validator interface {
	Plugin
	Validate(ctx context.Context, a *Attributes) error
}
