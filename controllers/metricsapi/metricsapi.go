// Package metricsapi serves the APIs of metrics for autoscalers and kubectl top: metrics.k8s.io,
// custom.metrics.k8s.io and external.metrics.k8s.io. It is for clusters without servers of their own for
// these, such as test clusters; aggregation.InProcess serves it only while no APIService with a service has
// the group.
//
// The metrics of nodes and pods are those of /metrics/resource of kubelets, real and fake ones, which are
// read through the API server: there is no other connection. They are read when they are requested, but at
// most once in Options.Resolution, so that a cluster without requests causes no load. The first request needs
// two readings for what is older than two minutes, and takes a second longer.
//
// Values of custom and external metrics are chosen in the cluster:
//
//   - a custom metric of an object is its annotation [CustomAnnotation] plus the name of the metric;
//   - the values of an external metric are those of the ConfigMaps of the namespace with the label
//     [ExternalLabel] and the name of the metric, at the key value of their data. Their other labels are
//     those of the metric.
//
// The program needs the rights get on nodes/proxy; list and watch on nodes and pods; list on configmaps; and
// get and list on the kinds that have custom metrics.
package metricsapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

const (
	// CustomAnnotation, followed by the name of a custom metric, is its value for the object: a quantity.
	CustomAnnotation = "metrics.keelson.dev/"
	// ExternalLabel marks ConfigMaps with a value of an external metric; its value is the metric's name.
	ExternalLabel = "keelson.dev/external-metric"
)

// The versions that are served.
var (
	Resource        = schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1beta1"}
	Custom          = schema.GroupVersion{Group: "custom.metrics.k8s.io", Version: "v1beta1"}
	CustomPreferred = schema.GroupVersion{Group: "custom.metrics.k8s.io", Version: "v1beta2"}
	External        = schema.GroupVersion{Group: "external.metrics.k8s.io", Version: "v1beta1"}
)

// Version is an API version for discovery.
type Version struct {
	GroupVersion schema.GroupVersion
	// Priority orders the versions of a group: larger ones are preferred.
	Priority  int32
	Resources []apidiscoveryv2.APIResourceDiscovery
}

// Versions returns what the handler of New serves. Discovery has no resources for custom and external
// metrics, because their names are not known in advance.
func Versions() []Version {
	read := []string{"get", "list"}
	return []Version{
		{Resource, 100, []apidiscoveryv2.APIResourceDiscovery{
			{Resource: "nodes", Scope: apidiscoveryv2.ScopeCluster, Verbs: read, ResponseKind: &metav1.GroupVersionKind{Kind: "NodeMetrics"}},
			{Resource: "pods", Scope: apidiscoveryv2.ScopeNamespace, Verbs: read, ResponseKind: &metav1.GroupVersionKind{Kind: "PodMetrics"}},
		}},
		{Custom, 100, nil}, {CustomPreferred, 200, nil}, {External, 100, nil},
	}
}

// Options of New.
type Options struct {
	// Resolution is how old readings of kubelets may be; 0 means 10 s, so that an autoscaler that looks every
	// 15 s has new ones each time.
	Resolution time.Duration
	// Concurrency is how many kubelets are read at once; 0 means 10.
	Concurrency int
	// Timeout of the request to a kubelet; 0 means 10 s.
	Timeout time.Duration
}

// New returns a handler of all versions, at /apis/GROUP/VERSION, which uses the informers and the connection
// of m. It serves JSON only, and no watches. It does not authenticate or authorize requests: an API server
// before it does.
func New(m *manager.Manager, opts Options) http.Handler {
	if opts.Resolution == 0 {
		opts.Resolution = 10 * time.Second
	}
	if opts.Concurrency == 0 {
		opts.Concurrency = 10
	}
	if opts.Timeout == 0 {
		opts.Timeout = 10 * time.Second
	}
	s := &server{conn: m.Conn(), find: discovery.New(m.Conn(), discovery.Options{}), maps: client.For[*corev1.ConfigMap](m.Conn())}
	listed := informers.For[*corev1.Node](m.Informers()).Lister()
	kubelets := newScraper(m.Conn(), listed, opts, m.Logger())
	nodes := &metricsOf[*corev1.Node, nodeMetrics]{kubelets, listed, "nodes", "NodeMetricsList", nodeMetricsOf}
	pods := &metricsOf[*corev1.Pod, podMetrics]{kubelets, informers.For[*corev1.Pod](m.Informers()).Lister(), "pods", "PodMetricsList", podMetricsOf}
	mux := http.NewServeMux()
	get := func(path string, f func(r *http.Request) (any, error)) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { reply(w, r, f) })
	}
	at := "/apis/" + Resource.String()
	get(at+"/nodes", nodes.list)
	get(at+"/nodes/{name}", nodes.get)
	get(at+"/pods", pods.list)
	get(at+"/namespaces/{namespace}/pods", pods.list)
	get(at+"/namespaces/{namespace}/pods/{name}", pods.get)
	for _, gv := range []schema.GroupVersion{Custom, CustomPreferred} {
		at, custom := "/apis/"+gv.String(), func(r *http.Request) (any, error) { return s.custom(r, gv) }
		get(at+"/namespaces/{namespace}/metrics/{metric}", custom)
		get(at+"/namespaces/{namespace}/{resource}/{name}/{metric}", custom)
		get(at+"/{resource}/{name}/{metric}", custom)
	}
	get("/apis/"+External.String()+"/namespaces/{namespace}/{metric}", s.external)
	for _, v := range Versions() {
		get("/apis/"+v.GroupVersion.String(), func(*http.Request) (any, error) { return resources(&v), nil })
	}
	get("/", func(r *http.Request) (any, error) {
		return nil, apierrors.New(http.StatusNotFound, metav1.StatusReasonNotFound, "there is nothing at "+r.URL.Path)
	})
	return mux
}

// server answers requests for custom and external metrics.
type server struct {
	conn client.Conn
	find *discovery.Client
	maps *client.Client[*corev1.ConfigMap]
}

// resources is the document at the path of a version.
func resources(v *Version) *metav1.APIResourceList {
	out := &metav1.APIResourceList{GroupVersion: v.GroupVersion.String(), APIResources: []metav1.APIResource{}}
	out.APIVersion, out.Kind = "v1", "APIResourceList"
	for _, r := range v.Resources {
		out.APIResources = append(out.APIResources, metav1.APIResource{Name: r.Resource, Namespaced: r.Scope == apidiscoveryv2.ScopeNamespace,
			Kind: r.ResponseKind.Kind, Verbs: r.Verbs})
	}
	return out
}

// reply sends what f returns, or its error as a Status.
func reply(w http.ResponseWriter, r *http.Request, f func(*http.Request) (any, error)) {
	var out any
	var err error
	switch watch, _ := strconv.ParseBool(r.URL.Query().Get("watch")); {
	case r.Method != http.MethodGet, watch:
		err = apierrors.New(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "metrics can only be read, by get and list")
	default:
		out, err = f(r)
	}
	code := http.StatusOK
	if err != nil {
		status := apierrors.ToStatus(err)
		status.APIVersion, status.Kind = "v1", "Status"
		code, out = int(status.Code), &status
	}
	body, err := codec.Marshal(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body)
}
