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

// protocolHeader negotiates the meaning of the streams of a SPDY connection.
const protocolHeader = "X-Stream-Protocol-Version"

// rawConn is an upgraded connection as a net.Conn. Deadlines are not supported.
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

// serveSPDY runs SPDY over raw, as the client.
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
func runSPDY(ctx context.Context, conn *spdyConn, version string, opts Options) error {
	p := &spdyProcess{conn: conn, opts: opts, copied: make(chan error, 2)}
	stop := context.AfterFunc(ctx, func() { conn.raw.Close() })
	over, cancel := context.WithCancel(ctx)
	status, err := p.follow(over, version)
	cancel()
	stop()
	conn.end()
	p.wg.Wait()
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

// spdyProcess is a process whose streams are those of a SPDY connection.
type spdyProcess struct {
	conn   *spdyConn
	opts   Options
	wg     sync.WaitGroup
	copied chan error // how reading each output ended
}

// follow opens the streams, in the order servers expect them, and carries them until the process has ended.
// It returns the content of the error stream.
func (p *spdyProcess) follow(ctx context.Context, version string) ([]byte, error) {
	errs, err := p.conn.open(streamType("error"))
	if err != nil {
		return nil, err
	}
	_ = errs.Close() // it is only read
	var stdin *spdystream.Stream
	if p.opts.Stdin != nil {
		if stdin, err = p.conn.open(streamType("stdin")); err != nil {
			return nil, err
		}
	}
	outputs, err := p.output("stdout", p.opts.Stdout, 0)
	if err != nil {
		return nil, err
	}
	if outputs, err = p.output("stderr", p.opts.Stderr, outputs); err != nil {
		return nil, err
	}
	// Sizes of terminals are part of version 3 and later.
	if p.opts.TTY && p.opts.Sizes != nil && (version == "v3.channel.k8s.io" || version == "v4.channel.k8s.io") {
		if err := p.resize(ctx); err != nil {
			return nil, err
		}
	}
	if stdin != nil {
		// Not waited for: its Read may never return.
		go func() {
			_, _ = io.Copy(stdin, p.opts.Stdin)
			_ = stdin.Close()
		}()
	}
	status, err := io.ReadAll(io.LimitReader(errs, maxStatus))
	for range outputs {
		if err == nil {
			err = <-p.copied
		}
	}
	return status, err
}

// output copies an output of the process to w, if that is not nil. It returns one more than n if there is
// something to wait for.
func (p *spdyProcess) output(name string, w io.Writer, n int) (int, error) {
	if w == nil {
		return n, nil
	}
	st, err := p.conn.open(streamType(name))
	if err != nil {
		return n, err
	}
	_ = st.Close()
	p.wg.Go(func() {
		_, err := io.Copy(w, st)
		p.copied <- err
	})
	return n + 1, nil
}

// resize sends the sizes of the terminal until ctx ends.
func (p *spdyProcess) resize(ctx context.Context) error {
	st, err := p.conn.open(streamType("resize"))
	if err != nil {
		return err
	}
	p.wg.Go(func() {
		enc := json.NewEncoder(st)
		for {
			select {
			case s, ok := <-p.opts.Sizes:
				if !ok || enc.Encode(s) != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}
