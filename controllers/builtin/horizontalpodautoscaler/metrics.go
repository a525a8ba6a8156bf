package horizontalpodautoscaler

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
)

// Sample is a measured value.
type Sample struct {
	// Value in thousandths: of a core, of a byte, of the unit of the metric.
	Value int64
	// Time is the end of the Window that was measured.
	Time   time.Time
	Window time.Duration
}

// Metrics is where values of metrics come from. Values are in thousandths. An error says that there are none;
// its text is shown in conditions. Methods are called concurrently.
type Metrics interface {
	// Resource returns what each selected pod uses of a resource, by name, or what one of its containers
	// does.
	Resource(ctx context.Context, namespace string, pods labels.Selector, resource corev1.ResourceName, container string) (map[string]Sample, error)
	// Pods returns a metric of each selected pod, by name.
	Pods(ctx context.Context, namespace string, pods labels.Selector, metric string, selector labels.Selector) (map[string]Sample, error)
	// Object returns a metric of an object.
	Object(ctx context.Context, namespace string, object autoscalingv2.CrossVersionObjectReference, metric string, selector labels.Selector) (int64, error)
	// External returns the values of a metric that is of no object.
	External(ctx context.Context, namespace, metric string, selector labels.Selector) ([]int64, error)
}

// FromAPI returns the Metrics that the server of a connection serves, by the APIs metrics.k8s.io,
// custom.metrics.k8s.io and external.metrics.k8s.io.
func FromAPI(conn client.Conn) Metrics {
	return &served{conn: conn, find: discovery.New(conn, discovery.Options{})}
}

type served struct {
	conn client.Conn
	find *discovery.Client
}

// podMetrics is an item of metrics.k8s.io/v1beta1.
type podMetrics struct {
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Timestamp  metav1.Time       `json:"timestamp"`
	Window     metav1.Duration   `json:"window"`
	Containers []struct {
		Name  string              `json:"name"`
		Usage corev1.ResourceList `json:"usage"`
	} `json:"containers"`
}

// metricValue is an item of the other APIs.
type metricValue struct {
	DescribedObject struct {
		Name string `json:"name"`
	} `json:"describedObject"`
	Timestamp     metav1.Time       `json:"timestamp"`
	WindowSeconds *int64            `json:"windowSeconds"`
	Value         resource.Quantity `json:"value"`
}

// get reads the items of a list.
func get[T any](ctx context.Context, c client.Conn, api, path string, query url.Values) ([]T, error) {
	r, err := c.Do(ctx, &client.Request{Path: path, Query: query})
	if err != nil {
		return nil, fmt.Errorf("unable to fetch metrics from %s metrics API: %w", api, err)
	}
	var list struct {
		Items []T `json:"items"`
	}
	if err := codec.Unmarshal(r.Body, &list); err != nil {
		return nil, fmt.Errorf("unable to fetch metrics from %s metrics API: %w", api, err)
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("no metrics returned from %s metrics API", api)
	}
	return list.Items, nil
}

// Resource implements Metrics.
func (s *served) Resource(ctx context.Context, namespace string, pods labels.Selector, name corev1.ResourceName, container string) (map[string]Sample, error) {
	items, err := get[podMetrics](ctx, s.conn, "resource", "/apis/metrics.k8s.io/v1beta1/namespaces/"+url.PathEscape(namespace)+"/pods", url.Values{"labelSelector": {pods.String()}})
	if err != nil {
		return nil, err
	}
	out := make(map[string]Sample, len(items))
	for i := range items {
		if v, ok := items[i].usage(name, container); ok {
			out[items[i].Metadata.Name] = Sample{Value: v, Time: items[i].Timestamp.Time, Window: items[i].Window.Duration}
		}
	}
	return out, nil
}

// usage returns what the containers use, ok is false if it was not measured for all that count.
func (p *podMetrics) usage(name corev1.ResourceName, container string) (total int64, ok bool) {
	for i := range p.Containers {
		c := &p.Containers[i]
		if container != "" && c.Name != container {
			continue
		}
		q, measured := c.Usage[name]
		if !measured {
			return 0, false
		}
		total, ok = total+q.MilliValue(), true
	}
	return total, ok
}

// customVersions are those of custom.metrics.k8s.io, the preferred one first.
var customVersions = []string{"v1beta2", "v1beta1"}

// custom reads custom.metrics.k8s.io, in the version that is served.
func (s *served) custom(ctx context.Context, path string, query url.Values) (items []metricValue, err error) {
	for _, version := range customVersions {
		if items, err = get[metricValue](ctx, s.conn, "custom", "/apis/custom.metrics.k8s.io/"+version+path, query); !apierrors.IsNotFound(err) {
			return items, err
		}
	}
	return nil, err
}

// Pods implements Metrics.
func (s *served) Pods(ctx context.Context, namespace string, pods labels.Selector, metric string, selector labels.Selector) (map[string]Sample, error) {
	items, err := s.custom(ctx, "/namespaces/"+url.PathEscape(namespace)+"/pods/*/"+url.PathEscape(metric), query(selector, "metricLabelSelector", "labelSelector", pods.String()))
	if err != nil {
		return nil, err
	}
	out := make(map[string]Sample, len(items))
	for i := range items {
		window := time.Minute // that of adapters which do not say
		if n := items[i].WindowSeconds; n != nil {
			window = time.Duration(*n) * time.Second
		}
		out[items[i].DescribedObject.Name] = Sample{Value: items[i].Value.MilliValue(), Time: items[i].Timestamp.Time, Window: window}
	}
	return out, nil
}

// Object implements Metrics.
func (s *served) Object(ctx context.Context, namespace string, object autoscalingv2.CrossVersionObjectReference, metric string, selector labels.Selector) (int64, error) {
	gv, err := schema.ParseGroupVersion(object.APIVersion)
	if err != nil {
		return 0, err
	}
	path := "/namespaces/" + url.PathEscape(namespace) + "/metrics/" + url.PathEscape(metric)
	if object.Kind != "Namespace" || gv.Group != "" {
		r, err := s.find.ForKind(ctx, schema.GroupKind{Group: gv.Group, Kind: object.Kind})
		if err != nil {
			return 0, err
		}
		of := schema.GroupResource{Group: gv.Group, Resource: r.GVR.Resource}.String()
		path = "/namespaces/" + url.PathEscape(namespace) + "/" + of + "/" + url.PathEscape(object.Name) + "/" + url.PathEscape(metric)
	}
	items, err := s.custom(ctx, path, query(selector, "metricLabelSelector"))
	if err != nil {
		return 0, err
	}
	if len(items) > 1 {
		return 0, errors.New("the custom metrics API returned several results when only one was expected")
	}
	return items[0].Value.MilliValue(), nil
}

// External implements Metrics.
func (s *served) External(ctx context.Context, namespace, metric string, selector labels.Selector) ([]int64, error) {
	items, err := get[metricValue](ctx, s.conn, "external",
		"/apis/external.metrics.k8s.io/v1beta1/namespaces/"+url.PathEscape(namespace)+"/"+url.PathEscape(metric), query(selector, "labelSelector"))
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(items))
	for i := range items {
		out[i] = items[i].Value.MilliValue()
	}
	return out, nil
}

// query returns query parameters: a selector, unless it selects everything, and others by name and value.
func query(selector labels.Selector, name string, others ...string) url.Values {
	out := url.Values{}
	if text := selector.String(); text != "" {
		out.Set(name, text)
	}
	for i := 0; i+1 < len(others); i += 2 {
		out.Set(others[i], others[i+1])
	}
	return out
}
