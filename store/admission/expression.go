package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/store/authn"
)

// expression is one CEL expression of a webhook or policy. It is compiled on first use.
type expression struct {
	text    string
	program func() (celgo.Program, error)
}

func newExpression(text string, env func() (*celgo.Env, error)) *expression {
	return &expression{text: text, program: sync.OnceValues(func() (celgo.Program, error) {
		e, err := env()
		if err != nil {
			return nil, err
		}
		compiled, issues := e.Compile(text)
		if err := issues.Err(); err != nil {
			return nil, fmt.Errorf("%w: %w", errCompilation, err)
		}
		return e.Program(compiled, cel.ProgramOptions()...)
	})}
}

// AuthorizeFunc authorizes on behalf of expressions: the user of the request, or the service account that the
// expression names.
type AuthorizeFunc func(ctx context.Context, user *authn.User, q cel.Check) cel.Decision

// conditionBudget bounds the cost of the match conditions of one webhook or policy for a request.
const conditionBudget = cel.Budget / 4

var errCompilation = errors.New("compilation error")

var errBudget = errors.New("validation failed due to running out of cost budget, no further validation rules will be run")

// evaluation evaluates the expressions of one webhook or policy for one request.
type evaluation struct {
	input  map[string]any
	budget int64
}

// newEvaluation returns an evaluation with the variables that webhooks and policies have in common.
func newEvaluation(ctx context.Context, f *forms, form *Served, authorize AuthorizeFunc, budget int64) (*evaluation, error) {
	current, err := f.object(ctx, form.Kind)
	if err != nil {
		return nil, err
	}
	old, err := f.oldObject(ctx, form.Kind)
	if err != nil {
		return nil, err
	}
	e := &evaluation{input: make(map[string]any, 8), budget: budget}
	for name, one := range map[string]*objectForm{"object": current, "oldObject": old} {
		if e.input[name], err = one.celValue(); err != nil {
			return nil, err
		}
	}
	if e.input["request"], err = f.requestValue(form); err != nil {
		return nil, err
	}
	check := func(q cel.Check) cel.Decision {
		if authorize == nil {
			return cel.Decision{Err: errors.New("no authorizer is configured")}
		}
		return authorize(ctx, f.a.User, q)
	}
	e.input["authorizer"] = cel.AuthorizerValue(check)
	e.input["authorizer.requestResource"] = cel.RequestResourceValue(check, cel.Check{Group: form.Resource.Group, Resource: form.Resource.Resource,
		Subresource: f.a.Subresource, Namespace: f.a.requestNamespace(), Name: f.a.Name})
	return e, nil
}

// celValue returns the object as a CEL value.
func (f *objectForm) celValue() (any, error) {
	tree, err := f.tree()
	if err != nil {
		return nil, err
	}
	return orNull(tree), nil
}

// orNull returns a JSON object, or null if there is none.
func orNull(tree map[string]any) any {
	if tree == nil {
		return types.NullValue
	}
	return tree
}

// requestValue returns the variable request.
func (f *forms) requestValue(form *Served) (any, error) {
	if v, ok := f.requests[*form]; ok {
		return v, nil
	}
	request, err := newRequest(f.a, form)
	if err != nil {
		return nil, err
	}
	data, err := codec.Marshal(request)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := codec.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	for _, name := range [...]string{"uid", "object", "oldObject"} {
		delete(tree, name)
	}
	if f.requests == nil {
		f.requests = map[Served]any{}
	}
	f.requests[*form] = tree
	return tree, nil
}

// run evaluates x and subtracts its cost from the budget.
func (e *evaluation) run(ctx context.Context, x *expression) (ref.Val, error) {
	program, err := x.program()
	if err != nil {
		return nil, err
	}
	if e.budget < 0 {
		return nil, errBudget
	}
	v, details, err := program.ContextEval(ctx, e.input)
	if details != nil {
		if cost := details.ActualCost(); cost != nil {
			e.budget -= int64(min(*cost, uint64(cel.Budget)))
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("expression '%s' resulted in error: %w", x.text, err)
	case e.budget < 0:
		return nil, errBudget
	}
	return v, nil
}

// conditions are the match conditions of a webhook or policy.
type conditions []condition

type condition struct {
	name string
	*expression
}

func newConditions(list []admissionregistrationv1.MatchCondition) conditions {
	out := make(conditions, len(list))
	for i := range list {
		out[i] = condition{list[i].Name, newExpression(list[i].Expression, cel.Admission)}
	}
	return out
}

// hold reports whether all conditions hold, which of them failed, and whether one does not hold, which
// excludes the request and takes precedence over failures.
func (c conditions) hold(ctx context.Context, e *evaluation) (ok bool, failed []error, excluded bool) {
	for _, one := range c {
		switch v, err := e.run(ctx, one.expression); {
		case err != nil:
			failed = append(failed, err)
		case v != types.True:
			return false, failed, true
		}
	}
	return len(failed) == 0, failed, false
}

// decide reports whether the webhook or policy that check describes applies, and calls hook with the result.
// The error is a failure that must not be ignored.
func (c conditions) decide(ctx context.Context, e *evaluation, ignore bool, check ConditionCheck, hook func(ConditionCheck)) (bool, error) {
	if len(c) == 0 {
		return true, nil
	}
	began := time.Now()
	ok, failed, excluded := c.hold(ctx, e)
	var err error
	if !excluded && !ignore {
		err = errors.Join(failed...)
	}
	if hook != nil {
		check.Failed, check.Excluded, check.Elapsed = len(failed), !ok && err == nil, time.Since(began)
		hook(check)
	}
	return ok, err
}
