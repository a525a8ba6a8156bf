package apimetrics_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/crd"
	"github.com/keelson-dev/keelson/store/podsecurity"
	"github.com/keelson-dev/keelson/store/webhook"
)

const podOf = `{"metadata":{"name":"NAME"},"spec":{"serviceAccountName":"default","automountServiceAccountToken":false,"containers":[{"name":"a","image":"x"SPEC}]}}`

// Evaluations of pods and templates are counted by mode, decision and policy; exempt and undecidable ones by
// kind.
func TestPodSecurity(t *testing.T) {
	p := startPlane(t, func(o *controlplane.Options) {
		o.AdmissionConfiguration.PodSecurity = podsecurity.Configuration{Exemptions: podsecurity.Exemptions{Namespaces: []string{"exempt"}}}
		o.DisableAdmission = []string{"ServiceAccount"}
	})
	for name, labels := range map[string]string{
		"plain": "", "exempt": "", "strict": `"pod-security.kubernetes.io/enforce":"restricted","pod-security.kubernetes.io/enforce-version":"v1.30"`,
		"future": `"pod-security.kubernetes.io/enforce":"baseline","pod-security.kubernetes.io/enforce-version":"v1.99"`,
		"warned": `"pod-security.kubernetes.io/warn":"baseline","pod-security.kubernetes.io/audit":"baseline"`,
	} {
		p.do("root", "POST", "/api/v1/namespaces", `{"metadata":{"name":"`+name+`","labels":{`+labels+`}}}`, 201)
	}
	create := func(namespace, spec string, code int) {
		t.Helper()
		p.do("root", "POST", "/api/v1/namespaces/"+namespace+"/pods", strings.NewReplacer("NAME", "p", "SPEC", spec).Replace(podOf), code)
	}
	const privileged = `,"securityContext":{"privileged":true}`
	create("plain", "", 201)
	create("exempt", privileged, 201)
	create("strict", "", 403)
	create("future", "", 201)
	create("warned", privileged, 201)
	p.do("root", "POST", "/apis/apps/v1/namespaces/warned/deployments", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"x"`+privileged+`}]}}}}`, 201)
	const evaluated, of = "pod_security_evaluations_total{", `request_operation="create",resource="pod",subresource=""} 1`
	p.has(
		evaluated+`decision="allow",mode="enforce",policy_level="privileged",policy_version="latest",request_operation="create",resource="pod",subresource=""} 2`,
		evaluated+`decision="deny",mode="enforce",policy_level="restricted",policy_version="v1.30",`+of,
		evaluated+`decision="allow",mode="enforce",policy_level="baseline",policy_version="future",`+of,
		evaluated+`decision="deny",mode="warn",policy_level="baseline",policy_version="latest",`+of,
		evaluated+`decision="deny",mode="audit",policy_level="baseline",policy_version="latest",`+of,
		evaluated+`decision="deny",mode="warn",policy_level="baseline",policy_version="latest",request_operation="create",resource="controller",subresource=""} 1`,
		`pod_security_exemptions_total{`+of,
	)
}

// Attempts to impersonate are counted by the mode that permits them, and the checks for them.
func TestImpersonations(t *testing.T) {
	p := startPlane(t)
	as := func(token, user string, code int) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/version", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Impersonate-User", user)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		require.Equal(t, code, w.Code, w.Body)
	}
	as("root", "ann@a.test", 200) // masters may do all at the first mode that fits
	as("ann", "bob", 403)
	const prefix = "apiserver_impersonation_"
	p.has(
		prefix+`attempts_total{decision="allowed",mode="user-info"} 1`,
		prefix+`attempts_total{decision="denied",mode=""} 1`,
		prefix+`attempts_duration_seconds_count{decision="denied",mode=""} 1`,
		prefix+`authorization_attempts_total{decision="denied",mode="user-info"} 1`,
		prefix+`authorization_attempts_total{decision="denied",mode="legacy"} 1`,
		prefix+`authorization_attempts_duration_seconds_count{decision="allowed",mode="user-info"} 2`,
	)
}

// Each step before a verb is measured, as far as requests have passed it.
func TestFilters(t *testing.T) {
	p := startPlane(t)
	p.do("root", "GET", configMaps, "", 200)
	p.do("ann", "GET", configMaps, "", 403)
	p.do("nobody's", "GET", configMaps, "", 401)
	const of = "apiserver_request_filter_duration_seconds_count{filter="
	p.has( // one request for these lines has passed too
		of+`"authentication"} 4`, of+`"audit"} 3`, of+`"constrainedimpersonation"} 3`, of+`"priorityandfairness"} 3`, of+`"authorization"} 2`,
	)
}

// Rules of custom resources are measured as they are compiled and evaluated, conversions as they are made.
func TestCustoms(t *testing.T) {
	m := apimetrics.New()
	p := startMeasured(t, m)
	p.do("root", "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"things.a.test"},"spec":{"group":"a.test","scope":"Cluster",
		"names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
		"properties":{"n":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 0"},{"rule":"self < 9"}]}}}}}]}}`, 201)
	for n, code := range map[string]int{"1": 201, "10": 422} {
		p.do("root", "POST", "/apis/a.test/v1/things", `{"apiVersion":"a.test/v1","kind":"Thing","metadata":{"name":"n`+n+`"},"n":`+n+`}`, code)
	}
	converted := m.Hooks().Custom.Converted
	converted(crd.Conversion{Definition: "things.a.test", From: "v1", To: "v2", Elapsed: time.Second})
	converted(crd.Conversion{Definition: "things.a.test", From: "v1", To: "v2", Failure: crd.CallFailed, Elapsed: time.Second})
	const conversions = "apiserver_conversion_webhook_"
	p.has(
		"apiserver_cel_compilation_duration_seconds_count 2",
		`apiextensions_openapi_v2_regeneration_count{crd="things.a.test",reason="add"} 1`,
		`apiextensions_openapi_v3_regeneration_count{crd="things.a.test",group="a.test",reason="add",version="v1"} 1`,
		"apiserver_cel_evaluation_duration_seconds_count 3", // once more for the paths of what is wrong
		conversions+`request_total{failure_type="",result="success"} 1`,
		conversions+`duration_seconds_sum{failure_type="conversion_webhook_call_failure",result="failure"} 1`,
		`apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="things.a.test",from_version="v1",succeeded="false",to_version="v2"} 1`,
	)
}

