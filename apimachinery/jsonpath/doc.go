// Package jsonpath evaluates the JSONPath expressions that Kubernetes puts into objects: printer columns,
// scale paths and selectable fields of custom resources, and kubectl's output templates.
//
// It supports .field, ['field'], \. escapes, [n] with n from the end when negative, [from:to:step], [*] and
// .*, ..field (any depth), unions such as [0,2] and ['a','b'], and filters [?(@.type=="Ready")] with == != <
// <= > >= or none, which tests for existence. Values are decoded JSON: map[string]any, []any, string, bool,
// int64, float64 and nil.
package jsonpath
