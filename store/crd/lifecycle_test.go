package crd_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// conditionOf is the reason, status and message of a condition.
func conditionOf(d tree, kind string) [3]any {
	list, _ := at(d, "status", "conditions").([]any)
	for _, c := range list {
		if at(c, "type") == kind {
			return [3]any{at(c, "status"), at(c, "reason"), at(c, "message")}
		}
	}
	return [3]any{}
}

// The groups of Kubernetes itself are approved, not approved, or neither.
func TestApprovalOfProtectedGroups(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		yaml := strings.NewReplacer("gadgets.a.test}", `gadgets.a.k8s.io, annotations: {api-approved.kubernetes.io: "WHY"}}`, "group: a.test", "group: a.k8s.io").Replace(gadget("{type: object}"))
		c.do("POST", definitions, strings.Replace(yaml, "WHY", "unapproved, a test", 1), 201)
		time.Sleep(time.Second)
		const kind = "KubernetesAPIApprovalPolicyConformant"
		get := func() [3]any { return conditionOf(c.do("GET", definitions+"/gadgets.a.k8s.io", nil, 200), kind) }
		require.Equal(t, [3]any{"False", "UnapprovedAnnotation", `not approved: "unapproved, a test"`}, get())
		merge := []string{"Content-Type", "application/merge-patch+json"}
		c.do("PATCH", definitions+"/gadgets.a.k8s.io", `{metadata: {annotations: {api-approved.kubernetes.io: "https://example.com/1"}}}`, 200, merge...)
		time.Sleep(time.Second)
		require.Equal(t, [3]any{"True", "ApprovedAnnotation", "approved in https://example.com/1"}, get())
	})
}

// A deleted definition that has a foreign finalizer reports that its objects are gone.
func TestADefinitionThatIsHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, strings.Replace(widget, "{name: widgets.a.test}", "{name: widgets.a.test, finalizers: [a.test/hold]}", 1), 201)
		c.do("POST", widgets, object("w", "{}"), 201)
		c.do("DELETE", definitions+"/widgets.a.test", nil, 200)
		time.Sleep(5 * time.Second)
		d := c.do("GET", definitions+"/widgets.a.test", nil, 200)
		require.Equal(t, []any{"a.test/hold"}, at(d, "metadata", "finalizers"))
		require.Equal(t, [3]any{"False", "InstanceDeletionCompleted", "removed all instances"}, conditionOf(d, "Terminating"))
		require.Empty(t, names(c.do("GET", widgets, nil, 200)))
		c.do("PATCH", definitions+"/widgets.a.test", `{metadata: {finalizers: null}}`, 200, "Content-Type", "application/merge-patch+json")
		c.do("GET", definitions+"/widgets.a.test", nil, 404)
	})
}

// Unknown formats are accepted, with a warning when they are new.
func TestUnknownFormatsAreWarnedOf(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		warnings := func(method, path, yaml string, code int, header ...string) []string {
			data, err := codec.YAMLToJSON([]byte(yaml))
			require.NoError(t, err)
			return c.send(method, path, data, code, header...).Header().Values("Warning")
		}
		const spec = `{type: object, properties: {a: {type: string, format: date-time}, b: {type: string, format: odd}, c: {type: integer, format: int16}, d: {type: number, format: double}, e: {type: array, items: {type: string, format: k8s-short-name}}}}`
		require.Equal(t, []string{`299 - "unrecognized format \"odd\""`, `299 - "unrecognized format \"int16\""`}, warnings("POST", definitions, gadget(spec), 201))
		require.Empty(t, warnings("PATCH", definitions+"/gadgets.a.test", `{metadata: {labels: {a: b}}}`, 200, "Content-Type", "application/merge-patch+json"))
		require.Equal(t, []string{`299 - "unrecognized format \"int32\""`}, warnings("PATCH", definitions+"/gadgets.a.test",
			`[{op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/f, value: {type: string, format: int32}}]`, 200, "Content-Type", "application/json-patch+json"))
	})
}

