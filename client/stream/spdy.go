package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/moby/spdystream"

	"github.com/keelson-dev/keelson/client"
)

// protocolHeader agrees on what the streams of a SPDY connection mean.
const protocolHeader = "X-Stream-Protocol-Version"

// rawConn makes a net.Conn of an upgraded connection. Deadlines are not supported.
type rawConn struct{ io.ReadWriteCloser }

type rawAddr struct{}

func (rawAddr) Network() string { return "upgraded" }
func (rawAddr) String() string  { return "upgraded" }

func (rawConn) LocalAddr() net.Addr              { return rawAddr{} }
func (rawConn) RemoteAddr() net.Addr             { return rawAddr{} }
func (rawConn) SetDeadline(time.Time) error      { return nil }
func (rawConn) SetReadDeadline(time.Time) error  { return nil }
func (rawConn) SetWriteDeadline(time.Time) error { return nil }

// spdyConn is a SPDY connection and the goroutine that serves it.
type spdyConn struct {
	*spdystream.Connection
	raw  net.Conn
	done chan struct{}
}

// serveSPDY speaks SPDY over raw, as the side that asked for it.
func serveSPDY(raw net.Conn) (*spdyConn, error) {
	conn, err := spdystream.NewConnection(raw, false)
	if err != nil {
		raw.Close()
		return nil, err
	}
	s := &spdyConn{Connection: conn, raw: raw, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		conn.Serve(func(st *spdystream.Stream) { _ = st.Refuse() })
	}()
	return s, nil
}

// end closes the connection and waits for its goroutine.
func (s *spdyConn) end() {
	_ = s.Connection.Close()
	s.raw.Close()
	<-s.done
}

// dialSPDY upgrades a request to SPDY and returns the version of the protocol agreed on.
func dialSPDY(ctx context.Context, c client.Conn, r client.Request, versions ...string) (*spdyConn, string, error) {
	up, ok := c.(client.Upgrader)
	if !ok {
		return nil, "", fmt.Errorf("%T cannot upgrade requests: %w", c, errors.ErrUnsupported)
	}
	r.Method = http.MethodPost
	r.Header = map[string]string{"Connection": "Upgrade", "Upgrade": "SPDY/3.1", protocolHeader: strings.Join(versions, ", ")}
	u, err := up.Upgrade(ctx, &r)
	if err != nil {
		return nil, "", err
	}
	version := u.Header[protocolHeader]
	if version == "" {
		version = u.Header[http.CanonicalHeaderKey(protocolHeader)]
	}
	conn, err := serveSPDY(rawConn{u.Conn})
	return conn, version, err
}

// open opens a stream of a type.
func (s *spdyConn) open(headers http.Header) (*spdystream.Stream, error) {
	st, err := s.CreateStream(headers, nil, false)
	if err != nil {
		return nil, err
	}
	if err := st.WaitTimeout(30 * time.Second); err != nil {
		return nil, err
	}
	return st, nil
}

func streamType(t string) http.Header { return http.Header{"Streamtype": {t}} }

// runSPDY carries the streams of a process over SPDY until it ends.
func runSPDY(ctx context.Context, conn *spdyConn, version string, o Options) error {
	var wg sync.WaitGroup
	stop := context.AfterFunc(ctx, func() { conn.raw.Close() })
	defer func() {
		stop()
		conn.end()
		wg.Wait()
	}()
	fail := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("stream: %w", err)
	}
	errs, err := conn.open(streamType("error"))
	if err != nil {
		return fail(err)
	}
	// The error stream is only read.
	_ = errs.Close()
	copied := make(chan error, 2)
	copies := 0
	var stdin *spdystream.Stream
	if o.Stdin != nil {
		if stdin, err = conn.open(streamType("stdin")); err != nil {
			return fail(err)
		}
	}
	for _, out := range []struct {
		name string
		w    io.Writer
	}{{"stdout", o.Stdout}, {"stderr", o.Stderr}} {
		if out.w == nil {
			continue
		}
		st, err := conn.open(streamType(out.name))
		if err != nil {
			return fail(err)
		}
		_ = st.Close()
		copies++
		wg.Go(func() {
			_, err := io.Copy(out.w, st)
			copied <- err
		})
	}
	if o.TTY && o.Sizes != nil && version != "v2.channel.k8s.io" && version != "channel.k8s.io" && version != "" {
		st, err := conn.open(streamType("resize"))
		if err != nil {
			return fail(err)
		}
		over, cancel := context.WithCancel(ctx)
		defer cancel()
		wg.Go(func() {
			enc := json.NewEncoder(st)
			for {
				select {
				case s, ok := <-o.Sizes:
					if !ok || enc.Encode(s) != nil {
						return
					}
				case <-over.Done():
					return
				}
			}
		})
	}
	if stdin != nil {
		// Not waited for: its Read may never return.
		go func() {
			_, _ = io.Copy(stdin, o.Stdin)
			_ = stdin.Close()
		}()
	}
	status, err := io.ReadAll(io.LimitReader(errs, maxStatus))
	if err != nil {
		return fail(err)
	}
	for range copies {
		if err := <-copied; err != nil {
			return fail(err)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if version != "v4.channel.k8s.io" {
		// Before v4 the error stream holds a message, or nothing.
		if len(status) == 0 {
			return nil
		}
		return fmt.Errorf("stream: %s", status)
	}
	return outcome(status)
}
