package nodestream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// streamTimeout is how long a client may take to open all streams of a session.
const streamTimeout = 30 * time.Second

// DefaultIdleTimeout is that of Options.
const DefaultIdleTimeout = 4 * time.Hour

// Options of the handler.
type Options struct {
	// IdleTimeout ends sessions and port forwarding over which nothing has been sent for so long; 0 means
	// DefaultIdleTimeout.
	IdleTimeout time.Duration
	// Logger logs failures; nil discards them.
	Logger *slog.Logger
}

// NewHandler serves the kubelet's paths /exec, /attach, /portForward, /containerLogs and /run. A session ends
// with the request's context too, so a server that ends its BaseContext ends its sessions. WebSockets of
// browsers are accepted only from pages of the same host, since a browser may hold a client certificate.
func NewHandler(b Backend, opts Options) http.Handler {
	h := &handler{backend: b, idle: cmp.Or(opts.IdleTimeout, DefaultIdleTimeout), log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))}
	mux := http.NewServeMux()
	for _, verb := range []string{"GET ", "POST "} {
		mux.HandleFunc(verb+"/exec/{namespace}/{pod}/{container}", h.exec)
		mux.HandleFunc(verb+"/exec/{namespace}/{pod}/{uid}/{container}", h.exec)
		mux.HandleFunc(verb+"/attach/{namespace}/{pod}/{container}", h.attach)
		mux.HandleFunc(verb+"/attach/{namespace}/{pod}/{uid}/{container}", h.attach)
		mux.HandleFunc(verb+"/portForward/{namespace}/{pod}", h.portForward)
		mux.HandleFunc(verb+"/portForward/{namespace}/{pod}/{uid}", h.portForward)
	}
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", h.logs)
	mux.HandleFunc("POST /run/{namespace}/{pod}/{container}", h.run)
	return mux
}

type handler struct {
	backend Backend
	idle    time.Duration
	log     *slog.Logger
}

// fail replies to a request that was not upgraded.
func fail(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	var e *Error
	if errors.As(err, &e) {
		code = e.Code
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, err.Error())
}

func (h *handler) exec(w http.ResponseWriter, r *http.Request) {
	s := session(r)
	s.Command = r.URL.Query()["command"]
	if len(s.Command) == 0 {
		fail(w, BadRequest("you must specify at least 1 command"))
		return
	}
	h.serve(w, r, s, h.backend.Exec)
}

func (h *handler) attach(w http.ResponseWriter, r *http.Request) {
	h.serve(w, r, session(r), h.backend.Attach)
}

func session(r *http.Request) *Session {
	return &Session{Namespace: r.PathValue("namespace"), Pod: r.PathValue("pod"), Container: r.PathValue("container"), TTY: flag(r, "tty")}
}

func flag(r *http.Request, name string) bool {
	v := r.URL.Query().Get(name)
	return v == "1" || v == "true"
}

// wanted are the streams of a session.
type wanted struct{ stdin, stdout, stderr, resize bool }

// link is an upgraded connection with the streams of a session.
type link struct {
	// done is closed when the peer has disconnected.
	done   <-chan struct{}
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	resize <-chan Size
	// finish sends the result of the session and closes the connection.
	finish func(exit int, err error)
}

// serve upgrades the connection and runs a session on it.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, s *Session, run func(context.Context, *Session) (int, error)) {
	want := wanted{stdin: flag(r, "input"), stdout: flag(r, "output"), stderr: flag(r, "error") && !s.TTY, resize: s.TTY}
	if !want.stdin && !want.stdout && !want.stderr {
		fail(w, BadRequest("you must specify at least 1 of stdin, stdout, stderr"))
		return
	}
	if err := h.backend.Find(r.Context(), s.Namespace, s.Pod, s.Container); err != nil {
		fail(w, err)
		return
	}
	var l *link
	var err error
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		l, err = acceptWebSocket(w, r, want, h.idle)
	} else {
		l, err = acceptSPDY(w, r, want, h.idle)
	}
	if err != nil {
		h.log.Debug("start stream session failed", "path", r.URL.Path, "err", err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-l.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	if want.stdin {
		s.Stdin = l.stdin
	}
	if want.stdout {
		s.Stdout = l.stdout
	}
	if want.stderr {
		s.Stderr = l.stderr
	}
	s.Resize = l.resize
	exit, err := run(ctx, s)
	if err != nil {
		h.log.Debug("stream session failed", "path", r.URL.Path, "err", err)
	}
	l.finish(exit, err)
}

// status returns the result of a session as protocol version 4 and later send it.
func status(exit int, err error) *metav1.Status {
	var e *Error
	failure, reported := apierrors.StatusOf(err) // by the container runtime
	switch {
	case errors.As(err, &e):
		reason := metav1.StatusReason("InternalError")
		switch e.Code {
		case http.StatusNotFound:
			reason = "NotFound"
		case http.StatusBadRequest:
			reason = "BadRequest"
		}
		return &metav1.Status{Status: metav1.StatusFailure, Reason: reason, Code: int32(e.Code), Message: e.Text}
	case reported:
		return &failure
	case err != nil:
		return &metav1.Status{Status: metav1.StatusFailure, Reason: "InternalError", Code: http.StatusInternalServerError,
			Message: "Internal error occurred: " + err.Error(), Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: err.Error()}}}}
	case exit != 0:
		return &metav1.Status{Status: metav1.StatusFailure, Reason: "NonZeroExitCode", Message: exitText(exit),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "ExitCode", Message: strconv.Itoa(exit)}}}}
	}
	return &metav1.Status{Status: metav1.StatusSuccess}
}

