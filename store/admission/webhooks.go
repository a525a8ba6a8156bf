package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/admissionv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/patch"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/webhook"
)

// WebhookCredentials identify the server to the webhooks of one plugin. The zero value sends none.
type WebhookCredentials struct {
	// KubeConfigFile has users by the hosts of webhooks, for the maker of Get; empty means there are none.
	KubeConfigFile string
	// Get returns the credential for a host. Required with a KubeConfigFile.
	Get webhook.CredentialFunc
}

// parse reads a WebhookAdmissionConfiguration.
func (w *WebhookCredentials) parse(data []byte) error {
	var file struct {
		staticFile
		KubeConfigFile string `json:"kubeConfigFile"`
	}
	if err := strictYAML(data, &file); err != nil {
		return err
	}
	if err := file.check("WebhookAdmissionConfiguration"); err != nil {
		return err
	}
	if file.KubeConfigFile != "" && !filepath.IsAbs(file.KubeConfigFile) {
		return validation.Invalid(validation.NewPath("kubeConfigFile"), file.KubeConfigFile, "must be an absolute file path")
	}
	w.KubeConfigFile = file.KubeConfigFile
	return nil
}

var allOperations = []Operation{Create, Update, Delete, Connect}

// webhooks is the common part of the two webhook plugins.
type webhooks struct {
	named
	step    Step
	access  Access
	options Options
	client  *webhook.Client
	hooks   compiled[[]*hook]
}

// begin sets the fields.
func (w *webhooks) begin(name, resource string, step Step, access Access, o Options, compile func(metav1.Object) []*hook) error {
	as := o.Configuration.ValidatingWebhooks
	if step == Admitting {
		as = o.Configuration.MutatingWebhooks
	}
	if as.KubeConfigFile != "" && as.Get == nil {
		return fmt.Errorf("%s: credentials for webhooks need the function that gets them from %s", name, as.KubeConfigFile)
	}
	w.named, w.step, w.access, w.options = named{name, allOperations}, step, access, o
	w.client = webhook.New(webhook.Options{Dial: o.WebhookDial, Services: access, Loopback: o.Loopback, Credentials: as.Get, Called: o.Metrics.Called})
	w.hooks.access, w.hooks.gvr, w.hooks.compile = access, admissionregistrationv1.GroupVersion.WithResource(resource), compile
	return nil
}

// Close closes idle connections.
func (w *webhooks) Close() error { return w.client.Close() }

// load returns the webhooks in the order of their calls.
func (w *webhooks) load(ctx context.Context, a *Attributes) ([]*hook, error) {
	if configuresAdmission(a) {
		return nil, nil
	}
	configurations, err := w.hooks.load(ctx)
	if err != nil || len(configurations) == 0 {
		return nil, err
	}
	var all []*hook
	for _, c := range configurations {
		all = append(all, c...)
	}
	return all, nil
}

// mutatingWebhooks calls the webhooks of MutatingWebhookConfigurations, one after another.
type mutatingWebhooks struct{ webhooks }

func newMutatingWebhooks(access Access, o Options) (Plugin, error) {
	p := &mutatingWebhooks{}
	return p, p.begin("MutatingAdmissionWebhook", "mutatingwebhookconfigurations", Admitting, access, o, mutatingHooks)
}

func (p *mutatingWebhooks) Admit(ctx context.Context, a *Attributes) error {
	hooks, err := p.load(ctx, a)
	if err != nil || len(hooks) == 0 {
		return err
	}
	round := state[reinvocation](a.Round, p)
	round.begin(a)
	defer round.end(a)
	f := newForms(a)
	for i, h := range hooks {
		form, err := h.applies(ctx, &p.webhooks, f)
		if err != nil {
			return err
		}
		if form == nil || a.Round.Second() && !round.due[h.id] {
			continue
		}
		if err := p.invoke(ctx, f, h, form, i, round); err != nil {
			return err
		}
	}
	return nil
}

