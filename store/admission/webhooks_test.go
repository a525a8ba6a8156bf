package admission_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

type tree = map[string]any

// reviewer is a webhook server that records its requests.
type reviewer struct {
	server *httptest.Server
	mu     sync.Mutex
	asked  []tree // requests, in order
	paths  []string
	answer func(path string, request tree) tree
}

// newReviewer runs a webhook over TLS until the test ends. answer returns the response to a request, without
// uid.
func newReviewer(t *testing.T, answer func(path string, request tree) tree) *reviewer {
	r := &reviewer{answer: answer}
	r.server = httptest.NewTLSServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *reviewer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var review tree
	_ = json.Unmarshal(body, &review)
	request := review["request"].(tree)
	r.mu.Lock()
	r.asked = append(r.asked, request)
	r.paths = append(r.paths, req.URL.Path+"?"+req.URL.RawQuery)
	r.mu.Unlock()
	response := r.answer(req.URL.Path, request)
	if _, ok := response["uid"]; !ok {
		response["uid"] = request["uid"]
	}
	_ = json.NewEncoder(w).Encode(tree{"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response})
}

// take returns the requests since the last take.
func (r *reviewer) take() []tree {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.asked
	r.asked, r.paths = nil, nil
	return out
}

func (r *reviewer) config(path string) admissionregistrationv1.WebhookClientConfig {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
	return admissionregistrationv1.WebhookClientConfig{URL: new(r.server.URL + path), CABundle: ca}
}

func about(group, version, resource string, ops ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
	r := admissionregistrationv1.RuleWithOperations{Operations: ops}
	r.APIGroups, r.APIVersions, r.Resources = []string{group}, []string{version}, []string{resource}
	return []admissionregistrationv1.RuleWithOperations{r}
}

func mutating(r *reviewer, name string, rules []admissionregistrationv1.RuleWithOperations, change ...func(*admissionregistrationv1.MutatingWebhook)) *admissionregistrationv1.MutatingWebhookConfiguration {
	w := admissionregistrationv1.MutatingWebhook{Name: name + ".a.test", ClientConfig: r.config("/" + name), Rules: rules,
		SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}}
	for _, f := range change {
		f(&w)
	}
	return &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: planetest.Meta("", name), Webhooks: []admissionregistrationv1.MutatingWebhook{w}}
}

func validating(r *reviewer, name string, rules []admissionregistrationv1.RuleWithOperations, change ...func(*admissionregistrationv1.ValidatingWebhook)) *admissionregistrationv1.ValidatingWebhookConfiguration {
	w := admissionregistrationv1.ValidatingWebhook{Name: name + ".a.test", ClientConfig: r.config("/" + name), Rules: rules,
		SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}}
	for _, f := range change {
		f(&w)
	}
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: planetest.Meta("", name), Webhooks: []admissionregistrationv1.ValidatingWebhook{w}}
}

func allow(string, tree) tree { return tree{"allowed": true} }

func patching(ops string) tree {
	return tree{"allowed": true, "patchType": "JSONPatch", "patch": []byte(ops)}
}

const (
	opCreate = admissionregistrationv1.Create
	opUpdate = admissionregistrationv1.Update
	opDelete = admissionregistrationv1.Delete
	opAll    = admissionregistrationv1.OperationAll
)

func configMap(name string, labels map[string]string) *corev1.ConfigMap {
	m := planetest.Meta("default", name)
	m.Labels = labels
	return &corev1.ConfigMap{ObjectMeta: m}
}

func TestMutatingWebhook(t *testing.T) {
	p := planetest.Start(t)
	hook := newReviewer(t, func(string, tree) tree {
		return patching(`[{"op":"add","path":"/data","value":{"by":"webhook"}}]`)
	})
	planetest.Create(t, p.Admin(), mutating(hook, "fill", about("", "v1", "configmaps", opCreate)))
	made := planetest.Create(t, p.Admin(), configMap("a", nil))
	require.Equal(t, map[string]string{"by": "webhook"}, made.Data)
}

