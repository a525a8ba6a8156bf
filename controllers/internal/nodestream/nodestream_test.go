package nodestream

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/spdy"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// echo is a backend whose command determines what the streams do.
type echo struct{}

func (echo) Find(_ context.Context, _, pod, container string) error {
	if pod != "p" {
		return NotFound("pod does not exist")
	}
	if container != "" && container != "c" {
		return NotFound("container %q not found in pod %q\n", container, pod)
	}
	return nil
}

func (echo) Exec(ctx context.Context, s *Session) (int, error) {
	switch s.Command[0] {
	case "cat":
		_, err := io.Copy(s.Stdout, s.Stdin)
		return 0, err
	case "fail":
		_, _ = io.WriteString(s.Stderr, "no\n")
		return 7, nil
	case "error":
		return 0, errors.New("broken")
	case "size":
		size := <-s.Resize
		_, _ = fmt.Fprintf(s.Stdout, "%dx%d", size.Width, size.Height)
		return 0, nil
	case "many":
		for i := range 2000 {
			_, _ = fmt.Fprintf(s.Stdout, "line %d\n", i)
		}
		return 0, nil
	case "flood":
		for {
			if _, err := s.Stdout.Write(make([]byte, 10_000)); err != nil {
				return 0, err
			}
		}
	case "hang":
		_, _ = io.WriteString(s.Stdout, "started")
		<-ctx.Done()
		return 0, ctx.Err()
	}
	_, _ = fmt.Fprint(s.Stdout, strings.Join(s.Command, " "))
	return 0, nil
}

func (e echo) Attach(ctx context.Context, s *Session) (int, error) {
	s.Command = []string{"attached"}
	return e.Exec(ctx, s)
}

func (echo) PortForward(_ context.Context, _, _ string, port uint16, stream io.ReadWriteCloser) error {
	if port == 1 {
		return errors.New("nobody listens")
	}
	for port == 2 {
		if _, err := stream.Write(make([]byte, 10_000)); err != nil {
			return err
		}
	}
	b, err := io.ReadAll(stream)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stream, "%d:%s", port, b)
	return err
}

func (echo) Logs(ctx context.Context, _, _, _ string, opts *corev1.PodLogOptions, w io.Writer) error {
	if opts.Previous {
		return BadRequest("previous terminated container not found")
	}
	if _, err := io.WriteString(w, "one\ntwo\n"); err != nil {
		return err
	}
	if opts.Follow {
		<-ctx.Done()
	}
	return nil
}

