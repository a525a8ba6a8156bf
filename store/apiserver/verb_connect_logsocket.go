package apiserver

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

// The protocols of a log over a WebSocket: binary messages, the default, or text messages in base64.
const (
	binaryLog = "binary.k8s.io"
	base64Log = "base64.binary.k8s.io"
)

// webSocket reports whether the client wants the connection to become a WebSocket.
func (r *request) webSocket() bool { return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") }

// socketLog reads a log from a kubelet and sends it over a WebSocket, which kubelets do not support for logs.
// An empty message marks the beginning.
func (s *Server) socketLog(r *request, u *url.URL) {
	if s.opts.Nodes == nil {
		r.fail(apierrors.NewServiceUnavailable("this server cannot reach nodes"))
		return
	}
	ctx, cancel := s.lifecycle.within(r.Context(), cutting)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		r.fail(apierrors.NewInternalError(err))
		return
	}
	resp, err := s.nodes(r).RoundTrip(req)
	if err != nil {
		r.fail(r.backendError(u, err, false))
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		r.fail(logError(resp))
		return
	}
	// The origin is not compared with the host, as kube-apiserver does not: programs that use a library for
	// browsers send any.
	c, err := websocket.Accept(r.w, r.Request, &websocket.AcceptOptions{Subprotocols: []string{binaryLog, base64Log}, InsecureSkipVerify: true})
	if err != nil {
		return // the client has been answered
	}
	ctx = c.CloseRead(ctx)
	if copyLog(ctx, c, resp.Body) == nil {
		_ = c.Close(websocket.StatusNormalClosure, "")
		return
	}
	_ = c.CloseNow()
}

func copyLog(ctx context.Context, c *websocket.Conn, log io.Reader) error {
	send := func(b []byte) error { return c.Write(ctx, websocket.MessageBinary, b) }
	if c.Subprotocol() == base64Log {
		send = func(b []byte) error {
			return c.Write(ctx, websocket.MessageText, base64.StdEncoding.AppendEncode(nil, b))
		}
	}
	if err := send(nil); err != nil {
		return err
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := log.Read(buf)
		if n > 0 {
			if err := send(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
