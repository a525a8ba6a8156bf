package apiserver_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// allocated returns the number of bytes that all goroutines allocate while f runs.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// The cost of a request is proportional to its size: each of these requests of about a megabyte allocates at
// most memory bytes.
func TestMemoryOfRequests(t *testing.T) {
	s := start(t, apiserver.Options{})
	s.do("POST", configMaps, configMap("a")).ok(201)
	s.client.Timeout = time.Minute // quadratic work would take many minutes
	scalar := func(aliases int) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata:\n  a: &a \"" + strings.Repeat("x", 1<<20) + "\"\n" +
			"x: [" + strings.Repeat("*a,", aliases) + "*a]\n"
	}
	const mib = 1 << 20
	for _, c := range []struct {
		what         string
		method, path string
		body         any
		header       []string
		code         int
		memory       int64
	}{
		{"aliases of a scalar", "POST", configMaps, scalar(350), []string{"Content-Type", "application/yaml"}, 400, 48 * mib},
		{"more aliases of a scalar", "POST", configMaps, scalar(1000), []string{"Content-Type", "application/yaml"}, 400, 48 * mib},
		{"aliases of a scalar that are keys", "POST", configMaps, "a: &a \"" + strings.Repeat("<", mib) + "\"\nx: [" + strings.Repeat("{*a : 1},", 1000) + "1]", []string{"Content-Type", "application/yaml"}, 400, 48 * mib},
		{"aliases in server-side apply", "PATCH", configMaps + "/b?fieldManager=m", scalar(1000), []string{"Content-Type", "application/apply-patch+yaml"}, 400, 48 * mib},
		{"requirements", "GET", configMaps + "?labelSelector=" + strings.Repeat("a,", 200_000) + "a", nil, nil, 200, 256 * mib},
		{"fields", "GET", configMaps + "?fieldSelector=" + strings.Repeat("metadata.name!=b,", 50_000) + "metadata.name!=b", nil, nil, 200, 128 * mib},
		{"watched fields", "GET", "/api/v1/pods?watch=1&timeoutSeconds=1&fieldSelector=" + strings.Repeat("spec.nodeName!=b,", 50_000) + "metadata.name!=b", nil, nil, 200, 128 * mib},
	} {
		got := allocated(func() { require.Equal(t, c.code, s.do(c.method, c.path, c.body, c.header...).code, c.what) })
		t.Logf("%s: %.1f MiB", c.what, float64(got)/mib)
		require.LessOrEqual(t, got, c.memory, c.what)
	}
}