// Objects from before custom resources had a generation get generation 1.
func TestGenerationOfOldObjects(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, widget, 201)
		c.do("POST", widgets, object("w", "{}"), 201)
		st := c.Registry().Store()
		kv, _, err := st.Get(t.Context(), "/a.test/widgets/default/w")
		require.NoError(t, err)
		_, err = st.Update(t.Context(), kv.Key, []byte(strings.Replace(string(kv.Value), `"generation":1,`, "", 1)), kv.Revision, store.WriteOptions{})
		require.NoError(t, err)
		require.Equal(t, int64(1), at(c.do("GET", widgets+"/w", nil, 200), "metadata", "generation"))
		merge := []string{"Content-Type", "application/merge-patch+json"}
		require.Equal(t, int64(2), at(c.do("PATCH", widgets+"/w", `{spec: {size: 3}}`, 200, merge...), "metadata", "generation"))
	})
}

// A webhook that uses v1beta1 reviews is supported, and its responses are checked.
func TestAnswersOfConversionWebhooks(t *testing.T) {
	change := func(review tree) {}
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer := httptest.NewRecorder()
		converter(answer, httptest.NewRequest("POST", "/", strings.NewReader(string(body))))
		var review tree
		_ = json.Unmarshal(answer.Body.Bytes(), &review)
		change(review)
		_ = json.NewEncoder(w).Encode(review)
	}))
	defer hook.Close()
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw}))
	c := start(t, apiserver.Options{})
	yaml := strings.NewReplacer("URL", hook.URL, "caBundle: CA", "caBundle: "+authority, "[v1]", "[v3, v1beta1, v1]").Replace(twoVersions)
	c.do("POST", definitions, yaml, 201)
	v1, v2 := "/apis/a.test/v1/namespaces/default/rods", "/apis/a.test/v2/namespaces/default/rods"
	c.do("POST", v1, "{apiVersion: a.test/v1, kind: Rod, metadata: {name: one, labels: {a: b}}, spec: {size: 2}}", 201)
	version := ""
	change = func(review tree) {
		version = review["apiVersion"].(string)
		delete(review["response"].(tree), "uid")
	}
	require.Equal(t, int64(20), at(c.do("GET", v2+"/one", nil, 200), "spec", "length"))
	require.Equal(t, "apiextensions.k8s.io/v1beta1", version)

	c.do("PATCH", definitions+"/rods.a.test", `{spec: {conversion: {webhook: {conversionReviewVersions: [v1]}}}}`, 200, "Content-Type", "application/merge-patch+json")
	n := 0
	// ask reads an object that has never been converted.
	ask := func() *httptest.ResponseRecorder {
		n++
		c.do("PATCH", v1+"/one", fmt.Sprintf("{spec: {size: %d}}", n), 200, "Content-Type", "application/merge-patch+json")
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest("GET", v2+"/one", nil))
		return w
	}
	change = func(review tree) { version = review["apiVersion"].(string) }
	c.eventually("asks in v1", func() bool { return ask().Code == 200 && version == "apiextensions.k8s.io/v1" })
	first := func(review tree) tree { return at(review, "response", "convertedObjects", 0).(tree) }
	for want, f := range map[string]func(review tree){
		"no response provided":                         func(r tree) { delete(r, "response") },
		"expected response.uid=":                       func(r tree) { at(r, "response").(tree)["uid"] = "x" },
		"expected webhook response of":                 func(r tree) { r["apiVersion"] = "apiextensions.k8s.io/v1beta1" },
		"response.result.status was '', not 'Success'": func(r tree) { at(r, "response").(tree)["result"] = tree{} },
		"not today":                                        func(r tree) { at(r, "response").(tree)["result"] = tree{"status": "Failure", "message": "not today"} },
		"expected 1 converted objects, got 0":              func(r tree) { at(r, "response").(tree)["convertedObjects"] = []any{} },
		"it is another object":                             func(r tree) { first(r)["metadata"].(tree)["name"] = "x" },
		"metadata.labels: Invalid value":                   func(r tree) { first(r)["metadata"].(tree)["labels"] = tree{"a b": "c"} },
		"metadata.annotations: Invalid value":              func(r tree) { first(r)["metadata"].(tree)["annotations"] = tree{"a b": "c"} },
		"it is a Rod of a.test/v1, not a Rod of a.test/v2": func(r tree) { first(r)["apiVersion"] = "a.test/v1" },
	} {
		change = f
		w := ask()
		require.Equal(t, 500, w.Code, want)
		var bad tree
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &bad))
		require.Contains(t, bad["message"], "conversion webhook for a.test/v1, Kind=Rod failed: ", want)
		require.Contains(t, bad["message"], want)
	}
	change = func(r tree) { // only labels and annotations of the metadata are the webhook's
		m := first(r)["metadata"].(tree)
		m["labels"], m["generation"], m["finalizers"] = tree{"a": "c"}, 77, []any{"x/y"}
	}
	got := c.do("GET", v2+"/one", nil, 200)
	require.Equal(t, tree{"a": "c"}, at(got, "metadata", "labels"))
	require.Equal(t, int64(n+1), at(got, "metadata", "generation"))
	require.Nil(t, at(got, "metadata", "finalizers"))

	// Another bundle is used at once.
	change = func(tree) {}
	c.do("PATCH", definitions+"/rods.a.test", `{spec: {conversion: {webhook: {clientConfig: {caBundle: null}}}}}`, 200, "Content-Type", "application/merge-patch+json")
	c.eventually("the authority is not known any more", func() bool {
		w := ask()
		return w.Code == 500 && strings.Contains(w.Body.String(), "certificate")
	})
	c.do("PATCH", definitions+"/rods.a.test", `{spec: {conversion: {webhook: {clientConfig: {caBundle: `+authority+`}}}}}`, 200, "Content-Type", "application/merge-patch+json")
	c.eventually("and known again", func() bool { return ask().Code == 200 })
}

