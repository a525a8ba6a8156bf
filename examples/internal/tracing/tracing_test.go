package tracing_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/collector"
	"github.com/keelson-dev/keelson/examples/internal/tracing"
)

const header = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"

func TestParse(t *testing.T) {
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		c, err := tracing.Parse([]byte(strings.Replace(header, "/v1", "/"+version, 1) + "endpoint: collector:4317\nsamplingRatePerMillion: 100\n"))
		require.NoError(t, err)
		require.Equal(t, "collector:4317", *c.Endpoint)
		require.EqualValues(t, 100, *c.SamplingRatePerMillion)
	}
	for _, ok := range []string{"", "endpoint: unix:///run/otel.sock\n", "endpoint: dns:///collector:4317\n", "samplingRatePerMillion: 0\n", "samplingRatePerMillion: 1000000\n"} {
		_, err := tracing.Parse([]byte(header + ok))
		require.NoError(t, err, ok)
	}
	for text, want := range map[string]string{
		header + "endpoint: https://collector\n":       "endpoint: the scheme",
		header + "endpoint: 'dns://%zz'\n":             "endpoint: parse",
		header + "samplingRatePerMillion: -1\n":        "samplingRatePerMillion: -1 is not within",
		header + "samplingRatePerMillion: 1000001\n":   "samplingRatePerMillion: 1000001 is not within",
		header + "samplingRatePerMillion: 1e12\n":      "samplingRatePerMillion",
		header + "sampling: 1\n":                       "sampling",
		header + "endpoint: a:1\nendpoint: b:1\n":      "endpoint",
		"apiVersion: v1\nkind: TracingConfiguration\n": `of "v1"`,
		"apiVersion: apiserver.config.k8s.io/v1\n":     `kind ""`,
		"kind: [": "TracingConfiguration",
		"":        "kind",
		strings.Replace(header, "/v1", "/v2", 1) + "a: 1": "v2",
	} {
		_, err := tracing.Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// FuzzParse: no file makes it panic, and what it accepts passes the check.
func FuzzParse(f *testing.F) {
	f.Add(header + "endpoint: collector:4317\nsamplingRatePerMillion: 100\n")
	f.Add("{")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := tracing.Parse([]byte(text)); err == nil {
			require.NoError(t, c.Check())
		}
	})
}

// world is a server with a tracer, and a client that adds headers.
type world struct {
	*collector.Collector
	t      *testing.T
	tracer *tracing.Tracer
	url    string
	serve  func(ctx context.Context)
}

func start(t *testing.T, rate int32) *world {
	w := &world{t: t, Collector: collector.Start(t)}
	var err error
	w.tracer, err = tracing.New(&tracing.Configuration{Endpoint: &w.Address, SamplingRatePerMillion: &rate}, tracing.Options{Service: "test"})
	require.NoError(t, err)
	s := httptest.NewServer(w.tracer.Handler(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.serve != nil {
			w.serve(r.Context())
		}
	}), tracing.Server{Name: func(r *http.Request) string { return r.Method + " " + r.URL.Path },
		Trusted: func(r *http.Request) bool { return r.Header.Get("Trusted") != "" }}))
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

const elsewhere = "4bf92f3577b34da6a3ce929d0e0e4736"

func (w *world) get(path string, header ...string) {
	r, err := http.NewRequest(http.MethodGet, w.url+path, nil)
	require.NoError(w.t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	require.NoError(w.t, resp.Body.Close())
}

// A trusted caller's decision counts, whatever the rate; that of others does not, and is linked.
func TestParentsDecision(t *testing.T) {
	sampled, not := "00-"+elsewhere+"-00f067aa0ba902b7-01", "00-"+elsewhere+"-00f067aa0ba902b7-00"
	none := start(t, 0)
	none.get("/alone")
	none.get("/sampled", "Trusted", "yes", "Traceparent", sampled)
	none.get("/untrusted", "Traceparent", sampled)
	none.get("/invalid", "Trusted", "yes", "Traceparent", "00-zz-00f067aa0ba902b7-01")
	require.NoError(t, none.tracer.Close(t.Context()))
	spans := none.Spans()
	require.Len(t, spans, 1)
	require.Equal(t, collector.Span{Service: "test", Name: "GET /sampled", TraceID: elsewhere, ID: spans[0].ID, ParentID: "00f067aa0ba902b7", Attributes: spans[0].Attributes}, spans[0])
	require.Equal(t, "/sampled", spans[0].Attributes["http.target"])

	all := start(t, 1_000_000)
	all.get("/alone")
	all.get("/not", "Trusted", "yes", "Traceparent", not)
	all.get("/untrusted", "Traceparent", sampled)
	require.NoError(t, all.tracer.Close(t.Context()))
	byName := map[string]collector.Span{}
	for _, s := range all.Spans() {
		byName[s.Name] = s
	}
	require.Len(t, byName, 2)
	require.Empty(t, byName["GET /alone"].ParentID)
	require.NotEqual(t, elsewhere, byName["GET /untrusted"].TraceID)
	require.Equal(t, []string{elsewhere}, byName["GET /untrusted"].Links)
}

// A request and a failed step of a span are children, and a request outside of a span makes none.
func TestChildren(t *testing.T) {
	w := start(t, 1_000_000)
	parents := make(chan string, 2)
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { parents <- r.Header.Get("Traceparent") }))
	defer backend.Close()
	client := &http.Client{Transport: w.tracer.Transport(http.DefaultTransport)}
	call := func(ctx context.Context) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, backend.URL, nil)
		if err != nil {
			return
		}
		if resp, err := client.Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}
	w.serve = func(ctx context.Context) {
		call(ctx)
		_, end := w.tracer.Start(ctx, "step")
		end(errors.New("broken"))
	}
	w.get("/a")
	call(t.Context())
	require.NoError(t, w.tracer.Close(t.Context()))
	byName := map[string]collector.Span{}
	for _, s := range w.Spans() {
		byName[s.Name] = s
	}
	require.Len(t, byName, 3)
	of := byName["GET /a"]
	for _, name := range []string{"HTTP POST", "step"} {
		require.Equal(t, of.ID, byName[name].ParentID, name)
		require.Equal(t, of.TraceID, byName[name].TraceID, name)
	}
	require.True(t, byName["step"].Failed)
	require.Equal(t, "00-"+of.TraceID+"-"+byName["HTTP POST"].ID+"-01", <-parents)
	require.Empty(t, <-parents)
}

// A collector that is away, or does not answer, holds up no request, and the end only for a bounded time.
func TestCollectorAway(t *testing.T) {
	address, rate := "127.0.0.1:1", int32(1_000_000)
	tracer, err := tracing.New(&tracing.Configuration{Endpoint: &address, SamplingRatePerMillion: &rate}, tracing.Options{Service: "test"})
	require.NoError(t, err)
	for range 10_000 { // more than are kept
		_, end := tracer.Start(t.Context(), "span")
		end(nil)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, tracer.Close(ctx))
}
