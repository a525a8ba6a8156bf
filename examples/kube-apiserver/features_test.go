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

// A setting of a feature is applied or refused.
func TestFeatureGates(t *testing.T) {
	for _, c := range []struct{ gates, err string }{
		{"", ""},
		{"WatchList=false", ""},
		{"DetectCacheInconsistency=false", ""},
		{"WatchList=false,APIResponseCompression=true,SidecarContainers=true", ""},
		{"AllAlpha=true,AllBeta=false,APIServerIdentity=true", ""},
		{"AllAlpha=true,AllBeta=false", "feature gate StorageVersionAPI is enabled, but depends on features that are disabled: [APIServerIdentity]"},
		{"Nonsense=true", "unrecognized feature gate: Nonsense"},
		{"SidecarContainers=false", "cannot set feature gate SidecarContainers to false, feature is locked to true"},
		{"WatchList=perhaps", "invalid value of WatchList=perhaps"},
		{"WatchList", "missing bool value for WatchList"},
	} {
		_, err := parse([]string{"--storage-backend=memory", "--feature-gates=" + c.gates})
		if c.err == "" {
			require.NoError(t, err, c.gates)
			continue
		}
		require.ErrorContains(t, err, c.err)
	}
}

// A disabled feature is off, and the metrics show it.
func TestSwitchedFeatures(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("secret,root,1,system:masters\n"), 0o600))
	for on, want := range map[string]string{"true": "1", "false": "0"} {
		o, err := parse([]string{"--storage-backend=memory", "--token-auth-file=" + tokens, "--feature-gates=WatchList=" + on + ",APIResponseCompression=" + on + ",CBORServingAndStorage=" + on})
		require.NoError(t, err)
		st := memory.New(memory.Options{})
		cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- cp.Run(ctx) }()
		ask := func(method, path, encoding, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer secret")
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept-Encoding", encoding)
			w := httptest.NewRecorder()
			cp.ServeHTTP(w, r)
			return w
		}
		get := func(path, encoding string) *httptest.ResponseRecorder { return ask(http.MethodGet, path, encoding, "") }
		const metric = "kubernetes_feature_enabled"
		text := get("/metrics", "identity").Body.String()
		for _, line := range []string{
			metric + `{name="WatchList",stage="BETA"} ` + want,
			metric + `{name="CBORServingAndStorage",stage="ALPHA"} ` + want,
			metric + `{name="APIResponseCompression",stage="BETA"} ` + want,
			metric + `{name="SidecarContainers",stage=""} 1`,
		} {
			require.Contains(t, strings.Split(text, "\n"), line)
		}
		w := get("/api/v1/namespaces?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1", "identity")
		if on == "true" {
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			require.Contains(t, w.Body.String(), "initial-events-end")
		} else {
			require.Equal(t, http.StatusUnprocessableEntity, w.Code)
			require.Contains(t, w.Body.String(), "unless the WatchList feature gate is enabled")
		}
		const large = "/api/v1/namespaces/default/configmaps"
		w = ask(http.MethodPost, large, "identity", `{"metadata":{"name":"large"},"data":{"k":"`+strings.Repeat("x", 200<<10)+`"}}`)
		require.Equal(t, http.StatusCreated, w.Code, w.Body)
		require.Equal(t, on == "true", get(large, "gzip").Header().Get("Content-Encoding") == "gzip")
		r := httptest.NewRequest(http.MethodGet, large, nil)
		r.Header.Set("Authorization", "Bearer secret")
		r.Header.Set("Accept", "application/cbor")
		w = httptest.NewRecorder()
		cp.ServeHTTP(w, r)
		require.Equal(t, map[string]int{"true": http.StatusOK, "false": http.StatusNotAcceptable}[on], w.Code)
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, st.Close())
	}
}

// Profiles are served to authorized users, and can be disabled.
func TestProfiles(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("secret,root,1,system:masters\nother,ann,2\n"), 0o600))
	for on, want := range map[string]int{"true": http.StatusOK, "false": http.StatusNotFound} {
		o, err := parse([]string{"--storage-backend=memory", "--authorization-mode=RBAC", "--token-auth-file=" + tokens, "--profiling=" + on})
		require.NoError(t, err)
		st := memory.New(memory.Options{})
		cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- cp.Run(ctx) }()
		get := func(path, token string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			w := httptest.NewRecorder()
			cp.ServeHTTP(w, r)
			return w
		}
		const heap = "/debug/pprof/heap"
		require.Equal(t, http.StatusForbidden, get(heap, "").Code)
		require.Equal(t, http.StatusForbidden, get(heap, "other").Code)
		w := get(heap, "secret")
		require.Equal(t, want, w.Code)
		require.Equal(t, on == "true", strings.HasPrefix(w.Body.String(), "\x1f\x8b"), "a profile is compressed protobuf")
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, st.Close())
	}
}

// A server without a policy serves no secrets: the default modes refuse users without permissions, and where
// everything is allowed a request needs credentials.
func TestBareServerIsClosed(t *testing.T) {
	for _, c := range []struct {
		flags         []string
		code, version int
	}{
		{nil, http.StatusForbidden, http.StatusOK},
		{[]string{"--anonymous-auth=false"}, http.StatusUnauthorized, http.StatusUnauthorized},
		{[]string{"--authorization-mode=AlwaysAllow"}, http.StatusUnauthorized, http.StatusUnauthorized},
		{[]string{"--authorization-mode=AlwaysAllow", "--anonymous-auth=true"}, http.StatusUnauthorized, http.StatusUnauthorized},
	} {
		o, err := parse(append([]string{"--storage-backend=memory"}, c.flags...))
		require.NoError(t, err)
		st := memory.New(memory.Options{})
		cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- cp.Run(ctx) }()
		<-cp.Ready()
		get := func(path string) int {
			w := httptest.NewRecorder()
			cp.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			return w.Code
		}
		require.Equal(t, c.code, get("/api/v1/secrets"), c.flags)
		require.Equal(t, c.code, get("/debug/pprof/heap"), c.flags)
		require.Equal(t, c.version, get("/version"), c.flags)
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, st.Close())
	}
}
