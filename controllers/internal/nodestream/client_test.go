package nodestream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/moby/spdystream"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/pipenet"
)

// server is an HTTP server in memory, reached at any address.
type server struct {
	*pipenet.Listener
	requests atomic.Int32 // that are being served
}

// inMemory serves h in virtual time. It fails the test if a goroutine is left at its end, before sessions end
// because they are idle.
func inMemory(t *testing.T, h http.Handler) *server {
	synctest.Wait() // those that were started just now are counted too
	before := goroutines()
	s := &server{Listener: pipenet.New()}
	hs := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		defer s.requests.Add(-1)
		h.ServeHTTP(w, r)
	})}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(s) }()
	t.Cleanup(func() {
		require.NoError(t, hs.Close())
		<-served
		time.Sleep(10 * time.Second) // spdystream waits for a second after an error of closing
		require.LessOrEqual(t, goroutines(), before)
	})
	return s
}

// goroutines is how many there are in the bubble of this one. runtime.NumGoroutine counts those of earlier
// tests, and those that are just ending.
func goroutines() int {
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)] // this one first
	header, _, _ := bytes.Cut(all, []byte("\n"))
	_, bubble, _ := bytes.Cut(header, []byte("synctest bubble"))
	return bytes.Count(all, append([]byte("synctest bubble"), bubble...))
}

// through is a backend at a container runtime.
type through struct {
	echo
	runtime *server
}

func (b through) Exec(ctx context.Context, s *Session) (int, error) {
	return run(ctx, b.runtime.Dial, "http://runtime/exec/ns/p/c?output=1&command="+s.Command[0], s)
}

func (b through) PortForward(ctx context.Context, _, _ string, port uint16, stream io.ReadWriteCloser) error {
	return forward(ctx, b.runtime.Dial, "http://runtime/portForward/ns/p", port, stream)
}

// full is where nothing can be written.
type full struct{ io.Reader }

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func (full) Close() error { return nil }

// TestOutputThatCannotBeWritten ends sessions at the runtime too, though the process continues.
func TestOutputThatCannotBeWritten(t *testing.T) {
	for name, session := range map[string]func(*testing.T, *server) error{
		"exec": func(t *testing.T, s *server) error {
			_, err := run(t.Context(), s.Dial, "http://runtime/exec/ns/p/c?command=flood&output=1", &Session{Stdout: full{}})
			return err
		},
		"with input": func(t *testing.T, s *server) error {
			in, more := io.Pipe()
			defer more.Close()
			_, err := run(t.Context(), s.Dial, "http://runtime/exec/ns/p/c?command=flood&output=1&input=1", &Session{Stdin: in, Stdout: full{}})
			return err
		},
		"port forwarding": func(t *testing.T, s *server) error {
			in, more := io.Pipe()
			defer more.Close()
			return forward(t.Context(), s.Dial, "http://runtime/portForward/ns/p", 2, full{in})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, began := inMemory(t, NewHandler(echo{}, Options{})), time.Now()
				require.ErrorIs(t, session(t, s), io.ErrShortWrite)
				synctest.Wait()
				require.Zero(t, s.requests.Load())
				require.Zero(t, time.Since(began))
			})
		})
	}
}

// TestClientsThatGoAway end sessions at the runtime, which has more output than they have read.
func TestClientsThatGoAway(t *testing.T) {
	for name, open := range map[string]func(*testing.T, *server) (leave func()){
		"spdy": func(t *testing.T, node *server) func() {
			conn, err := dial(t.Context(), node.Dial, "http://node/exec/ns/p/c?command=flood&output=1", execProtocols[0])
			require.NoError(t, err)
			for _, name := range []string{"error", "stdout"} {
				_, err = conn.Open(http.Header{streamType: {name}})
				require.NoError(t, err)
			}
			return conn.End
		},
		"websocket": func(t *testing.T, node *server) func() {
			c, _, err := websocket.Dial(t.Context(), "http://node/exec/ns/p/c?command=flood&output=1",
				&websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{DialContext: node.Dial}}, Subprotocols: webProtocols[:1]})
			require.NoError(t, err)
			return func() { _ = c.CloseNow() }
		},
		"port forwarding": func(t *testing.T, node *server) func() {
			conn, err := dial(t.Context(), node.Dial, "http://node/portForward/ns/p", forwardProtocol)
			require.NoError(t, err)
			_, err = conn.OpenPort(2)
			require.NoError(t, err)
			return conn.End
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := inMemory(t, NewHandler(echo{}, Options{}))
				node := inMemory(t, NewHandler(through{runtime: rt}, Options{}))
				leave := open(t, node)
				synctest.Wait() // the output has no room left
				began := time.Now()
				leave()
				synctest.Wait()
				require.Zero(t, rt.requests.Load())
				require.Zero(t, node.requests.Load())
				require.Zero(t, time.Since(began))
			})
		})
	}
}

