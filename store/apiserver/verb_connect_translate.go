package apiserver

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/spdy"
)

// servesWebSockets is the feature of nodes whose kubelets serve WebSockets of all protocols. Others, of
// Kubernetes before 1.36, know neither of the two that clients use: for them this server speaks SPDY.
const servesWebSockets = "ExtendWebSocketsToKubelet"

const (
	// channelProtocol is exec and attach over a WebSocket, since a client can end its input.
	channelProtocol = "v5.channel.k8s.io"
	// streamProtocol is what corresponds to it over SPDY.
	streamProtocol = "v4.channel.k8s.io"
)

// The channels of a WebSocket, the first byte of each message.
const (
	channelStdin = iota
	channelStdout
	channelStderr
	channelError
	channelResize
	// channelClose ends the channel named by the byte after it.
	channelClose = 255
)

// idleStreams is how long nothing may be sent over translated streams; kubelets end theirs then too.
const idleStreams = 4 * time.Hour

// connectTranslated serves a WebSocket to a node that does not; it reports false for other requests, which
// are for the node as they are.
func (s *Server) connectTranslated(r *request, node *corev1.Node, u *url.URL) bool {
	if slices.Contains(node.Status.DeclaredFeatures, servesWebSockets) || !r.webSocket() {
		return false
	}
	if r.info.Subresource == "portforward" {
		protocols := r.tunnelled()
		if len(protocols) > 0 {
			s.tunnel(r, u, protocols)
		}
		return len(protocols) > 0
	}
	if !slices.Contains(r.webSocketProtocols(), channelProtocol) {
		return false
	}
	code := s.translate(r, u)
	if hook := s.opts.Metrics.Translated; hook != nil {
		hook(code)
	}
	return true
}

// webSocketProtocols are those that the client offers.
func (r *request) webSocketProtocols() []string {
	var out []string
	for p := range strings.SplitSeq(strings.Join(r.Header["Sec-Websocket-Protocol"], ","), ",") {
		out = append(out, strings.TrimSpace(p))
	}
	return out
}

// translate carries the streams of a process between a WebSocket and SPDY. The client learns all errors from
// its channel for them, as the WebSocket is there first. The result is the code of the outcome.
func (s *Server) translate(r *request, u *url.URL) int {
	// The origin is not compared with the host, as for logs.
	ws, err := websocket.Accept(r.w, r.Request, &websocket.AcceptOptions{Subprotocols: []string{channelProtocol}, InsecureSkipVerify: true})
	if err != nil {
		return http.StatusBadRequest // the client has been answered
	}
	ws.SetReadLimit(-1) // messages are passed on in parts
	ctx, cancel := s.lifecycle.within(r.Context(), cutting)
	defer cancel()
	idle := time.AfterFunc(idleStreams, cancel)
	defer idle.Stop()
	c := &channels{Conn: ws, idle: idle}
	stdin, toStdin := io.Pipe()
	resize, toResize := io.Pipe()
	var reading sync.WaitGroup
	reading.Go(func() {
		defer cancel() // the client has gone
		defer toStdin.Close()
		defer toResize.Close()
		c.read(ctx, map[byte]*io.PipeWriter{channelStdin: toStdin, channelResize: toResize})
	})
	p := spdy.Process{}
	flag := func(name string) bool { return boolParam(r.query, name) }
	if flag("stdin") {
		p.Stdin = input{stdin}
	} else {
		_ = stdin.Close()
	}
	first := byte(channelError)
	if flag("stderr") && !flag("tty") {
		p.Stderr, first = c.writer(ctx, channelStderr), channelStderr
	}
	if flag("stdout") {
		p.Stdout, first = c.writer(ctx, channelStdout), channelStdout
	}
	if flag("tty") {
		p.Resize = func(ctx context.Context, w io.Writer) {
			defer context.AfterFunc(ctx, func() { _ = resize.Close() })()
			_, _ = input{resize}.WriteTo(w)
		}
	} else {
		_ = resize.Close()
	}
	// An empty message means that the session is open.
	_, _ = c.writer(ctx, first).Write(nil)
	status, err := s.runOnNode(ctx, r, u, p)
	_ = stdin.Close() // frees a reader that passes input on
	_ = resize.Close()
	defer reading.Wait()
	if ctx.Err() != nil { // the client has gone
		_ = ws.CloseNow()
		return http.StatusOK
	}
	if err != nil {
		status, _ = codec.Marshal(apierrors.NewInternalError(err).Status())
	}
	report, done := context.WithTimeout(ctx, 10*time.Second)
	defer done()
	_, _ = c.writer(report, channelError).Write(status)
	_ = ws.Close(websocket.StatusNormalClosure, "")
	return outcome(status)
}