func serve(t *testing.T) string {
	s := httptest.NewServer(NewHandler(echo{}, Options{}))
	t.Cleanup(s.Close)
	return s.URL
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestExecOverSPDY(t *testing.T) {
	url := serve(t)
	run := func(query string, s *Session) (int, error) {
		return Dial(within(t), url+"/exec/ns/p/c?"+query, s)
	}
	var out, errOut bytes.Buffer
	exit, err := run("command=cat&input=1&output=1", &Session{Stdin: strings.NewReader(strings.Repeat("x", 200_000)), Stdout: &out})
	require.NoError(t, err)
	require.Zero(t, exit)
	require.Len(t, out.String(), 200_000)

	exit, err = run("command=fail&error=1", &Session{Stderr: &errOut})
	require.NoError(t, err)
	require.Equal(t, 7, exit)
	require.Equal(t, "no\n", errOut.String())

	_, err = run("command=error&output=1", &Session{Stdout: io.Discard})
	require.ErrorContains(t, err, "broken")

	for range 20 { // nothing is cut off when the session ends
		out.Reset()
		_, err = run("command=many&output=1", &Session{Stdout: &out})
		require.NoError(t, err)
		require.Equal(t, 2000, strings.Count(out.String(), "\n"))
	}

	out.Reset()
	resize := make(chan Size, 1)
	resize <- Size{Width: 80, Height: 25}
	close(resize)
	_, err = run("command=size&output=1&tty=1", &Session{Stdout: &out, TTY: true, Resize: resize})
	require.NoError(t, err)
	require.Equal(t, "80x25", out.String())

	out.Reset()
	_, err = Dial(within(t), url+"/attach/ns/p/c?output=1", &Session{Stdout: &out})
	require.NoError(t, err)
	require.Equal(t, "attached", out.String())
}

// onWrite is a writer that calls a function instead.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

func TestExecOverWebSocket(t *testing.T) {
	url := serve(t)
	dial := func(query, protocol string) *websocket.Conn {
		c, _, err := websocket.Dial(within(t), url+"/exec/ns/p/c?"+query, &websocket.DialOptions{Subprotocols: []string{protocol}})
		require.NoError(t, err)
		require.Equal(t, protocol, c.Subprotocol())
		t.Cleanup(func() { _ = c.CloseNow() })
		return c
	}
	collect := func(c *websocket.Conn) map[byte]string {
		got := map[byte]string{}
		for {
			_, m, err := c.Read(within(t))
			if err != nil {
				require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(err))
				return got
			}
			got[m[0]] += string(m[1:])
		}
	}
	c := dial("command=cat&input=1&output=1", "v5.channel.k8s.io")
	require.NoError(t, c.Write(within(t), websocket.MessageBinary, append([]byte{channelStdin}, "hello"...)))
	require.NoError(t, c.Write(within(t), websocket.MessageBinary, []byte{channelClose, channelStdin}))
	got := collect(c)
	require.Equal(t, "hello", got[channelStdout])
	var st metav1.Status
	require.NoError(t, json.Unmarshal([]byte(got[channelError]), &st))
	require.Equal(t, metav1.StatusSuccess, st.Status)

	got = collect(dial("command=fail&error=1&output=1", "v4.channel.k8s.io"))
	require.Equal(t, "no\n", got[channelStderr])
	var exit *spdy.ExitError
	require.ErrorAs(t, spdy.Outcome([]byte(got[channelError])), &exit)
	require.Equal(t, 7, exit.Code)

	got = collect(dial("command=a&command=b&output=1", "v4.base64.channel.k8s.io"))
	text, err := base64.StdEncoding.DecodeString(got['0'+channelStdout])
	require.NoError(t, err)
	require.Equal(t, "a b", string(text))
}

func TestPortForward(t *testing.T) {
	url := serve(t)
	t.Run("SPDY", func(t *testing.T) {
		a, b := net.Pipe()
		go func() {
			_, _ = io.WriteString(a, "ping")
			_ = a.Close()
		}()
		var got bytes.Buffer
		require.NoError(t, DialPortForward(within(t), url+"/portForward/ns/p", 80, struct {
			io.ReadCloser
			io.Writer
		}{b, &got}))
		require.Equal(t, "80:ping", got.String())
		err := DialPortForward(within(t), url+"/portForward/ns/p", 1, struct {
			io.ReadCloser
			io.Writer
		}{io.NopCloser(strings.NewReader("")), io.Discard})
		require.ErrorContains(t, err, "error forwarding port 1 to pod p: nobody listens")
	})
	t.Run("WebSocket tunnel", func(t *testing.T) {
		ctx := within(t)
		c, _, err := websocket.Dial(ctx, url+"/portForward/ns/p", &websocket.DialOptions{Subprotocols: []string{tunnelProtocol}})
		require.NoError(t, err)
		conn, err := spdy.New(websocket.NetConn(ctx, c, websocket.MessageBinary))
		require.NoError(t, err)
		defer conn.End()
		data, err := conn.OpenPort(81)
		require.NoError(t, err)
		require.NoError(t, data.WriteData([]byte("pong"), true))
		b, err := io.ReadAll(data)
		require.NoError(t, err)
		require.Equal(t, "81:pong", string(b))
	})
}

