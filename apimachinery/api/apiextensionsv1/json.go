package apiextensionsv1

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// AppendJSON appends the value itself; an empty one is null.
func (j JSON) AppendJSON(b []byte) ([]byte, error) { return metav1.RawExtension(j).AppendJSON(b) }

// ParseJSON keeps a copy of the value.
func (j *JSON) ParseJSON(b []byte) error { return (*metav1.RawExtension)(j).ParseJSON(b) }

// MarshalJSON implements json.Marshaler.
func (j JSON) MarshalJSON() ([]byte, error) { return j.AppendJSON(nil) }

// UnmarshalJSON implements json.Unmarshaler.
func (j *JSON) UnmarshalJSON(b []byte) error { return j.ParseJSON(b) }

// MarshalJSON writes the list of schemas if there is one, else the schema.
func (s JSONSchemaPropsOrArray) MarshalJSON() ([]byte, error) {
	if len(s.JSONSchemas) > 0 {
		return json.Marshal(s.JSONSchemas)
	}
	return json.Marshal(s.Schema)
}

// UnmarshalJSON reads a schema or a list of schemas.
func (s *JSONSchemaPropsOrArray) UnmarshalJSON(b []byte) error {
	*s = JSONSchemaPropsOrArray{}
	if first(b) == '[' {
		return json.Unmarshal(b, &s.JSONSchemas)
	}
	return json.Unmarshal(b, &s.Schema)
}

// MarshalJSON writes the schema if there is one, else true or false.
func (s JSONSchemaPropsOrBool) MarshalJSON() ([]byte, error) {
	if s.Schema != nil {
		return json.Marshal(s.Schema)
	}
	return json.Marshal(s.Allows)
}

// UnmarshalJSON reads a schema, which allows what it matches, or true or false.
func (s *JSONSchemaPropsOrBool) UnmarshalJSON(b []byte) error {
	*s = JSONSchemaPropsOrBool{}
	switch first(b) {
	case '{':
		s.Allows = true
		return json.Unmarshal(b, &s.Schema)
	case 't', 'f':
		return json.Unmarshal(b, &s.Allows)
	}
	return fmt.Errorf("expected a schema, true or false, got %.40s", b)
}

// MarshalJSON writes the list of property names if there is one, else the schema.
func (s JSONSchemaPropsOrStringArray) MarshalJSON() ([]byte, error) {
	if len(s.Property) > 0 {
		return json.Marshal(s.Property)
	}
	return json.Marshal(s.Schema)
}

// UnmarshalJSON reads a schema or a list of property names.
func (s *JSONSchemaPropsOrStringArray) UnmarshalJSON(b []byte) error {
	*s = JSONSchemaPropsOrStringArray{}
	if first(b) == '[' {
		return json.Unmarshal(b, &s.Property)
	}
	return json.Unmarshal(b, &s.Schema)
}

// first is the first byte of a JSON text after white space, which determines its kind; 0 if there is none.
func first(b []byte) byte {
	if b = bytes.TrimLeft(b, " \t\r\n"); len(b) > 0 {
		return b[0]
	}
	return 0
}
