package kubelet

import (
	"context"
	"fmt"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/nodev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// handlers are the names that RuntimeClasses have at the container runtime. Safe for concurrent use.
type handlers struct {
	classes *client.Client[*nodev1.RuntimeClass]

	mu   sync.Mutex
	last map[string]string // by class, the handler that was read last
}

func newHandlers(conn client.Conn) *handlers {
	return &handlers{classes: client.For[*nodev1.RuntimeClass](conn), last: map[string]string{}}
}

// of returns the handler that runs a pod; empty is the runtime's own choice. Without an answer of the API
// server it is the last known one, since the handler of a class cannot be changed.
func (h *handlers) of(ctx context.Context, pod *corev1.Pod) (string, error) {
	if pod.Spec.RuntimeClassName == nil || *pod.Spec.RuntimeClassName == "" {
		return "", nil
	}
	name := *pod.Spec.RuntimeClassName
	class, err := h.classes.Get(ctx, types.NamespacedName{Name: name})
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.last[name] = class.Handler
		return class.Handler, nil
	}
	if handler, ok := h.last[name]; ok && !apierrors.IsNotFound(err) {
		return handler, nil
	}
	return "", fmt.Errorf("failed to get RuntimeClass %q: %w", name, err)
}
