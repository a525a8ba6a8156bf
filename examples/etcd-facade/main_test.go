package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/etcd"
	"github.com/keelson-dev/keelson/store/storetest"
)

// asProgram makes the test's binary the program itself.
const asProgram = "KEELSON_TEST_ETCD_FACADE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		component.Exit("etcd-facade", run(os.Args[1:]))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// start starts the program as the tests start etcd: with a directory of its own and all the flags that they
// give etcd.
func start(t *testing.T, args ...string) *storetest.Etcd {
	if testing.Short() {
		t.Skip("real processes: -short")
	}
	before, had := os.LookupEnv("KEELSON_ETCD")
	require.NoError(t, os.Setenv("KEELSON_ETCD", os.Args[0]))
	require.NoError(t, os.Setenv(asProgram, "1"))
	defer func() {
		require.NoError(t, os.Unsetenv("KEELSON_ETCD"))
		if had {
			require.NoError(t, os.Setenv("KEELSON_ETCD", before))
		}
	}()
	t.Cleanup(func() { require.NoError(t, os.Unsetenv(asProgram)) })
	return storetest.StartEtcd(t, args...)
}

// TestEtcdctl runs the same commands of etcdctl against a real etcd and ours, and compares what is printed.
func TestEtcdctl(t *testing.T) {
	etcdctl, err := exec.LookPath("etcdctl")
	if err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must have etcdctl")
		t.Skip("no etcdctl in PATH: install the package etcd-client")
	}
	ours, real := start(t), storetest.StartEtcd(t)
	for _, c := range []struct {
		input string
		args  string
	}{
		{"", "put /registry/a 1"}, {"", "put /registry/b 2"}, {"", "put zeta 3"}, {"value of stdin", "put /registry/c"},
		{"", "get /registry/a"}, {"", "get /registry --prefix"}, {"", "get /registry --prefix --keys-only"}, {"", "get /registry --prefix --limit=1 -w fields"},
		{"", "get --from-key b"}, {"", "get a z --order=DESCEND --sort-by=MODIFY"}, {"", "get /registry --prefix --count-only -w fields"}, {"", "get none"},
		{"", "get /registry/a --rev=2"}, {"", "get /registry/a --rev=99"}, {"", "get /registry/a -w json"},
		{"", "put /registry/a 4 --prev-kv"}, {"", "put /registry/a --ignore-value"}, {"", "put none --ignore-value"},
		{"mod(\"/registry/a\") = \"0\"\n\nput /registry/a 5\n\nget /registry/a\n\n", "txn"},
		{"value(\"/registry/a\") = \"4\"\nversion(\"/registry/b\") > \"0\"\n\nput /registry/a 5\ndel /registry/b\nget /registry --prefix\n\n\n", "txn"},
		{"create(\"/registry/n\") = \"0\"\n\nput /registry/n 1\n\nget /registry/n\n\n", "txn -w json"},
		{"", "del /registry/none"}, {"", "del /registry/a --prev-kv"}, {"", "del /registry --prefix"},
		{"", "watch --rev=1 --prefix /registry"}, {"", "watch --rev=4 zeta"}, {"", "watch --rev=3 /registry/a z0 --prev-kv"},
		{"", "lease grant 600"}, {"", "lease list"}, {"", "lease timetolive 1234"}, {"", "lease revoke 1234"}, {"", "put leased x --lease=1234"},
		{"", "compact 5"}, {"", "compact 5"}, {"", "compact 99"}, {"", "get zeta --rev=3"}, {"", "watch --rev=2 zeta"},
		{"", "endpoint health"}, {"", "alarm list"}, {"", "put"}, {"", "get"},
	} {
		want, got := ctl(t, etcdctl, real, c.input, c.args), ctl(t, etcdctl, ours, c.input, c.args)
		require.Equal(t, want, got, "%q | etcdctl %s", c.input, c.args)
	}
	require.Contains(t, ctl(t, etcdctl, ours, "", "endpoint status -w json"), `"version":"3.6.`)
	require.Contains(t, ctl(t, etcdctl, ours, "", "member list"), "started, m0")
	for _, args := range []string{"snapshot save " + filepath.Join(t.TempDir(), "x"), "defrag", "user add u:p", "member remove 1"} {
		require.Contains(t, ctl(t, etcdctl, ours, "", args), "Unimplemented", args)
	}
}

// varying matches what differs between any two members.
var varying = regexp.MustCompile(`(lease |"(cluster|member)_id":|"raft_term":|"(Cluster|Member)ID" : |"RaftTerm" : )[0-9a-f]+|"?http://[0-9.:]+"?|took = \S+|(?m)^[0-9a-f]{16}$|.*"level":.*\n`)

