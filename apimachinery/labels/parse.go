package labels

import "fmt"

// maxSelector bounds the text of a selector, which comes from a URL.
const maxSelector = 1 << 20

// Parse reads a selector. Empty text selects everything. Errors wrap ErrInvalid
// and are a *SelectorError.
func Parse(s string) (Selector, error) {
	if len(s) > maxSelector {
		return Selector{}, &SelectorError{Selector: s[:32], Problem: "selector is too long"}
	}
	p := parser{lexer: lexer{text: s}}
	p.next()
	reqs, err := p.selector()
	if err != nil {
		if e, ok := err.(*SelectorError); ok {
			e.Selector = s
		}
		return Selector{}, err
	}
	return NewSelector(reqs...), nil
}

// MustParse is Parse for constants: it panics on an error.
func MustParse(s string) Selector {
	selector, err := Parse(s)
	if err != nil {
		panic(fmt.Errorf("label selector %q: %w", s, err))
	}
	return selector
}

type token uint8

const (
	tokenEnd token = iota
	tokenWord
	tokenComma
	tokenOpen
	tokenClose
	tokenNot
	tokenEquals
	tokenDoubleEquals
	tokenNotEquals
	tokenGreater
	tokenLess
)

type lexer struct {
	text string
	pos  int
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func isSpecial(c byte) bool {
	switch c {
	case '=', '!', '(', ')', ',', '>', '<':
		return true
	}
	return false
}

// next gives a token and its text.
func (l *lexer) next() (token, string) {
	for l.pos < len(l.text) && isSpace(l.text[l.pos]) {
		l.pos++
	}
	start := l.pos
	if start == len(l.text) {
		return tokenEnd, ""
	}
	if isSpecial(l.text[start]) {
		return l.symbol()
	}
	for l.pos < len(l.text) && !isSpecial(l.text[l.pos]) && !isSpace(l.text[l.pos]) {
		l.pos++
	}
	return tokenWord, l.text[start:l.pos]
}

// symbol takes the longest symbol.
func (l *lexer) symbol() (token, string) {
	start := l.pos
	l.pos++
	if l.pos < len(l.text) && l.text[l.pos] == '=' {
		switch l.text[start] {
		case '=':
			l.pos++
			return tokenDoubleEquals, "=="
		case '!':
			l.pos++
			return tokenNotEquals, "!="
		}
	}
	text := l.text[start:l.pos]
	switch text[0] {
	case '=':
		return tokenEquals, text
	case '!':
		return tokenNot, text
	case '(':
		return tokenOpen, text
	case ')':
		return tokenClose, text
	case ',':
		return tokenComma, text
	case '>':
		return tokenGreater, text
	}
	return tokenLess, text
}

// parser looks one token ahead.
type parser struct {
	lexer lexer
	tok   token
	text  string
}

func (p *parser) next() { p.tok, p.text = p.lexer.next() }

func (p *parser) unexpected(expected string) error {
	return &SelectorError{Problem: fmt.Sprintf("found '%s', expected: %s", p.text, expected)}
}

func (p *parser) selector() ([]Requirement, error) {
	var reqs []Requirement
	if p.tok == tokenEnd {
		return nil, nil
	}
	for {
		r, err := p.requirement()
		if err != nil {
			return nil, err
		}
		reqs = append(reqs, *r)
		switch p.tok {
		case tokenEnd:
			return reqs, nil
		case tokenComma:
			p.next()
			if p.tok != tokenWord && p.tok != tokenNot {
				return nil, p.unexpected("identifier after ','")
			}
		default:
			return nil, p.unexpected("',' or 'end of string'")
		}
	}
}

func (p *parser) requirement() (*Requirement, error) {
	not := p.tok == tokenNot
	if not {
		p.next()
	}
	if p.tok != tokenWord {
		return nil, p.unexpected("identifier")
	}
	key := p.text
	p.next()
	if not {
		return NewRequirement(key, DoesNotExist, nil)
	}
	op, err := p.operator()
	if err != nil {
		return nil, err
	}
	var values []string
	switch op {
	case Exists:
	case In, NotIn:
		values, err = p.list()
	default:
		values, err = p.single()
	}
	if err != nil {
		return nil, err
	}
	return NewRequirement(key, op, values)
}

func (p *parser) operator() (Operator, error) {
	var op Operator
	switch p.tok {
	case tokenEnd, tokenComma:
		return Exists, nil
	case tokenEquals:
		op = Equals
	case tokenDoubleEquals:
		op = DoubleEquals
	case tokenNotEquals:
		op = NotEquals
	case tokenGreater:
		op = GreaterThan
	case tokenLess:
		op = LessThan
	case tokenWord:
		if word := Operator(p.text); word == In || word == NotIn {
			op = word
		}
	}
	if op == "" {
		return "", p.unexpected("in, notin, =, ==, !=, gt, lt")
	}
	p.next()
	return op, nil
}

// single is the one value of an equality; it may be missing.
func (p *parser) single() ([]string, error) {
	switch p.tok {
	case tokenEnd, tokenComma:
		return []string{""}, nil
	case tokenWord:
		value := p.text
		p.next()
		return []string{value}, nil
	}
	return nil, p.unexpected("identifier")
}

// list is "(a,b)"; a value missing, also between the
// parentheses, is the empty value.
func (p *parser) list() ([]string, error) {
	if p.tok != tokenOpen {
		return nil, p.unexpected("'('")
	}
	p.next()
	if p.tok == tokenClose {
		p.next()
		return []string{""}, nil
	}
	var values []string
	for {
		value := ""
		if p.tok == tokenWord {
			value = p.text
			p.next()
		}
		values = append(values, value)
		switch p.tok {
		case tokenClose:
			p.next()
			return values, nil
		case tokenComma:
			p.next()
		default:
			return nil, p.unexpected("',' or ')'")
		}
	}
}
