package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/memory"
)

// A setting of --runtime-config is applied or refused.
func TestRuntimeConfig(t *testing.T) {
	for _, c := range []struct{ config, err string }{
		{"api/all=true", ""}, {"api/beta=false,api/alpha=false", ""}, {"apps/v1=true", ""}, {"storagemigration.k8s.io/v1beta1=true", ""}, {"storagemigration.k8s.io/v1beta1=false", ""},
		{"certificates.k8s.io/v1beta1=true", ""},
		{"storagemigration.k8s.io/v1beta1=perhaps", "cannot understand storagemigration.k8s.io/v1beta1=perhaps"}, {"nonsense=true", "nonsense is not served here"},
		{"storage.k8s.io/v1beta1=true", "storage.k8s.io/v1beta1 is not served here"}, {"apps/v1=false", "apps/v1 cannot be switched off"}, {"api/all=false", "api/all cannot be switched off"},
	} {
		_, err := parse([]string{"--storage-backend=memory", "--runtime-config=" + c.config})
		if c.err == "" {
			require.NoError(t, err, c.config)
			continue
		}
		require.ErrorContains(t, err, c.err)
	}
}

// Migrations of stored versions are served if both the version and the feature are enabled, and then their
// controller has its role.
func TestMigrationsAreServedIfAskedFor(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("secret,root,1,system:masters\n"), 0o600))
	const gate = "--feature-gates=StorageVersionMigrator=true"
	for _, c := range []struct {
		args   []string
		served bool
	}{
		{nil, false}, {[]string{gate}, false}, {[]string{"--runtime-config=api/beta=true"}, false}, {[]string{gate, "--runtime-config=api/all=true,api/beta=false"}, false},
		{[]string{gate, "--runtime-config=api/all=true"}, true}, {[]string{gate, "--runtime-config=api/beta=false,storagemigration.k8s.io/v1beta1=true"}, true},
	} {
		o, err := parse(append(c.args, "--storage-backend=memory", "--authorization-mode=RBAC", "--token-auth-file="+tokens))
		require.NoError(t, err)
		st := memory.New(memory.Options{})
		cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- cp.Run(ctx) }()
		<-cp.Ready()
		role, stored := false, ""
		for kv := range st.Snapshot().All() {
			role = role || kv.Key == "/clusterroles/system:controller:storage-version-migrator-controller"
		}
		require.Equal(t, c.served, role, c.args)
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations",
			strings.NewReader(`{"metadata":{"name":"m"},"spec":{"resource":{"group":"","resource":"secrets"}}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer secret")
		cp.ServeHTTP(w, r)
		require.Equal(t, c.served, w.Code == http.StatusCreated, "%v: %s", c.args, w.Body)
		for kv := range st.Snapshot().All() {
			if strings.Contains(kv.Key, "migrations") {
				stored = kv.Key + " " + string(kv.Value[:4])
			}
		}
		if c.served {
			require.Equal(t, "/storageversionmigrations/m k8s\x00", stored)
		}
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, st.Close())
	}
}

// Trust bundles are served if both their version and their feature are enabled, as a table and by their
// signer too, and nodes may read them then.
func TestTrustBundlesAreServedIfEnabled(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("secret,root,1,system:masters\nnode,system:node:n1,2,system:nodes\n"), 0o600))
	authority, err := certs.NewAuthority("boats")
	require.NoError(t, err)
	pem, err := json.Marshal(string(authority.CertPEM()))
	require.NoError(t, err)
	for _, c := range []struct {
		args   []string
		served bool
	}{
		{[]string{"--runtime-config=api/beta=true"}, false},
		{[]string{"--feature-gates=ClusterTrustBundle=true", "--runtime-config=certificates.k8s.io/v1beta1=true"}, true},
	} {
		o, err := parse(append(c.args, "--storage-backend=memory", "--authorization-mode=Node,RBAC", "--token-auth-file="+tokens))
		require.NoError(t, err)
		st := memory.New(memory.Options{})
		cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- cp.Run(ctx) }()
		<-cp.Ready()
		do := func(method, query, accept, token, body string) *httptest.ResponseRecorder {
			w, r := httptest.NewRecorder(), httptest.NewRequest(method, "/apis/certificates.k8s.io/v1beta1/clustertrustbundles"+query, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", accept)
			r.Header.Set("Authorization", "Bearer "+token)
			cp.ServeHTTP(w, r)
			return w
		}
		bundle := func(name, signer string) string {
			return `{"metadata":{"name":"` + name + `"},"spec":{"signerName":"` + signer + `","trustBundle":` + string(pem) + `}}`
		}
		if w := do(http.MethodPost, "", "application/json", "secret", bundle("a.test:boats:v1", "a.test/boats")); !c.served {
			require.Equal(t, http.StatusNotFound, w.Code, w.Body)
		} else {
			require.Equal(t, http.StatusCreated, w.Code, w.Body)
			require.Equal(t, http.StatusCreated, do(http.MethodPost, "", "application/json", "secret", bundle("plain", "")).Code)
			require.Equal(t, http.StatusUnprocessableEntity, do(http.MethodPost, "", "application/json", "secret", bundle("plain2", "a.test/boats")).Code)
			w = do(http.MethodGet, "?fieldSelector=spec.signerName%3Da.test%2Fboats", "application/json;as=Table;v=v1;g=meta.k8s.io", "node", "")
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			require.Contains(t, w.Body.String(), `"cells":["a.test:boats:v1","a.test/boats"]`)
			require.NotContains(t, w.Body.String(), "plain")
			require.Equal(t, http.StatusForbidden, do(http.MethodDelete, "/plain", "application/json", "node", "").Code)
		}
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, st.Close())
	}
}
