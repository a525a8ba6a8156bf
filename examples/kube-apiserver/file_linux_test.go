package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
)

// A server over a file is killed while clients write: afterwards all they were told is there, versions rise further, and a watch
// goes on where it was.
func TestFileStorage(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes: -short")
	}
	dir := t.TempDir()
	host := freeAddress(t)
	_, port, err := net.SplitHostPort(host)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokens"), []byte(`secret,admin,1,"system:masters"`+"\n"), 0o600))
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "--storage-backend=file", "--storage-dir="+filepath.Join(dir, "data"), "--bind-address=127.0.0.1", "--secure-port="+port,
			"--token-auth-file="+filepath.Join(dir, "tokens"), "--authorization-mode=RBAC")
		cmd.Env = append(os.Environ(), asServer+"=1")
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd
	}
	cmd := start()
	conn, err := rest.New(rest.Config{Host: "https://" + host, BearerToken: "secret", TLS: rest.TLSConfig{Insecure: true}}, rest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	ready := func() {
		require.Eventually(t, func() bool {
			_, err := conn.Do(t.Context(), &client.Request{Path: "/readyz"})
			return err == nil
		}, time.Minute, 10*time.Millisecond)
	}
	ready()
	maps := client.For[*corev1.ConfigMap](conn)
	first, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first"}})
	require.NoError(t, err)

	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	var acknowledged []string
	highest := 0
	enough := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				cm, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("w%d-%d", w, i)}})
				if err != nil {
					continue
				}
				rv, _ := strconv.Atoi(cm.ResourceVersion)
				mu.Lock()
				acknowledged = append(acknowledged, cm.Name)
				highest = max(highest, rv)
				if len(acknowledged) == 200 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	stop()
	writers.Wait()
	start()
	ready()
	for _, name := range acknowledged {
		_, err := maps.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: name})
		require.NoError(t, err)
	}
	last, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "last"}})
	require.NoError(t, err)
	version, err := strconv.Atoi(last.ResourceVersion)
	require.NoError(t, err)
	require.Greater(t, version, highest)
	seen := map[string]bool{}
	for ev, err := range maps.Watch(t.Context(), client.WatchOptions{Namespace: "default", ResourceVersion: first.ResourceVersion}) {
		require.NoError(t, err, "the history is in the file")
		seen[ev.Object.Name] = true
		if ev.Object.Name == "last" {
			break
		}
	}
	for _, name := range acknowledged {
		require.True(t, seen[name], name)
	}
}
