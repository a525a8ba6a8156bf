package kubelet

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// serverMetrics are about requests of others, with the names of k8s.io/kubernetes/pkg/kubelet/server/metrics,
// v1.36.3.
type serverMetrics struct {
	requests   *prometheus.CounterVec
	requested  *prometheus.HistogramVec
	inFlight   *prometheus.GaugeVec
	webSockets *prometheus.CounterVec
	// slis is what is served at /metrics/slis: the results of health checks.
	slis    *prometheus.Registry
	health  *prometheus.GaugeVec
	checked *prometheus.CounterVec
}

func newServerMetrics(r registrar) serverMetrics {
	labels := []string{"method", "path", "server_type", "long_running"}
	slis := registrar{prometheus.NewRegistry()}
	return serverMetrics{
		slis:       slis.Registry,
		health:     slis.gauges("kubernetes_healthcheck", "1 if the latest check was passed.", "name", "type"),
		checked:    slis.counters("kubernetes_healthchecks_total", "Health checks, by outcome.", "name", "type", "status"),
		requests:   r.counters("kubelet_http_requests_total", "Requests to the servers of the kubelet.", labels...),
		requested:  r.histograms("kubelet_http_requests_duration_seconds", "Seconds that requests to the servers of the kubelet took.", prometheus.DefBuckets, labels...),
		inFlight:   r.gauges("kubelet_http_inflight_requests", "Requests to the servers of the kubelet that are being served.", labels...),
		webSockets: r.counters("kubelet_websocket_streaming_requests_total", "Sessions in containers, and connections to them, over WebSockets.", "subresource"),
	}
}

// The servers whose requests are measured.
const (
	serverReads = "readonly"
	serverAll   = "readwrite"
)

var (
	countedMethods = []string{"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT", "TRACE"}
	countedPaths   = []string{"attach", "checkpoint", "configz", "containerLogs", "debug", "exec", "flagz", "healthz", "logs", "metrics", "metrics/cadvisor", "metrics/probes",
		"metrics/resource", "pods", "portForward", "pprof", "run", "runningpods", "stats", "statusz"}
)

// measured measures the requests to a server.
func (m *serverMetrics) measured(server string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known := func(text string, list []string) string {
			if slices.Contains(list, text) {
				return text
			}
			return "other"
		}
		path := known(requestKind(r.URL.Path), countedPaths)
		// Only a path in these letters is one that runs long, although the one of port forwarding has others.
		long := slices.Contains([]string{"attach", "debug", "exec", "portforward"}, path)
		labels := []string{known(r.Method, countedMethods), path, server, strconv.FormatBool(long)}
		began := time.Now()
		m.requests.WithLabelValues(labels...).Inc()
		serving := m.inFlight.WithLabelValues(labels...)
		serving.Inc()
		defer func() {
			serving.Dec()
			m.requested.WithLabelValues(labels...).Observe(time.Since(began).Seconds())
		}()
		h.ServeHTTP(w, r)
	})
}

// healthOf makes a check whose results are counted, under its name.
func (m *serverMetrics) healthOf(name string, check func() error) func() error {
	return func() error {
		err := check()
		good, outcome := 1.0, "success"
		if err != nil {
			good, outcome = 0, "error"
		}
		m.health.WithLabelValues(name, "healthz").Set(good)
		m.checked.WithLabelValues(name, "healthz", outcome).Inc()
		return err
	}
}

// requestKind is the first part of a path, of metrics the first two.
func requestKind(path string) string {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if second, _, _ := strings.Cut(rest, "/"); first == "metrics" && second != "" {
		return first + "/" + second
	}
	return first
}

// countStreams counts the requests for sessions and port forwarding over WebSockets in their latest versions.
func (m *serverMetrics) countStreams(h http.Handler) http.Handler {
	versions := map[string]struct{ name, protocol string }{
		"exec": {"exec", "v5.channel.k8s.io"}, "attach": {"attach", "v5.channel.k8s.io"}, "portForward": {"portforward", "SPDY/3.1+portforward.k8s.io"},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if of, ok := versions[requestKind(r.URL.Path)]; ok && strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			for protocol := range strings.SplitSeq(strings.Join(r.Header.Values("Sec-Websocket-Protocol"), ","), ",") {
				if strings.TrimSpace(protocol) == of.protocol {
					m.webSockets.WithLabelValues(of.name).Inc()
					break
				}
			}
		}
		h.ServeHTTP(w, r)
	})
}
