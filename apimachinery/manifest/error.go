package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// Error reports a document that cannot be read.
type Error struct {
	// File is the name of the stream; it may be empty.
	File string
	// Document is the number of the document in the stream, from 1, of those that are not empty.
	Document int
	// Line of the stream, from 1: that of the mistake if the parser reports it, else that where the document
	// begins.
	Line int
	// Err is the reason.
	Err error
}

// parserLine is how the YAML parser reports a line of the document.
var parserLine = regexp.MustCompile(`line (\d+): `)

// Error names the place and the reason.
func (e *Error) Error() string {
	reason := e.Err.Error()
	if bad, ok := e.Err.(*codec.DecodeError); ok {
		reason = bad.Msg // its offset is not one of the file
		if bad.Path != "" {
			reason = bad.Path + ": " + reason
		}
	}
	if at := parserLine.FindStringIndex(reason); at != nil {
		reason = reason[:at[0]] + reason[at[1]:]
	}
	reason = strings.TrimPrefix(reason, "error converting YAML to JSON: ")
	where := fmt.Sprintf("line %d (document %d)", e.Line, e.Document)
	if e.File != "" {
		where = fmt.Sprintf("%s:%d (document %d)", e.File, e.Line, e.Document)
	}
	return "manifest: " + where + ": " + reason
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// lineOf returns the line of a document that a parser's error reports, from 1, or 0.
func lineOf(err error) int {
	if m := parserLine.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}
