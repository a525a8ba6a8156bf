package metricsapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/builtin/horizontalpodautoscaler"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metricsapi"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// handled is a transport that calls a handler.
type handled struct{ http.Handler }

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// world is a cluster of two fake nodes whose server has the APIs of metrics.
type world struct {
	*controllertest.Cluster
	t       *testing.T
	api     http.Handler
	kubelet http.Handler
	reads   atomic.Int32 // of kubelets
	broken  atomic.Bool  // kubelets fail
}

func start(t *testing.T) *world {
	w := &world{t: t}
	server := apiserver.Options{
		Nodes: handled{http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			w.reads.Add(1)
			if w.broken.Load() {
				http.Error(rw, "no", http.StatusInternalServerError)
				return
			}
			w.kubelet.ServeHTTP(rw, r)
		})},
		Intercept: func(rw http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
			if strings.Contains(r.URL.Path, "metrics.k8s.io/") {
				w.api.ServeHTTP(rw, r)
				return
			}
			next(rw, r)
		},
	}
	w.Cluster = controllertest.Start(t, controllertest.Options{Server: server, Controllers: []controllertest.Adder{
		func(m *manager.Manager) error { return replicaset.Add(m, replicaset.Options{}) },
		func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
		func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
		func(m *manager.Manager) error {
			return horizontalpodautoscaler.Add(m, horizontalpodautoscaler.Options{})
		},
		func(m *manager.Manager) error {
			w.kubelet, w.api = fakenode.NewServer(m), metricsapi.New(m, metricsapi.Options{})
			return fakenode.Add(m, fakenode.Options{Count: 2, Port: 10250})
		},
	}})
	w.Sleep(5 * time.Second)
	return w
}

// replicas creates a ReplicaSet whose pods request half a core each and use what usage says.
func (w *world) replicas(n int32, usage string) {
	rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", "web")}
	rs.Spec.Replicas, rs.Spec.Template.Labels = &n, map[string]string{"app": "web"}
	rs.Spec.Template.Annotations = map[string]string{fakenode.UsageAnnotation: usage}
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: rs.Spec.Template.Labels}
	rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}}}}
	controllertest.Create(w.Cluster, rs)
	w.Sleep(30 * time.Second)
}

// get requests a path below /apis.
func (w *world) get(path string) (int, map[string]any) {
	rw := httptest.NewRecorder()
	w.api.ServeHTTP(rw, httptest.NewRequest("GET", "/apis/"+path, nil))
	var out map[string]any
	require.NoError(w.t, json.Unmarshal(rw.Body.Bytes(), &out), rw.Body.String())
	return rw.Code, out
}

// at returns the value at a path of a document; numbers index lists.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			v = v.(map[string]any)[p]
		case int:
			v = v.([]any)[p]
		}
	}
	return v
}

func TestResourceMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.replicas(4, "cpu=250m,memory=64Mi")
		code, nodes := w.get("metrics.k8s.io/v1beta1/nodes")
		require.Equal(t, 200, code)
		require.Equal(t, "NodeMetricsList", nodes["kind"])
		require.Len(t, nodes["items"], 2)
		require.Equal(t, "node-0", at(nodes, "items", 0, "metadata", "name"))
		require.Equal(t, map[string]any{"cpu": "500000000n", "memory": "131072Ki"}, at(nodes, "items", 0, "usage"), "two pods of each node")
		require.Equal(t, "node-0", at(nodes, "items", 0, "metadata", "labels", "kubernetes.io/hostname"))

		code, pods := w.get("metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dweb")
		require.Equal(t, 200, code)
		require.Len(t, pods["items"], 4)
		require.Equal(t, []any{map[string]any{"name": "main", "usage": map[string]any{"cpu": "250000000n", "memory": "65536Ki"}}}, at(pods, "items", 0, "containers"))
		name := at(pods, "items", 0, "metadata", "name").(string)
		code, pod := w.get("metrics.k8s.io/v1beta1/namespaces/default/pods/" + name)
		require.Equal(t, 200, code)
		require.Equal(t, "PodMetrics", pod["kind"])
		for path, want := range map[string]int{
			"pods": 4, "pods?fieldSelector=metadata.name%3D" + name: 1, "namespaces/default/pods?fieldSelector=metadata.name!%3D" + name: 3,
			"namespaces/other/pods": 0, "pods?labelSelector=app!%3Dweb": 0, "nodes?labelSelector=keelson.dev/fake": 2, "nodes?fieldSelector=metadata.name%3Dnode-1": 1,
		} {
			code, list := w.get("metrics.k8s.io/v1beta1/" + path)
			require.Equal(t, 200, code, path)
			require.Len(t, list["items"], want, path)
		}
		for path, want := range map[string]int{
			"metrics.k8s.io/v1beta1/namespaces/default/pods/none": 404, "metrics.k8s.io/v1beta1/nodes/none": 404, "metrics.k8s.io/v1beta1/services": 404,
			"metrics.k8s.io/v1beta1/pods?fieldSelector=spec.nodeName%3Da": 400, "metrics.k8s.io/v1beta1/pods?labelSelector=%3D": 400,
			"metrics.k8s.io/v1beta1/pods?fieldSelector=metadata.name": 400, "metrics.k8s.io/v1beta1/pods?watch=true": 405, "metrics.k8s.io/v2/pods": 404,
		} {
			code, status := w.get(path)
			require.Equal(t, want, code, path)
			require.Equal(t, "Status", status["kind"], path)
			require.NotEmpty(t, status["message"], path)
		}
		rw := httptest.NewRecorder()
		w.api.ServeHTTP(rw, httptest.NewRequest("DELETE", "/apis/metrics.k8s.io/v1beta1/nodes/node-0", nil))
		require.Equal(t, 405, rw.Code)
		code, list := w.get("metrics.k8s.io/v1beta1")
		require.Equal(t, 200, code)
		require.Equal(t, "APIResourceList", list["kind"])
		require.Len(t, list["resources"], 2)
	})
}

// Usage follows the annotation, is read at most once in ten seconds, and not at all without requests.
func TestReadingsFollowRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.replicas(1, "cpu=100m,memory=1Mi")
		w.Sleep(time.Hour)
		require.Zero(t, w.reads.Load())
		cpu := func() any {
			_, pods := w.get("metrics.k8s.io/v1beta1/pods")
			return at(pods, "items", 0, "containers", 0, "usage", "cpu")
		}
		before := time.Now()
		require.Equal(t, "100000000n", cpu())
		require.Equal(t, time.Second, time.Since(before), "a second reading is needed")
		require.Equal(t, int32(4), w.reads.Load())
		for range 9 {
			require.Equal(t, "100000000n", cpu())
			w.Sleep(time.Second)
		}
		require.Equal(t, int32(4), w.reads.Load())
		w.Sleep(2 * time.Second)
		require.Equal(t, "100000000n", cpu())
		require.Equal(t, int32(6), w.reads.Load())
		pod := controllertest.List[*corev1.Pod](w.Cluster, "default")[0]
		controllertest.Update(w.Cluster, "default", pod.Name, func(p *corev1.Pod) { p.Annotations[fakenode.UsageAnnotation] = "cpu=2" })
		w.Sleep(10 * time.Second)
		require.Equal(t, "2", strings.TrimSuffix(cpu().(string), "000000000n"))

		// A node that cannot be read has no metrics, and other requests go on.
		w.broken.Store(true)
		w.Sleep(10 * time.Second)
		code, nodes := w.get("metrics.k8s.io/v1beta1/nodes")
		require.Equal(t, 200, code)
		require.Empty(t, nodes["items"])
		w.broken.Store(false)
		w.Sleep(10 * time.Second)
		_, nodes = w.get("metrics.k8s.io/v1beta1/nodes")
		require.Len(t, nodes["items"], 2)
	})
}

