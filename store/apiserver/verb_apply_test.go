package apiserver_test

import (
	"strconv"
	"testing"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/stretchr/testify/require"
)

func TestApplyWithDuplicateKeys(t *testing.T) {
	s := start(t, apiserver.Options{})
	const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: one\n  k: two\n"
	const json = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"one","k":"two"}}`
	apply := func(body, validation string) *answer {
		return s.do("PATCH", configMaps+"/a?fieldManager=m&fieldValidation="+validation, body, "Content-Type", "application/apply-patch+yaml")
	}
	for body, want := range map[string]string{yaml: `line 7: key "k" already set in map`, json: `line 1: key "k" already set in map`} {
		got := apply(body, "Strict")
		require.Equal(t, 400, got.code, "%s", got.body)
		require.Equal(t, "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  "+want, got.ok(400).at("message"))
		got = apply(body, "Warn")
		require.Less(t, got.code, 300)
		require.Equal(t, []string{"299 - " + strconv.Quote(want)}, got.header.Values("Warning"))
		got = apply(body, "Ignore")
		require.Less(t, got.code, 300)
		require.Empty(t, got.header.Get("Warning"))
	}
}

// Duplicate keys of YAML are reported by line, before unknown fields.
func TestCreateWithDuplicateKeys(t *testing.T) {
	s := start(t, apiserver.Options{})
	const body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  name: a\n  color: red\ndata:\n  k: one\n  k: two\n"
	create := func(validation string) *answer {
		return s.do("POST", configMaps+"?fieldValidation="+validation, body, "Content-Type", "application/yaml")
	}
	got := create("Strict")
	require.Equal(t, 400, got.code, "%s", got.body)
	require.Equal(t, "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n"+
		"  line 5: key \"name\" already set in map\n  line 9: key \"k\" already set in map, unknown field \"metadata.color\"", got.ok(400).at("message"))
	got = create("Warn")
	require.Equal(t, 201, got.code, "%s", got.body)
	require.Equal(t, []string{`299 - "line 5: key \"name\" already set in map"`, `299 - "line 9: key \"k\" already set in map"`,
		`299 - "unknown field \"metadata.color\""`}, got.header.Values("Warning"))
}
