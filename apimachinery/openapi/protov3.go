package openapi

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// The protobuf form of a v3 document is gnostic's openapi.v3.Document, written in the same way as that of a
// v2 document.

func protoDocumentV3(tree map[string]any) []byte {
	var w, info, paths, components protoWriter
	w.str(1, tree["openapi"])
	if m, ok := tree["info"].(map[string]any); ok {
		info.str(1, m["title"])
		info.str(6, m["version"])
	}
	w.message(2, info)
	each(tree["paths"], func(path string, item map[string]any) {
		paths.message(1, named(path, protoPathV3(item)))
	})
	w.message(4, paths)
	if m, ok := tree["components"].(map[string]any); ok {
		components.named(1, m["schemas"], protoSchemaOrReference)
		components.named(7, m["securitySchemes"], func(m map[string]any) []byte {
			var scheme protoWriter
			scheme.str(1, m["type"])
			scheme.str(2, m["description"])
			scheme.str(3, m["name"])
			scheme.str(4, m["in"])
			return choice(1, scheme)
		})
	}
	w.message(5, components)
	return w
}

// choice writes a message that is one of several alternatives, such as a schema or a reference.
func choice(num protowire.Number, body []byte) []byte {
	var w protoWriter
	w.message(num, body)
	return w
}

// named writes the members of a tree, in key order, as a message of named values; nothing if there is no
// tree.
func (w *protoWriter) named(num protowire.Number, tree any, value func(map[string]any) []byte) {
	if tree == nil {
		return
	}
	var all protoWriter
	each(tree, func(name string, m map[string]any) { all.message(1, named(name, value(m))) })
	w.message(num, all)
}

func protoPathV3(item map[string]any) []byte {
	var w protoWriter
	w.operations(4, item, protoOperationV3)
	w.parametersV3(13, item["parameters"])
	return w
}

func protoOperationV3(op map[string]any) []byte {
	var w protoWriter
	w.strings(1, op["tags"])
	w.str(3, op["description"])
	w.str(5, op["operationId"])
	w.parametersV3(6, op["parameters"])
	if m, ok := op["requestBody"].(map[string]any); ok {
		var body protoWriter
		body.named(2, m["content"], protoMediaType)
		body.flag(3, m["required"])
		w.message(7, choice(1, body))
	}
	var responses protoWriter
	each(op["responses"], func(code string, m map[string]any) {
		var response protoWriter
		response.str(1, m["description"])
		response.named(3, m["content"], protoMediaType)
		responses.message(2, named(code, choice(1, response)))
	})
	w.message(8, responses)
	w.flag(10, op["deprecated"])
	w.extensions(13, op)
	return w
}

func protoMediaType(m map[string]any) []byte {
	var w protoWriter
	if s, ok := m["schema"].(map[string]any); ok {
		w.message(1, protoSchemaOrReference(s))
	}
	return w
}

func (w *protoWriter) parametersV3(num protowire.Number, v any) {
	list, _ := v.([]any)
	for _, p := range list {
		m, _ := p.(map[string]any)
		var parameter protoWriter
		parameter.str(1, m["name"])
		parameter.str(2, m["in"])
		parameter.str(3, m["description"])
		parameter.flag(4, m["required"])
		if s, ok := m["schema"].(map[string]any); ok {
			parameter.message(10, protoSchemaOrReference(s))
		}
		w.message(num, choice(1, parameter))
	}
}

func protoSchemaOrReference(s map[string]any) []byte {
	if ref, ok := s["$ref"]; ok {
		var reference protoWriter
		reference.str(1, ref)
		return choice(2, reference)
	}
	return choice(1, protoSchemaV3(s))
}

func protoSchemaV3(s map[string]any) []byte {
	var w protoWriter
	w.flag(1, s["nullable"])
	w.str(9, s["title"])
	w.double(10, s["multipleOf"])
	w.double(11, s["maximum"])
	w.flag(12, s["exclusiveMaximum"])
	w.double(13, s["minimum"])
	w.flag(14, s["exclusiveMinimum"])
	w.integer(15, s["maxLength"])
	w.integer(16, s["minLength"])
	w.str(17, s["pattern"])
	w.integer(18, s["maxItems"])
	w.integer(19, s["minItems"])
	w.flag(20, s["uniqueItems"])
	w.integer(21, s["maxProperties"])
	w.integer(22, s["minProperties"])
	w.strings(23, s["required"])
	if list, ok := s["enum"].([]any); ok {
		for _, v := range list {
			w.message(24, protoAny(v))
		}
	}
	w.str(25, s["type"])
	w.schemas(26, s["allOf"])
	w.schemas(27, s["oneOf"])
	w.schemas(28, s["anyOf"])
	if m, ok := s["not"].(map[string]any); ok {
		w.message(29, protoSchemaV3(m))
	}
	if m, ok := s["items"].(map[string]any); ok {
		w.message(30, choice(1, protoSchemaOrReference(m)))
	}
	w.named(31, s["properties"], protoSchemaOrReference)
	switch v := s["additionalProperties"].(type) {
	case map[string]any:
		w.message(32, choice(1, protoSchemaOrReference(v)))
	case bool:
		var item protoWriter
		item.flag(2, v)
		w.message(32, item)
	}
	if v, ok := s["default"]; ok {
		w.message(33, protoDefault(v))
	}
	w.str(34, s["description"])
	w.str(35, s["format"])
	w.extensions(36, s)
	return w
}

func (w *protoWriter) schemas(num protowire.Number, v any) {
	list, _ := v.([]any)
	for _, s := range list {
		m, _ := s.(map[string]any)
		w.message(num, protoSchemaOrReference(m))
	}
}

// protoDefault writes a number, boolean or string; the message cannot hold lists and objects, so only their
// presence is written.
func protoDefault(v any) []byte {
	var w protoWriter
	switch v := v.(type) {
	case bool:
		w = protowire.AppendTag(w, 2, protowire.VarintType)
		w = protowire.AppendVarint(w, protowire.EncodeBool(v))
	case string:
		w = protowire.AppendTag(w, 3, protowire.BytesType)
		w = protowire.AppendString(w, v)
	case int:
		w.double(1, float64(v))
	case int64:
		w.double(1, float64(v))
	case float64:
		w.double(1, v)
	}
	return w
}
