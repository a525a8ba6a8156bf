package kubeconfig_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
)

func write(t *testing.T, dir, name, content string) string {
	p := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o750))
	require.NoError(t, os.WriteFile(p, []byte(content), 0o700))
	return p
}

const first = `
apiVersion: v1
kind: Config
current-context: dev
clusters:
- name: c1
  cluster: {server: "https://one:6443", certificate-authority: ca.crt}
users:
- name: red
  user: {token: from-first}
contexts:
- name: dev
  context: {cluster: c1, user: red, namespace: team}
`

const second = `
apiVersion: v1
kind: Config
current-context: prod
clusters:
- name: c2
  cluster: {server: "https://two:6443", insecure-skip-tls-verify: true, proxy-url: "socks5://localhost:1080"}
users:
- name: red
  user: {client-certificate-data: eA==}
- name: blue
  user: {username: u, password: p, as: bob, as-groups: [g]}
contexts:
- name: prod
  context: {cluster: c2, user: blue}
`

func TestMergeAndContexts(t *testing.T) {
	dir := t.TempDir()
	a, b := write(t, dir, "a/config", first), write(t, dir, "b/config", second)
	write(t, dir, "a/ca.crt", "CA")
	paths := []string{filepath.Join(dir, "missing"), a, b}
	cfg, err := kubeconfig.Load(kubeconfig.Options{Paths: paths})
	require.NoError(t, err)
	require.Equal(t, "https://one:6443", cfg.Host)
	require.Equal(t, filepath.Join(dir, "a", "ca.crt"), cfg.TLS.CAFile)
	require.Equal(t, "from-first", cfg.BearerToken, "the first file's user as a whole")
	require.Empty(t, cfg.TLS.CertData)
	ns, err := kubeconfig.Namespace(kubeconfig.Options{Paths: paths})
	require.NoError(t, err)
	require.Equal(t, "team", ns)

	cfg, err = kubeconfig.Load(kubeconfig.Options{Paths: paths, Context: "prod"})
	require.NoError(t, err)
	require.True(t, cfg.TLS.Insecure)
	require.Equal(t, "u", cfg.Username)
	require.Equal(t, "bob", cfg.Impersonate.Name)
	u, err := cfg.Proxy(&http.Request{})
	require.NoError(t, err)
	require.Equal(t, "socks5://localhost:1080", u.String())

	t.Setenv("KUBECONFIG", strings.Join(paths, string(filepath.ListSeparator)))
	require.Equal(t, paths, kubeconfig.Paths())
	merged, err := kubeconfig.LoadPaths(kubeconfig.Paths())
	require.NoError(t, err)
	require.NoError(t, merged.Flatten())
	small, err := merged.Minify("dev")
	require.NoError(t, err)
	out, err := small.Marshal()
	require.NoError(t, err)
	require.Equal(t, `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Q0E=
    server: https://one:6443
  name: c1
contexts:
- context:
    cluster: c1
    namespace: team
    user: red
  name: dev
current-context: dev
kind: Config
users:
- name: red
  user:
    token: from-first
`, string(out))
	p := filepath.Join(dir, "out", "config")
	require.NoError(t, small.WriteFile(p))
	again, err := kubeconfig.LoadFile(p)
	require.NoError(t, err)
	require.Equal(t, small, again)
}

