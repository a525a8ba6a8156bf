package wait

import (
	"context"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client/discovery"
)

// Served waits until the server serves a kind, and returns its resource. There is no watch of what a server
// serves: the catalog is read again after 50 ms, 100 ms and so on up to every second, which costs two
// requests that the server answers without a body while nothing has changed. A failure to read it is retried.
// The error wraps the cause of the end of ctx and the last failure.
func Served(ctx context.Context, d *discovery.Client, gk schema.GroupKind, versions ...string) (*discovery.Resource, error) {
	delays := backoff.Policy{Initial: 50 * time.Millisecond, Max: time.Second}
	for n := 0; ; n++ {
		r, err := d.ForKind(ctx, gk, versions...)
		if err == nil {
			return r, nil
		}
		if backoff.Sleep(ctx, delays.Delay(ctx, n)) != nil {
			return nil, fmt.Errorf("wait: kind %s: %w: %w", gk, context.Cause(ctx), err)
		}
		if _, err := d.Refresh(ctx); err != nil && ctx.Err() != nil {
			return nil, fmt.Errorf("wait: kind %s: %w: %w", gk, context.Cause(ctx), err)
		}
	}
}
