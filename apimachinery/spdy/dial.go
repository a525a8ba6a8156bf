package spdy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// What a request for SPDY says, and in which header it negotiates the meaning of the streams.
const (
	Upgrade        = "SPDY/3.1"
	ProtocolHeader = "X-Stream-Protocol-Version"
)

// Dial connects to url through rt for streams of a protocol. ctx is for connecting only.
func Dial(ctx context.Context, rt http.RoundTripper, url, protocol string) (*Conn, error) {
	resp, raw, err := Request(ctx, rt, url, protocol)
	switch {
	case err != nil:
		return nil, fmt.Errorf("error sending request: Post %q: %w", url, err)
	case raw == nil:
		defer resp.Body.Close()
		return nil, fmt.Errorf("unable to upgrade connection: %s", refusal(resp.Body))
	}
	return New(raw)
}

// Request requests an upgrade to SPDY with one of the protocols at url, through rt. The result is the
// response, and the connection on which it has arrived if that speaks SPDY now. Otherwise the body of the
// response must be closed.
func Request(ctx context.Context, rt http.RoundTripper, url string, protocols ...string) (*http.Response, io.ReadWriteCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return nil, nil, err
	}
	r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {Upgrade}, ProtocolHeader: protocols}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	raw, ok := resp.Body.(io.ReadWriteCloser)
	if !ok || resp.StatusCode != http.StatusSwitchingProtocols || !strings.EqualFold(resp.Header.Get("Upgrade"), Upgrade) {
		return resp, nil, nil
	}
	return resp, raw, nil
}

// refusal is what the response to a request for SPDY says, in text or in a Status.
func refusal(body io.Reader) string {
	b, err := io.ReadAll(io.LimitReader(body, 1<<16))
	if err != nil {
		return "unable to read error from server response"
	}
	var st metav1.Status
	if codec.Unmarshal(b, &st) == nil && st.Message != "" {
		return st.Message
	}
	if text := strings.TrimSpace(string(b)); text != "" {
		return text
	}
	return "empty server response"
}
