package admissionpolicystatus_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/controllers/builtin/admissionpolicystatus"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

type policy = admissionregistrationv1.ValidatingAdmissionPolicy

func add(m *manager.Manager) error {
	return admissionpolicystatus.Add(m, admissionpolicystatus.Options{})
}

// about is a policy for resources of a group in v1.
func about(name, group, resource string, expressions ...string) *policy {
	p := &policy{ObjectMeta: controllertest.Name("", name)}
	p.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{
		{RuleWithOperations: admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{"*"},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource}}}}}}
	for _, e := range expressions {
		p.Spec.Validations = append(p.Spec.Validations, admissionregistrationv1.Validation{Expression: e})
	}
	return p
}

func TestFindingsAreInTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{add}})
		p := about("replicas", "apps", "deployments", "object.spec.replicas <= 5", "object.spec.replcas <= 5", "authorizer.requestResource.check('scale').allowed()")
		p.Spec.Validations[0].MessageExpression = "'too many: ' + object.spec.replicas"
		p.Spec.Variables = []admissionregistrationv1.Variable{{Name: "limit", Expression: "'5'"}}
		controllertest.Create(c, p)
		controllertest.Create(c, about("fine", "", "pods", "object.spec.containers.all(c, c.image != '')"))
		c.Settle()

		p = controllertest.Get[*policy](c, "", "replicas")
		require.Equal(t, p.Generation, p.Status.ObservedGeneration)
		require.Equal(t, []admissionregistrationv1.ExpressionWarning{
			{FieldRef: "spec.validations[0].messageExpression", Warning: "apps/v1, Kind=Deployment: ERROR: <input>:1:14: found no matching overload for '_+_' applied to '(string, int)'\n" +
				" | 'too many: ' + object.spec.replicas\n | .............^\n"},
			{FieldRef: "spec.validations[1].expression", Warning: "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replcas'\n | object.spec.replcas <= 5\n | ...........^\n"},
		}, p.Status.TypeChecking.ExpressionWarnings)
		require.True(t, slices.ContainsFunc(p.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == admissionpolicystatus.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "status"
		}), "%v", p.ManagedFields)
		fine := controllertest.Get[*policy](c, "", "fine")
		require.EqualValues(t, 1, fine.Status.ObservedGeneration)
		require.NotNil(t, fine.Status.TypeChecking)
		require.Empty(t, fine.Status.TypeChecking.ExpressionWarnings)

		// A correction is looked at, anything else is not.
		controllertest.Update(c, "", "replicas", func(p *policy) {
			p.Spec.Validations = p.Spec.Validations[:2]
			p.Spec.Validations[0].MessageExpression = ""
			p.Spec.Validations[1].Expression = "object.spec.replicas <= variables.limit"
		})
		c.Settle()
		p = controllertest.Get[*policy](c, "", "replicas")
		require.EqualValues(t, 2, p.Status.ObservedGeneration)
		require.Len(t, p.Status.TypeChecking.ExpressionWarnings, 1)
		require.Contains(t, p.Status.TypeChecking.ExpressionWarnings[0].Warning, "found no matching overload for '_<=_' applied to '(int, string)'")
		p = controllertest.Update(c, "", "replicas", func(p *policy) { p.Labels = map[string]string{"a": "b"} })
		c.Settle()
		require.Equal(t, p.ResourceVersion, controllertest.Get[*policy](c, "", "replicas").ResourceVersion)
	})
}

const shops = `{"metadata":{"name":"shops.shop.example"},"spec":{"group":"shop.example","scope":"Namespaced","names":{"plural":"shops","kind":"Shop"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"}}}}}}}]}}`

// Custom resources are known, though they may have come after the controller.
func TestCustomResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{add}})
		controllertest.Create(c, about("early", "apps", "deployments", "object.nosuch"))
		c.Settle()
		definition := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(t, codec.Unmarshal([]byte(shops), definition))
		controllertest.Create(c, definition)
		c.Settle()
		time.Sleep(2 * time.Second) // discovery asks no more than once a second
		p := about("shops", "shop.example", "shops", "object.spec.size < params.spec.size", "object.spec.size < params.spec.siez", "object.spec.colour == 'red'")
		p.Spec.ParamKind = &admissionregistrationv1.ParamKind{APIVersion: "shop.example/v1", Kind: "Shop"}
		controllertest.Create(c, p)
		c.Settle()
		found := controllertest.Get[*policy](c, "", "shops").Status.TypeChecking.ExpressionWarnings
		require.Len(t, found, 2)
		require.Contains(t, found[0].Warning, "shop.example/v1, Kind=Shop: ERROR: <input>:1:31: undefined field 'siez'")
		require.Contains(t, found[1].Warning, "undefined field 'colour'")
		require.Len(t, controllertest.Get[*policy](c, "", "early").Status.TypeChecking.ExpressionWarnings, 1)
	})
}

// What cannot be looked up is not checked, and the policy still counts as seen.
func TestUnknownKindsAreNotChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{add}})
		for name, p := range map[string]*policy{
			"unknown": about("unknown", "no.example", "things", "object.nosuch"), "wildcard": about("wildcard", "*", "pods", "object.nosuch"),
			"sub": about("sub", "", "pods/status", "object.nosuch"), "everything": about("everything", "", "*", "object.nosuch"),
		} {
			controllertest.Create(c, p)
			c.Settle()
			got := controllertest.Get[*policy](c, "", name)
			require.EqualValues(t, 1, got.Status.ObservedGeneration, name)
			require.Empty(t, got.Status.TypeChecking.ExpressionWarnings, name)
		}
	})
}

// A checker needs no stored policy.
func TestCheckerStandsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		checker := admissionpolicystatus.NewChecker(discovery.New(c.Conn(), discovery.Options{}), nil)
		found, err := checker.Check(t.Context(), about("draft", "", "configmaps", "object.data['a'] == 1"))
		require.NoError(t, err)
		require.Len(t, found, 1)
		found, err = checker.Check(t.Context(), &policy{})
		require.NoError(t, err)
		require.Empty(t, found)
	})
}
