package markers

import (
	"encoding/json"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValues(t *testing.T) {
	for text, want := range map[string]string{
		`1`: `1`, `-1.5`: `-1.5`, `true`: `true`, `"1"`: `"1"`, `red`: `"red"`, "`a\"b`": `"a\"b"`, `"a\"b"`: `"a\"b"`,
		`{}`: `{}`, `{1,2}`: `[1,2]`, `1;2`: `[1,2]`, `{a: 1, "b": {c: x}}`: `{"a":1,"b":{"c":"x"}}`, `{{a: 1},{a: 2}}`: `[{"a":1},{"a":2}]`,
		`"a;b"`: `"a;b"`, `{"a,b":"c:d"}`: `{"a,b":"c:d"}`, `nope`: `"nope"`, `null`: `"null"`, `9223372036854775807`: `9223372036854775807`,
		`18446744073709551616`: `18446744073709551616`, `""`: `""`,
	} {
		v, err := valueOf(text)
		require.NoError(t, err, text)
		got, err := json.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, want, string(got), text)
	}
	for _, text := range []string{``, `[1]`, `"a`, "`a", `{a: }`, `{a: 1, b}`, `"a"b`} {
		_, err := valueOf(text)
		require.Error(t, err, text)
	}
}

// Whatever follows a plus is a marker or an error that names its place.
func FuzzMark(f *testing.F) {
	for _, text := range []string{
		`kubebuilder:default={a: "b"}`, `kubebuilder:validation:Enum=a;{b,"c`, "kubebuilder:printcolumn:name=`a,JSONPath={", `kubebuilder:validation:items:Minimum=1`,
		`kubebuilder:validation:XValidation:rule="self > 0",message=a`, `listType=map`, `kubebuilder:webhook:verbs={create`, `:=`, `kubebuilder:rbac:`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseMark(text, token.Position{Filename: "a.go", Line: 7})
		if err == nil && m.def != nil && m.def.schema != nil {
			err = m.def.schema(&props{}, m)
		}
		if err == nil && m.def != nil && m.name == prefix+"rbac" {
			_, err = m.rule()
		}
		if err == nil && m.def != nil && m.name == prefix+"webhook" {
			_, err = m.webhook(true)
		}
		if err != nil {
			require.ErrorContains(t, err, "a.go:7: +"+m.name)
		}
	})
}
