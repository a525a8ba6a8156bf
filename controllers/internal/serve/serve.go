// Package serve runs an HTTP server for as long as a context.
package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Run serves on l, over TLS if the server has a TLSConfig, until ctx ends and the calls under way are
// answered, or patience is over. It closes l.
func Run(ctx context.Context, s *http.Server, l net.Listener, patience time.Duration) error {
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
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := s.Shutdown(waiting)
	if err != nil {
		err = errors.Join(err, s.Close())
	}
	<-ended
	return err
}