// ctl returns the output of etcdctl. A watch is ended when its output pauses.
func ctl(t *testing.T, etcdctl string, e *storetest.Etcd, input, args string) string {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, etcdctl, append([]string{"--endpoints=" + e.Endpoint}, strings.Fields(args)...)...)
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
	cmd.Stdin = strings.NewReader(input)
	out := &growing{}
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	if strings.HasPrefix(args, "watch") {
		go out.quiet(ctx, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
	}
	err := cmd.Wait()
	require.NoError(t, ctx.Err(), args)
	text := out.String()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed && !strings.HasPrefix(args, "watch") {
		text += fmt.Sprintf("exit %d\n", exit.ExitCode())
	}
	return varying.ReplaceAllString(text, "$1#")
}

// growing is the output of a process.
type growing struct {
	mu   sync.Mutex
	text []byte
}

func (g *growing) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.text = append(g.text, p...)
	return len(p), nil
}

func (g *growing) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return string(g.text)
}

// quiet calls end when something has been printed and nothing more for a while.
func (g *growing) quiet(ctx context.Context, end func()) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for before := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := len(g.String())
		if now > 0 && now == before {
			end()
			return
		}
		before = now
	}
}

// TestRestart: acknowledged writes survive a kill -9; leases and revisions continue.
func TestRestart(t *testing.T) {
	for name, args := range map[string][]string{"synced": nil, "not synced": {"--unsafe-no-fsync"}} {
		t.Run(name, func(t *testing.T) {
			e := start(t, args...)
			s, err := etcd.New(t.Context(), etcd.Options{Endpoints: []string{e.Endpoint}})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			last := int64(0)
			for i := range 50 {
				last, err = s.Create(t.Context(), fmt.Sprintf("/a/%d", i), fmt.Append(nil, i), store.WriteOptions{TTL: time.Duration(i%2) * time.Hour})
				require.NoError(t, err)
			}
			e.Restart()
			list, err := s.List(t.Context(), "/a/", store.ListOptions{})
			require.NoError(t, err)
			require.Len(t, list.Items, 50)
			require.Equal(t, last, list.Revision)
			next, err := s.Update(t.Context(), "/a/1", nil, store.AnyRevision, store.WriteOptions{TTL: time.Hour})
			require.NoError(t, err, "its lease is still there")
			require.Equal(t, last+1, next)
		})
	}
}

func TestWrongFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--initial-cluster=a=http://1,b=http://2":                                     "--initial-cluster: there can be one member only",
		"--listen-client-urls=unix://x":                                               "--listen-client-urls: \"unix://x\" is not http[s]://host:port",
		"--listen-client-urls=http://127.0.0.1:0,https://127.0.0.1:0":                 "--listen-client-urls: http and https together are not supported",
		"--listen-client-urls=https://127.0.0.1:0 --cert-file=/none --key-file=/none": "--cert-file, --key-file: open /none: no such file or directory",
		"--auto-compaction-retention=1":                                               "unknown flag: --auto-compaction-retention; see --help",
		"x":                                                                           "unexpected argument \"x\"; see --help",
	} {
		require.EqualError(t, run(strings.Fields(args)), want)
	}
}

// TestKubeAPIServer: our API server works on it, without and with mutual TLS, and continues after a restart
// of it.
func TestKubeAPIServer(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the API server and starts processes")
	}
	dir := t.TempDir()
	binary := buildAPIServer(t, dir)
	ca, err := certs.NewAuthority("etcd")
	require.NoError(t, err)
	serving, err := ca.Serving("127.0.0.1", "127.0.0.1")
	require.NoError(t, err)
	own, err := ca.Client("apiserver")
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"ca.crt": ca.CertPEM(), "s.crt": serving.CertPEM(), "s.key": serving.KeyPEM(), "c.crt": own.CertPEM(), "c.key": own.KeyPEM(),
		"tokens": []byte(`secret,admin,1,"system:masters"` + "\n"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, c := range map[string]struct {
		scheme       string
		etcd, server []string
	}{
		"plain": {scheme: "http"},
		"tls": {
			"https", []string{"--cert-file=" + at("s.crt"), "--key-file=" + at("s.key"), "--trusted-ca-file=" + at("ca.crt"), "--client-cert-auth"},
			[]string{"--etcd-cafile=" + at("ca.crt"), "--etcd-certfile=" + at("c.crt"), "--etcd-keyfile=" + at("c.key")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := storetest.FreeAddress(t)
			launch := func() *exec.Cmd {
				return process(t, os.Args[0], append(c.etcd, "--data-dir="+filepath.Join(dir, name), "--listen-client-urls="+c.scheme+"://"+address)...)
			}
			facade := launch()
			secure := storetest.FreeAddress(t)
			_, port, _ := net.SplitHostPort(secure)
			process(t, binary, append(c.server, "--generate-service-account-key", "--etcd-servers="+c.scheme+"://"+address, "--bind-address=127.0.0.1", "--secure-port="+port,
				"--token-auth-file="+at("tokens"), "--authorization-mode=RBAC")...)
			ask := asker(t, secure)
			ask(http.MethodGet, "/readyz", "", http.StatusOK)
			for i := range 20 {
				ask(http.MethodPost, "/api/v1/namespaces/default/configmaps", fmt.Sprintf(`{"metadata":{"name":"c%d"}}`, i), http.StatusCreated)
			}
			require.Contains(t, ask(http.MethodGet, "/api/v1/namespaces/default/configmaps?limit=5", "", http.StatusOK), `"remainingItemCount"`)
			ask(http.MethodDelete, "/api/v1/namespaces/default/configmaps/c3", "", http.StatusOK)
			require.NoError(t, facade.Process.Kill())
			_ = facade.Wait()
			launch()
			ask(http.MethodPost, "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"after"}}`, http.StatusCreated)
			var list struct{ Items []json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(ask(http.MethodGet, "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name!=kube-root-ca.crt", "", http.StatusOK)), &list))
			require.Len(t, list.Items, 20)
		})
	}
}

