package kubelet

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// callGrace is how long the calls under way may take to end once their contexts have ended. Then their
// connections are closed.
const callGrace = 5 * time.Second

// calls are the requests under way, among them those whose connections have been taken over for streams,
// which an http.Server neither closes nor waits for. Safe for concurrent use.
type calls struct {
	mu      sync.Mutex
	conns   map[*call]net.Conn
	ended   bool
	running sync.WaitGroup
}

type call struct{ _ byte } // not of size 0: each has an address of its own

type connKey struct{}

// withConn is the server's ConnContext. It takes the connection below TLS, whose Close waits for nothing.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// track returns a handler whose calls end waits for.
func (c *calls) track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		this := &call{}
		conn, _ := r.Context().Value(connKey{}).(net.Conn)
		c.mu.Lock()
		if c.ended {
			c.mu.Unlock()
			http.Error(w, "the kubelet is ending", http.StatusServiceUnavailable)
			return
		}
		c.conns[this] = conn
		c.running.Add(1)
		c.mu.Unlock()
		defer func() {
			c.mu.Lock()
			delete(c.conns, this)
			c.mu.Unlock()
			c.running.Done()
		}()
		next.ServeHTTP(w, r)
	})
}

// end lets no further call begin and returns when all have ended.
func (c *calls) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	late := time.AfterFunc(callGrace, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, conn := range c.conns {
			if conn != nil {
				_ = conn.Close()
			}
		}
	})
	defer late.Stop()
	c.running.Wait()
}
