// Package tracing exports the spans of a program over OTLP, as the TracingConfiguration of Kubernetes says:
// to a collector at an address, over gRPC without TLS, a share of the traces and those whose caller has
// decided so.
package tracing

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/stats"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// Configuration says where traces are sent to, and how many.
type Configuration struct {
	// Endpoint of the collector: host:port, or a dns, unix or unix-abstract target of gRPC; nil means
	// localhost:4317.
	Endpoint *string `json:"endpoint,omitempty"`
	// SamplingRatePerMillion of the traces that begin here are sent, 0 to 1000000; nil means 0. A trace that
	// began elsewhere is sent if it was sampled there.
	SamplingRatePerMillion *int32 `json:"samplingRatePerMillion,omitempty"`
}

// The kind of the file of --tracing-config-file, and its versions.
const kind = "TracingConfiguration"

var versions = []string{"apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"}

// Parse reads a file of the kind TracingConfiguration of apiserver.config.k8s.io/v1, v1beta1 or v1alpha1, in
// YAML or JSON. Unknown and repeated fields are errors.
func Parse(data []byte) (*Configuration, error) {
	var file struct {
		APIVersion    string `json:"apiVersion"`
		Kind          string `json:"kind"`
		Configuration `json:",inline"`
	}
	issues, err := codec.UnmarshalYAML(data, &file, codec.DecodeOptions{Strict: true})
	if err == nil && (file.Kind != kind || !slices.Contains(versions, file.APIVersion)) {
		return nil, fmt.Errorf("want kind %s of %s, got kind %q of %q", kind, strings.Join(versions, " or "), file.Kind, file.APIVersion)
	}
	if err == nil && len(issues) > 0 {
		err = fmt.Errorf("%v", issues[0])
	}
	if err == nil {
		err = file.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return &file.Configuration, nil
}

// Check returns an error that names the field of a value that cannot be used.
func (c *Configuration) Check() error {
	if r := c.SamplingRatePerMillion; r != nil && (*r < 0 || *r > 1_000_000) {
		return fmt.Errorf("samplingRatePerMillion: %d is not within 0 and 1000000", *r)
	}
	if c.Endpoint == nil || !strings.Contains(*c.Endpoint, "//") {
		return nil
	}
	u, err := url.Parse(*c.Endpoint)
	if err != nil {
		return fmt.Errorf("endpoint: %w", err)
	}
	if !slices.Contains([]string{"dns", "unix", "unix-abstract"}, u.Scheme) {
		return fmt.Errorf("endpoint: the scheme of %q is none of dns, unix and unix-abstract", *c.Endpoint)
	}
	return nil
}

// Options describe the program.
type Options struct {
	// Service is the name by which the program's spans are found, such as apiserver.
	Service string
	// Attributes of the program, such as the name of the host.
	Attributes []attribute.KeyValue
	// Logger receives failures to send spans; nil discards.
	Logger *slog.Logger
}

// Tracer makes spans and sends them in batches. All methods may be called concurrently.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// scope is what spans name as the code that made them.
const scope = "github.com/keelson-dev/keelson/examples/internal/tracing"

var propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// New returns a tracer. It connects when there are spans to send, and drops those that the collector does not
// take in time. Close it at the end.
func New(c *Configuration, opts Options) (*Tracer, error) {
	log := cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are not sent", "err", err) }))
	to := []otlptracegrpc.Option{otlptracegrpc.WithInsecure()}
	if c.Endpoint != nil {
		to = append(to, otlptracegrpc.WithEndpoint(*c.Endpoint))
	}
	exporter, err := otlptracegrpc.New(context.Background(), to...)
	if err != nil {
		return nil, err
	}
	sampler := sdktrace.NeverSample()
	if r := c.SamplingRatePerMillion; r != nil && *r > 0 {
		sampler = sdktrace.TraceIDRatioBased(float64(*r) / 1e6)
	}
	attributes := append([]attribute.KeyValue{attribute.String("service.name", opts.Service)}, opts.Attributes...)
	p := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sampler)), sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(attributes...)))
	return &Tracer{provider: p, tracer: p.Tracer(scope)}, nil
}

// Close sends what is left, until ctx ends and for up to 5 seconds.
func (t *Tracer) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// options are those of the instrumentation of net/http, whose metrics the programs have of their own.
func (t *Tracer) options() []otelhttp.Option {
	return []otelhttp.Option{otelhttp.WithTracerProvider(t.provider), otelhttp.WithPropagators(propagator), otelhttp.WithMeterProvider(noopmetric.NewMeterProvider())}
}

// Server says which spans the requests to a server make.
type Server struct {
	// Name of the span of a request.
	Name func(*http.Request) string
	// Trusted reports whether the caller's decision about sampling counts. The spans of others begin a trace,
	// with a link to theirs.
	Trusted func(*http.Request) bool
	// Attributes of the span; nil means none.
	Attributes func(w http.ResponseWriter, r *http.Request) []attribute.KeyValue
}

// Handler returns a handler that makes a span of each request.
func (t *Tracer) Handler(next http.Handler, s Server) http.Handler {
	described := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		span := trace.SpanFromContext(r.Context())
		if span.IsRecording() {
			span.SetAttributes(attribute.String("http.target", r.URL.RequestURI()))
			if s.Attributes != nil {
				span.SetAttributes(s.Attributes(w, r)...)
			}
		}
		next.ServeHTTP(w, r)
	})
	return otelhttp.NewHandler(described, "", append(t.options(),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return s.Name(r) }),
		otelhttp.WithPublicEndpointFn(func(r *http.Request) bool { return !s.Trusted(r) }))...)
}

// Transport makes a span of each request whose context has one, and sends its context on.
func (t *Tracer) Transport(next http.RoundTripper) http.RoundTripper {
	return otelhttp.NewTransport(next, append(t.options(),
		otelhttp.WithFilter(func(r *http.Request) bool { return trace.SpanContextFromContext(r.Context()).IsValid() }))...)
}

// Calls makes spans of the calls of a gRPC client whose context has one, and sends its context on.
func (t *Tracer) Calls() stats.Handler {
	return otelgrpc.NewClientHandler(otelgrpc.WithTracerProvider(within{TracerProvider: t.provider}), otelgrpc.WithPropagators(propagator), otelgrpc.WithMeterProvider(noopmetric.NewMeterProvider()))
}

// Start begins a span. The function ends it, with the error of what it is of.
func (t *Tracer) Start(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, func(error)) {
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(attributes...))
	return ctx, func(err error) {
		if err != nil {
			span.RecordError(err)
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// within makes spans of what is done for a trace only: a program's own loops would fill the collector with
// traces of one call.
type within struct{ trace.TracerProvider }

func (p within) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return withinTracer{p.TracerProvider.Tracer(name, opts...)}
}

type withinTracer struct{ trace.Tracer }

func (t withinTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, trace.SpanFromContext(ctx) // records nothing
	}
	return t.Tracer.Start(ctx, name, opts...)
}
