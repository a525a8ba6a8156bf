package markers

import (
	"fmt"
	"go/token"
	"strings"
)

// prefix of kubebuilder's own markers.
const prefix = "kubebuilder:"

// place is where a marker has an effect.
type place uint8

const (
	ofType place = 1 << iota
	ofField
	ofPackage
)

// String lists the places.
func (p place) String() string {
	var out []string
	for i, name := range []string{"a type", "a field", "no type or field"} {
		if p&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, " or ")
}

// definition is a known marker.
type definition struct {
	places place
	// fields are the names of its arguments, for a marker that has several.
	fields []string
	// schema applies the marker to a schema; nil for one that concerns something else.
	schema func(*props, mark) error
}

// mark is a marker in the source.
type mark struct {
	name string
	def  *definition // nil for markers of other programs
	at   token.Position
	// value is the text of the only argument; given is whether there is one.
	value string
	given bool
	// args are the texts of named arguments.
	args map[string]string
}

func (m mark) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: +%s: %w", m.at.Filename, m.at.Line, m.name, fmt.Errorf(format, args...))
}

// anywhere reports whether the marker has the same meaning at any place.
func (m mark) anywhere() bool { return m.def.places == anyPlace }

const anyPlace = ofType | ofField | ofPackage

// parseMark parses a line without its plus. Its def is nil for a marker of another program.
func parseMark(line string, at token.Position) (mark, error) {
	head, value, given := strings.Cut(line, "=")
	m := mark{name: strings.TrimRight(strings.TrimSpace(head), ":"), at: at, value: strings.TrimSpace(value), given: given}
	if d := known(m.name); d != nil {
		m.def = d
		if len(d.fields) > 0 && given {
			return m, m.errorf("the arguments are named: %s", strings.Join(d.fields, ", "))
		}
		return m, nil
	}
	if i := strings.LastIndexByte(m.name, ':'); i > 0 && given {
		if d := known(m.name[:i]); d != nil && len(d.fields) > 0 {
			m.name, m.def, m.value, m.given = m.name[:i], d, "", false
			return m, m.named(line[i+1:])
		}
	}
	if strings.HasPrefix(m.name, prefix) && !strings.HasPrefix(m.name, prefix+"scaffold") {
		return m, m.errorf("the marker is not known")
	}
	return m, nil
}

// named parses arguments such as path=a,scope=Cluster.
func (m *mark) named(text string) error {
	m.args = map[string]string{}
	for _, part := range split(text, ',') {
		key, value, ok := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		switch {
		case !contains(m.def.fields, key):
			return m.errorf("there is no argument %q: there are %s", key, strings.Join(m.def.fields, ", "))
		case !ok:
			value = "true"
		}
		if _, twice := m.args[key]; twice {
			return m.errorf("the argument %s is given twice", key)
		}
		m.args[key] = strings.TrimSpace(value)
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// known returns the definition of a marker, nil if there is none.
func known(name string) *definition {
	if d, ok := definitions[name]; ok {
		return d
	}
	if rest, ok := strings.CutPrefix(name, prefix+"validation:items:"); ok {
		if d := definitions[prefix+"validation:"+rest]; d != nil && d.schema != nil {
			return &definition{places: d.places, fields: d.fields, schema: func(s *props, m mark) error {
				if s.Items == nil || s.Items.Schema == nil {
					return m.errorf("the type is not a list")
				}
				return d.schema(s.Items.Schema, m)
			}}
		}
	}
	return nil
}

var (
	ruleFields    = []string{"rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf"}
	rightFields   = []string{"groups", "resources", "resourceNames", "urls", "verbs", "namespace", "roleName"}
	webhookFields = []string{
		"mutating", "failurePolicy", "matchPolicy", "sideEffects", "timeoutSeconds", "groups", "resources", "verbs", "versions", "name",
		"serviceName", "serviceNamespace", "servicePort", "path", "url", "webhookVersions", "admissionReviewVersions", "reinvocationPolicy",
	}
)

// definitions are the known markers. Those without an effect here concern programs that this package
// replaces.
var definitions = map[string]*definition{}

func init() {
	for name, d := range map[string]definition{
		"resource":             {places: ofType, fields: []string{"path", "scope", "shortName", "categories", "singular"}},
		"printcolumn":          {places: ofType, fields: []string{"name", "type", "JSONPath", "description", "format", "priority"}},
		"selectablefield":      {places: ofType, fields: []string{"JSONPath"}},
		"subresource:status":   {places: ofType},
		"subresource:scale":    {places: ofType, fields: []string{"specpath", "statuspath", "selectorpath"}},
		"storageversion":       {places: ofType},
		"unservedversion":      {places: ofType},
		"deprecatedversion":    {places: ofType, fields: []string{"warning"}},
		"skipversion":          {places: ofType},
		"metadata":             {places: ofType, fields: []string{"annotations", "labels"}},
		"validation:Optional":  {places: ofField | ofPackage},
		"validation:Required":  {places: ofField | ofPackage},
		"rbac":                 {places: anyPlace, fields: rightFields},
		"webhook":              {places: anyPlace, fields: webhookFields},
		"webhookconfiguration": {places: anyPlace, fields: []string{"mutating", "name"}},
		"object:root":          {places: ofType | ofPackage},
		"object:generate":      {places: ofType | ofPackage},
		"ac:generate":          {places: ofType | ofPackage},
		"ac:output:package":    {places: ofPackage},
		"conversion:hub":       {places: ofType},
	} {
		definitions[prefix+name] = &d
	}
	for _, name := range []string{"groupName", "versionName"} {
		definitions[name] = &definition{places: ofPackage}
	}
	for _, name := range []string{"optional", "required", "k8s:optional", "k8s:required"} {
		definitions[name] = &definition{places: ofField}
	}
	for name, apply := range schemaMarks() {
		d := &definition{places: ofType | ofField, schema: apply}
		if strings.HasSuffix(name, ":XValidation") {
			d.fields = ruleFields
		}
		definitions[name] = d
	}
}
