package authz

import (
	"context"
	"errors"
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/cel"
)

// matchConditions are expressions about the spec of a SubjectAccessReview, as the variable request.
type matchConditions struct {
	texts    []string
	programs []celgo.Program
}

// reviewEnv is the environment of match conditions.
var reviewEnv = sync.OnceValues(func() (*celgo.Env, error) {
	text, texts := celgo.StringType, celgo.ListType(celgo.StringType)
	requirements := celgo.ListType(celgo.ObjectType("kubernetes.SelectorRequirement"))
	selector := map[string]*celgo.Type{"rawSelector": text, "requirements": requirements}
	objects := cel.Objects{
		"kubernetes.SubjectAccessReviewSpec": {"user": text, "uid": text, "groups": texts, "extra": celgo.MapType(text, texts),
			"resourceAttributes": celgo.ObjectType("kubernetes.ResourceAttributes"), "nonResourceAttributes": celgo.ObjectType("kubernetes.NonResourceAttributes")},
		"kubernetes.ResourceAttributes": {"namespace": text, "verb": text, "group": text, "version": text, "resource": text, "subresource": text, "name": text,
			"fieldSelector": celgo.ObjectType("kubernetes.FieldSelectorAttributes"), "labelSelector": celgo.ObjectType("kubernetes.LabelSelectorAttributes")},
		"kubernetes.NonResourceAttributes":   {"path": text, "verb": text},
		"kubernetes.FieldSelectorAttributes": selector,
		"kubernetes.LabelSelectorAttributes": selector,
		"kubernetes.SelectorRequirement":     {"key": text, "operator": text, "values": texts},
	}
	base, err := cel.Env()
	if err != nil {
		return nil, err
	}
	return base.Extend(celgo.CustomTypeProvider(objects.Over(base.CELTypeProvider())), celgo.Variable("request", celgo.ObjectType("kubernetes.SubjectAccessReviewSpec")))
})

// compileCondition compiles one condition.
func compileCondition(text string) (celgo.Program, error) {
	env, err := reviewEnv()
	if err != nil {
		return nil, err
	}
	compiled, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("compilation failed: %w", err)
	}
	if t := compiled.OutputType(); !t.IsExactType(celgo.BoolType) {
		return nil, fmt.Errorf("must evaluate to bool but got %v", t)
	}
	return env.Program(compiled, cel.ProgramOptions()...)
}

// match reports whether all conditions hold. One that does not hold outweighs the errors of others.
func (m *matchConditions) match(ctx context.Context, spec *authorizationv1.SubjectAccessReviewSpec) (bool, error) {
	if len(m.programs) == 0 {
		return true, nil
	}
	input := map[string]any{"request": reviewValue(spec)}
	var errs []error
	for i, p := range m.programs {
		out, _, err := p.ContextEval(ctx, input)
		if err != nil {
			errs = append(errs, fmt.Errorf("authz: match condition %q: %w", m.texts[i], err))
		} else if out.Value() != true {
			return false, nil
		}
	}
	return len(errs) == 0, errors.Join(errs...)
}

// reviewValue is the spec as expressions see it: texts are there although empty, attributes and selectors
// only if set.
func reviewValue(s *authorizationv1.SubjectAccessReviewSpec) map[string]any {
	extra := map[string][]string{}
	for k, v := range s.Extra {
		extra[k] = v
	}
	out := map[string]any{"user": s.User, "uid": s.UID, "groups": s.Groups, "extra": extra}
	if a := s.NonResourceAttributes; a != nil {
		out["nonResourceAttributes"] = map[string]any{"path": a.Path, "verb": a.Verb}
	}
	if a := s.ResourceAttributes; a != nil {
		attributes := map[string]any{"namespace": a.Namespace, "verb": a.Verb, "group": a.Group, "version": a.Version,
			"resource": a.Resource, "subresource": a.Subresource, "name": a.Name}
		if f := a.FieldSelector; f != nil {
			var list []any
			for _, r := range f.Requirements {
				list = append(list, map[string]any{"key": r.Key, "operator": string(r.Operator), "values": r.Values})
			}
			attributes["fieldSelector"] = map[string]any{"requirements": list}
		}
		if l := a.LabelSelector; l != nil {
			var list []any
			for _, r := range l.Requirements {
				list = append(list, map[string]any{"key": r.Key, "operator": string(r.Operator), "values": r.Values})
			}
			attributes["labelSelector"] = map[string]any{"requirements": list}
		}
		out["resourceAttributes"] = attributes
	}
	return out
}
