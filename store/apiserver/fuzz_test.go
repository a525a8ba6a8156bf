package apiserver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// FuzzRequests sends anything: no panic, no 5xx but those that say what is missing, no answer without an end.
func FuzzRequests(f *testing.F) {
	for _, seed := range [][5]string{
		{"GET", "/api/v1/namespaces/default/pods?limit=1&continue=zzz", "", "application/json", ""},
		{"POST", "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"a"},"data":{"k":"v"}}`, "application/json", "application/json"},
		{"PUT", "/api/v1/namespaces/default/configmaps/a", "metadata: {name: a}", "application/yaml", "application/yaml"},
		{"PATCH", "/api/v1/namespaces/default/pods/p", `[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`, "application/vnd.kubernetes.protobuf", "application/json-patch+json"},
		{"PATCH", "/apis/apps/v1/namespaces/default/deployments/d?fieldManager=x&force=1", "apiVersion: apps/v1\nkind: Deployment", "", "application/apply-patch+yaml"},
		{"PATCH", "/api/v1/namespaces/default/pods/p", `{"spec":{"containers":[{"name":"c","$patch":"delete"}]}}`, "", "application/strategic-merge-patch+json"},
		{"DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=-9223372036854775808", `{"preconditions":{}}`, "", ""},
		{"DELETE", "/apis/batch/v1/namespaces/default/jobs?labelSelector=a%20in%20(b)", "", "", ""},
		{"GET", "/api/v1/watch/namespaces/default/pods/p/status", "", "*/*;q=0", ""},
		{"GET", "/api/v1/pods?watch=1&resourceVersion=18446744073709551615&timeoutSeconds=1", "", "application/json;as=Table;v=v1;g=meta.k8s.io", ""},
		{"POST", "/api/v1/namespaces/default/pods/p/eviction", "k8s\x00\x0a\x00", "", "application/vnd.kubernetes.protobuf"},
		{"GET", "/apis/../api//v1/%2e%2e/x?pretty=1&pretty", "", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", ""},
		{"POST", "/api/v1/namespaces/default/services", `{"metadata":{"name":"s"},"spec":{"type":"LoadBalancer","ipFamilies":["IPv6"],"clusterIPs":["::1","None"],"ports":[{"port":1,"nodePort":-1}]}}`, "", ""},
		{"GET", "/readyz/../x?verbose", "", "", ""},
		{"GET", "/openapi/v3/apis/apps/v1?hash=x", "", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	s, err := apiserver.New(apiserver.Options{RequestTimeout: 2 * time.Second})
	require.NoError(f, err)
	ctx, cancel := context.WithCancel(f.Context())
	done := make(chan struct{})
	go func() {
		_ = s.Run(ctx)
		close(done)
	}()
	f.Cleanup(func() {
		cancel()
		<-done
	})
	direct(s, "POST", pods, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	f.Fuzz(func(t *testing.T, method, target, body, accept, contentType string) {
		r, err := http.NewRequest(method, "http://server", strings.NewReader(body))
		if err != nil {
			t.Skip()
		}
		if r.URL, err = r.URL.Parse(target); err != nil || !strings.HasPrefix(r.URL.Path, "/") {
			t.Skip()
		}
		ctx, cancel := context.WithTimeout(r.Context(), 20*time.Millisecond) // watches end
		defer cancel()
		r = r.WithContext(ctx)
		r.Header.Set("Accept", accept)
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusInternalServerError:
			// The one thing a client can do to deserve it: use up all addresses or ports.
			require.Contains(t, w.Body.String(), "failed to allocate", "%s %s", method, target)
		case http.StatusServiceUnavailable, http.StatusGatewayTimeout: // no kubelet; time is up
		default:
			require.Less(t, w.Code, 500, "%s", w.Body)
		}
	})
}
