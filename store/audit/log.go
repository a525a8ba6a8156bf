package audit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// Format is the form of the lines of a Log.
type Format string

// The formats.
const (
	// FormatJSON is one event as JSON.
	FormatJSON Format = "json"
	// FormatLegacy is a text without objects and annotations.
	FormatLegacy Format = "legacy"
)

// LogOptions configure a Log.
type LogOptions struct {
	// Format of the lines; empty means JSON.
	Format Format
	// Failed is called when events are not written; nil means not at all.
	Failed FailedFunc
}

// Log is a Backend that writes a line for each event.
type Log struct {
	opts LogOptions

	mu   sync.Mutex // guards what follows, and the order of lines
	out  io.Writer
	buf  []byte
	torn bool // the last write was cut short
}

// NewLog returns a Log. out gets one call of Write for the events of one call of Record.
func NewLog(out io.Writer, opts LogOptions) *Log { return &Log{opts: opts, out: out} }

// keptBuffer is the greatest size in bytes of a buffer that is used again.
const keptBuffer = 1 << 20

// Record writes events. If one cannot be encoded the others are written.
func (l *Log) Record(_ context.Context, events ...*auditv1.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	buf, lines := l.buf[:0], 0
	if l.torn {
		buf = append(buf, '\n') // what was written of a line must not become the beginning of another
	}
	var failure error
	for _, e := range events {
		b, err := l.appendLine(buf, e)
		if err != nil {
			failure = l.opts.Failed.failed("log", fmt.Errorf("audit: encoding an event: %w", err), 1)
			continue
		}
		buf = b
		lines++
	}
	if l.buf = buf; cap(buf) > keptBuffer {
		l.buf = nil
	}
	if lines == 0 {
		return failure
	}
	n, err := l.out.Write(buf)
	if err == nil {
		l.torn = false
		return failure
	}
	if n > 0 {
		l.torn = buf[n-1] != '\n'
	}
	lost := lines - bytes.Count(bytes.TrimPrefix(buf[:n], []byte("\n")), []byte("\n"))
	return l.opts.Failed.failed("log", fmt.Errorf("audit: %w", err), lost)
}

func (l *Log) appendLine(b []byte, e *auditv1.Event) ([]byte, error) {
	if l.opts.Format == FormatLegacy {
		return append(appendLegacy(b, e), '\n'), nil
	}
	b, err := codec.AppendJSON(b, e)
	return append(b, '\n'), err
}

// appendLegacy appends the text of an event, which has no line feed.
func appendLegacy(b []byte, e *auditv1.Event) []byte {
	user, groups, as, asGroups := "<none>", "<none>", "<self>", "<lookup>"
	if e.User.Username != "" {
		if user = e.User.Username; len(e.User.Groups) > 0 {
			groups = quoted(e.User.Groups)
		}
	}
	if e.ImpersonatedUser != nil {
		if as = e.ImpersonatedUser.Username; e.ImpersonatedUser.Groups != nil {
			asGroups = quoted(e.ImpersonatedUser.Groups)
		}
	}
	namespace, response, ip := "<none>", "<deferred>", "<unknown>"
	if e.ObjectRef != nil && e.ObjectRef.Namespace != "" {
		namespace = e.ObjectRef.Namespace
	}
	if e.ResponseStatus != nil {
		response = strconv.Itoa(int(e.ResponseStatus.Code))
	}
	if len(e.SourceIPs) > 0 {
		ip = e.SourceIPs[0]
	}
	return fmt.Appendf(b, "%s AUDIT: id=%q stage=%q ip=%q method=%q user=%q groups=%q as=%q asgroups=%q user-agent=%q namespace=%q uri=%q response=\"%s\"",
		e.RequestReceivedTimestamp.Format(time.RFC3339Nano), e.AuditID, e.Stage, ip, e.Verb, user, groups, as, asGroups, e.UserAgent, namespace, e.RequestURI, response)
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strconv.Quote(s)
	}
	return strings.Join(out, ",")
}