func TestLogs(t *testing.T) {
	url := serve(t)
	get := func(path string) (int, string) {
		r, err := http.Get(url + path)
		require.NoError(t, err)
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return r.StatusCode, string(b)
	}
	for _, c := range []struct {
		path string
		code int
		body string
	}{
		{"/containerLogs/ns/p/c", 200, "one\ntwo\n"},
		{"/containerLogs/ns/p/c?limitBytes=5&follow=true", 200, "one\nt"},
		{"/containerLogs/ns/p/c?previous=true", 400, "previous terminated container not found"},
		{"/containerLogs/ns/q/c", 404, "pod \"q\" does not exist\n"},
		{"/containerLogs/ns/p/d", 404, "container \"d\" not found in pod \"p\"\n"},
		{"/containerLogs/ns/p/c?tailLines=-1", 400, "tailLines: \"-1\" is not a number of 0 or more"},
		{"/exec/ns/q/c?command=x&output=1", 404, "pod does not exist"},
		{"/exec/ns/p/c?output=1", 400, "you must specify at least 1 command"},
		{"/exec/ns/p/c?command=x", 400, "you must specify at least 1 of stdin, stdout, stderr"},
	} {
		code, body := get(c.path)
		require.Equal(t, c.code, code, c.path)
		require.Equal(t, c.body, body, c.path)
	}
}

func TestNoCommonProtocol(t *testing.T) {
	r, err := http.NewRequest(http.MethodPost, serve(t)+"/exec/ns/p/c?command=x&output=1", nil)
	require.NoError(t, err)
	r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {spdy.Upgrade}, spdy.ProtocolHeader: {"v9.channel.k8s.io"}}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	require.Contains(t, resp.Header.Values(acceptedHeader), "v4.channel.k8s.io")
}

func FuzzWebSocketMessage(f *testing.F) {
	f.Add([]byte{0, 'x'}, false)
	f.Add([]byte{255, 0}, false)
	f.Add([]byte("4e30="), true)
	url := ""
	s := httptest.NewServer(NewHandler(echo{}, Options{}))
	f.Cleanup(s.Close)
	url = s.URL
	f.Fuzz(func(t *testing.T, m []byte, text bool) {
		protocol, kind := "v5.channel.k8s.io", websocket.MessageBinary
		if text {
			protocol, kind = "v4.base64.channel.k8s.io", websocket.MessageText
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c, _, err := websocket.Dial(ctx, url+"/exec/ns/p/c?command=cat&input=1&output=1&tty=1", &websocket.DialOptions{Subprotocols: []string{protocol}})
		require.NoError(t, err)
		_ = c.Write(ctx, kind, m)
		_ = c.CloseNow()
	})
}

// A page of another origin must not open a session with the browser's client certificate.
func TestWebSocketsOfOtherPages(t *testing.T) {
	url := serve(t)
	for _, c := range []struct {
		origin, path, protocol string
		want                   int
	}{
		{"https://evil.example", "/exec/ns/p/c?command=many&output=1", "v5.channel.k8s.io", http.StatusForbidden},
		{"null", "/exec/ns/p/c?command=many&output=1", "v5.channel.k8s.io", http.StatusForbidden},
		{"https://evil.example", "/attach/ns/p/c?output=1", "v4.channel.k8s.io", http.StatusForbidden},
		{"https://evil.example", "/portForward/ns/p", tunnelProtocol, http.StatusForbidden},
		{url, "/exec/ns/p/c?command=many&output=1", "v5.channel.k8s.io", http.StatusSwitchingProtocols},
		{url, "/portForward/ns/p", tunnelProtocol, http.StatusSwitchingProtocols},
		// No browser.
		{"", "/exec/ns/p/c?command=many&output=1", "v5.channel.k8s.io", http.StatusSwitchingProtocols},
	} {
		header := http.Header{}
		if c.origin != "" {
			header.Set("Origin", c.origin)
		}
		conn, resp, err := websocket.Dial(within(t), url+c.path, &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{c.protocol}})
		require.NotNil(t, resp, "%v", err)
		require.Equal(t, c.want, resp.StatusCode, "%s from %q", c.path, c.origin)
		if err == nil {
			_ = conn.CloseNow()
		}
	}
}

