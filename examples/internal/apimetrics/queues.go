package apimetrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/webhook"
	"github.com/keelson-dev/keelson/workqueue"
)

// queues holds the metrics of the server's own work queues.
type queues struct {
	depth         *prometheus.GaugeVec
	adds, retries *prometheus.CounterVec
	waits, works  *prometheus.HistogramVec
}

func newQueues(r *prometheus.Registry) queues {
	buckets := prometheus.ExponentialBuckets(10e-9, 10, 10)
	return queues{
		depth:   gauge(r, "workqueue_depth", "Keys that wait for a worker.", "name"),
		adds:    counter(r, "workqueue_adds_total", "Requests added to the queue.", "name"),
		retries: counter(r, "workqueue_retries_total", "Keys that were added with a delay or a rate limit.", "name"),
		waits:   histogram(r, "workqueue_queue_duration_seconds", "Time keys waited for a worker.", buckets, "name"),
		works:   histogram(r, "workqueue_work_duration_seconds", "Time workers took for a key.", buckets, "name"),
	}
}

func (q *queues) hooks(name string) *workqueue.Metrics {
	depth, adds, retries := q.depth.WithLabelValues(name), q.adds.WithLabelValues(name), q.retries.WithLabelValues(name)
	waits, works := q.waits.WithLabelValues(name), q.works.WithLabelValues(name)
	return &workqueue.Metrics{
		Depth:         func(_, delta int) { depth.Add(float64(delta)) },
		Adds:          adds.Inc,
		Retries:       retries.Inc,
		QueueDuration: func(d time.Duration) { waits.Observe(d.Seconds()) },
		WorkDuration:  func(d time.Duration) { works.Observe(d.Seconds()) },
	}
}

// client holds the metrics of requests that the server sends to webhooks.
type client struct {
	requests, tried       *prometheus.CounterVec
	times, sent, received *prometheus.HistogramVec
	queued, lookups       *prometheus.HistogramVec
	reloads               *prometheus.CounterVec // of authorities
	missingSAN, sha1      prometheus.Counter     // certificates of webhooks
}

func newClient(r *prometheus.Registry) client {
	sizes := []float64{64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}
	times := []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}
	return client{
		requests:   counter(r, "rest_client_requests_total", "Requests that the server has sent.", "code", "method", "host"),
		tried:      counter(r, "rest_client_request_retries_total", "Requests that the server has sent again.", "code", "verb", "host"),
		times:      histogram(r, "rest_client_request_duration_seconds", "Time until the answer to requests that the server has sent.", times, "verb", "host"),
		queued:     histogram(r, "rest_client_rate_limiter_duration_seconds", "Time that requests of the server waited for others to end.", times, "verb", "host"),
		lookups:    histogram(r, "rest_client_dns_resolution_duration_seconds", "Time to resolve the names of hosts that the server sends requests to.", times[:len(times)-1], "host"),
		reloads:    counter(r, "rest_client_transport_ca_reload_total", "Readings of the authorities that the server checks kubelets by.", "result", "reason"),
		sent:       histogram(r, "rest_client_request_size_bytes", "Size of requests that the server has sent.", sizes, "verb", "host"),
		received:   histogram(r, "rest_client_response_size_bytes", "Size of answers to requests that the server has sent.", sizes, "verb", "host"),
		missingSAN: counter(r, "apiserver_webhooks_x509_missing_san_total", "Calls of webhooks whose certificate has no alternative names.").WithLabelValues(),
		sha1:       counter(r, "apiserver_webhooks_x509_insecure_sha1_total", "Calls of webhooks whose certificate is signed over SHA-1.").WithLabelValues(),
	}
}

func (c *client) called(call webhook.Call) {
	if call.Code != 0 {
		c.received.WithLabelValues(call.Method, call.Host).Observe(float64(call.Received))
	}
	c.requests.WithLabelValues(codeOf(call.Code), call.Method, call.Host).Inc()
	c.times.WithLabelValues(call.Method, call.Host).Observe(call.Elapsed.Seconds())
	c.sent.WithLabelValues(call.Method, call.Host).Observe(float64(call.Sent))
	for _, d := range call.Deprecations {
		deprecated(d, c.missingSAN, c.sha1)
	}
	c.looked(call.Lookups)
}

func (c *client) looked(up []webhook.Lookup) {
	for _, l := range up {
		c.lookups.WithLabelValues(l.Host).Observe(l.Elapsed.Seconds())
	}
}

// requested counts a request to the server of a webhook that has a kubeconfig.
func (c *client) requested(t rest.Target, code int, took time.Duration) {
	c.requests.WithLabelValues(codeOf(code), t.Method, t.Host).Inc()
	c.times.WithLabelValues(t.Method, t.Host).Observe(took.Seconds())
}

// deprecated counts a deprecation of a certificate.
func deprecated(d webhook.Deprecation, missingSAN, sha1 prometheus.Counter) {
	if d == webhook.MissingSAN {
		missingSAN.Inc()
	} else {
		sha1.Inc()
	}
}

// available returns, for each group version with an APIService, whether it is available. It returns nothing
// if the objects cannot be read.
func available(ctx context.Context, s *apiserver.Server) map[string]bool {
	resource := apiregistrationv1.GroupVersion.WithResource("apiservices")
	if s.Registry().Resource(resource) == nil {
		return nil
	}
	services, err := s.Access().List(ctx, resource, "", labels.Everything())
	if err != nil {
		return nil
	}
	up := make(map[string]bool, len(services))
	for _, obj := range services {
		up[obj.GetName()] = false
		if a, ok := obj.(*apiregistrationv1.APIService); ok {
			for _, c := range a.Status.Conditions {
				up[a.Name] = up[a.Name] || c.Type == apiregistrationv1.Available && c.Status == apiregistrationv1.ConditionTrue
			}
		}
	}
	return up
}
