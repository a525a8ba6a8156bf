package apiserver

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
)

// maxGoaway is the greatest Options.GoawayChance: more would mean a new connection every few requests.
const maxGoaway = 0.02

// responseHeaders sets the headers of responses that Options configure: CORS, HSTS and GOAWAY.
type responseHeaders struct {
	origins []*regexp.Regexp
	hsts    string
	goaway  float64
}

func newResponseHeaders(opts *Options) (responseHeaders, error) {
	p := responseHeaders{hsts: strings.Join(opts.HSTS, "; "), goaway: opts.GoawayChance}
	if p.goaway < 0 || p.goaway > maxGoaway {
		return p, fmt.Errorf("apiserver: GoawayChance %v is not between 0 and %v", p.goaway, maxGoaway)
	}
	for _, text := range opts.CORSOrigins {
		re, err := regexp.Compile(text)
		if err != nil {
			return p, fmt.Errorf("apiserver: CORSOrigins: %w", err)
		}
		if !anchored(text) {
			return p, fmt.Errorf("apiserver: CORSOrigins: %q also matches parts of other origins: it must begin with ^ or // and end with $, a colon or a port", text)
		}
		p.origins = append(p.origins, re)
	}
	return p, nil
}

// originEnd is the end of a pattern that is anchored at the end of a host.
var originEnd = regexp.MustCompile(`(\$|:|:\$|:\(\$\)|\(:\|\$\)|\(\$\|:\)|:[0-9]+|:(\[0-9\]|\\d)[+*])$`)

// anchored reports whether a pattern is anchored at both ends of an origin's host: example.com alone would
// also let https://example.com.evil.net in.
func anchored(pattern string) bool {
	return (strings.HasPrefix(pattern, "^") || strings.HasPrefix(pattern, "//")) && originEnd.MatchString(pattern)
}

// apply sets the headers. It reports false if the request was a CORS preflight, which has been answered.
func (p *responseHeaders) apply(r *request) bool {
	h := r.w.Header()
	if p.hsts != "" && r.TLS != nil {
		h.Set("Strict-Transport-Security", p.hsts)
	}
	if p.goaway > 0 && r.ProtoMajor == 2 && !r.info.longRunning() && rand.Float64() < p.goaway {
		h.Set("Connection", "close") // net/http makes a GOAWAY frame of it
	}
	if len(p.origins) > 0 {
		h.Add("Vary", "Origin") // on all responses, so that caches keep those to other origins apart
	}
	origin := r.Request.Header.Get("Origin")
	if origin == "" || !p.allows(origin) {
		return true
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Methods", "POST, GET, OPTIONS, PUT, DELETE, PATCH")
	h.Set("Access-Control-Allow-Headers", "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since")
	h.Set("Access-Control-Expose-Headers", "Date")
	h.Set("Access-Control-Allow-Credentials", "true")
	if r.Method == http.MethodOptions {
		r.w.WriteHeader(http.StatusNoContent)
		return false
	}
	return true
}

func (p *responseHeaders) allows(origin string) bool {
	for _, re := range p.origins {
		if re.MatchString(origin) {
			return true
		}
	}
	return false
}

// setStandardHeaders sets the headers that every response has: the audit ID, which the client may choose, and
// Cache-Control.
func (r *request) setStandardHeaders() {
	id := r.Header.Get("Audit-Id")
	if id == "" || len(id) > 64 {
		id = newAuditID()
	}
	h := r.w.Header()
	h["Audit-Id"] = []string{id}
	h["Cache-Control"] = cacheControl
}

var cacheControl = []string{"no-cache, private"}

// newAuditID is a random UUID. It names a request in logs and guards nothing, so it need not be unguessable.
func newAuditID() string {
	var u [16]byte
	for i, v := range [2]uint64{rand.Uint64(), rand.Uint64()} {
		for j := range 8 {
			u[8*i+j] = byte(v >> (8 * j))
		}
	}
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	var b [36]byte
	hex.Encode(b[:8], u[:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:], u[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}
