package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/attribute"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/examples/internal/tracing"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/webhook"
)

// traces are the spans of requests, and of the requests to etcd, webhooks, aggregated servers and kubelets
// that they cause.
type traces struct {
	configFile string
	tracer     *tracing.Tracer // nil without configFile
}

func (t *traces) flags(f *pflag.FlagSet) {
	f.StringVar(&t.configFile, "tracing-config-file", "", "file of kind TracingConfiguration (apiserver.config.k8s.io/v1): where traces are sent to by OTLP, and how many (empty: none)")
}

// open reads the file.
func (t *traces) open(log *slog.Logger) error {
	if t.configFile == "" {
		return nil
	}
	data, err := os.ReadFile(t.configFile)
	if err != nil {
		return fmt.Errorf("--tracing-config-file: %w", err)
	}
	c, err := tracing.Parse(data)
	if err == nil {
		t.tracer, err = tracing.New(c, tracing.Options{Service: "apiserver", Logger: log})
	}
	if err != nil {
		return fmt.Errorf("--tracing-config-file: %s: %w", t.configFile, err)
	}
	return nil
}

// close sends what is left.
func (t *traces) close(log *slog.Logger) {
	if t.tracer == nil {
		return
	}
	if err := t.tracer.Close(context.Background()); err != nil {
		log.Warn("spans were not sent", "err", err)
	}
}

// groupMonitoring may decide, beside system:masters, which of their requests are sampled.
const groupMonitoring = "system:monitoring"

// apply adds them to the options of the server.
func (t *traces) apply(o *controlplane.Options) {
	if t.tracer == nil {
		return
	}
	spans := tracing.Server{
		Name: spanName,
		Trusted: func(r *http.Request) bool {
			u := authn.UserFrom(r.Context())
			return u != nil && (slices.Contains(u.Groups, authn.GroupMasters) || slices.Contains(u.Groups, groupMonitoring))
		},
		Attributes: func(w http.ResponseWriter, _ *http.Request) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String("audit-id", w.Header().Get(auditv1.HeaderAuditID))}
		},
	}
	traced := t.tracer.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next := r.Context().Value(nextKey{}).(http.HandlerFunc)
		next(w, r.WithContext(webhook.WithTransport(r.Context(), t.tracer.Transport)))
	}), spans)
	o.Server.Intercept = func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		traced.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), nextKey{}, next)))
	}
	o.Server.Nodes, o.Server.NodesUnverified = t.tracer.Transport(o.Server.Nodes), t.tracer.Transport(o.Server.NodesUnverified)
}

// nextKey is that of the handler which a request is for: the one that makes spans is made once.
type nextKey struct{}

// spanName is the method and, for the paths of resources, the path without names.
func spanName(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	at := 0 // of what follows the version
	switch {
	case len(parts) > 2 && parts[0] == "api":
		at = 2
	case len(parts) > 3 && parts[0] == "apis":
		at = 3
	default:
		return r.Method
	}
	name := strings.Join(parts[:at], "/")
	parts = parts[at:]
	if len(parts) > 1 && (parts[0] == "watch" || parts[0] == "proxy") {
		parts = parts[1:]
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		name += "/namespaces/{:namespace}"
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	name += "/" + parts[0]
	if len(parts) > 1 {
		name += "/{:name}"
	}
	if len(parts) > 2 {
		name += "/" + parts[2]
	}
	return r.Method + " /" + name
}
