package main

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// An extender of the file is called over TLS, and its resource does not count for the plugins.
func TestExtenderOfTheFile(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		args := struct{ NodeNames []string }{}
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil || r.URL.Path != "/gpu/filter" {
			http.Error(w, fmt.Sprint(err, r.URL.Path), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"NodeNames": []string{"b"}})
	}))
	defer server.Close()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	_, opts, err := read(t, fmt.Sprintf(`extenders:
- {urlPrefix: %s/gpu, filterVerb: filter, nodeCacheCapable: true, enableHTTPS: true, httpTimeout: 30s, tlsConfig: {caData: %s},
  managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]}`, server.URL, ca))
	require.NoError(t, err)
	require.Equal(t, 30*time.Second, opts.Extenders[0].Timeout)
	c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error { return scheduler.Add(m, opts) }}})
	for _, name := range []string{"a", "b", "c"} {
		addNode(c, name)
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	gpu := corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "image", Resources: corev1.ResourceRequirements{Requests: gpu, Limits: gpu}}}
	controllertest.Create(c, p)
	require.Eventually(t, func() bool { return controllertest.Get[*corev1.Pod](c, "default", "p").Spec.NodeName == "b" }, time.Minute, 10*time.Millisecond)
}

func TestWrongExtenders(t *testing.T) {
	for fields, text := range map[string]string{
		"extenders: [{}]":                                                                 "extenders[0].urlPrefix",
		"extenders: [{urlPrefix: x, wrong: 1}]":                                           "wrong",
		"extenders: [{urlPrefix: x, prioritizeVerb: p}]":                                  "extenders[0].weight: 0",
		"extenders: [{urlPrefix: x, httpTimeout: -1s}]":                                   "extenders[0].httpTimeout",
		"extenders: [{urlPrefix: x, bindVerb: b}, {urlPrefix: z, bindVerb: b}]":           "extenders: 2 have a bindVerb",
		"extenders: [{urlPrefix: x, managedResources: [{name: cpu}]}]":                    "extenders[0].managedResources[0].name",
		"extenders: [{urlPrefix: x, managedResources: [{name: a.b/c}, {name: a.b/c}]}]":   "extenders[0].managedResources[1].name",
		"extenders: [{urlPrefix: x, tlsConfig: {caFile: /nonexistent}}]":                  "extenders[0].tlsConfig.caFile",
		"extenders: [{urlPrefix: x, tlsConfig: {caData: eA==}}]":                          "extenders[0].tlsConfig.caFile, caData",
		"extenders: [{urlPrefix: x, tlsConfig: {certData: eA==}}]":                        "extenders[0].tlsConfig.certFile, keyFile",
		"extenders: [{urlPrefix: x, tlsConfig: {certData: eA==, keyFile: /nonexistent}}]": "extenders[0].tlsConfig.keyFile",
	} {
		_, _, err := read(t, fields)
		require.ErrorContains(t, err, text, fields)
	}
}
