package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v2"
)

// An alias is a few bytes that stand for a value of any size. What a document with aliases comes to is
// therefore counted before it is converted, value by value, so that no more of it is ever in memory than the
// limit.
const (
	// maxYAMLDepth is how deeply the values of a document with aliases may be nested.
	maxYAMLDepth = 10_000
	// maxYAMLValues is how many values such a document may have beyond one for each of its bytes.
	maxYAMLValues = 400_000
)

var errExpands = errors.New("YAML expands to more than the limit")

// checkAliases refuses a document whose aliases make its JSON larger than limit bytes.
func checkAliases(data []byte, limit int) error {
	if bytes.IndexByte(data, '*') < 0 || bytes.IndexByte(data, '&') < 0 {
		return nil
	}
	var root yamlValue
	if err := yaml.Unmarshal(data, &root); err != nil {
		return err
	}
	size := yamlSize{bytes: limit, values: maxYAMLValues + len(data)}
	return size.value(root, 0)
}

// yamlValue is a value that is not decoded yet, only where it is in the document is known.
type yamlValue struct{ decode func(any) error }

// UnmarshalYAML implements yaml.Unmarshaler.
func (v *yamlValue) UnmarshalYAML(decode func(any) error) error {
	v.decode = decode
	return nil
}

// yamlSize is what a document may still come to.
type yamlSize struct{ bytes, values int }

// value subtracts the size of a value as JSON.
func (s *yamlSize) value(v yamlValue, depth int) error {
	if s.values--; s.values < 0 || depth > maxYAMLDepth {
		return errExpands
	}
	if v.decode == nil { // null
		return s.take(len("null"))
	}
	var fields map[any]yamlValue
	if v.decode(&fields) == nil {
		for key, value := range fields {
			if err := errors.Join(s.scalar(key), s.take(len(":,"))); err != nil {
				return err
			}
			if err := s.value(value, depth+1); err != nil {
				return err
			}
		}
		return s.take(len("{}"))
	}
	var items []yamlValue
	if v.decode(&items) == nil {
		for _, item := range items {
			if err := errors.Join(s.take(len(",")), s.value(item, depth+1)); err != nil {
				return err
			}
		}
		return s.take(len("[]"))
	}
	var scalar any
	if err := v.decode(&scalar); err != nil {
		return err
	}
	return s.scalar(scalar)
}

// scalar subtracts the size of a string, number, boolean or null.
func (s *yamlSize) scalar(v any) error {
	text, ok := v.(string)
	if !ok {
		return s.take(len(fmt.Sprint(v)))
	}
	if err := s.take(len(`""`) + len(text)); err != nil {
		return err
	}
	// Package encoding/json writes these as \u003c and the like.
	return s.take(5 * (strings.Count(text, "<") + strings.Count(text, ">") + strings.Count(text, "&")))
}

func (s *yamlSize) take(n int) error {
	if s.bytes -= n; s.bytes < 0 {
		return errExpands
	}
	return nil
}
