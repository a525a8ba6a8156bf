package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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
)

// asServer makes this test's binary run main with its arguments, so that tests can start servers as
// processes.
const asServer = "KEELSON_TEST_AS_KUBE_APISERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	if beFloor() {
		return
	}
	os.Exit(m.Run())
}

// TestFaults runs random clients and watchers against two API servers over three etcd members while members
// and servers are killed, paused and disconnected from the network, and checks all they received. Every
// process has its own network namespace; the test runs in another one, in a second run of its binary.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("faults of real processes: -short")
	}
	if os.Getenv("KEELSON_TEST_NETNS") != "" {
		testFaults(t)
		return
	}
	skip := func(why string) {
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI must run this: %s", why)
		}
		t.Skipf("faults of real processes: %s", why)
	}
	for _, name := range []string{"ip", "nsenter", etcdBinary()} {
		if _, err := exec.LookPath(name); err != nil {
			skip(name + " is not installed")
		}
	}
	prefix := fmt.Sprintf("keelson%d-", os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", prefix+"switch").CombinedOutput(); err != nil {
		skip("no network namespace: " + strings.TrimSpace(string(out)))
	}
	defer remove(prefix + "switch")
	ip(t, "-n", prefix+"switch", "link", "add", "br0", "type", "bridge")
	ip(t, "-n", prefix+"switch", "link", "set", "br0", "up")
	for i, host := range hosts {
		name := prefix + host
		ip(t, "netns", "add", name)
		defer remove(name)
		ip(t, "-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", host, "netns", prefix+"switch")
		ip(t, "-n", name, "addr", "add", address(i)+"/24", "dev", "eth0")
		ip(t, "-n", name, "link", "set", "lo", "up")
		ip(t, "-n", name, "link", "set", "eth0", "up")
		ip(t, "-n", prefix+"switch", "link", "set", host, "master", "br0", "up")
	}
	cmd := exec.CommandContext(t.Context(), "nsenter", "--net=/run/netns/"+prefix+"tester", os.Args[0], "-test.run=^TestFaults$", "-test.v", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), "KEELSON_TEST_NETNS="+prefix)
	out, err := cmd.CombinedOutput()
	if err != nil || testing.Verbose() {
		t.Logf("%s", out)
	}
	require.NoError(t, err, "in the namespace")
}

// etcdBinary returns the etcd of the tests, as storetest.StartEtcd selects it.
func etcdBinary() string { return cmp.Or(os.Getenv("KEELSON_ETCD"), "etcd") }

// hosts are the network namespaces, each with the address of its place in the list.
var hosts = []string{"etcd0", "etcd1", "etcd2", "api0", "api1", "tester"}

func address(host int) string { return fmt.Sprintf("10.99.0.%d", host+1) }

// remove ends the processes in a namespace and removes the namespace.
func remove(name string) {
	left, _ := exec.Command("ip", "netns", "pids", name).Output()
	for _, pid := range strings.Fields(string(left)) {
		_ = exec.Command("kill", "-KILL", pid).Run()
	}
	_ = exec.Command("ip", "netns", "delete", name).Run()
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	require.NoError(t, err, "ip %v: %s", args, out)
}

// cluster is three etcd members and two API servers, each a process in its own network namespace.
type cluster struct {
	t       *testing.T
	prefix  string
	dir     string
	running map[string]*exec.Cmd
}

func testFaults(t *testing.T) {
	c := &cluster{t: t, prefix: os.Getenv("KEELSON_TEST_NETNS"), dir: t.TempDir(), running: map[string]*exec.Cmd{}}
	defer c.stop()
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "tokens"), []byte(`secret,admin,1,"system:masters"`+"\n"), 0o600))
	for _, host := range hosts[:5] {
		c.start(host)
	}
	var conns []client.Conn
	var others sync.WaitGroup
	defer others.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for i := range 2 {
		cfg := rest.Config{Host: "https://" + address(3+i) + ":6443", BearerToken: "secret", TLS: rest.TLSConfig{Insecure: true}}
		others.Go(func() { clienttest.Reset(ctx, uint64(i), -1, cfg) })
		conn, err := rest.New(cfg, rest.Options{})
		require.NoError(t, err)
		defer conn.Close()
		conns = append(conns, conn)
		c.awaitReady(conn)
	}
	for _, seed := range seeds.Slow(t, 2) {
		c.history(seed, conns)
	}
}

func (c *cluster) awaitReady(conn client.Conn) {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	retry := time.NewTicker(50 * time.Millisecond)
	defer retry.Stop()
	for {
		_, err := conn.Do(ctx, &client.Request{Path: "/readyz"})
		if err == nil {
			return
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			require.NoError(c.t, err, c.logs())
		}
	}
}

