package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keelson-dev/keelson/controllers/proxy"
)

// rig is a small network in namespaces of its own: a node with three pods on a bridge, and a client outside.
//
//	client 192.0.2.2 --- 192.0.2.1 node 10.244.0.1 (bridge) --- pods 10.244.0.2, .3, .4
//	       2001:db8::2 --- ::1          fd00:244::1                  fd00:244::2, ::3, ::4
type rig struct {
	t            *testing.T
	prefix       string
	node, client string // paths of namespaces
	pods         []string
	kernel       proxy.Kernel
}

var rigs atomic.Int32

// patience is how long an answer is waited for that must come, however busy the machine is. silence is how
// long none must come where packets are dropped.
const (
	patience = time.Minute
	silence  = 300 * time.Millisecond
)

// needRoot skips where rules cannot be written, and fails there if CI says that it must work.
func needRoot(t *testing.T, tools ...string) {
	t.Helper()
	why := ""
	if os.Getuid() != 0 {
		why = "needs root to make network namespaces"
	}
	for _, tool := range append(tools, "ip", "nsenter") {
		if _, err := exec.LookPath(tool); err != nil {
			why = "needs the program " + tool
		}
	}
	if why == "" {
		name := fmt.Sprintf("kpt%d-%d", os.Getpid(), rigs.Add(1))
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			why = "cannot make a network namespace: " + strings.TrimSpace(string(out))
		} else {
			_ = exec.Command("ip", "netns", "del", name).Run()
		}
	}
	if why == "" {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("real kernel rules: " + why)
	}
	t.Skip("real kernel rules: " + why)
}

func newRig(t *testing.T, tools ...string) *rig {
	t.Helper()
	needRoot(t, tools...)
	r := &rig{t: t, prefix: fmt.Sprintf("kp%d-%d", os.Getpid(), rigs.Add(1))}
	add := func(name string) string {
		full := r.prefix + "-" + name
		r.ip("netns add " + full)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", full).Run() })
		r.ip(fmt.Sprintf("-n %s link set lo up", full))
		k, err := proxy.NewKernel("/run/netns/" + full)
		require.NoError(t, err)
		// Duplicate address detection would keep IPv6 from working for a second.
		// The kernel sends one host six refusals at once, then one a second: others would look like drops.
		for _, s := range []string{"ipv6/conf/all/accept_dad", "ipv6/conf/default/accept_dad", "ipv4/icmp_ratelimit", "ipv6/icmp/ratelimit"} {
			require.NoError(t, k.SetSysctl("net/"+s, "0"))
		}
		return full
	}
	node, client := add("node"), add("client")
	r.node, r.client = "/run/netns/"+node, "/run/netns/"+client
	in := func(ns string, commands ...string) {
		cmd := exec.Command("ip", "-n", ns, "-batch", "-")
		cmd.Stdin = strings.NewReader(strings.Join(commands, "\n"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	in(node, "link add br0 type bridge", "addr add 10.244.0.1/16 dev br0", "addr add fd00:244::1/64 dev br0 nodad", "link set br0 up",
		"link add out type veth peer name eth0 netns "+client, "addr add 192.0.2.1/24 dev out", "addr add 2001:db8::1/64 dev out nodad", "link set out up",
		// Addresses without a rule must lead somewhere, so that what happens to them can be seen, and not
		// back to where the packet came from: the sender would receive a redirect before the packet is
		// refused.
		"link add sky0 type veth peer name sky1", "link set sky0 up", "link set sky1 up", "route add default dev sky0", "route add ::/0 dev sky0")
	in(client, "addr add 192.0.2.2/24 dev eth0", "addr add 192.0.2.3/24 dev eth0", "addr add 2001:db8::2/64 dev eth0 nodad", "link set eth0 up",
		"route add default via 192.0.2.1", "route add ::/0 via 2001:db8::1")
	for i := range 3 {
		pod := add(fmt.Sprintf("pod%d", i))
		r.pods = append(r.pods, "/run/netns/"+pod)
		in(node, fmt.Sprintf("link add pod%d type veth peer name eth0 netns %s", i, pod), fmt.Sprintf("link set pod%d master br0", i),
			fmt.Sprintf("link set pod%d type bridge_slave hairpin on", i), fmt.Sprintf("link set pod%d up", i))
		in(pod, fmt.Sprintf("addr add %s/16 dev eth0", podIP(i)), fmt.Sprintf("addr add fd00:244::%d/64 dev eth0 nodad", i+2), "link set eth0 up",
			"route add default via 10.244.0.1", "route add ::/0 via fd00:244::1")
	}
	k, err := proxy.NewKernel(r.node)
	require.NoError(t, err)
	r.kernel = k
	for _, s := range []string{"net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding", "net/bridge/bridge-nf-call-iptables", "net/bridge/bridge-nf-call-ip6tables"} {
		require.NoError(t, k.SetSysctl(s, "1"))
	}
	r.waitForLinks()
	return r
}

// waitForLinks returns when the node can be reached from everywhere: a link drops packets until the kernel
// has noticed that its other end is up, which takes a while on a busy machine.
func (r *rig) waitForLinks() {
	r.t.Helper()
	for ns, addrs := range map[string][]string{r.client: {"192.0.2.1", "2001:db8::1"}, r.pods[0]: nil, r.pods[1]: nil, r.pods[2]: nil} {
		if addrs == nil {
			addrs = []string{"10.244.0.1", "fd00:244::1"}
		}
		for _, a := range addrs {
			to := net.JoinHostPort(a, "9") // which has no listener
			eventually(r.t, func() bool { return r.callFor(silence, ns, "udp", to, "").refused() }, "%s does not reach %s", ns, to)
		}
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, holds func() bool, message string, args ...any) {
	t.Helper()
	tick, end := time.NewTicker(20*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf(message, args...)
		}
	}
}

func (r *rig) ip(args string) {
	r.t.Helper()
	out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
	require.NoError(r.t, err, "ip %s: %s", args, out)
}

// in runs f on a thread in a namespace.
func in(t *testing.T, ns string, f func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		fd, err := unix.Open(ns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
			_ = unix.Close(fd)
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	require.NoError(t, <-done)
}

// serve answers every TCP connection and UDP packet at a port of a namespace with "name client-address".
func (r *rig) serve(ns, name string, port int) {
	r.t.Helper()
	var l net.Listener
	var c *net.UDPConn
	in(r.t, ns, func() {
		var err error
		l, err = net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err == nil {
			c, err = net.ListenUDP("udp", &net.UDPAddr{Port: port})
		}
		if err != nil {
			r.t.Error(err)
		}
	})
	require.NotNil(r.t, c)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintf(conn, "%s %s\n", name, host(conn.RemoteAddr()))
			conn.Close()
		}
	})
	wg.Go(func() {
		buf := make([]byte, 100)
		for {
			_, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteToUDPAddrPort(fmt.Appendf(nil, "%s %s\n", name, from.Addr().Unmap()), from)
		}
	})
	r.t.Cleanup(func() { l.Close(); c.Close(); wg.Wait() })
}

// echo answers all that it is sent at a port of a namespace, over TCP and UDP, with its number behind it.
func (r *rig) echo(ns string, port, number int) {
	r.t.Helper()
	var l net.Listener
	var c *net.UDPConn
	in(r.t, ns, func() {
		var err error
		if l, err = net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			c, err = net.ListenUDP("udp", &net.UDPAddr{Port: port})
		}
		if err != nil {
			r.t.Error(err)
		}
	})
	require.NotNil(r.t, c)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.t.Cleanup(func() { conn.Close() })
			wg.Go(func() {
				buf := make([]byte, 100)
				for {
					n, err := conn.Read(buf)
					if err != nil {
						return
					}
					_, _ = conn.Write(fmt.Appendf(nil, "%s%d", buf[:n], number))
				}
			})
		}
	})
	wg.Go(func() {
		buf := make([]byte, 100)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteToUDPAddrPort(fmt.Appendf(nil, "%s%d", buf[:n], number), from)
		}
	})
	r.t.Cleanup(func() { l.Close(); c.Close() })
}

