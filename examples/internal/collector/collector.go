// Package collector receives spans over OTLP, for tests.
package collector

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	otlp "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
)

// Span is a received span.
type Span struct {
	Service, Name, TraceID, ID, ParentID string
	// Links are the IDs of other traces.
	Links []string
	// Attributes with text.
	Attributes map[string]string
	// Failed is set if the status is an error.
	Failed bool
}

// Collector is a receiver at Address. It is safe for concurrent use.
type Collector struct {
	otlp.UnimplementedTraceServiceServer
	Address string // host:port

	mu    sync.Mutex
	spans []Span
}

// Start serves on a port of this machine until the test ends.
func Start(t *testing.T) *Collector {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &Collector{Address: l.Addr().String()}
	s := grpc.NewServer()
	otlp.RegisterTraceServiceServer(s, c)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		// A test that is skipped stops the server before it serves.
		if err := <-done; !errors.Is(err, grpc.ErrServerStopped) {
			require.NoError(t, err)
		}
	})
	return c
}

// Export implements the OTLP service.
func (c *Collector) Export(_ context.Context, r *otlp.ExportTraceServiceRequest) (*otlp.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range r.ResourceSpans {
		service := ""
		for _, a := range of.Resource.Attributes {
			if a.Key == "service.name" {
				service = a.Value.GetStringValue()
			}
		}
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				out := Span{Service: service, Name: s.Name, TraceID: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId),
					ParentID: hex.EncodeToString(s.ParentSpanId), Attributes: map[string]string{}, Failed: s.Status.GetCode() == 2}
				for _, a := range s.Attributes {
					out.Attributes[a.Key] = a.Value.GetStringValue()
				}
				for _, l := range s.Links {
					out.Links = append(out.Links, hex.EncodeToString(l.TraceId))
				}
				c.spans = append(c.spans, out)
			}
		}
	}
	return &otlp.ExportTraceServiceResponse{}, nil
}

// Spans returns all spans so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Wait returns the first span that is as wanted, for which it waits.
func (c *Collector) Wait(t *testing.T, what string, wanted func(Span) bool) Span {
	t.Helper()
	for range 3000 {
		spans := c.Spans()
		if i := slices.IndexFunc(spans, wanted); i >= 0 {
			return spans[i]
		}
		time.Sleep(20 * time.Millisecond)
	}
	require.FailNow(t, "no span", "%s: %+v", what, c.Spans())
	return Span{}
}
