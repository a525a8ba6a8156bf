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
