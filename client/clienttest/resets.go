package clienttest

import (
	"context"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/client/rest"
)

// resetClients is how many requests Reset has open at a time.
const resetClients = 8

// Reset sends n requests over HTTP/2, or about 150 a second until ctx ends if n is negative, to the server of
// cfg and cancels each at a random point: before, in the middle of or after its body, before or in the
// middle of the reply, by a reset of its stream or by closing its connection. It returns when all have ended.
// The replies are ignored: the caller checks that the server still serves other requests.
// Nothing is written: writes are dry runs and most are incomplete. Of cfg only Host, Dial, BearerToken and
// TLS's CertData and KeyData are used, and any certificate of the server is accepted.
func Reset(ctx context.Context, seed uint64, n int, cfg rest.Config) {
	var clients sync.WaitGroup
	for i := range resetClients {
		clients.Go(func() {
			c := &resetClient{cfg: cfg, random: seeds.Rand(seed + uint64(i))}
			for k := i; (n < 0 || k < n) && ctx.Err() == nil; k += resetClients {
				c.request(ctx)
				if n < 0 {
					_ = backoff.Sleep(ctx, time.Duration(c.random.Int64N(int64(100*time.Millisecond))))
				}
			}
			c.end()
		})
	}
	clients.Wait()
}

// resetRequests are methods and paths of various requests: short and long, reads and writes, served by
// handlers or refused early.
var resetRequests = [][2]string{
	{"GET", "/version"}, {"GET", "/readyz"}, {"GET", "/apis"}, {"POST", "/nonsense"}, {"POST", "/api/v1/nonsense"},
	{"GET", "/api/v1/configmaps"}, {"GET", "/api/v1/configmaps?watch=1"}, {"GET", "/api/v1/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"},
	{"POST", "/api/v1/namespaces/default/configmaps?dryRun=All"}, {"PUT", "/api/v1/namespaces/default/configmaps/reset?dryRun=All"},
	{"PATCH", "/api/v1/namespaces/default/configmaps/reset?dryRun=All&fieldManager=reset"}, {"DELETE", "/api/v1/namespaces/default/configmaps/reset?dryRun=All"},
	{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"}, {"GET", "/api/v1/namespaces/default/pods/reset/log"}, {"POST", "/api/v1/namespaces/default/pods/reset/exec"},
}

// resetClient sends one request at a time.
type resetClient struct {
	cfg       rest.Config
	random    *rand.Rand
	transport *http.Transport // nil: the next request makes one
	conns     *resetConns     // its connections
}

// resetConns are the connections of a transport, which dials in the background too.
type resetConns struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu     sync.Mutex
	open   []net.Conn
	closed bool
}

func (c *resetConns) connect(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c.open = append(c.open, conn)
	return conn, nil
}

func (c *resetConns) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, conn := range c.open {
		_ = conn.Close()
	}
}

func (c *resetClient) request(ctx context.Context) {
	if c.transport == nil {
		c.connect()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	what := resetRequests[c.random.IntN(len(resetRequests))]
	body, feed := io.Pipe()
	defer feed.Close()
	host := c.cfg.Host
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	req, err := http.NewRequestWithContext(ctx, what[0], host+what[1], body)
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	if c.cfg.BearerToken != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.BearerToken)
	}
	text, whole := `{"metadata":{"name":"reset"},"data":{"k":"`+strings.Repeat("v", c.random.IntN(4096))+`"}}`, c.random.IntN(3) == 0
	if !whole {
		text = text[:c.random.IntN(len(text))]
	}
	cut, wait := c.random.IntN(8) == 0, time.Duration(c.random.Int64N(int64(3*time.Millisecond)))
	var beside sync.WaitGroup
	beside.Go(func() {
		_, _ = io.WriteString(feed, text)
		if whole {
			_ = feed.Close()
		}
	})
	beside.Go(func() {
		if wait > time.Millisecond { // otherwise at once
			_ = backoff.Sleep(ctx, wait)
		}
		if cut {
			c.conns.close()
		}
		cancel()
		_ = body.CloseWithError(context.Canceled) // net/http looks at ctx only between reads of a body
	})
	if resp, err := c.transport.RoundTrip(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	cancel()
	_ = body.Close() // a write to it ends
	beside.Wait()
	if cut {
		c.end()
	}
}

// connect returns a new transport.
func (c *resetClient) connect() {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	c.conns = &resetConns{dial: c.cfg.Dial}
	if c.conns.dial == nil {
		c.conns.dial = new(net.Dialer).DialContext
	}
	config := &tls.Config{InsecureSkipVerify: true}
	if pair, err := tls.X509KeyPair(c.cfg.TLS.CertData, c.cfg.TLS.KeyData); err == nil {
		config.Certificates = []tls.Certificate{pair}
	}
	c.transport = &http.Transport{Protocols: protocols, TLSClientConfig: config, DialContext: c.conns.connect}
}

// end closes all connections.
func (c *resetClient) end() {
	if c.transport != nil {
		c.transport.CloseIdleConnections()
		c.conns.close()
		c.transport = nil
	}
}
