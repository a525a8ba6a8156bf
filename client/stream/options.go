package stream

import (
	"errors"
	"fmt"
	"io"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/spdy"
)

// Protocol is the transport of a stream.
type Protocol uint8

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

// Options connect a process.
type Options struct {
	// Container in the pod; empty means its only or default one.
	Container string
	// Command to run and its arguments; for Exec only.
	Command []string
	// Stdin is read as the input of the process, until io.EOF; it may be nil.
	Stdin io.Reader
	// Stdout and Stderr receive the output of the process; nil discards it. With TTY Stderr must be nil.
	Stdout, Stderr io.Writer
	// TTY runs the process in a terminal. Sizes, if not nil, delivers its size until the channel is closed.
	TTY   bool
	Sizes <-chan Size
	// Protocol to use; the zero value is Auto.
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

// ExitError reports that a process ended with an exit code other than zero.
type ExitError struct {
	// Code is the exit code.
	Code int
	// Message of the server.
	Message string
}

// Error returns the exit code.
func (e *ExitError) Error() string { return fmt.Sprintf("process ended with exit code %d", e.Code) }

// outcome reads the Status with which a process ends.
func outcome(b []byte) error {
	switch err := spdy.Outcome(b).(type) {
	case nil, *apierrors.StatusError:
		return err
	case *spdy.ExitError:
		return (*ExitError)(err)
	default:
		return fmt.Errorf("stream: %w", err)
	}
}
