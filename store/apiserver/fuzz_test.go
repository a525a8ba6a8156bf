package apiserver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// FuzzRequests sends arbitrary requests: there is no panic, no 5xx except for a missing backend, every
// response ends, and no goroutine is left.
func FuzzRequests(f *testing.F) {
	for _, seed := range [][6]string{
		{"GET", "/api/v1/namespaces/default/pods?limit=1&continue=zzz", "", "application/json", "", ""},
		{"POST", "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"a"},"data":{"k":"v"}}`, "application/json", "application/json", ""},
		{"PUT", "/api/v1/namespaces/default/configmaps/a", "metadata: {name: a}", "application/yaml", "application/yaml", ""},
		{"PATCH", "/api/v1/namespaces/default/pods/p", `[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`, "application/vnd.kubernetes.protobuf", "application/json-patch+json", ""},
		{"PATCH", "/apis/apps/v1/namespaces/default/deployments/d?fieldManager=x&force=1", "apiVersion: apps/v1\nkind: Deployment", "", "application/apply-patch+yaml", ""},
		{"PATCH", "/api/v1/namespaces/default/pods/p", `{"spec":{"containers":[{"name":"c","$patch":"delete"}]}}`, "", "application/strategic-merge-patch+json", ""},
		{"DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=-9223372036854775808", `{"preconditions":{}}`, "", "", ""},
		{"DELETE", "/apis/batch/v1/namespaces/default/jobs?labelSelector=a%20in%20(b)", "", "", "", ""},
		{"GET", "/api/v1/watch/namespaces/default/pods/p/status", "", "*/*;q=0", "", ""},
		{"GET", "/api/v1/pods?watch=1&resourceVersion=18446744073709551615&timeoutSeconds=1", "", "application/json;as=Table;v=v1;g=meta.k8s.io", "", ""},
		{"POST", "/api/v1/namespaces/default/pods/p/eviction", "k8s\x00\x0a\x00", "", "application/vnd.kubernetes.protobuf", ""},
		{"GET", "/apis/../api//v1/%2e%2e/x?pretty=1&pretty", "", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "", ""},
		{"POST", "/api/v1/namespaces/default/services", `{"metadata":{"name":"s"},"spec":{"type":"LoadBalancer","ipFamilies":["IPv6"],"clusterIPs":["::1","None"],"ports":[{"port":1,"nodePort":-1}]}}`, "", "", ""},
		{"POST", "/api/v1/namespaces/default/configmaps", "\xd9\xd9\xf7\xa1\x48metadata\xa1\x44name\x41c", "application/cbor", "application/cbor", ""},
		{"PATCH", "/api/v1/namespaces/default/configmaps/c?fieldManager=x", "\xa2\x44kind\x49ConfigMap\x4aapiVersion\x42v1", "application/cbor", "application/apply-patch+cbor", ""},
		{"GET", "/readyz/../x?verbose", "", "", "", ""},
		{"GET", "/openapi/v3/apis/apps/v1?hash=x", "", "", "", ""},
		{"GET", "/api/v1/pods", "", "", "", "Impersonate-Group: a\nImpersonate-Extra-%zz: b"},
		{"POST", "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"g"}}`, "", "application/json; charset=\"", "Keelson-Fence: a/b/-1\nAudit-Id: \x00"},
		{"GET", "/api/v1/configmaps?watch=1&allowWatchBookmarks=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "", "application/vnd.kubernetes.protobuf;stream=watch", "", "Keelson-Bookmark-Seconds: 99999999999999999999"},
		{"OPTIONS", "/api/v1/pods", "", "", "", "Origin: null\nAccept-Encoding: gzip;q=0.0, *"},
		{"GET", "/apis", "", "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", "", "If-None-Match: *"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4], seed[5])
	}
	s, err := apiserver.New(apiserver.Options{RequestTimeout: 2 * time.Second, CBOR: true, CORSOrigins: []string{"^.*$"}})
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
		require.Eventually(f, func() bool { return !serving() }, time.Minute, time.Millisecond, "goroutines of the server are left")
	})
	direct(s, "POST", pods, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	f.Fuzz(func(t *testing.T, method, target, body, accept, contentType, headers string) {
		r, err := http.NewRequest(method, "http://server", strings.NewReader(body))
		if err != nil {
			t.Skip("no client can send it: ", err)
		}
		if r.URL, err = r.URL.Parse(target); err != nil || !strings.HasPrefix(r.URL.Path, "/") {
			t.Skip("not a path")
		}
		ctx, cancel := context.WithTimeout(r.Context(), 20*time.Millisecond) // watches end
		defer cancel()
		r = r.WithContext(ctx)
		r.Header.Set("Accept", accept)
		r.Header.Set("Content-Type", contentType)
		for line := range strings.SplitSeq(headers, "\n") {
			if k, v, ok := strings.Cut(line, ": "); ok {
				r.Header.Add(k, v)
			}
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusInternalServerError:
			// The one legitimate cause: all addresses or ports are in use.
			require.Contains(t, w.Body.String(), "failed to allocate", "%s %s", method, target)
		case http.StatusServiceUnavailable, http.StatusGatewayTimeout: // no kubelet; timeout
		default:
			require.Less(t, w.Code, 500, "%s", w.Body)
		}
	})
}

// serving reports whether any goroutine is in the server.
func serving() bool {
	var b strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&b, 2); err != nil {
		return true
	}
	return strings.Contains(b.String(), "/store/apiserver.(") || strings.Contains(b.String(), "/store/cache.(")
}
