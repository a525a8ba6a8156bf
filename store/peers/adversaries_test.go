package peers_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/peers"
)

// A peer whose certificate is of another authority, or for another name, gets no request at all.
func TestAnotherCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.start("a")
		another, err := certs.NewAuthority("another")
		require.NoError(t, err)
		var asked atomic.Int64
		handler := serves("demo.test/v1/things", says("thing"))
		counting := func(w http.ResponseWriter, r *http.Request) { asked.Add(1); handler(w, r) }
		c.stranger(a, "b", another, peers.ServerName, counting)
		c.stranger(a, "c", c.serving, "kubernetes.default", counting)
		time.Sleep(time.Minute)
		require.Equal(t, 404, c.do(a, "GET", things, "").code)
		require.Zero(t, asked.Load())
		require.Positive(t, c.counted("fetch_discovery"))
		// One that loses its certificate later.
		b := c.stranger(a, "d", c.serving, peers.ServerName, handler)
		time.Sleep(time.Minute)
		require.Equal(t, 200, c.do(a, "GET", things, "").code)
		require.NoError(t, b.server.Close())
		c.listen("d", another, peers.ServerName, counting)
		got := c.do(a, "POST", things, "secret")
		require.Equal(t, 503, got.code)
		require.Contains(t, got.body, "certificate signed by unknown authority")
		require.Zero(t, asked.Load())
	})
}

// What a peer says it serves and does not is its own response; what both say of each other comes back once.
func TestLiesAndLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.start("a")
		c.stranger(a, "b", c.serving, peers.ServerName, serves("demo.test/v1/things", http.NotFound))
		var passed atomic.Int64
		c.stranger(a, "c", c.serving, peers.ServerName, serves("demo.test/v1/gadgets", func(w http.ResponseWriter, r *http.Request) {
			passed.Add(1)
			back := &httputil.ReverseProxy{Transport: client(a).Transport, Rewrite: func(p *httputil.ProxyRequest) {
				p.Out.URL.Scheme, p.Out.URL.Host = "https", "pipe"
				p.Out.Header.Set("Authorization", "Bearer masters-token")
			}}
			back.ServeHTTP(w, r)
		}))
		// A peer cannot take over what this server serves.
		c.stranger(a, "d", c.serving, peers.ServerName, serves("apps/v1/deployments", says("mine")))
		time.Sleep(time.Second)
		require.Equal(t, 404, c.do(a, "GET", things, "").code)
		require.Equal(t, 404, c.do(a, "GET", gadgets, "").code)
		require.EqualValues(t, 1, passed.Load())
		require.Contains(t, c.do(a, "GET", "/apis/apps/v1/deployments", "").body, "DeploymentList")
	})
}

// Peers that stall, break off or send what is no discovery document delay neither each other nor requests for
// what others serve.
func TestPeersThatDoNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.start("a")
		stall := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		c.stranger(a, "b", c.serving, peers.ServerName, stall)
		c.stranger(a, "c", c.serving, peers.ServerName, says("garbage"))
		c.stranger(a, "d", c.serving, peers.ServerName, says(`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`))
		var most atomic.Int64 // bytes of a response
		c.stranger(a, "e", c.serving, peers.ServerName, func(w http.ResponseWriter, r *http.Request) {
			chunk, sent := []byte(strings.Repeat(" ", 1<<16)), int64(0)
			for r.Context().Err() == nil && sent < 1<<30 {
				n, err := w.Write(chunk)
				if sent += int64(n); err != nil {
					break
				}
			}
			most.Store(max(most.Load(), sent))
		})
		c.stranger(a, "f", c.serving, peers.ServerName, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		c.stranger(a, "g", c.serving, peers.ServerName, serves("demo.test/v1/things", func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Query().Get("do") {
			case "stall":
				stall(w, r)
			case "break":
				_, _ = io.WriteString(w, "half")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
		}))
		time.Sleep(5 * time.Second)
		require.Equal(t, 200, c.do(a, "GET", things, "").code)
		require.Positive(t, most.Load())
		require.Less(t, most.Load(), int64(1<<26), "a document has a limit")
		require.Positive(t, c.counted("fetch_discovery"))

		began := time.Now()
		got := c.do(a, "GET", things+"?do=stall", "")
		require.Equal(t, 504, got.code, got.body)
		require.Equal(t, time.Minute, time.Since(began), "the limit of every request")
		require.Equal(t, 1, c.counted("Gateway Timeout things"))
		resp, err := client(a).Do(request(t, "GET", things+"?do=break", ""))
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.Error(t, err, "the client learns that the response is not complete")
		_ = resp.Body.Close()
	})
}

// A huge response passes through without being held: at every moment the peer is ahead of the client by no
// more than what the connections between them buffer. It runs in real time, since httputil.ReverseProxy holds
// a mutex while it writes, and a bubble with a goroutine that waits for a mutex never becomes idle.
func TestHugeResponse(t *testing.T) {
	c := newCluster(t)
	a := c.start("a")
	const size = 256 << 20
	var sent atomic.Int64
	c.stranger(a, "b", c.serving, peers.ServerName, serves("demo.test/v1/things", func(w http.ResponseWriter, r *http.Request) {
		chunk := make([]byte, 1<<20)
		for sent.Load() < size {
			if _, err := w.Write(chunk); err != nil {
				return
			}
			sent.Add(int64(len(chunk)))
		}
	}))
	var resp *http.Response
	require.Eventually(t, func() bool { // the peer's discovery is read
		var err error
		resp, err = client(a).Do(request(t, "GET", things, ""))
		require.NoError(t, err)
		if resp.StatusCode != http.StatusOK {
			_ = resp.Body.Close()
		}
		return resp.StatusCode == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
	defer resp.Body.Close()
	got, buffer := int64(0), make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buffer)
		got += int64(n)
		require.Less(t, sent.Load()-got, int64(64<<20))
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
	}
	require.EqualValues(t, size, got)
}

// A request that switches protocols reaches the peer with its query and its user, and bytes go both ways.
func TestUpgradeThroughAPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		a := c.start("a")
		c.stranger(a, "b", c.serving, peers.ServerName, serves("demo.test/v1/things", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") == "" {
				http.Error(w, "no upgrade", http.StatusBadRequest)
				return
			}
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n%s %s %s\n", r.Header.Get("X-Remote-User"), r.URL.RawQuery, r.Header.Get("X-Kubernetes-Peer-Proxied"))
			_, _ = io.CopyN(conn, rw, 5)
		}))
		time.Sleep(time.Second)
		resp, err := client(a).Do(request(t, "GET", things+"/x/exec?command=ls", "", "Connection", "Upgrade", "Upgrade", "echo"))
		require.NoError(t, err)
		require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
		conn := resp.Body.(io.ReadWriteCloser)
		defer conn.Close()
		in := bufio.NewReader(conn)
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "admin command=ls true\n", line)
		_, err = io.WriteString(conn, "hello")
		require.NoError(t, err)
		out := make([]byte, 5)
		_, err = io.ReadFull(in, out)
		require.NoError(t, err)
		require.Equal(t, "hello", string(out))
		require.Equal(t, 1, c.counted("Switching Protocols things"))
		require.Equal(t, 400, c.do(a, "GET", things+"/x/exec", "").code)
	})
}
