package main

import (
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
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/memory"
)

var discard = slog.New(slog.DiscardHandler)

// Which user of a kubeconfig a webhook is called as: facts of kube-apiserver 1.36.
func TestWebhookUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	user := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"user":{"token":"of %s"}}`, name, name)
	}
	write := func(text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	names := []string{"a.example.com", "b.example.com:8443", "*.example.com", "*.com:8443", "hook.ns.svc", "*.ns.svc", "*"}
	for i, name := range names {
		names[i] = user(name)
	}
	write(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"user":"last"}}],"users":[` + strings.Join(names, ",") + "," + user("last") + `]}`)
	users, err := readWebhookUsers(file, discard)
	require.NoError(t, err)
	for host, want := range map[string]string{
		"a.example.com": "a.example.com", "a.example.com:443": "a.example.com", "a.example.com:8443": "*.com:8443", "b.example.com": "*.example.com", "b.example.com:8443": "b.example.com:8443",
		"x.y.example.com:443": "*.example.com", "x.other.com:8443": "*.com:8443", "x.other.com:443": "*", "hook.ns.svc:443": "hook.ns.svc", "hook.ns.svc:8443": "*", "other.ns.svc:443": "*.ns.svc",
		"[2001:db8::1]:443": "*", "[2001:db8::1]": "*", "": "*",
	} {
		got, err := users.find(host).credential(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, "Bearer of "+want, got.Header.Get("Authorization"), host)
	}
	delete(users.byName, "*")
	require.Equal(t, users.byName["last"], users.find("elsewhere:443"), "the current context is what remains")
	users.current = ""
	require.Nil(t, users.find("elsewhere:443"))

	write(`{"users":[{"name":"*","user":{"token":"t","as":"ann","as-uid":"7","as-groups":["a","b"],"as-user-extra":{"example.com/k":["v"]}}}]}`)
	users, err = readWebhookUsers(file, discard)
	require.NoError(t, err)
	got, err := users.find("a:1").credential(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, http.Header{"Authorization": {"Bearer t"}, "Impersonate-User": {"ann"}, "Impersonate-Uid": {"7"}, "Impersonate-Group": {"a", "b"},
		"Impersonate-Extra-Example.com%2fk": {"v"}}, got.Header, "as upstream's clients send them")

	for text, want := range map[string]string{
		`{"users":[{"name":"x","user":{"token":"t","as-groups":["root"]}}]}`: "users[x].as",
		`{"users":[{"name":"x","user":{"tokenFile":"none"}}]}`:               filepath.Join(filepath.Dir(file), "none"),
		`{"users":[{"name":"x","user":{"client-certificate-data":"eA=="}}]}`: "users[x]",
		`{"users":[{"name":"x","user":{"auth-provider":{"name":"gcp"}}}]}`:   "users[x].auth-provider",
		`{"current-context":"c"}`: `current-context: there is no context "c"`,
		`{"current-context":"c","contexts":[{"name":"c","context":{"user":"nemo"}}]}`:    `users: there is no user "nemo"`,
		`{"users":[{"name":"x","user":{"client-certificate":"a","client-key":"none"}}]}`: "users[x]: open ",
	} {
		write(text)
		_, err := readWebhookUsers(file, discard)
		require.ErrorContains(t, err, want, text)
	}
}

// admissionReviews answers admission reviews of callers with one of the known tokens and certificates.
type admissionReviews struct {
	mu    sync.Mutex
	seen  map[string]int // by caller, as "NAME of the certificate/TOKEN"
	knows func(caller string) bool
}

func (a *admissionReviews) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller := "/" + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if c := r.TLS.PeerCertificates; len(c) > 0 {
		caller = c[0].Subject.CommonName + caller
	}
	a.mu.Lock()
	a.seen[caller]++
	known := a.knows(caller)
	a.mu.Unlock()
	var review struct {
		Request struct{ UID string } `json:"request"`
	}
	switch err := json.NewDecoder(r.Body).Decode(&review); {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case !known:
		http.Error(w, "the caller is unknown", http.StatusUnauthorized)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":true}}`, review.Request.UID)
	}
}

func (a *admissionReviews) calls(caller string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen[caller]
}

