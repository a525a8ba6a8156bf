package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// notDefaults are the paths of a created object that are not defaults: what a server fills in from its
// own knowledge (identity, allocation, the request's user) or resets, not from the object alone.
var notDefaults = map[string][]string{
	"":                          {"metadata.generation", "metadata.namespace", "metadata.name"},
	"Pod":                       {"status"},
	"Namespace":                 {"spec.finalizers"},
	"PersistentVolume":          {"status.lastPhaseTransitionTime"},
	"DaemonSet":                 {"metadata.annotations"},
	"Job":                       {"spec.selector", "spec.template.metadata", "metadata.labels"},
	"Service":                   {"spec.clusterIP", "spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy", "spec.healthCheckNodePort"},
	"CertificateSigningRequest": {"spec.username", "spec.groups", "spec.uid", "spec.request"},
	"SubjectAccessReview":       {"status"}, "SelfSubjectAccessReview": {"status"}, "LocalSubjectAccessReview": {"status"},
	"SelfSubjectRulesReview": {"status", "spec"},
}

func TestDefaultingAgreesWithRecordedObjects(t *testing.T) {
	s := apitest.Scheme(t)
	for _, e := range apitest.Load(t, "defaulting.json") {
		t.Run(e.Name, func(t *testing.T) {
			want := e.Response
			if e.PureResponse != nil {
				want = e.PureResponse
			}
			body := []byte(strings.ReplaceAll(string(e.Request), "<PEM of a certificate request, base64>", ""))
			obj, info, err := apitest.Decode(s, body)
			require.NoError(t, err)
			if info.Rules.Default != nil {
				info.Rules.Default(obj)
			}
			got, err := codec.Marshal(obj)
			require.NoError(t, err)
			g, w := pure(t, got, info.GVK.Kind), pure(t, want, info.GVK.Kind)
			if e.Name == "pod-volumes" {
				// Recorded with admission plugins only: service account, tolerations and priority are theirs.
				for _, path := range []string{
					"spec.serviceAccount", "spec.serviceAccountName", "spec.tolerations", "spec.priority", "spec.preemptionPolicy",
				} {
					drop(w, strings.Split(path, "."))
				}
				spec := w["spec"].(map[string]any)
				spec["volumes"] = spec["volumes"].([]any)[:13]
				c := spec["containers"].([]any)[0].(map[string]any)
				c["volumeMounts"] = c["volumeMounts"].([]any)[:2]
			}
			if e.Name == "endpointslice-noports" {
				w["endpoints"] = []any{} // recorded as null: the empty list does not survive storage
			}
			require.Equal(t, w, g)
			again, _, err := apitest.Decode(s, got)
			require.NoError(t, err)
			if info.Rules.Default != nil {
				info.Rules.Default(again)
			}
			twice, err := codec.Marshal(again)
			require.NoError(t, err)
			require.JSONEq(t, string(got), string(twice), "defaulting twice must change nothing")
		})
	}
}

// pure parses an object and drops what is not a default, and allocated values wherever they are.
func pure(t *testing.T, body []byte, kind string) map[string]any {
	t.Helper()
	var doc map[string]any
	require.NoError(t, json.Unmarshal(body, &doc))
	for _, path := range slices.Concat(notDefaults[""], notDefaults[kind]) {
		drop(doc, strings.Split(path, "."))
	}
	dropAllocated(doc)
	return doc
}

func drop(doc map[string]any, path []string) {
	if len(path) == 1 {
		delete(doc, path[0])
	} else if m, ok := doc[path[0]].(map[string]any); ok {
		drop(m, path[1:])
	}
}

func dropAllocated(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if e == "<allocated>" {
				delete(v, k)
			}
			dropAllocated(e)
		}
	case []any:
		for _, e := range v {
			dropAllocated(e)
		}
	}
}
