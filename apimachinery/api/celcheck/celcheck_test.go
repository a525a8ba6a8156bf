package celcheck_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/celcheck"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

func TestCheck(t *testing.T) {
	good := map[api.ExpressionUse][]string{
		api.UseMatchCondition: {
			"true", "request.userInfo.username != 'x'", "object.metadata.?name.orValue('') == 'a'",
			"authorizer.group('apps').resource('deployments').namespace('x').check('get').allowed()",
			"authorizer.requestResource.check('create').allowed()", "!authorizer.path('/healthz').check('get').errored()",
		},
		api.UseValidation:      {"object.spec.replicas <= params.max", "variables.a && has(oldObject.spec)"},
		api.UseMessage:         {"'too many: ' + string(object.spec.replicas)"},
		api.UseAuditAnnotation: {"null", "'x'"},
		api.UseVariable:        {"object.spec.containers.map(c, c.image)"},
		api.UseJSONPatch:       {`[JSONPatch{op: "remove", path: "/data"}]`},
		api.UseDeviceSelector:  {"device.driver == 'a.test'", "device.attributes['a.test'].model == 'x'"},
	}
	for use, texts := range good {
		for _, text := range texts {
			require.NoError(t, celcheck.Check(api.Expression{Use: use, Text: text}), text)
		}
	}
	bad := map[api.ExpressionUse][]string{
		api.UseMatchCondition:  {"1", "nope", "'a'", "object.", "authorizer.nope()", "device.driver == 'x'"},
		api.UseValidation:      {"1+1", "object.x +"},
		api.UseMessage:         {"1", "true"},
		api.UseAuditAnnotation: {"1"},
		api.UseJSONPatch:       {"[JSONPatch{"},
		api.UseDeviceSelector:  {"1", "object.x == 1"},
	}
	for use, texts := range bad {
		for _, text := range texts {
			require.Error(t, celcheck.Check(api.Expression{Use: use, Text: text}), "%s: %s", use, text)
		}
	}
}

func TestOnlyNewExpressionsAreCompiledOnUpdate(t *testing.T) {
	s := api.Scheme().Clone()
	require.NoError(t, api.AddRules(s))
	require.NoError(t, api.AddExpressionRules(s, celcheck.Check))
	info, err := scheme.InfoFor[*admissionregistrationv1.ValidatingWebhookConfiguration](s)
	require.NoError(t, err)
	with := func(expression string) *admissionregistrationv1.ValidatingWebhookConfiguration {
		c := &admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "a.b.test", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone),
			ClientConfig:    admissionregistrationv1.WebhookClientConfig{URL: new("https://a.test")},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "c", Expression: expression}},
		}}}
		info.Rules.Default(c)
		return c
	}
	require.Empty(t, info.Rules.Validate(with("true")))
	require.Len(t, info.Rules.Validate(with("nope")), 1)
	require.Empty(t, info.Rules.ValidateUpdate(with("nope"), with("nope")))
	require.Len(t, info.Rules.ValidateUpdate(with("nope"), with("true")), 1)
}

// What a policy has is known: its variables, in their order, whether it has parameters, and the request.
func TestExpressionsOfAPolicy(t *testing.T) {
	p := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	p.Spec.Variables = []admissionregistrationv1.Variable{{Name: "few", Expression: "object.spec.replicas < 3"}, {Name: "names", Expression: "['a', 'b']"},
		{Name: "spec", Expression: "object.spec"}, {Name: "any", Expression: "variables.few || 'c' in variables.names"}}
	withParams := &admissionregistrationv1.MutatingAdmissionPolicy{}
	withParams.Spec.ParamKind = &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
	check := func(e api.Expression, wrong string) {
		t.Helper()
		err := celcheck.Check(e)
		if wrong == "" {
			require.NoError(t, err, e.Text)
			return
		}
		require.ErrorContains(t, err, wrong, e.Text)
	}
	validation := func(text, wrong string) {
		t.Helper()
		check(api.Expression{Use: api.UseValidation, Text: text, Object: p}, wrong)
	}
	validation("variables.few && variables.any && variables.spec.what.ever", "")
	validation("variables.fwe", "undefined field 'fwe'")
	validation("variables.names.all(n, n > 1)", "no matching overload")
	validation("request.userInfo.username == 'x' && request.options.a.b && request.namespace == namespaceObject.metadata.name", "")
	validation("request.userInfo.name == 'x'", "undefined field 'name'")
	validation("namespaceObject.metadata.nosuch == 'x'", "undefined field 'nosuch'")
	validation("params.data.a == 'b'", "undeclared reference to 'params'")
	validation("request.dryRun", "")
	validation("request.operation", "must evaluate to bool, not string")
	message := func(text, wrong string) {
		t.Helper()
		check(api.Expression{Use: api.UseMessage, Text: text, Object: p}, wrong)
	}
	message("'not ' + request.userInfo.username + variables.names[0]", "")
	message("authorizer.path('/x').check('get').reason()", "undeclared reference to 'authorizer'")
	message("[1].map(n, authorizer.requestResource.check('get').allowed())[0] ? 'a' : 'b'", "undeclared reference to 'authorizer'")
	message("['x'].map(authorizer, authorizer + '!')[0]", "")
	for _, v := range p.Spec.Variables {
		check(api.Expression{Use: api.UseVariable, Text: v.Expression, Object: p}, "")
	}
	p.Spec.Variables[0].Expression = "variables.names == []"
	check(api.Expression{Use: api.UseVariable, Text: p.Spec.Variables[0].Expression, Object: p}, "undefined field 'names'")
	check(api.Expression{Use: api.UseMatchCondition, Text: "variables.few", Object: p}, "undeclared reference to 'variables'")
	check(api.Expression{Use: api.UseMatchCondition, Text: "params.data.a == object.a", Object: withParams}, "")
	check(api.Expression{Use: api.UseMatchCondition, Text: "params.data.a == 'b'", Object: &admissionregistrationv1.ValidatingWebhookConfiguration{}}, "undeclared reference to 'params'")
}
