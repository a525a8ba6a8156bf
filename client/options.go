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
	// asks for a state at least that new.
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
	// Bookmarks also delivers Bookmark events. They are asked for in any case and move the
	// version a watch resumes from.
	Bookmarks bool
	// Timeout after which the server ends one connection of the watch, which then resumes; 0 means a
	// random 5 to 10 minutes.
	Timeout time.Duration
	// OnRetry, if set, is told of every failure the watch recovers from, before it waits.
	OnRetry func(err error, wait time.Duration)
}

// CreateOptions are the options of a create.
type CreateOptions struct {
	// DryRun runs everything but the storing.
	DryRun bool
	// FieldManager names the writer; empty means the user agent's first word.
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
	// Force takes over fields of other managers; apply patches only.
	Force *bool
	// DryRun, FieldManager and FieldValidation are as in CreateOptions.
	DryRun          bool
	FieldManager    string
	FieldValidation string
}

// ApplyOptions are the options of a server-side apply.
type ApplyOptions struct {
	// FieldManager names the applier. Required.
	FieldManager string
	// Force takes over fields of other managers; without it they are a conflict.
	Force bool
	// Subresource to apply to; empty means the object.
	Subresource string
	// Explicit lists fields that are sent although they hold their Go type's zero value, as JSON
	// paths such as "spec.maxReplicas". Without it a zero value that is no pointer is not sent.
	Explicit []string
	// DryRun runs everything but the storing.
	DryRun bool
	// FieldValidation is Strict, Warn or Ignore; empty means Warn.
	FieldValidation string
}

// DeleteOptions are the options of a delete.
type DeleteOptions struct {
	// GracePeriodSeconds the object gets to end; nil means its own default, 0 at once.
	GracePeriodSeconds *int64
	// Preconditions, if not nil, must hold.
	Preconditions *metav1.Preconditions
	// PropagationPolicy is what happens to dependents; empty means the resource's default.
	PropagationPolicy metav1.DeletionPropagation
	// DryRun runs everything but the deleting.
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

// first returns the only element of a variadic option list, or zero. A second one is a mistake of the
// caller's that would otherwise be dropped in silence, a dry run with it.
func first[O any](opts []O) (one O) {
	switch len(opts) {
	case 0:
	case 1:
		one = opts[0]
	default:
		panic(fmt.Sprintf("client: %d %T in one call: put the fields of all into one", len(opts), one))
	}
	return one
}
