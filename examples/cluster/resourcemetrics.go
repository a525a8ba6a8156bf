package main

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metricsapi"
	"github.com/keelson-dev/keelson/store/aggregation"
)

// resourceMetrics is the name of the part that serves the APIs of metrics.
const resourceMetrics = "resource-metrics"

// metricsHandler serves the APIs of metrics when their part runs, which needs the server that has the
// handler.
type metricsHandler struct{ of atomic.Pointer[http.Handler] }

// ServeHTTP implements http.Handler.
func (h *metricsHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if of := h.of.Load(); of != nil {
		(*of).ServeHTTP(w, r)
		return
	}
	status := apierrors.NewServiceUnavailable("the part that serves metrics has not started yet").Status()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	if body, err := codec.Marshal(&status); err == nil {
		_, _ = w.Write(body)
	}
}

// versions are what the server serves by the handler.
func (h *metricsHandler) versions() (out []aggregation.InProcess) {
	for _, v := range metricsapi.Versions() {
		out = append(out, aggregation.InProcess{GroupVersion: v.GroupVersion, GroupPriority: 100, VersionPriority: v.Priority, Resources: v.Resources, Handler: h})
	}
	return out
}

// startMetrics starts the part that serves the APIs of metrics.
func (c *cluster) startMetrics(ctx context.Context, start starter, fail func(error)) bool {
	if err := c.grant(ctx, rightsOfMetrics); err != nil {
		fail(err)
		return false
	}
	return start(c.pki.metrics, resourceMetrics, c.metrics.add)
}

// add makes the handler with the informers of m.
func (h *metricsHandler) add(m *manager.Manager) error {
	made := metricsapi.New(m, metricsapi.Options{})
	h.of.Store(&made)
	return nil
}
