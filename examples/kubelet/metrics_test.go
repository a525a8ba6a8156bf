package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/client/certificate"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/kubeletconfig"
	"github.com/keelson-dev/keelson/examples/internal/familytest"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// Each family of metrics of Kubernetes' kubelet is here, or testdata/absent.txt says why not. What is not
// measured before a pod comes has a test in package kubelet.
func TestFamilies(t *testing.T) {
	c := kubeletconfig.Default()
	c.FeatureGates = map[string]bool{"MemoryQoS": true}
	registry, measured, err := measure(c)
	require.NoError(t, err)
	api := httptest.NewServer(http.NotFoundHandler())
	defer api.Close()
	conn, err := rest.New(rest.Config{Host: api.URL}, rest.Options{Metrics: measured, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer conn.Close()
	client, err := certificate.New(certificate.Options{Conn: conn, Signer: "kubernetes.io/kube-apiserver-client-kubelet", File: filepath.Join(t.TempDir(), "client.pem"),
		Request: func() *x509.CertificateRequest { return &x509.CertificateRequest{} }, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	k, err := kubelet.New(conn, kubelet.Options{NodeName: "n1", RootDir: t.TempDir(), LogDir: t.TempDir(), CertDir: t.TempDir(), NoCgroups: true,
		Listener: pipenet.New(), RequestServing: true, ClientCertificate: client, TLS: &tls.Config{},
		Plugins: &kubelet.PluginOptions{}, Metrics: registry, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	familytest.RequireEach(t, registry)

	front := httptest.NewServer(k.ReadOnly())
	defer front.Close()
	get := func(path string) string {
		resp, err := http.Get(front.URL + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return string(b)
	}
	get("/healthz/ping")
	text := get("/metrics")
	familytest.RequireUpstreams(t, text)
	require.Contains(t, text, `kubernetes_feature_enabled{name="MemoryQoS",stage="ALPHA"} 1`)
	require.Contains(t, text, `kubernetes_feature_enabled{name="KubeletPSI",stage=""} 1`)
	require.True(t, strings.Contains(text, `kubelet_http_inflight_requests{long_running="false",method="GET",path="metrics",server_type="readonly"} 1`))
	familytest.RequireUpstreams(t, get("/metrics/slis"))
	familytest.RequireUpstreams(t, get("/metrics/probes"))
}