func TestBrokenFiles(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	dir := t.TempDir()
	for name, tc := range map[string]struct{ content, want string }{
		"yaml":            {"clusters: [", "not a kubeconfig"},
		"kind":            {"kind: Pod", "kind"},
		"version":         {"apiVersion: v2", "apiVersion"},
		"no context":      {"current-context: x\ncontexts: []\nclusters: [{name: c, cluster: {server: s}}]", `there is no context "x"`},
		"no cluster":      {"current-context: x\ncontexts: [{name: x, context: {cluster: c}}]", `there is no cluster "c"`},
		"no user":         {"current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: s}}]", `there is no user "u"`},
		"no server":       {"current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\nclusters: [{name: c, cluster: {}}]", "clusters[c].server"},
		"proxy":           {user("{}", "server: s, proxy-url: 'ftp://x'"), "clusters[c].proxy-url"},
		"insecure ca":     {user("{}", "server: s, insecure-skip-tls-verify: true, certificate-authority: x"), "excludes"},
		"gcp":             {user("{auth-provider: {name: gcp}}", "server: s"), "gke-gcloud-auth-plugin"},
		"no key":          {user("{client-certificate: x}", "server: s"), "users[u]"},
		"as":              {user("{as-groups: [x]}", "server: s"), "users[u].as"},
		"exec api":        {user("{exec: {command: x}}", "server: s"), "users[u].exec.apiVersion"},
		"exec old":        {user("{exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}}", "server: s"), "is not served"},
		"exec mode":       {user("{exec: {command: x, apiVersion: client.authentication.k8s.io/v1}}", "server: s"), "interactiveMode"},
		"empty":           {"", "it is empty: no configuration found"},
		"no such context": {"kind: Config\ncurrent-context: gone\n", `there is no context "gone"`},
		"oidc":            {user("{auth-provider: {name: oidc}}", "server: s"), "idp-issuer-url"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := kubeconfig.Load(kubeconfig.Options{Path: write(t, dir, name, tc.content)})
			var e *kubeconfig.Error
			require.ErrorAs(t, err, &e)
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, err := kubeconfig.Load(kubeconfig.Options{Path: filepath.Join(dir, "nope")})
	require.ErrorIs(t, err, fs.ErrNotExist)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err = kubeconfig.Load(kubeconfig.Options{Paths: []string{filepath.Join(dir, "nope")}})
	require.ErrorIs(t, err, kubeconfig.ErrNoConfig)
}

// user is a file with one user and one cluster.
func user(u, cluster string) string {
	return fmt.Sprintf("current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {%s}}]\nusers: [{name: u, user: %s}]", cluster, u)
}

func TestExecPlugin(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the plugin is a shell script")
	}
	dir := t.TempDir()
	write(t, dir, "plugin.sh", `#!/bin/sh
n=$(cat "$COUNT" 2>/dev/null || echo 0); n=$((n+1)); echo $n > "$COUNT"
echo "$KUBERNETES_EXEC_INFO" > "$COUNT.info"
echo "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"t$n\",\"expirationTimestamp\":\"$EXPIRES\"}}"
`)
	load := func(expires string) rest.Config {
		p := write(t, dir, "config", user(fmt.Sprintf(`{exec: {command: ./plugin.sh, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, provideClusterInfo: true, env: [{name: COUNT, value: %q}, {name: EXPIRES, value: %q}]}}`,
			filepath.Join(dir, "count"), expires), "server: 'https://s', certificate-authority-data: Q0E=, extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]"))
		cfg, err := kubeconfig.Load(kubeconfig.Options{Path: p})
		require.NoError(t, err)
		return cfg
	}
	cfg := load("2100-01-01T00:00:00Z")
	cred, err := cfg.Credentials.Credential(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "t1", cred.Token)
	again, err := cfg.Credentials.Credential(t.Context(), nil)
	require.NoError(t, err)
	require.Same(t, cred, again, "kept until it expires")
	fresh, err := cfg.Credentials.Credential(t.Context(), cred)
	require.NoError(t, err)
	require.Equal(t, "t2", fresh.Token, "fetched again after a refusal")
	info, err := os.ReadFile(filepath.Join(dir, "count.info"))
	require.NoError(t, err)
	require.JSONEq(t, `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false,"cluster":{"server":"https://s","certificate-authority-data":"Q0E=","config":{"audience":"x"}}}}`, string(info))

	cfg = load("2001-01-01T00:00:00Z")
	a, err := cfg.Credentials.Credential(t.Context(), nil)
	require.NoError(t, err)
	b, err := cfg.Credentials.Credential(t.Context(), nil)
	require.NoError(t, err)
	require.NotEqual(t, a.Token, b.Token, "run again after it expired")

	_, err = kubeconfig.Load(kubeconfig.Options{Path: filepath.Join(dir, "config"), AllowExec: func(c string) error {
		require.Equal(t, filepath.Join(dir, "plugin.sh"), c)
		return errors.New("not on the list")
	}})
	require.ErrorContains(t, err, "not on the list")

	write(t, dir, "plugin.sh", "#!/bin/sh\necho '{\"secret\":\"hunter2\"'\n")
	cfg = load("")
	_, err = cfg.Credentials.Credential(t.Context(), nil)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
	require.NoError(t, os.Remove(filepath.Join(dir, "plugin.sh")))
	_, err = cfg.Credentials.Credential(t.Context(), nil)
	require.ErrorContains(t, err, "users[u].exec")
}

func jwt(end time.Time) string {
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"none"}`)) + "." + enc([]byte(fmt.Sprintf(`{"exp":%d}`, end.Unix()))) + ".x"
}

func TestOIDCRefresh(t *testing.T) {
	var issuer *httptest.Server
	refreshed := 0
	issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/.well-known/openid-configuration" {
			_ = json.NewEncoder(w).Encode(map[string]string{"token_endpoint": issuer.URL + "/token"})
			return
		}
		if id, secret, _ := r.BasicAuth(); id != "me" || secret != "s" || r.FormValue("refresh_token") != fmt.Sprintf("r%d", refreshed) {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		refreshed++
		_ = json.NewEncoder(w).Encode(map[string]string{"id_token": jwt(time.Now().Add(time.Hour)), "refresh_token": fmt.Sprintf("r%d", refreshed)})
	}))
	defer issuer.Close()
	p := write(t, t.TempDir(), "config", user(fmt.Sprintf(`{auth-provider: {name: oidc, config: {idp-issuer-url: %q, client-id: me, client-secret: s, id-token: %q, refresh-token: r0}}}`, issuer.URL, jwt(time.Now().Add(-time.Hour))), "server: s"))
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: p})
	require.NoError(t, err)
	cred, err := cfg.Credentials.Credential(context.Background(), nil)
	require.NoError(t, err)
	require.Equal(t, 1, refreshed)
	c, err := kubeconfig.LoadFile(p)
	require.NoError(t, err)
	require.Equal(t, cred.Token, c.User("u").AuthProvider.Config["id-token"], "written back")
	require.Equal(t, "r1", c.User("u").AuthProvider.Config["refresh-token"])
	_, err = cfg.Credentials.Credential(context.Background(), cred)
	require.NoError(t, err)
	require.Equal(t, 2, refreshed)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(first))
	f.Add([]byte(second))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := kubeconfig.Parse(b)
		if err != nil {
			return
		}
		_, _ = c.REST(kubeconfig.Options{})
		_, err = c.Marshal()
		require.NoError(t, err)
	})
}

// The configuration of one context, and a connection with it. Load reads the user's files first, and in a pod
// its service account.
func ExampleConfig_REST() {
	c, err := kubeconfig.Parse([]byte(`
current-context: staging
clusters: [{name: s, cluster: {server: "https://staging.example.com:6443"}}]
contexts: [{name: staging, context: {cluster: s, user: me, namespace: team}}]
users: [{name: me, user: {token: secret}}]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg, err := c.REST(kubeconfig.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	conn, err := rest.New(cfg, rest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Println(conn.Host())
	_, err = c.REST(kubeconfig.Options{Context: "production"})
	fmt.Println(err)
	// Output:
	// https://staging.example.com:6443
	// kubeconfig: contexts: there is no context "production"
}
