package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
)

// Conn is a connection to one API server over HTTP. It implements client.Conn and client.Upgrader.
type Conn struct {
	cfg          Config
	opts         Options
	base         *url.URL
	scheme       *scheme.Scheme
	agent        string
	watchesFiles bool
	limit        *limiter
	pace         *pacer
	warned       warned
	state        connState
}

var (
	_ client.Conn     = (*Conn)(nil)
	_ client.Upgrader = (*Conn)(nil)
)

// New prepares a connection. It reads the files cfg names but does not talk to the server.
func New(cfg Config, o Options) (*Conn, error) {
	base, err := cfg.baseURL()
	if err != nil {
		return nil, err
	}
	if cfg.Username != "" && (cfg.BearerToken != "" || cfg.BearerTokenFile != "") {
		return nil, errors.New("rest: basic authentication and a bearer token exclude each other")
	}
	f, err := cfg.readFiles()
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	c := &Conn{cfg: cfg, opts: o, base: base, scheme: cfg.Scheme, agent: cfg.UserAgent}
	if c.scheme == nil {
		c.scheme = api.Scheme()
	}
	if c.agent == "" {
		c.agent = defaultAgent()
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 1024
	}
	if c.opts.Retries == 0 {
		c.opts.Retries = 10
	}
	c.watchesFiles = cfg.TLS.CAFile+cfg.TLS.CertFile+cfg.TLS.KeyFile+cfg.BearerTokenFile != ""
	c.limit = newLimiter(o.MaxInFlight, o.Metrics.Limit)
	c.pace = newPacer(o.QPS, o.Burst)
	if c.state.t, err = cfg.newTransports(f, nil, base.Scheme == "https"); err != nil {
		return nil, err
	}
	c.state.looked = time.Now()
	return c, nil
}

// Scheme implements client.Conn.
func (c *Conn) Scheme() *scheme.Scheme { return c.scheme }

// Host is the address of the server, such as "https://10.0.0.1:6443".
func (c *Conn) Host() string { return c.base.String() }

// Close closes the connections that are idle; those in use close when their request ends. The Conn can still be used.
func (c *Conn) Close() error {
	c.state.mu.Lock()
	t := c.state.t
	c.state.mu.Unlock()
	t.closeIdle()
	return nil
}

// Do implements client.Conn.
func (c *Conn) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	if c.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
	}
	var out *client.Response
	err := c.attempts(ctx, r, true, func(resp *http.Response) error {
		body, err := readBody(resp)
		if err != nil {
			return err
		}
		out = &client.Response{Code: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Header: flat(resp.Header), Body: body, Warnings: c.warnings(resp.Header)}
		return nil
	})
	return out, err
}

// Stream implements client.Conn.
func (c *Conn) Stream(ctx context.Context, r *client.Request) (*client.Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	var out *client.Stream
	err := c.attempts(ctx, r, false, func(resp *http.Response) error {
		c.warnings(resp.Header)
		out = &client.Stream{ContentType: resp.Header.Get("Content-Type"), Header: flat(resp.Header), Body: &streamBody{ReadCloser: resp.Body, cancel: cancel}}
		return nil
	})
	if err != nil {
		cancel()
		return nil, err
	}
	return out, nil
}

// streamBody ends its request when it is closed.
type streamBody struct {
	io.ReadCloser
	cancel context.CancelFunc
	once   sync.Once
}

// Close implements io.Closer. A Read under way returns.
func (s *streamBody) Close() error {
	var err error
	s.once.Do(func() {
		s.cancel()
		err = s.ReadCloser.Close()
	})
	return err
}

// Upgrade implements client.Upgrader. It is never sent again.
func (c *Conn) Upgrade(ctx context.Context, r *client.Request) (*client.Upgraded, error) {
	t, cred, err := c.current(ctx, nil)
	if err != nil {
		return nil, err
	}
	// The stream outlives the call, so it must not end with a context meant for the handshake.
	ctx, cancel := context.WithCancel(ctx)
	req, err := c.request(ctx, r, t, cred)
	if err != nil {
		cancel()
		return nil, err
	}
	resp, err := t.wrappedUpgrade.RoundTrip(req)
	if err != nil {
		cancel()
		return nil, c.wrap(r, err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		defer cancel()
		defer resp.Body.Close()
		if resp.StatusCode < 400 {
			return nil, c.wrap(r, fmt.Errorf("the server answered %s instead of switching protocols", resp.Status))
		}
		return nil, c.statusError(r, resp)
	}
	rw, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		cancel()
		resp.Body.Close()
		return nil, c.wrap(r, errors.New("the transport cannot switch protocols"))
	}
	return &client.Upgraded{Header: flat(resp.Header), Conn: &upgradedConn{ReadWriteCloser: rw, cancel: cancel}}, nil
}

