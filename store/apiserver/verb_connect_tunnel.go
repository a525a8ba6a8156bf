package apiserver

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/keelson-dev/keelson/apimachinery/spdy"
)

// tunnelPrefix begins the protocols of a SPDY connection within a WebSocket, before the name that the
// protocol has over SPDY alone.
const tunnelPrefix = "SPDY/3.1+"

// tunnelled are the protocols over SPDY that the client offers within a WebSocket.
func (r *request) tunnelled() []string {
	var out []string
	for _, p := range r.webSocketProtocols() {
		if name, ok := strings.CutPrefix(p, tunnelPrefix); ok && strings.HasSuffix(name, ".k8s.io") {
			out = append(out, name)
		}
	}
	return out
}

// tunnel carries the bytes of a SPDY connection with a node in the messages of a WebSocket. The client gets
// the response of a node that refuses.
func (s *Server) tunnel(r *request, u *url.URL, protocols []string) {
	measure := func(code int) {
		if hook := s.opts.Metrics.Tunnelled; hook != nil {
			hook(code)
		}
	}
	ctx, cancel := s.lifecycle.within(r.Context(), cutting)
	defer cancel()
	connected := false
	asked := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	resp, node, err := spdy.Request(asked, s.nodes(r), u.String(), protocols...)
	if err != nil {
		r.fail(r.backendError(u, err, connected))
		return
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode != http.StatusSwitchingProtocols:
		measure(resp.StatusCode)
		r.w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		r.w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(r.w, resp.Body)
		return
	case node == nil:
		measure(http.StatusInternalServerError)
		http.Error(r.w, "unable to upgrade: missing upgrade headers in response", http.StatusInternalServerError)
		return
	}
	accept := &websocket.AcceptOptions{InsecureSkipVerify: true} // as for logs
	if agreed := strings.TrimSpace(resp.Header.Get(spdy.ProtocolHeader)); agreed != "" {
		accept.Subprotocols = []string{tunnelPrefix + agreed}
	}
	ws, err := websocket.Accept(r.w, r.Request, accept)
	if err != nil {
		measure(http.StatusInternalServerError)
		return // the client has been answered
	}
	measure(http.StatusSwitchingProtocols)
	idle := time.AfterFunc(idleStreams, cancel)
	defer idle.Stop()
	client := websocket.NetConn(ctx, ws, websocket.MessageBinary)
	defer context.AfterFunc(ctx, func() { _ = node.Close() })()
	var carrying sync.WaitGroup
	carry := func(to io.WriteCloser, from io.Reader) {
		_, _ = io.Copy(to, active{from, idle})
		_ = to.Close()
	}
	carrying.Go(func() { carry(node, client) })
	carry(client, node)
	cancel() // frees the other direction if the node does not read
	carrying.Wait()
}

// active is a reader that delays the end of what is idle.
type active struct {
	io.Reader
	idle *time.Timer
}

// Read implements io.Reader.
func (a active) Read(b []byte) (int, error) {
	n, err := a.Reader.Read(b)
	a.idle.Reset(idleStreams)
	return n, err
}
