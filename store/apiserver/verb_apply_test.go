package apiserver_test

import (
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
	for _, body := range []string{yaml, json} {
		got := apply(body, "Strict")
		require.Equal(t, 400, got.code, "%s", got.body)
		require.Contains(t, string(got.body), "duplicate field")
		got = apply(body, "Warn")
		require.Less(t, got.code, 300)
		require.Contains(t, got.header.Get("Warning"), "duplicate field")
		got = apply(body, "Ignore")
		require.Less(t, got.code, 300)
		require.Empty(t, got.header.Get("Warning"))
	}
}
