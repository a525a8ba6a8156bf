package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// The hooks of a tracer, in the configuration of a connection and of a manager.
func Example() {
	start := func(ctx context.Context, cfg rest.Config) error {
		t := New(Options{})
		cfg.Wrap = t.Transport
		conn, err := rest.New(cfg, rest.Options{})
		if err != nil {
			return err
		}
		m := manager.New(conn, manager.Options{OnEvent: t.OnEvent, Wrap: t.Wrap})
		return m.Run(ctx)
	}
	_ = start
	fmt.Println(route("/api/v1/namespaces/default/pods/web-1/log"))
	// Output: /api/v1/namespaces/{namespace}/pods/{name}/log
}

// headers has the trace contexts of the requests that a transport has sent, by method and path.
type headers struct {
	next http.RoundTripper

	mu   sync.Mutex
	sent map[string][]string
}

func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	request := r.Method + " " + r.URL.Path
	h.sent[request] = append(h.sent[request], r.Header.Get("traceparent"))
	h.mu.Unlock()
	return h.next.RoundTrip(r)
}

// program is a controller that copies ConfigMaps to Secrets, with a tracer.
type program struct {
	*controllertest.Cluster
	controller interface{ Enqueue(req reconcile.Request) }
	spans      *tracetest.InMemoryExporter
	headers    *headers
	log        bytes.Buffer
	run        func(ctx context.Context, attempt int) (reconcile.Result, error) // after the copy
}

func start(t *testing.T, sampler sdktrace.Sampler) *program {
	c := controllertest.Start(t, controllertest.Options{})
	p := &program{Cluster: c, spans: tracetest.NewInMemoryExporter(), headers: &headers{sent: map[string][]string{}}}
	tracer := New(Options{Provider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(p.spans), sdktrace.WithSampler(sampler))})
	cfg := c.Config()
	guard := cfg.Wrap
	cfg.Wrap = func(next http.RoundTripper) http.RoundTripper {
		p.headers.next = guard(next)
		return tracer.Transport(p.headers)
	}
	conn, err := rest.New(cfg, rest.Options{})
	require.NoError(t, err)
	m := manager.New(conn, manager.Options{OnEvent: tracer.OnEvent, Wrap: tracer.Wrap, Logger: slog.New(slog.NewTextHandler(&p.log, nil))})
	attempts := 0
	configs := informers.For[*corev1.ConfigMap](m.Informers()).Lister()
	wanted := controllers.Matching(func(m *corev1.ConfigMap) bool { return m.Data["v"] != "" })
	p.controller, err = controllers.Add(m, "copies", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		attempts++
		config, err := configs.Get(req)
		if err != nil {
			return reconcile.Result{}, err
		}
		secret := &corev1.Secret{ObjectMeta: controllertest.Name(req.Namespace, req.Name), Data: map[string][]byte{"v": []byte(config.Data["v"])}}
		if _, err := client.For[*corev1.Secret](m.Conn()).Apply(ctx, secret, client.ApplyOptions{FieldManager: "copies"}); err != nil {
			return reconcile.Result{}, err
		}
		if p.run != nil {
			return p.run(ctx, attempts)
		}
		return reconcile.Result{}, nil
	}), controllers.Options{}, controllers.For(wanted))
	require.NoError(t, err)
	c.Run(m)
	c.Settle()
	return p
}

func (p *program) create(name string) {
	controllertest.Create(p.Cluster, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name), Data: map[string]string{"v": name}})
}

// ended returns the spans that have ended, and forgets them.
func (p *program) ended() tracetest.SpanStubs {
	all := p.spans.GetSpans()
	p.spans.Reset()
	return all
}

// named returns the spans with a name.
func named(spans tracetest.SpanStubs, name string) (out []tracetest.SpanStub) {
	for _, s := range spans {
		if s.Name == name {
			out = append(out, s)
		}
	}
	return out
}

// one returns the only span with a name.
func one(t *testing.T, spans tracetest.SpanStubs, name string) tracetest.SpanStub {
	t.Helper()
	found := named(spans, name)
	require.Len(t, found, 1, name)
	return found[0]
}

