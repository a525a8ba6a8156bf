package controlplane_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// A user who may only write admission policies and bindings must not be able to read their parameters: the
// attack is a policy whose message contains the password, triggered by a dry run.
func TestPoliciesShowNoParametersToUsersWithoutAccess(t *testing.T) {
	for _, kind := range []string{"Validating", "Mutating"} {
		t.Run(kind, func(t *testing.T) { testParams(t, kind) })
	}
}

func testParams(t *testing.T, kind string) {
	p := planetest.Start(t)
	admin, ann := p.Admin(), p.Token("ann-token")
	plural, bindings := strings.ToLower(kind)+"admissionpolicies", strings.ToLower(kind)+"admissionpolicybindings"
	planetest.Create(t, admin, &corev1.Secret{ObjectMeta: planetest.Meta("kube-system", "password"), StringData: map[string]string{"password": "hunter2"}})
	planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "policy-author"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"create", "update", "get", "patch", "delete"}, APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{plural, bindings}}}})
	bindCluster(t, admin, "policy-author", "policy-author", user("ann"))
	planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", "reads-configmaps"), Rules: []rbacv1.PolicyRule{rule("get", "", "configmaps")}})
	p.Eventually("ann writes policies", func() bool {
		return may(t, admin, "ann", authorizationv1.ResourceAttributes{Verb: "create", Group: "admissionregistration.k8s.io", Resource: plural})
	})
	head := `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"` + kind + `AdmissionPolicy`
	does := `"validations":[{"expression":"false","messageExpression":"string(params.data['password'])"}]`
	actions := `,"validationActions":["Deny"]`
	if kind == "Mutating" {
		does = `"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{annotations: {'a': string(params.data['password'])}}}"}}]`
		actions = ""
	}
	policy := func(name, params string) string {
		return head + `","metadata":{"name":"` + name + `"},"spec":{"paramKind":` + params + `,` + does + `,"matchConstraints":{"resourceRules":[
			{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}}}`
	}
	bound := func(name, policy, ref string) string {
		return head + `Binding","metadata":{"name":"` + name + `"},"spec":{"policyName":"` + policy + `","paramRef":` + ref + actions + `}}`
	}
	send := func(c client.Conn, method, resource, body string) error {
		r := &client.Request{Method: method, Path: "/apis/admissionregistration.k8s.io/v1/" + resource, ContentType: "application/json", Body: []byte(body)}
		if method == http.MethodPatch {
			r.ContentType = "application/merge-patch+json"
		}
		_, err := c.Do(t.Context(), r)
		return err
	}
	const (
		secrets    = `{"apiVersion":"v1","kind":"Secret"}`
		configMaps = `{"apiVersion":"v1","kind":"ConfigMap"}`
		unknown    = `{"apiVersion":"x.test/v1","kind":"Thing"}`
		named      = `{"name":"password","namespace":"kube-system","parameterNotFoundAction":"Deny"}`
		selected   = `{"selector":{},"namespace":"kube-system","parameterNotFoundAction":"Deny"}`
	)
	refused := func(err error, field, why string) {
		t.Helper()
		require.True(t, apierrors.IsInvalid(err), err)
		require.ErrorContains(t, err, "spec."+field+": Forbidden: user ann "+why)
	}
	const all = `must have "get" permission on all objects of the referenced paramKind`
	refused(send(ann, http.MethodPost, plural, policy("spy", secrets)), "paramKind", all+" (kind=Secret, apiVersion=v1)")
	refused(send(ann, http.MethodPost, plural, policy("spy", configMaps)), "paramKind", all)
	refused(send(ann, http.MethodPost, plural, policy("spy", unknown)), "paramKind", all)

	planetest.Create(t, admin, binding("default", "reads-configmaps", "ClusterRole", "reads-configmaps", user("ann")))
	own := authorizationv1.ResourceAttributes{Verb: "get", Resource: "configmaps", Namespace: "default"}
	p.Eventually("ann reads configmaps of a namespace", func() bool { return may(t, admin, "ann", own) })
	refused(send(ann, http.MethodPost, plural, policy("spy", configMaps)), "paramKind", all)
	bindCluster(t, admin, "reads-configmaps", "reads-configmaps", user("ann"))
	own.Namespace = ""
	p.Eventually("ann reads all configmaps", func() bool { return may(t, admin, "ann", own) })
	require.NoError(t, send(ann, http.MethodPost, plural, policy("spy", configMaps)))
	refused(send(ann, http.MethodPatch, plural+"/spy", `{"spec":{"paramKind":`+secrets+`}}`), "paramKind", all)
	require.NoError(t, send(ann, http.MethodPatch, plural+"/spy", `{"spec":{"failurePolicy":"Ignore"}}`))

	// The policy of another author reveals nothing either: the binding determines what is read.
	require.NoError(t, send(admin, http.MethodPost, plural, policy("others", secrets)))
	require.NoError(t, send(ann, http.MethodPatch, plural+"/others", `{"metadata":{"labels":{"a":"b"}}}`), "the paramKind stays")
	refused(send(ann, http.MethodPost, bindings, bound("spy", "others", named)), "paramRef", `does not have "get" permission on the object referenced by paramRef`)
	refused(send(ann, http.MethodPost, bindings, bound("spy", "others", selected)), "paramRef", `does not have "list" permission on the object referenced by paramRef`)
	refused(send(ann, http.MethodPost, bindings, bound("spy", "yet-to-be", named)), "paramRef", `does not have "get" permission`)
	require.NoError(t, send(ann, http.MethodPost, bindings, bound("spy", "spy", named)), "a configmap")
	refused(send(ann, http.MethodPatch, bindings+"/spy", `{"spec":{"paramRef":{"name":null,"selector":{}}}}`), "paramRef", `does not have "list" permission`)
	require.NoError(t, send(ann, http.MethodPatch, bindings+"/spy", `{"metadata":{"labels":{"a":"b"}}}`))
	require.NoError(t, send(admin, http.MethodPost, bindings, bound("admins", "others", named)), "masters may")
}
