package aggregation_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/audit"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// review responds to a review of an object or a conversion. Config maps get a label, and are refused with the
// name bad; converted objects get the version.
func review(w http.ResponseWriter, r *http.Request) {
	type tree = map[string]any
	body, _ := io.ReadAll(r.Body)
	var review tree
	_ = json.Unmarshal(body, &review)
	request := review["request"].(tree)
	response := tree{"uid": request["uid"]}
	if objs, ok := request["objects"].([]any); ok {
		for _, o := range objs {
			o.(tree)["apiVersion"] = request["desiredAPIVersion"]
		}
		response["result"], response["convertedObjects"] = tree{"status": "Success"}, objs
	} else {
		response["allowed"] = request["name"] != "bad" || strings.HasSuffix(r.URL.Path, "/label")
		if strings.HasSuffix(r.URL.Path, "/label") {
			response["patchType"], response["patch"] = "JSONPatch", []byte(`[{"op":"add","path":"/metadata/labels","value":{"by":"loopback"}}]`)
		}
	}
	_ = json.NewEncoder(w).Encode(tree{"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response})
}

// reviews collects the audit events of reviews.
type reviews struct {
	mu  sync.Mutex
	all []*auditv1.Event
}

func (e *reviews) record(o *controlplane.Options) {
	policy, err := audit.NewPolicy(&auditv1.Policy{OmitStages: []auditv1.Stage{auditv1.StageRequestReceived}, Rules: []auditv1.PolicyRule{
		{Level: auditv1.LevelMetadata, Resources: []auditv1.GroupResources{{Group: "wardle.example.com"}}}}})
	if err != nil {
		panic(err)
	}
	o.Server.Audit = audit.Options{Policy: policy, Backend: audit.Func(func(_ context.Context, events ...*auditv1.Event) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.all = append(e.all, events...)
		return nil
	})}
}

// take returns the events since the last take.
func (e *reviews) take() []*auditv1.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() { e.all = nil }()
	return e.all
}

// Webhooks that an aggregated API server serves are called through the API server, if their configuration
// names its service or its host: as system:apiserver, whatever the service in the store says, and audited.
func TestWebhooksOfAggregatedServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := &reviews{}
		c := start(t, events.record)
		c.register(nil)
		c.await(apiregistrationv1.ConditionTrue)
		hook := admissionregistrationv1.MutatingWebhook{Name: "label.example.com", SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://kubernetes.default.svc" + flunders + "/reviews/label")}}
		rule := admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create}}
		rule.APIGroups, rule.APIVersions, rule.Resources = []string{""}, []string{"v1"}, []string{"configmaps"}
		hook.Rules = []admissionregistrationv1.RuleWithOperations{rule}
		planetest.Create(t, c.Admin(), &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: planetest.Meta("", "label"), Webhooks: []admissionregistrationv1.MutatingWebhook{hook}})
		checks := admissionregistrationv1.ValidatingWebhook{Name: "check.example.com", SideEffects: hook.SideEffects, AdmissionReviewVersions: hook.AdmissionReviewVersions, Rules: hook.Rules,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: c.ca.CertPEM(), Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "kubernetes", Path: new(flunders + "/reviews")}}}
		planetest.Create(t, c.Admin(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: planetest.Meta("", "check"), Webhooks: []admissionregistrationv1.ValidatingWebhook{checks}})

		made := planetest.Create(t, c.As("ann", "system:masters"), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "good")})
		require.Equal(t, map[string]string{"by": "loopback"}, made.Labels)
		seen := c.last(flunders + "/reviews")
		require.Equal(t, []string{"system:apiserver"}, seen.Header["X-Remote-User"])
		require.Equal(t, []string{"system:authenticated", "system:masters"}, seen.Header["X-Remote-Group"])
		require.Regexp(t, `^kube-apiserver/v1.36.3[^ ]* \([a-z0-9]*/[a-z0-9]*\) kubernetes/`, seen.Header.Get("User-Agent"))
		audited := events.take()
		require.Len(t, audited, 2, "each review once")
		for _, e := range audited {
			require.Equal(t, "system:apiserver", e.User.Username)
			require.Nil(t, e.ImpersonatedUser)
			require.Equal(t, "create", e.Verb)
			require.Equal(t, int32(http.StatusOK), e.ResponseStatus.Code)
			require.Equal(t, []string{"::1"}, e.SourceIPs)
		}
		require.NotEqual(t, audited[0].AuditID, audited[1].AuditID)
		require.Contains(t, audited[1].RequestURI, "timeout=10s")
		require.ErrorContains(t, planetest.TryCreate(t, c.Admin(), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "bad")}), `admission webhook "check.example.com" denied the request`)

		// A call ends at its timeout, and costs its own request only.
		c.stalled.Store(true)
		began := time.Now()
		require.ErrorContains(t, planetest.TryCreate(t, c.Admin(), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "late")}), "context deadline exceeded")
		require.Equal(t, 10*time.Second, time.Since(began))
		c.stalled.Store(false)
		c.await(apiregistrationv1.ConditionTrue)
		planetest.Create(t, c.Admin(), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "later")})
	})
}

// So are converters of custom resources.
func TestConvertersOfAggregatedServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := &reviews{}
		c := start(t, events.record)
		c.register(nil)
		c.await(apiregistrationv1.ConditionTrue)
		open := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}
		planetest.Create(t, c.Admin(), &apiextensionsv1.CustomResourceDefinition{ObjectMeta: planetest.Meta("", "rods.a.test"), Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "a.test", Scope: apiextensionsv1.ClusterScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "rods", Kind: "Rod"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: open}, {Name: "v2", Served: true, Schema: open}},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"},
				ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: "default", Name: "kubernetes", Path: new(flunders + "/reviews"), Port: new(int32(443))}}}}}})
		const rods = "/apis/a.test/v1/rods"
		c.Eventually("rods are served", func() bool {
			_, err := c.get(c.Admin(), rods, "")
			return err == nil
		})
		_, err := c.Admin().Do(t.Context(), &client.Request{Method: http.MethodPost, Path: rods, ContentType: client.MediaJSON, Body: []byte(`{"apiVersion":"a.test/v1","kind":"Rod","metadata":{"name":"one"}}`)})
		require.NoError(t, err)
		body, err := c.get(c.Admin(), "/apis/a.test/v2/rods/one", "")
		require.NoError(t, err)
		require.Contains(t, body, `"apiVersion":"a.test/v2"`)
		audited := events.take()
		require.NotEmpty(t, audited)
		for _, e := range audited {
			require.Equal(t, "system:apiserver", e.User.Username)
		}
	})
}
