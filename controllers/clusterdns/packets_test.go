package clusterdns

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// serving is a server of a running cluster on a socket; exchange, which may be nil, is its upstream.
func serving(t testing.TB, c net.PacketConn, opts Options, exchange func(ctx context.Context, q *dns.Msg, upstream string, overUDP bool) (*dns.Msg, error)) *Server {
	t.Helper()
	cluster := controllertest.Start(t, controllertest.Options{})
	opts.PacketConns = []net.PacketConn{c}
	var s *Server
	m := cluster.Manager("dns", func(m *manager.Manager) (err error) {
		if s, err = New(m, opts); err == nil {
			m.AddWithoutLeaderElection("dns", s)
		}
		if exchange != nil {
			s.exchange = exchange
		}
		return err
	})
	cluster.Run(m)
	require.NoError(t, m.Informers().WaitForSync(t.Context()))
	return s
}

func udpClient(t *testing.T, to string) *dns.Conn {
	t.Helper()
	c, err := (&dns.Client{Timeout: patience}).DialContext(t.Context(), to)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func exchange(t *testing.T, c *dns.Conn, q *dns.Msg) *dns.Msg {
	t.Helper()
	m, _, err := (&dns.Client{Timeout: patience}).ExchangeWithConn(q, c)
	require.NoError(t, err)
	return m
}

const version = "dns-version.cluster.local."

// otherConn is a net.PacketConn that is no *net.UDPConn.
type otherConn struct{ net.PacketConn }

// TestSockets: each kind of socket answers, from the address that the query was sent to, and so it does after
// messages that are no queries.
func TestSockets(t *testing.T) {
	for what, address := range map[string]string{"one address": "127.0.0.1:0", "all addresses": "0.0.0.0:0", "both families": "[::]:0", "another type": "127.0.0.1:0"} {
		t.Run(what, func(t *testing.T) {
			c, err := net.ListenPacket("udp", address)
			require.NoError(t, err)
			_, port, err := net.SplitHostPort(c.LocalAddr().String())
			require.NoError(t, err)
			if what == "another type" {
				c = otherConn{c}
			}
			serving(t, c, Options{}, nil)
			// A connected client takes responses from that address only.
			to := "127.0.0.1"
			if what == "all addresses" {
				to = "127.0.0.9"
			}
			client := udpClient(t, net.JoinHostPort(to, port))
			for _, junk := range [][]byte{{}, {1}, make([]byte, 11), append([]byte{0, 7, 0x80, 0}, make([]byte, 40)...)} {
				_, err := client.Write(junk)
				require.NoError(t, err)
			}
			require.Len(t, exchange(t, client, new(dns.Msg).SetQuestion(version, dns.TypeTXT)).Answer, 1)
			// A header that promises a question, and none.
			_, err = client.Write([]byte{0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0})
			require.NoError(t, err)
			m, err := client.ReadMsg()
			require.NoError(t, err)
			require.Equal(t, dns.RcodeFormatError, m.Rcode)
			require.EqualValues(t, 9, m.Id)
		})
	}
}

// TestAFloodIsBounded: thousands of queries for an upstream that does not respond, of one name and of many,
// keep a few goroutines waiting. The others fail at once, and names of the cluster are answered meanwhile.
func TestAFloodIsBounded(t *testing.T) {
	const waiting, flood = 10, 5000
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	s := serving(t, c, Options{Upstreams: []string{"192.0.2.1"}, MaxForwards: waiting, UpstreamTimeout: time.Hour},
		func(ctx context.Context, _ *dns.Msg, _ string, _ bool) (*dns.Msg, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
	client := udpClient(t, c.LocalAddr().String())
	before, most, failed := runtime.NumGoroutine(), 0, 0
	for i := range flood {
		q := new(dns.Msg).SetQuestion(fmt.Sprintf("name%d.example.com.", i%2*i), dns.TypeA)
		q.SetEdns0(udpSize, false)
		require.NoError(t, client.WriteMsg(q))
		if i < waiting {
			continue
		}
		m, err := client.ReadMsg()
		require.NoError(t, err)
		require.Equal(t, dns.RcodeServerFailure, m.Rcode)
		require.NotNil(t, m.IsEdns0())
		failed++
		most = max(most, runtime.NumGoroutine())
	}
	require.Equal(t, flood-waiting, failed)
	require.Less(t, most-before, 5*waiting)
	require.Len(t, s.forwards, waiting)
	require.Len(t, exchange(t, client, new(dns.Msg).SetQuestion(version, dns.TypeTXT)).Answer, 1)
}