// TestNodesPassReportsOn: a client reads of a failure what the runtime wrote, and not that once more.
func TestNodesPassReportsOn(t *testing.T) {
	for want, session := range map[string]func(*testing.T, *server) error{
		"Internal error occurred: broken": func(t *testing.T, s *server) error {
			_, err := run(t.Context(), s.Dial, "http://node/exec/ns/p/c?command=error&output=1", &Session{Stdout: io.Discard})
			return err
		},
		"port 1: error forwarding port 1 to pod p: nobody listens": func(t *testing.T, s *server) error {
			return forward(t.Context(), s.Dial, "http://node/portForward/ns/p", 1, full{strings.NewReader("")})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			rt := inMemory(t, NewHandler(echo{}, Options{}))
			node := inMemory(t, NewHandler(through{runtime: rt}, Options{}))
			require.EqualError(t, session(t, rt), want)
			require.EqualError(t, session(t, node), want)
		})
	}
}

// TestContextEndsSessions at the runtime, whatever they wait for.
func TestContextEndsSessions(t *testing.T) {
	for name, session := range map[string]func(context.Context, *server) error{
		"exec": func(ctx context.Context, s *server) error {
			_, err := run(ctx, s.Dial, "http://runtime/exec/ns/p/c?command=hang&output=1", &Session{Stdout: io.Discard})
			return err
		},
		// The client has not requested the terminal, so it has no sizes.
		"terminal": func(ctx context.Context, s *server) error {
			_, err := run(ctx, s.Dial, "http://runtime/exec/ns/p/c?command=hang&output=1&tty=1", &Session{Stdout: io.Discard, TTY: true})
			return err
		},
		"port forwarding": func(ctx context.Context, s *server) error {
			in, more := io.Pipe()
			defer more.Close()
			return forward(ctx, s.Dial, "http://runtime/portForward/ns/p", 80, full{in})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := inMemory(t, NewHandler(echo{}, Options{}))
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- session(ctx, s) }()
				synctest.Wait()
				began := time.Now()
				cancel()
				require.ErrorIs(t, <-ended, context.Canceled)
				synctest.Wait()
				require.Zero(t, s.requests.Load())
				require.Zero(t, time.Since(began))
			})
		})
	}
}

// reporting is a container runtime whose processes end at once with that report.
type reporting string

// ServeHTTP implements http.Handler.
func (report reporting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _, err := upgrade(w, r, execProtocols)
	if err != nil {
		return
	}
	defer raw.Close()
	conn, err := spdystream.NewConnection(raw, true)
	if err != nil {
		return
	}
	opened := make(chan *spdystream.Stream, 2)
	go func() {
		streams := []*spdystream.Stream{<-opened, <-opened} // in any order
		for _, st := range streams {
			if st.Headers().Get(streamType) == "error" {
				_, _ = io.WriteString(st, string(report))
			}
		}
		for _, st := range streams {
			_ = st.Reset() // as container runtimes do
		}
		_ = conn.Close()
	}()
	conn.Serve(func(st *spdystream.Stream) {
		_ = st.SendReply(http.Header{}, false)
		opened <- st
	})
}

// refusingPorts is a container runtime that ends the data of each connection before it has accepted it, and
// reports that reason on the other stream, if any, a moment later.
type refusingPorts string

// ServeHTTP implements http.Handler.
func (reason refusingPorts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _, err := upgrade(w, r, []string{forwardProtocol})
	if err != nil {
		return
	}
	defer raw.Close()
	conn, err := spdystream.NewConnection(raw, true)
	if err != nil {
		return
	}
	var report *spdystream.Stream
	conn.Serve(func(st *spdystream.Stream) {
		if st.Headers().Get(streamType) == "error" {
			_ = st.SendReply(http.Header{}, false)
			report = st
			return
		}
		_ = st.Refuse()
		if reason != "" {
			time.Sleep(time.Millisecond)
			_, _ = io.WriteString(report, string(reason))
			_ = report.Close()
		}
	})
}

