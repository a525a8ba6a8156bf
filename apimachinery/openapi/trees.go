package openapi

import (
	"strings"
)

// pathParameters returns the names in braces of a path.
func pathParameters(path string) []string {
	var names []string
	for {
		_, rest, ok := strings.Cut(path, "{")
		if !ok {
			return names
		}
		name, after, _ := strings.Cut(rest, "}")
		names, path = append(names, name), after
	}
}

func (o *operation) common() map[string]any {
	m := map[string]any{"description": o.description, "operationId": o.id, "tags": []any{o.tag}}
	if o.action != "" {
		m["x-kubernetes-action"] = o.action
		m["x-kubernetes-group-version-kind"] = gvkTree(o.gvk)
	}
	if strings.Contains(o.path, "/watch/") {
		m["deprecated"] = true
	}
	return m
}

// treeV3 returns the operation in the v3 dialect.
func (o *operation) treeV3() map[string]any {
	m := o.common()
	var params []any
	for _, name := range o.query {
		p := parameters[name]
		params = append(params, map[string]any{
			"name": name, "in": "query", "description": p.description, "schema": map[string]any{"type": p.typ, "uniqueItems": true},
		})
	}
	if params != nil {
		m["parameters"] = params
	}
	if o.body != "" {
		body := map[string]any{"content": contentTree(o.bodyTypes, o.body)}
		if o.bodyRequired {
			body["required"] = true
		}
		m["requestBody"] = body
	}
	responses := map[string]any{"401": map[string]any{"description": "Unauthorized"}}
	for _, code := range o.codes {
		responses[code] = map[string]any{"description": codeText(code), "content": contentTree(o.produces, o.result)}
	}
	m["responses"] = responses
	return m
}

func contentTree(types []string, result string) map[string]any {
	s := map[string]any{"type": "string"}
	if result != "string" {
		s = map[string]any{"$ref": refV3 + result}
	}
	m := map[string]any{}
	for _, t := range types {
		m[t] = map[string]any{"schema": s}
	}
	return m
}

func codeText(code string) string {
	return map[string]string{"200": "OK", "201": "Created", "202": "Accepted"}[code]
}

// treeV2 returns the operation in the v2 dialect.
func (o *operation) treeV2() map[string]any {
	m := o.common()
	m["schemes"] = []any{"https"}
	m["consumes"], m["produces"] = []string{"*/*"}, o.produces
	params := []any{}
	if o.body != "" {
		m["consumes"] = o.bodyTypes
		body := map[string]any{"in": "body", "name": "body", "schema": map[string]any{"$ref": refV2 + o.body}}
		if o.bodyRequired {
			body["required"] = true
		}
		params = append(params, body)
	}
	inPath := pathParameters(o.path)
	for _, name := range o.query {
		if len(inPath) > 0 && name == inPath[len(inPath)-1] {
			continue // a proxied path is in the path or in the query, not in both
		}
		p := parameters[name]
		params = append(params, map[string]any{"in": "query", "name": name, "type": p.typ, "uniqueItems": true, "description": p.description})
	}
	m["parameters"] = params
	responses := map[string]any{"401": map[string]any{"description": "Unauthorized"}}
	for _, code := range o.codes {
		s := map[string]any{"type": "string"}
		if o.result != "string" {
			s = map[string]any{"$ref": refV2 + o.result}
		}
		responses[code] = map[string]any{"description": codeText(code), "schema": s}
	}
	m["responses"] = responses
	return m
}

// pathsTree groups operations by path. inPath makes the parameters of the path itself.
func pathsTree(ops []operation, method func(*operation) map[string]any, inPath func(name string, p parameter) map[string]any) map[string]any {
	paths := map[string]any{}
	for i := range ops {
		o := &ops[i]
		item, _ := paths[o.path].(map[string]any)
		if item == nil {
			item = map[string]any{}
			var params []any
			for _, name := range pathParameters(o.path) {
				params = append(params, inPath(name, parameters[name]))
			}
			if params != nil {
				item["parameters"] = params
			}
			paths[o.path] = item
		}
		item[strings.ToLower(o.method)] = method(o)
	}
	return paths
}

func pathParameterV3(name string, p parameter) map[string]any {
	return map[string]any{
		"name": name, "in": "path", "required": true, "description": p.description,
		"schema": map[string]any{"type": p.typ, "uniqueItems": true},
	}
}

func pathParameterV2(name string, p parameter) map[string]any {
	return map[string]any{
		"name": name, "in": "path", "required": true, "description": p.description, "type": p.typ, "uniqueItems": true,
	}
}
