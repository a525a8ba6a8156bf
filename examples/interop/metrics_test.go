package interop

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/controllers/webhook"
)

// TestMetricsAsControllerRuntime compares the pages of the same small operator over both libraries: every
// family that controller-runtime has about controllers, queues, webhooks and the client exists here with the
// same type and labels, and every outcome of a reconcile there is a value here.
func TestMetricsAsControllerRuntime(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	cfg := overTCP(t, c)
	mgr := newManager(t, cfg)
	hook, err := admission.StandaloneWebhook(&admission.Webhook{}, admission.StandaloneOptions{MetricsPath: "/validate"})
	require.NoError(t, err)
	hook.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/validate", strings.NewReader("{}")))
	_, err = clientset(t, cfg).CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a", nil), metav1.CreateOptions{})
	require.NoError(t, err)
	stop := runManager(t, mgr)
	eventually(t, "the controller runs", func() bool {
		f := families(t, crmetrics.Registry)["controller_runtime_reconcile_total"]
		return f != nil && families(t, crmetrics.Registry)["rest_client_requests_total"] != nil
	})
	eventually(t, "the queue is measured", func() bool { return families(t, crmetrics.Registry)["workqueue_depth"] != nil })
	theirs := families(t, crmetrics.Registry)
	stop()

	m := metrics.New()
	conn, err := rest.New(rest.Config{Host: cfg.Host, BearerToken: cfg.BearerToken, TLS: rest.TLSConfig{CAData: cfg.CAData, CertData: cfg.CertData, KeyData: cfg.KeyData}},
		rest.Options{Metrics: m.Client()})
	require.NoError(t, err)
	ours := manager.New(conn, manager.Options{Monitor: m})
	_, err = controllers.Add(ours, "configmap", reconcile.Func(func(_ context.Context, _ reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	}), controllers.Options{}, controllers.For[*corev1.ConfigMap]())
	require.NoError(t, err)
	stop = runManager(t, starter{ours})
	hooks := webhook.New(webhook.Options{Metrics: m.Webhooks()})
	hooks.Handle("/validate", webhook.Validating(func(context.Context, *webhook.Request, *corev1.ConfigMap) error { return nil }))
	hooks.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/validate", strings.NewReader("{}")))
	m.Leader("a-lease").Status(true)
	eventually(t, "the controller reconciles", func() bool {
		f := families(t, m.Registry())["workqueue_depth"]
		return f != nil && families(t, m.Registry())["rest_client_requests_total"] != nil
	})
	mine := families(t, m.Registry())
	stop()

	compared := 0
	for name, f := range theirs {
		prefix, _, _ := strings.Cut(name, "_")
		if !slices.Contains([]string{"controller", "workqueue", "rest", "leader"}, prefix) {
			continue // of the Go runtime, the process and certificates
		}
		compared++
		require.Contains(t, mine, name)
		require.Equal(t, f.GetType(), mine[name].GetType(), name)
		require.Equal(t, labelsOf(f), labelsOf(mine[name]), name)
	}
	require.GreaterOrEqual(t, compared, 20)
	results := func(f *dto.MetricFamily) (all []string) {
		for _, s := range f.GetMetric() {
			for _, l := range s.GetLabel() {
				if l.GetName() == "result" {
					all = append(all, l.GetValue())
				}
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	require.Equal(t, results(theirs["controller_runtime_reconcile_total"]), results(mine["controller_runtime_reconcile_total"]))
}

// gatherer is a prometheus.Gatherer.
type gatherer interface {
	Gather() ([]*dto.MetricFamily, error)
}

func families(t *testing.T, g gatherer) map[string]*dto.MetricFamily {
	all, err := g.Gather()
	require.NoError(t, err)
	byName := map[string]*dto.MetricFamily{}
	for _, f := range all {
		byName[f.GetName()] = f
	}
	return byName
}

// labelsOf returns the names of the labels of a family, of which each series has all.
func labelsOf(f *dto.MetricFamily) (names []string) {
	for _, l := range f.GetMetric()[0].GetLabel() {
		names = append(names, l.GetName())
	}
	slices.Sort(names)
	return names
}

// starter is a manager of ours that starts as one of controller-runtime does.
type starter struct{ *manager.Manager }

// Start runs the manager.
func (s starter) Start(ctx context.Context) error { return s.Run(ctx) }

// runManager runs a manager until stop is called, which waits for it.
func runManager(t *testing.T, m interface{ Start(context.Context) error }) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	return func() {
		cancel()
		select {
		case err := <-done:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			require.Fail(t, "the manager does not stop")
		}
	}
}
