package proxy_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
)

// stream is a connection that a client keeps busy: as soon as an answer comes, it sends again.
type stream struct {
	conn     net.Conn
	stopping atomic.Bool
	done     chan struct{}
	n        int // answers
	err      error
}

// stream connects to the echo servers behind an address. All answers must come from the same one.
func (r *rig) stream(ns, network, to string) *stream {
	r.t.Helper()
	s := &stream{done: make(chan struct{})}
	in(r.t, ns, func() { s.conn, s.err = net.DialTimeout(network, to, patience) })
	require.NoError(r.t, s.err)
	go func() {
		defer close(s.done)
		defer s.conn.Close()
		buf, want := make([]byte, 16), ""
		for !s.stopping.Load() {
			_ = s.conn.SetDeadline(time.Now().Add(patience))
			n := 0
			if _, s.err = s.conn.Write([]byte("ping")); s.err == nil {
				n, s.err = s.conn.Read(buf)
			}
			if s.err != nil {
				return
			}
			if s.n == 0 {
				want = string(buf[:n])
			}
			if got := string(buf[:n]); got != want {
				s.err = fmt.Errorf("answer %q after %d times %q", got, s.n, want)
				return
			}
			s.n++
		}
	}()
	return s
}

// streams are busy connections over TCP and UDP, from outside and from a pod, to a cluster IP and a node
// port.
func (r *rig) streams(clusterIP, nodePort string) (out []*stream) {
	r.t.Helper()
	for _, ns := range []string{r.client, r.pods[2]} {
		for _, to := range []string{clusterIP, nodePort} {
			for _, network := range []string{"tcp", "udp"} {
				out = append(out, r.stream(ns, network, to))
			}
		}
	}
	return out
}

// unbroken ends streams. None may have lost an answer or moved to another endpoint.
func unbroken(t *testing.T, streams []*stream) {
	t.Helper()
	total := 0
	for _, s := range streams {
		s.stopping.Store(true)
		<-s.done
		require.NoError(t, s.err, "%s %s after %d answers", s.conn.RemoteAddr().Network(), s.conn.RemoteAddr(), s.n)
		require.NotZero(t, s.n)
		total += s.n
	}
	t.Logf("%d streams: %d answers, none lost", len(streams), total)
}

// The environment of a process that TestRealKill kills.
const (
	killNetNS = "KEELSON_TEST_PROXY_NETNS"
	killMode  = "KEELSON_TEST_PROXY_MODE"
)

// TestRealKill kills a process that writes changes without end: streams continue, new connections to Services
// that do not change are answered all the time, and what the next process writes is complete.
func TestRealKill(t *testing.T) {
	if ns := os.Getenv(killNetNS); ns != "" {
		writeForever(t, ns, proxy.Mode(os.Getenv(killMode)))
		return
	}
	eachMode(t, func(t *testing.T, mode proxy.Mode, r *rig) {
		for i, ns := range r.pods {
			r.echo(ns, proxytest.TargetPort+1, i)
		}
		ap := newApplied(t, mode, r, proxy.IPv4)
		setLasting(ap.table)
		require.NoError(t, ap.b.Write(t.Context(), ap.table.All()))
		streams := r.streams("10.96.0.40:90", "192.0.2.1:30090")
		for round := range 4 {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRealKill$", "-test.v")
			cmd.Env = append(os.Environ(), killNetNS+"="+r.node, killMode+"="+string(mode))
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			// Another number of writes each time, so that the point of the kill differs.
			lines, writes := bufio.NewScanner(out), 0
			for writes < 2+round && lines.Scan() {
				if lines.Text() == "written" {
					writes++
				}
			}
			for range 3 {
				for _, network := range []string{"tcp", "udp"} {
					require.NoError(t, r.call(r.client, network, "192.0.2.1:30091", "").err)
					require.NoError(t, r.call(r.pods[2], network, "10.96.0.41:80", "").err)
				}
			}
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			require.Equal(t, 2+round, writes, "the process has ended by itself: %v", lines.Err())
			require.Len(t, r.servers(r.client, "tcp", "192.0.2.1:30091", 24), 2)
		}
		unbroken(t, streams)
		ap.restart(t)
		setLasting(ap.table)
		require.NoError(t, ap.b.Write(t.Context(), ap.table.All()))
		require.NotContains(t, ap.dump(t), "churn")
		require.Len(t, r.servers(r.pods[2], "tcp", "10.96.0.41:80", 24), 2)
	})
}

// setLasting puts the Services into a table that do not change: one of echo servers and one of servers.
func setLasting(table *proxy.Table) {
	nodePort := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }
	echo := proxytest.Service("echo", "10.96.0.40", nodePort, proxytest.Port("t", tcp, 90, 30090), proxytest.Port("u", udp, 90, 30090))
	slice := proxytest.Slice(echo, discoveryv1.AddressTypeIPv4, here(0), here(1))
	for i := range slice.Ports {
		slice.Ports[i].Port = new(int32(proxytest.TargetPort + 1))
	}
	table.Set(types.NamespacedName{Namespace: "ns", Name: "echo"}, echo, []*discoveryv1.EndpointSlice{slice})
	proxytest.Set(table, proxytest.Service("web", "10.96.0.41", nodePort, proxytest.Port("t", tcp, 80, 30091), proxytest.Port("u", udp, 80, 30091)), here(0), here(1))
}

// writeForever starts as a proxy does, with everything, and then writes changes of other Services until the
// process is killed.
func writeForever(t *testing.T, ns string, mode proxy.Mode) {
	k, err := proxy.NewKernel(ns)
	require.NoError(t, err)
	ap := &applied{rig: &rig{t: t, node: ns, kernel: k}, mode: mode, family: proxy.IPv4}
	ap.restart(t)
	setLasting(ap.table)
	d := ap.table.All()
	ap.table.Take()
	for i := 0; ; i++ {
		require.NoError(t, ap.b.Write(t.Context(), d))
		fmt.Println("written")
		name := "churn" + strconv.Itoa(i%20)
		if i%3 == 2 {
			ap.table.Set(types.NamespacedName{Namespace: "ns", Name: name}, nil, nil)
		} else {
			proxytest.Set(ap.table, proxytest.Service(name, fmt.Sprintf("10.96.1.%d", i%20+1), nil, proxytest.Port("t", tcp, 80, 0)), here(i%3))
		}
		if d = ap.table.Take(); d.Empty() {
			proxytest.Set(ap.table, proxytest.Service("churn", "10.96.2.1", nil, proxytest.Port("t", tcp, 80, 0)), here(i%2))
			d = ap.table.Take()
		}
	}
}
