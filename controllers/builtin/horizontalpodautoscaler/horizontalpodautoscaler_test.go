package horizontalpodautoscaler_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
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
	"github.com/keelson-dev/keelson/controllers/builtin/replicaset"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// metricsServer serves the APIs of metrics, as servers behind an APIService do.
type metricsServer struct {
	mu sync.Mutex
	c  *controllertest.Cluster
	// cpu is what all pods together use, in thousandths of a core; negative: the API is not served.
	cpu int
	// values are those of the other APIs, by path behind the version.
	values map[string]string
}

func (m *metricsServer) intercept(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	m.mu.Lock()
	cpu := m.cpu
	_, rest, other := strings.Cut(r.URL.Path, ".metrics.k8s.io/")
	value, known := m.values[rest]
	m.mu.Unlock()
	reply := func(items ...any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "List", "apiVersion": "v1", "items": items})
	}
	switch {
	case other && known:
		reply(map[string]any{"value": value, "timestamp": time.Now(), "describedObject": map[string]any{"name": "web"}})
	case strings.HasPrefix(r.URL.Path, "/apis/metrics.k8s.io/") && cpu >= 0:
		var items []any
		pods := controllertest.List[*corev1.Pod](m.c, "default")
		for _, p := range pods {
			items = append(items, map[string]any{"metadata": map[string]any{"name": p.Name}, "timestamp": time.Now(), "window": "30s",
				"containers": []any{map[string]any{"name": "main", "usage": map[string]any{"cpu": fmt.Sprintf("%dm", cpu/len(pods))}}}})
		}
		reply(items...)
	default:
		next(w, r)
	}
}

func (m *metricsServer) set(f func()) {
	m.mu.Lock()
	f()
	m.mu.Unlock()
}

// start starts a ReplicaSet of two pods, which are ready as soon as they exist, and an autoscaler for it.
func start(t testing.TB, edit func(*autoscalingv2.HorizontalPodAutoscaler)) *metricsServer {
	m := &metricsServer{values: map[string]string{}, cpu: -1}
	m.c = controllertest.Start(t, controllertest.Options{Server: apiserver.Options{Intercept: m.intercept}, Controllers: []controllertest.Adder{
		func(mgr *manager.Manager) error { return replicaset.Add(mgr, replicaset.Options{}) },
		func(mgr *manager.Manager) error {
			return horizontalpodautoscaler.Add(mgr, horizontalpodautoscaler.Options{})
		},
	}})
	rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", "web")}
	rs.Spec.Replicas, rs.Spec.Template.Labels = new(int32(2)), map[string]string{"app": "web"}
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: rs.Spec.Template.Labels}
	rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}}}}
	controllertest.Create(m.c, rs)
	m.run(time.Second)
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: controllertest.Name("default", "web")}
	hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web"}
	hpa.Spec.MaxReplicas = 10
	hpa.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(50))}}}}
	if edit != nil {
		edit(hpa)
	}
	controllertest.Create(m.c, hpa)
	m.c.Settle()
	return m
}

// run lets time pass, in which new pods become ready.
func (m *metricsServer) run(d time.Duration) {
	for range max(d/(5*time.Second), 1) {
		m.c.Sleep(min(d, 5*time.Second))
		for _, p := range controllertest.List[*corev1.Pod](m.c, "default") {
			if p.Status.Phase == corev1.PodRunning {
				continue
			}
			controllertest.UpdateStatus(m.c, "default", p.Name, func(p *corev1.Pod) {
				now := metav1.Now()
				p.Status.Phase, p.Status.StartTime = corev1.PodRunning, &now
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}}
			})
		}
	}
	m.c.Settle()
}

func (m *metricsServer) replicas() int32 {
	return *controllertest.Get[*appsv1.ReplicaSet](m.c, "default", "web").Spec.Replicas
}

func (m *metricsServer) status() autoscalingv2.HorizontalPodAutoscalerStatus {
	return controllertest.Get[*autoscalingv2.HorizontalPodAutoscaler](m.c, "default", "web").Status
}

// conditions are those of the autoscaler, with their reasons.
func (m *metricsServer) conditions() map[autoscalingv2.HorizontalPodAutoscalerConditionType]string {
	out := map[autoscalingv2.HorizontalPodAutoscalerConditionType]string{}
	for _, c := range m.status().Conditions {
		out[c.Type] = string(c.Status) + " " + c.Reason
	}
	return out
}

func (m *metricsServer) reasons() map[string]bool {
	out := map[string]bool{}
	for _, e := range controllertest.List[*corev1.Event](m.c, "default") {
		if e.InvolvedObject.Kind == "HorizontalPodAutoscaler" {
			out[e.Reason] = true
		}
	}
	return out
}

