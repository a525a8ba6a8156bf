// Package configfile reads the configuration files of servers: strictly, with errors that name line and
// field.
package configfile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3" // its nodes have lines, which the YAML to JSON conversion of package codec loses

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// maxBytes bounds a file.
const maxBytes = 1 << 20

// Kind is the kind that a file must be of, at one of its versions.
type Kind struct {
	Kind     string
	Versions []string // group/version, the preferred one first
}

// Read decodes a file, YAML or JSON, into v, and calls validate. Unknown and repeated fields are errors.
// Errors begin with the kind and have the line, as in "Policy: line 3: rules[0].level: Required value".
func Read(data []byte, kind Kind, v any, validate func() validation.ErrorList) error {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if _, err := codec.UnmarshalYAML(data, &head, codec.DecodeOptions{MaxBytes: maxBytes}); err != nil {
		return fmt.Errorf("%s: %w", kind.Kind, located(data, err))
	}
	if head.Kind != kind.Kind || !slices.Contains(kind.Versions, head.APIVersion) {
		return fmt.Errorf("want kind %s of %s, got kind %q of %q", kind.Kind, strings.Join(kind.Versions, " or "), head.Kind, head.APIVersion)
	}
	issues, err := codec.UnmarshalYAML(data, v, codec.DecodeOptions{Strict: true, MaxBytes: maxBytes})
	if err != nil {
		return fmt.Errorf("%s: %w", kind.Kind, located(data, err))
	}
	switch {
	case len(issues) > 0 && issues[0].Line > 0: // which the text has
		return fmt.Errorf("%s: %v", kind.Kind, issues[0])
	case len(issues) > 0:
		return fmt.Errorf("%s: %s%v", kind.Kind, LineOf(data, issues[0].Path), issues[0])
	}
	var errs []error
	for _, e := range validate() {
		errs = append(errs, fmt.Errorf("%s: %s%w", kind.Kind, LineOf(data, e.Field), e))
	}
	return errors.Join(errs...)
}

// located adds the line to an error of the decoder.
func located(data []byte, err error) error {
	if e, ok := errors.AsType[*codec.DecodeError](err); ok && e.Path != "" {
		return fmt.Errorf("%s%s: %s", LineOf(data, e.Path), e.Path, e.Msg)
	}
	return err
}

// LineOf returns "line N: " for a field, or the nearest one around it that is there; empty if there is none.
func LineOf(data []byte, path string) string {
	var doc yaml.Node
	if yaml.Unmarshal(data, &doc) != nil || len(doc.Content) == 0 {
		return ""
	}
	n, line := doc.Content[0], 0
	for _, step := range steps(path) {
		var at int
		if n, at = child(n, step); n == nil {
			break
		}
		line = at
	}
	if line == 0 {
		return ""
	}
	return "line " + strconv.Itoa(line) + ": "
}

// steps splits a path such as rules[0].level into rules, [0] and level.
func steps(path string) (out []string) {
	for part := range strings.SplitSeq(path, ".") {
		name, rest, indexed := strings.Cut(part, "[")
		if name != "" {
			out = append(out, name)
		}
		for indexed {
			var index string
			index, rest, _ = strings.Cut(rest, "]")
			out = append(out, "["+index+"]")
			_, rest, indexed = strings.Cut(rest, "[")
		}
	}
	return out
}

// child returns a part of a node and its line.
func child(n *yaml.Node, step string) (*yaml.Node, int) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i+1], n.Content[i].Line
			}
		}
	case yaml.SequenceNode:
		i, err := strconv.Atoi(strings.Trim(step, "[]"))
		if err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i].Line
		}
	}
	return nil, 0
}