// What webhooks for tokens and for access do is counted, and so are deprecated certificates.
func TestReviews(t *testing.T) {
	m := apimetrics.New()
	p := startMeasured(t, m)
	for use := authn.TokenFresh; use <= authn.TokenLegacyInvalidated; use++ {
		m.TokenUsed(use)
	}
	tokens := m.TokenWebhook()
	tokens.Looked(true, time.Millisecond)
	tokens.Looked(false, time.Second)
	tokens.Calling(1)
	tokens.Waiting(2)
	tokens.Waiting(-1)
	tokens.Called(nil)
	tokens.Called(errors.New("x"))
	access := m.AuthorizationWebhook("w")
	access.Called(authz.CallTimedOut, time.Second)
	access.FailedOpen(authz.CallTimedOut)
	access.Matched(true, nil, time.Millisecond)
	access.Matched(false, errors.New("x"), time.Millisecond)
	m.Requests().Request(rest.Target{Method: "POST", Host: "a.test:443"}, 200, time.Second)
	m.Requests().Request(rest.Target{Method: "POST", Host: "a.test:443"}, 0, time.Second)
	m.Requests().Retry(rest.Target{Method: "POST", Host: "a.test:443"}, 503)
	m.Requests().Queued(rest.Target{Method: "POST", Host: "a.test:443"}, 2*time.Second)
	m.Requests().Looked([]webhook.Lookup{{Host: "a.test", Elapsed: time.Second}})
	m.AuthoritiesRead("failure", "empty")
	m.NodeGraphChanged("AddPod", time.Millisecond)
	m.LeaseGranted(7)
	m.Hooks().Streamed("exec", false)
	m.Hooks().Streamed("attach", true)
	m.Hooks().Translated(200)
	m.Hooks().Tunnelled(101)
	m.Hooks().Admission.Called(webhook.Call{Method: "POST", Host: "b.test", Lookups: []webhook.Lookup{{Host: "b.test", Elapsed: time.Second}}, Deprecations: []webhook.Deprecation{webhook.MissingSAN, webhook.InsecureSHA1}})
	m.Aggregation().Deprecated("v1.a.test", webhook.MissingSAN)
	const cache, accounts, webhooks = "authentication_token_cache_", "serviceaccount_", "apiserver_authorization_"
	p.has(
		accounts+"valid_tokens_total 1", accounts+"stale_tokens_total 1", accounts+"legacy_tokens_total 1",
		accounts+"legacy_manual_token_uses_total 1", accounts+"legacy_auto_token_uses_total 1", accounts+"invalid_legacy_auto_token_uses_total 1",
		cache+`request_total{status="hit"} 1`, cache+`request_duration_seconds_sum{status="miss"} 1`,
		cache+`active_fetch_count{status="blocked"} 1`, cache+`active_fetch_count{status="in_flight"} 1`,
		cache+`fetch_total{status="error"} 1`, cache+`fetch_total{status="ok"} 1`,
		webhooks+`webhook_evaluations_total{name="w",result="timeout"} 1`, webhooks+`webhook_duration_seconds_sum{name="w",result="timeout"} 1`,
		webhooks+`webhook_evaluations_fail_open_total{name="w",result="timeout"} 1`,
		webhooks+`match_condition_exclusions_total{name="w",type="Webhook"} 1`, webhooks+`match_condition_evaluation_errors_total{name="w",type="Webhook"} 1`,
		webhooks+`match_condition_evaluation_seconds_count{name="w",type="Webhook"} 2`,
		`rest_client_requests_total{code="200",host="a.test:443",method="POST"} 1`, `rest_client_requests_total{code="<error>",host="a.test:443",method="POST"} 1`,
		`rest_client_request_retries_total{code="503",host="a.test:443",verb="POST"} 1`, `rest_client_rate_limiter_duration_seconds_sum{host="a.test:443",verb="POST"} 2`,
		`rest_client_dns_resolution_duration_seconds_count{host="a.test"} 1`, `rest_client_dns_resolution_duration_seconds_sum{host="b.test"} 1`,
		`rest_client_transport_ca_reload_total{reason="empty",result="failure"} 1`, `node_authorizer_graph_actions_duration_seconds_count{operation="AddPod"} 1`,
		"etcd_lease_object_counts_sum 7", `apiserver_websocket_streaming_requests_total{proxy_type="proxied_to_kubelet",subresource="exec"} 1`,
		`apiserver_websocket_streaming_requests_total{proxy_type="translated_at_apiserver",subresource="attach"} 1`,
		`apiserver_stream_translator_requests_total{code="200"} 1`, `apiserver_stream_tunnel_requests_total{code="101"} 1`,
		"apiserver_webhooks_x509_missing_san_total 1", "apiserver_webhooks_x509_insecure_sha1_total 1",
		"apiserver_kube_aggregator_x509_missing_san_total 1", "apiserver_kube_aggregator_x509_insecure_sha1_total 0",
	)
}