// TestWebhookQuestion checks what a webhook receives, field by field.
func TestWebhookQuestion(t *testing.T) {
	p := planetest.Start(t)
	hook := newReviewer(t, allow)
	planetest.Create(t, p.Admin(), validating(hook, "see", about("", "v1", "configmaps", opAll)))
	c := client.For[*corev1.ConfigMap](p.Admin())
	made, err := c.Create(t.Context(), configMap("a", nil))
	require.NoError(t, err)
	asked := hook.take()
	require.Len(t, asked, 1)
	q := asked[0]
	require.NotEmpty(t, q["uid"])
	require.Equal(t, tree{"group": "", "version": "v1", "kind": "ConfigMap"}, q["kind"])
	require.Equal(t, tree{"group": "", "version": "v1", "resource": "configmaps"}, q["resource"])
	require.Equal(t, q["kind"], q["requestKind"])
	require.Equal(t, q["resource"], q["requestResource"])
	require.Equal(t, []any{"a", "default", "CREATE", false}, []any{q["name"], q["namespace"], q["operation"], q["dryRun"]})
	require.Equal(t, "admin", q["userInfo"].(tree)["username"])
	require.Equal(t, tree{"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions", "fieldManager": q["options"].(tree)["fieldManager"]}, q["options"])
	require.Nil(t, q["oldObject"])
	obj := q["object"].(tree)
	require.Equal(t, []any{"v1", "ConfigMap", string(made.UID)}, []any{obj["apiVersion"], obj["kind"], obj["metadata"].(tree)["uid"]})

	made.Data = map[string]string{"x": "y"}
	_, err = c.Update(t.Context(), made, client.UpdateOptions{DryRun: true})
	require.NoError(t, err)
	q = hook.take()[0]
	require.Equal(t, []any{"UPDATE", true}, []any{q["operation"], q["dryRun"]})
	require.Nil(t, q["oldObject"].(tree)["data"])
	require.NotNil(t, q["object"].(tree)["data"])

	_, err = c.Patch(t.Context(), planetest.Key("default", "a"), client.Patch{Type: types.MergePatchType, Data: []byte(`{"data":{"z":"1"}}`)})
	require.NoError(t, err)
	require.Equal(t, "UpdateOptions", hook.take()[0]["options"].(tree)["kind"])

	_, err = c.Get(t.Context(), planetest.Key("default", "a"))
	require.NoError(t, err)
	require.Empty(t, hook.take(), "reads are not admitted")

	require.NoError(t, c.Delete(t.Context(), planetest.Key("default", "a")))
	q = hook.take()[0]
	require.Equal(t, []any{"DELETE", "a"}, []any{q["operation"], q["name"]})
	require.Nil(t, q["object"])
	require.NotNil(t, q["oldObject"])
}

func TestWebhookDenial(t *testing.T) {
	p := planetest.Start(t)
	var result tree
	hook := newReviewer(t, func(string, tree) tree { return tree{"allowed": false, "status": result} })
	planetest.Create(t, p.Admin(), validating(hook, "no", about("", "v1", "configmaps", opCreate)))
	for _, c := range []struct {
		result  tree
		code    int
		reason  metav1.StatusReason
		message string
	}{
		{nil, 400, "", `admission webhook "no.a.test" denied the request without explanation`},
		{tree{"message": "too big"}, 400, "", `admission webhook "no.a.test" denied the request: too big`},
		{tree{"reason": "Forbidden", "code": 403}, 403, "Forbidden", `admission webhook "no.a.test" denied the request: Forbidden`},
		{tree{"message": "later", "code": 200, "status": "Success"}, 400, "", `admission webhook "no.a.test" denied the request: later`},
	} {
		result = c.result
		err := planetest.TryCreate(t, p.Admin(), configMap("a", nil))
		require.EqualError(t, err, c.message)
		require.Equal(t, c.code, apierrors.CodeOf(err))
		require.Equal(t, c.reason, apierrors.ReasonOf(err))
	}
}

func TestWebhookFailurePolicy(t *testing.T) {
	p := planetest.Start(t)
	hook := newReviewer(t, func(string, tree) tree { return tree{"allowed": true, "uid": "wrong"} })
	planetest.Create(t, p.Admin(), validating(hook, "wrong", about("", "v1", "configmaps", opCreate)))
	err := planetest.TryCreate(t, p.Admin(), configMap("a", nil))
	require.Equal(t, 500, apierrors.CodeOf(err))
	require.ErrorContains(t, err, `Internal error occurred: failed calling webhook "wrong.a.test": received invalid webhook response: expected response.uid="`)

	hook.server.Close()
	err = planetest.TryCreate(t, p.Admin(), configMap("a", nil))
	require.Equal(t, 500, apierrors.CodeOf(err))
	require.ErrorContains(t, err, `Internal error occurred: failed calling webhook "wrong.a.test": failed to call webhook: Post "`+hook.server.URL+`/wrong?timeout=10s"`)

	_, err = client.For[*admissionregistrationv1.ValidatingWebhookConfiguration](p.Admin()).Patch(t.Context(), planetest.Key("", "wrong"),
		client.Patch{Type: types.JSONPatchType, Data: []byte(`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]`)})
	require.NoError(t, err)
	planetest.Create(t, p.Admin(), configMap("a", nil))
}