// outcome is the code of a status that ends a process: that the process failed is no error of this server.
func outcome(b []byte) int {
	switch err := spdy.Outcome(b).(type) {
	case nil, *spdy.ExitError:
		return http.StatusOK
	case *apierrors.StatusError:
		return cmp.Or(int(err.ErrStatus.Code), http.StatusInternalServerError)
	}
	return http.StatusInternalServerError
}

// runOnNode carries the streams of a process to a node, and returns the status with which it has ended.
func (s *Server) runOnNode(ctx context.Context, r *request, u *url.URL, p spdy.Process) ([]byte, error) {
	conn, err := spdy.Dial(ctx, s.nodes(r), u.String(), streamProtocol)
	if err != nil {
		return nil, err
	}
	status, err := conn.Run(ctx, p)
	if err == nil && len(status) == 0 {
		err = fmt.Errorf("the connection to the node ended without the status of the process: %w", io.ErrUnexpectedEOF)
	}
	return status, err
}

// channels are those of a WebSocket.
type channels struct {
	*websocket.Conn
	idle *time.Timer
}

// read passes on what the client sends until the connection ends, or the client breaks the protocol. What is
// for other channels, or for one that is no longer read, is dropped.
func (c *channels) read(ctx context.Context, to map[byte]*io.PipeWriter) {
	for {
		_, m, err := c.Reader(ctx)
		if err != nil {
			return
		}
		c.idle.Reset(idleStreams)
		var channel [1]byte
		switch _, err := io.ReadFull(m, channel[:]); {
		case err == io.EOF:
			continue // empty
		case err != nil:
			return
		}
		if channel[0] == channelClose {
			b, err := io.ReadAll(io.LimitReader(m, 2))
			if err != nil || len(b) != 1 || b[0] > channelResize {
				return
			}
			if w := to[b[0]]; w != nil {
				_ = w.Close()
			}
			continue
		}
		if _, err := io.Copy(dropping{to[channel[0]]}, m); err != nil {
			return
		}
	}
}

// writer returns a writer to a channel, which ends with ctx.
func (c *channels) writer(ctx context.Context, channel byte) io.Writer {
	return writerFunc(func(b []byte) (int, error) {
		c.idle.Reset(idleStreams)
		if err := c.Write(ctx, websocket.MessageBinary, append([]byte{channel}, b...)); err != nil {
			return 0, err
		}
		return len(b), nil
	})
}

type writerFunc func(b []byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// dropping writes to a pipe as long as that is read.
type dropping struct{ w *io.PipeWriter }

// Write implements io.Writer.
func (d dropping) Write(b []byte) (int, error) {
	if d.w != nil {
		_, _ = d.w.Write(b)
	}
	return len(b), nil
}

// input is a pipe that is closed when it cannot be passed on, so that its writer does not wait.
type input struct{ *io.PipeReader }

// WriteTo implements io.WriterTo, by which io.Copy reads it.
func (in input) WriteTo(w io.Writer) (int64, error) {
	defer in.Close()
	return io.Copy(w, in.PipeReader)
}
