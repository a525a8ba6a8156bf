package main

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// The pages show the flags as they were given, what they mean for the configuration, and the program;
// profiles are there when they are asked for.
func TestPages(t *testing.T) {
	o, c, err := parse([]string{"--proxy-mode=nftables", "--hostname-override=n1", "--profiling"})
	require.NoError(t, err)
	handlers := c.pages(o.set).Handlers()
	for path, want := range map[string]string{
		"/configz": `"mode":"nftables"`, "/flagz": "\nhostname-override=n1\n", "/statusz": "/proxyMode", "/debug/pprof/": "goroutine",
	} {
		require.Contains(t, handlers, path)
		w := httptest.NewRecorder()
		handlers[path].ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		require.Equal(t, 200, w.Code, path)
		require.Contains(t, w.Body.String(), want, path)
	}
	_, quiet, err := parse(nil)
	require.NoError(t, err)
	require.NotContains(t, quiet.pages(o.set).Handlers(), "/debug/pprof/")
}
