package rest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/client"
)

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
		who.SetHeader(req.Header)
	}
	for k, v := range r.Header {
		req.Header.Set(k, v)
	}
	fence.Sent(ctx, c.server)
	if token := fence.Value(ctx, c.server); token != "" {
		req.Header.Set(fence.Header, token)
	}
	return req, nil
}

// maxBody is the maximum size of one reply, in bytes.
const maxBody = 2 << 30

func readBody(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	if n := resp.ContentLength; n > 0 && n <= 1<<20 {
		b := make([]byte, n)
		_, err := io.ReadFull(resp.Body, b)
		if err == nil {
			// A connection can only be reused after the body was read to its end.
			var one [1]byte
			_, _ = resp.Body.Read(one[:])
		}
		return b, err
	}
	// Memory for a claimed length above a megabyte is allocated piece by piece.
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

func flatten(h http.Header) map[string]string {
	out := make(map[string]string, len(h))
	for k, v := range h {
		if len(v) > 0 {
			out[k] = v[0]
		}
	}
	return out
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
