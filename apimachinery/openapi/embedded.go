package openapi

import (
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// embeddedIn checks the objects embedded at and below x. Unlike other values they are checked on every write,
// whether changed or not.
func (v *validator) embeddedIn(s *Structural, p *validation.Path, x any) {
	if !s.embeddedAt {
		return
	}
	switch x := x.(type) {
	case map[string]any:
		if s.Embedded {
			v.embedded(p, x)
		}
		for name, member := range x {
			if c, ok := s.Properties[name]; ok {
				v.embeddedIn(c, v.child(p, name), member)
			} else if s.Additional != nil {
				v.embeddedIn(s.Additional, p.Key(name), member)
			}
		}
	case []any:
		for i := range x {
			if s.Items != nil {
				v.embeddedIn(s.Items, v.item(p, i), x[i])
			}
		}
	}
}

// embedded checks the identity and metadata of an object inside another.
func (v *validator) embedded(p *validation.Path, m map[string]any) {
	v.embeddedName(p, m, "apiVersion", func(text string) string {
		if _, err := schema.ParseGroupVersion(text); err != nil {
			return "unexpected GroupVersion string: " + text
		}
		return ""
	})
	v.embeddedName(p, m, "kind", func(text string) string {
		if errs := validation.IsDNS1035Label(strings.ToLower(text)); len(errs) > 0 {
			return "may have mixed case, but should otherwise match: " + strings.Join(errs, ",")
		}
		return ""
	})
	meta, ok := m["metadata"]
	if !ok {
		return
	}
	var decoded metav1.ObjectMeta
	text, err := codec.Marshal(meta)
	if err == nil {
		err = codec.Unmarshal(text, &decoded)
	}
	if err != nil {
		v.add(validation.Invalid(p.Child("metadata"), shown(meta), err.Error()))
		return
	}
	if decoded.Name == "" {
		decoded.Name = "unnamed" // it need not have one
	}
	for _, e := range metav1.ValidateMeta(&decoded, decoded.Namespace != "", validation.NameIsPathSegment, p.Child("metadata")) {
		v.add(e)
	}
}

// embeddedName checks the apiVersion or kind of the embedded object at p. wrong returns what is wrong with a
// text, or "".
func (v *validator) embeddedName(p *validation.Path, m map[string]any, name string, wrong func(string) string) {
	x, ok := m[name]
	p = p.Child(name)
	text, isText := x.(string)
	switch {
	case !ok:
		v.add(validation.Required(p, ""))
	case !isText:
		v.add(validation.Invalid(p, shown(x), "must be a string"))
	case text == "":
		v.add(validation.Invalid(p, text, "must not be empty"))
	default:
		if why := wrong(text); why != "" {
			v.add(validation.Invalid(p, text, why))
		}
	}
}
