package controllertest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/store/pipenet"
)

// network is a pipenet.Listener that tracks its open connections, so that Settle finds unread data and the
// end of a test closes connections that clients left open.
type network struct {
	*pipenet.Listener
	carried atomic.Int64 // bytes that clients have written and read
	mu      sync.Mutex
	open    map[*tracked]bool
}

func newNetwork() *network {
	return &network{Listener: pipenet.New(), open: map[*tracked]bool{}}
}

// Dial connects to the server.
func (n *network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := n.Listener.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	t := &tracked{Conn: c, net: n}
	n.mu.Lock()
	n.open[t] = true
	n.mu.Unlock()
	return t, nil
}

type tracked struct {
	net.Conn
	net *network
}

// Read counts what it reads.
func (t *tracked) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.net.carried.Add(int64(n))
	return n, err
}

// Write counts what it writes.
func (t *tracked) Write(p []byte) (int, error) {
	n, err := t.Conn.Write(p)
	t.net.carried.Add(int64(n))
	return n, err
}

// Close closes the connection and forgets it.
func (t *tracked) Close() error {
	t.net.mu.Lock()
	delete(t.net.open, t)
	t.net.mu.Unlock()
	return t.Conn.Close()
}

// unread counts the connections with bytes that their receiver has not read.
func (n *network) unread() (conns, bytes int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for t := range n.open {
		if b := pipenet.Unread(t.Conn); b > 0 {
			conns, bytes = conns+1, bytes+b
		}
	}
	return conns, bytes
}

func (n *network) closeAll() {
	n.mu.Lock()
	var all []*tracked
	for t := range n.open {
		all = append(all, t)
	}
	n.mu.Unlock()
	for _, t := range all {
		_ = t.Close()
	}
}
