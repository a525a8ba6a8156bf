package jsonpath

import (
	"fmt"
	"strconv"
	"strings"
)

// Path is a parsed expression, immutable and safe for concurrent use.
type Path struct {
	text  string
	steps []step
}

// SyntaxError is the error for a malformed expression, with the offset in bytes.
type SyntaxError struct {
	Path   string
	Offset int
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("jsonpath %q, at %d: %s", e.Path, e.Offset, e.Reason)
}

// maxDepth bounds steps and nested filters, so that evaluating any expression stays cheap.
const maxDepth = 64

// maxDeep bounds recursive steps, each of which multiplies the work by the size of the object.
const maxDeep = 2

// Parse reads an expression with or without the surrounding braces and the leading $. Errors are
// *SyntaxError.
func Parse(text string) (*Path, error) {
	p := parser{text: text, end: len(text)}
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") && len(text) > 1 {
		p.pos, p.end = 1, len(text)-1
	}
	if p.peek() == '$' || p.peek() == '@' {
		p.pos++
	}
	steps, err := p.steps(0, false)
	if err != nil {
		return nil, err
	}
	return &Path{text: text, steps: steps}, nil
}

// String returns the expression as it was written.
func (p *Path) String() string { return p.text }

// Fields returns the names of a path that has only plain field steps, and false for other paths.
func (p *Path) Fields() ([]string, bool) {
	names := make([]string, len(p.steps))
	for i, s := range p.steps {
		f, ok := s.(fieldStep)
		if !ok {
			return nil, false
		}
		names[i] = string(f)
	}
	return names, true
}

type parser struct {
	text     string
	pos, end int
	deep     int // recursive steps so far
}

func (p *parser) peek() byte {
	if p.pos < p.end {
		return p.text[p.pos]
	}
	return 0
}

func (p *parser) fail(format string, args ...any) error {
	return &SyntaxError{Path: p.text, Offset: p.pos, Reason: fmt.Sprintf(format, args...)}
}

// steps parses up to the end, or inside a filter up to the first byte that cannot continue a path.
func (p *parser) steps(depth int, inFilter bool) ([]step, error) {
	var out []step
	for p.pos < p.end {
		if len(out) >= maxDepth || depth >= maxDepth {
			return nil, p.fail("more than %d steps", maxDepth)
		}
		var s step
		var err error
		switch c := p.peek(); {
		case c == '.':
			s, err = p.dot()
		case c == '[':
			s, err = p.bracket(depth)
		case inFilter:
			return out, nil
		case len(out) == 0 && isName(c):
			s, err = p.name()
		default:
			err = p.fail("unexpected %q", c)
		}
		if err != nil {
			return nil, err
		}
		if _, deep := s.(deepStep); deep {
			if p.deep++; p.deep > maxDeep {
				return nil, p.fail("more than %d recursive steps", maxDeep)
			}
		}
		if s != nil {
			out = append(out, s)
		}
	}
	return out, nil
}

func isName(c byte) bool {
	return c > ' ' && !strings.ContainsRune(".[](){}<>=!,'\"@?*:|&+", rune(c))
}

func (p *parser) dot() (step, error) {
	p.pos++
	switch c := p.peek(); {
	case c == '.':
		p.pos++
		if p.peek() == '*' {
			p.pos++
			return deepStep{}, nil
		}
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		return deepStep{name: string(name.(fieldStep))}, nil
	case c == '*':
		p.pos++
		return allStep{}, nil
	case c == '[', c == 0:
		return nil, nil
	}
	return p.name()
}

func (p *parser) name() (step, error) {
	var b strings.Builder
	for p.pos < p.end {
		c := p.peek()
		if c == '\\' && p.pos+1 < p.end {
			b.WriteByte(p.text[p.pos+1])
			p.pos += 2
			continue
		}
		if !isName(c) {
			break
		}
		b.WriteByte(c)
		p.pos++
	}
	if b.Len() == 0 {
		return nil, p.fail("a field name is missing")
	}
	return fieldStep(b.String()), nil
}