// invoke calls one webhook and applies its response.
func (p *mutatingWebhooks) invoke(ctx context.Context, f *forms, h *hook, form *Served, i int, round *reinvocation) error {
	began := time.Now()
	changed, err := p.change(ctx, f, h, form)
	elapsed := time.Since(began)
	f.a.addWebhookWait(Admitting, elapsed)
	n := 0
	if f.a.Round.Second() {
		n = 1
	}
	place := fmt.Sprintf("round_%d_index_%d", n, i)
	if err != nil {
		ok, verdict := h.failed(ctx, err)
		p.measure(h, Admitting, f.a.Operation, elapsed, err, ok)
		if ok {
			f.a.Annotate("failed-open.mutating.webhook.admission.k8s.io/"+place, h.name)
		}
		return verdict
	}
	p.measure(h, Admitting, f.a.Operation, elapsed, nil, false)
	note, _ := json.Marshal(struct {
		Configuration string `json:"configuration"`
		Webhook       string `json:"webhook"`
		Mutated       bool   `json:"mutated"`
	}{h.configuration, h.name, changed}) // never fails
	f.a.Annotate("mutation.webhook.admission.k8s.io/"+place, string(note))
	round.record(f.a, h.id, h.reinvoke, changed)
	return nil
}

// change calls a webhook and applies its patch. It reports whether the object has changed.
func (p *mutatingWebhooks) change(ctx context.Context, f *forms, h *hook, form *Served) (bool, error) {
	review, err := h.review(ctx, f, form)
	if err != nil {
		return false, err
	}
	response, err := h.call(ctx, p.client, f.a, review, true)
	if err != nil {
		return false, err
	}
	h.report(f.a, response)
	if !response.Allowed {
		return false, &refusedError{denial(h.name, response.Result)}
	}
	if len(response.Patch) == 0 {
		return false, nil
	}
	if f.a.Object == nil {
		return false, apierrors.NewInternalError(fmt.Errorf("admission webhook %q attempted to modify the object, which is not supported for this operation", h.name))
	}
	return applyPatch(ctx, f, form, response.Patch)
}

// applyPatch changes the object by a JSON patch of one of its forms.
func applyPatch(ctx context.Context, f *forms, form *Served, data []byte) (bool, error) {
	before, err := f.object(ctx, form.Kind)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	doc, err := patch.JSON(before.json, data)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	after, err := f.decode(doc, form.Kind)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	if codec.Equal(before.object, after) {
		return false, nil
	}
	if err := f.replace(ctx, after, form.Kind); err != nil {
		return false, apierrors.NewInternalError(err)
	}
	return true, nil
}

// validatingWebhooks calls the webhooks of ValidatingWebhookConfigurations, all concurrently.
type validatingWebhooks struct{ webhooks }

func newValidatingWebhooks(access Access, o Options) (Plugin, error) {
	p := &validatingWebhooks{}
	return p, p.begin("ValidatingAdmissionWebhook", "validatingwebhookconfigurations", Validating, access, o, validatingHooks)
}

// pendingCall is a call of a webhook, and its result.
type pendingCall struct {
	hook     *hook
	review   *admissionv1.AdmissionReview
	response *admissionv1.AdmissionResponse
	elapsed  time.Duration
	err      error
}

func (p *validatingWebhooks) Validate(ctx context.Context, a *Attributes) error {
	hooks, err := p.load(ctx, a)
	if err != nil || len(hooks) == 0 {
		return err
	}
	f := newForms(a)
	var pending []*pendingCall
	for _, h := range hooks {
		form, err := h.applies(ctx, &p.webhooks, f)
		if err != nil {
			return err
		}
		if form == nil {
			continue
		}
		call := &pendingCall{hook: h}
		call.review, call.err = h.review(ctx, f, form)
		pending = append(pending, call)
	}
	var calls sync.WaitGroup
	for _, call := range pending {
		if call.err == nil {
			calls.Go(func() {
				began := time.Now()
				call.response, call.err = call.hook.call(ctx, p.client, a, call.review, false)
				call.elapsed = time.Since(began)
			})
		}
	}
	began := time.Now()
	calls.Wait()
	if len(pending) > 0 {
		a.addWebhookWait(Validating, time.Since(began))
	}
	var first error
	for i, call := range pending {
		if err := p.verdict(ctx, call, a, i); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// verdict returns the error that a result means for the request.
func (p *validatingWebhooks) verdict(ctx context.Context, call *pendingCall, a *Attributes, i int) error {
	err := call.err
	if err == nil {
		call.hook.report(a, call.response)
		if !call.response.Allowed {
			err = &refusedError{denial(call.hook.name, call.response.Result)}
		}
	}
	if err == nil {
		p.measure(call.hook, Validating, a.Operation, call.elapsed, nil, false)
		return nil
	}
	ok, verdict := call.hook.failed(ctx, err)
	p.measure(call.hook, Validating, a.Operation, call.elapsed, err, ok)
	if ok {
		a.Annotate(fmt.Sprintf("failed-open.validating.webhook.admission.k8s.io/round_0_index_%d", i), call.hook.name)
	}
	return verdict
}
