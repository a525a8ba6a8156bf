// Package celcheck compiles the CEL expressions inside built-in objects (match conditions of webhooks,
// admission policies, device selectors) so that a server can refuse those that cannot work.
//
// Objects are typed dynamically here: a misspelt variable or function is found, also one of a policy's own
// variables or a field of the request, a misspelt field of an object is not. Rules in the schemas of custom
// resources have static types, and are checked with their schema by package openapi. Of mutations only the
// syntax is checked.
package celcheck

import (
	"errors"
	"fmt"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/cel"
)

// Check says what is wrong with an expression, nil if nothing. It is made for api.AddExpressionRules and
// may be called concurrently; the environments are made on first use.
func Check(e api.Expression) error {
	env, err := environment(e)
	if err != nil {
		return err
	}
	switch e.Use {
	case api.UseApplyConfiguration, api.UseJSONPatch:
		_, issues := env.Parse(e.Text)
		return notCompiled(issues)
	}
	compiled, issues := env.Compile(e.Text)
	if err := notCompiled(issues); err != nil {
		return err
	}
	return fits(e.Use, compiled.OutputType())
}

// notCompiled is what is wrong with an expression, in the words that tools look for.
func notCompiled(issues *celgo.Issues) error {
	if err := issues.Err(); err != nil {
		return fmt.Errorf("compilation failed: %w", err)
	}
	return nil
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
func environment(e api.Expression) (*celgo.Env, error) {
	switch e.Use {
	case api.UseDeviceSelector:
		return cel.Device()
	case api.UseApplyConfiguration, api.UseJSONPatch:
		return cel.Mutation()
	}
	var params *admissionregistrationv1.ParamKind
	var variables []admissionregistrationv1.Variable
	switch p := e.Object.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		params, variables = p.Spec.ParamKind, p.Spec.Variables
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		params, variables = p.Spec.ParamKind, p.Spec.Variables
	case nil: // nothing is known of the policy
		return cel.Admission()
	}
	env, err := about(e.Use != api.UseMessage, params != nil)
	if err != nil || e.Use == api.UseMatchCondition {
		return env, err // conditions come before variables
	}
	var named []cel.Named
	for _, v := range variables {
		if e.Use == api.UseVariable && v.Expression == e.Text {
			break // those after it are not there yet
		}
		named = append(named, cel.Named{Name: v.Name, Expression: v.Expression})
	}
	return cel.WithVariables(env, named)
}

// about is what expressions about requests may refer to, with the authorizer or without, with parameters or
// without.
func about(authorizer, params bool) (*celgo.Env, error) {
	base, err := cel.Checking(authorizer)
	if err != nil {
		return nil, err
	}
	options := []celgo.EnvOption{celgo.Variable("object", celgo.DynType), celgo.Variable("oldObject", celgo.DynType)}
	if params {
		options = append(options, celgo.Variable("params", celgo.DynType))
	}
	return base.Extend(options...)
}
