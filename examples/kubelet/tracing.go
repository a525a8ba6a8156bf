package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/kubeletconfig"
	"github.com/keelson-dev/keelson/examples/internal/tracing"
)

// tracer makes the kubelet's spans; nil makes none.
type tracer struct{ *tracing.Tracer }

// checkTracing returns an error that names a field of tracing that cannot be used.
func checkTracing(c *kubeletconfig.Configuration) error {
	if c.Tracing == nil {
		return nil
	}
	if err := (*tracing.Configuration)(c.Tracing).Check(); err != nil {
		return fmt.Errorf("tracing.%w", err)
	}
	return nil
}

// trace makes the tracer of the configuration, and sets what it traces.
func trace(ko *kubelet.Options, c *kubeletconfig.Configuration, log *slog.Logger) (*tracer, error) {
	if c.Tracing == nil {
		return nil, nil
	}
	t, err := tracing.New((*tracing.Configuration)(c.Tracing), tracing.Options{Service: "kubelet", Attributes: []attribute.KeyValue{attribute.String("host.name", ko.NodeName)}, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	ko.Tracing = kubelet.Tracing{
		Runtime: t.Calls(),
		// Callers are known, and permitted by the API server.
		Handler: func(next http.Handler) http.Handler {
			return t.Handler(next, tracing.Server{Name: route, Trusted: func(*http.Request) bool { return true }})
		},
		Sync: func(ctx context.Context, name string, pod *corev1.Pod) (context.Context, func(error)) {
			return t.Start(ctx, name, attribute.String("k8s.pod", pod.Namespace+"/"+pod.Name), attribute.String("k8s.pod.uid", string(pod.UID)),
				attribute.String("k8s.pod.name", pod.Name), attribute.String("k8s.namespace.name", pod.Namespace))
		},
	}
	return &tracer{t}, nil
}

// route is the path of a request without the names in it, so that spans have few names.
func route(r *http.Request) string {
	first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch first {
	case "containerLogs", "exec", "attach", "portForward", "run", "checkpoint", "logs":
		if rest != "" {
			return "/" + first + "/{path}"
		}
	}
	return r.URL.Path
}

// close sends what is left.
func (t *tracer) close(log *slog.Logger) {
	if t == nil {
		return
	}
	if err := t.Close(context.Background()); err != nil {
		log.Warn("spans were not sent", "err", err)
	}
}