type upgradedConn struct {
	io.ReadWriteCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (u *upgradedConn) Close() error {
	err := u.ReadWriteCloser.Close()
	u.cancel()
	return err
}

// exempt reports whether a request does not wait for its turn: streams take no turn because they last, and leases
// because a late renewal costs the leader its lease.
func exempt(r *client.Request, whole bool) bool {
	return !whole || r.Resource.Group == "coordination.k8s.io" && r.Resource.Resource == "leases" && r.Name != ""
}

// attempts sends r until it is answered for good; done gets the answer if it is a success and must read or keep
// the body if whole is false.
func (c *Conn) attempts(ctx context.Context, r *client.Request, whole bool, done func(*http.Response) error) error {
	verb, resource := r.Verb(), r.Resource.Resource
	var rejected *Credential
	unauthorized, broken := false, 0
	for try := 0; ; try++ {
		slot := !exempt(r, whole)
		if slot {
			if err := c.pace.wait(ctx); err != nil {
				return c.wrap(r, err)
			}
			waited, err := c.limit.acquire(ctx)
			if waited > 0 && c.opts.Metrics.Queued != nil {
				c.opts.Metrics.Queued(verb, resource, waited)
			}
			if err != nil {
				return c.wrap(r, err)
			}
		}
		start := time.Now()
		code, cred, err := c.once(ctx, r, rejected, done)
		if slot {
			c.limit.release(judge(code))
		}
		if c.opts.Metrics.Request != nil {
			c.opts.Metrics.Request(verb, resource, code, time.Since(start))
		}
		if err == nil {
			return nil
		}
		wait, again := c.again(r, code, err, try)
		switch {
		case code == http.StatusUnauthorized && !unauthorized && (c.cfg.Credentials != nil || c.cfg.BearerTokenFile != ""):
			unauthorized, again, wait = true, true, 0
			if rejected = cred; rejected == nil {
				rejected = &Credential{}
			}
		case code == 0 && again:
			if broken++; broken > 2 {
				again = false
			}
		}
		if !again || ctx.Err() != nil {
			return err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			// Waiting would only turn a clear answer into a timeout.
			return err
		}
		if c.opts.Metrics.Retry != nil {
			c.opts.Metrics.Retry(verb, resource, code)
		}
		if pause(ctx, wait) != nil {
			return err
		}
	}
}

// judge says what a status tells about the server's load.
func judge(code int) outcome {
	switch {
	case code == http.StatusTooManyRequests:
		return overloaded
	case code == 0 || code >= 500:
		return unclear
	}
	return answered
}

// again decides whether to send r once more after err, and when.
func (c *Conn) again(r *client.Request, code int, err error, try int) (time.Duration, bool) {
	if try >= c.opts.Retries {
		return 0, false
	}
	if code == 0 {
		// Only a read may be sent again without knowing what became of it.
		if r.Method != "" && r.Method != http.MethodGet || !brokenConnection(err) {
			return 0, false
		}
		return time.Duration(try+1) * (50*time.Millisecond + rand.N(100*time.Millisecond)), true
	}
	if code != http.StatusTooManyRequests && code < 500 {
		return 0, false
	}
	after, ok := apierrors.RetryAfter(err)
	if !ok {
		if code != http.StatusTooManyRequests {
			return 0, false
		}
		after = time.Second
	}
	// A disruption budget's refusal is an answer, not load: it would come again for minutes.
	if r.Subresource == "eviction" {
		return 0, false
	}
	return after + rand.N(after/8+1), true
}

// brokenConnection reports whether an exchange failed on a connection that had been made.
func brokenConnection(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op != "dial"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	return strings.Contains(err.Error(), "http2:")
}

// once sends r once. code is 0 if there was no answer.
func (c *Conn) once(ctx context.Context, r *client.Request, rejected *Credential, done func(*http.Response) error) (code int, cred *Credential, err error) {
	t, cred, err := c.current(ctx, rejected)
	if err != nil {
		return 0, nil, c.wrap(r, err)
	}
	req, err := c.request(ctx, r, t, cred)
	if err != nil {
		return 0, cred, err
	}
	resp, err := t.wrappedMain.RoundTrip(req)
	if err != nil {
		return 0, cred, c.wrap(r, err)
	}
	if resp.StatusCode >= 400 {
		defer resp.Body.Close()
		return resp.StatusCode, cred, c.statusError(r, resp)
	}
	if err := done(resp); err != nil {
		resp.Body.Close()
		return 0, cred, c.wrap(r, err)
	}
	return resp.StatusCode, cred, nil
}

func (c *Conn) request(ctx context.Context, r *client.Request, t *transports, cred *Credential) (*http.Request, error) {
	u := *c.base
	path := r.URLPath()
	unescaped, err := url.PathUnescape(path)
	if err != nil {
		return nil, fmt.Errorf("rest: path %q: %w", path, err)
	}
	u.Path = c.base.Path + unescaped
	if unescaped != path {
		u.RawPath = c.base.EscapedPath() + path
	}
	u.RawQuery = r.Query.Encode()
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	req := &http.Request{Method: method, URL: &u, Host: u.Host, Header: make(http.Header, 8), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	req = req.WithContext(ctx)
	if r.Body != nil {
		req.ContentLength = int64(len(r.Body))
		req.Body = io.NopCloser(bytes.NewReader(r.Body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Body)), nil }
		if len(r.Body) == 0 {
			req.Body = http.NoBody
		}
		if r.ContentType != "" {
			req.Header.Set("Content-Type", r.ContentType)
		}
	}
	accept := r.Accept
	if accept == "" {
		accept = client.MediaJSON
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", c.agent)
	switch token := t.files.token; {
	case cred != nil && cred.Token != "":
		req.Header.Set("Authorization", "Bearer "+cred.Token)
	case token != "":
		req.Header.Set("Authorization", "Bearer "+token)
	case c.cfg.BearerToken != "":
		req.Header.Set("Authorization", "Bearer "+c.cfg.BearerToken)
	case c.cfg.Username != "":
		req.SetBasicAuth(c.cfg.Username, c.cfg.Password)
	}
	who := r.Impersonate
	if who == nil {
		who = c.cfg.Impersonate
	}
	if who != nil {
		impersonate(req.Header, who)
	}
	for k, v := range r.Header {
		req.Header.Set(k, v)
	}
	if token := fence.Value(ctx); token != "" {
		req.Header.Set(fence.Header, token)
	}
	return req, nil
}

// impersonate sets the headers of an identity. Extra keys are percent-encoded, as header names are limited.
func impersonate(h http.Header, u *client.User) {
	h.Set("Impersonate-User", u.Name)
	if u.UID != "" {
		h.Set("Impersonate-Uid", u.UID)
	}
	for _, g := range u.Groups {
		h.Add("Impersonate-Group", g)
	}
	for k, vs := range u.Extra {
		for _, v := range vs {
			h.Add("Impersonate-Extra-"+headerKey(k), v)
		}
	}
}

// headerKey percent-encodes what may not stand in a header name, and '%' itself.
func headerKey(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		ch := s[i]
		if ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9' || strings.IndexByte("!#$&'*+-.^_`|~", ch) >= 0 {
			b.WriteByte(ch)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", ch)
	}
	return b.String()
}

// maxBody bounds what is read of one reply, in bytes.
const maxBody = 2 << 30

func readBody(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	if n := resp.ContentLength; n > 0 && n <= 1<<20 {
		b := make([]byte, n)
		_, err := io.ReadFull(resp.Body, b)
		if err == nil {
			// Reading up to the end lets the connection be used again.
			var one [1]byte
			_, _ = resp.Body.Read(one[:])
		}
		return b, err
	}
	// A claimed length above a megabyte is believed a piece at a time.
	var buf bytes.Buffer
	if n := resp.ContentLength; n > 0 && n < 256<<20 {
		buf.Grow(int(min(n+bytes.MinRead, 32<<20)))
	}
	n, err := buf.ReadFrom(io.LimitReader(resp.Body, maxBody+1))
	if err == nil && n > maxBody {
		err = fmt.Errorf("the reply is larger than %d bytes", maxBody)
	}
	return buf.Bytes(), err
}

func flat(h http.Header) map[string]string {
	out := make(map[string]string, len(h))
	for k, v := range h {
		if len(v) > 0 {
			out[k] = v[0]
		}
	}
	return out
}

// Error says that a request got no answer.
type Error struct {
	// Method and Path of the request; the query is left out.
	Method, Path string
	// Err is the reason.
	Err error
}

// Error names the request and the reason.
func (e *Error) Error() string { return "rest: " + e.Method + " " + e.Path + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether the reason was a timeout.
func (e *Error) Timeout() bool {
	t, ok := errors.AsType[net.Error](e.Err)
	return ok && t.Timeout()
}

func (c *Conn) wrap(r *client.Request, err error) error {
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return &Error{Method: method, Path: c.base.Host + r.URLPath(), Err: err}
}

// retryAfterHeader reads Retry-After in seconds or as a date; 0 if there is none.
func retryAfterHeader(h http.Header) int {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	if n, err := strconv.Atoi(v); err == nil {
		return max(0, n)
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, int(time.Until(t)/time.Second)+1)
	}
	return 0
}
