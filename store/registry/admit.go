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

// chain is the admission plugins by what they do, in their order.
type chain struct {
	mutators   []plugin[admission.Mutator]
	validators []plugin[admission.Validator]
	metrics    admission.Metrics
}

// plugin is one plugin's part in a step, and who is told how it went, if anybody.
type plugin[P admission.Plugin] struct {
	does P
	told func(op admission.Operation, rejected bool, elapsed time.Duration)
}

func newPlugin[P admission.Plugin](p P, s admission.Step, m *admission.Metrics) plugin[P] {
	out := plugin[P]{does: p}
	if m.Plugin != nil {
		out.told = m.Plugin(p.Name(), s)
	}
	return out
}

func newChain(plugins []admission.Plugin, m admission.Metrics) *chain {
	c := &chain{metrics: m}
	for _, p := range plugins {
		if mutator, ok := p.(admission.Mutator); ok {
			c.mutators = append(c.mutators, newPlugin(mutator, admission.Admitting, &m))
		}
		if validator, ok := p.(admission.Validator); ok {
			c.validators = append(c.validators, newPlugin(validator, admission.Validating, &m))
		}
	}
	return c
}

// admit runs the mutating plugins, twice if a webhook among them has changed the object.
func (c *chain) admit(ctx context.Context, a *admission.Attributes) (err error) {
	start := c.now()
	defer func() { c.passed(admission.Admitting, a, start, err) }()
	a.Round = &admission.Round{}
	defer func() { a.Round = nil }()
	for {
		if err = c.mutate(ctx, a, start); err != nil || !a.Round.Next() {
			return err
		}
	}
}

func (c *chain) mutate(ctx context.Context, a *admission.Attributes, start time.Time) error {
	began := c.since(start)
	for i := range c.mutators {
		if m := &c.mutators[i]; m.does.Handles(a.Operation) {
			err := m.does.Admit(ctx, a)
			if began = m.asked(a, start, began, err); err != nil {
				return refusal(a, err)
			}
		}
	}
	return nil
}

// validate runs the validating plugins.
func (c *chain) validate(ctx context.Context, a *admission.Attributes) (err error) {
	start := c.now()
	began := time.Duration(0)
	defer func() { c.passed(admission.Validating, a, start, err) }()
	for i := range c.validators {
		if v := &c.validators[i]; v.does.Handles(a.Operation) {
			err := v.does.Validate(ctx, a)
			if began = v.asked(a, start, began, err); err != nil {
				return refusal(a, err)
			}
		}
	}
	return nil
}

// now is the time, if something is measured.
func (c *chain) now() time.Time {
	if c.metrics.Step == nil && c.metrics.Plugin == nil {
		return time.Time{}
	}
	return time.Now()
}

// passed measures a step.
func (c *chain) passed(s admission.Step, a *admission.Attributes, began time.Time, err error) {
	if hook := c.metrics.Step; hook != nil {
		hook(s, a.Operation, err != nil, time.Since(began))
	}
}

// since is the time since the step began, if plugins are measured.
func (c *chain) since(start time.Time) time.Duration {
	if c.metrics.Plugin == nil {
		return 0
	}
	return time.Since(start)
}

// asked measures a plugin that began so long after the step did, and returns when it ended: the next one
// begins then.
func (p *plugin[P]) asked(a *admission.Attributes, start time.Time, began time.Duration, err error) time.Duration {
	if p.told == nil {
		return began
	}
	ended := time.Since(start) // reads one clock, which time.Now does not
	p.told(a.Operation, err != nil, ended-began)
	return ended
}

// refusal makes an error without a status of its own a 403.
func refusal(a *admission.Attributes, err error) error {
	if _, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return err
	}
	name := a.Name
	if name == "" && a.Object != nil {
		name = a.Object.GetGenerateName() // the name to be, as far as it is known
	}
	return apierrors.NewForbidden(a.Resource.GroupResource(), name, err)
}

