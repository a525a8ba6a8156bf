package apimetrics_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/examples/internal/familytest"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// plane is a measured control plane with policy that runs until the test ends.
type plane struct {
	*controlplane.ControlPlane
	t *testing.T
}

func startPlane(t *testing.T, change ...func(*controlplane.Options)) *plane {
	return startMeasured(t, apimetrics.New(), change...)
}

// startMeasured starts a plane with metrics of the test.
func startMeasured(t *testing.T, m *apimetrics.Metrics, change ...func(*controlplane.Options)) *plane {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	tokens, err := authn.TokenFile(strings.NewReader("root,admin,1,system:masters\nann,ann@a.test,2\n"))
	require.NoError(t, err)
	o := controlplane.Options{
		StaticTokens: tokens, Anonymous: true, ServiceAccountKeys: []any{key}, Decided: m.Decided,
	}
	for _, f := range change {
		f(&o)
	}
	m.Measure(&o.Server)
	cp, err := controlplane.New(o)
	require.NoError(t, err)
	require.NoError(t, m.Watch(cp.Server))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- cp.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	<-cp.Ready()
	return &plane{cp, t}
}

// do sends a request with a token, none if it is empty, and requires a response with the code.
func (p *plane) do(token, method, path, body string, code int) string {
	p.t.Helper()
	r := httptest.NewRequestWithContext(p.t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if method == "PATCH" {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	require.Equal(p.t, code, w.Code, w.Body)
	return w.Body.String()
}

// has requires lines in /metrics, whose families must be Kubernetes', and returns the families.
func (p *plane) has(lines ...string) map[string]*familytest.Family {
	p.t.Helper()
	text := p.do("root", "GET", "/metrics", "", 200)
	families := familytest.RequireUpstreams(p.t, text)
	all := strings.Split(text, "\n")
	for _, line := range lines {
		if !slices.Contains(all, line) {
			name, _, _ := strings.Cut(line, "{")
			of := slices.DeleteFunc(slices.Clone(all), func(l string) bool { return !strings.HasPrefix(l, name+"{") })
			require.Fail(p.t, "a line is missing", "%s\nfrom\n%s", line, strings.Join(of, "\n"))
		}
	}
	return families
}

const configMaps = "/api/v1/namespaces/default/configmaps"

// Authentication and authorization, with their durations.
func TestAccess(t *testing.T) {
	p := startPlane(t)
	p.do("root", "GET", configMaps, "", 200)
	p.do("ann", "GET", configMaps, "", 403)
	p.do("ann", "GET", "/version", "", 200)
	p.do("", "GET", "/version", "", 200)
	p.do("nobody's", "GET", "/version", "", 401)
	p.has( // the request for these lines is counted too
		`authentication_attempts{result="error"} 1`,
		`authentication_attempts{result="success"} 5`,
		`authentication_duration_seconds_count{result="success"} 5`,
		`authenticated_user_requests{username="admin"} 2`,
		`authenticated_user_requests{username="email_id"} 2`,
		`authenticated_user_requests{username="other"} 1`,
		`authorization_attempts_total{result="allowed"} 4`,
		`authorization_attempts_total{result="no-opinion"} 1`,
		`authorization_duration_seconds_count{result="allowed"} 4`,
		// /version needs no policy for masters
		`apiserver_authorization_decisions_total{decision="allowed",name="rbac",type="RBAC"} 2`,
	)
}

// Each step of admission and each plugin in it, by outcome.
func TestAdmission(t *testing.T) {
	p := startPlane(t)
	p.do("root", "POST", configMaps, `{"metadata":{"name":"a"}}`, 201)
	p.do("root", "POST", "/api/v1/namespaces/nowhere/configmaps", `{"metadata":{"name":"a"}}`, 404)
	p.do("root", "DELETE", configMaps+"/a", "", 200)
	p.has(
		`apiserver_admission_step_admission_duration_seconds_count{operation="CREATE",rejected="true",type="admit"} 1`,
		`apiserver_admission_step_admission_duration_seconds_count{operation="DELETE",rejected="false",type="validate"} 1`,
		`apiserver_admission_controller_admission_duration_seconds_count{name="NamespaceLifecycle",operation="CREATE",rejected="true",type="admit"} 1`,
		`apiserver_admission_controller_admission_duration_seconds_count{name="NamespaceLifecycle",operation="DELETE",rejected="false",type="validate"} 1`,
	)
}

// slow is a plugin that blocks the creation of objects named slow.
type slow struct{ arrived, release chan struct{} }

func (slow) Name() string                        { return "Slow" }
func (slow) Handles(op admission.Operation) bool { return op == admission.Create }
func (s slow) Validate(_ context.Context, a *admission.Attributes) error {
	if a.Name == "slow" {
		close(s.arrived)
		<-s.release
	}
	return nil
}

// A request that is rejected for lack of seats is counted by its kind.
func TestTerminations(t *testing.T) {
	held := slow{make(chan struct{}), make(chan struct{})}
	p := startPlane(t, func(o *controlplane.Options) {
		o.Plugins, o.AuthorizationModes = []admission.Plugin{held}, []string{"AlwaysAllow"}
		o.Server.NoPriorityAndFairness, o.Server.MaxMutatingInFlight = true, 1
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.do("ann", "POST", configMaps, `{"metadata":{"name":"slow"}}`, 201)
	}()
	<-held.arrived
	p.do("ann", "POST", configMaps, `{"metadata":{"name":"late"}}`, 429)
	close(held.release)
	<-done
	p.has(
		`apiserver_request_terminations_total{code="429",component="apiserver",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"} 1`,
	)
}

// Webhooks that allow, deny, send an invalid response, and cannot be reached, are distinguished.
func TestWebhooks(t *testing.T) {
	p := startPlane(t)
	hooks := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		_ = json.NewDecoder(r.Body).Decode(&review)
		answer := map[string]string{
			"/yes":    `"uid":"` + review.Request.UID + `","allowed":true`,
			"/no":     `"uid":"` + review.Request.UID + `","allowed":false,"status":{"code":422,"message":"no"}`,
			"/odd":    `"uid":"another","allowed":true`,
			"/mangle": `"uid":"` + review.Request.UID + `","allowed":true,"patchType":"JSONPatch","patch":"` + base64.StdEncoding.EncodeToString([]byte(`[{"op":"remove","path":"/none"}]`)) + `"`,
		}[r.URL.Path]
		if answer == "" {
			http.Error(w, "broken", http.StatusTeapot)
			return
		}
		fmt.Fprint(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{`+answer+`}}`)
	}))
	defer hooks.Close()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hooks.Certificate().Raw}))
	// Each webhook is for one namespace, so that it is called once.
	configure := func(kind, name, policy string) {
		plural := strings.ToLower(kind) + "s"
		p.do("root", "POST", "/api/v1/namespaces", `{"metadata":{"name":"`+name+`"}}`, 201)
		p.do("root", "POST", "/apis/admissionregistration.k8s.io/v1/"+plural, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"`+kind+`","metadata":{"name":"`+name+`"},
			"webhooks":[{"name":"`+name+`.a.test","clientConfig":{"url":"`+hooks.URL+`/`+name+`","caBundle":"`+ca+`"},"failurePolicy":"`+policy+`","sideEffects":"None",
			"admissionReviewVersions":["v1"],"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"`+name+`"}},
			"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}]}`, 201)
	}
	configure("ValidatingWebhookConfiguration", "yes", "Fail")
	configure("ValidatingWebhookConfiguration", "no", "Ignore")
	configure("ValidatingWebhookConfiguration", "odd", "Fail")
	configure("ValidatingWebhookConfiguration", "teapot", "Ignore")
	configure("MutatingWebhookConfiguration", "mangle", "Ignore")
	for ns, code := range map[string]int{"yes": 201, "no": 422, "odd": 500, "teapot": 201, "mangle": 500} {
		p.do("root", "POST", "/api/v1/namespaces/"+ns+"/configmaps", `{"metadata":{"name":"a"}}`, code)
	}
	p.has(
		`apiserver_admission_webhook_request_total{code="200",name="yes.a.test",operation="CREATE",rejected="false",type="validating"} 1`,
		`apiserver_admission_webhook_request_total{code="422",name="no.a.test",operation="CREATE",rejected="true",type="validating"} 1`,
		`apiserver_admission_webhook_request_total{code="503",name="odd.a.test",operation="CREATE",rejected="true",type="validating"} 1`,
		`apiserver_admission_webhook_request_total{code="418",name="teapot.a.test",operation="CREATE",rejected="false",type="validating"} 1`,
		`apiserver_admission_webhook_request_total{code="0",name="mangle.a.test",operation="CREATE",rejected="true",type="admit"} 1`,
		`apiserver_admission_webhook_rejection_count{error_type="no_error",name="no.a.test",operation="CREATE",rejection_code="422",type="validating"} 1`,
		`apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="odd.a.test",operation="CREATE",rejection_code="503",type="validating"} 1`,
		`apiserver_admission_webhook_rejection_count{error_type="apiserver_internal_error",name="mangle.a.test",operation="CREATE",rejection_code="0",type="admit"} 1`,
		`apiserver_admission_webhook_fail_open_count{name="teapot.a.test",type="validating"} 1`,
		`apiserver_admission_webhook_admission_duration_seconds_count{name="yes.a.test",operation="CREATE",rejected="false",type="validating"} 1`,
	)
}

// Expressions that are false are counted by the enforcement action.
func TestPolicies(t *testing.T) {
	p := startPlane(t)
	const api = "/apis/admissionregistration.k8s.io/v1/"
	configure := func(name, expression, failure, actions string) {
		p.do("root", "POST", api+"validatingadmissionpolicies", `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"`+name+`"},
			"spec":{"failurePolicy":"`+failure+`","validations":[{"expression":"`+expression+`"}],
			"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}}}`, 201)
		p.do("root", "POST", api+"validatingadmissionpolicybindings", `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding",
			"metadata":{"name":"`+name+`-b"},"spec":{"policyName":"`+name+`","validationActions":[`+actions+`]}}`, 201)
	}
	configure("reporting", "object.metadata.name == 'a'", "Fail", `"Warn","Audit"`)
	configure("denied", "object.metadata.name != 'c'", "Fail", `"Deny"`)
	configure("open", "object.data.none == 'x'", "Ignore", `"Deny"`)
	for name, code := range map[string]int{"a": 201, "b": 201, "c": 422} {
		p.do("root", "POST", configMaps, `{"metadata":{"name":"`+name+`"}}`, code)
	}
	p.has(
		`apiserver_validating_admission_policy_check_total{enforcement_action="warn",error_type="invalid_error",policy="reporting",policy_binding="reporting-b"} 2`,
		`apiserver_validating_admission_policy_check_total{enforcement_action="audit",error_type="invalid_error",policy="reporting",policy_binding="reporting-b"} 2`,
		`apiserver_validating_admission_policy_check_total{enforcement_action="deny",error_type="invalid_error",policy="denied",policy_binding="denied-b"} 1`,
		`apiserver_validating_admission_policy_check_total{enforcement_action="allow",error_type="invalid_error",policy="open",policy_binding="open-b"} 3`,
		`apiserver_validating_admission_policy_check_duration_seconds_count{enforcement_action="deny",error_type="invalid_error",policy="denied",policy_binding="denied-b"} 1`,
	)
}

// Mutations of policies are counted by result, and requests by the result of match conditions.
func TestMutationsAndConditions(t *testing.T) {
	p := startPlane(t)
	const api = "/apis/admissionregistration.k8s.io/v1/"
	const match = `"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}`
	mutate := func(name, expression, condition, failure string) {
		p.do("root", "POST", api+"mutatingadmissionpolicies", `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicy","metadata":{"name":"`+name+`"},
			"spec":{"failurePolicy":"`+failure+`","reinvocationPolicy":"Never","matchConditions":[{"name":"c","expression":"`+condition+`"}],
			"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"`+expression+`"}}],`+match+`}}`, 201)
		p.do("root", "POST", api+"mutatingadmissionpolicybindings", `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicyBinding",
			"metadata":{"name":"`+name+`-b"},"spec":{"policyName":"`+name+`"}}`, 201)
	}
	mutate("sets", `Object{data: {'set': 'yes'}}`, "object.metadata.name != 'b'", "Fail")
	mutate("fails", `Object{data: {'set': object.data.none}}`, "true", "Ignore")
	webhook := func(kind, name, condition, policy string) {
		p.do("root", "POST", api+strings.ToLower(kind)+"s", `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"`+kind+`","metadata":{"name":"`+name+`"},
			"webhooks":[{"name":"`+name+`.a.test","clientConfig":{"url":"https://127.0.0.1:1/"},"failurePolicy":"`+policy+`","sideEffects":"None","admissionReviewVersions":["v1"],
			"matchConditions":[{"name":"c","expression":"`+condition+`"}],
			"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}]}`, 201)
	}
	webhook("MutatingWebhookConfiguration", "never", "object.metadata.name == 'nobody'", "Fail")
	webhook("ValidatingWebhookConfiguration", "broken", "object.data.none == 'x'", "Ignore")
	require.Contains(t, p.do("root", "POST", configMaps, `{"metadata":{"name":"a"}}`, 201), `"set":"yes"`)
	require.NotContains(t, p.do("root", "POST", configMaps, `{"metadata":{"name":"b"}}`, 201), `"set":"yes"`)
	families := p.has(
		`apiserver_mutating_admission_policy_check_total{error_type="no_error",policy="sets",policy_binding="sets-b"} 1`,
		`apiserver_mutating_admission_policy_check_total{error_type="invalid_error",policy="fails",policy_binding="fails-b"} 2`,
		`apiserver_mutating_admission_policy_check_duration_seconds_count{error_type="no_error",policy="sets",policy_binding="sets-b"} 1`,
		// Once more in the second round.
		`apiserver_admission_match_condition_exclusions_total{kind="webhook",name="never.a.test",operation="CREATE",type="admit"} 3`,
		`apiserver_admission_match_condition_exclusions_total{kind="webhook",name="broken.a.test",operation="CREATE",type="validate"} 2`,
		`apiserver_admission_match_condition_evaluation_errors_total{kind="webhook",name="broken.a.test",operation="CREATE",type="validating"} 2`,
		`apiserver_admission_match_condition_evaluation_seconds_count{kind="policy",name="sets",operation="CREATE",type="validate"} 2`,
		`apiserver_admission_match_condition_evaluation_seconds_count{kind="webhook",name="never.a.test",operation="CREATE",type="admit"} 3`,
	)
	const step, of = "apiserver_admission_step_admission_duration_seconds", `_count{operation="CREATE",rejected="false",type="validate"}`
	require.Greater(t, families[step].Series[step+of], 7.0)
	require.Equal(t, families[step].Series[step+of], families[step+"_summary"].Series[step+"_summary"+of])
}