// Connections that were hijacked for streams end with their server.
func TestSessionsEndWithTheServer(t *testing.T) {
	for _, protocol := range []string{"spdy", "websocket", "port forwarding", "tunnel", "logs"} {
		t.Run(protocol, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			var handlers sync.WaitGroup
			began := make(chan struct{}, 1)
			h := NewHandler(echo{}, Options{})
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handlers.Add(1)
				defer handlers.Done()
				began <- struct{}{}
				h.ServeHTTP(w, r)
			}))
			s.Config.BaseContext = func(net.Listener) context.Context { return ctx }
			s.Start()
			t.Cleanup(s.Close)
			exec := "/exec/ns/p/c?command=hang&output=1&input=1"
			wait := func() {}
			switch protocol {
			case "spdy":
				done := make(chan error, 1)
				go func() {
					_, err := Dial(within(t), s.URL+exec, &Session{Stdin: silent(t.Context().Done()), Stdout: io.Discard})
					done <- err
				}()
				wait = func() { require.Error(t, <-done) }
			case "websocket":
				c, _, err := websocket.Dial(within(t), s.URL+exec, &websocket.DialOptions{Subprotocols: webProtocols[:1]})
				require.NoError(t, err)
				wait = func() {
					for err == nil {
						_, _, err = c.Read(within(t))
					}
				}
			case "port forwarding":
				conn, err := dial(within(t), new(net.Dialer).DialContext, s.URL+"/portForward/ns/p", forwardProtocol)
				require.NoError(t, err)
				defer conn.End()
				wait = func() { <-conn.Done() }
			case "tunnel":
				c, _, err := websocket.Dial(within(t), s.URL+"/portForward/ns/p", &websocket.DialOptions{Subprotocols: []string{tunnelProtocol}})
				require.NoError(t, err)
				wait = func() {
					for err == nil {
						_, _, err = c.Read(within(t))
					}
				}
			case "logs":
				resp, err := http.Get(s.URL + "/containerLogs/ns/p/c?follow=true")
				require.NoError(t, err)
				wait = func() { _, _ = io.Copy(io.Discard, resp.Body); _ = resp.Body.Close() }
			}
			<-began
			end()
			wait()
			handlers.Wait()
		})
	}
}

// silent is an input without data until the channel is closed.
type silent <-chan struct{}

func (s silent) Read([]byte) (int, error) {
	<-s
	return 0, io.EOF
}

// What is sent ends a session of any kind no sooner than idle time says; silence does.
func TestIdleSessionsEnd(t *testing.T) {
	const idle = 3 * time.Hour
	for _, kind := range []string{"spdy", "websocket", "port forwarding", "tunnel", "channels"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := pipenet.New()
				s := &http.Server{Handler: NewHandler(echo{}, Options{IdleTimeout: idle}), ReadHeaderTimeout: time.Minute}
				served := make(chan error, 1)
				go func() { served <- s.Serve(l) }()
				send, ended := idleSession(t, l, kind)
				for range 5 {
					time.Sleep(idle - time.Minute)
					require.NoError(t, send())
				}
				began := time.Now()
				synctest.Wait()
				<-ended
				require.InDelta(t, idle, time.Since(began), float64(time.Second))
				require.NoError(t, s.Close())
				<-served
				time.Sleep(time.Minute) // the client's connection has ended too
			})
		})
	}
}

