package kubeconfig_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
)

// The files of a service account are at one path in every pod. The test runs itself again in a new mount
// namespace, where it may create them.
func TestInCluster(t *testing.T) {
	const inside = "KEELSON_TEST_MOUNTNS"
	if os.Getenv(inside) != "" {
		require.NoError(t, syscall.Mount("keelson", "/run", "tmpfs", 0, ""))
		testInCluster(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInCluster$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if _, ran := err.(*exec.ExitError); err != nil && !ran && os.Getenv("CI") == "" {
		t.Skipf("no mount namespace: %v", err)
	}
	require.NoError(t, err, "%s", out)
}

// serviceAccount writes the files of a service account as a kubelet does: all at once, by a link to another
// folder.
func serviceAccount(t *testing.T, generation, token string, ca []byte) {
	const dir = "/var/run/secrets/kubernetes.io/serviceaccount"
	data := filepath.Join(dir, ".."+generation)
	require.NoError(t, os.MkdirAll(data, 0o755))
	for name, content := range map[string][]byte{"token": []byte(token), "ca.crt": ca, "namespace": []byte("team")} {
		require.NoError(t, os.WriteFile(filepath.Join(data, name), content, 0o600))
		if link := filepath.Join(dir, name); generation == "1" {
			require.NoError(t, os.Symlink("..data/"+name, link))
		}
	}
	require.NoError(t, os.Symlink(".."+generation, filepath.Join(dir, "..new")))
	require.NoError(t, os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")))
}

func testInCluster(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "server.test")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	_, err := kubeconfig.Load(kubeconfig.Options{})
	require.ErrorIs(t, err, os.ErrNotExist, "a pod without a token")
	require.ErrorContains(t, err, "/var/run/secrets/kubernetes.io/serviceaccount/token")
	synctest.Test(t, func(t *testing.T) {
		// accepted is the current token; two servers have certificates of different authorities.
		var accepted atomic.Value
		server := func() *clienttest.Server {
			return clienttest.Start(t, clienttest.Options{TLS: true, Scheme: api.Scheme(), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", client.MediaJSON)
				if r.Header.Get("Authorization") != "Bearer "+accepted.Load().(string) {
					w.WriteHeader(http.StatusUnauthorized)
				}
				_, _ = w.Write([]byte("{}"))
			})})
		}
		one, two := server(), server()
		var current atomic.Pointer[clienttest.Server]
		current.Store(one)
		accepted.Store("t1")
		serviceAccount(t, "1", "t1", one.Config().TLS.CAData)

		cfg, err := kubeconfig.Load(kubeconfig.Options{})
		require.NoError(t, err)
		require.Equal(t, "https://server.test:443", cfg.Host)
		namespace, err := kubeconfig.Namespace(kubeconfig.Options{})
		require.NoError(t, err)
		require.Equal(t, "team", namespace)
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			return current.Load().Listener.Dial(ctx, network, address)
		}
		conn := one.ConnWith(t, cfg, rest.Options{})
		ask := func() error {
			_, err := conn.Do(t.Context(), &client.Request{Method: "GET", Path: "/version"})
			return err
		}
		require.NoError(t, ask())
		// The old token ends with the rotation: the new one is read at once.
		serviceAccount(t, "2", "t2", one.Config().TLS.CAData)
		accepted.Store("t2")
		require.NoError(t, ask())
		// The old token remains valid for a while: the new one is in use before it expires.
		serviceAccount(t, "3", "t3", one.Config().TLS.CAData)
		require.NoError(t, ask())
		time.Sleep(11 * time.Second)
		accepted.Store("t3")
		require.NoError(t, ask())
		// The cluster gets another authority.
		serviceAccount(t, "4", "t3", two.Config().TLS.CAData)
		current.Store(two)
		time.Sleep(11 * time.Second)
		require.NoError(t, ask())
	})
}