const patch = "PATCH /api/v1/namespaces/{namespace}/secrets/{name}"

// TestTrace: one trace leads from the event through the queue and the reconcile, which is retried, to the
// requests and to the header that the server gets.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := start(t, sdktrace.AlwaysSample())
		require.Empty(t, p.ended(), "informers make no spans")
		p.run = func(ctx context.Context, attempt int) (reconcile.Result, error) {
			switch attempt {
			case 1: // holds the only worker, so that the next key waits
				time.Sleep(3 * time.Second)
			case 2:
				reconcile.Logger(ctx).Info("failing")
				return reconcile.Result{}, errors.New("broken")
			}
			return reconcile.Result{}, nil
		}
		p.create("first")
		p.Settle()
		p.create("second")
		p.Sleep(time.Minute)
		spans := p.ended()
		traces := map[trace.TraceID]tracetest.SpanStubs{}
		for _, s := range spans {
			traces[s.SpanContext.TraceID()] = append(traces[s.SpanContext.TraceID()], s)
		}
		require.Len(t, traces, 2, "one for each event")
		event := named(spans, "event ConfigMap")[1]
		of := traces[event.SpanContext.TraceID()]
		require.Len(t, of, 7, "the event, and twice the queue, the reconcile and its request")
		require.False(t, event.Parent.IsValid())
		waits, runs, requests := named(of, "queue copies"), named(of, "reconcile copies"), named(of, patch)
		for i := range 2 {
			require.Equal(t, event.SpanContext.SpanID(), waits[i].Parent.SpanID())
			require.Equal(t, event.SpanContext.SpanID(), runs[i].Parent.SpanID())
			require.Equal(t, runs[i].SpanContext.SpanID(), requests[i].Parent.SpanID())
			require.Equal(t, trace.SpanKindClient, requests[i].SpanKind)
			require.False(t, requests[i].EndTime.After(runs[i].EndTime))
			require.Equal(t, runs[i].StartTime, waits[i].EndTime)
		}
		require.Equal(t, 3*time.Second, waits[0].EndTime.Sub(waits[0].StartTime), "behind the first key")
		require.Equal(t, event.StartTime, waits[0].StartTime)
		require.Equal(t, runs[0].EndTime, waits[1].StartTime, "the delay of the retry")
		require.Equal(t, codes.Error, runs[0].Status.Code)
		require.Equal(t, "broken", runs[0].Status.Description)
		require.Equal(t, codes.Unset, runs[1].Status.Code)

		var want []string
		for _, r := range requests {
			want = append(want, fmt.Sprintf("00-%s-%s-01", r.SpanContext.TraceID(), r.SpanContext.SpanID()))
		}
		require.Equal(t, want, p.headers.sent["PATCH /api/v1/namespaces/default/secrets/second"])
		for request, sent := range p.headers.sent {
			if strings.HasPrefix(request, "GET ") {
				require.Empty(t, strings.Join(sent, ""), request)
			}
		}
		require.Contains(t, p.log.String(), "msg=failing")
		require.Contains(t, p.log.String(), "traceID="+event.SpanContext.TraceID().String())
	})
}

