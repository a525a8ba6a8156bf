package cel

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Question is an authorization check of an expression: whether a user may perform a verb on a resource, or at
// a path.
type Question struct {
	// AccountNamespace and Account name the service account to check; empty means the user of the request.
	AccountNamespace, Account string
	Verb                      string
	// Path is a path that is not a resource; empty otherwise.
	Path                                          string
	Group, Resource, Subresource, Namespace, Name string
	FieldSelector, LabelSelector                  string
}

// Answer is what the authorizer says.
type Answer struct {
	Allowed bool
	// Reason is human-readable and may be empty.
	Reason string
	// Err is set if the authorizer could not find out.
	Err error
}

// Authorizer answers questions. It is called while an expression is evaluated, and must be safe for
// concurrent use.
type Authorizer func(Question) Answer

const authorization = "kubernetes.authorization."

var (
	authorizerType    = cel.ObjectType(authorization + "Authorizer")
	pathCheckType     = cel.ObjectType(authorization + "PathCheck")
	groupCheckType    = cel.ObjectType(authorization + "GroupCheck")
	resourceCheckType = cel.ObjectType(authorization + "ResourceCheck")
	decisionType      = cel.ObjectType(authorization + "Decision")
)

// inquiry is a question being put together.
type inquiry struct {
	ask Authorizer
	Question
}

func inquiryVal(t *cel.Type, q inquiry) ref.Val {
	return opaque[*inquiry]{t, &q, func(a, b *inquiry) bool { return a.Question == b.Question }}
}

// AuthorizerValue is the variable authorizer.
func AuthorizerValue(ask Authorizer) ref.Val { return inquiryVal(authorizerType, inquiry{ask: ask}) }

// RequestResourceValue is the variable authorizer.requestResource: the beginning of a question about the
// object of a request.
func RequestResourceValue(ask Authorizer, q Question) ref.Val {
	return inquiryVal(resourceCheckType, inquiry{ask: ask, Question: q})
}

// asking declares the variables that questions begin with.
func asking() []cel.EnvOption {
	return []cel.EnvOption{cel.Variable("authorizer", authorizerType), cel.Variable("authorizer.requestResource", resourceCheckType)}
}

// authorizers declares the questions, which are built step by step, and their answers.
func authorizers() []cel.EnvOption {
	step := func(id string, from, to *cel.Type, set func(q *inquiry, text string)) cel.FunctionOpt {
		return method2(id, from, cel.StringType, to, func(q *inquiry, text string) ref.Val {
			next := *q
			set(&next, text)
			return inquiryVal(to, next)
		})
	}
	check := func(id string, on *cel.Type) cel.FunctionOpt {
		return method2(id, on, cel.StringType, decisionType, func(q *inquiry, verb string) ref.Val {
			q2 := q.Question
			q2.Verb = verb
			a := q.ask(q2)
			return opaque[*Answer]{decisionType, &a, func(a, b *Answer) bool { return a.Allowed == b.Allowed && a.Reason == b.Reason }}
		})
	}
	tell := func(name string, result *cel.Type, f func(*Answer) ref.Val) cel.EnvOption {
		return cel.Function(name, method(name, "decision_"+name, decisionType, result, f))
	}
	return []cel.EnvOption{
		cel.Function("path", step("authorizer_path", authorizerType, pathCheckType, func(q *inquiry, s string) { q.Path = s })),
		cel.Function("group", step("authorizer_group", authorizerType, groupCheckType, func(q *inquiry, s string) { q.Group = s })),
		cel.Function("serviceAccount", cel.MemberOverload("authorizer_serviceaccount", []*cel.Type{authorizerType, cel.StringType, cel.StringType}, authorizerType,
			cel.FunctionBinding(func(args ...ref.Val) ref.Val {
				q, ok := args[0].Value().(*inquiry)
				namespace, ok2 := args[1].Value().(string)
				name, ok3 := args[2].Value().(string)
				if !ok || !ok2 || !ok3 {
					return types.MaybeNoSuchOverloadErr(args[0])
				}
				next := *q
				next.AccountNamespace, next.Account = namespace, name
				return inquiryVal(authorizerType, next)
			}))),
		cel.Function("resource", step("groupcheck_resource", groupCheckType, resourceCheckType, func(q *inquiry, s string) { q.Resource = s })),
		cel.Function("subresource", step("resourcecheck_subresource", resourceCheckType, resourceCheckType, func(q *inquiry, s string) { q.Subresource = s })),
		cel.Function("namespace", step("resourcecheck_namespace", resourceCheckType, resourceCheckType, func(q *inquiry, s string) { q.Namespace = s })),
		cel.Function("name", step("resourcecheck_name", resourceCheckType, resourceCheckType, func(q *inquiry, s string) { q.Name = s })),
		cel.Function("fieldSelector", step("resourcecheck_fieldselector", resourceCheckType, resourceCheckType, func(q *inquiry, s string) { q.FieldSelector = s })),
		cel.Function("labelSelector", step("resourcecheck_labelselector", resourceCheckType, resourceCheckType, func(q *inquiry, s string) { q.LabelSelector = s })),
		cel.Function("check", check("pathcheck_check", pathCheckType), check("resourcecheck_check", resourceCheckType)),
		tell("errored", cel.BoolType, func(a *Answer) ref.Val { return types.Bool(a.Err != nil) }),
		tell("error", cel.StringType, func(a *Answer) ref.Val {
			if a.Err == nil {
				return types.String("")
			}
			return types.String(a.Err.Error())
		}),
		tell("allowed", cel.BoolType, func(a *Answer) ref.Val { return types.Bool(a.Allowed) }),
		tell("reason", cel.StringType, func(a *Answer) ref.Val { return types.String(a.Reason) }),
	}
}
