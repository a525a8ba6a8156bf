package registry

import (
	"context"
	"errors"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
)

// chain is the admission plugins by step, in their order.
type chain struct {
	mutators   []step[admission.Mutator]
	validators []step[admission.Validator]
	metrics    admission.Metrics
}

// step is one plugin in a step of the chain, with its metrics hook, which may be nil.
type step[P admission.Plugin] struct {
	plugin  P
	observe func(op admission.Operation, rejected bool, elapsed time.Duration)
}

func newStep[P admission.Plugin](p P, s admission.Step, m *admission.Metrics) step[P] {
	out := step[P]{plugin: p}
	if m.Plugin != nil {
		out.observe = m.Plugin(p.Name(), s)
	}
	return out
}

func newChain(plugins []admission.Plugin, m admission.Metrics) *chain {
	c := &chain{metrics: m}
	for _, p := range plugins {
		if mutator, ok := p.(admission.Mutator); ok {
			c.mutators = append(c.mutators, newStep(mutator, admission.Admitting, &m))
		}
		if validator, ok := p.(admission.Validator); ok {
			c.validators = append(c.validators, newStep(validator, admission.Validating, &m))
		}
	}
	return c
}

// mutate runs the mutating plugins, twice if a webhook has changed the object.
func (c *chain) mutate(ctx context.Context, a *admission.Attributes) (err error) {
	start := c.startTime()
	defer func() { c.recordStep(admission.Admitting, a, start, err) }()
	a.Round = &admission.Round{}
	defer func() { a.Round = nil }()
	for {
		if err = c.mutateOnce(ctx, a, start); err != nil || !a.Round.Next() {
			return err
		}
	}
}

func (c *chain) mutateOnce(ctx context.Context, a *admission.Attributes, start time.Time) error {
	began := c.elapsed(start)
	for i := range c.mutators {
		if m := &c.mutators[i]; m.plugin.Handles(a.Operation) {
			err := m.plugin.Admit(ctx, a)
			if began = m.record(a, start, began, err); err != nil {
				return refusal(a, err)
			}
		}
	}
	return nil
}

// validate runs the validating plugins.
func (c *chain) validate(ctx context.Context, a *admission.Attributes) (err error) {
	start := c.startTime()
	began := time.Duration(0)
	defer func() { c.recordStep(admission.Validating, a, start, err) }()
	for i := range c.validators {
		if v := &c.validators[i]; v.plugin.Handles(a.Operation) {
			err := v.plugin.Validate(ctx, a)
			if began = v.record(a, start, began, err); err != nil {
				return refusal(a, err)
			}
		}
	}
	return nil
}

// startTime returns the time, or the zero time if nothing is measured.
func (c *chain) startTime() time.Time {
	if c.metrics.Step == nil && c.metrics.Plugin == nil {
		return time.Time{}
	}
	return time.Now()
}

// recordStep reports a step of the chain that began at that time.
func (c *chain) recordStep(s admission.Step, a *admission.Attributes, began time.Time, err error) {
	if hook := c.metrics.Step; hook != nil {
		hook(s, a.Operation, err != nil, time.Since(began))
	}
}

// elapsed returns the time since the step began, or zero if plugins are not measured.
func (c *chain) elapsed(start time.Time) time.Duration {
	if c.metrics.Plugin == nil {
		return 0
	}
	return time.Since(start)
}

// record reports a call of the plugin, which began that long after the step did, and returns when it ended:
// the next one begins then.
func (p *step[P]) record(a *admission.Attributes, start time.Time, began time.Duration, err error) time.Duration {
	if p.observe == nil {
		return began
	}
	ended := time.Since(start) // reads one clock only, unlike time.Now
	p.observe(a.Operation, err != nil, ended-began)
	return ended
}

// refusal turns an error without a status of its own into a 403.
func refusal(a *admission.Attributes, err error) error {
	if _, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return err
	}
	name := a.Name
	if name == "" && a.Object != nil {
		name = a.Object.GetGenerateName() // the prefix of the name
	}
	return apierrors.NewForbidden(a.Resource.GroupResource(), name, err)
}

// chainOf returns the plugins for a write.
func (r *Resource) chainOf(w Write) *chain {
	if w.Admitted {
		return &chain{}
	}
	return r.registry.chain
}

// admissionAttributes returns the attributes of a write.
func (r *Resource) admissionAttributes(ctx context.Context, op admission.Operation, w Write, obj, old metav1.Object) *admission.Attributes {
	a := &admission.Attributes{
		Operation: op, Kind: r.info.GVK, Resource: r.info.GVR, Subresource: w.Subresource,
		User: authn.UserFrom(ctx), DryRun: w.DryRun, Object: obj, Old: old, Options: w.Options, Warn: w.warn, Annotate: w.Annotate, WebhookWait: w.WebhookWait,
		Versions: versions{r},
	}
	if a.Annotate == nil {
		a.Annotate = func(string, string) {}
	}
	if a.User == nil {
		a.User = &authn.User{Name: authn.APIServerUser, Groups: []string{authn.GroupAuthenticated, authn.GroupMasters}}
	}
	if b := w.Body; b != nil {
		a.Kind, a.Operation, a.Object, a.Old, a.Versions = b.Kind, b.Operation, b.Object, b.Old, nil
	}
	named := obj
	if named == nil {
		named = old
	}
	if named != nil {
		a.Namespace, a.Name = named.GetNamespace(), named.GetName()
	}
	return a
}

// Connect runs admission for a request that opens a connection to an object, such as exec. body holds its
// options, with their apiVersion and kind.
func (r *Resource) Connect(ctx context.Context, key types.NamespacedName, body any, w Write) error {
	a := r.admissionAttributes(ctx, admission.Connect, w, nil, nil)
	a.Body, a.Options, a.Versions = body, nil, nil
	if k, ok := body.(interface {
		GroupVersionKind() schema.GroupVersionKind
	}); ok {
		a.Kind = k.GroupVersionKind()
	}
	return r.admitBoth(ctx, key, a)
}

// AdmitUnstored runs admission for the create of an object that is not stored, such as a review. Plugins may
// change it.
func (r *Registry) AdmitUnstored(ctx context.Context, info *scheme.Info, key types.NamespacedName, obj metav1.Object, w Write) error {
	unstored := &Resource{registry: r, info: info}
	a := unstored.admissionAttributes(ctx, admission.Create, w, obj, nil)
	a.Versions = nil
	return unstored.admitBoth(ctx, key, a)
}

// AdmitBody runs admission for a request whose body is not stored, such as one for a token; see Write.Body.
func (r *Resource) AdmitBody(ctx context.Context, key types.NamespacedName, w Write) error {
	return r.admitBoth(ctx, key, r.admissionAttributes(ctx, admission.Create, w, nil, nil))
}

// admitBoth runs both steps of admission, for a request that stores nothing.
func (r *Resource) admitBoth(ctx context.Context, key types.NamespacedName, a *admission.Attributes) error {
	a.Namespace, a.Name = key.Namespace, key.Name
	chain := r.registry.chain
	if err := chain.mutate(ctx, a); err != nil {
		return err
	}
	return chain.validate(ctx, a)
}
