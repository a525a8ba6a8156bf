package stream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/spdy"
	"github.com/keelson-dev/keelson/client"
)

// dialSPDY upgrades a request to SPDY and returns the version of the protocol agreed on.
func dialSPDY(ctx context.Context, c client.Conn, r client.Request, versions ...string) (*spdy.Conn, string, error) {
	up, ok := c.(client.Upgrader)
	if !ok {
		return nil, "", fmt.Errorf("%T cannot upgrade requests: %w", c, errors.ErrUnsupported)
	}
	r.Method = http.MethodPost
	r.Header = map[string]string{"Connection": "Upgrade", "Upgrade": spdy.Upgrade, spdy.ProtocolHeader: strings.Join(versions, ", ")}
	u, err := up.Upgrade(ctx, &r)
	if err != nil {
		return nil, "", err
	}
	version := u.Header[spdy.ProtocolHeader]
	if version == "" {
		version = u.Header[http.CanonicalHeaderKey(spdy.ProtocolHeader)]
	}
	conn, err := spdy.New(u.Conn)
	return conn, version, err
}

// runSPDY carries the streams of a process over SPDY until it ends.
func runSPDY(ctx context.Context, conn *spdy.Conn, version string, opts Options) error {
	p := spdy.Process{Stdin: opts.Stdin, Stdout: opts.Stdout, Stderr: opts.Stderr}
	// Sizes of terminals are part of version 3 and later.
	if opts.TTY && opts.Sizes != nil && (version == "v3.channel.k8s.io" || version == "v4.channel.k8s.io") {
		p.Resize = spdy.Sizes(opts.Sizes)
	}
	status, err := conn.Run(ctx, p)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("stream: %w", err)
	case version == "v4.channel.k8s.io":
		return outcome(status)
	case len(status) > 0:
		// Before v4 the error stream contains a message or is empty.
		return fmt.Errorf("stream: %s", status)
	}
	return nil
}
