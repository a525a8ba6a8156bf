package component_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/certs"
)

// A proxy reports users in headers by a certificate of the proxies' authority with an allowed name, be these
// set by flags or published by the API server. Headers of anyone else are not read.
func TestUsersOfProxies(t *testing.T) {
	authority := func(name string) *certs.Authority {
		ca, err := certs.NewAuthority(name)
		require.NoError(t, err)
		return ca
	}
	clients, proxies := authority("clients"), authority("proxies")
	certificate := func(ca *certs.Authority, name string, groups ...string) *x509.Certificate {
		pair, err := ca.Client(name, groups...)
		require.NoError(t, err)
		return pair.Cert
	}
	file := func(ca *certs.Authority) string {
		path := filepath.Join(t.TempDir(), "ca.crt")
		require.NoError(t, os.WriteFile(path, ca.CertPEM(), 0o600))
		return path
	}
	c := controllertest.Start(t, controllertest.Options{})
	list := func(names ...string) string { b, err := json.Marshal(names); require.NoError(t, err); return string(b) }
	_, err := client.For[*corev1.ConfigMap](c.Admin()).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"},
		Data: map[string]string{"client-ca-file": string(clients.CertPEM()), "requestheader-client-ca-file": string(proxies.CertPEM()), "requestheader-allowed-names": list("front"),
			"requestheader-username-headers": list("X-Remote-User"), "requestheader-group-headers": list("X-Remote-Group"), "requestheader-extra-headers-prefix": list("X-Remote-Extra-")}})
	require.NoError(t, err)
	for how, flags := range map[string][]string{
		"flags":     {"--client-ca-file=" + file(clients), "--requestheader-client-ca-file=" + file(proxies), "--requestheader-allowed-names=front"},
		"published": {"--authentication-kubeconfig=" + kubeconfigOf(t, c), "--authentication-tolerate-lookup-failure=false"},
	} {
		a := &component.Access{}
		f := pflag.NewFlagSet("a-component", pflag.ContinueOnError)
		a.Flags(f)
		require.NoError(t, f.Parse(flags))
		gate, err := a.Open(t.Context(), "a-component", component.Logger(0))
		require.NoError(t, err, how)
		t.Cleanup(gate.Close)
		pages := gate.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "pages") }))
		for _, caller := range []struct {
			what  string
			cert  *x509.Certificate
			user  string
			group string
			code  int
			text  string
		}{
			{"a master behind the proxy", certificate(proxies, "front"), "ann", "system:masters", 200, "pages"},
			{"another user behind the proxy", certificate(proxies, "front"), "ann", "dev", 403, "user=ann"},
			{"the proxy without a user", certificate(proxies, "front"), "", "system:masters", 401, "Unauthorized"},
			{"another certificate of the proxies' authority", certificate(proxies, "back"), "ann", "system:masters", 401, "Unauthorized"},
			{"a client with the headers", certificate(clients, "bob"), "ann", "system:masters", 403, "user=bob"},
			{"a client that is a master", certificate(clients, "root", "system:masters"), "ann", "dev", 200, "pages"},
			{"no certificate", nil, "ann", "system:masters", 403, "user=system:anonymous"},
		} {
			r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			r.TLS = &tls.ConnectionState{}
			if caller.cert != nil {
				r.TLS.PeerCertificates = []*x509.Certificate{caller.cert}
			}
			if caller.user != "" {
				r.Header.Set("X-Remote-User", caller.user)
			}
			r.Header.Set("X-Remote-Group", caller.group)
			w := httptest.NewRecorder()
			pages.ServeHTTP(w, r)
			require.Equal(t, caller.code, w.Code, "%s, %s: %s", how, caller.what, w.Body)
			require.Contains(t, w.Body.String(), caller.text, "%s, %s", how, caller.what)
		}
	}
}
