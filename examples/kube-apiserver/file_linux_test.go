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
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/storetest"
)

// fileServer is a server process over a file.
type fileServer struct {
	t       *testing.T
	dir     string
	host    string
	process *exec.Cmd
}

func newFileServer(t *testing.T) *fileServer {
	t.Helper()
	if testing.Short() {
		t.Skip("real processes: -short")
	}
	s := &fileServer{t: t, dir: t.TempDir(), host: storetest.FreeAddress(t)}
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "tokens"), []byte(`secret,admin,1,"system:masters"`+"\n"), 0o600))
	s.start()
	t.Cleanup(s.kill)
	return s
}

// start starts the process, after a kill with the same file.
func (s *fileServer) start() {
	_, port, _ := net.SplitHostPort(s.host)
	s.process = exec.Command(os.Args[0], "--storage-backend=file", "--generate-service-account-key", "--storage-dir="+filepath.Join(s.dir, "data"), "--bind-address=127.0.0.1", "--secure-port="+port,
		"--token-auth-file="+filepath.Join(s.dir, "tokens"), "--authorization-mode=RBAC")
	s.process.Env = append(os.Environ(), asServer+"=1")
	if err := s.process.Start(); err != nil {
		s.t.Errorf("start: %v", err)
	}
}

func (s *fileServer) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

func (s *fileServer) conn() client.Conn {
	conn, err := rest.New(rest.Config{Host: "https://" + s.host, BearerToken: "secret", TLS: rest.TLSConfig{Insecure: true}}, rest.Options{})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func ready(t *testing.T, conn client.Conn) {
	require.Eventually(t, func() bool {
		_, err := conn.Do(t.Context(), &client.Request{Path: "/readyz"})
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}

// Concurrent clients and watchers of a server that is killed repeatedly receive one consistent history.
func TestFileHistories(t *testing.T) {
	s := newFileServer(t)
	conns := []client.Conn{s.conn(), s.conn()}
	ready(t, conns[0])
	for _, seed := range seeds.Slow(t, 2) {
		ctx, cancel := context.WithCancel(t.Context())
		killed := make(chan int, 1)
		go func() {
			defer cancel()
			r := seeds.Rand(seed)
			rest := func(least, most int) { time.Sleep(time.Duration(least+r.IntN(most-least)) * time.Millisecond) }
			kills := 2 + r.IntN(3)
			for range kills {
				rest(200, 900)
				s.kill()
				rest(0, 300)
				s.start()
			}
			rest(300, 600)
			killed <- kills
		}()
		h, err := clienttest.Record(ctx, seed, clienttest.HistoryOptions{
			Calls: -1, Clients: 6, Keys: 4, Watchers: 3, Pause: 5 * time.Millisecond, CallTimeout: 3 * time.Second, Patience: 90 * time.Second,
		}, conns...)
		kills := <-killed
		require.NoError(t, err, "seed %d after %d kills", seed, kills)
		require.NoError(t, h.Check(), "seed %d after %d kills", seed, kills)
		calls, unknown := h.Calls()
		events, streams := h.Events()
		t.Logf("seed %d: %d kills, %d calls, %d of unknown outcome, %d events in %d streams: all in order", seed, kills, calls, unknown, events, streams)
	}
}

// A server over a file is killed while clients write: afterwards all acknowledged writes are there, versions
// continue to rise, and a watch resumes without a gap.
func TestFileStorage(t *testing.T) {
	s := newFileServer(t)
	conn := s.conn()
	ready(t, conn)
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
	s.kill()
	stop()
	writers.Wait()
	s.start()
	ready(t, conn)
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
