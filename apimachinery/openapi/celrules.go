package openapi

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/cel"
)

// celRule is one rule of x-kubernetes-validations. It is compiled when it is first needed.
type celRule struct {
	text  *apiextensionsv1.ValidationRule
	scope *celScope

	once    sync.Once
	err     error
	program celgo.Program
	message celgo.Program // nil without a messageExpression
	usesOld bool          // a transition rule
	ast     *celgo.Ast

	messageAST *celgo.Ast
}

// celScope is what the rules of one place of a schema share.
type celScope struct {
	s       *Structural
	whole   bool
	metrics *RuleMetrics // of the whole schema
	plain   celEnv       // oldSelf is what self was
	maybe   celEnv       // oldSelf is optional
}

// celEnv is an environment, made when it is first needed.
type celEnv struct {
	once sync.Once
	env  *celgo.Env
	err  error
}

// selfName is the object type of self. It is no identifier, so that self.spec is never taken for a type.
const selfName = "#self"

func (c *celScope) environment(optionalOld bool) (*celgo.Env, error) {
	e := &c.plain
	if optionalOld {
		e = &c.maybe
	}
	e.once.Do(func() { e.env, e.err = c.build(optionalOld) })
	return e.env, e.err
}

func (c *celScope) build(optionalOld bool) (*celgo.Env, error) {
	base, err := cel.Env()
	if err != nil {
		return nil, err
	}
	t := &celTypes{Provider: base.CELTypeProvider(), objects: map[string]*celObject{}}
	self := t.declare(c.s, selfName, c.whole)
	if self == nil {
		return nil, errors.New("rules need a type to work on: give the schema a type, and items or properties")
	}
	old := self
	if optionalOld {
		old = celgo.OptionalType(self)
	}
	return base.Extend(celgo.CustomTypeProvider(t), celgo.Variable("self", self), celgo.Variable("oldSelf", old))
}

// RuleMetrics are hooks for measurements of x-kubernetes-validations. They must be fast and safe for
// concurrent use. Nil functions are skipped.
type RuleMetrics struct {
	// Compiled is called when a rule has been compiled, before it is first evaluated.
	Compiled func(took time.Duration)
	// Evaluated is called when the rules of an object have been evaluated.
	Evaluated func(took time.Duration)
}

// Measure sets the hooks of the rules. It must be called before the schema is used.
func (s *Structural) Measure(m RuleMetrics) {
	if s.metrics != nil { // there are rules
		*s.metrics = m
	}
}

// attachRules attaches the rules at and below s. whole is true for the root; embedded objects are whole too.
func (s *Structural) attachRules(whole bool) {
	s.attach(whole, &RuleMetrics{})
}

func (s *Structural) attach(whole bool, m *RuleMetrics) {
	if len(s.validations) > 0 {
		scope := &celScope{s: s, whole: whole || s.Embedded, metrics: m}
		for i := range s.validations {
			s.rules = append(s.rules, &celRule{text: &s.validations[i], scope: scope})
		}
		s.celAt = true
	}
	for _, c := range s.Properties {
		c.attach(false, m)
		s.celAt = s.celAt || c.celAt
	}
	for _, c := range []*Structural{s.Additional, s.Items} {
		if c != nil {
			c.attach(false, m)
			s.celAt = s.celAt || c.celAt
		}
	}
	if s.celAt {
		s.metrics = m
	}
}

func (r *celRule) optionalOld() bool { return r.text.OptionalOldSelf != nil && *r.text.OptionalOldSelf }

// ready compiles the rule once.
func (r *celRule) ready() error {
	r.once.Do(func() {
		began := time.Now()
		r.err = r.compile()
		if compiled := r.scope.metrics.Compiled; compiled != nil {
			compiled(time.Since(began))
		}
	})
	return r.err
}

// ruleError says which part of a rule is wrong.
type ruleError struct {
	message bool // the messageExpression
	err     error
}

func (e *ruleError) Error() string { return e.err.Error() }
func (e *ruleError) Unwrap() error { return e.err }

