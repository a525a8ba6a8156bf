package apiserver

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/registry"
)

// listOptions are the query of a list, watch or deletecollection.
type listOptions struct {
	labels           labels.Selector
	fields           fields.Selector
	version          string
	revision         int64 // of version; zero if it is empty or 0
	match            metav1.ResourceVersionMatch
	limit            int64
	cont             string
	timeout          time.Duration
	bookmarks        bool
	initial          *bool
	initialDefaulted bool // initial was not set by the client
}

func (r *request) listOptions(res selectable, watch bool) (listOptions, error) {
	var o listOptions
	if r.URL.RawQuery == "" && r.info.Name == "" {
		return o, nil
	}
	end, err := r.server.turns.take(r)
	if err != nil {
		return o, err
	}
	defer end()
	q := r.query
	if o.labels, err = labels.Parse(q.Get("labelSelector")); err != nil {
		return o, apierrors.NewBadRequest(fmt.Sprintf("unable to parse the labelSelector: %v", err))
	}
	if o.fields, err = fields.Parse(q.Get("fieldSelector")); err != nil {
		return o, apierrors.NewBadRequest(fmt.Sprintf("unable to parse the fieldSelector: %v", err))
	}
	o.version, o.match = q.Get("resourceVersion"), metav1.ResourceVersionMatch(q.Get("resourceVersionMatch"))
	o.cont, o.bookmarks = q.Get("continue"), boolParam(q, "allowWatchBookmarks")
	if q.Has("sendInitialEvents") {
		o.initial = new(boolParam(q, "sendInitialEvents"))
	}
	if o.limit, _, err = queryInt(q, "limit"); err != nil {
		return o, err
	}
	seconds, _, err := queryInt(q, "timeoutSeconds")
	if err != nil {
		return o, err
	}
	o.timeout = time.Duration(min(max(seconds, 0), 1<<31)) * time.Second
	if err := o.validate(watch); err != nil {
		return o, err
	}
	if o.fields, err = res.selector(o.fields); err != nil {
		return o, apierrors.NewBadRequest(err.Error())
	}
	if r.info.Name != "" && o.fields.Empty() {
		o.fields = fields.OneEqual("metadata.name", r.info.Name) // the caller may read no other
	}
	if name, ok := o.fields.RequiresExactMatch("metadata.name"); r.info.Name != "" && (!ok || name != r.info.Name) {
		return o, apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
	}
	if o.cont == "" || watch {
		o.revision, err = parseVersion(o.version)
	}
	return o, err
}

// parseVersion reads a resourceVersion; zero is for an empty one and for 0.
func parseVersion(v string) (int64, error) {
	if v == "" || v == "0" {
		return 0, nil
	}
	n, err := strconv.ParseUint(v, 10, 63)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: resourceVersion: Invalid value: %q: must be a decimal number", v))
	}
	return int64(n), nil
}

// validate refuses invalid combinations.
func (o *listOptions) validate(watch bool) error {
	var errs validation.ErrorList
	p := validation.NewPath("resourceVersionMatch")
	if watch {
		if o.initial == nil && o.match == "" && (o.version == "" || o.version == "0") {
			// A watch without a version has always begun with the existing objects.
			o.initial, o.match = new(true), metav1.ResourceVersionMatchNotOlderThan
			o.initialDefaulted = true
		}
		if o.initial != nil && o.match != metav1.ResourceVersionMatchNotOlderThan {
			errs = append(errs, validation.Forbidden(p, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
		}
		if o.match != "" {
			if o.initial == nil {
				errs = append(errs, validation.Forbidden(p, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
			}
			if o.match != metav1.ResourceVersionMatchNotOlderThan {
				errs = append(errs, validation.NotSupported(p, o.match, []metav1.ResourceVersionMatch{metav1.ResourceVersionMatchNotOlderThan}))
			}
			if o.cont != "" {
				errs = append(errs, validation.Forbidden(p, "resourceVersionMatch is forbidden when continue is provided"))
			}
		}
	} else {
		errs = append(errs, o.validateList(p)...)
	}
	if len(errs) > 0 {
		return invalidOptions("ListOptions", errs...)
	}
	return nil
}

func (o *listOptions) validateList(p *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	if o.match != "" {
		if o.version == "" {
			errs = append(errs, validation.Forbidden(p, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
		}
		if o.cont != "" {
			errs = append(errs, validation.Forbidden(p, "resourceVersionMatch is forbidden when continue is provided"))
		}
		switch o.match {
		case metav1.ResourceVersionMatchExact:
			if o.version == "0" {
				errs = append(errs, validation.Forbidden(p, `resourceVersionMatch "exact" is forbidden for resourceVersion "0"`))
			}
		case metav1.ResourceVersionMatchNotOlderThan:
		default:
			errs = append(errs, validation.NotSupported(p, o.match, []metav1.ResourceVersionMatch{
				metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan, ""}))
		}
	}
	if o.initial != nil {
		errs = append(errs, validation.Forbidden(validation.NewPath("sendInitialEvents"), "sendInitialEvents is forbidden for list"))
	}
	return errs
}

// freshness is what a list without a continue token must see.
func (o *listOptions) freshness() registry.Freshness {
	switch {
	case o.version == "":
		return registry.Freshness{}
	case o.version == "0":
		return registry.Freshness{Any: true}
	case o.match == metav1.ResourceVersionMatchExact, o.match == "" && o.limit > 0:
		return registry.Freshness{Exact: o.revision}
	default:
		return registry.Freshness{AtLeast: o.revision}
	}
}

// matcher returns the selectors as a function; nil matches everything. An object whose fields cannot be read
// matches, so that its reader gets the error.
func (o *listOptions) matcher(ctx context.Context, res *registry.Resource) func(*cache.Object) bool {
	if o.labels.Empty() && o.fields.Empty() {
		return nil
	}
	reqs := o.fields.Requirements()
	none := o.labels.SelectsNothing() || o.fields.SelectsNothing()
	noLabels := o.labels.Empty()
	wanted := wantedLabels(o.labels)
	return func(obj *cache.Object) bool {
		if none || !obj.MayHave(wanted) || !noLabels && !o.labels.Matches(obj.Attrs.Labels) {
			return false
		}
		for i := range reqs {
			if value, known := res.FieldOf(ctx, obj, reqs[i].Field); known && !reqs[i].Matches(value) {
				return false
			}
		}
		return true
	}
}

// convert converts all objects of a snapshot with one call if the selectors need the converted form.
func (o *listOptions) convert(ctx context.Context, res *registry.Resource, snap *cache.Snapshot, prefix, after string) error {
	if !res.ConvertsFields() || !slices.ContainsFunc(o.fields.Requirements(), func(r fields.Requirement) bool { return !isMetadataField(r.Field) }) {
		return nil
	}
	labeled := listOptions{labels: o.labels}
	return res.Convert(ctx, collect(snap, prefix, after, 0, labeled.matcher(ctx, res)).items...)
}

// isMetadataField reports whether a field selector is one that every object has.
func isMetadataField(field string) bool {
	return field == "metadata.name" || field == "metadata.namespace"
}

// wantedLabels are the labels that every object the selector matches has.
func wantedLabels(s labels.Selector) (wanted cache.LabelSet) {
	reqs, _ := s.Requirements()
	for i := range reqs {
		if value, ok := reqs[i].ExactValue(); ok {
			wanted = wanted.With(reqs[i].Key(), value)
		}
	}
	return wanted
}

// selectable knows the field selectors of a resource.
type selectable interface {
	// selector checks the fields of a selector and renames those that are stored under another name.
	selector(fields.Selector) (fields.Selector, error)
}
