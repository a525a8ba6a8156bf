package nodestream

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/spdy"
)

// connect is the DialContext of a net.Dialer.
type connect func(ctx context.Context, network, address string) (net.Conn, error)

// Dial runs a session on the streaming server of a container runtime, at the URL that the runtime returned,
// and returns the exit code. It ends at the runtime as soon as its output cannot be written: the process may
// never end by itself.
func Dial(ctx context.Context, target string, s *Session) (int, error) {
	return run(ctx, new(net.Dialer).DialContext, target, s)
}

func run(ctx context.Context, to connect, target string, s *Session) (int, error) {
	conn, err := dial(ctx, to, target, execProtocols[0])
	if err != nil {
		return 0, err
	}
	p := spdy.Process{Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr}
	if s.TTY {
		p.Stderr, p.Resize = nil, spdy.Sizes(s.Resize)
	}
	status, err := conn.Run(ctx, p)
	if err != nil {
		return 0, err
	}
	err = spdy.Outcome(status)
	if exit, ok := errors.AsType[*spdy.ExitError](err); ok {
		return exit.Code, nil
	}
	return 0, err
}

// DialPortForward carries one connection to a port through the streaming server of a container runtime. It
// ends there as soon as what the port sends cannot be written. What the runtime reports is a *spdy.PortError.
func DialPortForward(ctx context.Context, target string, port uint16, stream io.ReadWriteCloser) error {
	return forward(ctx, new(net.Dialer).DialContext, target, port, stream)
}

func forward(ctx context.Context, to connect, target string, port uint16, stream io.ReadWriteCloser) error {
	conn, err := dial(ctx, to, target, forwardProtocol)
	if err != nil {
		return err
	}
	defer conn.End()
	defer context.AfterFunc(ctx, conn.Abort)()
	p, err := conn.OpenPort(int(port))
	if err == nil {
		err = carry(conn, p, stream)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// carry copies in both directions until the runtime reports the end.
func carry(conn *spdy.Conn, port *spdy.Port, stream io.ReadWriteCloser) error {
	go func() { // ends with the client's side of the stream
		_, _ = io.Copy(port, stream)
		_ = port.CloseWrite()
	}()
	received := make(chan error, 1)
	go func() {
		_, err := io.Copy(stream, port)
		if err != nil {
			conn.Abort()
		}
		received <- err
	}()
	failed := port.Ended()
	if failed != nil {
		conn.Abort()
	}
	return cmp.Or(failed, <-received)
}

// dial opens a connection to the streaming server of a container runtime for streams of a protocol.
func dial(ctx context.Context, to connect, target, protocol string) (*spdy.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	return spdy.Dial(ctx, &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: streamTimeout,
		// The context of a Transport goes on when the request has ended.
		DialContext: func(_ context.Context, network, address string) (net.Conn, error) { return to(ctx, network, address) },
	}, target, protocol)
}
