package kubeconfig_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/client/kubeconfig"
)

// The merged configuration of several files equals kubectl's, byte for byte.
func TestFlattenAsKubectl(t *testing.T) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must have kubectl")
		t.Skip("kubectl is not installed: merged files are not compared with its")
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"ca.crt": "CA", "sub/red.crt": "certificate", "sub/red.key": "key", "sub/ca.crt": "another CA"} {
		write(t, dir, name, content)
	}
	paths := []string{
		write(t, dir, "one", `
apiVersion: v1
kind: Config
current-context: dev
clusters:
- name: z
  cluster: {server: "https://one:6443", certificate-authority: ca.crt, tls-server-name: inner, disable-compression: true}
- name: shared
  cluster: {server: "https://first:6443"}
users:
- name: shared
  user: {token: from-first, tokenFile: /there}
- name: ops
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: login
      args: [--as, "yes", "007"]
      env: [{name: A, value: "1"}]
      installHint: get it
      interactiveMode: IfAvailable
      provideClusterInfo: true
contexts:
- name: dev
  context: {cluster: z, user: shared, namespace: team}
`),
		filepath.Join(dir, "missing"),
		write(t, dir, "sub/two", `
apiVersion: v1
kind: Config
current-context: prod
clusters:
- name: shared
  cluster: {server: "https://second:6443", certificate-authority: ca.crt}
- name: a
  cluster: {server: "https://two:6443", insecure-skip-tls-verify: true, proxy-url: "socks5://localhost:1080"}
- name: own
  cluster: {server: "https://three:6443", certificate-authority: ca.crt}
users:
- name: red
  user: {client-certificate: red.crt, client-key: red.key}
- name: shared
  user: {client-certificate-data: eA==, client-key-data: eQ==}
- name: blue
  user: {username: u, password: "p: #", as: bob, as-uid: "7", as-groups: [g, h], as-user-extra: {k: [v, w]}}
contexts:
- name: prod
  context: {cluster: a, user: blue}
- name: dev
  context: {cluster: a, user: blue}
`),
	}
	command := exec.CommandContext(t.Context(), kubectl, "config", "view", "--flatten", "--raw")
	command.Env = append(os.Environ(), "HOME="+dir, "KUBECONFIG="+strings.Join(paths, string(filepath.ListSeparator)))
	var complaint strings.Builder
	command.Stderr = &complaint
	want, err := command.Output()
	require.NoError(t, err, complaint.String())
	c, err := kubeconfig.LoadPaths(paths)
	require.NoError(t, err)
	require.NoError(t, c.Flatten())
	got, err := c.Marshal()
	require.NoError(t, err)
	// Before 1.34 kubectl wrote preferences that are not set.
	require.Equal(t, strings.Replace(string(want), "preferences: {}\n", "", 1), string(got))
}
