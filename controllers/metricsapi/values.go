package metricsapi

import (
	"fmt"
	"maps"
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/dynamic"
)

// objectReference names the object that a value describes.
type objectReference struct {
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	APIVersion string `json:"apiVersion"`
}

// metricID is how v1beta2 names a metric.
type metricID struct {
	Name string `json:"name"`
}

// customValue is MetricValue of custom.metrics.k8s.io; v1beta1 has MetricName, v1beta2 Metric.
type customValue struct {
	DescribedObject objectReference   `json:"describedObject"`
	MetricName      string            `json:"metricName,omitempty"`
	Metric          *metricID         `json:"metric,omitempty"`
	Timestamp       metav1.Time       `json:"timestamp"`
	Value           resource.Quantity `json:"value"`
}

// externalValue is ExternalMetricValue of external.metrics.k8s.io/v1beta1.
type externalValue struct {
	MetricName   string            `json:"metricName"`
	MetricLabels map[string]string `json:"metricLabels"`
	Timestamp    metav1.Time       `json:"timestamp"`
	Value        resource.Quantity `json:"value"`
}

// custom serves a custom metric of one object, or of the selected ones if the name is *.
func (s *server) custom(r *http.Request, gv schema.GroupVersion) (any, error) {
	of, name, namespace, metric := r.PathValue("resource"), r.PathValue("name"), r.PathValue("namespace"), r.PathValue("metric")
	if of == "" { // of a Namespace
		of, name, namespace = "namespaces", namespace, ""
	}
	q := r.URL.Query()
	ofMetric, err := labels.Parse(q.Get("metricLabelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest("metricLabelSelector: " + err.Error())
	}
	kind, objects, err := s.objects(r, of, namespace, name)
	if err != nil {
		return nil, err
	}
	out := newList[customValue](gv.String(), "MetricValueList")
	for _, o := range objects {
		text, ok := o.Annotations[CustomAnnotation+metric]
		if !ok || !ofMetric.Matches(nil) { // values have no labels
			continue
		}
		value, err := resource.Parse(text)
		if err != nil {
			return nil, apierrors.NewInternalError(fmt.Errorf("annotation %s%s of %s %s: %w", CustomAnnotation, metric, of, o.Name, err))
		}
		item := customValue{DescribedObject: objectReference{kind.GVK.Kind, o.Namespace, o.Name, kind.GVK.GroupVersion().String()}, Timestamp: metav1.Now(), Value: value}
		if gv == Custom {
			item.MetricName = metric
		} else {
			item.Metric = &metricID{metric}
		}
		out.Items = append(out.Items, item)
	}
	if len(out.Items) == 0 {
		return nil, apierrors.New(http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("the server could not find the metric %s for %s %s", metric, of, name))
	}
	return out, nil
}

// objects reads the metadata of an object or, if the name is *, of those that the query selects.
func (s *server) objects(r *http.Request, of, namespace, name string) (*discovery.Resource, []*metav1.PartialObjectMetadata, error) {
	kind, err := s.find.Find(r.Context(), of)
	if discovery.IsNoMatch(err) {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Group: Custom.Group, Resource: of}, name)
	}
	if err != nil {
		return nil, nil, err
	}
	c := dynamic.Metadata(s.conn, kind.GVR)
	if name != "*" {
		o, err := c.Get(r.Context(), types.NamespacedName{Namespace: namespace, Name: name})
		return kind, []*metav1.PartialObjectMetadata{o}, err
	}
	sel, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, nil, apierrors.NewBadRequest("labelSelector: " + err.Error())
	}
	list, err := c.List(r.Context(), client.ListOptions{Namespace: namespace, LabelSelector: sel})
	if err != nil {
		return nil, nil, err
	}
	return kind, list.Items, nil
}

// external serves the values of an external metric.
func (s *server) external(r *http.Request) (any, error) {
	namespace, metric := r.PathValue("namespace"), r.PathValue("metric")
	sel, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest("labelSelector: " + err.Error())
	}
	marked := labels.SelectorFromSet(map[string]string{ExternalLabel: metric})
	list, err := s.maps.List(r.Context(), client.ListOptions{Namespace: namespace, LabelSelector: marked})
	if err != nil {
		return nil, err
	}
	out := newList[externalValue](External.String(), "ExternalMetricValueList")
	for _, m := range list.Items {
		of := maps.Clone(m.Labels)
		delete(of, ExternalLabel)
		if !sel.Matches(of) {
			continue
		}
		value, err := resource.Parse(m.Data["value"])
		if err != nil {
			return nil, apierrors.NewInternalError(fmt.Errorf("the key value of ConfigMap %s/%s: %w", m.Namespace, m.Name, err))
		}
		out.Items = append(out.Items, externalValue{metric, of, metav1.Now(), value})
	}
	return out, nil
}
