package storetest

import (
	"context"
	"fmt"
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
	health  string // URL of its health
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
	return startMembers(t, findEtcd(t), 1, "http", args)[0]
}

// StartSecureEtcd starts an etcd, as StartEtcd does, that serves over TLS with the pair of certFile and
// keyFile, and only clients with a certificate by one of the authorities in caFile. It reads the pair for
// each connection, the authorities when it starts.
func StartSecureEtcd(t testing.TB, caFile, certFile, keyFile string) *Etcd {
	t.Helper()
	return startMembers(t, findEtcd(t), 1, "https", []string{"--client-cert-auth", "--trusted-ca-file=" + caFile, "--cert-file=" + certFile, "--key-file=" + keyFile})[0]
}

func findEtcd(t testing.TB) string {
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
	return binary
}

// StartEtcdCluster starts n members of one cluster, as StartEtcd does.
func StartEtcdCluster(t testing.TB, n int, args ...string) []*Etcd {
	t.Helper()
	return startMembers(t, findEtcd(t), n, "http", args)
}

func startMembers(t testing.TB, binary string, n int, scheme string, args []string) []*Etcd {
	t.Helper()
	members := make([]*Etcd, n)
	var cluster []string
	for i := range members {
		plain, peer, name, dir := "http://"+FreeAddress(t), "http://"+FreeAddress(t), fmt.Sprintf("m%d", i), t.TempDir()
		client := scheme + strings.TrimPrefix(plain, "http")
		cluster = append(cluster, name+"="+peer)
		members[i] = &Etcd{Endpoint: client, t: t, health: plain, binary: binary, log: filepath.Join(dir, "etcd.log")}
		if client != plain { // which only clients with a certificate reach
			members[i].health = "http://" + FreeAddress(t)
			args = append(args, "--listen-metrics-urls="+members[i].health)
		}
		members[i].args = []string{
			"--name=" + name, "--data-dir=" + filepath.Join(dir, "data"),
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--heartbeat-interval=50", "--election-timeout=500", // a leader is elected sooner
		}
	}
	for _, m := range members {
		m.args = append(append(m.args, "--initial-cluster="+strings.Join(cluster, ",")), args...)
		m.launch()
		t.Cleanup(m.Kill)
	}
	for _, m := range members {
		m.waitHealthy()
	}
	return members
}

// Start starts the process, again after Kill with the same data, and waits until it is healthy.
func (e *Etcd) Start() {
	e.t.Helper()
	e.launch()
	e.waitHealthy()
}

func (e *Etcd) launch() {
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
}

func (e *Etcd) waitHealthy() {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
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
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.health+"/health", nil)
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

// PID returns the process's number.
func (e *Etcd) PID() int { return e.process.Process.Pid }

// Kill kills the process, as in a crash, and waits for its end.
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
