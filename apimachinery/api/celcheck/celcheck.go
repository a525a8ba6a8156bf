// Package celcheck compiles the CEL expressions inside built-in objects (match conditions of webhooks,
// admission policies, device selectors) so that a server can refuse those that cannot work.
//
// Objects are typed dynamically here: a misspelt variable or function is found, a misspelt field of
// an object is not. Rules in the schemas of custom resources have static types, and are checked
// with their schema by package openapi; [Check] lets them pass, as it does mutations, of which only
// the syntax is checked.
package celcheck

import (
	"errors"
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/cel"
)

// Check says what is wrong with an expression, nil if nothing. It is made for api.AddExpressionRules and
// may be called concurrently; the environments are made on first use.
func Check(e api.Expression) error {
	if e.Use == api.UseSchemaRule || e.Use == api.UseMessage && e.Schema != nil {
		return nil
	}
	env, err := environment(e.Use)
	if err != nil {
		return err
	}
	switch e.Use {
	case api.UseApplyConfiguration, api.UseJSONPatch:
		_, issues := env.Parse(e.Text)
		return issues.Err()
	}
	ast, issues := env.Compile(e.Text)
	if err := issues.Err(); err != nil {
		return err
	}
	return fits(e.Use, ast.OutputType())
}

// fits reports whether an expression for a use may return values of a type.
func fits(use api.ExpressionUse, out *types.Type) error {
	if out.IsExactType(types.DynType) {
		return nil // only known when it runs
	}
	switch use {
	case api.UseVariable:
		return nil
	case api.UseMessage:
		if out.IsExactType(types.StringType) {
			return nil
		}
		return errors.New("must evaluate to string")
	case api.UseAuditAnnotation:
		if out.IsExactType(types.StringType) || out.IsExactType(types.NullType) {
			return nil
		}
		return errors.New("must evaluate to string or null_type")
	}
	if !out.IsExactType(types.BoolType) {
		return fmt.Errorf("must evaluate to bool, not %s", out)
	}
	return nil
}

// environment is what expressions for a use may refer to.
func environment(use api.ExpressionUse) (*celgo.Env, error) {
	if use == api.UseDeviceSelector {
		return device()
	}
	return admission()
}

var device = sync.OnceValues(func() (*celgo.Env, error) {
	base, err := cel.Env()
	if err != nil {
		return nil, err
	}
	return base.Extend(celgo.Variable("device", celgo.DynType))
})

var admission = sync.OnceValues(func() (*celgo.Env, error) {
	base, err := cel.Env()
	if err != nil {
		return nil, err
	}
	options := authorization()
	for _, name := range []string{"object", "oldObject", "request", "params", "namespaceObject", "variables"} {
		options = append(options, celgo.Variable(name, celgo.DynType))
	}
	return base.Extend(options...)
})

// authorization declares the authorizer: questions built step by step, and their answers.
func authorization() []celgo.EnvOption {
	const prefix = "kubernetes.authorization."
	authorizer, path := celgo.OpaqueType(prefix+"Authorizer"), celgo.OpaqueType(prefix+"PathCheck")
	group, resource := celgo.OpaqueType(prefix+"GroupCheck"), celgo.OpaqueType(prefix+"ResourceCheck")
	decision, text := celgo.OpaqueType(prefix+"Decision"), celgo.StringType
	return []celgo.EnvOption{
		celgo.Variable("authorizer", authorizer),
		celgo.Variable("authorizer.requestResource", resource),
		celgo.Function("path", member("authorizer_path", path, authorizer, text)),
		celgo.Function("group", member("authorizer_group", group, authorizer, text)),
		celgo.Function("serviceAccount", member("authorizer_serviceaccount", authorizer, authorizer, text, text)),
		celgo.Function("resource", member("groupcheck_resource", resource, group, text)),
		celgo.Function("subresource", member("resourcecheck_subresource", resource, resource, text)),
		celgo.Function("namespace", member("resourcecheck_namespace", resource, resource, text)),
		celgo.Function("name", member("resourcecheck_name", resource, resource, text)),
		celgo.Function("fieldSelector", member("resourcecheck_fieldselector", resource, resource, text)),
		celgo.Function("labelSelector", member("resourcecheck_labelselector", resource, resource, text)),
		celgo.Function("check", member("pathcheck_check", decision, path, text), member("resourcecheck_check", decision, resource, text)),
		celgo.Function("errored", member("decision_errored", celgo.BoolType, decision)),
		celgo.Function("error", member("decision_error", text, decision)),
		celgo.Function("allowed", member("decision_allowed", celgo.BoolType, decision)),
		celgo.Function("reason", member("decision_reason", text, decision)),
	}
}

func member(id string, result *celgo.Type, args ...*celgo.Type) celgo.FunctionOpt {
	return celgo.MemberOverload(id, args, result)
}
