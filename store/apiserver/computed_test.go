package apiserver_test

import (
	"context"
	"errors"
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/stretchr/testify/require"
)

// computedSites are the built-in kinds and Website, of which there are two objects that are not stored.
func computedSites(t *testing.T) (*scheme.Scheme, apiserver.Computed) {
	s, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	own := scheme.New()
	require.NoError(t, scheme.Add[*Website](own, schema.GroupVersion{Group: "demo.test", Version: "v1"}, scheme.Kind{Resource: "websites", Namespaced: true, Verbs: []string{"get", "list", "watch"}}))
	info, err := scheme.InfoFor[*Website](own)
	require.NoError(t, err)
	site := func(name string) *Website {
		return &Website{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	}
	return s, apiserver.Computed{
		Info: info,
		Get: func(_ context.Context, key types.NamespacedName) (metav1.Object, error) {
			if key.Name != "a" {
				return nil, apierrors.NewNotFound(info.GVR.GroupResource(), key.Name)
			}
			return site("a"), nil
		},
		List: func(context.Context, string) ([]metav1.Object, error) {
			return []metav1.Object{site("a"), site("b")}, nil
		},
		Watch: func(ctx context.Context, _ string, send func(string, metav1.Object) error) error {
			if err := send("ADDED", site("a")); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		},
	}
}

func TestComputedResources(t *testing.T) {
	kinds, computed := computedSites(t)
	srv := start(t, apiserver.Options{Scheme: kinds, Computed: []apiserver.Computed{computed}})
	sites := "/apis/demo.test/v1/namespaces/default/websites"
	require.Equal(t, "Website", srv.do("GET", sites+"/a", nil).ok(200).str("kind"))
	srv.do("GET", sites+"/b", nil).ok(404)
	require.Equal(t, []string{"b"}, srv.do("GET", sites+"?fieldSelector=metadata.name%3Db", nil).ok(200).names())
	require.Len(t, srv.do("GET", sites, nil, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").ok(200)["rows"], 2)
	srv.watch(sites+"?watch=1").expect("ADDED", "a")
	require.Equal(t, "MethodNotAllowed", srv.do("POST", sites, `{}`).ok(405).str("reason"))
}

// gate refuses objects whose name asks for it, and records the requests it was called with.
type gate struct {
	asked  []admission.Attributes
	refuse string
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
	require.Equal(t, "Fenced", s.do("POST", bindings, binding, fence.Header, token).ok(409).str("reason"), "a former leader binds nothing")
	require.Empty(t, s.do("GET", pods+"/p", nil).ok(200).str("spec.nodeName"))
	g.refuse = "bindings"
	require.Contains(t, s.do("POST", bindings, binding).ok(403).str("message"), "refused by the gate")
	require.Empty(t, s.do("GET", pods+"/p", nil).ok(200).str("spec.nodeName"))
	g.refuse = ""
	s.do("POST", bindings, binding).ok(201)
	require.Equal(t, "n1", s.do("GET", pods+"/p", nil).ok(200).str("spec.nodeName"))

	const reviewed = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	review := `{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}`
	s.do("POST", reviewed, review).ok(201)
	require.Equal(t, "selfsubjectaccessreviews", g.asked[len(g.asked)-1].Resource.Resource)
	const table = "application/json;as=Table;g=meta.k8s.io;v=v1"
	require.Equal(t, "NotAcceptable", s.do("POST", reviewed, review, "Accept", table).ok(406).str("reason"), "there is no table of objects that are not stored")
	s.do("POST", reviewed, review, "Accept", table+",application/json").ok(201)
	s.do("POST", "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"a"}}`).ok(201)
	s.do("POST", "/api/v1/namespaces/default/serviceaccounts/a/token", `{"spec":{}}`, "Accept", table).ok(406)
}

func (*gate) Name() string { return "Gate" }

func (*gate) Handles(admission.Operation) bool { return true }

func (g *gate) Validate(_ context.Context, a *admission.Attributes) error {
	g.asked = append(g.asked, *a)
	if a.Resource.Resource == g.refuse {
		return errors.New("refused by the gate")
	}
	return nil
}