func (r *celRule) compile() error {
	if strings.TrimSpace(r.text.Rule) == "" {
		return &ruleError{err: errors.New("rule is not specified")}
	}
	env, err := r.scope.environment(r.optionalOld())
	if err != nil {
		return &ruleError{err: err}
	}
	if r.ast, r.program, err = expression(env, r.text.Rule, celgo.BoolType); err != nil {
		return &ruleError{err: compileError("cel expression", "compilation failed", err)}
	}
	r.usesOld = mentions(r.ast, "oldSelf")
	if r.text.MessageExpression != "" {
		if r.messageAST, r.message, err = expression(env, r.text.MessageExpression, celgo.StringType); err != nil {
			return &ruleError{message: true, err: compileError("messageExpression", "messageExpression compilation failed", err)}
		}
	}
	return nil
}

// wrongResult is an expression that gives something else than it should.
type wrongResult struct{ want *celgo.Type }

func (e wrongResult) Error() string { return fmt.Sprintf("must evaluate to a %s", e.want) }

// noProgram is an expression that compiles and still cannot be run.
type noProgram struct{ err error }

func (e noProgram) Error() string { return "program instantiation failed: " + e.err.Error() }
func (e noProgram) Unwrap() error { return e.err }

// compileError says what is wrong with an expression: the compiler's findings, that what does not give the
// right type, or that it cannot be run.
func compileError(what, findings string, err error) error {
	if _, ok := errors.AsType[wrongResult](err); ok {
		return fmt.Errorf("%s %w", what, err)
	}
	if _, ok := errors.AsType[noProgram](err); ok {
		return err
	}
	return fmt.Errorf("%s: %w", findings, err)
}

func expression(env *celgo.Env, text string, want *celgo.Type) (*celgo.Ast, celgo.Program, error) {
	compiled, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, nil, err
	}
	if compiled.OutputType() != want {
		return nil, nil, wrongResult{want}
	}
	program, err := env.Program(compiled, cel.ProgramOptions()...)
	if err != nil {
		return nil, nil, noProgram{err}
	}
	return compiled, program, nil
}

// mentions reports whether an expression uses a variable.
func mentions(a *celgo.Ast, name string) bool {
	found := false
	ast.PostOrderVisit(a.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.IdentKind && e.AsIdent() == name
	}))
	return found
}

var errBudget = errors.New("the cost limit is exceeded")

// run evaluates the rule. before is nil if there is no old value. It returns the message of a failed rule, or
// "".
func (r *celRule) run(value any, before *any, budget *int64) (message string, err error) {
	if err := r.ready(); err != nil {
		return "", err
	}
	input := &celInput{self: celValue(r.scope.s, selfName, value)}
	switch {
	case before != nil && r.optionalOld():
		input.old = types.OptionalOf(celValue(r.scope.s, selfName, *before))
	case before != nil && (r.usesOld || r.message != nil):
		input.old = celValue(r.scope.s, selfName, *before)
	case r.optionalOld():
		input.old = types.OptionalNone
	}
	result, err := evaluate(r.program, input, budget)
	if err != nil {
		return "", err
	}
	if result == true {
		return "", nil
	}
	return r.failure(input, budget), nil
}

// failure is what a failed rule says.
func (r *celRule) failure(input *celInput, budget *int64) string {
	if r.message != nil {
		if text, err := evaluate(r.message, input, budget); err == nil {
			if s, ok := text.(string); ok && strings.TrimSpace(s) != "" && !strings.Contains(s, "\n") && len(s) <= 5<<10 {
				return strings.TrimSpace(s)
			}
		}
	}
	if r.text.Message != "" {
		return strings.TrimSpace(r.text.Message)
	}
	return "failed rule: " + strings.TrimSpace(r.text.Rule)
}

// celInput are the variables of a rule.
type celInput struct {
	self, old ref.Val // old is nil if there is none
}

// ResolveName implements celgo.Activation.
func (in *celInput) ResolveName(name string) (any, bool) {
	switch {
	case name == "self":
		return in.self, true
	case name == "oldSelf" && in.old != nil:
		return in.old, true
	}
	return nil, false
}

// Parent implements celgo.Activation.
func (in *celInput) Parent() celgo.Activation { return nil }

func evaluate(p celgo.Program, input *celInput, budget *int64) (any, error) {
	if *budget <= 0 {
		return nil, errBudget
	}
	v, details, err := p.Eval(input)
	if details != nil {
		if cost := details.ActualCost(); cost != nil {
			*budget -= int64(min(*cost, uint64(cel.Budget)))
		}
	}
	if err != nil {
		return nil, err
	}
	return v.Value(), nil
}
