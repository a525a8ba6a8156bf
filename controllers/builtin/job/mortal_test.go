package job_test

import (
	"context"
	"errors"
	"sync"

	"github.com/keelson-dev/keelson/client"
)

// mortal is a connection that dies after some writes, as a process does.
type mortal struct {
	client.Conn
	mu   sync.Mutex
	left int
}

func (m *mortal) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	if r.Method != "GET" && r.Method != "" && r.Resource.Resource != "events" {
		m.mu.Lock()
		m.left--
		dead := m.left < 0
		m.mu.Unlock()
		if dead {
			return nil, errors.New("the process is dead")
		}
	}
	return m.Conn.Do(ctx, r)
}