// TestLinks: a run that several events have caused has links to the others; a run without an event is a root;
// a terminal error and a panic are in the span.
func TestLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := start(t, sdktrace.AlwaysSample())
		p.run = func(_ context.Context, attempt int) (reconcile.Result, error) {
			switch attempt {
			case 1:
				time.Sleep(3 * time.Second)
			case 2:
				return reconcile.Result{RequeueAfter: time.Hour}, nil
			case 3:
				return reconcile.Result{}, reconcile.TerminalError(errors.New("never"))
			case 4:
				panic("no")
			}
			return reconcile.Result{}, nil
		}
		p.create("first")
		p.Settle()
		for _, v := range []string{"b", "c"} {
			controllertest.Update(p.Cluster, "default", "first", func(m *corev1.ConfigMap) { m.Data["v"] = v })
			p.Settle()
		}
		p.Sleep(time.Minute)
		spans := p.ended()
		events, runs := named(spans, "event ConfigMap"), named(spans, "reconcile copies")
		require.Len(t, events, 3)
		require.Len(t, runs, 2)
		require.Empty(t, runs[0].Links)
		require.Equal(t, events[1].SpanContext.SpanID(), runs[1].Parent.SpanID())
		require.Len(t, runs[1].Links, 1)
		require.Equal(t, events[2].SpanContext.SpanID(), runs[1].Links[0].SpanContext.SpanID())

		p.Sleep(time.Hour)
		spans = p.ended()
		run := one(t, spans, "reconcile copies")
		require.False(t, run.Parent.IsValid())
		require.Equal(t, codes.Error, run.Status.Code)
		require.Equal(t, run.SpanContext.SpanID(), one(t, spans, patch).Parent.SpanID())
		p.Sleep(time.Hour)
		require.Empty(t, p.ended(), "a terminal error is not retried")

		p.controller.Enqueue(reconcile.Request{Namespace: "default", Name: "first"})
		p.Sleep(time.Minute)
		spans = p.ended()
		runs = named(spans, "reconcile copies")
		require.Len(t, runs, 2)
		require.Equal(t, "panic", runs[0].Status.Description)
		require.Equal(t, runs[0].SpanContext.TraceID(), runs[1].SpanContext.TraceID(), "the retry")
	})
}

// TestNotSampled: nothing is recorded, and the server gets a trace context which says so.
func TestNotSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := start(t, sdktrace.NeverSample())
		p.create("a")
		p.Settle()
		require.Empty(t, p.ended())
		require.True(t, controllertest.Exists[*corev1.Secret](p.Cluster, "default", "a"))
		sent := p.headers.sent["PATCH /api/v1/namespaces/default/secrets/a"]
		require.Len(t, sent, 1)
		require.Regexp(t, "^00-[0-9a-f]{32}-[0-9a-f]{16}-00$", sent[0])
		require.NotContains(t, p.log.String(), "traceID")
	})
}

// TestLimits: what is kept for queued keys is bounded.
func TestLimits(t *testing.T) {
	tracer := New(Options{Provider: sdktrace.NewTracerProvider()})
	require.Equal(t, maxWaiting, tracer.limit)
	tracer.limit = 100
	for i := range tracer.limit + 10 {
		tracer.OnEvent("c", reconcile.Request{Name: fmt.Sprint(i)}, manager.Event{})
	}
	require.Len(t, tracer.waiting, 100)
	first := queued{"c", reconcile.Request{Name: "0"}}
	for range maxLinks + 10 {
		tracer.OnEvent("c", first.key, manager.Event{})
	}
	require.Len(t, tracer.waiting[first].links, maxLinks)
	_, err := tracer.Wrap(t.Context(), &reconcile.Run{Controller: "c", Key: first.key}, func(context.Context) (reconcile.Result, error) { return reconcile.Result{}, nil })
	require.NoError(t, err)
	require.Len(t, tracer.waiting, 99)
}

func TestRoute(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/pods":                                   "/api/v1/pods",
		"/api/v1/nodes/a":                                "/api/v1/nodes/{name}",
		"/api/v1/nodes/a/status":                         "/api/v1/nodes/{name}/status",
		"/api/v1/namespaces/a":                           "/api/v1/namespaces/{name}",
		"/api/v1/namespaces/a/status":                    "/api/v1/namespaces/{name}/status",
		"/api/v1/namespaces/a/finalize":                  "/api/v1/namespaces/{name}/finalize",
		"/api/v1/namespaces/a/pods":                      "/api/v1/namespaces/{namespace}/pods",
		"/apis/apps/v1/namespaces/a/deployments/b":       "/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
		"/apis/apps/v1/namespaces/a/deployments/b/scale": "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale",
		"/api/v1/namespaces/a/services/b/proxy/x/y":      "/api/v1/namespaces/{namespace}/services/{name}/proxy/{path}",
		"/version":      "/version",
		"/api/v1":       "/api/v1",
		"/apis/apps/v1": "/apis/apps/v1",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node": "/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}",
	} {
		require.Equal(t, want, route(path))
	}
}
