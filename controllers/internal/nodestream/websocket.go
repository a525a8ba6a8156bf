package nodestream

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// The channels of a session in a WebSocket: the first byte of each message.
const (
	channelStdin = iota
	channelStdout
	channelStderr
	channelError
	channelResize
	// channelClose, from version 5 on, closes the channel named by the byte after it.
	channelClose = 255
)

// maxMessage bounds one message of a client, in bytes.
const maxMessage = 4 << 20

// webProtocols are the versions supported over WebSockets, best first.
var webProtocols = []string{"v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io", "channel.k8s.io", "base64.channel.k8s.io"}

// acceptWebSocket upgrades; the channels need no opening.
func acceptWebSocket(w http.ResponseWriter, r *http.Request, want wanted, idle time.Duration) (*link, error) {
	ctx, cancel := context.WithCancel(r.Context())
	ws, err := newWebSession(w, r, webProtocols, idle, cancel)
	if err != nil {
		cancel()
		return nil, err
	}
	c := ws.conn
	stdin, toStdin := io.Pipe()
	resize, toResize := io.Pipe()
	l := &link{done: ctx.Done(), stdin: stdin, stdout: ws.writer(ctx, channelStdout), stderr: ws.writer(ctx, channelStderr)}
	if want.resize {
		l.resize = sizes(resize, ctx.Done())
	} else {
		_ = resize.Close()
	}
	if !want.stdin {
		_ = stdin.Close()
	}
	go func() {
		err := ws.read(ctx, func(channel byte, data []byte) {
			switch {
			case channel == channelStdin:
				if len(data) > 0 {
					_, _ = toStdin.Write(data) // fails when the reader is closed
				}
			case channel == channelResize:
				_, _ = toResize.Write(data)
			case channel == channelClose && c.Subprotocol() == webProtocols[0] && len(data) == 1 && data[0] == channelStdin:
				_ = toStdin.Close()
			}
		})
		cancel()
		_ = toStdin.CloseWithError(err)
		_ = toResize.CloseWithError(err)
	}()
	// An empty message signals clients of older versions that the session is open.
	first := byte(channelError)
	if want.stdout {
		first = channelStdout
	} else if want.stderr {
		first = channelStderr
	}
	_, _ = ws.writer(ctx, first).Write(nil)
	l.finish = func(exit int, err error) {
		_ = stdin.Close() // unblocks a read loop that writes to it
		_ = resize.Close()
		report := ws.writer(ctx, channelError)
		if strings.HasPrefix(c.Subprotocol(), "v") {
			b, _ := json.Marshal(status(exit, err))
			_, _ = report.Write(b)
		} else if err != nil {
			_, _ = io.WriteString(report, err.Error())
		} else if exit != 0 {
			_, _ = io.WriteString(report, exitText(exit))
		}
		ws.close()
		cancel()
	}
	return l, nil
}

// webSession is a WebSocket with channels.
type webSession struct {
	conn *websocket.Conn
	text bool // base64
	// unused ends the session when nothing has been sent for idle, even if what was sent last has not been
	// taken.
	unused *time.Timer
	idle   time.Duration
}

// newWebSession upgrades a connection to one of the protocols. On an error the reply has been sent. end is
// called when nothing has been sent for idle.
func newWebSession(w http.ResponseWriter, r *http.Request, protocols []string, idle time.Duration, end func()) (*webSession, error) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: protocols})
	if err != nil {
		return nil, err
	}
	c.SetReadLimit(maxMessage)
	return &webSession{conn: c, text: strings.Contains(c.Subprotocol(), "base64"), idle: idle,
		unused: time.AfterFunc(idle, func() { end(); _ = c.CloseNow() })}, nil
}

func (ws *webSession) close() {
	ws.unused.Stop()
	_ = ws.conn.Close(websocket.StatusNormalClosure, "")
}

// read passes on what the client sends until the connection ends, and returns io.EOF then.
func (ws *webSession) read(ctx context.Context, pass func(channel byte, data []byte)) error {
	for {
		_, b, err := ws.conn.Read(ctx)
		if err != nil {
			return io.EOF
		}
		ws.unused.Reset(ws.idle)
		if len(b) == 0 {
			continue
		}
		channel, data := b[0], b[1:]
		if ws.text {
			channel -= '0'
			if data, err = base64.StdEncoding.DecodeString(string(data)); err != nil {
				return err
			}
		}
		pass(channel, data)
	}
}

// writer returns a writer to a channel of the session, which ends with ctx.
func (ws *webSession) writer(ctx context.Context, channel byte) io.Writer {
	return writerFunc(func(b []byte) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
		defer cancel()
		ws.unused.Reset(ws.idle)
		kind, m := websocket.MessageBinary, append([]byte{channel}, b...)
		if ws.text {
			kind, m = websocket.MessageText, base64.StdEncoding.AppendEncode([]byte{'0' + channel}, b)
		}
		if err := ws.conn.Write(ctx, kind, m); err != nil {
			return 0, err
		}
		return len(b), nil
	})
}

type writerFunc func(b []byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