// The server calls admission webhooks with the certificate and token of the kubeconfig of their plugin, and
// with the new ones when files are replaced, without a refused request.
func TestAdmissionWebhookCredentials(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) { require.NoError(t, os.WriteFile(path(name), []byte(text), 0o600)) }
	ca, err := certs.NewAuthority("webhooks")
	require.NoError(t, err)
	serving, err := ca.Serving("webhook", "127.0.0.1")
	require.NoError(t, err)
	pair := func(name string) {
		p, err := ca.Client(name)
		require.NoError(t, err)
		write("client.crt", string(p.CertPEM()))
		write("client.key", string(p.KeyPEM()))
	}
	reviews := &admissionReviews{seen: map[string]int{}, knows: func(caller string) bool { return caller != "/" }}
	s := httptest.NewUnstartedServer(reviews)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{serving.TLS()}, ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)

	pair("first")
	write("token", "one\n")
	host := strings.TrimPrefix(s.URL, "https://")
	write("kubeconfig", `{"apiVersion":"v1","kind":"Config","users":[{"name":"`+host+`","user":{"tokenFile":"token","client-certificate":"client.crt","client-key":"client.key"}}]}`)
	write("admission.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n- name: ValidatingAdmissionWebhook\n"+
		"  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: '"+path("kubeconfig")+"'}\n")
	o, err := parse([]string{"--storage-backend=memory", "--token-auth-file=" + tokenFile(t), "--authorization-mode=AlwaysAllow", "--admission-control-config-file=" + path("admission.yaml")})
	require.NoError(t, err)
	post := startInMemory(t, o)
	type object = map[string]any
	w := post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", object{"metadata": object{"name": "w"}, "webhooks": []any{object{
		"name": "w.a.test", "clientConfig": object{"url": s.URL + "/review", "caBundle": ca.CertPEM()}, "sideEffects": "None", "admissionReviewVersions": []string{"v1"},
		"rules": []any{object{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "resources": []string{"configmaps"}, "operations": []string{"CREATE"}}}}}})
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	create := func() *httptest.ResponseRecorder {
		return post("/api/v1/namespaces/kube-system/configmaps", object{"metadata": object{"generateName": "x-"}})
	}
	eventually := func(what, caller string) {
		t.Helper()
		require.Eventually(t, func() bool { create(); return reviews.calls(caller) > 0 }, time.Minute, 2*time.Millisecond, what)
	}
	eventually("the webhook is in force", "first/one")

	end := underLoad(func() bool {
		w := create()
		return assert.Equal(t, http.StatusCreated, w.Code, w.Body)
	})
	write("token", "") // half of a replacement
	write("token", "two\n")
	eventually("the new token is in use", "first/two")
	pair("second")
	eventually("the new certificate is in use", "second/two")
	write("kubeconfig", `{"users": [`)
	write("kubeconfig", `{"apiVersion":"v1","kind":"Config","users":[{"name":"*","user":{"token":"three"}}]}`)
	eventually("the new kubeconfig is in use", "/three")
	end()
	require.Zero(t, reviews.calls("/"))

	reviews.mu.Lock()
	reviews.knows = func(string) bool { return false }
	reviews.mu.Unlock()
	w = create()
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Contains(t, w.Body.String(), `failed calling webhook \"w.a.test\"`)
}

// startInMemory runs the server of o until the test ends, and returns a function that sends it objects.
func startInMemory(t *testing.T, o *options) func(path string, body any) *httptest.ResponseRecorder {
	t.Helper()
	st := memory.New(memory.Options{})
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return startOver(t, o, st)
}

// startOver runs the server of o over a store, as startInMemory does.
func startOver(t *testing.T, o *options, st store.Store) func(path string, body any) *httptest.ResponseRecorder {
	t.Helper()
	cp, err := o.controlPlane(st, discard)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- cp.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	<-cp.Ready()
	return func(path string, body any) *httptest.ResponseRecorder {
		text, err := json.Marshal(body)
		require.NoError(t, err)
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(text)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer secret")
		cp.ServeHTTP(w, r)
		return w
	}
}

// underLoad calls request from two goroutines, every two milliseconds while it succeeds, until end is called.
func underLoad(request func() bool) (end func()) {
	stop, load := make(chan struct{}), &sync.WaitGroup{}
	for range 2 {
		load.Go(func() {
			pace := time.NewTicker(2 * time.Millisecond)
			defer pace.Stop()
			for request() {
				select {
				case <-stop:
					return
				case <-pace.C:
				}
			}
		})
	}
	return func() {
		close(stop)
		load.Wait()
	}
}

// A kubeconfig of a webhook that reviews tokens, requests, images or events is followed: requests that are
// under way end where they are, later ones use the new file, and what cannot be used changes nothing.
func TestWebhookKubeconfigIsFollowed(t *testing.T) {
	first, second := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "first") }),
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "second") })
	one, two := reviewServer(t, first), reviewServer(t, second)
	content := func(file string) []byte {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return text
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, content(one), 0o600))
	post, err := poster(kubeconfig.Options{Path: file}, apimetrics.Requests{}, discard)
	require.NoError(t, err)
	end := underLoad(func() bool {
		reply, err := post(t.Context(), []byte("{}"))
		return assert.NoError(t, err) && assert.Contains(t, []string{"first", "second"}, string(reply))
	})
	require.NoError(t, os.WriteFile(file, content(two)[:100], 0o600))
	require.NoError(t, os.WriteFile(file, content(two), 0o600))
	require.Eventually(t, func() bool {
		reply, err := post(t.Context(), []byte("{}"))
		return err == nil && string(reply) == "second"
	}, time.Minute, time.Millisecond)
	end()

	_, err = poster(kubeconfig.Options{Path: filepath.Join(t.TempDir(), "none")}, apimetrics.Requests{}, discard)
	require.ErrorContains(t, err, "none")
}
