package authn

import (
	"context"
	"errors"
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// claimExpressions are the compiled expressions of a JWTAuthenticator; nil where it has none.
type claimExpressions struct {
	username, groups, uid        *expression
	extra, claimRules, userRules []*expression
}

// aboutClaims reports whether an expression is about claims.
func (e *claimExpressions) aboutClaims() bool {
	return e.username != nil || e.groups != nil || e.uid != nil || len(e.extra) > 0 || len(e.claimRules) > 0
}

// expression is a compiled expression: with the message of a rule, or the key of an extra attribute.
type expression struct {
	text, message, key string
	compiled           *celgo.Ast
	program            celgo.Program
}

// claimsEnv is the environment of expressions about claims.
var claimsEnv = sync.OnceValues(func() (*celgo.Env, error) {
	base, err := cel.Env()
	if err != nil {
		return nil, err
	}
	return base.Extend(celgo.Variable("claims", celgo.MapType(celgo.StringType, celgo.AnyType)))
})

// userEnv is the environment of expressions about the user.
var userEnv = sync.OnceValues(func() (*celgo.Env, error) {
	text, texts := celgo.StringType, celgo.ListType(celgo.StringType)
	objects := cel.Objects{"kubernetes.UserInfo": {"username": text, "uid": text, "groups": texts, "extra": celgo.MapType(text, texts)}}
	base, err := cel.Env()
	if err != nil {
		return nil, err
	}
	return base.Extend(celgo.CustomTypeProvider(objects.Over(base.CELTypeProvider())), celgo.Variable("user", celgo.ObjectType("kubernetes.UserInfo")))
})

// compileAt compiles an expression, of type bool if it is a condition. It returns nil and adds to errs if
// that fails.
func compileAt(env func() (*celgo.Env, error), text string, condition bool, p *validation.Path, errs *validation.ErrorList) *expression {
	x, err := compileExpression(env, text, condition)
	if err != nil {
		*errs = append(*errs, validation.Invalid(p, text, err.Error()))
		return nil
	}
	return x
}

func compileExpression(env func() (*celgo.Env, error), text string, condition bool) (*expression, error) {
	e, err := env()
	if err != nil {
		return nil, err
	}
	compiled, issues := e.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("compilation failed: %w", err)
	}
	if condition && !compiled.OutputType().IsExactType(celgo.BoolType) {
		return nil, errors.New("must evaluate to bool")
	}
	program, err := e.Program(compiled, cel.ProgramOptions()...)
	if err != nil {
		return nil, err
	}
	return &expression{text: text, compiled: compiled, program: program}, nil
}

// selects reports whether the expression, which may be nil, reads claims.FIELD or claims.?FIELD.
func (x *expression) selects(field string) bool {
	if x == nil {
		return false
	}
	claims := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == "claims" }
	found := false
	ast.PreOrderVisit(x.compiled.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.SelectKind:
			s := e.AsSelect()
			found = found || claims(s.Operand()) && s.FieldName() == field
		case ast.CallKind:
			c := e.AsCall()
			if args := c.Args(); c.FunctionName() == operators.OptSelect && len(args) == 2 && claims(args[0]) && args[1].Kind() == ast.LiteralKind {
				found = found || args[1].AsLiteral().Equal(types.String(field)) == types.True
			}
		}
	}))
	return found
}

// eval evaluates the expression with a value of its variable.
func (x *expression) eval(ctx context.Context, variable string, value ref.Val) (ref.Val, error) {
	out, _, err := x.program.ContextEval(ctx, map[string]any{variable: value})
	if err != nil {
		return nil, fmt.Errorf("expression '%s' resulted in error: %w", x.text, err)
	}
	return out, nil
}

// evalText evaluates an expression about claims whose result must be a string.
func (x *expression) evalText(ctx context.Context, claims ref.Val, what string) (string, error) {
	out, err := x.eval(ctx, "claims", claims)
	if err != nil {
		return "", fmt.Errorf("error evaluating %s claim expression: %w", what, err)
	}
	text, ok := out.(types.String)
	if !ok {
		return "", fmt.Errorf("error evaluating %s claim expression: %s claim expression must return a string", what, what)
	}
	return string(text), nil
}

// evalTexts evaluates an expression about claims whose result must be a string, a list of strings or null.
// Empty strings are dropped.
func (x *expression) evalTexts(ctx context.Context, claims ref.Val, what string) ([]string, error) {
	out, err := x.eval(ctx, "claims", claims)
	if err != nil {
		return nil, fmt.Errorf("error evaluating %s claim expression: %w", what, err)
	}
	texts, ok := textsOf(out)
	if !ok {
		return nil, fmt.Errorf("error evaluating %s claim expression: expression must return a string or a list of strings", what)
	}
	return texts, nil
}

func textsOf(value ref.Val) (texts []string, ok bool) {
	switch v := value.(type) {
	case types.Null:
		return nil, true
	case types.String:
		if v == "" {
			return nil, true
		}
		return []string{string(v)}, true
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			text, ok := it.Next().(types.String)
			if !ok {
				return nil, false
			}
			if text != "" {
				texts = append(texts, string(text))
			}
		}
		return texts, true
	}
	return nil, false
}

// holdAll returns an error for the first rule that is not true.
func holdAll(ctx context.Context, rules []*expression, variable string, value ref.Val) error {
	for _, x := range rules {
		out, err := x.eval(ctx, variable, value)
		if err != nil {
			return err
		}
		if out != types.True {
			return fmt.Errorf("validation expression '%s' failed: %s", x.text, x.message)
		}
	}
	return nil
}

// userValue is a user as expressions see it: what is unset is empty.
func userValue(u *User) ref.Val {
	return escapedValue(types.DefaultTypeAdapter.NativeToValue(map[string]any{"username": u.Name, "uid": u.UID, "groups": u.Groups, "extra": u.Extra}))
}

// escapedValue lets expressions write the keys of maps as identifiers, see [cel.Escape].
func escapedValue(value ref.Val) ref.Val {
	switch v := value.(type) {
	case traits.Mapper:
		return &escapedMap{v}
	case traits.Lister:
		return &escapedList{v}
	}
	return value
}

// escapedMap is a map whose values may be found by escaped keys.
type escapedMap struct{ traits.Mapper }

// Find implements traits.Mapper.
func (m *escapedMap) Find(key ref.Val) (ref.Val, bool) {
	if text, ok := key.(types.String); ok {
		if name, ok := cel.Unescape(string(text)); ok {
			key = types.String(name)
		}
	}
	value, ok := m.Mapper.Find(key)
	return escapedValue(value), ok
}

// escapedList is a list of values that may be maps.
type escapedList struct{ traits.Lister }

// Get implements traits.Indexer.
func (l *escapedList) Get(index ref.Val) ref.Val { return escapedValue(l.Lister.Get(index)) }
