package apiserver_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/apiserver"
)

func TestCORSPatternsAreBound(t *testing.T) {
	for pattern, ok := range map[string]bool{
		"example.com": false, "https://example.com": false, `^https://example\.com`: false, `example\.com$`: false, `.*`: false, `^https://.*:.*`: false,
		`^https://example\.com$`: true, `//example\.com(:|$)`: true, `//localhost:`: true, `^http://localhost:\d+$`: true, `//127\.0\.0\.1:8080`: true, `^https?://x$`: true,
	} {
		_, err := apiserver.New(apiserver.Options{CORSOrigins: []string{pattern}})
		if ok {
			require.NoError(t, err, pattern)
		} else {
			require.ErrorContains(t, err, "CORSOrigins", pattern)
		}
	}
	s := start(t, apiserver.Options{CORSOrigins: []string{`^https://example\.com$`}})
	for _, origin := range []string{"https://example.com", "https://example.com.evil.net", ""} {
		require.Contains(t, s.do("GET", configMaps, nil, "Origin", origin).header.Values("Vary"), "Origin", "a cache must not give one origin's answer to another")
	}
	require.NotContains(t, start(t, apiserver.Options{}).do("GET", configMaps, nil).header.Values("Vary"), "Origin")
}

// gate refuses what is asked for in its name, and keeps what it was asked about.
type gate struct {
	asked  []admission.Attributes
	refuse string
}

func (*gate) Name() string { return "Gate" }

func (*gate) Handles(admission.Operation) bool { return true }

func (g *gate) Validate(_ context.Context, a *admission.Attributes) error {
	g.asked = append(g.asked, *a)
	if a.Resource.Resource == g.refuse {
		return errors.New("the gate is closed")
	}
	return nil
}

// Resources that are not stored pass admission like others, change nothing in a dry run, and are fenced.
func TestComputedCreates(t *testing.T) {
	g := &gate{}
	s := start(t, apiserver.Options{Admission: []admission.Plugin{g}, Computed: reviews(t)})
	const bindings = "/api/v1/namespaces/default/bindings"
	s.do("POST", "/api/v1/nodes", `{"metadata":{"name":"n1"}}`).ok(201)
	s.do("POST", pods, pod("p")).ok(201)
	binding := object{"metadata": map[string]any{"name": "p"}, "target": map[string]any{"kind": "Node", "name": "n1"}}

	g.asked = nil
	s.do("POST", bindings+"?dryRun=All", binding).ok(201)
	require.Empty(t, s.do("GET", pods+"/p", nil).ok(200).str("spec.nodeName"), "a dry run binds nothing")
	require.Equal(t, "bindings", g.asked[0].Resource.Resource)
	require.Equal(t, []string{"CREATE", "Binding", "default", "p"}, []string{string(g.asked[0].Operation), g.asked[0].Kind.Kind, g.asked[0].Namespace, g.asked[0].Name})
	for _, a := range g.asked {
		require.True(t, a.DryRun, a.Resource)
	}
	token := fence.Token{Lease: types.NamespacedName{Namespace: "default", Name: "absent"}, Holder: "me", Transitions: 1}.String()
	require.Equal(t, "Fenced", s.do("POST", bindings, binding, fence.Header, token).ok(409).str("reason"), "a deposed leader binds nothing")
	require.Empty(t, s.do("GET", pods+"/p", nil).ok(200).str("spec.nodeName"))
	g.refuse = "bindings"
	require.Contains(t, s.do("POST", bindings, binding).ok(403).str("message"), "the gate is closed")
	require.Empty(t, s.do("GET", pods+"/p", nil).ok(200).str("spec.nodeName"))
	g.refuse = ""
	s.do("POST", bindings, binding).ok(201)
	require.Equal(t, "n1", s.do("GET", pods+"/p", nil).ok(200).str("spec.nodeName"))

	const reviewed = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	review := `{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}`
	s.do("POST", reviewed, review).ok(201)
	require.Equal(t, "selfsubjectaccessreviews", g.asked[len(g.asked)-1].Resource.Resource)
	const table = "application/json;as=Table;g=meta.k8s.io;v=v1"
	require.Equal(t, "NotAcceptable", s.do("POST", reviewed, review, "Accept", table).ok(406).str("reason"), "there is no table of what is not kept")
	s.do("POST", reviewed, review, "Accept", table+",application/json").ok(201)
	s.do("POST", "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"a"}}`).ok(201)
	s.do("POST", "/api/v1/namespaces/default/serviceaccounts/a/token", `{"spec":{}}`, "Accept", table).ok(406)
}

func TestPatchesThatAreNone(t *testing.T) {
	s := start(t, apiserver.Options{})
	s.do("POST", configMaps, configMap("a")).ok(201)
	for body, code := range map[string]int{`{"op":"add"}`: 400, `[1]`: 400, `["x"]`: 400, `[[]]`: 400, `"x"`: 400, `[{"op":1}]`: 422, `[{"op":"nope","path":"/x"}]`: 422, `[{}]`: 422} {
		require.Equal(t, code, s.do("PATCH", configMaps+"/a", body, "Content-Type", "application/json-patch+json").code, body)
	}
}

func TestApplyWithDuplicateKeys(t *testing.T) {
	s := start(t, apiserver.Options{})
	const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: one\n  k: two\n"
	const json = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"one","k":"two"}}`
	apply := func(body, validation string) *answer {
		return s.do("PATCH", configMaps+"/a?fieldManager=m&fieldValidation="+validation, body, "Content-Type", "application/apply-patch+yaml")
	}
	for _, body := range []string{yaml, json} {
		got := apply(body, "Strict")
		require.Equal(t, 400, got.code, "%s", got.body)
		require.Contains(t, string(got.body), "duplicate field")
		got = apply(body, "Warn")
		require.Less(t, got.code, 300)
		require.Contains(t, got.header.Get("Warning"), "duplicate field")
		got = apply(body, "Ignore")
		require.Less(t, got.code, 300)
		require.Empty(t, got.header.Get("Warning"))
	}
}
