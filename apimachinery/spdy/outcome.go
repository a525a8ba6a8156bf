package spdy

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// ExitError reports that a process ended with an exit code other than zero.
type ExitError struct {
	// Code is the exit code.
	Code int
	// Message of the server.
	Message string
}

// Error returns the exit code.
func (e *ExitError) Error() string { return fmt.Sprintf("process ended with exit code %d", e.Code) }

// Outcome reads the Status with which a process ends as of version 4 of the protocol, as [Conn.Run] returns
// it: nil for exit code zero, an *ExitError for another, and an *apierrors.StatusError for another failure.
// What is no Status is the text of an error, of which 2 KiB are kept, and nothing is io.ErrUnexpectedEOF, as
// every process has one.
func Outcome(status []byte) error {
	if len(status) == 0 {
		return fmt.Errorf("the connection ended without the status of the process: %w", io.ErrUnexpectedEOF)
	}
	var s metav1.Status
	if err := codec.Unmarshal(status, &s); err != nil || s.Status == "" {
		return fmt.Errorf("%.2048s", strings.TrimSpace(string(status)))
	}
	if s.Status == metav1.StatusSuccess {
		return nil
	}
	if s.Reason == "NonZeroExitCode" && s.Details != nil {
		for _, c := range s.Details.Causes {
			if code, err := strconv.Atoi(c.Message); c.Type == "ExitCode" && err == nil {
				return &ExitError{Code: code, Message: s.Message}
			}
		}
	}
	return apierrors.FromStatus(&s)
}
