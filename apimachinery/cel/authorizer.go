package cel

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Check is an authorization check of an expression: whether a user may perform a verb on a resource, or at
// a path.
type Check struct {
	// AccountNamespace and Account name the service account to check; empty means the user of the request.
	AccountNamespace, Account string
	Verb                      string
	// Path is a path that is not a resource; empty otherwise.
	Path                                          string
	Group, Resource, Subresource, Namespace, Name string
	FieldSelector, LabelSelector                  string
}

// Decision is the decision of the authorizer about a Check.
type Decision struct {
	Allowed bool
	// Reason is human-readable and may be empty.
	Reason string
	// Err is set if the authorizer could not decide.
	Err error
}

// Authorizer decides checks. It is called while an expression is evaluated, and must be safe for
// concurrent use.
type Authorizer func(Check) Decision

const authorization = "kubernetes.authorization."

var (
	authorizerType    = cel.ObjectType(authorization + "Authorizer")
	pathCheckType     = cel.ObjectType(authorization + "PathCheck")
	groupCheckType    = cel.ObjectType(authorization + "GroupCheck")
	resourceCheckType = cel.ObjectType(authorization + "ResourceCheck")
	decisionType      = cel.ObjectType(authorization + "Decision")
)

// checkBuilder is a check to which expressions add one field at a time.
type checkBuilder struct {
	authorize Authorizer
	Check
}

func checkVal(t *cel.Type, b checkBuilder) ref.Val {
	return opaque[*checkBuilder]{t, &b, func(a, b *checkBuilder) bool { return a.Check == b.Check }}
}

// AuthorizerValue returns the value of the variable authorizer.
func AuthorizerValue(authorize Authorizer) ref.Val {
	return checkVal(authorizerType, checkBuilder{authorize: authorize})
}

// RequestResourceValue returns the value of the variable authorizer.requestResource: a check of the object of
// a request, to be completed with a verb.
func RequestResourceValue(authorize Authorizer, check Check) ref.Val {
	return checkVal(resourceCheckType, checkBuilder{authorize: authorize, Check: check})
}

// authorizerVariables declares the variables authorizer and authorizer.requestResource.
func authorizerVariables() []cel.EnvOption {
	return []cel.EnvOption{cel.Variable("authorizer", authorizerType), cel.Variable("authorizer.requestResource", resourceCheckType)}
}

// authorizerTypes declares the types of checks, which are built step by step, and of their decisions.
func authorizerTypes() []cel.EnvOption {
	step := func(id string, from, to *cel.Type, set func(b *checkBuilder, text string)) cel.FunctionOpt {
		return method2(id, from, cel.StringType, to, func(b *checkBuilder, text string) ref.Val {
			next := *b
			set(&next, text)
			return checkVal(to, next)
		})
	}
	decide := func(id string, on *cel.Type) cel.FunctionOpt {
		return method2(id, on, cel.StringType, decisionType, func(b *checkBuilder, verb string) ref.Val {
			check := b.Check
			check.Verb = verb
			d := b.authorize(check)
			return opaque[*Decision]{decisionType, &d, func(a, b *Decision) bool { return a.Allowed == b.Allowed && a.Reason == b.Reason }}
		})
	}
	getter := func(name string, result *cel.Type, f func(*Decision) ref.Val) cel.EnvOption {
		return cel.Function(name, method(name, "decision_"+name, decisionType, result, f))
	}
	return []cel.EnvOption{
		cel.Function("path", step("authorizer_path", authorizerType, pathCheckType, func(b *checkBuilder, s string) { b.Path = s })),
		cel.Function("group", step("authorizer_group", authorizerType, groupCheckType, func(b *checkBuilder, s string) { b.Group = s })),
		cel.Function("serviceAccount", cel.MemberOverload("authorizer_serviceaccount", []*cel.Type{authorizerType, cel.StringType, cel.StringType}, authorizerType,
			cel.FunctionBinding(func(args ...ref.Val) ref.Val {
				b, ok := args[0].Value().(*checkBuilder)
				namespace, ok2 := args[1].Value().(string)
				name, ok3 := args[2].Value().(string)
				if !ok || !ok2 || !ok3 {
					return types.MaybeNoSuchOverloadErr(args[0])
				}
				next := *b
				next.AccountNamespace, next.Account = namespace, name
				return checkVal(authorizerType, next)
			}))),
		cel.Function("resource", step("groupcheck_resource", groupCheckType, resourceCheckType, func(b *checkBuilder, s string) { b.Resource = s })),
		cel.Function("subresource", step("resourcecheck_subresource", resourceCheckType, resourceCheckType, func(b *checkBuilder, s string) { b.Subresource = s })),
		cel.Function("namespace", step("resourcecheck_namespace", resourceCheckType, resourceCheckType, func(b *checkBuilder, s string) { b.Namespace = s })),
		cel.Function("name", step("resourcecheck_name", resourceCheckType, resourceCheckType, func(b *checkBuilder, s string) { b.Name = s })),
		cel.Function("fieldSelector", step("resourcecheck_fieldselector", resourceCheckType, resourceCheckType, func(b *checkBuilder, s string) { b.FieldSelector = s })),
		cel.Function("labelSelector", step("resourcecheck_labelselector", resourceCheckType, resourceCheckType, func(b *checkBuilder, s string) { b.LabelSelector = s })),
		cel.Function("check", decide("pathcheck_check", pathCheckType), decide("resourcecheck_check", resourceCheckType)),
		getter("errored", cel.BoolType, func(d *Decision) ref.Val { return types.Bool(d.Err != nil) }),
		getter("error", cel.StringType, func(d *Decision) ref.Val {
			if d.Err == nil {
				return types.String("")
			}
			return types.String(d.Err.Error())
		}),
		getter("allowed", cel.BoolType, func(d *Decision) ref.Val { return types.Bool(d.Allowed) }),
		getter("reason", cel.StringType, func(d *Decision) ref.Val { return types.String(d.Reason) }),
	}
}
