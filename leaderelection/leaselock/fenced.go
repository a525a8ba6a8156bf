package leaselock

import (
	"context"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/client"
)

// fenceWitness notes whether answers about leases say that the server enforces
// fencing, and what the connection calls the server.
type fenceWitness struct {
	client.Conn
	seen   atomic.Bool
	server atomic.Pointer[string]
}

// Do implements client.Conn. Without a header in a good answer the server is one
// that does not enforce it (any more), say after a change of servers.
func (w *fenceWitness) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	resp, err := w.Conn.Do(fence.WithWitness(ctx, w.saw), r)
	if err == nil {
		w.seen.Store(resp.Header[fence.Header] == fence.Enforced)
	}
	return resp, err
}

func (w *fenceWitness) saw(server string) { w.server.Store(&server) }
