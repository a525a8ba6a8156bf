package aggregation

import (
	"bytes"
	"io"
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// InProcess is an API version that a handler of this process serves. Its requests are authenticated, limited,
// authorized and recorded as those for other servers are. It has no APIService object.
type InProcess struct {
	GroupVersion schema.GroupVersion
	// GroupPriority and VersionPriority order it in discovery, as those of an APIService do.
	GroupPriority, VersionPriority int32
	// Resources are what discovery shows.
	Resources []apidiscoveryv2.APIResourceDiscovery
	// Handler serves all requests whose path begins with /apis/GROUP/VERSION, that path itself included. Its
	// responses are held in memory, so it must not serve watches. It is called concurrently; the caller is
	// authn.UserFrom the request's context.
	Handler http.Handler
}

// RoundTrip calls the handler.
func (p *InProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody // as a server sees a request
	}
	w := &held{header: http.Header{}}
	p.Handler.ServeHTTP(w, r)
	return w.response(r), nil
}

func (p *InProcess) version() apiserver.AggregatedVersion {
	return apiserver.AggregatedVersion{GroupVersion: p.GroupVersion, GroupPriority: p.GroupPriority, VersionPriority: p.VersionPriority,
		Discovery: apidiscoveryv2.APIVersionDiscovery{Version: p.GroupVersion.Version, Resources: p.Resources, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}}
}

// held is a response in memory.
type held struct {
	code   int
	header http.Header
	sent   http.Header // as it was when the first byte was written
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *held) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *held) WriteHeader(code int) {
	if w.sent == nil {
		w.code, w.sent = code, w.header.Clone()
	}
}

// Write implements http.ResponseWriter.
func (w *held) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *held) response(r *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	return &http.Response{StatusCode: w.code, Status: http.StatusText(w.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.sent,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r}
}