// Custom resources are namespaced or not as their scope says, and have the subresources they declare.
func TestPathsOfCustomResources(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, widget, 201)
		c.do("POST", definitions, gadget("{type: object, properties: {a: {type: string}}}"), 201)
		c.conditions("gadgets.a.test", ready)
		c.do("POST", widgets, object("w", "{}"), 201)
		c.do("POST", gadgets, "{apiVersion: a.test/v1, kind: Gadget, metadata: {name: g}}", 201)
		c.do("GET", "/apis/a.test/v1/widgets", nil, 200)
		for _, path := range []string{"/apis/a.test/v1/widgets/w", "/apis/a.test/v1/namespaces/default/gadgets", "/apis/a.test/v1/namespaces/default/gadgets/g",
			gadgets + "/g/status", gadgets + "/g/scale", widgets + "/w/log", "/apis/a.test/v2/gadgets"} {
			c.do("GET", path, nil, 404)
		}
		c.do("DELETE", widgets+"/w/status", nil, 405)
		c.do("POST", gadgets+"/g", "{}", 405)

		// Without the subresource the status is an ordinary field.
		merge := []string{"Content-Type", "application/merge-patch+json"}
		strict := c.do("POST", gadgets+"?fieldValidation=Strict", `{apiVersion: a.test/v1, kind: Gadget, metadata: {name: h, odd: 1}, spec: {b: 1}, more: 1}`, 400)
		require.Contains(t, strict["message"], `strict decoding error: unknown field "metadata.odd", unknown field "more", unknown field "spec.b"`)
		twice := c.send("POST", gadgets+"?fieldValidation=Strict", []byte(`{"apiVersion":"a.test/v1","kind":"Gadget","metadata":{"name":"h","name":"h"},"spec":{"a":"1","a":"2"}}`), 400)
		require.Contains(t, twice.Body.String(), `strict decoding error: duplicate field \"metadata.name\", duplicate field \"spec.a\"`)
		warned := c.send("POST", gadgets, []byte(`{"apiVersion":"a.test/v1","kind":"Gadget","metadata":{"name":"h"},"spec":{"a":"1","a":"2","b":1}}`), 201)
		require.Equal(t, []string{`299 - "duplicate field \"spec.a\""`, `299 - "unknown field \"spec.b\""`}, warned.Header().Values("Warning"))
		require.Equal(t, int64(2), at(c.do("PATCH", gadgets+"/h", `{spec: {a: "3"}}`, 200, merge...), "metadata", "generation"))
	})
}
