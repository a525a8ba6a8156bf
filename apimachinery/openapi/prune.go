package openapi

import (
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Prune removes the fields of obj that the schema does not describe, and unknown fields of the metadata of
// embedded objects. It returns their paths, such as spec.a[0].b, at most 100.
func (s *Structural) Prune(obj *metav1.Unstructured) []string {
	if s.describes(obj.Fields, true) {
		return nil
	}
	p := pruner{}
	p.object(s, obj.Fields, true)
	return p.pruned
}

// describes reports whether the schema describes all of v, so that there is nothing to prune. This is true of
// most objects, and the check needs neither sorted members nor paths.
func (s *Structural) describes(v any, whole bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if whole && isMeta(name) {
				if name == "metadata" && !isPlainMeta(member) {
					return false
				}
				continue
			}
			c := s.child(name)
			if c == nil && !s.Preserve || c != nil && !c.describes(member, c.Embedded) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if s.Items != nil {
				if !s.Items.describes(item, s.Items.Embedded) {
					return false
				}
			} else if m, ok := item.(map[string]any); ok && len(m) > 0 && !s.Preserve {
				return false
			}
		}
	}
	return true
}

type pruner struct {
	path   []string
	pruned []string
}

func (p *pruner) value(s *Structural, v any) {
	switch v := v.(type) {
	case map[string]any:
		p.object(s, v, s.Embedded)
	case []any:
		if s.Items == nil {
			if !s.Preserve {
				p.below(s, v)
			}
			return
		}
		for i := range v {
			p.path = append(p.path, "["+strconv.Itoa(i)+"]")
			p.value(s.Items, v[i])
			p.path = p.path[:len(p.path)-1]
		}
	}
}

// below prunes inside a list that no schema describes: objects in it lose all members.
func (p *pruner) below(s *Structural, list []any) {
	for i := range list {
		if m, ok := list[i].(map[string]any); ok {
			p.path = append(p.path, "["+strconv.Itoa(i)+"]")
			p.object(&Structural{Preserve: s.Preserve}, m, false)
			p.path = p.path[:len(p.path)-1]
		}
	}
}

// object prunes the members of m. whole is true for objects with apiVersion, kind and metadata, which stay.
func (p *pruner) object(s *Structural, m map[string]any, whole bool) {
	for _, name := range sortedNames(m) {
		if whole && isMeta(name) {
			if name == "metadata" { // of an embedded object: that of the object itself is decoded already
				p.metadata(m)
			}
			continue
		}
		child := s.child(name)
		if child == nil {
			if !s.Preserve {
				delete(m, name)
				p.note(name)
			}
			continue
		}
		p.path = append(p.path, "."+name)
		p.value(child, m[name])
		p.path = p.path[:len(p.path)-1]
	}
}

// isPlainMeta reports that metadata is what it would be after decoding: the usual members, none empty.
func isPlainMeta(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	for name, x := range m {
		switch name {
		case "name", "namespace", "generateName":
			if s, ok := x.(string); !ok || s == "" {
				return false
			}
		case "labels", "annotations":
			texts, ok := x.(map[string]any)
			if !ok || len(texts) == 0 {
				return false
			}
			for _, s := range texts {
				if _, ok := s.(string); !ok {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// metadata removes unknown and empty members from the metadata of the embedded object m. Metadata of another
// form stays, and validation refuses it.
func (p *pruner) metadata(m map[string]any) {
	text, err := codec.Marshal(m["metadata"])
	if err != nil {
		return
	}
	var meta metav1.ObjectMeta
	issues, err := codec.UnmarshalOptions(text, &meta, codec.DecodeOptions{Strict: true})
	if err != nil {
		return
	}
	clean := map[string]any{}
	if text, err = codec.Marshal(&meta); err != nil || codec.Unmarshal(text, &clean) != nil {
		return
	}
	if meta.CreationTimestamp.IsZero() {
		delete(clean, "creationTimestamp")
	}
	m["metadata"] = clean
	for _, issue := range issues {
		p.note("metadata." + issue.Path)
	}
}

func (p *pruner) note(name string) {
	if len(p.pruned) < 100 {
		p.pruned = append(p.pruned, strings.TrimPrefix(strings.Join(p.path, "")+"."+name, "."))
	}
}

// SetDefaults fills in the defaults of missing fields of obj. A null that the schema does not allow counts as
// missing, and is removed if there is no default.
func (s *Structural) SetDefaults(obj *metav1.Unstructured) {
	if obj.Fields == nil {
		obj.Fields = map[string]any{}
	}
	s.defaults(obj.Fields)
}

func (s *Structural) defaults(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range s.names {
			c := s.Properties[name]
			if !c.HasDefault {
				continue
			}
			if old, ok := v[name]; !ok || old == nil && !c.Nullable {
				v[name] = codec.DeepCopyJSON(c.Default)
			}
		}
		for name, member := range v {
			c := s.child(name)
			if c == nil {
				continue
			}
			if member == nil && !c.Nullable && (c.Type != "" || c.IntOrString) {
				if !c.HasDefault {
					delete(v, name)
					continue
				}
				member = codec.DeepCopyJSON(c.Default)
				v[name] = member
			}
			c.defaults(member)
		}
	case []any:
		if s.Items == nil {
			return
		}
		for i := range v {
			if v[i] == nil && s.Items.HasDefault && !s.Items.Nullable {
				v[i] = codec.DeepCopyJSON(s.Items.Default)
			}
			s.Items.defaults(v[i])
		}
	}
}
