// Package frontproxy sends requests to servers that trust this one, by its client certificate, to name the
// user of a request in headers.
package frontproxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/webhook"
)

// Options configure a Client.
type Options struct {
	// TLS is the configuration of connections, without a client certificate. It is not changed.
	TLS *tls.Config
	// Roots returns the authorities of servers' certificates; nil means those of TLS. It is called for each
	// request, as is Certificate: after either has returned another pointer, requests go over new
	// connections.
	Roots func() *x509.CertPool
	// Certificate returns the client certificate. Nil sends none.
	Certificate func() *tls.Certificate
	// Dial opens the connections; nil means the network.
	Dial webhook.DialFunc
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	opts Options

	mu      sync.Mutex
	current *transports
}

// New returns a Client.
func New(opts Options) *Client { return &Client{opts: opts} }

// transports reach servers with one client certificate and one set of authorities.
type transports struct {
	certificate *tls.Certificate // nil: none is sent
	roots       *x509.CertPool
	// requests shares connections between requests, over HTTP/2 if the server has it. upgrades is for
	// requests that switch protocols, for which HTTP/1.1 is needed.
	requests, upgrades *http.Transport
}

// A connection on which nothing has arrived for pingAfter is probed, and closed without an answer within
// pingTimeout: the server may have vanished without closing it.
const (
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

// unreachable is the error of a connection that was not made, so that nothing of a request was sent.
type unreachable struct{ error }

func (e *unreachable) Unwrap() error { return e.error }

// dialTimeout bounds an attempt to connect.
const dialTimeout = 5 * time.Second

func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dial := c.opts.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, &unreachable{err}
	}
	return conn, nil
}

func (c *Client) newTransports(certificate *tls.Certificate, roots *x509.CertPool) *transports {
	config := c.opts.TLS.Clone()
	if roots != nil {
		config.RootCAs = roots
	}
	if certificate != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	plain := config.Clone()
	plain.NextProtos = []string{"http/1.1"}
	return &transports{
		certificate: certificate, roots: roots,
		requests: &http.Transport{DialContext: c.dial, TLSClientConfig: config, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: 25, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
			HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}},
		upgrades: &http.Transport{DialContext: c.dial, TLSClientConfig: plain, DisableCompression: true,
			TLSHandshakeTimeout: 10 * time.Second, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}},
	}
}

// close closes idle connections, and those in use when their requests end.
func (t *transports) close() {
	t.requests.CloseIdleConnections()
	t.upgrades.CloseIdleConnections()
}

// transports returns those with the current certificate: servers refuse one that has expired also on a
// connection which was opened before it did.
func (c *Client) transports() *transports {
	var certificate *tls.Certificate
	var roots *x509.CertPool
	if c.opts.Certificate != nil {
		certificate = c.opts.Certificate()
	}
	if c.opts.Roots != nil {
		roots = c.opts.Roots()
	}
	c.mu.Lock()
	previous := c.current
	if previous == nil || previous.certificate != certificate || previous.roots != roots {
		c.current = c.newTransports(certificate, roots)
	}
	t := c.current
	c.mu.Unlock()
	if previous != nil && previous != t {
		previous.close()
	}
	return t
}

// Close closes idle connections.
func (c *Client) Close() {
	c.mu.Lock()
	t := c.current
	c.mu.Unlock()
	if t != nil {
		t.close()
	}
}

// Send sends a request on behalf of a user, whom its headers then name.
func (c *Client) Send(r *http.Request, u *authn.User) (*http.Response, error) {
	setUser(r.Header, u)
	t := c.transports()
	if upgrades(r.Header) {
		return webhook.Transport(r.Context(), t.upgrades).RoundTrip(r)
	}
	return webhook.Transport(r.Context(), t.requests).RoundTrip(r)
}

// SendToAny is Send of a client's request to the first host that accepts a connection, which is named in
// X-Forwarded-Host as by kube-apiserver. The request has the first one; next returns the others, and then an
// error.
func (c *Client) SendToAny(r *http.Request, u *authn.User, next func() (host string, err error)) (*http.Response, error) {
	body := r.Body
	if body != nil && body != http.NoBody {
		r.Body = io.NopCloser(body) // a transport closes it also if it cannot connect
		defer body.Close()
	}
	for {
		if !upgrades(r.Header) {
			r.Header.Set("X-Forwarded-Host", r.URL.Host)
			r.Header.Set("X-Forwarded-Proto", r.URL.Scheme)
		}
		resp, err := c.Send(r, u)
		if _, ok := errors.AsType[*unreachable](err); !ok || r.Context().Err() != nil {
			return resp, err
		}
		host, none := next()
		if none != nil {
			return resp, err
		}
		other := *r.URL
		other.Host = host
		r.URL, r.Host = &other, host
	}
}

func upgrades(h http.Header) bool {
	for _, value := range h.Values("Connection") {
		for token := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(token), "upgrade") {
				return true
			}
		}
	}
	return false
}

// The headers by which a front proxy reports the user; that they are these is fixed in Kubernetes.
const (
	userHeader   = "X-Remote-User"
	uidHeader    = "X-Remote-Uid"
	groupHeader  = "X-Remote-Group"
	extraHeaders = "X-Remote-Extra-"
)

// setUser replaces the headers that report the user.
func setUser(h http.Header, u *authn.User) {
	for name := range h {
		if strings.HasPrefix(name, "X-Remote-") {
			delete(h, name)
		}
	}
	h.Set(userHeader, u.Name)
	if u.UID != "" {
		h.Set(uidHeader, u.UID)
	}
	for _, g := range u.Groups {
		h.Add(groupHeader, g)
	}
	for key, values := range u.Extra {
		for _, v := range values {
			h.Add(extraHeaders+escaped(key), v)
		}
	}
}

// escaped writes a key as a part of a header's name: what must not be in one is percent-encoded, as is the
// percent sign.
func escaped(key string) string {
	var out strings.Builder
	for i := range len(key) {
		c := key[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$&'*+-.^_`|~", c) >= 0 {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// Get reads a document of at most limit bytes as a user. A status other than 200 and 304 is an error. The
// body of the response has been read.
func (c *Client) Get(ctx context.Context, u *authn.User, from *url.URL, header http.Header, limit int64) (*http.Response, []byte, error) {
	r := (&http.Request{Method: http.MethodGet, URL: from, Host: from.Host, Header: header}).WithContext(ctx)
	resp, err := c.Send(r, u)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotModified {
		return resp, nil, fmt.Errorf("bad status from %s: %d", from, resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = fmt.Errorf("the response from %s is larger than %d bytes", from, limit)
	}
	return resp, body, err
}
