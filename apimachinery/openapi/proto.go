package openapi

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// The protobuf form of a v2 document is gnostic's openapi.v2.Document. The functions below write it
// from the JSON tree; each field number is that of gnostic's message. Extensions and other free
// values travel as JSON text, which readers parse as YAML.

type protoWriter []byte

func (w *protoWriter) str(num protowire.Number, v any) {
	if s, _ := v.(string); s != "" {
		*w = protowire.AppendTag(*w, num, protowire.BytesType)
		*w = protowire.AppendString(*w, s)
	}
}

func (w *protoWriter) flag(num protowire.Number, v any) {
	if b, _ := v.(bool); b {
		*w = protowire.AppendTag(*w, num, protowire.VarintType)
		*w = protowire.AppendVarint(*w, 1)
	}
}

func (w *protoWriter) message(num protowire.Number, body []byte) {
	*w = protowire.AppendTag(*w, num, protowire.BytesType)
	*w = protowire.AppendBytes(*w, body)
}

func (w *protoWriter) strings(num protowire.Number, v any) {
	switch list := v.(type) {
	case []string:
		for _, s := range list {
			w.str(num, s)
		}
	case []any:
		for _, s := range list {
			w.str(num, s)
		}
	}
}

func (w *protoWriter) integer(num protowire.Number, v any) {
	if n, ok := v.(int64); ok {
		*w = protowire.AppendTag(*w, num, protowire.VarintType)
		*w = protowire.AppendVarint(*w, uint64(n))
	}
}

func (w *protoWriter) double(num protowire.Number, v any) {
	if f, ok := v.(float64); ok {
		*w = protowire.AppendTag(*w, num, protowire.Fixed64Type)
		*w = protowire.AppendFixed64(*w, math.Float64bits(f))
	}
}

// each calls visit with the members of a tree in key order.
func each(tree any, visit func(key string, value map[string]any)) {
	m, _ := tree.(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		child, _ := m[k].(map[string]any)
		visit(k, child)
	}
}

// named writes a name-value pair message.
func named(name string, value []byte) []byte {
	var w protoWriter
	w.str(1, name)
	w.message(2, value)
	return w
}

// extensions writes the x- members of a tree as vendor extensions.
func (w *protoWriter) extensions(num protowire.Number, tree map[string]any) {
	for _, k := range slices.Sorted(maps.Keys(tree)) {
		if len(k) > 2 && k[:2] == "x-" {
			w.message(num, named(k, protoAny(tree[k])))
		}
	}
}

func protoAny(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("openapi: " + err.Error()) // the tree holds JSON values only
	}
	var w protoWriter
	w.str(2, string(text)+"\n")
	return w
}

func protoDocument(tree map[string]any) []byte {
	var w, info, definitions, security protoWriter
	w.str(1, tree["swagger"])
	each(map[string]any{"info": tree["info"]}, func(_ string, m map[string]any) {
		info.str(1, m["title"])
		info.str(2, m["version"])
	})
	w.message(2, info)
	var paths protoWriter
	each(tree["paths"], func(path string, item map[string]any) {
		paths.message(2, named(path, protoPath(item)))
	})
	w.message(8, paths)
	each(tree["definitions"], func(name string, s map[string]any) {
		definitions.message(1, named(name, protoSchema(s)))
	})
	w.message(9, definitions)
	each(map[string]any{"BearerToken": bearer()}, func(name string, m map[string]any) {
		var requirement, item, key protoWriter
		requirement.message(1, named(name, nil))
		w.message(12, requirement)
		key.str(1, m["type"])
		key.str(2, m["name"])
		key.str(3, m["in"])
		key.str(4, m["description"])
		item.message(2, key)
		security.message(1, named(name, item))
	})
	w.message(13, security)
	return w
}

func protoPath(item map[string]any) []byte {
	var w protoWriter
	w.operations(2, item, protoOperation)
	w.parameters(9, item["parameters"])
	return w
}

