package apiserver_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/registry"
)

const yards = "/apis/demo.test/v1/namespaces/default/yards"

// withYards starts a server with a custom resource that can be scaled and has no schema.
func withYards(t *testing.T) *server {
	s := start(t, apiserver.Options{})
	kinds := scheme.New()
	change := []string{"get", "patch", "update"}
	require.NoError(t, scheme.Add[*metav1.Unstructured](kinds, schema.GroupVersion{Group: "demo.test", Version: "v1"}, scheme.Kind{Name: "Yard", Resource: "yards", Namespaced: true,
		Subresources: []scheme.Subresource{{Name: "status", Kind: "Yard", Verbs: change}, {Name: "scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Verbs: change}}}))
	info := kinds.ForKind(schema.GroupVersionKind{Group: "demo.test", Version: "v1", Kind: "Yard"})
	_, err := s.Registry().Add(&registry.Definition{Info: info, Custom: true, Prefix: registry.CustomPrefix(info.GVR.GroupResource()),
		Strategy: registry.Strategy{VersionRequired: true, Generation: registry.OnSpec},
		Scale:    registry.ScalePaths{Spec: ".spec.docks", Status: ".status.docks", Selector: ".status.selector"}.Scale(),
		Prune: func(obj metav1.Object) []string {
			u := obj.(*metav1.Unstructured)
			if _, ok := u.Fields["zap"]; ok {
				delete(u.Fields, "zap")
				return []string{"zap"}
			}
			return nil
		}})
	require.NoError(t, err)
	return s
}

func yard(rest string) string {
	return `{"apiVersion":"demo.test/v1","kind":"Yard","metadata":{"name":"y"}` + rest + `}`
}

func cause(t *testing.T, got object) object {
	causes, ok := got.at("details.causes").([]any)
	require.True(t, ok, "%v", got)
	require.Len(t, causes, 1)
	return object(causes[0].(map[string]any))
}

// The fields that a Scale is read from are checked whatever the schema allows: a number that a Scale cannot
// hold is never stored.
func TestReplicasOfCustomResources(t *testing.T) {
	s := withYards(t)
	merge := []string{"Content-Type", "application/merge-patch+json"}
	for _, bad := range []string{`-1`, `1.5`, `"x"`, `null`, `2147483648`, `true`, `[]`, `{}`} {
		got := s.do("POST", yards, yard(`,"spec":{"docks":`+bad+`}`)).ok(422)
		require.Equal(t, ".spec.docks", cause(t, got).str("field"), bad)
		require.Equal(t, "Yard", got.str("details.kind"))
	}
	s.do("POST", yards, yard(`,"spec":"x"`)).ok(422)
	s.do("POST", yards, yard(``)).ok(201)
	missing := s.do("GET", yards+"/y/scale", nil).ok(500)
	require.Contains(t, missing.str("message"), `the spec replicas field ".spec.docks" does not exist`)
	s.do("PATCH", yards+"/y/scale", `{"spec":{"replicas":2}}`, merge...).ok(200)
	require.EqualValues(t, 2, s.do("GET", yards+"/y/scale", nil).ok(200).at("spec.replicas"))
	for _, bad := range []string{`-1`, `2147483648`, `"x"`} {
		s.do("PATCH", yards+"/y", `{"spec":{"docks":`+bad+`}}`, merge...).ok(422)
		require.Equal(t, ".status.docks", cause(t, s.do("PATCH", yards+"/y/status", `{"status":{"docks":`+bad+`}}`, merge...).ok(422)).str("field"))
	}
	require.Equal(t, ".spec.docks", cause(t, s.do("PATCH", yards+"/y/scale", `{"spec":{"replicas":-1}}`, merge...).ok(422)).str("field"))
	require.Equal(t, ".status.selector", cause(t, s.do("PATCH", yards+"/y/status", `{"status":{"selector":5}}`, merge...).ok(422)).str("field"))
	s.do("PATCH", yards+"/y/status", `{"status":{"docks":2147483647,"selector":"a=b"}}`, merge...).ok(200)
	scale := `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"y","uid":"other"},"spec":{"replicas":3}}`
	require.Contains(t, s.do("PUT", yards+"/y/scale", scale).ok(409).str("message"), "UID in precondition: other")
	require.EqualValues(t, 2, s.do("GET", yards+"/y", nil).ok(200).at("spec.docks"))
}

// A custom resource is never overwritten blindly, and kubectl replace says so in upstream's words.
func TestUpdatesWithoutAVersion(t *testing.T) {
	s := withYards(t)
	s.do("POST", yards, yard(``)).ok(201)
	for _, got := range []object{
		s.do("PUT", yards+"/y", yard(`,"spec":{"docks":1}`)).ok(422),
		s.do("PATCH", yards+"/y", `{"metadata":{"resourceVersion":"0"}}`, "Content-Type", "application/merge-patch+json").ok(422),
		s.do("PATCH", yards+"/y", `{"metadata":{"resourceVersion":null}}`, "Content-Type", "application/merge-patch+json").ok(422),
	} {
		require.Equal(t, `yards.demo.test "y" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`, got.str("message"))
		require.Equal(t, "yards", got.str("details.kind"))
	}
	s.do("PATCH", yards+"/y?fieldManager=m", yard(`,"spec":{"docks":1}`), "Content-Type", "application/apply-patch+yaml").ok(200)
}

// A patch that adds unknown fields is refused without a kind in the error: kubectl prints "The request is
// invalid".
func TestStrictPatches(t *testing.T) {
	s := withYards(t)
	s.do("POST", yards, yard(``)).ok(201)
	s.do("POST", "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"c"}}`).ok(201)
	for path, types := range map[string][]string{
		yards + "/y": {"application/merge-patch+json"},
		"/api/v1/namespaces/default/configmaps/c": {"application/merge-patch+json", "application/strategic-merge-patch+json"},
	} {
		for _, typ := range types {
			got := s.do("PATCH", path+"?fieldValidation=Strict", `{"zap":1}`, "Content-Type", typ).ok(422)
			require.Equal(t, "patch", cause(t, got).str("field"))
			require.Contains(t, cause(t, got).str("message"), `strict decoding error: unknown field "zap"`)
			require.NotContains(t, got.at("details"), "kind")
			warned := s.do("PATCH", path, `{"zap":1}`, "Content-Type", typ)
			warned.ok(200)
			require.Equal(t, `299 - "unknown field \"zap\""`, warned.header.Get("Warning"))
		}
	}
}

// The legacy /watch/ paths allow reading only.
func TestOldWatchPathsAreRead(t *testing.T) {
	s := withYards(t)
	for _, path := range []string{"/apis/demo.test/v1/watch/namespaces/default/yards", "/api/v1/watch/pods"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			s.do(method, path, `{}`).ok(405)
		}
		require.Equal(t, 200, s.do("GET", path+"?timeoutSeconds=1&resourceVersion=0", nil).code)
	}
}

// Errors are encoded as the client asked, like other responses.
func TestErrorsInYAML(t *testing.T) {
	s := withYards(t)
	for _, path := range []string{yards + "/nope", yards + "?watch=1", "/api/v1/namespaces/default/configmaps/nope", "/apis/demo.test/v1/nope"} {
		got := s.do("GET", path, nil, "Accept", "application/yaml")
		require.GreaterOrEqual(t, got.code, 400)
		require.Equal(t, "application/yaml", got.header.Get("Content-Type"))
		require.Contains(t, string(got.body), "\nkind: Status\n")
	}
}