// Write says how a write is made. The zero value is an ordinary write.
type Write struct {
	// DryRun does everything but store.
	DryRun bool
	// FieldManager is who the fields written belong to.
	FieldManager string
	// Warn sends a warning to the client; nil drops it.
	Warn func(text string)
	// Annotate adds to the audit event; nil drops it.
	Annotate func(key, value string)
	// Admitted says that plugins have been asked already, about the request that the write is a part of; none
	// is asked again.
	Admitted bool
	// Outside is what the time that was spent waiting for admission webhooks is added to; nil drops it.
	Outside *time.Duration
	// Options are the request's decoded *metav1.CreateOptions, UpdateOptions, PatchOptions or DeleteOptions,
	// for admission.
	Options any
	// Tracked says that managedFields are up to date already, because Apply made the object.
	Tracked bool
	// Subresource is the one written to, such as status; empty for the resource itself.
	Subresource string
	// Body is what the client sent where that is of another kind than the resource's objects; nil otherwise.
	Body *Body
}

// Body is an object that stands for a change of another one, such as a Scale. Admission sees it in place of
// that one.
type Body struct {
	Kind      schema.GroupVersionKind
	Operation admission.Operation
	// Object is what was sent; Old, of an update, what it is to replace.
	Object, Old metav1.Object
	// Changed, if set, does what Object asks for once more, because plugins may have changed it. obj is what
	// will be stored.
	Changed func(obj metav1.Object) error
}

// chainOf returns the plugins to ask about a write.
func (r *Resource) chainOf(w Write) *chain {
	if w.Admitted {
		return &chain{}
	}
	return r.registry.chain.Load()
}

// changed is called when the mutating plugins have run.
func (w Write) changed(obj metav1.Object) error {
	if w.Body == nil || w.Body.Changed == nil {
		return nil
	}
	return w.Body.Changed(obj)
}

func (w Write) warn(text string) {
	if w.Warn != nil {
		w.Warn(text)
	}
}

// attributesOf is what admission sees of a write.
func (r *Resource) admissionAttributes(ctx context.Context, op admission.Operation, w Write, obj, old metav1.Object) *admission.Attributes {
	a := &admission.Attributes{
		Operation: op, Kind: r.info.GVK, Resource: r.info.GVR, Subresource: w.Subresource,
		User: authn.UserFrom(ctx), DryRun: w.DryRun, Object: obj, Old: old, Options: w.Options, Warn: w.warn, Annotate: w.Annotate, Outside: w.Outside,
		Versions: versions{r},
	}
	if a.Annotate == nil {
		a.Annotate = func(string, string) {}
	}
	if a.User == nil {
		a.User = &authn.User{Name: authn.APIServerUser, Groups: []string{authn.GroupMasters, authn.GroupAuthenticated}}
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

// Connect asks admission about a request that opens a connection to an object, such as exec. body holds its
// options, with their apiVersion and kind.
func (r *Resource) Connect(ctx context.Context, key types.NamespacedName, body any, w Write) error {
	a := r.admissionAttributes(ctx, admission.Connect, w, nil, nil)
	a.Body, a.Options, a.Versions = body, nil, nil
	if k, ok := body.(interface {
		GroupVersionKind() schema.GroupVersionKind
	}); ok {
		a.Kind = k.GroupVersionKind()
	}
	return r.ask(ctx, key, a)
}

// Ask asks admission about the create of an object that is not stored, such as a review, and which plugins
// may change.
func (r *Registry) Ask(ctx context.Context, info *scheme.Info, key types.NamespacedName, obj metav1.Object, w Write) error {
	unstored := &Resource{registry: r, info: info}
	a := unstored.admissionAttributes(ctx, admission.Create, w, obj, nil)
	a.Versions = nil
	return unstored.ask(ctx, key, a)
}

// Ask asks admission about a request whose body is not stored, such as one for a token: see Write.Body.
func (r *Resource) Ask(ctx context.Context, key types.NamespacedName, w Write) error {
	return r.ask(ctx, key, r.admissionAttributes(ctx, admission.Create, w, nil, nil))
}

func (r *Resource) ask(ctx context.Context, key types.NamespacedName, a *admission.Attributes) error {
	a.Namespace, a.Name = key.Namespace, key.Name
	chain := r.registry.chain.Load()
	if err := chain.admit(ctx, a); err != nil {
		return err
	}
	return chain.validate(ctx, a)
}