// TestPortsThatAreRefused: the reason arrives, and if there is none, the connection ends anyway.
func TestPortsThatAreRefused(t *testing.T) {
	for reason, want := range map[string]string{
		"nothing listens": "port 80: nothing listens",
		"":                "port 80: Stream reset",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := inMemory(t, refusingPorts(reason))
			require.EqualError(t, forward(t.Context(), s.Dial, "http://runtime/portForward", 80, full{strings.NewReader("")}), want)
			synctest.Wait()
			require.Zero(t, s.requests.Load())
		})
	}
}

// TestReportsOfARuntime: how a process has ended, as a runtime reports it.
func TestReportsOfARuntime(t *testing.T) {
	for _, c := range []struct {
		report string
		exit   int
		err    string
	}{
		{`{"status":"Success"}`, 0, ""},
		{`{"status":"Failure","reason":"NonZeroExitCode","message":"m","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}`, 7, ""},
		{`{"status":"Failure","reason":"NonZeroExitCode","message":"no code","details":{"causes":[{"reason":"ExitCode","message":"x"}]}}`, 0, "no code"},
		{`{"status":"Failure","reason":"InternalError","message":"Internal error occurred: broken","code":500}`, 0, "Internal error occurred: broken"},
		{"broken\n", 0, "broken"},
		{strings.Repeat("x", 1<<20), 0, strings.Repeat("x", 2<<10)},
		{"{}", 0, "{}"},
		{"", 0, "the connection ended without the status of the process: unexpected EOF"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := inMemory(t, reporting(c.report))
			exit, err := run(t.Context(), s.Dial, "http://runtime/exec", &Session{Stdout: io.Discard})
			require.Equal(t, c.exit, exit, c.report)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.err)
			}
		})
	}
}

// TestTimeToOpen is limited, and what a runtime that refuses says is the error.
func TestTimeToOpen(t *testing.T) {
	never := func(r *http.Request) { <-r.Context().Done() }
	for name, c := range map[string]struct {
		runtime http.HandlerFunc
		after   time.Duration
		err     string
	}{
		"no answer": {func(_ http.ResponseWriter, r *http.Request) { never(r) }, streamTimeout, "context deadline exceeded"},
		"no end of a refusal": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_ = http.NewResponseController(w).Flush()
			never(r)
		}, streamTimeout, "unable to upgrade connection: unable to read error from server response"},
		"no reply to a stream": {func(w http.ResponseWriter, r *http.Request) {
			if raw, _, err := upgrade(w, r, append(execProtocols, forwardProtocol)); err == nil {
				_, _ = io.Copy(io.Discard, raw)
				_ = raw.Close()
			}
		}, streamTimeout, spdystream.ErrTimeout.Error()},
		"refusal": {func(w http.ResponseWriter, _ *http.Request) { fail(w, NotFound("unknown token")) }, 0,
			"unable to upgrade connection: unknown token"},
		"another protocol": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
		}, 0, "unable to upgrade connection: empty server response"},
	} {
		for kind, session := range map[string]func(*testing.T, *server) error{
			"exec": func(t *testing.T, s *server) error {
				_, err := run(t.Context(), s.Dial, "http://runtime/exec", &Session{Stdout: io.Discard})
				return err
			},
			"port forwarding": func(t *testing.T, s *server) error {
				return forward(t.Context(), s.Dial, "http://runtime/portForward", 80, full{strings.NewReader("")})
			},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, began := inMemory(t, c.runtime), time.Now()
					require.ErrorContains(t, session(t, s), c.err)
					require.Equal(t, c.after, time.Since(began))
					synctest.Wait()
					require.Zero(t, s.requests.Load())
				})
			})
		}
	}
	t.Run("no connection", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			late := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
			_, err := run(t.Context(), late, "http://runtime/exec", &Session{Stdout: io.Discard})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, streamTimeout, time.Since(began))
			refused := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
			_, err = run(t.Context(), refused, "http://runtime/exec", &Session{Stdout: io.Discard})
			require.EqualError(t, err, `error sending request: Post "http://runtime/exec": refused`)
		})
	})
}
