package admission

import (
	"context"
	"fmt"

	"github.com/google/cel-go/common/types/ref"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// policy is the common part of validating and mutating policies.
type policy struct {
	name       string
	ignore     bool // failurePolicy
	paramKind  *admissionregistrationv1.ParamKind
	criteria   *criteria
	conditions conditions
	variables  map[string]*expression
	err        error // of the policy itself
}

func newPolicy(name string, failure *admissionregistrationv1.FailurePolicyType, param *admissionregistrationv1.ParamKind,
	match *admissionregistrationv1.MatchResources, conditions []admissionregistrationv1.MatchCondition, variables []admissionregistrationv1.Variable) policy {
	p := policy{name: name, ignore: failsOpen(failure), paramKind: param, conditions: newConditions(conditions), variables: make(map[string]*expression, len(variables))}
	p.criteria, p.err = matchCriteria(match)
	for i := range variables {
		p.variables[variables[i].Name] = newExpression(variables[i].Expression, cel.Admission)
	}
	return p
}

// matchCriteria returns the criteria of a policy or binding. Without rules everything matches.
func matchCriteria(m *admissionregistrationv1.MatchResources) (*criteria, error) {
	if m == nil {
		m = &admissionregistrationv1.MatchResources{}
	}
	c, err := newCriteria(m.ResourceRules, m.ExcludeResourceRules, m.MatchPolicy, m.NamespaceSelector, m.ObjectSelector)
	if err != nil {
		return nil, err
	}
	c.all = len(m.ResourceRules) == 0
	return c, nil
}

// binding is a binding of a policy.
type binding struct {
	name, policy string
	params       *admissionregistrationv1.ParamRef
	criteria     *criteria
	actions      []admissionregistrationv1.ValidationAction
	err          error
}

func newBinding(name, policy string, params *admissionregistrationv1.ParamRef, match *admissionregistrationv1.MatchResources) *binding {
	b := &binding{name: name, policy: policy, params: params}
	b.criteria, b.err = matchCriteria(match)
	return b
}

// use is one application of a policy to a request: by one binding, with one object of parameters.
type use[P any] struct {
	policy  P
	binding *binding // nil if err is about the policy
	form    *Served
	param   any
	// err is the error of the configuration, if there is one.
	err error
}

// policies is the common part of the two policy plugins.
type policies[P interface{ common() *policy }] struct {
	named
	access   Access
	options  Options
	policies compiled[P]
	bindings compiled[*binding]
}

func newPolicies[P interface{ common() *policy }](name, resource string, access Access, o Options, compile func(metav1.Object) P, bind func(metav1.Object) *binding) policies[P] {
	gv := admissionregistrationv1.GroupVersion
	return policies[P]{
		named: named{name, allOperations}, access: access, options: o,
		policies: compiled[P]{access: access, gvr: gv.WithResource(resource + "ies"), compile: compile},
		bindings: compiled[*binding]{access: access, gvr: gv.WithResource(resource + "ybindings"), compile: bind},
	}
}

func (p *policy) common() *policy { return p }

// eachUse calls do with every use of a policy for the request, in the order of the policies' and bindings'
// names. Changes that do makes to the object are visible to later uses.
func (p *policies[P]) eachUse(ctx context.Context, f *forms, do func(use[P]) error) error {
	all, err := p.policies.load(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	bindings, err := p.bindings.load(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := p.eachUseOf(ctx, f, one, bindings, do); err != nil {
			return err
		}
	}
	return nil
}

func (p *policies[P]) eachUseOf(ctx context.Context, f *forms, one P, bindings []*binding, do func(use[P]) error) error {
	c := one.common()
	var form *Served
	for _, b := range bindings {
		if b.policy != c.name {
			continue
		}
		if form == nil {
			var err error
			if err = c.err; err == nil {
				form, err = c.criteria.match(ctx, p.access, f.a)
			}
			switch {
			case err != nil:
				return do(use[P]{policy: one, err: fmt.Errorf("failed to configure policy: %w", err)})
			case form == nil:
				return nil
			}
		}
		params, ok, err := p.matchBinding(ctx, f, c, b)
		if err != nil {
			if err := do(use[P]{policy: one, binding: b, form: form, err: fmt.Errorf("failed to configure binding: %w", err)}); err != nil {
				return err
			}
			continue
		}
		if !ok {
			continue
		}
		for _, param := range params {
			if err := do(use[P]{policy: one, binding: b, form: form, param: param}); err != nil {
				return err
			}
		}
	}
	return nil
}

// matchBinding reports whether a binding matches the request, and returns the parameters of the policy.
func (p *policies[P]) matchBinding(ctx context.Context, f *forms, c *policy, b *binding) ([]any, bool, error) {
	if b.err != nil {
		return nil, false, b.err
	}
	form, err := b.criteria.match(ctx, p.access, f.a)
	if err != nil || form == nil {
		return nil, false, err
	}
	params, err := findParams(ctx, p.access, c.paramKind, b.params, f.a.requestNamespace())
	return params, err == nil, err
}

// evaluation returns the evaluation of a policy for one use, nil if the match conditions do not hold.
func (u *use[P]) evaluation(ctx context.Context, f *forms, c *policy, step Step, access Access, o Options) (*evaluation, error) {
	e, err := newEvaluation(ctx, f, u.form, o.Authorize, conditionBudget)
	if err != nil {
		return nil, err
	}
	e.input["params"] = u.param
	check := ConditionCheck{Name: c.name, Step: step, Operation: f.a.Operation}
	if ok, err := c.conditions.decide(ctx, e, false, check, o.Metrics.Conditions); !ok {
		return nil, err
	}
	e.budget = cel.Budget
	if e.input["namespaceObject"], err = f.namespaceValue(ctx, access); err != nil {
		return nil, err
	}
	e.input["variables"] = &variables{all: c.variables, evaluate: func(x *expression) (ref.Val, error) {
		return e.run(ctx, x)
	}}
	return e, nil
}

// namespaceValue returns the variable namespaceObject, null for cluster-scoped objects.
func (f *forms) namespaceValue(ctx context.Context, access Access) (any, error) {
	namespace := f.a.Namespace
	if isNamespace(f.a.Resource) || namespace == "" {
		return orNull(nil), nil
	}
	if f.namespace == nil {
		obj, err := access.Get(ctx, core("namespaces"), types.NamespacedName{Name: namespace})
		if err != nil {
			return nil, err
		}
		if f.namespace, err = treeOf(obj); err != nil {
			return nil, err
		}
	}
	return f.namespace, nil
}

// treeOf returns an object as JSON values.
func treeOf(obj metav1.Object) (map[string]any, error) {
	data, err := codec.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	return tree, codec.Unmarshal(data, &tree)
}
