package controlplane_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// generic makes a control plane serve the generic kinds only.
func generic(t *testing.T) func(*controlplane.Options) {
	all, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	return func(o *controlplane.Options) { o.Server.Scheme = all.Only(controlplane.IsGeneric) }
}

const boats = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.harbour.example.com}
spec:
  group: harbour.example.com
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {masts: {type: integer, minimum: 1, default: 1}}}}}}}
`

// A control plane of generic kinds has namespaces, users with rights and custom resources, and no kind that
// is about containers; what it writes about itself needs none.
func TestGenericControlPlane(t *testing.T) {
	p := planetest.Start(t, generic(t))
	do := func(method, path, body string) (int, string) {
		t.Helper()
		resp, err := p.Admin().Do(t.Context(), &client.Request{Method: method, Path: path, ContentType: "application/json", Body: []byte(body)})
		if err != nil {
			return int(apierrors.ToStatus(err).Code), err.Error()
		}
		return http.StatusOK, string(resp.Body)
	}
	for _, path := range []string{"/api/v1/pods", "/api/v1/nodes", "/api/v1/services", "/apis/apps/v1", "/apis/batch", "/apis/scheduling.k8s.io/v1/priorityclasses"} {
		code, text := do("GET", path, "")
		require.Equal(t, http.StatusNotFound, code, "%s: %s", path, text)
	}
	_, text := do("GET", "/api/v1", "")
	var list struct{ Resources []struct{ Name string } }
	require.NoError(t, json.Unmarshal([]byte(text), &list))
	var names []string
	for _, r := range list.Resources {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	require.Equal(t, []string{"configmaps", "events", "namespaces", "namespaces/finalize", "namespaces/status", "resourcequotas", "resourcequotas/status", "secrets", "serviceaccounts", "serviceaccounts/token"}, names)
	for _, namespace := range []string{"default", "kube-system", "kube-public"} {
		_, err := client.For[*corev1.Namespace](p.Admin()).Get(t.Context(), planetest.Key("", namespace), client.GetOptions{})
		require.NoError(t, err)
	}

	p.Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", boats)
	const path = "/apis/harbour.example.com/v1/namespaces/default/boats"
	p.Post(path, "apiVersion: harbour.example.com/v1\nkind: Boat\nmetadata: {name: argo}\nspec: {}\n")
	_, text = do("GET", path+"/argo", "")
	require.Contains(t, text, `"masts":1`)
	require.True(t, apierrors.IsForbidden(planetest.TryCreate(t, p.Token("ann-token"), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "m")})))
	p.Post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ann}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]
`)
	planetest.Create(t, p.Token("ann-token"), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "m")})
	p.Account("default", "robot")
	code, text := do("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", `{"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"p"}}}`)
	require.Equal(t, http.StatusNotFound, code, text)
	_, text = do("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", `{}`)
	var token struct{ Status struct{ Token string } }
	require.NoError(t, json.Unmarshal([]byte(text), &token))
	who, err := whoami(t, p.Token(token.Status.Token))
	require.NoError(t, err)
	require.Equal(t, "system:serviceaccount:default:robot", who.Username)
}