// TestMatchConditions lets CEL decide for which requests a webhook is called.
func TestMatchConditions(t *testing.T) {
	p := planetest.Start(t)
	hook := newReviewer(t, allow)
	with := func(name string, policy admissionregistrationv1.FailurePolicyType, expressions ...string) {
		planetest.Create(t, p.Admin(), validating(hook, name, about("", "v1", "configmaps", opAll), func(w *admissionregistrationv1.ValidatingWebhook) {
			w.FailurePolicy = &policy
			for i, x := range expressions {
				w.MatchConditions = append(w.MatchConditions, admissionregistrationv1.MatchCondition{Name: "c" + string(rune('0'+i)), Expression: x})
			}
		}))
	}
	with("labelled", admissionregistrationv1.Fail, "request.operation != 'DELETE'", "'ask' in object.metadata.?labels.orValue({})")
	with("allowed", admissionregistrationv1.Fail, "!has(request.subResource) && authorizer.group('').resource('secrets').namespace('default').check('get').allowed()", "request.name == 'b'")
	with("own", admissionregistrationv1.Fail, "request.name == 'b'", "authorizer.requestResource.check('delete').allowed() && authorizer.serviceAccount('a', 'b').path('/x').check('get').allowed()")
	with("lenient", admissionregistrationv1.Ignore, "object.metadata.labels.missing == 'x'")
	names := func() (out []string) {
		hook.mu.Lock()
		defer hook.mu.Unlock()
		for _, path := range hook.paths {
			out = append(out, strings.TrimPrefix(strings.SplitN(path, "?", 2)[0], "/"))
		}
		hook.asked, hook.paths = nil, nil
		return out
	}
	planetest.Create(t, p.Admin(), configMap("a", nil))
	require.Empty(t, names())
	planetest.Create(t, p.Admin(), configMap("b", map[string]string{"ask": "yes"}))
	require.ElementsMatch(t, []string{"labelled", "allowed"}, names())

	with("broken", admissionregistrationv1.Fail, "object.metadata.labels.missing == 'x'")
	err := planetest.TryCreate(t, p.Admin(), configMap("c", nil))
	require.EqualError(t, err, `configmaps "c" is forbidden: expression 'object.metadata.labels.missing == 'x'' resulted in error: no such key: labels`)
}

// TestReinvocation has two webhooks that each react to the change of the other.
func TestReinvocation(t *testing.T) {
	p := planetest.Start(t)
	var mu sync.Mutex
	var order []string
	hook := newReviewer(t, func(path string, request tree) tree {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, path)
		data, _ := request["object"].(tree)["data"].(tree)
		seen := ""
		for _, k := range []string{"one", "two"} {
			if data[k] != nil {
				seen += k
			}
		}
		name := strings.TrimPrefix(path, "/")
		if data == nil {
			return patching(`[{"op":"add","path":"/data","value":{"` + name + `":"saw:` + seen + `"}}]`)
		}
		return patching(`[{"op":"add","path":"/data/` + name + `","value":"saw:` + seen + `"}]`)
	})
	again := func(w *admissionregistrationv1.MutatingWebhook) {
		w.ReinvocationPolicy = new(admissionregistrationv1.IfNeededReinvocationPolicy)
	}
	planetest.Create(t, p.Admin(), mutating(hook, "one", about("", "v1", "configmaps", opCreate), again))
	planetest.Create(t, p.Admin(), mutating(hook, "two", about("", "v1", "configmaps", opCreate)))
	planetest.Create(t, p.Admin(), validating(hook, "zcheck", about("", "v1", "configmaps", opCreate)))
	hook.answer = func(answer func(string, tree) tree) func(string, tree) tree {
		return func(path string, request tree) tree {
			if path == "/zcheck" {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, path)
				return tree{"allowed": true, "warnings": []string{"checked"}, "auditAnnotations": tree{"k": "v"}}
			}
			return answer(path, request)
		}
	}(hook.answer)
	made := planetest.Create(t, p.Admin(), configMap("a", nil))
	require.Equal(t, map[string]string{"one": "saw:onetwo", "two": "saw:one"}, made.Data)
	require.Equal(t, []string{"/one", "/two", "/one", "/zcheck"}, order, "mutation, once more for whom it matters, then validation")
	for _, m := range made.ManagedFields {
		require.NotContains(t, string(m.FieldsV1.Raw), "f:data", "what webhooks add has no owner")
	}
}

