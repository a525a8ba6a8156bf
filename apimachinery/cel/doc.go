// Package cel is the expression language of Kubernetes: the Common Expression Language with the functions
// that validation rules and admission policies of a cluster can call (lists, regular expressions, URLs, IP
// addresses and ranges, quantities, semantic versions, named formats, sets, strings, optional values), and
// the cost limits around them.
//
// It does not handle schemas: apimachinery/openapi declares the types of custom resources.
package cel
