package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const fixture = "../../apimachinery/markers/testdata/fixture"

// TestFiles: the files are those that controller-gen prints for the same packages; see package markers.
func TestFiles(t *testing.T) {
	out := t.TempDir()
	require.NoError(t, run(t.Context(), []string{"--out", out, fixture}, io.Discard))
	for name, golden := range map[string]string{
		"crd/shop.example.com_orders.yaml": "orders.yaml", "rbac/role.yaml": "roles.yaml", "webhook/manifests.yaml": "webhooks.yaml",
	} {
		want, err := os.ReadFile(filepath.Join("../../apimachinery/markers/testdata", golden))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(name)))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), name)
	}
	_, err := os.Stat("../../manifests-program")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestOnly: what is asked for is written, with the name of the role.
func TestOnly(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"--out=-", "--only=rbac,webhook", "--role=other", fixture}, &text))
	require.Contains(t, text.String(), "\n  name: other\n")
	require.Contains(t, text.String(), "\n---\n")
	require.Contains(t, text.String(), "kind: ValidatingWebhookConfiguration")
	require.NotContains(t, text.String(), "CustomResourceDefinition")
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--only=crds"}, "--only=crds: there are crd, rbac, webhook"},
		{[]string{"a", "b"}, `unexpected argument "b"`},
		{[]string{"--output=x"}, "unknown flag: --output; see --help"},
		{[]string{"nowhere"}, "no such file or directory"},
		{[]string{"main.go"}, "is not a folder"},
		{[]string{"."}, ". has no markers of crd, rbac, webhook"},
		{[]string{t.TempDir()}, "is not in a Go module"},
	} {
		require.ErrorContains(t, run(t.Context(), c.args, io.Discard), c.want)
	}
	var help bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"--help"}, &help))
	require.Contains(t, help.String(), "Usage: manifests [flags] [FOLDER]")
}
