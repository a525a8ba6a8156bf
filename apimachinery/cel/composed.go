package cel

import "github.com/google/cel-go/cel"

// Named is a named expression of a policy.
type Named struct{ Name, Expression string }

// variablesType is the type of the variable that holds named expressions.
const variablesType = known + "variables"

// WithVariables returns env with the variable variables, whose fields are the named expressions: each may
// refer to those before it only. Scalars, lists and maps have the type of their expression. Objects have type
// dyn, and so have expressions that do not compile.
func WithVariables(env *cel.Env, named []Named) (*cel.Env, error) {
	fields := map[string]*cel.Type{}
	env, err := env.Extend(cel.CustomTypeProvider(Objects{variablesType: fields}.Over(env.CELTypeProvider())), cel.Variable("variables", cel.ObjectType(variablesType)))
	if err != nil {
		return nil, err
	}
	for _, v := range named {
		typ := cel.DynType
		if compiled, issues := env.Compile(v.Expression); issues.Err() == nil {
			typ = variableType(compiled.OutputType())
		}
		fields[v.Name] = typ
	}
	return env, nil
}

func variableType(t *cel.Type) *cel.Type {
	switch t.Kind() {
	case cel.BoolKind, cel.BytesKind, cel.DoubleKind, cel.DurationKind, cel.IntKind, cel.NullTypeKind, cel.StringKind, cel.TimestampKind, cel.UintKind:
		return t
	case cel.ListKind:
		return cel.ListType(variableType(t.Parameters()[0]))
	case cel.MapKind:
		return cel.MapType(variableType(t.Parameters()[0]), variableType(t.Parameters()[1]))
	}
	return cel.DynType
}
