package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/memory"
)

// A setting of --runtime-config is applied or refused.
func TestRuntimeConfig(t *testing.T) {
	for _, c := range []struct{ config, err string }{
		{"api/all=true", ""}, {"api/beta=false,api/alpha=false", ""}, {"apps/v1=true", ""}, {"storagemigration.k8s.io/v1beta1=true", ""}, {"storagemigration.k8s.io/v1beta1=false", ""},
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
