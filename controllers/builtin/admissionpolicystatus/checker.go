package admissionpolicystatus

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client/discovery"
)

// maxKinds is how many kinds the rules of a policy may name before the others are not looked at.
const maxKinds = 10

// Checker type-checks policies against the kinds of a server. It is safe for concurrent use.
type Checker struct {
	discovery *discovery.Client
	log       *slog.Logger
}

// NewChecker returns a Checker for the kinds of a server. log receives the reasons why kinds could not be
// checked; nil discards.
func NewChecker(d *discovery.Client, log *slog.Logger) *Checker {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	return &Checker{d, log}
}

// Check compiles the expressions and message expressions of a policy's validations for every kind its rules
// name, and returns the errors by expression and kind. Variables have the types of their expressions, and
// parameters that of paramKind if the server has its schema.
//
// Rules with a wildcard group or version, wildcard resources, subresources and kinds without a schema are
// skipped. At most ten kinds are checked. It returns an error if discovery fails or ctx ends.
func (c *Checker) Check(ctx context.Context, p *policy) ([]admissionregistrationv1.ExpressionWarning, error) {
	kinds, err := c.kinds(ctx, p.Spec.MatchConstraints)
	if err != nil {
		return nil, err
	}
	s := schemas{c, map[schema.GroupVersion][]byte{}}
	params := map[string]*openapi.KindType{}
	if k := p.Spec.ParamKind; k != nil {
		if gv, err := schema.ParseGroupVersion(k.APIVersion); err == nil {
			params["params"] = s.of(ctx, gv.WithKind(k.Kind))
		}
	}
	var named []cel.Named
	for _, v := range p.Spec.Variables {
		named = append(named, cel.Named{Name: v.Name, Expression: v.Expression})
	}
	var envs []kindEnv
	for _, gvk := range kinds {
		object := s.of(ctx, gvk)
		if object == nil {
			continue
		}
		env, err := environment(named, object, params)
		if err != nil {
			return nil, err
		}
		envs = append(envs, kindEnv{gvk, env})
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var found []admissionregistrationv1.ExpressionWarning
	check := func(field, expression string) {
		if text := findings(envs, expression); text != "" {
			found = append(found, admissionregistrationv1.ExpressionWarning{FieldRef: field, Warning: text})
		}
	}
	for i := range p.Spec.Validations {
		v := &p.Spec.Validations[i]
		check(fmt.Sprintf("spec.validations[%d].expression", i), v.Expression)
		if v.MessageExpression != "" {
			check(fmt.Sprintf("spec.validations[%d].messageExpression", i), v.MessageExpression)
		}
	}
	return found, nil
}

// kindEnv is what expressions about one kind may refer to.
type kindEnv struct {
	kind schema.GroupVersionKind
	env  *celgo.Env
}

// findings is what the compiler says, kind by kind.
func findings(envs []kindEnv, expression string) string {
	var texts []string
	for _, e := range envs {
		if _, issues := e.env.Compile(expression); issues.Err() != nil {
			texts = append(texts, fmt.Sprintf("%s: %s\n", e.kind, issues))
		}
	}
	return strings.Join(texts, "\n")
}

// environment is what the expressions of a policy may refer to in requests about objects of one kind.
func environment(named []cel.Named, object *openapi.KindType, params map[string]*openapi.KindType) (*celgo.Env, error) {
	base, err := cel.Checking(true)
	if err != nil {
		return nil, err
	}
	typed := map[string]*openapi.KindType{"object": object, "oldObject": object}
	maps.Copy(typed, params)
	env, err := openapi.TypedEnv(base, typed)
	if err != nil {
		return nil, err
	}
	return cel.WithVariables(env, named)
}

// schemas reads the types of kinds, each document once.
type schemas struct {
	*Checker
	documents map[schema.GroupVersion][]byte
}

// of is the type of a kind, nil if it cannot be had: a policy works without.
func (s *schemas) of(ctx context.Context, gvk schema.GroupVersionKind) *openapi.KindType {
	gv := gvk.GroupVersion()
	document, ok := s.documents[gv]
	if !ok {
		var err error
		if document, err = s.discovery.OpenAPI(ctx, gv); err != nil {
			s.log.Info("get schemas for policy checks failed", "groupVersion", gv.String(), "err", err)
		}
		s.documents[gv] = document
	}
	if document == nil {
		return nil
	}
	t, err := openapi.KindTypeIn(document, gvk)
	if err != nil {
		s.log.Info("build schema for policy checks failed", "kind", gvk.String(), "err", err)
	}
	return t
}

// kinds are the kinds the rules name, ordered by group, version and kind.
func (c *Checker) kinds(ctx context.Context, match *admissionregistrationv1.MatchResources) ([]schema.GroupVersionKind, error) {
	if match == nil {
		return nil, nil
	}
	catalog, err := c.discovery.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	fresh := false
	set := map[schema.GroupVersionKind]bool{}
collect:
	for i := range match.ResourceRules {
		n := 0
		for _, gvr := range resources(&match.ResourceRules[i]) {
			named := kindsOf(catalog, gvr)
			if len(named) == 0 && !fresh { // it may have come since
				if catalog, err = c.discovery.Refresh(ctx); err != nil {
					return nil, err
				}
				fresh, named = true, kindsOf(catalog, gvr)
			}
			for _, gvk := range named {
				set[gvk] = true
				if n++; n == maxKinds {
					break collect
				}
			}
		}
	}
	out := make([]schema.GroupVersionKind, 0, len(set))
	for gvk := range set {
		out = append(out, gvk)
	}
	slices.SortFunc(out, func(a, b schema.GroupVersionKind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version), strings.Compare(a.Kind, b.Kind))
	})
	return out, nil
}

// resources are what a rule names, in order; nothing if any group or version will do.
func resources(rule *admissionregistrationv1.NamedRuleWithOperations) []schema.GroupVersionResource {
	any := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, "*") })
	}
	if any(rule.APIGroups) || any(rule.APIVersions) {
		return nil
	}
	var out []schema.GroupVersionResource
	for _, group := range slices.Sorted(slices.Values(rule.APIGroups)) {
		for _, version := range slices.Sorted(slices.Values(rule.APIVersions)) {
			for _, resource := range slices.Sorted(slices.Values(rule.Resources)) {
				if !strings.ContainsAny(resource, "*/") {
					out = append(out, schema.GroupVersionResource{Group: group, Version: version, Resource: resource})
				}
			}
		}
	}
	return out
}

// kindsOf are the kinds a name in a rule means, as kubectl would take it: singular names do too, and without
// a group those of all groups are meant.
func kindsOf(c *discovery.Catalog, gvr schema.GroupVersionResource) []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	name := strings.ToLower(gvr.Resource)
	for i := range c.Resources {
		r := &c.Resources[i]
		if r.GVR.Version != gvr.Version || gvr.Group != "" && r.GVR.Group != gvr.Group {
			continue
		}
		if (r.GVR.Resource == name || cmp.Or(r.Singular, strings.ToLower(r.GVK.Kind)) == name) && !slices.Contains(out, r.GVK) {
			out = append(out, r.GVK)
		}
	}
	return out
}
