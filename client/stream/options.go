package stream

import (
	"errors"
	"fmt"
	"io"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Protocol chooses how a stream is carried.
type Protocol uint8

// The protocols.
const (
	// Auto tries WebSocket and falls back to SPDY.
	Auto Protocol = iota
	// WebSocket only.
	WebSocket
	// SPDY only.
	SPDY
)

// Size is that of a terminal.
type Size struct {
	// Width and Height in characters.
	Width, Height uint16
}

// Options say what is connected to a process.
type Options struct {
	// Container in the pod; empty means its only or default one.
	Container string
	// Command to run and its arguments; for Exec only.
	Command []string
	// Stdin is what the process reads, until io.EOF; nil for nothing.
	Stdin io.Reader
	// Stdout and Stderr take what the process writes; nil leaves it out. With a terminal Stderr is nil.
	Stdout, Stderr io.Writer
	// TTY gives the process a terminal, and Sizes its size, until the channel is closed.
	TTY   bool
	Sizes <-chan Size
	// Protocol to use; zero chooses.
	Protocol Protocol
}

func (o *Options) check() error {
	if o.Stdin == nil && o.Stdout == nil && o.Stderr == nil {
		return errors.New("stream: one of Stdin, Stdout and Stderr must be set")
	}
	if o.TTY && o.Stderr != nil {
		return errors.New("stream: a terminal has no Stderr")
	}
	return nil
}

// ExitError says that a process ended with a code other than zero.
type ExitError struct {
	// Code the process ended with.
	Code int
	// Message of the server.
	Message string
}

// Error gives the code.
func (e *ExitError) Error() string { return fmt.Sprintf("the process ended with code %d", e.Code) }

// maxStatus bounds what is read of the status at a stream's end, in bytes.
const maxStatus = 1 << 20

// outcome reads the Status a process ends with.
func outcome(b []byte) error {
	if len(b) == 0 {
		return fmt.Errorf("stream: the connection ended without saying how the process did: %w", io.ErrUnexpectedEOF)
	}
	var s metav1.Status
	if err := codec.Unmarshal(b, &s); err != nil || s.Status == "" {
		return fmt.Errorf("stream: the server reported: %.2048s", b)
	}
	if s.Status == metav1.StatusSuccess {
		return nil
	}
	if s.Reason == "NonZeroExitCode" && s.Details != nil {
		for _, c := range s.Details.Causes {
			var code int
			if _, err := fmt.Sscan(c.Message, &code); c.Type == "ExitCode" && err == nil {
				return &ExitError{Code: code, Message: s.Message}
			}
		}
	}
	return apierrors.FromStatus(&s)
}
