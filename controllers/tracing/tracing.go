package tracing

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
)

// Options of a Tracer. The zero value uses the global TracerProvider and W3C trace contexts.
type Options struct {
	// Provider makes the spans; nil means otel.GetTracerProvider().
	Provider trace.TracerProvider
	// Propagator adds the trace context to the header of requests; nil means propagation.TraceContext{}.
	Propagator propagation.TextMapPropagator
}

// Limits of what is kept until the runs.
const (
	maxWaiting = 100_000
	maxLinks   = 32
)

// Tracer has the hooks for a manager and its connection. All methods may be called concurrently.
type Tracer struct {
	opts   Options
	tracer trace.Tracer
	limit  int // of waiting

	mu      sync.Mutex
	waiting map[queued]*cause
}

// queued is a key in the queue of a controller.
type queued struct {
	controller string
	key        any
}

// cause is why a key is queued.
type cause struct {
	parent trace.SpanContext // of the event, or of a first run without one
	since  time.Time
	retry  int
	links  []trace.Link
}

// New returns a tracer.
func New(opts Options) *Tracer {
	opts.Provider = cmp.Or(opts.Provider, otel.GetTracerProvider())
	opts.Propagator = cmp.Or[propagation.TextMapPropagator](opts.Propagator, propagation.TraceContext{})
	return &Tracer{
		opts: opts, waiting: map[queued]*cause{}, limit: maxWaiting,
		tracer: opts.Provider.Tracer("github.com/keelson-dev/keelson/controllers/tracing"),
	}
}

// OnEvent is for manager.Options.OnEvent.
func (t *Tracer) OnEvent(controller string, req any, e manager.Event) {
	_, span := t.tracer.Start(context.Background(), "event "+e.Kind, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("k8s.controller", controller), attribute.String("k8s.reconcile.key", fmt.Sprint(req)),
		attribute.String("k8s.object.kind", e.Kind), attribute.String("k8s.object.name", e.Key.Name),
		attribute.String("k8s.object.namespace", e.Key.Namespace), attribute.String("k8s.object.resource_version", e.ResourceVersion),
		attribute.String("k8s.event.type", e.Type.String()),
	))
	span.End()
	t.mu.Lock()
	defer t.mu.Unlock()
	of := queued{controller, req}
	if c := t.waiting[of]; c != nil {
		if len(c.links) < maxLinks {
			c.links = append(c.links, trace.Link{SpanContext: span.SpanContext()})
		}
		return
	}
	t.wait(of, &cause{parent: span.SpanContext(), since: time.Now()})
}

// wait keeps the cause of a queued key. The lock is held.
func (t *Tracer) wait(of queued, c *cause) {
	if len(t.waiting) < t.limit {
		t.waiting[of] = c
	}
}

// take returns the cause of a key whose run begins.
func (t *Tracer) take(of queued) *cause {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.waiting[of]
	delete(t.waiting, of)
	return c
}

// Wrap is for manager.Options.Wrap.
func (t *Tracer) Wrap(ctx context.Context, run *reconcile.Run, next func(context.Context) (reconcile.Result, error)) (result reconcile.Result, err error) {
	of := queued{run.Controller, run.Key}
	attributes := trace.WithAttributes(
		attribute.String("k8s.controller", run.Controller), attribute.String("k8s.reconcile.key", fmt.Sprint(run.Key)),
		attribute.String("k8s.reconcile.id", run.ID),
	)
	opts := []trace.SpanStartOption{attributes}
	c := t.take(of)
	if c != nil {
		ctx = trace.ContextWithSpanContext(ctx, c.parent)
		_, wait := t.tracer.Start(ctx, "queue "+run.Controller, attributes, trace.WithTimestamp(c.since))
		wait.End()
		opts = append(opts, trace.WithLinks(c.links...), trace.WithAttributes(attribute.Int("k8s.reconcile.retry", c.retry)))
	} else {
		opts = append(opts, trace.WithNewRoot())
		c = &cause{}
	}
	ctx, span := t.tracer.Start(ctx, "reconcile "+run.Controller, opts...)
	if !c.parent.IsValid() {
		c.parent = span.SpanContext()
	}
	if s := span.SpanContext(); s.IsSampled() && run.Logger != nil {
		traced := *run
		traced.Logger = run.Logger.With("traceID", s.TraceID().String())
		ctx = reconcile.NewContext(ctx, &traced)
	}
	panicked := true
	defer func() {
		switch {
		case panicked:
			span.SetStatus(codes.Error, "panic")
		case err != nil:
			span.RecordError(err)
			span.SetStatus(codes.Error, err.Error())
		case result.RequeueAfter > 0:
			span.SetAttributes(attribute.String("k8s.reconcile.requeue_after", result.RequeueAfter.String()))
		}
		span.End()
		if panicked || err != nil && !reconcile.IsTerminal(err) && ctx.Err() == nil {
			t.retried(of, c)
		}
	}()
	result, err = next(ctx)
	panicked = false
	return result, err
}

// retried notes that the key of a failed run is queued again, in the trace of c. If an event has arrived
// since, the next run is in the trace of that, and linked.
func (t *Tracer) retried(of queued, c *cause) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if newer := t.waiting[of]; newer != nil {
		newer.links = append(newer.links, trace.Link{SpanContext: c.parent})
		newer.retry = c.retry + 1
		return
	}
	t.wait(of, &cause{parent: c.parent, since: time.Now(), retry: c.retry + 1})
}

// Transport is for rest.Config.Wrap. It makes a span of every request whose context has one, and adds the
// trace context to its header. The span ends with the response's body, or at once if the response is an
// upgrade.
func (t *Tracer) Transport(next http.RoundTripper) http.RoundTripper {
	// otelhttp is the maintained instrumentation of net/http. Requests have metrics of their own already.
	return otelhttp.NewTransport(next,
		otelhttp.WithTracerProvider(t.opts.Provider), otelhttp.WithPropagators(t.opts.Propagator), otelhttp.WithMeterProvider(noopmetric.NewMeterProvider()),
		otelhttp.WithFilter(func(r *http.Request) bool { return trace.SpanContextFromContext(r.Context()).IsValid() }),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method + " " + route(r.URL.Path) }),
	)
}

// route returns a path of the API without names, so that spans have few names: of /api/v1/namespaces/a/pods/b
// /api/v1/namespaces/{namespace}/pods/{name}. Paths that are not of a resource are returned unchanged.
func route(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	at := 0 // of the resource
	switch {
	case len(parts) > 2 && parts[0] == "api":
		at = 2
	case len(parts) > 3 && parts[0] == "apis":
		at = 3
	default:
		return path
	}
	if parts[at] == "namespaces" && len(parts) > at+2 && !ofNamespace(parts[at+2]) {
		parts[at+1] = "{namespace}"
		at += 2
	}
	if len(parts) > at+1 {
		parts[at+1] = "{name}"
	}
	if len(parts) > at+3 && parts[at+2] == "proxy" {
		parts = append(parts[:at+3], "{path}")
	}
	return "/" + strings.Join(parts, "/")
}

// ofNamespace reports whether what follows the name of a namespace is a subresource of it.
func ofNamespace(part string) bool { return part == "status" || part == "finalize" }
