package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/keelson-dev/keelson/apimachinery/spdy"
	"github.com/keelson-dev/keelson/client"
)

// The channels of a message, its first byte.
const (
	chStdin  = 0
	chStdout = 1
	chStderr = 2
	chError  = 3
	chResize = 4
	chClose  = 255
)

// pingEvery is the interval of pings, which keep proxies from closing an idle connection and detect dead
// ones.
const pingEvery = 5 * time.Second

// pingPatience is how long no ping may have a reply, which follows all that the peer sent before it;
// client-go waits 61 s (tools/remotecommand/websocket.go, 0.36).
const pingPatience = 60 * time.Second

// maxMessage is the maximum size of a message from the server, in bytes.
const maxMessage = 32 << 20

// upgradeTransport performs the handshake of a WebSocket through a client.Conn.
type upgradeTransport struct {
	conn client.Conn
	req  client.Request
	err  error // of the request, as the connection returned it
}

// RoundTrip implements http.RoundTripper.
func (t *upgradeTransport) RoundTrip(hr *http.Request) (*http.Response, error) {
	up, ok := t.conn.(client.Upgrader)
	if !ok {
		return nil, fmt.Errorf("%T cannot upgrade requests: %w", t.conn, errors.ErrUnsupported)
	}
	r := t.req
	r.Method = http.MethodGet
	r.Header = maps.Clone(r.Header)
	if r.Header == nil {
		r.Header = map[string]string{}
	}
	for k, v := range hr.Header {
		if len(v) > 0 && k != "User-Agent" {
			r.Header[k] = v[0]
		}
	}
	u, err := up.Upgrade(hr.Context(), &r)
	if err != nil {
		t.err = err
		return nil, err
	}
	h := http.Header{}
	for k, v := range u.Header {
		h.Set(k, v)
	}
	return &http.Response{Status: "101 Switching Protocols", StatusCode: http.StatusSwitchingProtocols, Header: h, Body: u.Conn.(io.ReadCloser), Request: hr, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}, nil
}

// dialWebSocket opens a WebSocket with protocol.
func dialWebSocket(ctx context.Context, c client.Conn, r client.Request, protocol string) (*websocket.Conn, error) {
	// Any valid address: the transport uses that of the connection.
	transport := &upgradeTransport{conn: c, req: r}
	ws, _, err := websocket.Dial(ctx, "ws://server/", &websocket.DialOptions{
		HTTPClient:      &http.Client{Transport: transport},
		Subprotocols:    []string{protocol},
		CompressionMode: websocket.CompressionDisabled,
	})
	switch {
	case transport.err != nil:
		// The cause, without the wrapping of the libraries in between.
		return nil, transport.err
	case err != nil:
		return nil, err
	}
	if ws.Subprotocol() != protocol {
		ws.CloseNow()
		return nil, fmt.Errorf("the server does not support %s", protocol)
	}
	ws.SetReadLimit(maxMessage)
	return ws, nil
}

// keepAlive pings until ctx ends; it closes the connection if no ping had a reply for a while. The caller
// must read from ws meanwhile.
func keepAlive(ctx context.Context, ws *websocket.Conn) {
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	for replied := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		ping, cancel := context.WithDeadline(ctx, replied.Add(pingPatience))
		err := ws.Ping(ping)
		cancel()
		switch {
		case err == nil:
			replied = time.Now()
		case ctx.Err() != nil:
			return
		case time.Since(replied) >= pingPatience:
			ws.CloseNow()
			return
		}
		// Otherwise a message that the peer is slow to read was being written: Ping waits 5 s for its end.
	}
}

// runWebSocket carries the streams of a process over a WebSocket until it ends.
func runWebSocket(ctx context.Context, ws *websocket.Conn, opts Options) error {
	inner, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer func() {
		cancel()
		ws.CloseNow()
		wg.Wait()
	}()
	wg.Go(func() { keepAlive(inner, ws) })
	if opts.Stdin != nil {
		// Not waited for: its Read may never return.
		go func() {
			buf := make([]byte, 32<<10)
			buf[0] = chStdin
			for {
				n, err := opts.Stdin.Read(buf[1:])
				if n > 0 && ws.Write(inner, websocket.MessageBinary, buf[:n+1]) != nil {
					return
				}
				if err != nil {
					_ = ws.Write(inner, websocket.MessageBinary, []byte{chClose, chStdin})
					return
				}
			}
		}()
	}
	if opts.TTY && opts.Sizes != nil {
		wg.Go(func() {
			for {
				select {
				case s, ok := <-opts.Sizes:
					if !ok {
						return
					}
					b, _ := json.Marshal(s)
					if ws.Write(inner, websocket.MessageBinary, append([]byte{chResize}, b...)) != nil {
						return
					}
				case <-inner.Done():
					return
				}
			}
		})
	}
	var status []byte
	for {
		_, msg, err := ws.Read(inner)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if len(status) == 0 && websocket.CloseStatus(err) == -1 {
				return fmt.Errorf("stream: %w", err)
			}
			return outcome(status)
		}
		if len(msg) < 2 {
			continue
		}
		var w io.Writer
		switch msg[0] {
		case chStdout:
			w = opts.Stdout
		case chStderr:
			w = opts.Stderr
		case chError:
			if len(status)+len(msg) <= spdy.MaxStatus {
				status = append(status, msg[1:]...)
			}
		}
		if w != nil {
			if _, err := w.Write(msg[1:]); err != nil {
				return fmt.Errorf("stream: %w", err)
			}
		}
	}
}
