package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/storetest"
)

// credentials is a server process with the users run1, run2, ... by the tokens t1, t2, ..., and any user with
// a certificate of its authority.
type credentials struct {
	t          *testing.T
	dir, host  string
	authority  *certs.Authority
	generation int
	cmd        *exec.Cmd
}

func startCredentials(t *testing.T) *credentials {
	if testing.Short() {
		t.Skip("real processes: -short")
	}
	authority, err := certs.NewAuthority("people")
	require.NoError(t, err)
	c := &credentials{t: t, dir: t.TempDir(), host: storetest.FreeAddress(t), authority: authority}
	var tokens strings.Builder
	for i := range 50 {
		fmt.Fprintf(&tokens, "t%d,run%d,%d\n", i+1, i+1, i+1)
	}
	require.NoError(t, os.WriteFile(c.path("tokens"), []byte(tokens.String()), 0o600))
	require.NoError(t, os.WriteFile(c.path("people.crt"), authority.CertPEM(), 0o600))
	c.start()
	t.Cleanup(c.kill)
	return c
}

func (c *credentials) path(name string) string { return filepath.Join(c.dir, name) }

// start starts the server, with a certificate of a new authority, which ca.crt then holds.
func (c *credentials) start() {
	_, port, err := net.SplitHostPort(c.host)
	require.NoError(c.t, err)
	c.generation++
	serving := c.path(fmt.Sprintf("serving%d", c.generation))
	c.cmd = exec.Command(os.Args[0], "--storage-backend=memory", "--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+serving,
		"--token-auth-file="+c.path("tokens"), "--client-ca-file="+c.path("people.crt"), "--authorization-mode=RBAC")
	c.cmd.Env = append(os.Environ(), asServer+"=1")
	require.NoError(c.t, c.cmd.Start())
	var chain []byte
	c.eventually(func() bool {
		chain, err = os.ReadFile(filepath.Join(serving, "apiserver.crt"))
		return err == nil
	}, "the server makes its certificate")
	c.replace("ca.crt", chain)
}

func (c *credentials) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// replace replaces a file atomically, as tools that rotate files do.
func (c *credentials) replace(name string, data []byte) {
	require.NoError(c.t, os.WriteFile(c.path(name+".new"), data, 0o600))
	require.NoError(c.t, os.Rename(c.path(name+".new"), c.path(name)))
}

// certificate replaces the client's certificate by one of another user.
func (c *credentials) certificate(user string) {
	pair, err := c.authority.Client(user)
	require.NoError(c.t, err)
	c.replace("me.crt", pair.CertPEM())
	c.replace("me.key", pair.KeyPEM())
}

func (c *credentials) eventually(ok func() bool, what string) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		require.True(c.t, time.Now().Before(deadline), what)
	}
}

// user returns the name the server authenticates the client as, or "" while it does not answer.
func (c *credentials) user(conn *rest.Conn) string {
	r, err := client.For[*authenticationv1.SelfSubjectReview](conn).Create(c.t.Context(), &authenticationv1.SelfSubjectReview{})
	if err != nil {
		return ""
	}
	return r.Status.UserInfo.Username
}

// A running client uses the replaced certificate and authorities.
func TestCertificatesRotateUnderAClient(t *testing.T) {
	c := startCredentials(t)
	c.certificate("one")
	conn, err := rest.New(rest.Config{Host: "https://" + c.host, TLS: rest.TLSConfig{
		CAFile: c.path("ca.crt"), CertFile: c.path("me.crt"), KeyFile: c.path("me.key"),
	}}, rest.Options{})
	require.NoError(t, err)
	defer conn.Close()
	is := func(user string) {
		t.Helper()
		c.eventually(func() bool { return c.user(conn) == user }, "the server takes the client for "+user)
	}
	is("one")
	c.certificate("two")
	is("two")
	c.kill()
	c.start()
	is("two")
}

// A kubeconfig with a shell script as its plugin works against a server, and the script is run again when its
// credential has expired.
func TestExecPlugin(t *testing.T) {
	c := startCredentials(t)
	require.NoError(t, os.WriteFile(c.path("plugin.sh"), []byte(`#!/bin/sh
cd "$(dirname "$0")" || exit 1
n=$(($(cat runs 2>/dev/null || echo 0) + 1))
echo $n > runs
end=$(date -u -d "@$(($(date +%s) + 14))" +%Y-%m-%dT%H:%M:%SZ)
echo "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"t$n\",\"expirationTimestamp\":\"$end\"}}"
`), 0o700))
	require.NoError(t, os.WriteFile(c.path("config"), fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://%s", certificate-authority: ca.crt}}]
users: [{name: u, user: {exec: {command: ./plugin.sh, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}}]
`, c.host), 0o600))
	cfg, err := kubeconfig.Load(kubeconfig.Options{Path: c.path("config")})
	require.NoError(t, err)
	conn, err := rest.New(cfg, rest.Options{})
	require.NoError(t, err)
	defer conn.Close()
	// A credential counts as expired ten seconds before its end.
	calls, last := 0, 0
	c.eventually(func() bool {
		user := c.user(conn)
		if user == "" && last == 0 {
			return false // the server is starting
		}
		calls++
		var run int
		_, err := fmt.Sscanf(user, "run%d", &run)
		require.NoError(t, err, user)
		require.GreaterOrEqual(t, run, last, "what has expired is not used again")
		last = run
		return run >= 3
	}, "the plugin is run a third time")
	require.Greater(t, calls, last, "what it gave is kept until it expires")
}