func host(a net.Addr) string {
	h, _, _ := net.SplitHostPort(a.String())
	return netip.MustParseAddr(h).Unmap().String()
}

// answer is what became of a connection.
type answer struct {
	server, seen string // who answered, and the client's address as it saw it
	err          error
}

// refused also takes what the kernel says of a UDP packet that is rejected where it is sent.
func (a answer) refused() bool {
	return errors.Is(a.err, syscall.ECONNREFUSED) || errors.Is(a.err, syscall.EPERM)
}

// call connects from a namespace and returns who answers. from may be a local address to use.
func (r *rig) call(ns, network, to, from string) answer {
	r.t.Helper()
	return r.callFor(patience, ns, network, to, from)
}

// lost reports whether a connection is neither answered nor refused.
func (r *rig) lost(ns, network, to, from string) bool {
	r.t.Helper()
	a := r.callFor(silence, ns, network, to, from)
	return a.err != nil && !a.refused()
}

func (r *rig) callFor(d time.Duration, ns, network, to, from string) (a answer) {
	r.t.Helper()
	in(r.t, ns, func() {
		dialer := net.Dialer{Timeout: d}
		if from != "" {
			if network == "tcp" {
				dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
			} else {
				dialer.LocalAddr = &net.UDPAddr{IP: net.ParseIP(from)}
			}
		}
		c, err := dialer.DialContext(context.Background(), network, to)
		if err != nil {
			a.err = err
			return
		}
		defer c.Close()
		a = ask(c, d)
	})
	return a
}

// ask waits for an answer on a connection for so long.
func ask(c net.Conn, d time.Duration) (a answer) {
	_ = c.SetDeadline(time.Now().Add(d))
	if c.RemoteAddr().Network() == "udp" {
		if _, a.err = io.WriteString(c, "?"); a.err != nil {
			return a
		}
	}
	var line string
	line, a.err = bufio.NewReader(c).ReadString('\n')
	a.server, a.seen, _ = strings.Cut(strings.TrimSpace(line), " ")
	return a
}

// servers calls n times and returns who answered how often.
func (r *rig) servers(ns, network, to string, n int) map[string]int {
	r.t.Helper()
	out := map[string]int{}
	for range n {
		a := r.call(ns, network, to, "")
		require.NoError(r.t, a.err, "%s %s", network, to)
		out[a.server]++
	}
	return out
}
