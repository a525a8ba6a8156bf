package storetest

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Etcd is a private etcd process on loopback with a directory of its own. It ends with its test.
type Etcd struct {
	// Endpoint is its client URL.
	Endpoint string

	t       testing.TB
	binary  string
	args    []string
	log     string
	process *exec.Cmd
	exited  chan struct{}
}

// StartEtcd starts the etcd found in PATH, or named by the environment variable KEELSON_ETCD. Without
// one the test is skipped, or fails if CI is "true". More arguments are passed on to etcd.
func StartEtcd(t testing.TB, args ...string) *Etcd {
	t.Helper()
	binary := os.Getenv("KEELSON_ETCD")
	if binary == "" {
		binary, _ = exec.LookPath("etcd")
	}
	if binary == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no etcd in PATH: install the package etcd-server")
		}
		t.Skip("no etcd in PATH: install the package etcd-server to run this test")
	}
	client, peer := freePort(t), freePort(t)
	dir := t.TempDir()
	e := &Etcd{Endpoint: client, t: t, binary: binary, log: filepath.Join(dir, "etcd.log")}
	e.args = append([]string{
		"--name=test", "--data-dir=" + filepath.Join(dir, "data"),
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=test=" + peer,
		"--heartbeat-interval=20", "--election-timeout=200", // a member alone elects itself sooner
	}, args...)
	e.Start()
	t.Cleanup(e.Kill)
	return e
}

// freePort returns a loopback URL nobody listens on right now.
func freePort(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return "http://" + l.Addr().String()
}

// Start starts the process, again after Kill with the same data, and waits until it is healthy.
func (e *Etcd) Start() {
	e.t.Helper()
	out, err := os.OpenFile(e.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		e.t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	e.process = exec.Command(e.binary, e.args...)
	e.process.Stdout, e.process.Stderr = out, out
	e.process.Env = append(os.Environ(), "ETCD_UNSUPPORTED_ARCH="+os.Getenv("GOARCH"))
	if err := e.process.Start(); err != nil {
		e.t.Fatal(err)
	}
	process, exited := e.process, make(chan struct{})
	e.exited = exited
	go func() {
		_ = process.Wait()
		close(exited)
	}()
	e.waitHealthy()
}

func (e *Etcd) waitHealthy() {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	for {
		if e.healthy(ctx) {
			return
		}
		select {
		case <-retry.C:
		case <-e.exited:
			e.t.Fatalf("etcd exited:\n%s", e.tail())
		case <-ctx.Done():
			e.t.Fatalf("etcd is not healthy:\n%s", e.tail())
		}
	}
}

func (e *Etcd) healthy(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.Endpoint+"/health", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func (e *Etcd) tail() string {
	data, err := os.ReadFile(e.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(data), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// Kill ends the process as a crash does and waits for it.
func (e *Etcd) Kill() {
	if err := e.process.Process.Kill(); err != nil && !strings.Contains(err.Error(), "already finished") {
		e.t.Errorf("kill etcd: %v", err)
	}
	<-e.exited
}

// Restart is Kill and Start.
func (e *Etcd) Restart() {
	e.t.Helper()
	e.Kill()
	e.Start()
}
