package apiserver

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// FuzzSameInYAML: what is read as JSON in the place of YAML has the same meaning in both.
func FuzzSameInYAML(f *testing.F) {
	for _, text := range []string{
		`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b\n\t\"\\ c","é":"日本"}}`, "{ \"a\" : [1, -2,\r\n0,true,false,null,{},[]] }", `{"n":123456789012345}`,
		`{"n":1234567890123456}`, `{"n":1.0}`, `{"n":1e3}`, `{"n":1E3}`, `{"n":-0}`, `{"n":01}`, `{"a":"\u0041"}`, `{"a":"\/"}`, "{\t\"a\":1}", "{\"a\":\"x\ty\"}",
		"{\"a\":\"x\u2028y\"}", "{\"a\":\"x\u0085y\"}", "{\"a\":\"\ufeff\"}", "{\"a\":\"\x7f\"}", "{\"a\":\"\xff\"}", `{"a":1,"a":2}`, `{"<<":{"a":1}}`, `{"y":"yes","no":"~"}`,
		`{"a":1} {"b":2}`, `{"a":1}#`, `{a: 1}`, `{"a":0x10}`, `{"a":1_000}`, `{"a":.5}`, `{"a":"b`, `{"a":"` + "x\ny" + `"}`, `{`, ``, ` {"1":"2"}`, "\ufeff{}", `{"a":{"b":{"c":["d"]}}}`,
		`{"a":"# no comment","b":"- no list","c":": no map","d":"'","e":"&a","f":"*a","g":"!t"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !sameInYAML(data) {
			return
		}
		var fast, slow map[string]any
		issues, err := codec.UnmarshalOptions(data, &fast, codec.DecodeOptions{Strict: true})
		if err != nil || len(issues) > 0 {
			return // it is read as YAML
		}
		converted, err := codec.YAMLToJSON(data)
		require.NoError(t, err)
		require.NoError(t, codec.Unmarshal(converted, &slow))
		require.Equal(t, slow, fast)
	})
}

// A usual configuration is read as JSON.
func TestUsualConfigurationsAreReadAsJSON(t *testing.T) {
	require.True(t, sameInYAML([]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","annotations":{"n":"1.5 é"}},"spec":{"replicas":3,"x":[true,null,-1]}}`)))
	require.False(t, sameInYAML([]byte("apiVersion: v1\nkind: ConfigMap\n")))
	require.False(t, sameInYAML([]byte(`{"spec":{"n":1.5}}`)))
}
