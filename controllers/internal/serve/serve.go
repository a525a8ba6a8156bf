// Package serve runs an HTTP server until a context ends.
package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Run serves on l, over TLS if the server has a TLSConfig, until ctx ends. Then it waits up to timeout for
// the requests in progress, closes the remaining connections and returns an error if there were any. It
// closes l.
func Run(ctx context.Context, s *http.Server, l net.Listener, timeout time.Duration) error {
	ended := make(chan error, 1)
	go func() {
		if s.TLSConfig != nil {
			ended <- s.ServeTLS(l, "", "")
		} else {
			ended <- s.Serve(l)
		}
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	err := s.Shutdown(waiting)
	if err != nil {
		err = errors.Join(err, s.Close())
	}
	<-ended
	return err
}