// TestEquivalentVersions sends the version that the webhook's rules name.
func TestEquivalentVersions(t *testing.T) {
	p := planetest.Start(t)
	hook := newReviewer(t, func(path string, request tree) tree {
		if path == "/mutate" {
			return patching(`[{"op":"add","path":"/metadata/annotations","value":{"seen":"v1"}},{"op":"replace","path":"/spec/maxReplicas","value":7}]`)
		}
		return tree{"allowed": true}
	})
	planetest.Create(t, p.Admin(), mutating(hook, "mutate", about("autoscaling", "v1", "horizontalpodautoscalers", opCreate)))
	planetest.Create(t, p.Admin(), validating(hook, "exact", about("autoscaling", "v1", "horizontalpodautoscalers", opCreate), func(w *admissionregistrationv1.ValidatingWebhook) {
		w.MatchPolicy = new(admissionregistrationv1.Exact)
	}))
	scaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: planetest.Meta("default", "a"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"}, MaxReplicas: 3}}
	made := planetest.Create(t, p.Admin(), scaler)
	require.Equal(t, int32(7), made.Spec.MaxReplicas)
	require.Equal(t, "v1", made.Annotations["seen"])
	asked := hook.take()
	require.Len(t, asked, 1)
	q := asked[0]
	require.Equal(t, tree{"group": "autoscaling", "version": "v1", "kind": "HorizontalPodAutoscaler"}, q["kind"])
	require.Equal(t, tree{"group": "autoscaling", "version": "v2", "kind": "HorizontalPodAutoscaler"}, q["requestKind"])
	require.Equal(t, "v2", q["requestResource"].(tree)["version"])
	require.Equal(t, "autoscaling/v1", q["object"].(tree)["apiVersion"])
}

func TestWebhookSelectorsAndScope(t *testing.T) {
	p := planetest.Start(t)
	hook := newReviewer(t, allow)
	for name, change := range map[string]func(*admissionregistrationv1.ValidatingWebhook){
		"byobject": func(w *admissionregistrationv1.ValidatingWebhook) {
			w.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pick": "me"}}
		},
		"bynamespace": func(w *admissionregistrationv1.ValidatingWebhook) {
			w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"watched": "yes"}}
		},
		"cluster": func(w *admissionregistrationv1.ValidatingWebhook) {
			w.Rules[0].Scope, w.Rules[0].Resources = new(admissionregistrationv1.ClusterScope), []string{"*"}
		},
		"namespaced": func(w *admissionregistrationv1.ValidatingWebhook) {
			w.Rules[0].Scope, w.Rules[0].Resources = new(admissionregistrationv1.NamespacedScope), []string{"*"}
		},
		"parts": func(w *admissionregistrationv1.ValidatingWebhook) { w.Rules[0].Resources = []string{"*/status"} },
	} {
		planetest.Create(t, p.Admin(), validating(hook, name, about("", "*", "configmaps", opAll), change))
	}
	asked := func() []string {
		hook.mu.Lock()
		defer hook.mu.Unlock()
		var out []string
		for _, path := range hook.paths {
			out = append(out, strings.TrimPrefix(strings.SplitN(path, "?", 2)[0], "/"))
		}
		hook.paths, hook.asked = nil, nil
		return out
	}
	planetest.Create(t, p.Admin(), configMap("plain", nil))
	require.ElementsMatch(t, []string{"namespaced"}, asked())
	planetest.Create(t, p.Admin(), configMap("picked", map[string]string{"pick": "me"}))
	require.ElementsMatch(t, []string{"byobject", "namespaced"}, asked())

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "seen", Labels: map[string]string{"watched": "yes"}}}
	ns = planetest.Create(t, p.Admin(), ns)
	require.ElementsMatch(t, []string{"cluster"}, asked())
	cm := configMap("there", nil)
	cm.Namespace = "seen"
	planetest.Create(t, p.Admin(), cm)
	require.ElementsMatch(t, []string{"bynamespace", "namespaced"}, asked())
	_, err := client.For[*corev1.Namespace](p.Admin()).UpdateStatus(t.Context(), ns)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"parts"}, asked())

	// No webhook is called about the configuration itself.
	require.NoError(t, client.For[*admissionregistrationv1.ValidatingWebhookConfiguration](p.Admin()).Delete(t.Context(), planetest.Key("", "cluster")))
	require.Empty(t, asked())
}

