package kubelet

import (
	"context"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/client"
)

// pacedConn delays requests beyond a rate. Safe for concurrent use.
type pacedConn struct {
	client.Conn
	gate *pullGate
}

// paced limits a connection to a number of requests per second, with bursts; 0 sets no limit.
func paced(c client.Conn, perSecond float64, burst int) client.Conn {
	if perSecond <= 0 {
		return c
	}
	return &pacedConn{c, newPullGate(PullPolicy{Parallel: -1, PerSecond: perSecond, Burst: burst})}
}

// Do implements client.Conn.
func (c *pacedConn) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	for !c.gate.allowed() {
		if err := backoff.Sleep(ctx, time.Duration(float64(time.Second)/c.gate.PerSecond)); err != nil {
			return nil, err
		}
	}
	return c.Conn.Do(ctx, r)
}
