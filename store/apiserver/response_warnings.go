package apiserver

import (
	"strings"
	"unicode/utf8"
)

// warn adds a warning to the response, unless it has it.
func (r *request) warn(text string) {
	const limit = 20
	if len(r.warnings) >= limit {
		return
	}
	for _, w := range r.warnings {
		if w == text {
			return
		}
	}
	r.warnings = append(r.warnings, text)
}

// Bounds of the warnings of a response, in characters: clients and proxies bound headers, and a webhook or a
// request may cause any text.
const (
	maxWarnings = 4096 // in all; if they are longer,
	maxWarning  = 256  // each is cut to this, and the last are left out
)

// sendWarnings writes the warnings into the header. It must be called before WriteHeader.
func (r *request) sendWarnings() {
	total := 0
	for _, text := range r.warnings {
		total += utf8.RuneCountInString(text)
	}
	cut, sent := total > maxWarnings, 0
	for _, text := range r.warnings {
		if cut {
			text = firstRunes(text, maxWarning)
		}
		if sent += utf8.RuneCountInString(text); sent > maxWarnings {
			break
		}
		r.w.Header().Add("Warning", warningHeader(text))
	}
	r.warnings = nil
}

// firstRunes is the beginning of a text, of at most n characters.
func firstRunes(text string, n int) string {
	for at := range text {
		if n == 0 {
			return text[:at]
		}
		n--
	}
	return text
}

// warningHeader is the text as a Warning header of RFC 7234: quoted, without control characters.
func warningHeader(text string) string {
	var b strings.Builder
	b.WriteString(`299 - "`)
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < ' ' || c == 0x7f:
			b.WriteByte(' ')
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
