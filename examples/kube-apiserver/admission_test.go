package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
)

func TestAdmissionConfiguration(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write("pods.yaml", "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\ndefaults: {enforce: baseline}\n")
	file := write("admission.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: PodSecurity, path: pods.yaml}]\n")
	parsed, err := parse([]string{"--storage-backend=memory", "--admission-control-config-file=" + file, "--enable-admission-plugins=AlwaysPullImages"})
	require.NoError(t, err)
	var o controlplane.Options
	require.NoError(t, parsed.admission.apply(&o, apimetrics.New(), slog.New(slog.DiscardHandler)))
	require.Equal(t, "baseline", o.AdmissionConfiguration.PodSecurity.Defaults.Enforce)
	require.Equal(t, []string{"AlwaysPullImages"}, o.EnableAdmission)

	for text, want := range map[string]string{
		"plugins: {}": file + ": admission: ",
		"apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: PodSecurity, path: missing.yaml}]\n": filepath.Join(dir, "missing.yaml"),
	} {
		write("admission.yaml", text)
		require.ErrorContains(t, parsed.admission.apply(&o, apimetrics.New(), slog.New(slog.DiscardHandler)), want)
	}
	parsed.admission.configFile = filepath.Join(dir, "none.yaml")
	require.ErrorContains(t, parsed.admission.apply(&o, apimetrics.New(), slog.New(slog.DiscardHandler)), "--admission-control-config-file: open ")
}

// A server over TLS, found by the kubeconfig that the plugin's configuration names, decides about images.
func TestImagePolicyWebhook(t *testing.T) {
	server := reviewServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), `"apiVersion":"imagepolicy.k8s.io/v1alpha1"`) || !strings.Contains(string(body), `"namespace":"kube-system"`) {
			http.Error(w, "wrong request", http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"apiVersion":"imagepolicy.k8s.io/v1alpha1","kind":"ImageReview","status":{"allowed":%t,"reason":"it is bad"}}`, !strings.Contains(string(body), "bad"))
	})
	file := filepath.Join(t.TempDir(), "admission.yaml")
	configure := func(kubeconfig string) *options {
		require.NoError(t, os.WriteFile(file, []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n- name: ImagePolicyWebhook\n"+
			"  configuration: {imagePolicy: {kubeConfigFile: '"+kubeconfig+"', retryBackoff: -1}}\n"), 0o600))
		o, err := parse([]string{"--storage-backend=memory", "--token-auth-file=" + tokenFile(t), "--authorization-mode=AlwaysAllow", "--disable-admission-plugins=ServiceAccount",
			"--enable-admission-plugins=ImagePolicyWebhook", "--admission-control-config-file=" + file})
		require.NoError(t, err)
		return o
	}
	st := memory.New(memory.Options{})
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	_, err := configure(filepath.Join(t.TempDir(), "none")).controlPlane(st, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, file+": imagePolicy.kubeConfigFile: ")

	cp, err := configure(server).controlPlane(st, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- cp.Run(ctx) }()
	<-cp.Ready()
	create := func(image string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/api/v1/namespaces/kube-system/pods", strings.NewReader(`{"metadata":{"generateName":"x-"},"spec":{"containers":[{"name":"c","image":"`+image+`"}]}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer secret")
		cp.ServeHTTP(w, r)
		return w
	}
	require.Eventually(t, func() bool { return create("good").Code == http.StatusCreated }, time.Minute, time.Millisecond, "when kube-system is there")
	w := create("bad")
	require.Equal(t, http.StatusForbidden, w.Code)
	require.Contains(t, w.Body.String(), "image policy webhook backend denied one or more images: it is bad")
	cancel()
	require.NoError(t, <-done)
}

// tokenFile returns a file with the token "secret" of a member of system:masters.
func tokenFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("secret,root,1,system:masters\n"), 0o600))
	return file
}
