package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A kubeconfig of admission webhooks is refused, or has at most one user for a host, whom it names for that.
func FuzzWebhookUsers(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"user":"last"}}],"users":[{"name":"last","user":{"token":"t"}},{"name":"*.com:8443","user":{"as":"ann"}}]}`), "a.com:8443")
	f.Add([]byte(`users: [{name: "*", user: {tokenFile: token, username: u, password: p}}, {name: a.b.svc, user: {client-certificate: a, client-key: b}}]`), "a.b.svc:443")
	f.Add([]byte(`users: [{name: x, user: {exec: {command: none, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}}]`), "x")
	f.Add([]byte(`users: [&a {name: "*.", user: {}}, *a]`), "[2001:db8::1]:443")
	f.Fuzz(func(t *testing.T, text []byte, host string) {
		if strings.Contains(string(text), "/dev/") {
			t.Skip("a device may have no end")
		}
		path := filepath.Join(t.TempDir(), "kubeconfig")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		users, err := readWebhookUsers(path, discard)
		if err != nil {
			return
		}
		found := users.find(host)
		for name, user := range users.byName {
			if user != found {
				continue
			}
			suffix, wild := strings.CutPrefix(name, "*")
			named := name == users.current || name == host || name+":443" == host
			require.True(t, named || wild && (strings.HasSuffix(host, suffix) || strings.HasSuffix(host, suffix+":443")), "%q is for %q", name, host)
		}
	})
}
