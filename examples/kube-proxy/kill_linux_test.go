package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/proxy"
	"github.com/keelson-dev/keelson/controllers/proxytest"
)

// patience is how long an answer is waited for that must come, however busy the machine is.
const patience = time.Minute

const echoAddress = "10.96.0.40:90"

// TestKilledWhileItWrites kills the whole program again and again, a random time after its start, while other
// Services come, change and go without end. Established TCP connections and UDP flows lose nothing, a Service
// that does not change accepts connections all the time, and in the end the rules are those of the Services
// there are.
func TestKilledWhileItWrites(t *testing.T) {
	program := build(t)
	for _, mode := range []proxy.Mode{proxy.NFTables, proxy.IPTables} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			for _, seed := range seeds.Slow(t, 1) {
				killed(t, program, mode, seed)
			}
		})
	}
}

func killed(t *testing.T, program string, mode proxy.Mode, seed uint64) {
	c := controllertest.Start(t, controllertest.Options{})
	n := newNode(t, c)
	n.echo("10.244.0.2:8080")
	n.echo("10.244.0.3:8080")
	here := []proxytest.Endpoint{{IP: "10.244.0.2", Node: "here"}, {IP: "10.244.0.3", Node: "here"}}
	create := func(name, ip string) {
		svc := proxytest.Service(name, ip, func(s *corev1.Service) { s.Namespace = "default" },
			proxytest.Port("t", corev1.ProtocolTCP, 90, 0), proxytest.Port("u", corev1.ProtocolUDP, 90, 0))
		controllertest.Create(c, svc)
		controllertest.Create(c, proxytest.Slice(svc, discoveryv1.AddressTypeIPv4, here...))
	}
	create("echo", "10.96.0.40")
	config := fmt.Sprintf("mode: %s\niptables: {minSyncPeriod: 1ms}\nnftables: {minSyncPeriod: 1ms}\n", mode)
	p := n.run(program, config)
	var streams []*stream
	for range 4 {
		streams = append(streams, n.stream("tcp"), n.stream("udp"))
	}

	rng := seeds.Rand(seed)
	ctx, cancel := context.WithCancel(t.Context())
	var churn sync.WaitGroup
	churn.Go(func() {
		there := map[int]bool{}
		pace := time.NewTicker(2 * time.Millisecond)
		defer pace.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			k := i % 7
			name := fmt.Sprintf("churn%d", k)
			if there[k] {
				controllertest.Delete[*discoveryv1.EndpointSlice](c, "default", name+"-ipv4")
				controllertest.Delete[*corev1.Service](c, "default", name)
			} else {
				create(name, fmt.Sprintf("10.96.0.%d", 50+k))
			}
			there[k] = !there[k]
			<-pace.C
		}
	})
	for range 6 {
		<-time.After(time.Duration(rng.IntN(600)) * time.Millisecond)
		p.end(syscall.SIGKILL)
		for _, network := range []string{"tcp", "udp"} {
			require.NoError(t, n.ask(network, echoAddress), "seed %d: no process runs", seed)
		}
		p = n.start(program, config)
		for range 5 {
			require.NoError(t, n.ask("tcp", echoAddress), "seed %d: a process starts", seed)
		}
	}
	cancel()
	churn.Wait()
	total := 0
	for _, s := range streams {
		s.stopping.Store(true)
		<-s.done
		require.NoError(t, s.err, "seed %d: %s after %d answers", seed, s.network, s.answers)
		require.NotZero(t, s.answers)
		total += s.answers
	}
	t.Logf("seed %d: %d streams, %d answers, none lost", seed, len(streams), total)

	create("last", "10.96.0.41")
	for i := range 7 {
		name, address := fmt.Sprintf("churn%d", i), fmt.Sprintf("10.96.0.%d", 50+i)
		if controllertest.Exists[*corev1.Service](c, "default", name) {
			n.eventually(func() bool { return n.ask("tcp", address+":90") == nil }, "seed %d: Service %s exists\n%s", seed, name, &p.log)
		} else {
			n.eventually(func() bool { return !strings.Contains(n.rules(), address+" ") }, "seed %d: Service %s does not exist\n%s", seed, name, &p.log)
		}
	}
	n.eventually(func() bool { return n.ask("tcp", "10.96.0.41:90") == nil }, "seed %d: a new Service\n%s", seed, &p.log)
	require.NoError(t, n.ask("udp", echoAddress))
	p.end(syscall.SIGKILL)
}

// stream is a client that sends again as soon as an answer comes. All answers must come from one endpoint.
type stream struct {
	network  string
	stopping atomic.Bool
	done     chan struct{}
	answers  int
	err      error
}

func (n *node) stream(network string) *stream {
	conn, err := n.dial(n.t.Context(), network, echoAddress)
	require.NoError(n.t, err)
	s := &stream{network: network, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer conn.Close()
		pace := time.NewTicker(time.Millisecond)
		defer pace.Stop()
		first := ""
		for !s.stopping.Load() {
			var got string
			if got, s.err = answer(conn); s.err != nil {
				return
			}
			if first == "" {
				first = got
			}
			if got != first {
				s.err = fmt.Errorf("answer of %s after those of %s", got, first)
				return
			}
			s.answers++
			<-pace.C
		}
	}()
	return s
}

// answer sends a word and returns the endpoint that answers.
func answer(conn net.Conn) (string, error) {
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write([]byte("ping")); err != nil {
		return "", err
	}
	buf := make([]byte, 64)
	n, err := conn.Read(buf)
	return string(buf[:n]), err
}

// ask connects once and waits for an answer.
func (n *node) ask(network, address string) error {
	ctx, cancel := context.WithTimeout(n.t.Context(), 5*time.Second)
	defer cancel()
	conn, err := n.dial(ctx, network, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = answer(conn)
	return err
}

// echo answers at an address of the node with that address, over TCP and UDP.
func (n *node) echo(address string) {
	l := n.listen("tcp", address)
	var packets net.PacketConn
	require.NoError(n.t, n.in(func() (err error) {
		packets, err = net.ListenPacket("udp", address)
		return err
	}))
	n.t.Cleanup(func() { _ = errors.Join(l.Close(), packets.Close()) })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buf := make([]byte, 64)
				for {
					if _, err := conn.Read(buf); err != nil {
						return
					}
					_, _ = conn.Write([]byte(address))
				}
			}()
		}
	}()
	go func() {
		buf := make([]byte, 64)
		for {
			_, from, err := packets.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = packets.WriteTo([]byte(address), from)
		}
	}()
}

// rules are all rules in the kernel.
func (n *node) rules() string {
	var all []byte
	for _, command := range []string{"nft list ruleset", "iptables-save"} {
		out, err := exec.CommandContext(n.t.Context(), "nsenter", strings.Fields("--net="+n.ns+" -- "+command)...).Output()
		require.NoError(n.t, err, command)
		all = append(all, out...)
	}
	return string(all)
}

func (n *node) eventually(holds func() bool, message string, args ...any) {
	n.t.Helper()
	require.Eventually(n.t, holds, patience, 50*time.Millisecond, append([]any{message}, args...)...)
}
