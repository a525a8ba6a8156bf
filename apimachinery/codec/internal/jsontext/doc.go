// Package jsontext scans and writes the text of JSON without Go values: nesting, strings and numbers.
package jsontext
