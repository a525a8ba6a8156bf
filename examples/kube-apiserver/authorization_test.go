package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
)

// reviewServer serves reviews over TLS as answer does, and returns a kubeconfig for it.
func reviewServer(t *testing.T, answer http.HandlerFunc) (kubeconfig string) {
	t.Helper()
	ca, err := certs.NewAuthority("webhook")
	require.NoError(t, err)
	pair, err := ca.Serving("webhook", "127.0.0.1")
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(answer)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}
	s.StartTLS()
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": s.URL + "/authorize", "certificate-authority-data": ca.CertPEM()}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"token": "secret"}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// allowing answers every review with a status.
func allowing(status string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/authorize" || r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "wrong request", http.StatusBadRequest)
			return
		}
		var review struct{ APIVersion string }
		_ = json.NewDecoder(r.Body).Decode(&review)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":%q,"kind":"SubjectAccessReview","status":%s}`, review.APIVersion, status)
	}
}

func configuration(kubeconfig, timeout, policy string) string {
	return fmt.Sprintf(`{apiVersion: apiserver.config.k8s.io/v1, kind: AuthorizationConfiguration, authorizers: [{type: Webhook, name: w, webhook: {timeout: %s,
  subjectAccessReviewVersion: v1, failurePolicy: %s, connectionInfo: {type: KubeConfigFile, kubeConfigFile: %s}}}]}`, timeout, policy, kubeconfig)
}

