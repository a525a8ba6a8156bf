package metricsapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metricsapi"
)

// The handler is mounted behind an API server; see aggregation.Options.InProcess, and examples/cluster.
func ExampleNew() {
	conn, err := rest.New(rest.Config{Host: "http://localhost:8001"}, rest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	m := manager.New(conn, manager.Options{})
	h := metricsapi.New(m, metricsapi.Options{})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/apis/metrics.k8s.io/v1beta1", nil))
	fmt.Println(w.Code)
	for _, v := range metricsapi.Versions() {
		fmt.Println(v.GroupVersion)
	}
	// Output:
	// 200
	// metrics.k8s.io/v1beta1
	// custom.metrics.k8s.io/v1beta1
	// custom.metrics.k8s.io/v1beta2
	// external.metrics.k8s.io/v1beta1
}
