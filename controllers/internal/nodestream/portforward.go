package nodestream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/websocket"
	"github.com/moby/spdystream"

	"github.com/keelson-dev/keelson/apimachinery/spdy"
)

const (
	forwardProtocol = "portforward.k8s.io"
	// tunnelProtocol carries the SPDY connection of a port forwarding in binary WebSocket messages.
	tunnelProtocol = "SPDY/3.1+portforward.k8s.io"
)

// portForward serves pairs of a data and an error stream, one pair per forwarded connection.
func (h *handler) portForward(w http.ResponseWriter, r *http.Request) {
	namespace, pod := r.PathValue("namespace"), r.PathValue("pod")
	web := strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
	var ports []uint16
	plain := web && !tokens(r.Header, "Sec-WebSocket-Protocol", tunnelProtocol)
	if plain {
		var err error
		if ports, err = portsOf(r.URL.Query()[portHeader]); err != nil {
			fail(w, err)
			return
		}
	}
	if err := h.backend.Find(r.Context(), namespace, pod, ""); err != nil {
		fail(w, err)
		return
	}
	if plain {
		h.channelForward(w, r, ports)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var conn net.Conn
	if web {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{tunnelProtocol}})
		if err != nil {
			h.log.Debug("start port forwarding failed", "path", r.URL.Path, "err", err)
			return
		}
		c.SetReadLimit(maxMessage)
		conn = websocket.NetConn(ctx, c, websocket.MessageBinary)
	} else {
		var err error
		if conn, _, err = upgrade(w, r, []string{forwardProtocol}); err != nil {
			h.log.Debug("start port forwarding failed", "path", r.URL.Path, "err", err)
			return
		}
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	sc, err := spdystream.NewConnection(conn, true)
	if err != nil {
		_ = conn.Close()
		return
	}
	sc.SetIdleTimeout(h.idle)
	f := &forwarding{backend: h.backend, namespace: namespace, pod: pod, half: map[string]*spdystream.Stream{}}
	sc.Serve(func(s *spdystream.Stream) { f.opened(ctx, s) }) // returns when the connection has ended
	cancel()
	f.running.Wait()
	_ = conn.Close()
}

// forwarding pairs the streams of one connection.
type forwarding struct {
	backend        Backend
	namespace, pod string
	running        sync.WaitGroup

	mu   sync.Mutex
	half map[string]*spdystream.Stream // by request, the first stream of a pair
}

// maxHalves bounds the streams that wait for the other of their pair.
const maxHalves = 1000

func (f *forwarding) opened(ctx context.Context, s *spdystream.Stream) {
	kind, id := s.Headers().Get(streamType), s.Headers().Get(requestHeader)
	port, err := strconv.ParseUint(s.Headers().Get(portHeader), 10, 16)
	if kind != "data" && kind != "error" || err != nil || port == 0 {
		_ = s.Refuse()
		return
	}
	if id == "" {
		// The oldest clients number nothing and open the error stream right before the data stream.
		n := s.Identifier()
		if kind == "data" {
			n -= 2
		}
		id = "#" + strconv.FormatUint(uint64(n), 10)
	}
	f.mu.Lock()
	other := f.half[id]
	if other != nil {
		delete(f.half, id)
	} else if len(f.half) < maxHalves {
		f.half[id] = s
	} else {
		f.mu.Unlock()
		_ = s.Refuse()
		return
	}
	f.mu.Unlock()
	_ = s.SendReply(http.Header{}, false)
	if other == nil {
		return
	}
	if other.Headers().Get(streamType) == kind {
		_, _ = s.Reset(), other.Reset()
		return
	}
	data, report := s, other
	if kind == "error" {
		data, report = other, s
	}
	f.running.Go(func() { f.run(ctx, uint16(port), data, report) })
}

func (f *forwarding) run(ctx context.Context, port uint16, data, report *spdystream.Stream) {
	err := f.backend.PortForward(ctx, f.namespace, f.pod, port, data)
	if err != nil {
		_, _ = io.WriteString(report, failureOf(port, f.pod, err))
	}
	// The report first: clients read it when the data ends.
	_, _ = report.Close(), data.Close()
	_, _ = report.Reset(), data.Reset()
}

// failureOf is the report of a connection that failed: as the container runtime wrote it, if it did.
func failureOf(port uint16, pod string, err error) string {
	if reported, ok := errors.AsType[*spdy.PortError](err); ok {
		return reported.Message
	}
	return fmt.Sprintf("error forwarding port %d to pod %s: %v", port, pod, err)
}