// TestWebhooksAboutSubresources checks that a webhook sees what the client sent, not the object it stands
// for.
func TestWebhooksAboutSubresources(t *testing.T) {
	p := planetest.Start(t, func(o *controlplane.Options) { o.DisableAdmission = []string{"ServiceAccount"} })
	hook := newReviewer(t, func(path string, request tree) tree {
		if path == "/change" {
			switch request["subResource"] {
			case "scale":
				return patching(`[{"op":"replace","path":"/spec/replicas","value":4}]`)
			case "binding":
				return patching(`[{"op":"replace","path":"/target/name","value":"other"}]`)
			}
		}
		return tree{"allowed": path == "/change" || request["subResource"] != "exec"}
	})
	planetest.Create(t, p.Admin(), mutating(hook, "change", about("*", "*", "*/*", opAll)))
	planetest.Create(t, p.Admin(), validating(hook, "look", about("*", "*", "*/*", opAll)))
	planetest.Create(t, p.Admin(), deployment("web", 1))
	planetest.Create(t, p.Admin(), planetest.Pod("a"))
	hook.take()
	c := p.Admin()
	_, err := c.Do(t.Context(), &client.Request{Method: http.MethodPatch, Path: "/apis/apps/v1/namespaces/default/deployments/web/scale",
		ContentType: "application/merge-patch+json", Body: []byte(`{"spec":{"replicas":3}}`)})
	require.NoError(t, err)
	d, err := client.For[*appsv1.Deployment](c).Get(t.Context(), planetest.Key("default", "web"))
	require.NoError(t, err)
	require.Equal(t, int32(4), *d.Spec.Replicas)
	last := func() tree {
		asked := hook.take()
		require.NotEmpty(t, asked)
		return asked[len(asked)-1]
	}
	q := last()
	require.Equal(t, []any{"UPDATE", "scale", "web"}, []any{q["operation"], q["subResource"], q["name"]})
	require.Equal(t, tree{"group": "autoscaling", "version": "v1", "kind": "Scale"}, q["kind"])
	require.Equal(t, 4.0, q["object"].(tree)["spec"].(tree)["replicas"])
	require.Equal(t, 1.0, q["oldObject"].(tree)["spec"].(tree)["replicas"])

	_, err = c.Do(t.Context(), &client.Request{Method: http.MethodPost, Path: "/api/v1/namespaces/default/pods/a/binding", ContentType: "application/json",
		Body: []byte(`{"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"name":"one"}}`)})
	require.NoError(t, err)
	bound, err := client.For[*corev1.Pod](c).Get(t.Context(), planetest.Key("default", "a"))
	require.NoError(t, err)
	require.Equal(t, "other", bound.Spec.NodeName)
	q = last()
	require.Equal(t, []any{"CREATE", "binding", "Binding"}, []any{q["operation"], q["subResource"], q["kind"].(tree)["kind"]})

	_, err = c.Do(t.Context(), &client.Request{Method: http.MethodPost, Path: "/api/v1/namespaces/default/pods/a/exec", Query: map[string][]string{"command": {"ls", "-l"}}})
	require.ErrorContains(t, err, `admission webhook "look.a.test" denied the request without explanation`)
	q = last()
	require.Equal(t, []any{"CONNECT", "exec", "PodExecOptions"}, []any{q["operation"], q["subResource"], q["kind"].(tree)["kind"]})
	require.Equal(t, []any{"ls", "-l"}, q["object"].(tree)["command"])

	_, err = c.Do(t.Context(), &client.Request{Method: http.MethodPost, Path: "/api/v1/namespaces/default/pods/a/eviction", ContentType: "application/json",
		Body: []byte(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"}}`)})
	require.NoError(t, err)
	q = last()
	require.Equal(t, []any{"CREATE", "eviction", "Eviction"}, []any{q["operation"], q["subResource"], q["kind"].(tree)["kind"]})
	require.Equal(t, "CreateOptions", q["options"].(tree)["kind"])
}
