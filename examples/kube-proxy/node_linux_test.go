package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/proxy"
)

// build builds the program.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kube-proxy")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// node is a network namespace in which proxies run, for the Node "here" with address 192.0.2.1. Its loopback
// interface leads to the API server, and has the addresses of two pods, 10.244.0.2 and 10.244.0.3.
type node struct {
	t          *testing.T
	ns         string
	kubeconfig string
}

var nodes atomic.Int32

// newNode makes a namespace, and the Node unless it exists. Without root, or nft and iptables, it skips the
// test, or fails it if CI says that these must be there.
func newNode(t *testing.T, c *controllertest.Cluster) *node {
	t.Helper()
	n := &node{t: t, kubeconfig: c.Kubeconfig()}
	name := fmt.Sprintf("kpx%d-%d", os.Getpid(), nodes.Add(1))
	if why := lacking(name); why != "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("real kernel rules: " + why)
		}
		t.Skip("real kernel rules: " + why)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
	for _, args := range []string{"link set lo up", "addr add 192.0.2.1/32 dev lo", "addr add 10.244.0.2/32 dev lo", "addr add 10.244.0.3/32 dev lo", "route add 10.96.0.0/16 dev lo"} {
		out, err := exec.CommandContext(t.Context(), "ip", strings.Fields("-n "+name+" "+args)...).CombinedOutput()
		require.NoError(t, err, "ip %s: %s", args, out)
	}
	n.ns = "/run/netns/" + name
	if !controllertest.Exists[*corev1.Node](c, "", "here") {
		controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", "here")})
		controllertest.UpdateStatus(c, "", "here", func(n *corev1.Node) {
			n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
		})
	}
	n.forward()
	return n
}

// lacking makes a namespace, or returns what is missing for that.
func lacking(name string) string {
	for _, tool := range []string{"ip", "nsenter", "nft", "iptables-restore"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "needs the program " + tool
		}
	}
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		return "cannot make a network namespace: " + strings.TrimSpace(string(out))
	}
	return ""
}

// forward lets connections to the API server out of the namespace.
func (n *node) forward() {
	data, err := os.ReadFile(n.kubeconfig)
	require.NoError(n.t, err)
	_, port, _ := strings.Cut(string(data), "https://127.0.0.1:")
	server := "127.0.0.1:" + port[:strings.IndexFunc(port, func(r rune) bool { return r < '0' || r > '9' })]
	l := n.listen("tcp", server)
	n.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", server)
			if err != nil {
				from.Close()
				continue
			}
			for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					pair[0].Close()
				}()
			}
		}
	}()
}

func (n *node) listen(network, address string) net.Listener {
	k, err := proxy.NewKernel(n.ns)
	require.NoError(n.t, err)
	l, err := k.Listen(n.t.Context(), network, address)
	require.NoError(n.t, err)
	return l
}

// in runs f on a thread in the namespace.
func (n *node) in(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		ns, err := os.Open(n.ns)
		if err == nil {
			err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
			ns.Close()
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

func (n *node) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = n.in(func() (err error) {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// get requests a URL inside the namespace.
func (n *node) get(url string) (code int, body []byte) {
	tr := &http.Transport{DisableKeepAlives: true, DialContext: n.dial}
	resp, err := (&http.Client{Transport: tr, Timeout: time.Minute}).Get(url)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	body, _ = io.ReadAll(resp.Body)
	return resp.StatusCode, body
}

// running is the process of a proxy.
type running struct {
	*node
	cmd *exec.Cmd
	log log
}

// log is what a process prints.
type log struct {
	mu sync.Mutex
	strings.Builder
}

// Write implements io.Writer.
func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(b)
}

// String implements fmt.Stringer.
func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.String()
}

// start starts a proxy, with lines of configuration besides those that all have.
func (n *node) start(program, config string) *running {
	n.t.Helper()
	path := write(n.t, config+"clientConnection: {kubeconfig: "+n.kubeconfig+`}
clusterCIDR: 10.244.0.0/16
hostnameOverride: here
bindAddress: 192.0.2.1
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`)
	p := &running{node: n, cmd: exec.Command("nsenter", "--net="+n.ns, "--", program, "--config="+path)}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	require.NoError(n.t, p.cmd.Start())
	n.t.Cleanup(func() { p.end(syscall.SIGKILL) })
	return p
}

// run starts a proxy and waits until it has written its rules.
func (n *node) run(program, config string) *running {
	n.t.Helper()
	p := n.start(program, config)
	healthy := func() bool { code, _ := n.get("http://127.0.0.1:10256/healthz"); return code == http.StatusOK }
	require.Eventually(n.t, healthy, patience, 20*time.Millisecond)
	return p
}

// end sends a signal and waits for the end of the process.
func (p *running) end(s os.Signal) {
	_ = p.cmd.Process.Signal(s)
	_ = p.cmd.Wait()
}
