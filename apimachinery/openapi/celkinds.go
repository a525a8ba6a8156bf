package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"

	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// KindType is what expressions can look at in the objects of a kind, to check them against: see [TypedEnv].
// It is immutable.
type KindType struct {
	name string
	s    *Structural
}

// NoKindError says that a document does not describe a kind.
type NoKindError struct{ Kind schema.GroupVersionKind }

// Error implements error.
func (e *NoKindError) Error() string { return "the document has no schema of " + e.Kind.String() }

// KindTypeIn reads the type of a kind from an OpenAPI v3 document of its group-version. It fails for what is
// no such document, with a [NoKindError] if the kind is not in it, and for a reference to a schema that is
// not.
//
// What a schema refers to is part of it, but a schema inside itself is an object without fields. A field
// whose schema gives no type, such as a quantity, which is a text or a number, does not exist for
// expressions.
func KindTypeIn(document []byte, gvk schema.GroupVersionKind) (*KindType, error) {
	var d struct {
		Components struct {
			Schemas map[string]*documented `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	for name, s := range d.Components.Schemas {
		if s != nil && slices.Contains(s.Kinds, gvk) {
			r := resolver{d.Components.Schemas, map[string]bool{refV3 + name: true}}
			typ, err := r.resolve(s)
			if err != nil {
				return nil, fmt.Errorf("openapi: schema of %s: %w", gvk, err)
			}
			// It is no identifier, so that no expression names it.
			return &KindType{name: "#" + gvk.GroupVersion().String() + "." + gvk.Kind, s: typ}, nil
		}
	}
	return nil, &NoKindError{gvk}
}

// TypedEnv is base with variables that hold objects of kinds. A nil type allows anything.
func TypedEnv(base *celgo.Env, variables map[string]*KindType) (*celgo.Env, error) {
	t := &celTypes{Provider: base.CELTypeProvider(), objects: map[string]*celObject{}}
	options := []celgo.EnvOption{celgo.CustomTypeProvider(t)}
	for name, kind := range variables {
		typ := celgo.DynType
		if kind != nil {
			if declared := t.declare(kind.s, kind.name, !kind.s.describesObject()); declared != nil {
				typ = declared
			}
		}
		options = append(options, celgo.Variable(name, typ))
	}
	return base.Extend(options...)
}

// describesObject reports whether the schema says itself what every object has.
func (s *Structural) describesObject() bool {
	is := func(s *Structural, name, typ string) bool {
		return s.Properties[name] != nil && s.Properties[name].Type == typ
	}
	return is(s, "apiVersion", "string") && is(s, "kind", "string") && is(s, "metadata", "object") &&
		is(s.Properties["metadata"], "name", "string") && is(s.Properties["metadata"], "generateName", "string")
}

// documented is a schema of a document, as far as it gives types.
type documented struct {
	Ref         string                    `json:"$ref"`
	AllOf       []*documented             `json:"allOf"`
	Type        string                    `json:"type"`
	Format      string                    `json:"format"`
	Properties  map[string]*documented    `json:"properties"`
	Additional  schemaOrBool              `json:"additionalProperties"`
	Items       *documented               `json:"items"`
	IntOrString bool                      `json:"x-kubernetes-int-or-string"`
	Embedded    bool                      `json:"x-kubernetes-embedded-resource"`
	Kinds       []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
}

// schemaOrBool is nil where only a boolean is written.
type schemaOrBool struct{ *documented }

// UnmarshalJSON implements json.Unmarshaler.
func (s *schemaOrBool) UnmarshalJSON(data []byte) error {
	var b bool
	if json.Unmarshal(data, &b) == nil {
		return nil
	}
	return json.Unmarshal(data, &s.documented)
}

// ref is what the schema refers to: with a description, a reference is written inside allOf.
func (d *documented) ref() string {
	if d.Ref != "" {
		return d.Ref
	}
	for _, part := range d.AllOf {
		if part != nil && part.ref() != "" {
			return part.ref()
		}
	}
	return ""
}

// resolver puts what schemas refer to in their place.
type resolver struct {
	schemas map[string]*documented
	inside  map[string]bool // references being resolved
}

func (r *resolver) resolve(d *documented) (*Structural, error) {
	if ref := d.ref(); ref != "" {
		if r.inside[ref] {
			return &Structural{Type: "object"}, nil
		}
		r.inside[ref] = true
		defer delete(r.inside, ref)
		next := r.schemas[strings.TrimPrefix(ref, refV3)]
		if next == nil {
			return nil, fmt.Errorf("there is no %s", ref)
		}
		return r.resolve(next)
	}
	s := &Structural{Type: d.Type, Format: d.Format, Embedded: d.Embedded, IntOrString: d.IntOrString || d.Format == "int-or-string"}
	var err error
	if d.Additional.documented != nil {
		s.Additional, err = r.resolve(d.Additional.documented)
		return s, err
	}
	if len(d.Properties) > 0 {
		s.Properties = make(map[string]*Structural, len(d.Properties))
	}
	for name, p := range d.Properties {
		if p == nil {
			continue
		}
		if s.Properties[name], err = r.resolve(p); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if meta := s.Properties["metadata"]; meta != nil && meta.Properties["name"] != nil && meta.Properties["generateName"] != nil {
		s.Embedded = false // all that an embedded object has is described
	}
	if d.Items != nil {
		s.Items, err = r.resolve(d.Items)
	}
	return s, err
}
