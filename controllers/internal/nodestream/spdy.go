package nodestream

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/moby/spdystream"

	"github.com/keelson-dev/keelson/apimachinery/spdy"
)

const (
	acceptedHeader = "X-Accepted-Stream-Protocol-Versions"
	streamType     = "streamType"
	portHeader     = "port"
	requestHeader  = "requestID"
)

// execProtocols are the versions supported over SPDY, best first. Version 1 has no name in the oldest
// clients.
var execProtocols = []string{"v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"}

// negotiate picks the first of the client's protocols that is supported.
func negotiate(r *http.Request, supported []string) (string, bool) {
	var asked []string
	for _, v := range r.Header.Values(spdy.ProtocolHeader) {
		for p := range strings.SplitSeq(v, ",") {
			asked = append(asked, strings.TrimSpace(p))
		}
	}
	if len(asked) == 0 {
		return supported[len(supported)-1], true
	}
	for _, p := range asked {
		if slices.Contains(supported, p) {
			return p, true
		}
	}
	return "", false
}

// upgrade hijacks the connection for SPDY. On an error the reply has been sent.
func upgrade(w http.ResponseWriter, r *http.Request, supported []string) (net.Conn, string, error) {
	if !tokens(r.Header, "Connection", "upgrade") || !tokens(r.Header, "Upgrade", spdy.Upgrade) {
		err := BadRequest("unable to upgrade: missing upgrade headers in request: %v", r.Header.Values("Connection"))
		fail(w, err)
		return nil, "", err
	}
	protocol, ok := negotiate(r, supported)
	if !ok {
		for _, p := range supported {
			w.Header().Add(acceptedHeader, p)
		}
		err := &Error{Code: http.StatusForbidden, Text: fmt.Sprintf("unable to upgrade: unable to negotiate protocol: client supports %v, server accepts %v",
			r.Header.Values(spdy.ProtocolHeader), supported)}
		fail(w, err)
		return nil, "", err
	}
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", spdy.Upgrade)
	w.Header().Set(spdy.ProtocolHeader, protocol)
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, "", err
	}
	_ = conn.SetDeadline(time.Time{})
	return bufferedConn{conn, buffered.Reader}, protocol, nil
}

// tokens reports whether a header lists a token.
func tokens(h http.Header, name, token string) bool {
	for _, v := range h.Values(name) {
		for t := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

// bufferedConn reads what the HTTP server has read ahead first.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c bufferedConn) Read(b []byte) (int, error) { return c.r.Read(b) }

// acceptSPDY upgrades and waits until the client has opened the streams of the session.
func acceptSPDY(w http.ResponseWriter, r *http.Request, want wanted, idle time.Duration) (*link, error) {
	conn, protocol, err := upgrade(w, r, execProtocols)
	if err != nil {
		return nil, err
	}
	version := slices.Index([]string{"", "channel.k8s.io", "v2.channel.k8s.io", "v3.channel.k8s.io", "v4.channel.k8s.io"}, protocol)
	sc, err := spdystream.NewConnection(conn, true)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	sc.SetIdleTimeout(idle)
	need := 1
	for _, wanted := range []bool{want.stdin, want.stdout, want.stderr, want.resize && version >= 3} {
		if wanted {
			need++
		}
	}
	streams, err := receiveStreams(sc, need)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	done := make(chan struct{})
	go func() { <-sc.CloseChan(); close(done) }()
	l := &link{done: done}
	if s := streams["stdin"]; s != nil {
		l.stdin = s
	}
	if s := streams["stdout"]; s != nil {
		l.stdout = s
	}
	if s := streams["stderr"]; s != nil {
		l.stderr = s
	}
	if s := streams["resize"]; s != nil {
		l.resize = sizes(s, done)
	}
	l.finish = func(exit int, err error) {
		reportExit(streams["error"], version, exit, err)
		for _, name := range []string{"stdout", "stderr", "error"} {
			if s := streams[name]; s != nil {
				_ = s.Close()
			}
		}
		// The reset leaves no stream to wait for, so that closing does not depend on the client.
		for _, s := range streams {
			_ = s.Reset()
		}
		_ = sc.Close()
	}
	return l, nil
}

// receiveStreams waits until the client has opened the streams of the session, and returns them by name.
func receiveStreams(sc *spdystream.Connection, need int) (map[string]*spdystream.Stream, error) {
	opened := make(chan *spdystream.Stream, need)
	go sc.Serve(func(s *spdystream.Stream) {
		_ = s.SendReply(http.Header{}, false)
		select {
		case opened <- s:
		default:
			_ = s.Reset() // more streams than agreed
		}
	})
	streams := map[string]*spdystream.Stream{}
	timeout := time.NewTimer(streamTimeout)
	defer timeout.Stop()
	for len(streams) < need {
		select {
		case s := <-opened:
			name := s.Headers().Get(streamType)
			if _, twice := streams[name]; twice || !slices.Contains([]string{"error", "stdin", "stdout", "stderr", "resize"}, name) {
				return nil, fmt.Errorf("unexpected stream %q", name)
			}
			streams[name] = s
		case <-sc.CloseChan():
			return nil, errors.New("connection closed before all streams were open")
		case <-timeout.C:
			return nil, errors.New("timed out waiting for client to create streams")
		}
	}
	return streams, nil
}

// reportExit writes how the command ended to the error stream, in the form of a version of the protocol.
func reportExit(w io.Writer, version, exit int, err error) {
	switch {
	case version >= 4:
		b, _ := json.Marshal(status(exit, err))
		_, _ = w.Write(b)
	case err != nil:
		_, _ = io.WriteString(w, err.Error())
	case exit != 0:
		_, _ = io.WriteString(w, exitText(exit))
	}
}

// sizes decodes the JSON values of a resize stream.
func sizes(r io.Reader, done <-chan struct{}) <-chan Size {
	c := make(chan Size)
	go func() {
		defer close(c)
		d := json.NewDecoder(r)
		for {
			var s Size
			if d.Decode(&s) != nil {
				return
			}
			select {
			case c <- s:
			case <-done:
				return
			}
		}
	}()
	return c
}
