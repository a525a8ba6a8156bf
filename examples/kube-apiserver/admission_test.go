package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/controlplane"
)

func TestAdmissionConfiguration(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write("pods.yaml", "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\ndefaults: {enforce: baseline}\n")
	file := write("admission.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: PodSecurity, path: pods.yaml}]\n")
	parsed, err := parse([]string{"--storage-backend=memory", "--admission-control-config-file=" + file, "--enable-admission-plugins=AlwaysPullImages"})
	require.NoError(t, err)
	var o controlplane.Options
	require.NoError(t, parsed.admission.apply(&o))
	require.Equal(t, "baseline", o.PodSecurity.Defaults.Enforce)
	require.Equal(t, []string{"AlwaysPullImages"}, o.EnableAdmission)

	for text, want := range map[string]string{
		"plugins: {}": file + ": admission: ",
		"apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: PodSecurity, path: missing.yaml}]\n": filepath.Join(dir, "missing.yaml"),
	} {
		write("admission.yaml", text)
		require.ErrorContains(t, parsed.admission.apply(&o), want)
	}
	parsed.admission.configFile = filepath.Join(dir, "none.yaml")
	require.ErrorContains(t, parsed.admission.apply(&o), "--admission-control-config-file: open ")
}