// TestHistories: concurrent clients and watchers of two API servers whose storage is killed repeatedly
// receive one consistent history.
func TestHistories(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the API server and starts processes")
	}
	dir := t.TempDir()
	binary := buildAPIServer(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokens"), []byte(`secret,admin,1,"system:masters"`+"\n"), 0o600))
	address := storetest.FreeAddress(t)
	launch := func() *exec.Cmd {
		return process(t, os.Args[0], "--data-dir="+filepath.Join(dir, "data"), "--listen-client-urls=http://"+address)
	}
	facade := launch()
	var conns []client.Conn
	for range 2 {
		secure := storetest.FreeAddress(t)
		_, port, _ := net.SplitHostPort(secure)
		process(t, binary, "--generate-service-account-key", "--etcd-servers=http://"+address, "--bind-address=127.0.0.1", "--secure-port="+port, "--token-auth-file="+filepath.Join(dir, "tokens"), "--authorization-mode=RBAC")
		asker(t, secure)(http.MethodGet, "/readyz", "", http.StatusOK)
		conn, err := rest.New(rest.Config{Host: "https://" + secure, BearerToken: "secret", TLS: rest.TLSConfig{Insecure: true}}, rest.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		conns = append(conns, conn)
	}
	for _, seed := range seeds.Slow(t, 2) {
		recorded := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		var h *clienttest.History
		go func() {
			var err error
			h, err = clienttest.Record(ctx, seed, clienttest.HistoryOptions{
				Calls: -1, Clients: 6, Keys: 4, Watchers: 4, Pause: 5 * time.Millisecond, CallTimeout: 3 * time.Second, Patience: 90 * time.Second,
			}, conns...)
			recorded <- err
		}()
		r := seeds.Rand(seed)
		for range 3 {
			time.Sleep(time.Duration(300+r.IntN(600)) * time.Millisecond) // writes to interrupt
			require.NoError(t, facade.Process.Kill())
			_ = facade.Wait()
			facade = launch()
		}
		time.Sleep(500 * time.Millisecond)
		cancel()
		require.NoError(t, <-recorded, "seed %d", seed)
		require.NoError(t, h.Check(), "seed %d", seed)
		calls, unknown := h.Calls()
		events, streams := h.Events()
		t.Logf("seed %d: %d calls, %d of unknown outcome, %d events in %d streams: all in order", seed, calls, unknown, events, streams)
	}
}

func buildAPIServer(t *testing.T, dir string) string {
	binary := filepath.Join(dir, "kube-apiserver")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/keelson-dev/keelson/examples/kube-apiserver").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// process starts a program that is ended with the test.
func process(t *testing.T, binary string, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	log := &growing{}
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(binary), log.String())
		}
	})
	return cmd
}

// asker returns a function that repeats a request until the response has the wanted code.
func asker(t *testing.T, address string) func(method, path, body string, want int) string {
	front := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	t.Cleanup(front.CloseIdleConnections)
	return func(method, path, body string, want int) string {
		deadline := time.Now().Add(time.Minute)
		for {
			req, err := http.NewRequestWithContext(t.Context(), method, "https://"+address+path, strings.NewReader(body))
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer secret")
			req.Header.Set("Content-Type", "application/json")
			resp, err := front.Do(req)
			text := ""
			if err == nil {
				got, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				if text = string(got); resp.StatusCode == want {
					return text
				}
			}
			require.True(t, time.Now().Before(deadline), "%s %s: %v %s", method, path, err, text)
			time.Sleep(50 * time.Millisecond)
		}
	}
}