// Replicas follow the load, up at once and down after five minutes.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		m := start(t, nil)
		m.set(func() { m.cpu = 1000 }) // of 500m a pod, half is to be used
		m.run(time.Minute)
		fmt.Println("under load:", m.replicas())
		m.set(func() { m.cpu = 200 })
		m.run(2 * time.Minute)
		fmt.Println("after two minutes without:", m.replicas())
		m.run(5 * time.Minute)
		fmt.Println("after five more:", m.replicas())
	})
	// Output:
	// under load: 4
	// after two minutes without: 4
	// after five more: 1
}

func TestConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, nil)
		require.Equal(t, map[autoscalingv2.HorizontalPodAutoscalerConditionType]string{
			autoscalingv2.AbleToScale: "True SucceededGetScale", autoscalingv2.ScalingActive: "False FailedGetResourceMetric"}, m.conditions())
		require.True(t, m.reasons()["FailedComputeMetricsReplicas"])
		require.EqualValues(t, 2, m.status().CurrentReplicas)
		m.set(func() { m.cpu = 9000 })
		m.run(40 * time.Second)
		require.EqualValues(t, 4, m.replicas(), "at most twice as many, and four")
		require.Equal(t, "True SucceededRescale", m.conditions()[autoscalingv2.AbleToScale])
		require.Equal(t, "True ScaleUpLimit", m.conditions()[autoscalingv2.ScalingLimited])
		m.run(time.Minute)
		require.EqualValues(t, 10, m.replicas())
		require.Equal(t, "True TooManyReplicas", m.conditions()[autoscalingv2.ScalingLimited])
		require.True(t, m.reasons()["SuccessfulRescale"])
		s := m.status()
		require.Equal(t, "900m", s.CurrentMetrics[0].Resource.Current.AverageValue.String())
		require.EqualValues(t, 180, *s.CurrentMetrics[0].Resource.Current.AverageUtilization)
		require.NotNil(t, s.LastScaleTime)
		controllertest.Update(m.c, "default", "web", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(0)) })
		m.run(20 * time.Second)
		require.EqualValues(t, 0, m.replicas())
		require.Equal(t, "False ScalingDisabled", m.conditions()[autoscalingv2.ScalingActive])
	})
}

// Metrics of the other APIs, of which the greatest number of replicas counts.
func TestOtherMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		value := func(v string) *resource.Quantity { return new(resource.MustParse(v)) }
		m := start(t, func(h *autoscalingv2.HorizontalPodAutoscaler) {
			h.Spec.Metrics = []autoscalingv2.MetricSpec{
				{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
					Metric: autoscalingv2.MetricIdentifier{Name: "queue"}, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: value("10")}}},
				{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
					DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Service", Name: "front"},
					Metric:          autoscalingv2.MetricIdentifier{Name: "hits"}, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: value("100")}}},
			}
		})
		m.set(func() {
			m.values["v1beta1/namespaces/default/queue"] = "25"
			m.values["v1beta2/namespaces/default/services/front/hits"] = "150"
		})
		m.run(20 * time.Second)
		require.EqualValues(t, 3, m.replicas(), "25 by 10, and 1.5 times 2")
		s := m.status()
		require.Equal(t, "12500m", s.CurrentMetrics[0].External.Current.AverageValue.String())
		require.Equal(t, "150", s.CurrentMetrics[1].Object.Current.Value.String())
		// Without one of them nothing is scaled down, but up.
		m.set(func() {
			delete(m.values, "v1beta1/namespaces/default/queue")
			m.values["v1beta2/namespaces/default/services/front/hits"] = "1"
		})
		m.run(10 * time.Minute)
		require.EqualValues(t, 3, m.replicas())
		require.Equal(t, "False FailedGetExternalMetric", m.conditions()[autoscalingv2.ScalingActive])
		m.set(func() { m.values["v1beta2/namespaces/default/services/front/hits"] = "200" })
		m.run(20 * time.Second)
		require.EqualValues(t, 6, m.replicas())
	})
}

func TestTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.ScaleTargetRef.Name = "none" })
		require.Equal(t, "False FailedGetScale", m.conditions()[autoscalingv2.AbleToScale])
		require.True(t, m.reasons()["FailedGetScale"])
		other := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: controllertest.Name("default", "other")}
		other.Spec = controllertest.Get[*autoscalingv2.HorizontalPodAutoscaler](m.c, "default", "web").Spec
		other.Spec.ScaleTargetRef.Name = "web"
		controllertest.Create(m.c, other)
		m.c.Settle()
		controllertest.Update(m.c, "default", "web", func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.ScaleTargetRef.Name = "web" })
		m.run(20 * time.Second)
		require.Equal(t, "False AmbiguousSelector", m.conditions()[autoscalingv2.ScalingActive])
	})
}
