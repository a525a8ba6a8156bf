package metricsapi

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/informers"
)

// amounts are quantities of resources.
type amounts struct {
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
}

// nodeMetrics is NodeMetrics of metrics.k8s.io/v1beta1.
type nodeMetrics struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Timestamp       metav1.Time       `json:"timestamp"`
	Window          metav1.Duration   `json:"window"`
	Usage           amounts           `json:"usage"`
}

// podMetrics is PodMetrics of metrics.k8s.io/v1beta1.
type podMetrics struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Timestamp       metav1.Time       `json:"timestamp"`
	Window          metav1.Duration   `json:"window"`
	Containers      []containerUsage  `json:"containers"`
}

type containerUsage struct {
	Name  string  `json:"name"`
	Usage amounts `json:"usage"`
}

// listOf is a list of items.
type listOf[T any] struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ListMeta `json:"metadata"`
	Items           []T             `json:"items"`
}

func newList[T any](apiVersion, kind string) *listOf[T] {
	return &listOf[T]{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, Items: []T{}}
}

// amounts in the units of kubelets: billionths of a core, and KiB.
func (u usage) amounts() amounts {
	return amounts{CPU: fmt.Sprintf("%dn", int64(max(u.cpu, 0)*1e9+0.5)), Memory: fmt.Sprintf("%dKi", int64(u.memory)/1024)}
}

// metadataOf is the metadata of the metrics of an object; they are made when they are read.
func metadataOf(o metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), Labels: o.GetLabels(), CreationTimestamp: metav1.Now().Truncated()}
}

// nodeMetricsOf returns the metrics of a node, nil if they are not known.
func nodeMetricsOf(node *corev1.Node, known map[string]*nodeSeries) *nodeMetrics {
	n := known[node.Name]
	if n == nil {
		return nil
	}
	u, ok := n.node.usage()
	if !ok {
		return nil
	}
	return &nodeMetrics{TypeMeta: metav1.TypeMeta{APIVersion: Resource.String(), Kind: "NodeMetrics"}, Metadata: metadataOf(node),
		Timestamp: metav1.Time{Time: u.at}, Window: metav1.Duration{Duration: u.window.Round(time.Millisecond)}, Usage: u.amounts()}
}

// podMetricsOf returns the metrics of a pod, nil unless those of all its running containers are known: a sum
// without one of them would mislead an autoscaler.
func podMetricsOf(pod *corev1.Pod, known map[string]*nodeSeries) *podMetrics {
	n := known[pod.Spec.NodeName]
	if n == nil {
		return nil
	}
	out := &podMetrics{TypeMeta: metav1.TypeMeta{APIVersion: Resource.String(), Kind: "PodMetrics"}, Metadata: metadataOf(pod)}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if list[i].State.Running == nil {
				continue
			}
			u, ok := n.containers[containerKey{pod.Namespace, pod.Name, list[i].Name}].usage()
			if !ok {
				return nil
			}
			out.Containers = append(out.Containers, containerUsage{list[i].Name, u.amounts()})
			// The earliest, as of upstream's server.
			if out.Timestamp.IsZero() || u.at.Before(out.Timestamp.Time) {
				out.Timestamp, out.Window = metav1.Time{Time: u.at}, metav1.Duration{Duration: u.window.Round(time.Millisecond)}
			}
		}
	}
	if len(out.Containers) == 0 {
		return nil
	}
	return out
}

// selection is what the query of a list selects.
type selection struct {
	informers.ListOptions
	fields fields.Selector
}

func selectionOf(r *http.Request) (s selection, err error) {
	q := r.URL.Query()
	s.Namespace = r.PathValue("namespace")
	if s.LabelSelector, err = labels.Parse(q.Get("labelSelector")); err != nil {
		return s, apierrors.NewBadRequest("labelSelector: " + err.Error())
	}
	if s.fields, err = fields.Parse(q.Get("fieldSelector")); err != nil {
		return s, apierrors.NewBadRequest("fieldSelector: " + err.Error())
	}
	for _, need := range s.fields.Requirements() {
		if need.Field != "metadata.name" && need.Field != "metadata.namespace" {
			return s, apierrors.NewBadRequest("fieldSelector: metrics are selected by metadata.name and metadata.namespace only")
		}
	}
	return s, nil
}

// selects reports whether the field selector selects an object.
func (s *selection) selects(o metav1.Object) bool {
	return s.fields.Matches(fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()})
}

// metricsOf are the metrics of the objects of one kind. of makes those of an object, nil if they are not
// known.
type metricsOf[T metav1.Object, M any] struct {
	*scraper
	objects  informers.Lister[T]
	resource string
	listKind string
	of       func(obj T, known map[string]*nodeSeries) *M
}

func (m *metricsOf[T, M]) list(r *http.Request) (any, error) {
	sel, err := selectionOf(r)
	if err != nil {
		return nil, err
	}
	known, err := m.fresh(r.Context())
	if err != nil {
		return nil, err
	}
	all, err := m.objects.List(sel.ListOptions) // in the order of their keys
	if err != nil {
		return nil, err
	}
	out := newList[*M](Resource.String(), m.listKind)
	for _, obj := range all {
		if one := m.of(obj, known); one != nil && sel.selects(obj) {
			out.Items = append(out.Items, one)
		}
	}
	return out, nil
}

func (m *metricsOf[T, M]) get(r *http.Request) (any, error) {
	known, err := m.fresh(r.Context())
	if err != nil {
		return nil, err
	}
	key := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	if obj, err := m.objects.Get(key); err == nil {
		if one := m.of(obj, known); one != nil {
			return one, nil
		}
	}
	return nil, apierrors.NewNotFound(Resource.WithResource(m.resource).GroupResource(), strings.TrimPrefix(key.String(), "/"))
}
