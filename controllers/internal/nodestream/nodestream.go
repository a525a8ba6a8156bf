// Package nodestream is the server side of the streaming requests that the API server forwards to a node:
// exec and attach over SPDY and WebSocket, port forwarding over SPDY and SPDY in a WebSocket, and container
// logs. A [Backend] executes them; this package implements the protocols, their versions, and the
// transmission of errors and exit codes.
//
// The client side, [Dial] and [DialPortForward], speaks SPDY to the streaming server of a container runtime.
//
// A session ends when the backend's method returns or when the peer disconnects, which ends the method's
// context. No goroutine outlives the handler, except those of a backend that ignores its context.
package nodestream

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// Size of a terminal, in characters.
type Size struct {
	Width, Height uint16
}

// Session is the running end of an exec or attach.
type Session struct {
	Namespace, Pod, Container string
	// Command is what exec runs; nil for attach.
	Command []string
	TTY     bool
	// Stdin ends when the client closes its side; nil if it was not requested.
	Stdin io.Reader
	// Stdout and Stderr are nil if not requested. With a terminal Stderr is nil.
	Stdout, Stderr io.Writer
	// Resize receives each new size of the terminal and is closed with the connection; nil without a
	// terminal. It may be left unread.
	Resize <-chan Size
}

// Backend executes the requests of clients. All methods may be called from many goroutines at once and return
// soon after ctx ends. An *Error from them is sent to the client; other errors are internal ones.
type Backend interface {
	// Find reports an *Error if the pod or, unless container is empty, its container cannot be reached.
	Find(ctx context.Context, namespace, pod, container string) error
	// Exec runs a command in a container and returns its exit code.
	Exec(ctx context.Context, s *Session) (int, error)
	// Attach connects to the streams of the container's main process and returns 0 when it has ended.
	Attach(ctx context.Context, s *Session) (int, error)
	// PortForward carries one connection to a port in the pod until either side ends.
	PortForward(ctx context.Context, namespace, pod string, port uint16, stream io.ReadWriteCloser) error
	// Logs writes a container's log.
	Logs(ctx context.Context, namespace, pod, container string, o *corev1.PodLogOptions, w io.Writer) error
}

// Error is a refusal with its HTTP status code.
type Error struct {
	Code int
	Text string
}

func (e *Error) Error() string { return e.Text }

// NotFound is an *Error of code 404.
func NotFound(format string, args ...any) *Error {
	return &Error{Code: http.StatusNotFound, Text: fmt.Sprintf(format, args...)}
}

// BadRequest is an *Error of code 400.
func BadRequest(format string, args ...any) *Error {
	return &Error{Code: http.StatusBadRequest, Text: fmt.Sprintf(format, args...)}
}
