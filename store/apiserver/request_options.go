package apiserver

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/registry"
)

// invalidOption is the 422 of a request option.
func invalidOption(kind, name, value string, valid []string) error {
	return invalidOptions(kind, validation.NotSupported(validation.NewPath(name), value, valid))
}

func invalidOptions(kind string, errs ...*validation.Error) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: "meta.k8s.io", Kind: kind}, "", errs)
}

// writeOptions are the options every write has.
type writeOptions struct {
	dryRun       bool
	fieldManager string
}

// writeOptions reads dryRun, fieldManager and fieldValidation of the query.
func (r *request) writeOptions(kind string) (writeOptions, error) {
	var o writeOptions
	if r.URL.RawQuery == "" {
		o.fieldManager = managerOf(r.UserAgent())
		return o, nil
	}
	var errs validation.ErrorList
	o.dryRun = len(r.query["dryRun"]) > 0
	errs = append(errs, validateDryRun(r.query["dryRun"])...)
	o.fieldManager = r.query.Get("fieldManager")
	errs = append(errs, validation.FieldManager(validation.NewPath("fieldManager"), o.fieldManager)...)
	if _, err := r.fieldValidation(); err != nil {
		return o, err
	}
	if len(errs) > 0 {
		return o, invalidOptions(kind, errs...)
	}
	if o.fieldManager == "" {
		o.fieldManager = managerOf(r.UserAgent())
	}
	return o, nil
}

// managerOf is the field manager of a client that names none: its user agent up to the first slash.
func managerOf(agent string) string {
	for i := range len(agent) {
		if agent[i] == '/' {
			agent = agent[:i]
			break
		}
	}
	if len(agent) > validation.FieldManagerMaxLength {
		agent = agent[:validation.FieldManagerMaxLength]
	}
	if validation.FieldManager(nil, agent) != nil || agent == "" {
		return "unknown"
	}
	return agent
}

// validateDryRun rejects every value but All.
func validateDryRun(values []string) validation.ErrorList {
	if slices.ContainsFunc(values, func(v string) bool { return v != metav1.DryRunAll }) {
		return validation.ErrorList{validation.NotSupported(validation.NewPath("dryRun"), values, []string{metav1.DryRunAll})}
	}
	return nil
}

func queryInt(q url.Values, name string) (int64, bool, error) {
	if !q.Has(name) {
		return 0, false, nil
	}
	text := q.Get(name)
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, false, apierrors.NewBadRequest(fmt.Sprintf("the query parameter %s=%q is not a number", name, text))
	}
	return v, true, nil
}

// write returns the registry options of a write.
func (r *request) write(wo writeOptions, options any) registry.Write {
	return registry.Write{DryRun: wo.dryRun, FieldManager: wo.fieldManager, Warn: r.warn, Annotate: r.annotate(), WebhookWait: &r.webhookWait, Options: options, Subresource: r.info.Subresource}
}

func (wo writeOptions) list() []string {
	if wo.dryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}