// operations writes the operations of a path, whose numbers follow each other in both versions.
func (w *protoWriter) operations(first protowire.Number, item map[string]any, operation func(map[string]any) []byte) {
	for i, method := range []string{"get", "put", "post", "delete", "options", "head", "patch"} {
		if op, ok := item[method].(map[string]any); ok {
			w.message(first+protowire.Number(i), operation(op))
		}
	}
}

func protoOperation(op map[string]any) []byte {
	var w protoWriter
	w.strings(1, op["tags"])
	w.str(3, op["description"])
	w.str(5, op["operationId"])
	w.strings(6, op["produces"])
	w.strings(7, op["consumes"])
	w.parameters(8, op["parameters"])
	var responses protoWriter
	each(op["responses"], func(code string, r map[string]any) {
		var response, value protoWriter
		response.str(1, r["description"])
		if s, ok := r["schema"].(map[string]any); ok {
			var item protoWriter
			item.message(1, protoSchema(s))
			response.message(2, item)
		}
		value.message(1, response)
		responses.message(1, named(code, value))
	})
	w.message(9, responses)
	w.strings(10, op["schemes"])
	w.flag(11, op["deprecated"])
	w.extensions(13, op)
	return w
}

// parameters writes a ParametersItem for each parameter.
func (w *protoWriter) parameters(num protowire.Number, v any) {
	list, _ := v.([]any)
	for _, p := range list {
		m, _ := p.(map[string]any)
		var item, parameter protoWriter
		switch m["in"] {
		case "body":
			var body protoWriter
			body.str(2, m["name"])
			body.str(3, m["in"])
			body.flag(4, m["required"])
			if s, ok := m["schema"].(map[string]any); ok {
				body.message(5, protoSchema(s))
			}
			parameter.message(1, body)
		case "query":
			parameter.message(2, protoSubParameter(3, m, 6, 20))
		case "path":
			parameter.message(2, protoSubParameter(4, m, 5, 19))
		}
		item.message(1, parameter)
		w.message(num, item)
	}
}

// protoSubParameter writes a query or path parameter, which differ in the numbers of two fields.
func protoSubParameter(choice protowire.Number, m map[string]any, typ, unique protowire.Number) []byte {
	var sub, w protoWriter
	sub.flag(1, m["required"])
	sub.str(2, m["in"])
	sub.str(3, m["description"])
	sub.str(4, m["name"])
	sub.str(typ, m["type"])
	sub.flag(unique, m["uniqueItems"])
	w.message(choice, sub)
	return w
}

func protoSchema(s map[string]any) []byte {
	var w protoWriter
	w.str(1, s["$ref"])
	w.str(2, s["format"])
	w.str(3, s["title"])
	w.str(4, s["description"])
	w.double(6, s["multipleOf"])
	w.double(7, s["maximum"])
	w.flag(8, s["exclusiveMaximum"])
	w.double(9, s["minimum"])
	w.flag(10, s["exclusiveMinimum"])
	w.integer(11, s["maxLength"])
	w.integer(12, s["minLength"])
	w.str(13, s["pattern"])
	w.integer(14, s["maxItems"])
	w.integer(15, s["minItems"])
	w.flag(16, s["uniqueItems"])
	w.integer(17, s["maxProperties"])
	w.integer(18, s["minProperties"])
	w.strings(19, s["required"])
	if m, ok := s["additionalProperties"].(map[string]any); ok {
		var item protoWriter
		item.message(1, protoSchema(m))
		w.message(21, item)
	}
	if t, _ := s["type"].(string); t != "" {
		var item protoWriter
		item.str(1, t)
		w.message(22, item)
	}
	if m, ok := s["items"].(map[string]any); ok {
		var item protoWriter
		item.message(1, protoSchema(m))
		w.message(23, item)
	}
	if list, ok := s["allOf"].([]any); ok {
		for _, v := range list {
			if m, ok := v.(map[string]any); ok {
				w.message(24, protoSchema(m))
			}
		}
	}
	if properties, ok := s["properties"]; ok {
		var all protoWriter
		each(properties, func(name string, p map[string]any) { all.message(1, named(name, protoSchema(p))) })
		w.message(25, all)
	}
	w.extensions(31, s)
	return w
}
