package nodestream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/spdystream"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Dial runs a session on the streaming server of a container runtime, at the URL that the runtime returned,
// and returns the exit code.
func Dial(ctx context.Context, target string, s *Session) (int, error) {
	sc, err := dialSPDY(ctx, target, execProtocols[0])
	if err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = sc.Close() })
	defer stop()
	defer sc.Close()
	open := func(kind string) *spdystream.Stream {
		if err != nil {
			return nil
		}
		var st *spdystream.Stream
		st, err = openStream(sc, streamHeader(kind))
		return st
	}
	var stdin, stdout, stderr, resize *spdystream.Stream
	report := open("error")
	if s.Stdin != nil {
		stdin = open("stdin")
	}
	if s.Stdout != nil {
		stdout = open("stdout")
	}
	if s.Stderr != nil && !s.TTY {
		stderr = open("stderr")
	}
	if s.TTY {
		resize = open("resize")
	}
	if err != nil {
		return 0, fmt.Errorf("open streams: %w", err)
	}
	if stdin != nil {
		go func() { // ends with the connection or the client's input
			_, _ = io.Copy(stdin, s.Stdin)
			_ = stdin.Close()
		}()
	}
	if resize != nil {
		go func() {
			e := json.NewEncoder(resize)
			for size := range s.Resize {
				if e.Encode(size) != nil {
					return
				}
			}
		}()
	}
	var copies sync.WaitGroup
	carry := func(to io.Writer, from *spdystream.Stream) {
		if from != nil {
			copies.Go(func() { _, _ = io.Copy(to, from) })
		}
	}
	carry(s.Stdout, stdout)
	carry(s.Stderr, stderr)
	outcome, err := io.ReadAll(io.LimitReader(report, 1<<20))
	copies.Wait()
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err != nil && len(outcome) == 0 {
		return 0, err
	}
	return exitOf(outcome)
}

// exitOf reads the status on the error stream.
func exitOf(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	var st metav1.Status
	if json.Unmarshal(b, &st) != nil {
		return 0, errors.New(strings.TrimSpace(string(b)))
	}
	switch {
	case st.Status == metav1.StatusSuccess:
		return 0, nil
	case st.Reason == "NonZeroExitCode" && st.Details != nil:
		for _, c := range st.Details.Causes {
			if c.Type == "ExitCode" {
				return strconv.Atoi(c.Message)
			}
		}
	}
	return 0, errors.New(st.Message)
}

// DialPortForward carries one connection to a port through the streaming server of a container runtime.
func DialPortForward(ctx context.Context, target string, port uint16, stream io.ReadWriteCloser) error {
	sc, err := dialSPDY(ctx, target, forwardProtocol)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = sc.Close() })
	defer stop()
	defer sc.Close()
	h := streamHeader("error", portHeader, strconv.Itoa(int(port)), requestHeader, "0")
	report, err := openStream(sc, h)
	if err != nil {
		return err
	}
	_ = report.Close() // nothing is ever sent on it
	h = h.Clone()
	h.Set(streamType, "data")
	data, err := openStream(sc, h)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(data, stream)
		_ = data.Close()
	}()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = io.Copy(stream, data)
	}()
	text, _ := io.ReadAll(io.LimitReader(report, 1<<16))
	if len(text) > 0 {
		return errors.New(string(text))
	}
	select {
	case <-answered:
	case <-ctx.Done():
	}
	return nil
}

// streamHeader is the header of a stream of a kind, with further names and values.
func streamHeader(kind string, more ...string) http.Header {
	h := http.Header{}
	h.Set(streamType, kind)
	for i := 0; i+1 < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	return h
}

func openStream(sc *spdystream.Connection, h http.Header) (*spdystream.Stream, error) {
	s, err := sc.CreateStream(h, nil, false)
	if err != nil {
		return nil, err
	}
	if err := s.WaitTimeout(streamTimeout); err != nil {
		return nil, err
	}
	return s, nil
}

// dialSPDY upgrades a connection to target. Closing the connection does not wait for its streams.
func dialSPDY(ctx context.Context, target, protocol string) (*spdystream.Connection, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest(http.MethodPost, target, nil)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}, protocolHeader: {protocol}}
	_ = conn.SetDeadline(time.Now().Add(streamTimeout))
	if err := r.Write(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	br := bufio.NewReader(conn)
	resp, err := http.ReadResponse(br, r)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<12))
		_ = conn.Close()
		return nil, fmt.Errorf("streaming server answered %s: %s", resp.Status, b)
	}
	_ = conn.SetDeadline(time.Time{})
	sc, err := spdystream.NewConnection(bufferedConn{conn, br}, false)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	sc.SetCloseTimeout(time.Millisecond) // here, because it must not be called concurrently with Close
	go sc.Serve(func(s *spdystream.Stream) { _ = s.Refuse() })
	return sc, nil
}
