package rest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
)

// Conn is a connection to one API server over HTTP. It implements client.Conn and client.Upgrader.
type Conn struct {
	cfg          Config
	opts         Options
	base         *url.URL
	server       string // names the server, for fence tokens
	scheme       *scheme.Scheme
	agent        string
	watchesFiles bool
	limit        *limiter
	pace         *pacer
	warned       warned
	cbor         transcoder
	state        connState
}

var (
	_ client.Conn     = (*Conn)(nil)
	_ client.Upgrader = (*Conn)(nil)
)

// New returns a connection. It reads the files cfg names but does not contact the server.
func New(cfg Config, opts Options) (*Conn, error) {
	base, err := cfg.baseURL()
	if err != nil {
		return nil, err
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	f, err := cfg.readFiles()
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	c := &Conn{cfg: cfg, opts: opts, base: base, server: serverName(base, cfg.TLS), scheme: cfg.Scheme, agent: cfg.UserAgent}
	if c.scheme == nil {
		c.scheme = api.Scheme()
	}
	if c.agent == "" {
		c.agent = defaultAgent()
	}
	if opts.MaxInFlight <= 0 {
		opts.MaxInFlight = 1024
	}
	if c.opts.Retries == 0 {
		c.opts.Retries = 10
	}
	c.cbor.Transcoder = opts.CBOR
	c.watchesFiles = cfg.TLS.CAFile+cfg.TLS.CertFile+cfg.TLS.KeyFile+cfg.BearerTokenFile != ""
	c.limit = newLimiter(opts.MaxInFlight, opts.Metrics.Limit)
	c.limit.report()
	c.pace = newPacer(opts.QPS, opts.Burst)
	if c.state.t, err = cfg.newTransports(f, nil, base.Scheme == "https"); err != nil {
		return nil, err
	}
	c.state.checked = time.Now()
	return c, nil
}

// serverName identifies a cluster: by its address and, since the address may be the same in each cluster,
// such as that of the service in a pod, the roots of its certificates.
func serverName(base *url.URL, t TLSConfig) string {
	roots := t.CAFile
	if roots == "" {
		roots = fmt.Sprintf("%x", sha256.Sum256(t.CAData))
	}
	return base.String() + " " + t.ServerName + " " + roots
}

// Scheme implements client.Conn.
func (c *Conn) Scheme() *scheme.Scheme { return c.scheme }

// Host returns the address of the server, such as "https://10.0.0.1:6443".
func (c *Conn) Host() string { return c.base.String() }

// Close closes the connections that are idle; those in use close when their request ends. The Conn can still
// be used.
func (c *Conn) Close() error {
	c.state.mu.Lock()
	all := append(slices.Clone(c.state.old), c.state.t)
	c.state.mu.Unlock()
	for _, t := range all {
		t.closeIdle()
	}
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
	err := c.cbor.send(ctx, r, func(r *client.Request) error {
		return c.attempts(ctx, r, true, func(resp *http.Response) error {
			body, err := readBody(resp)
			if err != nil {
				return err
			}
			out = &client.Response{Code: resp.StatusCode, Header: flatten(resp.Header), Warnings: c.warnings(resp.Header)}
			out.ContentType, out.Body, err = c.cbor.reply(resp.Header.Get("Content-Type"), body)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Stream implements client.Conn.
func (c *Conn) Stream(ctx context.Context, r *client.Request) (*client.Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	var out *client.Stream
	err := c.cbor.send(ctx, r, func(r *client.Request) error {
		return c.attempts(ctx, r, false, func(resp *http.Response) error {
			c.warnings(resp.Header)
			out = &client.Stream{Header: flatten(resp.Header)}
			out.ContentType, out.Body = c.cbor.stream(resp.Header.Get("Content-Type"), &streamBody{ReadCloser: resp.Body, cancel: cancel})
			return nil
		})
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

// Close implements io.Closer. A Read in progress returns.
func (s *streamBody) Close() error {
	var err error
	s.once.Do(func() {
		s.cancel()
		err = s.ReadCloser.Close()
	})
	return err
}

// Upgrade implements client.Upgrader. It is never retried.
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
	return &client.Upgraded{Header: flatten(resp.Header), Conn: &upgradedConn{ReadWriteCloser: rw, cancel: cancel}}, nil
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
