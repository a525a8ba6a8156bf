package patch

import (
	"errors"
	"fmt"
	"net/http"
)

// The kinds of errors.
var (
	ErrMalformed     = errors.New("malformed patch")
	ErrTooLarge      = errors.New("patch is too large")
	ErrNotApplicable = errors.New("patch cannot be applied")
	// ErrTestFailed is wrapped, besides ErrNotApplicable, if a test operation of a
	// JSON patch fails.
	ErrTestFailed = errors.New("test operation failed")
	// ErrBadDocument is wrapped if the document, not the patch, is not a JSON
	// object, or for a JSON patch not JSON at all.
	ErrBadDocument = errors.New("document is not a JSON object")
)

// Code is the HTTP status for an error of this package: 400, 413, 422, or 500
// for anything else.
func Code(err error) int {
	switch {
	case errors.Is(err, ErrMalformed):
		return http.StatusBadRequest
	case errors.Is(err, ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrNotApplicable):
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

func notApplicable(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrNotApplicable}, args...)...)
}