func exitText(exit int) string {
	return fmt.Sprintf("command terminated with non-zero exit code: exit status %d", exit)
}

// run replies with the output of a command when it has ended.
func (h *handler) run(w http.ResponseWriter, r *http.Request) {
	s := session(r)
	s.Command = strings.Fields(r.URL.Query().Get("cmd"))
	if len(s.Command) == 0 {
		fail(w, BadRequest("you must specify cmd"))
		return
	}
	if err := h.backend.Find(r.Context(), s.Namespace, s.Pod, s.Container); err != nil {
		fail(w, err)
		return
	}
	out := &limited{left: 16 << 20}
	s.Stdout, s.Stderr = out, out
	exit, err := h.backend.Exec(r.Context(), s)
	if err == nil && exit != 0 {
		err = errors.New(exitText(exit))
	}
	if err != nil {
		fail(w, fmt.Errorf("%s%w", out.bytes(), err))
		return
	}
	_, _ = w.Write(out.bytes())
}

// logs streams a container's log.
func (h *handler) logs(w http.ResponseWriter, r *http.Request) {
	o, err := logOptions(r)
	if err != nil {
		fail(w, err)
		return
	}
	namespace, pod, container := r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")
	if err := h.backend.Find(r.Context(), namespace, pod, container); err != nil {
		var e *Error
		if errors.As(err, &e) && e.Code == http.StatusNotFound && e.Text == "pod does not exist" {
			err = NotFound("pod %q does not exist\n", pod)
		}
		fail(w, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out := &logWriter{w: w, flush: http.NewResponseController(w), left: -1, stop: cancel}
	if o.LimitBytes != nil {
		out.left = *o.LimitBytes
	}
	if o.Follow {
		out.begin() // the client waits for the header, not for the first line
	}
	err = h.backend.Logs(ctx, namespace, pod, container, o, out)
	switch {
	case err == nil || errors.Is(err, context.Canceled) || errors.Is(err, errEnough):
		out.begin()
	case !out.begun:
		fail(w, err)
	default:
		h.log.Debug("log stream failed", "namespace", namespace, "name", pod, "container", container, "err", err)
	}
}

var errEnough = errors.New("byte limit reached")

// logWriter flushes each write and stops after a number of bytes.
type logWriter struct {
	w     http.ResponseWriter
	flush *http.ResponseController
	begun bool
	left  int64 // -1: no limit
	stop  func()
}

func (l *logWriter) begin() {
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", "text/plain")
		l.w.WriteHeader(http.StatusOK)
		_ = l.flush.Flush()
	}
}

func (l *logWriter) Write(b []byte) (int, error) {
	l.begin()
	n := len(b)
	if l.left >= 0 && int64(n) > l.left {
		b = b[:l.left]
	}
	if _, err := l.w.Write(b); err != nil {
		return 0, err
	}
	if err := l.flush.Flush(); err != nil {
		return 0, err
	}
	if l.left >= 0 {
		if l.left -= int64(len(b)); l.left == 0 {
			l.stop()
			return len(b), errEnough
		}
	}
	return n, nil
}

func logOptions(r *http.Request) (*corev1.PodLogOptions, error) {
	q := r.URL.Query()
	o := &corev1.PodLogOptions{Container: r.PathValue("container"), Follow: flag(r, "follow"), Previous: flag(r, "previous"), Timestamps: flag(r, "timestamps")}
	number := func(name string, to **int64) error {
		v := q.Get(name)
		if v == "" {
			return nil
		}
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 {
			return BadRequest("%s: %q is not a number of 0 or more", name, v)
		}
		*to = &n
		return nil
	}
	if err := errors.Join(number("tailLines", &o.TailLines), number("limitBytes", &o.LimitBytes), number("sinceSeconds", &o.SinceSeconds)); err != nil {
		return nil, err
	}
	if v := q.Get("sinceTime"); v != "" {
		t, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return nil, BadRequest("sinceTime: %v", err)
		}
		o.SinceTime = &metav1.Time{Time: t}
	}
	if v := q.Get("stream"); v != "" {
		if v != "All" && v != "Stdout" && v != "Stderr" {
			return nil, BadRequest("stream: %q is none of All, Stdout, Stderr", v)
		}
		o.Stream = &v
	}
	return o, nil
}
