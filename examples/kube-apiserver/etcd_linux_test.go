package main

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/storetest"
)

// The server waits for etcd, is not ready while etcd is unavailable, answers writes within their timeout
// then, and continues when etcd is back, without a restart.
func TestEtcdComesAndGoes(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes: -short")
	}
	e := storetest.StartEtcd(t)
	e.Kill()
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte(`secret,admin,1,"system:masters"`+"\n"), 0o600))
	address := storetest.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "--generate-service-account-key", "--etcd-servers="+e.Endpoint, "--bind-address=127.0.0.1", "--secure-port="+port,
		"--token-auth-file="+tokens, "--authorization-mode=RBAC", "--request-timeout=5s")
	cmd.Env = append(os.Environ(), asServer+"=1")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			require.NoError(t, err, log.String())
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			require.Fail(t, "does not end", log.String())
		}
	}()
	front := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer front.CloseIdleConnections()
	ask := func(method, path, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "https://"+address+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer secret")
		req.Header.Set("Content-Type", "application/json")
		resp, err := front.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(got)
	}
	becomes := func(code int, path string) string {
		deadline := time.Now().Add(time.Minute)
		for {
			got, text := ask(http.MethodGet, path, "")
			if got == code {
				return text
			}
			require.True(t, time.Now().Before(deadline), "%s stays %d: %s", path, got, text)
			time.Sleep(50 * time.Millisecond)
		}
	}
	e.Start()
	becomes(200, "/readyz")
	const configMaps = "/api/v1/namespaces/default/configmaps"
	code, text := ask(http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
	require.Equal(t, 201, code, text)
	e.Kill()
	text = becomes(500, "/readyz?verbose")
	require.Contains(t, text, "[-]etcd failed")
	require.Contains(t, text, "[-]etcd-readiness failed")
	code, text = ask(http.MethodPost, configMaps, `{"metadata":{"name":"b"}}`)
	require.Contains(t, []int{500, 504}, code, text)
	e.Start()
	becomes(200, "/readyz")
	code, text = ask(http.MethodPost, configMaps, `{"metadata":{"name":"c"}}`)
	require.Equal(t, 201, code, text)
	_, text = ask(http.MethodGet, configMaps, "")
	require.True(t, strings.Contains(text, `"name":"a"`) && strings.Contains(text, `"name":"c"`), text)
}