// An autoscaler follows what the pods of fake nodes use.
func TestAnAutoscalerOnFakeNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.replicas(2, "cpu=400m")
		hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: controllertest.Name("default", "web")}
		hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web"}
		hpa.Spec.MaxReplicas = 3
		hpa.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(50))}}}}
		controllertest.Create(w.Cluster, hpa)
		w.Sleep(time.Minute)
		replicas := func() int32 {
			return *controllertest.Get[*appsv1.ReplicaSet](w.Cluster, "default", "web").Spec.Replicas
		}
		require.Equal(t, int32(3), replicas())
		status := controllertest.Get[*autoscalingv2.HorizontalPodAutoscaler](w.Cluster, "default", "web").Status
		require.Equal(t, int32(80), *status.CurrentMetrics[0].Resource.Current.AverageUtilization)
		for _, p := range controllertest.List[*corev1.Pod](w.Cluster, "default") {
			controllertest.Update(w.Cluster, "default", p.Name, func(p *corev1.Pod) { p.Annotations[fakenode.UsageAnnotation] = "cpu=10m" })
		}
		w.Sleep(10 * time.Minute)
		require.Equal(t, int32(1), replicas())
	})
}

func TestCustomAndExternalMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		for name, value := range map[string]string{"a": "100m", "b": "3", "c": ""} {
			pod := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
			pod.Labels, pod.Spec.Containers = map[string]string{"app": "web"}, []corev1.Container{{Name: "main", Image: "i"}}
			if value != "" {
				pod.Annotations = map[string]string{metricsapi.CustomAnnotation + "requests": value}
			}
			controllertest.Create(w.Cluster, pod)
		}
		controllertest.Update(w.Cluster, "", "default", func(n *corev1.Namespace) {
			n.Annotations = map[string]string{metricsapi.CustomAnnotation + "load": "7", metricsapi.CustomAnnotation + "bad": "x"}
		})
		for name, labels := range map[string]map[string]string{"q1": {"queue": "fast"}, "q2": {"queue": "slow"}} {
			m := &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name), Data: map[string]string{"value": "12"}}
			m.Labels = labels
			m.Labels[metricsapi.ExternalLabel] = "depth"
			controllertest.Create(w.Cluster, m)
		}
		code, list := w.get("custom.metrics.k8s.io/v1beta2/namespaces/default/pods/*/requests?labelSelector=app%3Dweb")
		require.Equal(t, 200, code, list)
		require.Len(t, list["items"], 2)
		require.Equal(t, map[string]any{"kind": "Pod", "namespace": "default", "name": "a", "apiVersion": "v1"}, at(list, "items", 0, "describedObject"))
		require.Equal(t, "100m", at(list, "items", 0, "value"))
		require.Equal(t, "requests", at(list, "items", 0, "metric", "name"))
		code, list = w.get("custom.metrics.k8s.io/v1beta1/namespaces/default/pods/b/requests")
		require.Equal(t, 200, code)
		require.Equal(t, "requests", at(list, "items", 0, "metricName"))
		require.Equal(t, "3", at(list, "items", 0, "value"))
		code, list = w.get("custom.metrics.k8s.io/v1beta2/namespaces/default/metrics/load")
		require.Equal(t, 200, code)
		require.Equal(t, "Namespace", at(list, "items", 0, "describedObject", "kind"))
		code, list = w.get("external.metrics.k8s.io/v1beta1/namespaces/default/depth?labelSelector=queue%3Dfast")
		require.Equal(t, 200, code)
		require.Len(t, list["items"], 1)
		require.Equal(t, map[string]any{"queue": "fast"}, at(list, "items", 0, "metricLabels"))
		for path, want := range map[string]int{
			"custom.metrics.k8s.io/v1beta2/namespaces/default/pods/c/requests": 404, "custom.metrics.k8s.io/v1beta2/namespaces/default/pods/none/requests": 404,
			"custom.metrics.k8s.io/v1beta2/namespaces/default/gizmos/a/requests": 404, "custom.metrics.k8s.io/v1beta2/namespaces/default/metrics/bad": 500,
			"custom.metrics.k8s.io/v1beta2/namespaces/default/pods/b/requests?metricLabelSelector=a%3Db": 404,
			"custom.metrics.k8s.io/v1beta2/namespaces/default/pods/b/requests?metricLabelSelector=%3D":   400,
			"external.metrics.k8s.io/v1beta1/namespaces/default/depth?labelSelector=%3D":                 400,
			"external.metrics.k8s.io/v1beta1/namespaces/default/none":                                    200,
		} {
			code, _ := w.get(path)
			require.Equal(t, want, code, path)
		}
	})
}
