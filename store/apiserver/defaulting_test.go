package apiserver_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// TestCreatedObjects replays creates of every kind: the responses, defaults and allocations included, are
// those of the real server without its mutating plugins.
func TestCreatedObjects(t *testing.T) {
	var cases []struct {
		Name, Method, Path              string
		Request, Response               json.RawMessage
		ResponseWithoutAdmissionPlugins json.RawMessage
		Status                          int
	}
	load(t, "../../apimachinery/api/testdata/defaulting.json", &cases)
	s := start(t, apiserver.Options{Computed: reviews(t)})
	// Served or changed by other parts, or not in the record.
	elsewhere := regexp.MustCompile(`review|rules|selfsubject|crd$|crd-|^pod-volumes$|^csr$`)
	n := 0
	for _, c := range cases {
		if elsewhere.MatchString(c.Path) || elsewhere.MatchString(c.Name) || strings.Contains(c.Path, "a.test") {
			continue
		}
		want := c.Response
		if len(c.ResponseWithoutAdmissionPlugins) > 0 && string(c.ResponseWithoutAdmissionPlugins) != "null" {
			want = c.ResponseWithoutAdmissionPlugins
		}
		n++
		t.Run(c.Name, func(t *testing.T) {
			got := s.do(c.Method, c.Path, []byte(c.Request)).ok(c.Status)
			var expected map[string]any
			require.NoError(t, json.Unmarshal(want, &expected))
			compare(t, "", expected, map[string]any(got))
		})
	}
	require.Greater(t, n, 60)
}

var (
	isUID  = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	isTime = regexp.MustCompile(`^2026-`)
)

// compare reports differences, except in what a record omits or varies.
func compare(t *testing.T, path string, want, have any) {
	t.Helper()
	switch path {
	case ".metadata.uid", ".metadata.creationTimestamp", ".metadata.resourceVersion", ".metadata.managedFields":
		return
	}
	if text, ok := want.(string); ok && (strings.Contains(text, "<") || isUID.MatchString(text) || isTime.MatchString(text)) {
		require.NotNil(t, have, path)
		return
	}
	if list, ok := have.([]any); ok && len(list) == 0 && want == nil {
		return // an empty list that the record has as null
	}
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		require.True(t, ok, "%s: %v", path, have)
		for k, v := range w {
			if strings.Contains(k, "<") {
				continue
			}
			compare(t, path+"."+k, v, h[k])
		}
		for k, v := range h {
			if _, known := w[k]; !known {
				compare(t, path+"."+k, nil, v)
			}
		}
	case []any:
		h, ok := have.([]any)
		require.True(t, ok && len(h) == len(w), "%s: want %v, have %v", path, want, have)
		for i := range w {
			compare(t, fmt.Sprintf("%s[%d]", path, i), w[i], h[i])
		}
	default:
		require.Equal(t, want, have, path)
	}
}
