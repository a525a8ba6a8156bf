package nodestream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// processes is a backend that runs commands on this machine.
type processes struct{ echo }

func (processes) Exec(ctx context.Context, s *Session) (int, error) {
	if s.TTY { // there is no terminal here
		size := <-s.Resize
		_, err := fmt.Fprintf(s.Stdout, "%dx%d", size.Width, size.Height)
		return 0, err
	}
	c := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = s.Stdin, s.Stdout, s.Stderr
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func (p processes) Attach(ctx context.Context, s *Session) (int, error) {
	s.Command = []string{"sh", "-c", "cat; echo end of input >&2"}
	return p.Exec(ctx, s)
}

// upgrades records what has been asked for.
type upgrades struct {
	http.Handler
	mu    sync.Mutex
	asked map[string]bool
}

func (u *upgrades) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if to := r.Header.Get("Upgrade"); to != "" {
		u.mu.Lock()
		u.asked[to] = true
		u.mu.Unlock()
	}
	u.Handler.ServeHTTP(w, r)
}

// since are the upgrades since the last call, in order of their names.
func (u *upgrades) since() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := slices.Sorted(maps.Keys(u.asked))
	clear(u.asked)
	return strings.Join(out, " ")
}

func recorded(t *testing.T, h http.Handler) (*upgrades, *httptest.Server) {
	u := &upgrades{Handler: h, asked: map[string]bool{}}
	s := httptest.NewServer(u)
	t.Cleanup(s.Close)
	return u, s
}

// kubectls are the versions that lie beside the kubectl on PATH, else that one, by their minor version.
// Without one the test is skipped, but not in CI.
func kubectls(t *testing.T) map[int]string {
	found, err := exec.LookPath("kubectl")
	if err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must have kubectl")
		t.Skip("kubectl is not installed: its streams are not tried")
	}
	if testing.Short() {
		t.Skip("kubectl takes some seconds")
	}
	resolved, err := filepath.EvalSymlinks(found)
	require.NoError(t, err)
	beside, err := filepath.Glob(filepath.Join(filepath.Dir(resolved), "kubectl.1.*"))
	require.NoError(t, err)
	if len(beside) == 0 {
		beside = []string{found}
	}
	out := map[int]string{}
	for _, path := range beside {
		b, err := exec.CommandContext(t.Context(), path, "version", "--client", "-o", "json").Output()
		require.NoError(t, err)
		var v struct{ ClientVersion struct{ Minor string } }
		require.NoError(t, json.Unmarshal(b, &v))
		minor, err := strconv.Atoi(strings.TrimRight(v.ClientVersion.Minor, "+"))
		require.NoError(t, err)
		out[minor] = path
	}
	return out
}

// kubectl is a version of it with a pod p on a node n.
type kubectl struct {
	path, server, home, webSockets string
	clients, node                  *upgrades
}

func (k *kubectl) command(t *testing.T, args ...string) *exec.Cmd {
	c := exec.CommandContext(within(t), k.path, append([]string{"--server=" + k.server, "--cache-dir=" + k.home}, args...)...)
	c.Env = append(os.Environ(), "HOME="+k.home, "KUBECONFIG="+filepath.Join(k.home, "none"),
		"KUBECTL_REMOTE_COMMAND_WEBSOCKETS="+k.webSockets, "KUBECTL_PORT_FORWARD_WEBSOCKETS="+k.webSockets)
	return c
}

// run returns the outputs and the exit code of a command. Over WebSockets kubectl before 1.36 loses what
// arrives before it has made its streams, so that a process has to wait for its input where it matters.
func (k *kubectl) run(t *testing.T, stdin []byte, args ...string) (stdout []byte, stderr string, code int) {
	var out, errOut bytes.Buffer
	c := k.command(t, args...)
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(stdin), &out, &errOut
	err := c.Run()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit)
	}
	return out.Bytes(), errOut.String(), c.ProcessState.ExitCode()
}

// sees checks what the API server and the node have been asked for.
func (k *kubectl) sees(t *testing.T, atServer, atNode string) {
	t.Helper()
	require.Equal(t, []string{atServer, atNode}, []string{k.clients.since(), k.node.since()}, "upgrades at the server and at the node")
}

