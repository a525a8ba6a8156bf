package webhook

import (
	"context"
	"net/http"
)

// transportKey is the key of WithTransport's function in a context.
type transportKey struct{}

// WithTransport returns a context for whose sake requests to webhooks and aggregated API servers go through
// what wrap returns, for example to trace them. wrap gets the transport that sends the request. It is called
// for each request, and concurrently.
func WithTransport(ctx context.Context, wrap func(http.RoundTripper) http.RoundTripper) context.Context {
	return context.WithValue(ctx, transportKey{}, wrap)
}

// Transport returns t as the context's WithTransport wraps it, or t itself.
func Transport(ctx context.Context, t http.RoundTripper) http.RoundTripper {
	if wrap, ok := ctx.Value(transportKey{}).(func(http.RoundTripper) http.RoundTripper); ok {
		return wrap(t)
	}
	return t
}
