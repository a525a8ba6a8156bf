package apiserver_test

import (
	"strings"
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/registry"
	"github.com/stretchr/testify/require"
)

// Website is an embedder's own kind.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebsiteSpec   `json:"spec"`
	Status            WebsiteStatus `json:"status,omitempty"`
}

type WebsiteSpec struct {
	URL string `json:"url"`
}

type WebsiteStatus struct {
	Up bool `json:"up,omitempty"`
}

func withWebsites(t *testing.T) *scheme.Scheme {
	s, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	require.NoError(t, scheme.Add[*Website](s, schema.GroupVersion{Group: "demo.test", Version: "v1"}, scheme.Kind{Resource: "websites", Namespaced: true, ShortNames: []string{"web"},
		Subresources: []scheme.Subresource{{Name: "status", Kind: "Website", Verbs: []string{"get", "patch", "update"}}}}))
	require.NoError(t, scheme.SetRules[*Website](s, scheme.Rules{Validate: func(obj metav1.Object) validation.ErrorList {
		if obj.(*Website).Spec.URL == "" {
			return validation.ErrorList{validation.Required(validation.NewPath("spec", "url"), "a website has an address")}
		}
		return nil
	}}))
	return s
}

func TestEmbedderKind(t *testing.T) {
	s := start(t, apiserver.Options{Scheme: withWebsites(t)})
	sites := "/apis/demo.test/v1/namespaces/default/websites"
	require.Contains(t, s.do("POST", sites, `{"metadata":{"name":"w"}}`).ok(422).str("message"), "spec.url: Required value")
	o := s.do("POST", sites, `{"metadata":{"name":"w"},"spec":{"url":"x"},"status":{"up":true}}`).ok(201)
	require.EqualValues(t, 1, o.at("metadata.generation"))
	require.Nil(t, o.at("status.up"))
	w := s.watch(sites + "?watch=1")
	w.expect("ADDED", "w")
	s.do("PATCH", sites+"/w/status", `{"status":{"up":true}}`, "Content-Type", "application/merge-patch+json").ok(200)
	require.Equal(t, true, w.expect("MODIFIED", "w").at("object.status.up"))
	require.Equal(t, "websites", object(s.do("GET", "/apis/demo.test/v1", nil).ok(200)["resources"].([]any)[0].(map[string]any)).str("name"))
	require.Equal(t, "WebsiteList", s.do("GET", sites, nil).ok(200).str("kind"))
	require.Equal(t, 406, s.do("GET", sites, nil, "Accept", "application/vnd.kubernetes.protobuf").code)
}

// A kind with versions and a schema of its own, added and removed while the server runs.
func TestResourcesAddedAtRunTime(t *testing.T) {
	s := start(t, apiserver.Options{})
	sites := "/apis/demo.test/v1/namespaces/default/websites"
	s.do("GET", sites, nil).ok(404)
	custom := scheme.New()
	require.NoError(t, scheme.Add[*metav1.Unstructured](custom, schema.GroupVersion{Group: "demo.test", Version: "v1"}, scheme.Kind{Name: "Website", Resource: "websites", Namespaced: true,
		Subresources: []scheme.Subresource{{Name: "scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Verbs: []string{"get", "patch", "update"}}}}))
	info := custom.ForKind(schema.GroupVersionKind{Group: "demo.test", Version: "v1", Kind: "Website"})
	_, err := s.Registry().Add(&registry.Definition{Info: info, Custom: true, Prefix: registry.CustomPrefix(info.GVR.GroupResource()),
		Strategy: registry.Strategy{VersionRequired: true, Generation: registry.OnSpec},
		Scale:    registry.ScalePaths{Spec: ".spec.size", Status: ".status.size"}.Scale(),
		Prune: func(obj metav1.Object) []string {
			u := obj.(*metav1.Unstructured)
			if _, ok := u.Fields["zap"]; ok {
				delete(u.Fields, "zap")
				return []string{"zap"}
			}
			return nil
		}})
	require.NoError(t, err)
	require.Contains(t, string(s.do("GET", "/apis", nil).body), "demo.test")
	body := `{"apiVersion":"demo.test/v1","kind":"Website","metadata":{"name":"w"},"spec":{"size":2},"zap":1}`
	got := s.do("POST", sites, body)
	got.ok(201)
	require.Equal(t, `299 - "unknown field \"zap\""`, got.header.Get("Warning"))
	s.do("POST", sites+"?fieldValidation=Strict", strings.Replace(body, `"w"`, `"x"`, 1)).ok(400)
	require.Equal(t, "kind", object(s.do("POST", sites, strings.Replace(body, "Website", "Gadget", 1)).ok(422).at("details.causes").([]any)[0].(map[string]any)).str("field"))
	s.do("POST", sites, strings.Replace(body, "demo.test/v1", "demo.test/v2", 1)).ok(400)
	require.Equal(t, 415, s.do("POST", sites, "k8s\x00", "Content-Type", "application/vnd.kubernetes.protobuf").code)
	require.Equal(t, 415, s.do("PATCH", sites+"/w", "{}", "Content-Type", "application/strategic-merge-patch+json").code)
	list := s.do("GET", sites, nil).ok(200)
	require.Equal(t, "WebsiteList", list.str("kind"))
	require.Equal(t, "Website", list.items()[0].(map[string]any)["kind"], "custom objects have kind and apiVersion in lists")
	require.EqualValues(t, 2, s.do("GET", sites+"/w/scale", nil).ok(200).at("spec.replicas"))
	s.do("PATCH", sites+"/w/scale", `{"spec":{"replicas":5}}`, "Content-Type", "application/merge-patch+json").ok(200)
	o := s.do("PATCH", sites+"/w?fieldManager=x", `{"apiVersion":"demo.test/v1","kind":"Website","metadata":{"name":"w"},"spec":{"color":"red"}}`, "Content-Type", "application/apply-patch+yaml").ok(200)
	require.EqualValues(t, 5, o.at("spec.size"))
	require.EqualValues(t, 3, o.at("metadata.generation"))
	kv, _, err := s.Registry().Store().Get(t.Context(), "/demo.test/websites/default/w")
	require.NoError(t, err)
	require.Contains(t, string(kv.Value), `"kind":"Website"`)
	require.NotContains(t, string(kv.Value), "resourceVersion")

	s.Registry().Remove(info.GVR)
	s.do("GET", sites, nil).ok(404)
	require.NotContains(t, string(s.do("GET", "/apis", nil).body), "demo.test")
}
