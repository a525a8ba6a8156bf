package rest

import (
	"net/http"
	"strings"
	"sync"
)

// Warning is one warning of a reply.
type Warning struct {
	// Code is 299 for warnings of an API server.
	Code int
	// Agent that added the warning, or "-".
	Agent string
	// Text for the user.
	Text string
}

// NoWarnings discards a warning. It is for Options.Warnings of programs that must read every served kind,
// including deprecated ones, such as a garbage collector.
func NoWarnings(Warning) {}

// maxWarned is the number of texts that are kept to log each only once.
const maxWarned = 1000

type warned struct {
	mu   sync.Mutex
	seen map[string]struct{}
}

func (w *warned) first(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.seen[text]; ok {
		return false
	}
	if w.seen == nil || len(w.seen) >= maxWarned {
		w.seen = map[string]struct{}{}
	}
	w.seen[text] = struct{}{}
	return true
}

// warnings reports a reply's warnings and returns the texts of code 299.
func (c *Conn) warnings(h http.Header) []string {
	lines := h["Warning"]
	if len(lines) == 0 {
		return nil
	}
	var texts []string
	for _, line := range lines {
		for _, w := range ParseWarnings(line) {
			if w.Code == 299 {
				texts = append(texts, w.Text)
			}
			switch {
			case c.opts.Warnings != nil:
				c.opts.Warnings(w)
			case c.opts.Logger != nil && w.Code == 299 && c.warned.first(w.Text):
				c.opts.Logger.Warn(w.Text, "source", "server")
			}
		}
	}
	return texts
}

// ParseWarnings reads the value of a Warning header. It returns the warnings up to the first that is
// malformed.
func ParseWarnings(s string) []Warning {
	var out []Warning
	for {
		s = strings.TrimLeft(s, " \t,")
		if len(s) < 5 || s[3] != ' ' {
			return out
		}
		code := 0
		for _, ch := range []byte(s[:3]) {
			if ch < '0' || ch > '9' {
				return out
			}
			code = code*10 + int(ch-'0')
		}
		agent, rest, ok := strings.Cut(s[4:], " ")
		if !ok || agent == "" {
			return out
		}
		text, rest, ok := quotedString(strings.TrimLeft(rest, " "))
		if !ok {
			return out
		}
		// A date may follow.
		rest = strings.TrimLeft(rest, " ")
		if strings.HasPrefix(rest, `"`) {
			if _, rest, ok = quotedString(rest); !ok {
				return out
			}
		}
		out = append(out, Warning{Code: code, Agent: agent, Text: text})
		rest = strings.TrimLeft(rest, " \t")
		if rest != "" && rest[0] != ',' {
			return out
		}
		s = rest
	}
}

// quotedString reads a quoted-string; control characters are removed.
func quotedString(s string) (text, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == '"':
			return b.String(), s[i+1:], true
		case ch == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case ch >= 0x20 && ch != 0x7f:
			b.WriteByte(ch)
		}
	}
	return "", "", false
}
