package fakenode_test

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func TestLogsOfFakePods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		m := c.Manager("nodes", func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{}) })
		server := fakenode.NewServer(m)
		c.Run(m)
		pod := &corev1.Pod{ObjectMeta: controllertest.Name("default", "web")}
		pod.Annotations = map[string]string{fakenode.RunForAnnotation: "10s"}
		pod.Spec.NodeName, pod.Spec.RestartPolicy = "node-0", corev1.RestartPolicyNever
		pod.Spec.Containers = []corev1.Container{{Name: "a", Image: "img"}}
		controllertest.Create(c, pod)
		c.Sleep(2 * time.Second)
		get := func(path string) (int, string) {
			w := httptest.NewRecorder()
			server.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			return w.Code, w.Body.String()
		}
		code, body := get("/containerLogs/default/web/a")
		require.Equal(t, 200, code)
		require.Regexp(t, `^fake container a of pod default/web: image img, started at .+ \(no real output\)\n$`, body)
		_, body = get("/containerLogs/default/web/a?tailLines=0")
		require.Empty(t, body)
		_, body = get("/containerLogs/default/web/a?limitBytes=4")
		require.Equal(t, "fake", body)
		began := time.Now()
		code, _ = get("/containerLogs/default/web/a?follow=true")
		require.Equal(t, 200, code)
		require.Greater(t, time.Since(began), 6*time.Second, "a followed log ends with the container")
		code, body = get("/containerLogs/default/web/b")
		require.Equal(t, 404, code)
		require.Equal(t, "container \"b\" not found in pod \"web\"\n", body)
		code, body = get("/containerLogs/default/none/a")
		require.Equal(t, 404, code)
		require.Equal(t, "pod \"none\" does not exist\n", body)
		code, _ = get("/containerLogs/default/web/a?previous=true")
		require.Equal(t, 400, code)
		code, body = get("/healthz")
		require.Equal(t, 200, code)
		require.Equal(t, "ok", body)
		_, body = get("/pods")
		require.Contains(t, body, `"kind":"PodList"`)
		code, body = get("/metrics")
		require.Equal(t, 200, code)
		require.Contains(t, body, "\nkubelet_running_pods 0\n")
		require.Contains(t, body, "\nkubelet_running_containers{container_state=\"exited\"} 1\n")
	})
}

// /metrics/resource is about the node of the address, counts what annotations say, and forgets containers
// that have ended.
func TestResourceMetricsOfFakeNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		m := c.Manager("nodes", func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{Count: 2}) })
		server := fakenode.NewServer(m)
		c.Run(m)
		for name, usage := range map[string]string{"busy": "cpu=2, memory=1Mi", "idle": "", "bad": "cpu=-1", "worse": "disk=1", "broken": "memory"} {
			pod := &corev1.Pod{ObjectMeta: controllertest.Name("default", name)}
			if usage != "" {
				pod.Annotations = map[string]string{fakenode.UsageAnnotation: usage}
			}
			pod.Spec.NodeName, pod.Spec.Containers = "node-0", []corev1.Container{{Name: "a", Image: "img"}}
			controllertest.Create(c, pod)
		}
		c.Sleep(10 * time.Second)
		get := func(uri string) (int, string) {
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics/resource", nil)
			if uri != "" {
				r.Header.Set("X-Forwarded-Uri", uri)
			}
			server.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		code, body := get("")
		require.Equal(t, 400, code)
		require.Contains(t, body, "there are 2 fake nodes at this address")
		for _, name := range []string{"node-0", "node-0:10250", "https:node-0:10250"} {
			code, body = get("/api/v1/nodes/" + name + "/proxy/metrics/resource")
			require.Equal(t, 200, code)
			require.Contains(t, body, `container_cpu_usage_seconds_total{container="a",namespace="default",pod="busy"} 20 `, name)
			require.Contains(t, body, `container_memory_working_set_bytes{container="a",namespace="default",pod="busy"} 1048576 `)
			require.Contains(t, body, `container_cpu_usage_seconds_total{container="a",namespace="default",pod="idle"} 0 `)
			require.Contains(t, body, "\nresource_scrape_error 1\n", "three annotations cannot be read")
		}
		code, body = get("/api/v1/nodes/node-1/proxy/metrics/resource")
		require.Equal(t, 200, code)
		require.Contains(t, body, "\nnode_cpu_usage_seconds_total 0 ")
		require.Contains(t, body, "\nresource_scrape_error 0\n")
		require.NotContains(t, body, "pod=")
		for _, name := range []string{"busy", "bad", "worse", "broken"} {
			controllertest.Delete[*corev1.Pod](c, "default", name)
		}
		c.Sleep(time.Minute)
		_, body = get("/api/v1/nodes/node-0/proxy/metrics/resource")
		require.NotContains(t, body, "busy")
		require.Contains(t, body, "\nnode_cpu_usage_seconds_total 20 ", "a counter does not go back")
		require.Contains(t, body, "\nresource_scrape_error 0\n")
	})
}