// idleSession opens a session of some kind in which something can be sent.
func idleSession(t *testing.T, l *pipenet.Listener, kind string) (send func() error, ended <-chan struct{}) {
	socket := func(path string, protocols ...string) *websocket.Conn {
		transport := &http.Transport{DialContext: l.Dial}
		c, _, err := websocket.Dial(t.Context(), "http://node"+path, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}, Subprotocols: protocols})
		require.NoError(t, err)
		return c
	}
	gone := make(chan struct{})
	drain := func(c *websocket.Conn) {
		defer close(gone)
		for {
			if _, _, err := c.Read(t.Context()); err != nil {
				return
			}
		}
	}
	const exec = "/exec/ns/p/c?command=hang&output=1&input=1"
	switch kind {
	case "websocket":
		c := socket(exec, webProtocols[0])
		go drain(c)
		return func() error { return c.Write(t.Context(), websocket.MessageBinary, []byte{channelResize, 'x'}) }, gone
	case "channels":
		c := socket("/portForward/ns/p?port=80", forwardProtocols[0])
		go drain(c)
		return func() error { return c.Write(t.Context(), websocket.MessageBinary, []byte{0, 'x'}) }, gone
	}
	var conn *spdy.Conn
	var err error
	switch kind {
	case "tunnel":
		conn, err = spdy.New(websocket.NetConn(t.Context(), socket("/portForward/ns/p", tunnelProtocol), websocket.MessageBinary))
	case "port forwarding":
		conn, err = dial(t.Context(), l.Dial, "http://node/portForward/ns/p", forwardProtocol)
	default:
		conn, err = dial(t.Context(), l.Dial, "http://node"+exec, execProtocols[0])
	}
	require.NoError(t, err)
	var to *spdy.Stream
	if kind == "spdy" {
		for _, name := range []string{"error", "stdout", "stdin"} {
			st, err := conn.Open(http.Header{streamType: {name}})
			require.NoError(t, err)
			go func() { _, _ = io.Copy(io.Discard, st) }()
			to = st
		}
	} else {
		data, err := conn.OpenPort(80)
		require.NoError(t, err)
		// What is not read keeps the connection from ending by itself.
		go func() { _, _ = io.Copy(io.Discard, data) }()
		to = data.Stream
	}
	t.Cleanup(conn.End)
	return func() error { return to.WriteData([]byte("x"), false) }, conn.Done()
}

// once is a backend whose ports return the first byte.
type once struct{ echo }

func (o once) PortForward(ctx context.Context, namespace, pod string, port uint16, stream io.ReadWriteCloser) error {
	if port == 1 {
		return o.echo.PortForward(ctx, namespace, pod, port, stream)
	}
	_, err := io.CopyN(stream, stream, 1)
	return err
}

// Clients without SPDY forward ports over channels: for each port one of its data and one of its error, which
// begin with its number.
func TestPortForwardOverChannels(t *testing.T) {
	server := httptest.NewServer(NewHandler(once{}, Options{}))
	t.Cleanup(server.Close)
	url := server.URL
	for _, protocol := range append(slices.Clone(forwardProtocols), "") {
		t.Run(protocol, func(t *testing.T) {
			o := &websocket.DialOptions{}
			if protocol != "" {
				o.Subprotocols = []string{protocol}
			}
			c, _, err := websocket.Dial(within(t), url+"/portForward/ns/p/u?port=80,1&port=443", o)
			require.NoError(t, err)
			require.Equal(t, protocol, c.Subprotocol())
			text := strings.Contains(protocol, "base64")
			for _, channel := range []byte{4, 0, 1, 100} { // what belongs to no port is dropped
				kind, m := websocket.MessageBinary, []byte{channel, 'q'}
				if text {
					kind, m = websocket.MessageText, []byte{'0' + channel, 'c', 'Q', '=', '='}
				}
				require.NoError(t, c.Write(within(t), kind, m))
			}
			got := map[byte]string{}
			for {
				_, m, err := c.Read(within(t))
				if err != nil {
					require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(err))
					break
				}
				channel, data := m[0], m[1:]
				if text {
					channel -= '0'
					data, err = base64.StdEncoding.DecodeString(string(data))
					require.NoError(t, err)
				}
				got[channel] += string(data)
			}
			require.Equal(t, "\x50\x00q", got[0])
			require.Equal(t, "\x50\x00", got[1])
			require.Equal(t, "\x01\x00error forwarding port 1 to pod p, uid u: nobody listens", got[3])
			require.Equal(t, "\xbb\x01q", got[4])
			require.Equal(t, "\xbb\x01", got[5])
		})
	}
	for query, want := range map[string]string{"": `query parameter "port" is required`, "?port=": `query parameter "port" cannot be empty`,
		"?port=x": `unable to parse "x" as a port`, "?port=0": `port "0" must be > 0`, "?port=70000": `unable to parse "70000" as a port`,
		"?port=1" + strings.Repeat(",1", maxPorts): "129 ports are more than 128"} {
		_, resp, err := websocket.Dial(within(t), url+"/portForward/ns/p"+query, nil)
		require.Error(t, err)
		require.Equal(t, http.StatusBadRequest, resp.StatusCode)
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Contains(t, string(b), want)
	}
}
