package client

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// GetOptions are the options of a read of one object.
type GetOptions struct {
	// ResourceVersion: "" reads the latest state; "0" allows any cached state; another version
	// requires a state at least that new.
	ResourceVersion string
}

// ListOptions select objects of a collection.
type ListOptions struct {
	// Namespace limits the list; empty means all namespaces.
	Namespace string
	// LabelSelector and FieldSelector limit the list; zero means everything.
	LabelSelector labels.Selector
	FieldSelector fields.Selector
	// ResourceVersion and ResourceVersionMatch choose the state that is read; both empty means the latest.
	ResourceVersion      string
	ResourceVersionMatch metav1.ResourceVersionMatch
	// Limit is the page size; 0 means all in one page for List and 500 for All.
	Limit int64
	// Continue is the token of the next page.
	Continue string
}

// WatchOptions select what is watched and from where.
type WatchOptions struct {
	// Namespace, LabelSelector and FieldSelector are as in ListOptions.
	Namespace     string
	LabelSelector labels.Selector
	FieldSelector fields.Selector
	// ResourceVersion to continue after. Empty means: first every existing object as Added, then changes.
	ResourceVersion string
	// Bookmarks also delivers Bookmark events. They are requested in any case and advance the
	// version a watch resumes from.
	Bookmarks bool
	// Timeout after which the server ends one connection of the watch, which then resumes; 0 means a
	// random 5 to 10 minutes.
	Timeout time.Duration
	// OnRetry, if not nil, is called with every failure the watch recovers from, before it waits.
	OnRetry func(err error, wait time.Duration)
}

// CreateOptions are the options of a create.
type CreateOptions struct {
	// DryRun processes the request without persisting the result.
	DryRun bool
	// FieldManager names the writer; empty means that of WithFieldManager or, without it, the user agent's
	// first word.
	FieldManager string
	// FieldValidation is Strict, Warn or Ignore; empty means Warn.
	FieldValidation string
}

// UpdateOptions are the options of an update.
type UpdateOptions CreateOptions

// Patch is a change to an object.
type Patch struct {
	// Type is the media type.
	Type types.PatchType
	// Data is the patch.
	Data []byte
}

// PatchOptions are the options of a patch.
type PatchOptions struct {
	// Subresource to patch; empty means the object.
	Subresource string
	// Force takes the ownership of fields of other managers; apply patches only.
	Force *bool
	// DryRun, FieldManager and FieldValidation are as in CreateOptions.
	DryRun          bool
	FieldManager    string
	FieldValidation string
}

// ApplyOptions are the options of a server-side apply.
type ApplyOptions struct {
	// FieldManager names the owner of the applied fields. Required, unless the connection has one from
	// WithFieldManager.
	FieldManager string
	// Force takes the ownership of fields of other managers; without it they are a conflict.
	Force bool
	// Subresource to apply to; empty means the object.
	Subresource string
	// Explicit lists fields that are sent even if they hold their Go type's zero value, as JSON
	// paths such as "spec.maxReplicas". Other zero values are not sent.
	Explicit []string
	// DryRun processes the request without persisting the result.
	DryRun bool
	// FieldValidation is Strict, Warn or Ignore; empty means Warn.
	FieldValidation string
}

// DeleteOptions are the options of a delete.
type DeleteOptions struct {
	// GracePeriodSeconds is the time before the object is removed; nil means the object's default, 0 at once.
	GracePeriodSeconds *int64
	// Preconditions, if not nil, must be met before the deletion.
	Preconditions *metav1.Preconditions
	// PropagationPolicy is how dependents are deleted; empty means the resource's default.
	PropagationPolicy metav1.DeletionPropagation
	// DryRun processes the request without deleting the object.
	DryRun bool
}

func (o ListOptions) query() url.Values {
	q := url.Values{}
	selectors(q, o.LabelSelector, o.FieldSelector)
	set(q, "resourceVersion", o.ResourceVersion)
	set(q, "resourceVersionMatch", string(o.ResourceVersionMatch))
	if o.Limit > 0 {
		q.Set("limit", strconv.FormatInt(o.Limit, 10))
	}
	set(q, "continue", o.Continue)
	return q
}

func selectors(q url.Values, l labels.Selector, f fields.Selector) {
	if !l.Empty() {
		q.Set("labelSelector", l.String())
	}
	if !f.Empty() {
		q.Set("fieldSelector", f.String())
	}
}

func (o CreateOptions) query() url.Values {
	q := url.Values{}
	writeQuery(q, o.DryRun, o.FieldManager, o.FieldValidation)
	return q
}

func (o PatchOptions) query() url.Values {
	q := url.Values{}
	writeQuery(q, o.DryRun, o.FieldManager, o.FieldValidation)
	if o.Force != nil {
		q.Set("force", strconv.FormatBool(*o.Force))
	}
	return q
}

// patch returns the options of the patch that an apply is.
func (o ApplyOptions) patch(subresource string) PatchOptions {
	p := PatchOptions{Subresource: subresource, FieldManager: o.FieldManager, DryRun: o.DryRun, FieldValidation: o.FieldValidation}
	if o.Force {
		p.Force = &o.Force
	}
	return p
}

func writeQuery(q url.Values, dryRun bool, manager, validation string) {
	if dryRun {
		q.Set("dryRun", metav1.DryRunAll)
	}
	set(q, "fieldManager", manager)
	set(q, "fieldValidation", validation)
}

func set(q url.Values, key, value string) {
	if value != "" {
		q.Set(key, value)
	}
}

func (o DeleteOptions) wire() metav1.DeleteOptions {
	w := metav1.DeleteOptions{
		TypeMeta:           metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"},
		GracePeriodSeconds: o.GracePeriodSeconds,
		Preconditions:      o.Preconditions,
	}
	if o.PropagationPolicy != "" {
		w.PropagationPolicy = &o.PropagationPolicy
	}
	if o.DryRun {
		w.DryRun = []string{metav1.DryRunAll}
	}
	return w
}

func (o DeleteOptions) empty() bool {
	return o.GracePeriodSeconds == nil && o.Preconditions == nil && o.PropagationPolicy == "" && !o.DryRun
}

// atMostOne returns the only element of a variadic parameter of options, or zero. It panics if there are
// more.
func atMostOne[O any](opts []O) (one O) {
	switch len(opts) {
	case 0:
	case 1:
		one = opts[0]
	default:
		panic(fmt.Sprintf("client: %d %T in one call, want at most one", len(opts), one))
	}
	return one
}
