package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

// repeatAfter is how often a warning of one cause is logged.
const repeatAfter = time.Minute

// maxCauses bounds the causes that are kept.
const maxCauses = 1000

// repeats is a handler that logs warnings of one cause, such as a missing right, once a minute. In between
// they have level Debug, because every informer, election and reconcile repeats them with each attempt. All
// other records, also those of errors without a known cause, pass unchanged.
type repeats struct {
	next slog.Handler
	seen *causes
}

// newRepeats returns a handler over next, with causes of its own.
func newRepeats(next slog.Handler) repeats {
	if r, ok := next.(repeats); ok {
		next = r.next
	}
	return repeats{next, &causes{byText: map[string]*cause{}}}
}

// Enabled implements slog.Handler.
func (h repeats) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h repeats) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return h.next.Handle(ctx, r)
	}
	text := ""
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && a.Key == "err" {
			text = causeOf(err)
		}
		return text == ""
	})
	if text == "" {
		return h.next.Handle(ctx, r)
	}
	suppressed, log := h.seen.note(text, r.Time)
	if !log {
		r.Level = slog.LevelDebug
		if !h.next.Enabled(ctx, r.Level) {
			return nil
		}
	}
	if log && suppressed > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("repeated", suppressed))
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h repeats) WithAttrs(attrs []slog.Attr) slog.Handler {
	return repeats{h.next.WithAttrs(attrs), h.seen}
}

// WithGroup implements slog.Handler.
func (h repeats) WithGroup(name string) slog.Handler {
	return repeats{h.next.WithGroup(name), h.seen}
}

// causes are the known causes of warnings.
type causes struct {
	mu     sync.Mutex
	byText map[string]*cause
}

type cause struct {
	logged, last time.Time
	suppressed   int // since logged
}

// note notes a warning, and returns whether it is to be logged, and how many were not since the last one.
func (c *causes) note(text string, now time.Time) (suppressed int, log bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byText[text]
	if e == nil {
		if len(c.byText) >= maxCauses {
			maps.DeleteFunc(c.byText, func(_ string, e *cause) bool { return now.Sub(e.last) > repeatAfter })
		}
		if len(c.byText) < maxCauses {
			c.byText[text] = &cause{logged: now, last: now}
		}
		return 0, true
	}
	e.last = now
	if now.Sub(e.logged) < repeatAfter {
		e.suppressed++
		return 0, false
	}
	suppressed, e.suppressed, e.logged = e.suppressed, 0, now
	return suppressed, true
}

// current is how long a cause is listed after its last warning: longer than retries are apart.
const current = 5 * time.Minute

// check returns an error that names the causes of the last minutes.
func (c *causes) check() error {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for text, e := range c.byText {
		if now.Sub(e.last) < current {
			list = append(list, text)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	return causesError(list)
}

// causesError names causes that were logged.
type causesError []string

// Error names the causes.
func (e causesError) Error() string { return "manager: " + e.Public() }

// Public returns the causes for the page of a health server. They name resources, not objects.
func (e causesError) Public() string { return strings.Join(e, "; ") }

// missingNamespaceError reports a namespace of informers.Cache that does not exist.
type missingNamespaceError struct{ namespace string }

func (e *missingNamespaceError) Error() string {
	return fmt.Sprintf("the namespace %q of Options.Informers.Cache does not exist", e.namespace)
}

// causeOf returns what an error is due to if that is an input of the program that stays wrong until someone
// changes it, or the way to the server, and "" otherwise. It is the same for all objects and attempts.
func causeOf(err error) string {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		switch {
		case apierrors.IsUnauthorized(err):
			return "unauthorized"
		case apierrors.IsForbidden(err):
			return forbidden(status)
		}
		return ""
	}
	if missing, ok := errors.AsType[*missingNamespaceError](err); ok {
		return "no namespace " + missing.namespace
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "certificate of the server: " + bad.Err.Error()
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return dial.Error()
	}
	return ""
}

// forbidden names the verb and the resource of a refused request, if the error is one of authorization.
func forbidden(status *apierrors.StatusError) string {
	_, rest, ok := strings.Cut(status.ErrStatus.Message, " cannot ")
	d := status.ErrStatus.Details
	if !ok || d == nil {
		return "" // by admission: it depends on the object
	}
	verb, _, _ := strings.Cut(rest, " ")
	resource := d.Kind
	if d.Group != "" {
		resource += "." + d.Group
	}
	return "forbidden: " + verb + " " + resource
}
