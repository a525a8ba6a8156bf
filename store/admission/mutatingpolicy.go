package admission

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/patch"
)

// mutatingPolicy is a MutatingAdmissionPolicy.
type mutatingPolicy struct {
	policy
	mutations []mutation
	reinvoke  bool
}

// mutation is one change: an apply configuration, or a JSON patch.
type mutation struct {
	*expression
	patch bool
}

func compileMutatingPolicy(obj metav1.Object) *mutatingPolicy {
	p, ok := obj.(*admissionregistrationv1.MutatingAdmissionPolicy)
	if !ok {
		return &mutatingPolicy{}
	}
	s := &p.Spec
	out := &mutatingPolicy{policy: newPolicy(p.Name, s.FailurePolicy, s.ParamKind, s.MatchConstraints, s.MatchConditions, s.Variables),
		reinvoke: s.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy}
	for _, m := range s.Mutations {
		switch {
		case m.JSONPatch != nil:
			out.mutations = append(out.mutations, mutation{newExpression(m.JSONPatch.Expression, cel.Mutation), true})
		case m.ApplyConfiguration != nil:
			out.mutations = append(out.mutations, mutation{newExpression(m.ApplyConfiguration.Expression, cel.Mutation), false})
		}
	}
	return out
}

func compileMutatingBinding(obj metav1.Object) *binding {
	b, ok := obj.(*admissionregistrationv1.MutatingAdmissionPolicyBinding)
	if !ok {
		return &binding{}
	}
	return newBinding(b.Name, b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources)
}

// mutatingPolicies is the plugin MutatingAdmissionPolicy.
type mutatingPolicies struct {
	policies[*mutatingPolicy]
}

func newMutatingPolicies(access Access, o Options) Plugin {
	return &mutatingPolicies{newPolicies("MutatingAdmissionPolicy", "mutatingadmissionpolic", access, o, compileMutatingPolicy, compileMutatingBinding)}
}

func (p *mutatingPolicies) Admit(ctx context.Context, a *Attributes) error {
	if configuresAdmission(a) || a.Object == nil { // deletes and connections have nothing to change
		return nil
	}
	round := state[reinvocation](a.Round, p)
	round.begin(a)
	f := newForms(a)
	err := p.eachUse(ctx, f, func(u use[*mutatingPolicy]) error {
		name := ""
		if u.binding != nil {
			name = u.binding.name
		}
		return p.apply(ctx, f, &u, u.policy.name+"/"+name, round)
	})
	round.end(a)
	return err
}

// apply applies one use of a policy.
func (p *mutatingPolicies) apply(ctx context.Context, f *forms, u *use[*mutatingPolicy], id string, round *reinvocation) error {
	if f.a.Round.Second() && !round.due[id] {
		return nil
	}
	changed, err := p.change(ctx, f, u)
	if err != nil {
		if u.policy.ignore {
			return nil
		}
		message := fmt.Sprintf("policy '%s' denied request: %s", u.policy.name, err)
		if u.binding != nil {
			message = fmt.Sprintf("policy '%s' with binding '%s' denied request: %s", u.policy.name, u.binding.name, err)
		}
		return refuseFor(f.a, metav1.StatusReasonInvalid, message)
	}
	round.record(f.a, id, u.policy.reinvoke, changed)
	return nil
}

// change applies all mutations of a policy, or none if one fails.
func (p *mutatingPolicies) change(ctx context.Context, f *forms, u *use[*mutatingPolicy]) (bool, error) {
	if u.err != nil {
		return false, u.err
	}
	before := codec.DeepCopy(f.a.Object)
	changed := false
	for i := range u.policy.mutations {
		began := time.Now()
		// Each mutation sees the changes of the previous ones.
		e, err := u.evaluation(ctx, f, &u.policy.policy, Admitting, p.access, p.options)
		if err == nil && e == nil {
			break
		}
		one := false
		if err == nil {
			one, err = u.policy.mutations[i].apply(ctx, f, u.form, e)
		}
		if hook := p.options.Metrics.Mutation; hook != nil {
			hook(Mutation{u.policy.name, u.binding.name, mutationFailure(err), time.Since(began)})
		}
		if err != nil {
			return false, errors.Join(err, f.replace(ctx, before, f.a.Kind))
		}
		changed = changed || one
	}
	return changed, nil
}

// apply applies the mutation and reports whether the object has changed.
func (m *mutation) apply(ctx context.Context, f *forms, form *Served, e *evaluation) (bool, error) {
	v, err := e.run(ctx, m.expression)
	if err != nil {
		return false, err
	}
	result, err := cel.JSON(v)
	if err != nil {
		return false, fmt.Errorf("expression '%s' resulted in error: %w", m.text, err)
	}
	before, err := f.object(ctx, form.Kind)
	if err != nil {
		return false, err
	}
	var after metav1.Object
	if m.patch {
		after, err = patched(f, form, before, result)
	} else {
		after, err = merged(ctx, f, form, before, result)
	}
	if err != nil || codec.Equal(before.object, after) {
		return false, err
	}
	return true, f.replace(ctx, after, form.Kind)
}

func patched(f *forms, form *Served, before *objectForm, result any) (metav1.Object, error) {
	data, err := codec.Marshal(result)
	if err != nil {
		return nil, err
	}
	doc, err := patch.JSON(before.json, data)
	if err != nil {
		return nil, fmt.Errorf("JSON Patch: %w", err)
	}
	return f.decode(doc, form.Kind)
}

func merged(ctx context.Context, f *forms, form *Served, before *objectForm, result any) (metav1.Object, error) {
	config, ok := result.(map[string]any)
	if !ok || f.a.Versions == nil || f.a.ownKind() {
		return nil, errors.New("there is nothing to merge with")
	}
	config["apiVersion"], config["kind"] = form.Kind.GroupVersion().String(), form.Kind.Kind
	return f.a.Versions.Merge(ctx, before.object, config, form.Kind)
}
