package leaselock

import (
	"context"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/client"
)

// fencingConn records whether the replies about the lease show that the server
// enforces fencing, and the name the connection has for the server.
type fencingConn struct {
	client.Conn
	enforced atomic.Bool
	server   atomic.Pointer[string]
}

// Do implements client.Conn. A successful reply without the header is that of a server
// that does not enforce fencing, for example after a change of servers.
func (c *fencingConn) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	resp, err := c.Conn.Do(fence.WithWitness(ctx, c.setServer), r)
	if err == nil {
		c.enforced.Store(resp.Header[fence.Header] == fence.Enforced)
	}
	return resp, err
}

func (c *fencingConn) setServer(server string) { c.server.Store(&server) }