// history records and checks one history: faults are injected for some seconds, then all are repaired.
func (c *cluster) history(seed uint64, conns []client.Conn) {
	ctx, cancel := context.WithCancel(c.t.Context())
	faults := make(chan []string, 1)
	go func() {
		defer cancel()
		faults <- c.trouble(seeds.Rand(seed))
	}()
	h, err := clienttest.Record(ctx, seed, clienttest.HistoryOptions{
		Calls: -1, Clients: 6, Keys: 6, Watchers: 4, Pause: 20 * time.Millisecond, CallTimeout: 3 * time.Second, Patience: 90 * time.Second,
	}, conns...)
	happened := strings.Join(<-faults, ", ")
	require.NoError(c.t, err, "seed %d after %s\n%s", seed, happened, c.logs())
	require.NoError(c.t, h.Check(), "seed %d after %s", seed, happened)
	calls, unknown := h.Calls()
	events, streams := h.Events()
	c.t.Logf("seed %d: %s: %d calls, %d of unknown outcome, %d events in %d streams: all in order", seed, happened, calls, unknown, events, streams)
}

// trouble injects some faults, one after the other, and repairs each. It must not fail the test, because it
// runs in another goroutine.
func (c *cluster) trouble(r *rand.Rand) []string {
	var done []string
	rest := func(least, most int) { time.Sleep(time.Duration(least+r.IntN(most-least)) * time.Millisecond) }
	for range 3 {
		rest(300, 900)
		host := hosts[r.IntN(5)]
		switch fault := r.IntN(3); fault {
		case 0:
			done = append(done, "kill "+host)
			c.kill(host)
			rest(100, 1000)
			c.start(host)
		case 1:
			done = append(done, "pause "+host)
			_ = c.running[host].Process.Signal(syscall.SIGSTOP)
			rest(300, 2500)
			_ = c.running[host].Process.Signal(syscall.SIGCONT)
		case 2:
			done = append(done, "cut off "+host)
			c.link(host, "down")
			rest(300, 2500)
			c.link(host, "up")
		}
	}
	rest(500, 1000)
	return done
}

func (c *cluster) link(host, state string) {
	if out, err := exec.Command("ip", "-n", c.prefix+"switch", "link", "set", host, state).CombinedOutput(); err != nil {
		c.t.Errorf("link %s %s: %v: %s", host, state, err, out)
	}
}

// start runs the host's process, after a kill with the same data.
func (c *cluster) start(host string) {
	var i int
	_, _ = fmt.Sscanf(strings.TrimLeft(host, "etcdapi"), "%d", &i)
	cmd := exec.Command("nsenter", append([]string{"--net=/run/netns/" + c.prefix + host}, c.command(host, i)...)...)
	cmd.Env = append(os.Environ(), asServer+"=1")
	log, err := os.OpenFile(filepath.Join(c.dir, host+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		defer log.Close()
		cmd.Stdout, cmd.Stderr = log, log
		err = cmd.Start()
	}
	if err != nil {
		c.t.Errorf("start %s: %v", host, err)
	}
	c.running[host] = cmd
}

func (c *cluster) command(host string, i int) []string {
	if strings.HasPrefix(host, "api") {
		var etcds []string
		for m := range 3 {
			etcds = append(etcds, "http://"+address(m)+":2379")
		}
		return []string{
			os.Args[0], "--generate-service-account-key", "--etcd-servers=" + strings.Join(etcds, ","), "--bind-address=" + address(3+i), "--token-auth-file=" + filepath.Join(c.dir, "tokens"),
			"--authorization-mode=RBAC", "--service-cluster-ip-range=10.98.0.0/16", "--cert-dir=" + filepath.Join(c.dir, host), "--request-timeout=5s",
		}
	}
	var members []string
	for m := range 3 {
		members = append(members, fmt.Sprintf("etcd%d=http://%s:2380", m, address(m)))
	}
	me := "http://" + address(i)
	return []string{
		etcdBinary(), "--name=" + host, "--data-dir=" + filepath.Join(c.dir, host), "--listen-client-urls=" + me + ":2379", "--advertise-client-urls=" + me + ":2379",
		"--listen-peer-urls=" + me + ":2380", "--initial-advertise-peer-urls=" + me + ":2380", "--initial-cluster=" + strings.Join(members, ","),
		"--heartbeat-interval=50", "--election-timeout=500",
	}
}

func (c *cluster) kill(host string) {
	cmd := c.running[host]
	if cmd == nil || cmd.Process == nil {
		return
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func (c *cluster) stop() {
	for host := range c.running {
		c.kill(host)
	}
}

// logs returns the ends of the processes' logs.
func (c *cluster) logs() string {
	var all strings.Builder
	for _, host := range hosts[:5] {
		data, err := os.ReadFile(filepath.Join(c.dir, host+".log"))
		if err != nil {
			continue
		}
		fmt.Fprintf(&all, "-- the end of %s.log:\n%s\n", host, data[max(0, len(data)-1500):])
	}
	return all.String()
}