// A webhook that answers decides; one that hangs, fails, lies about what it is or answers at great length
// costs its own requests, and nothing is allowed by it.
func TestAuthorizationWebhook(t *testing.T) {
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		want    authz.Decision
		err     string
		timeout string // 30 s if empty
	}{
		"allows": {allowing(`{"allowed":true,"reason":"r"}`), authz.Allow, "", ""},
		"denies": {allowing(`{"denied":true}`), authz.Deny, "", ""},
		"passes": {allowing(`{}`), authz.NoOpinion, "", ""},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // from then on the server sees that the client has gone
			<-r.Context().Done()
		}, authz.Deny, "deadline exceeded", "300ms"},
		"fails": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusNotImplemented) }, authz.Deny, "broken", ""},
		"is another kind": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"Pod","status":{"allowed":true}}`)
		}, authz.Deny, "the response is a Pod of v1", ""},
		"is no JSON": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `<html>`) }, authz.Deny, "the response is no SubjectAccessReview", ""},
		"is endless": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			// Slow enough for the timeout to come before much memory is used.
			pace := time.NewTicker(time.Millisecond)
			defer pace.Stop()
			for chunk := strings.Repeat(" ", 1<<16); ; {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
				select {
				case <-r.Context().Done():
					return
				case <-pace.C:
				}
			}
		}, authz.Deny, "", "300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			conf, err := authz.ParseConfiguration([]byte(configuration(reviewServer(t, c.answer), cmp.Or(c.timeout, "30s"), "Deny")), authorizerTypes)
			require.NoError(t, err)
			modes, own, err := authorizers(conf, apimetrics.New(), discard)
			require.NoError(t, err)
			require.Equal(t, []string{"Webhook:w"}, modes)
			d, _, err := own["Webhook:w"].Authorize(t.Context(), authz.Attributes{User: &authn.User{Name: "u"}, Verb: "get", ResourceRequest: true, Resource: "pods"})
			require.Equal(t, c.want, d, err)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
			}
		})
	}
}

// The server gets reviews of the version of the flag, which is v1beta1 without, or of the file.
func TestAuthorizationWebhookVersions(t *testing.T) {
	var sent struct {
		APIVersion string
		Spec       struct{ Group, Groups []string }
	}
	server := reviewServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent.Spec.Group, sent.Spec.Groups = nil, nil
		_ = json.Unmarshal(body, &sent)
		fmt.Fprintf(w, `{"apiVersion":%q,"kind":"SubjectAccessReview","status":{"allowed":true}}`, sent.APIVersion)
	})
	file := filepath.Join(t.TempDir(), "authorization.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(configuration(server, "3s", "Deny"), "Version: v1,", "Version: v1beta1,", 1)), 0o600))
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("secret,ann,1\n"), 0o600))
	hook := []string{"--authorization-mode=Webhook", "--authorization-webhook-config-file=" + server}
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{hook, "v1beta1"}, {append(hook, "--authorization-webhook-version=v1"), "v1"}, {append(hook, "--authorization-webhook-version=v1beta1"), "v1beta1"},
		{[]string{"--authorization-config=" + file}, "v1beta1"},
	} {
		o, err := parse(append([]string{"--storage-backend=memory", "--token-auth-file=" + tokens}, c.flags...))
		require.NoError(t, err)
		post := startInMemory(t, o)
		require.Equal(t, http.StatusCreated, post("/api/v1/namespaces/default/configmaps", map[string]any{"metadata": map[string]any{"name": "a"}}).Code)
		require.Equal(t, "authorization.k8s.io/"+c.want, sent.APIVersion)
		groups, none := sent.Spec.Groups, sent.Spec.Group
		if c.want == "v1beta1" {
			groups, none = none, groups
		}
		require.Contains(t, groups, "system:authenticated")
		require.Empty(t, none)
	}
}

// A changed file is in force a moment later; one that cannot be used is reported, and the last good one
// stays.
func TestAuthorizationReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "authorization.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write(configuration(reviewServer(t, allowing(`{"allowed":true}`)), "3s", "NoOpinion"))
	o, err := parse([]string{"--storage-backend=memory", "--authorization-config=" + file})
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	st := memory.New(memory.Options{})
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	cp, err := o.controlPlane(st, log)
	require.NoError(t, err)
	var good, bad atomic.Int32
	o.authorization.changed = func(err error) {
		if err != nil {
			bad.Add(1)
		} else {
			good.Add(1)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); o.authorization.follow(ctx, cp, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() { cancel(); <-done })
	allowed := func() bool {
		r := httptest.NewRequest(http.MethodGet, "/nothing", nil)
		w := httptest.NewRecorder()
		cp.ServeHTTP(w, r)
		return w.Code != http.StatusForbidden
	}
	eventually := func(what string, ok func() bool) {
		require.Eventually(t, ok, time.Minute, 20*time.Millisecond, what)
	}
	require.True(t, allowed())
	write(configuration("/k", "31s", "NoOpinion"))
	eventually("the failure is reported", func() bool { return bad.Load() == 1 })
	require.True(t, allowed(), "the last good one stays")
	write(`{apiVersion: apiserver.config.k8s.io/v1, kind: AuthorizationConfiguration, authorizers: [{type: RBAC, name: r}]}`)
	eventually("RBAC cannot be added", func() bool { return bad.Load() == 2 })
	require.True(t, allowed())
	write(`{apiVersion: apiserver.config.k8s.io/v1, kind: AuthorizationConfiguration, authorizers: [{type: AlwaysDeny, name: d}]}`)
	eventually("the new one is in force", func() bool { return good.Load() == 1 })
	require.False(t, allowed())
}

func TestRefusedAuthorizationFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"--authorization-mode does not go with --authorization-config":         {"--authorization-config=x", "--authorization-mode=RBAC"},
		"--authorization-mode=Webhook and --authorization-webhook-config-file": {"--authorization-mode=Webhook"},
		"--authorization-mode=ABAC and --authorization-policy-file belong":     {"--authorization-mode=ABAC"},
		"ABAC and --authorization-policy-file belong together":                 {"--authorization-policy-file=x"},
		"--authorization-policy-file does not go with":                         {"--authorization-config=x", "--authorization-policy-file=x"},
		"--authorization-webhook-version=v2: want v1 or v1beta1":               {"--authorization-webhook-version=v2"},
	} {
		_, err := parse(append([]string{"--storage-backend=memory"}, args...))
		require.ErrorContains(t, err, want)
	}
}

// A policy file decides; one that cannot be read is named with the line.
func TestABACPolicyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.jsonl")
	serve := func(text string) (*controlplane.ControlPlane, error) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		o, err := parse([]string{"--storage-backend=memory", "--authorization-mode=ABAC", "--authorization-policy-file=" + file, "--token-auth-file=" + writeTokens(t)})
		require.NoError(t, err)
		st := memory.New(memory.Options{})
		t.Cleanup(func() { require.NoError(t, st.Close()) })
		return o.controlPlane(st, slog.New(slog.DiscardHandler))
	}
	cp, err := serve(`{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"ann","nonResourcePath":"/version"}}`)
	require.NoError(t, err)
	for path, want := range map[string]int{"/version": http.StatusOK, "/metrics": http.StatusForbidden} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer of-ann")
		w := httptest.NewRecorder()
		cp.ServeHTTP(w, r)
		require.Equal(t, want, w.Code, path)
	}
	_, err = serve("\n{}")
	require.ErrorContains(t, err, "--authorization-policy-file: "+file+": authz: line 2: ")
}

func writeTokens(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens.csv")
	require.NoError(t, os.WriteFile(file, []byte("of-ann,ann,1\n"), 0o600))
	return file
}