func (p *parser) bracket(depth int) (step, error) {
	p.pos++
	if p.peek() == '?' {
		return p.filter(depth)
	}
	var parts []step
	for {
		s, err := p.subscript()
		if err != nil {
			return nil, err
		}
		parts = append(parts, s)
		switch p.peek() {
		case ',':
			p.pos++
			continue
		case ']':
			p.pos++
		default:
			return nil, p.fail("] is missing")
		}
		break
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return unionStep(parts), nil
}

func (p *parser) subscript() (step, error) {
	p.spaces()
	defer p.spaces()
	switch c := p.peek(); {
	case c == '*':
		p.pos++
		return allStep{}, nil
	case c == '\'' || c == '"':
		s, err := p.quoted()
		return fieldStep(s), err
	}
	var bounds [3]*int
	colons := 0
	for colons < 3 {
		if n, ok := p.integer(); ok {
			bounds[colons] = &n
		}
		if p.peek() != ':' {
			break
		}
		p.pos++
		colons++
	}
	if colons == 0 {
		if bounds[0] == nil {
			return nil, p.fail("an index, a quoted field or * is missing")
		}
		return indexStep(*bounds[0]), nil
	}
	if bounds[2] != nil && *bounds[2] <= 0 {
		return nil, p.fail("a step must be positive")
	}
	return sliceStep{from: bounds[0], to: bounds[1], by: bounds[2]}, nil
}

func (p *parser) spaces() {
	for p.peek() == ' ' {
		p.pos++
	}
}

func (p *parser) integer() (int, bool) {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.pos++
	}
	n, err := strconv.Atoi(p.text[start:p.pos])
	if err != nil {
		p.pos = start
	}
	return n, err == nil
}

func (p *parser) quoted() (string, error) {
	quote := p.peek()
	p.pos++
	var b strings.Builder
	for p.pos < p.end {
		c := p.text[p.pos]
		p.pos++
		switch {
		case c == quote:
			return b.String(), nil
		case c == '\\' && p.pos < p.end:
			b.WriteByte(p.text[p.pos])
			p.pos++
		default:
			b.WriteByte(c)
		}
	}
	return "", p.fail("a closing %c is missing", quote)
}

func (p *parser) filter(depth int) (step, error) {
	p.pos++
	p.spaces()
	if p.peek() != '(' {
		return nil, p.fail("( is missing after ?")
	}
	p.pos++
	left, err := p.operand(depth)
	if err != nil {
		return nil, err
	}
	f := filterStep{left: left}
	p.spaces()
	for _, op := range []string{"==", "!=", "<=", ">=", "<", ">"} {
		if strings.HasPrefix(p.text[p.pos:p.end], op) {
			f.op = op
			p.pos += len(op)
			break
		}
	}
	if f.op != "" {
		if f.right, err = p.operand(depth); err != nil {
			return nil, err
		}
		p.spaces()
	}
	if !strings.HasPrefix(p.text[p.pos:p.end], ")]") {
		return nil, p.fail(")] is missing")
	}
	p.pos += 2
	return f, nil
}

func (p *parser) operand(depth int) (operand, error) {
	p.spaces()
	switch c := p.peek(); {
	case c == '@' || c == '$':
		p.pos++
		steps, err := p.steps(depth+1, true)
		return operand{steps: steps, isPath: true}, err
	case c == '\'' || c == '"':
		s, err := p.quoted()
		return operand{value: s}, err
	}
	start := p.pos
	for c := p.peek(); c != 0 && !strings.ContainsRune(" )=!<>", rune(c)); c = p.peek() {
		p.pos++
	}
	switch word := p.text[start:p.pos]; word {
	case "":
		return operand{}, p.fail("a value is missing")
	case "true", "false":
		return operand{value: word == "true"}, nil
	case "null":
		return operand{}, nil
	default:
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			return operand{value: n}, nil
		}
		n, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return operand{}, p.fail("%q is not a value", word)
		}
		return operand{value: n}, nil
	}
}
