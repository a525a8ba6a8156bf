package apiserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// forward sends the request to u and copies the response, also of an upgraded connection.
func (s *Server) forward(r *request, to http.RoundTripper, u *url.URL) {
	if to == nil {
		r.fail(apierrors.NewServiceUnavailable("this server cannot reach nodes"))
		return
	}
	var proxied *links
	if r.rt != nil && r.info.Subresource == "proxy" {
		if r.redirectToRoot() {
			return
		}
		proxied = &links{prefix: r.proxyPrefix(), backend: u.Host, front: r.Host}
	}
	connected := false
	proxy := &httputil.ReverseProxy{
		Transport:     to,
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host = u, u.Host
			withoutCredentials(p.Out.Header)
			p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
			p.SetXForwarded()
			switch {
			case proxied != nil:
				p.Out.Host = p.In.Host // as the client has it
				saidBefore(p)
				p.Out.Header.Set("X-Forwarded-Uri", proxied.prefix+u.EscapedPath())
			case r.rt == nil: // another server serves the resource; its audit events have the same id
				saidBefore(p)
				p.Out.Header.Set("X-Forwarded-Uri", cleaned(u))
				p.Out.Header.Set(auditv1.HeaderAuditID, r.w.Header().Get(auditv1.HeaderAuditID))
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			switch {
			case r.info.Subresource == "log" && resp.StatusCode >= 400:
				return logError(resp)
			case proxied != nil && resp.StatusCode != http.StatusSwitchingProtocols:
				return proxied.apply(resp)
			case r.rt == nil && resp.StatusCode != http.StatusSwitchingProtocols:
				withoutSharing(resp.Header)
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			err = r.backendError(u, err, connected)
			if r.rt == nil && !apierrors.IsTimeout(err) {
				r.failAsText(err)
			} else {
				r.fail(err)
			}
		},
	}
	ctx, cancel := r.server.lifecycle.within(r.Context(), cutting)
	defer cancel()
	if r.upgrades() {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	}
	proxy.ServeHTTP(r.w, r.WithContext(ctx))
}

// cleaned is the escaped path of u without empty and dotted elements.
func cleaned(u *url.URL) string {
	out := path.Clean(u.EscapedPath())
	if strings.HasSuffix(u.Path, "/") && out != "/" {
		out += "/"
	}
	return out
}

// saidBefore gives a backend what proxies before this server have said of the host and the scheme of a
// request: only those are what the client has used.
func saidBefore(p *httputil.ProxyRequest) {
	for _, name := range []string{"Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		p.Out.Header.Del(name)
		if v, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = v
		}
	}
}

// backendError is the error of a request that the backend at u did not answer, because of a *StatusError, or
// of another error before or after the connection was there.
func (r *request) backendError(u *url.URL, err error, connected bool) error {
	if e, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return e
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && r.info.Subresource == "log" {
		if refused := r.server.opts.Metrics.LogRefused; refused != nil {
			refused()
		}
	}
	other := r.rt == nil // another server serves the resource
	if other && r.info.Resource && errors.Is(err, context.DeadlineExceeded) {
		return apierrors.NewTimeout("the server that serves this version did not respond in time", 0)
	}
	text := fmt.Sprintf("error dialing backend: %v", err)
	switch {
	case other, r.info.Subresource == "proxy" && !r.upgrades():
		return apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: %v", err))
	case r.info.Subresource == "log":
		text = fmt.Sprintf("Get %q: %v", u, err)
	case connected:
		text = err.Error()
	}
	return apierrors.New(http.StatusInternalServerError, "", text)
}

// bearerProtocol begins the WebSocket protocol by which browsers send a token.
const bearerProtocol = "base64url.bearer.authorization.k8s.io."

// withoutCredentials removes headers with credentials, which are for this server only, and headers that a
// backend would trust from this server.
func withoutCredentials(h http.Header) {
	h.Del("Authorization")
	for name := range h {
		if strings.HasPrefix(name, "Impersonate-") || strings.HasPrefix(name, "X-Remote-") {
			h.Del(name)
		}
	}
	const name = "Sec-Websocket-Protocol"
	if !strings.Contains(strings.Join(h[name], ","), bearerProtocol) {
		return
	}
	var rest []string
	for protocol := range strings.SplitSeq(strings.Join(h[name], ","), ",") {
		if protocol = strings.TrimSpace(protocol); !strings.HasPrefix(protocol, bearerProtocol) {
			rest = append(rest, protocol)
		}
	}
	h.Del(name)
	if len(rest) > 0 {
		h.Set(name, strings.Join(rest, ", "))
	}
}

// logError is the Status of an error response of a kubelet to a request for a log.
func logError(resp *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 2048))
	_ = resp.Body.Close()
	text := strings.TrimSpace(string(b))
	if resp.StatusCode == http.StatusBadRequest {
		return apierrors.NewBadRequest(text)
	}
	return apierrors.NewGenericServerResponse(resp.StatusCode, "get", schema.GroupResource{Resource: "pods/log"}, "", text, 0, true)
}
