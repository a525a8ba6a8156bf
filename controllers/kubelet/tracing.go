package kubelet

import (
	"context"
	"net/http"

	grpcstats "google.golang.org/grpc/stats"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// Tracing makes spans of a kubelet's work. Each field may be nil, and must be safe for concurrent use.
type Tracing struct {
	// Handler wraps the kubelet API, behind authentication and authorization.
	Handler func(http.Handler) http.Handler
	// Runtime receives the calls of the container runtime.
	Runtime grpcstats.Handler
	// Sync begins a span, syncPod or syncTerminatingPod, of one look at a pod. The calls that it makes have
	// the context; the function ends the span.
	Sync func(ctx context.Context, name string, pod *corev1.Pod) (context.Context, func(error))
}

func (t *Tracing) sync(ctx context.Context, name string, pod *corev1.Pod) (context.Context, func(error)) {
	if t.Sync == nil {
		return ctx, func(error) {}
	}
	return t.Sync(ctx, name, pod)
}