// mebibyte is 1 MiB without a pattern.
func mebibyte() []byte {
	b := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

// processes runs processes with input.
func (k *kubectl) processes(t *testing.T) {
	input := mebibyte()
	out, errOut, code := k.run(t, input, "exec", "-i", "p", "--", "sh", "-c", "cat; echo to stderr >&2; exit 3")
	require.Equal(t, 3, code, errOut)
	require.True(t, bytes.Equal(input, out), "%d bytes", len(out))
	require.Contains(t, errOut, "to stderr\n")
	require.Contains(t, errOut, "exit code 3")

	out, errOut, code = k.run(t, input, "attach", "-i", "p", "-c", "c")
	require.Zero(t, code, errOut)
	require.True(t, bytes.Equal(input, out), "%d bytes", len(out))
	require.Contains(t, errOut, "end of input\n")

	from, to := filepath.Join(t.TempDir(), "file"), t.TempDir()
	require.NoError(t, os.WriteFile(from, input, 0o600))
	_, errOut, code = k.run(t, nil, "cp", from, "p:"+to)
	require.Zero(t, code, errOut)
	there, err := os.ReadFile(filepath.Join(to, "file"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(input, there), "%d bytes", len(there))
}

// download copies a file from the pod. The program that sends it has no input.
func (k *kubectl) download(t *testing.T) {
	input, dir := mebibyte(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "there"), input, 0o600))
	_, errOut, code := k.run(t, nil, "cp", "p:"+filepath.Join(dir, "there"), filepath.Join(dir, "here"))
	require.Zero(t, code, errOut)
	here, err := os.ReadFile(filepath.Join(dir, "here"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(input, here), "%d bytes", len(here))
}

// ports forwards a port that answers, and then one that does not, which is an error.
func (k *kubectl) ports(t *testing.T) {
	c := k.command(t, "port-forward", "p", ":80", ":1")
	stdout, err := c.StdoutPipe()
	require.NoError(t, err)
	stderr, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	addresses := regexp.MustCompile(`(?s)from (127\.0\.0\.1:\d+) -> 80\n.*from (127\.0\.0\.1:\d+) -> 1\n`)
	local := readUntil(t, stdout, addresses)
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	ask := func(address string, b []byte) []byte {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.Write(b)
		require.NoError(t, err)
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
		answer, _ := io.ReadAll(conn) // a refused one is reset
		return answer
	}
	input := mebibyte()
	answer := ask(local[1], input)
	require.True(t, bytes.Equal(append([]byte("80:"), input...), answer), "%d bytes", len(answer))
	require.Empty(t, ask(local[2], nil))
	readUntil(t, stderr, regexp.MustCompile(`forwarding \d+ -> 1: error forwarding port 1 to pod p: nobody listens`))
}

// readUntil reads until all that has been read matches, and returns what the groups are.
func readUntil(t *testing.T, r io.Reader, pattern *regexp.Regexp) []string {
	var all []byte
	b := make([]byte, 4096)
	for {
		n, err := r.Read(b)
		all = append(all, b[:n]...)
		if m := pattern.FindSubmatch(all); m != nil {
			out := make([]string, len(m))
			for i := range m {
				out[i] = string(m[i])
			}
			return out
		}
		require.NoError(t, err, "%s", all)
	}
}

// kubectlSite is an API server with a node, for all versions of kubectl.
type kubectlSite struct {
	versions      map[int]string
	minors        []int // in order
	server        string
	clients, node *upgrades
	// declare makes the node serve WebSockets, and say so.
	declare func()
}

func startKubectlSite(t *testing.T) *kubectlSite {
	site := &kubectlSite{versions: kubectls(t)}
	site.minors = slices.Sorted(maps.Keys(site.versions))
	handler := NewHandler(processes{}, Options{})
	var declared atomic.Bool
	node, nodeServer := recorded(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !declared.Load() && r.Header.Get("Upgrade") == "websocket" {
			http.Error(w, "SPDY only", http.StatusBadRequest)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	s, declare := besideNode(t, apiserver.Options{Nodes: withoutTLS{}}, nodeServer.URL)
	clients, front := recorded(t, s)
	site.server, site.clients, site.node = front.URL, clients, node
	site.declare = func() {
		declared.Store(true)
		declare("ExtendWebSocketsToKubelet")
	}
	return site
}

// kubectl is a version that uses WebSockets or not, if it has the choice.
func (s *kubectlSite) kubectl(t *testing.T, minor int, webSockets bool) *kubectl {
	return &kubectl{path: s.versions[minor], server: s.server, home: t.TempDir(), webSockets: strconv.FormatBool(webSockets), clients: s.clients, node: s.node}
}

// each runs a test with every version.
func (s *kubectlSite) each(t *testing.T, f func(t *testing.T, minor int, k *kubectl)) {
	for _, minor := range s.minors {
		t.Run("1."+strconv.Itoa(minor), func(t *testing.T) { f(t, minor, s.kubectl(t, minor, true)) })
	}
}

// spoken is what a version speaks if its WebSockets began with another one.
func spoken(minor, since int) string {
	if minor < since {
		return "SPDY/3.1"
	}
	return "websocket"
}

// TestKubectl: the streams of kubectl work with a node that refuses WebSockets, whatever it speaks to the API
// server, and are WebSockets up to the node if that declares them.
func TestKubectl(t *testing.T) {
	s := startKubectlSite(t)
	s.each(t, func(t *testing.T, minor int, k *kubectl) {
		k.processes(t)
		k.sees(t, spoken(minor, 29), "SPDY/3.1")
		k.ports(t)
		k.sees(t, spoken(minor, 30), "SPDY/3.1")
	})
	newest := s.minors[len(s.minors)-1]
	t.Run("SPDY", func(t *testing.T) {
		k := s.kubectl(t, newest, false)
		k.processes(t)
		k.download(t)
		k.ports(t)
		k.sees(t, "SPDY/3.1", "SPDY/3.1")
	})
	t.Run("declared", func(t *testing.T) {
		if newest < 30 {
			t.Skip("kubectl before 1.30 speaks SPDY")
		}
		s.declare()
		k := s.kubectl(t, newest, true)
		k.processes(t)
		k.ports(t)
		k.sees(t, "websocket", "websocket")
	})
}
