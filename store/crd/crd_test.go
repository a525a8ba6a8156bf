package crd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/store/apiserver"
)

type tree = map[string]any

// client talks to a server without a network.
type client struct {
	t testing.TB
	*apiserver.Server
}

func start(t testing.TB, o apiserver.Options) *client {
	t.Helper()
	s, err := apiserver.New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return &client{t, s}
}

func (c *client) do(method, path string, body any, code int, header ...string) tree {
	c.t.Helper()
	var data []byte
	switch b := body.(type) {
	case nil:
	case string:
		var err error
		data, err = codec.YAMLToJSON([]byte(b))
		require.NoError(c.t, err)
	default:
		var err error
		data, err = json.Marshal(b)
		require.NoError(c.t, err)
	}
	w := c.send(method, path, data, code, header...)
	if strings.Contains(path, "watch=true") {
		return nil
	}
	var out tree
	if w.Body.Len() > 0 {
		require.NoError(c.t, codec.Unmarshal(w.Body.Bytes(), &out), "%s", w.Body)
	}
	return out
}

// try sends a body and returns the response, whatever its code.
func (c *client) try(method, path string, body any, header ...string) *httptest.ResponseRecorder {
	c.t.Helper()
	data, err := json.Marshal(body)
	require.NoError(c.t, err)
	return c.answer(method, path, data, header...)
}

func (c *client) answer(method, path string, data []byte, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, bytes.NewReader(data))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w
}

// send sends JSON and checks the code of the answer.
func (c *client) send(method, path string, data []byte, code int, header ...string) *httptest.ResponseRecorder {
	c.t.Helper()
	w := c.answer(method, path, data, header...)
	require.Equal(c.t, code, w.Code, "%s %s: %s", method, path, w.Body)
	return w
}

func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(tree)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

const (
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	widgets     = "/apis/a.test/v1/namespaces/default/widgets"
)

const widget = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.a.test}
spec:
  group: a.test
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}, {name: Age, type: date, jsonPath: .metadata.creationTimestamp}]
    schema:
      openAPIV3Schema:
        type: object
        description: A widget.
        properties:
          spec:
            type: object
            description: What is wanted.
            properties:
              size: {type: integer, default: 1, maximum: 5}
              replicas: {type: integer}
              color: {type: string, enum: [red, blue]}
              parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, num: {type: integer}}}}
            x-kubernetes-validations: [{rule: "!has(oldSelf.color) || has(self.color) && self.color == oldSelf.color", message: color is immutable}]
          status:
            type: object
            properties: {replicas: {type: integer}, selector: {type: string}, phase: {type: string}}
`

func object(name, spec string) string {
	return "{apiVersion: a.test/v1, kind: Widget, metadata: {name: " + name + "}, spec: " + spec + "}"
}

// conditions waits for the conditions of a definition.
func (c *client) conditions(name string, want map[string]string) tree {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		d := c.do("GET", definitions+"/"+name, nil, 200)
		got := map[string]string{}
		list, _ := at(d, "status", "conditions").([]any)
		for _, x := range list {
			got[at(x, "type").(string)] = at(x, "status").(string)
		}
		ok := true
		for t, s := range want {
			ok = ok && got[t] == s
		}
		if ok {
			return d
		}
	}
	c.t.Fatalf("%s never had %v", name, want)
	return nil
}

// eventually repeats a condition that depends on a loop of the server until it holds, for a minute at most.
func (c *client) eventually(what string, ok func() bool) {
	c.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(end) {
			c.t.Fatalf("never: %s", what)
		}
	}
}

var ready = map[string]string{"Established": "True", "NamesAccepted": "True"}

func inBubble(t *testing.T, f func(t *testing.T, c *client)) {
	synctest.Test(t, func(t *testing.T) {
		f(t, start(t, apiserver.Options{}))
	})
}

func TestCustomResourceIsServedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		created := c.do("POST", definitions, widget, 201)
		require.Equal(t, []any{"v1"}, at(created, "status", "storedVersions"))
		require.Equal(t, "WidgetList", at(created, "spec", "names", "listKind"))

		// No wait in between.
		w := c.do("POST", widgets, object("w", "{color: red}"), 201)
		require.Equal(t, int64(1), at(w, "spec", "size"))
		require.Equal(t, int64(1), at(w, "metadata", "generation"))
		d := c.conditions("widgets.a.test", ready)
		require.Equal(t, "widgets", at(d, "status", "acceptedNames", "plural"))

		// Unknown fields are dropped, or refused.
		w = c.do("POST", widgets, object("x", "{nope: 1, parts: [{name: a, zap: 1}]}"), 201)
		require.NotContains(t, at(w, "spec"), "nope")
		require.Equal(t, tree{"name": "a"}, at(w, "spec", "parts", 0))
		c.do("POST", widgets+"?fieldValidation=Strict", object("bad", "{nope: 1}"), 400)

		// Errors name the field.
		bad := c.do("POST", widgets, object("bad", "{size: 9}"), 422)
		require.Equal(t, "spec.size", at(bad, "details", "causes", 0, "field"))
		bad = c.do("POST", widgets, object("bad", "{size: x}"), 422)
		require.Equal(t, "FieldValueTypeInvalid", at(bad, "details", "causes", 0, "reason"))
		c.do("POST", widgets, "{apiVersion: a.test/v1, kind: Widget, metadata: {name: bad}, spec: []}", 422)
		c.do("POST", widgets, "{apiVersion: a.test/v1, kind: Widget, metadata: {name: Y_}}", 422)

		// Transition rules.
		bad = c.do("PATCH", widgets+"/w", `{spec: {color: blue}}`, 422, "Content-Type", "application/merge-patch+json")
		require.Contains(t, at(bad, "message"), "color is immutable")
		c.do("PATCH", widgets+"/w", `{spec: {}}`, 415, "Content-Type", "application/strategic-merge-patch+json")

		// Selectable fields, tables.
		c.do("POST", widgets, object("z", "{color: blue, size: 3}"), 201)
		list := c.do("GET", widgets+"?fieldSelector=spec.color%3Dblue", nil, 200)
		require.Len(t, at(list, "items"), 1)
		require.Equal(t, "WidgetList", at(list, "kind"))
		c.do("GET", widgets+"?fieldSelector=spec.size%3D3", nil, 400)
		table := c.do("GET", widgets+"/z", nil, 200, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		require.Equal(t, "z", at(table, "rows", 0, "cells", 0))
		require.Equal(t, int64(3), at(table, "rows", 0, "cells", 1))
		require.Equal(t, "Size", at(table, "columnDefinitions", 1, "name"))
	})
}

func TestSubresources(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, widget, 201)
		c.do("POST", widgets, object("w", "{replicas: 2}"), 201)
		merge := []string{"Content-Type", "application/merge-patch+json"}
		s := c.do("PATCH", widgets+"/w/status", `{spec: {replicas: 9}, status: {phase: ok, replicas: 1, selector: "a=b"}}`, 200, merge...)
		require.Equal(t, "ok", at(s, "status", "phase"))
		require.Equal(t, int64(2), at(s, "spec", "replicas"))
		require.Equal(t, int64(1), at(s, "metadata", "generation"))
		s = c.do("PATCH", widgets+"/w", `{status: {phase: no}, spec: {size: 2}}`, 200, merge...)
		require.Equal(t, "ok", at(s, "status", "phase"))
		require.Equal(t, int64(2), at(s, "metadata", "generation"))
		scale := c.do("GET", widgets+"/w/scale", nil, 200)
		require.Equal(t, int64(2), at(scale, "spec", "replicas"))
		require.Equal(t, "a=b", at(scale, "status", "selector"))
		c.do("PATCH", widgets+"/w/scale", `{spec: {replicas: 5}}`, 200, merge...)
		require.Equal(t, int64(5), at(c.do("GET", widgets+"/w", nil, 200), "spec", "replicas"))
	})
}

func TestApplyToCustomResource(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, widget, 201)
		apply := []string{"Content-Type", "application/apply-patch+yaml"}
		c.do("PATCH", widgets+"/w?fieldManager=one", object("w", "{size: 2, parts: [{name: a, num: 1}]}"), 201, apply...)
		two := c.do("PATCH", widgets+"/w?fieldManager=two", object("w", "{parts: [{name: b, num: 2}]}"), 200, apply...)
		require.Len(t, at(two, "spec", "parts"), 2)
		conflict := c.do("PATCH", widgets+"/w?fieldManager=two", object("w", "{parts: [{name: a, num: 5}]}"), 409, apply...)
		require.Equal(t, `.spec.parts[name="a"].num`, at(conflict, "details", "causes", 0, "field"))
	})
}

// An applied configuration must name its object when that does not exist yet, and have no field that the
// schema does not define.
func TestApplyOfWhatDoesNotBelong(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, widget, 201)
		apply := []string{"Content-Type", "application/apply-patch+yaml"}
		nameless := "{apiVersion: a.test/v1, kind: Widget, spec: {size: 2}}"
		refused := c.do("PATCH", widgets+"/w?fieldManager=one", nameless, 400, apply...)
		require.Equal(t, "the name of the object (w based on URL) was undeterminable: name must be provided", refused["message"])
		c.do("PATCH", widgets+"/w?fieldManager=one", object("w", "{size: 2}"), 201, apply...)
		c.do("PATCH", widgets+"/w?fieldManager=one", nameless, 200, apply...)
		for _, validation := range []string{"", "&fieldValidation=Ignore", "&fieldValidation=Strict"} {
			refused = c.do("PATCH", widgets+"/w?fieldManager=one"+validation, object("w", "{size: 2, weight: 1}"), 400, apply...)
			require.Equal(t, "failed to create typed patch object (/w; a.test/v1, Kind=Widget): .spec.weight: field not declared in schema", refused["message"])
			refused = c.do("PATCH", widgets+"/w?fieldManager=one"+validation, "{apiVersion: a.test/v1, kind: Widget, metadata: {nome: x}, spec: {weight: 1}, extra: 1}", 400, apply...)
			require.Contains(t, refused["message"], "field not declared in schema")
		}
		c.do("PATCH", widgets+"/w?fieldManager=one", "{apiVersion: a.test/v1, kind: Widget}", 200, apply...)
		require.Nil(t, c.do("GET", widgets+"/w", nil, 200)["spec"], "given up")
	})
}

// A body must have apiVersion and kind: unlike a built-in type, the schema of a custom resource does not
// imply them.
func TestBodiesSayTheirKind(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, widget, 201)
		for body, want := range map[string]string{
			"{}":                    "Object 'Kind' is missing",
			"{metadata: {name: w}}": "Object 'Kind' is missing",
			"{apiVersion: a.test/v1, metadata: {name: w}}":               "Object 'Kind' is missing",
			"{kind: Widget, metadata: {name: w}}":                        "the API version in the data () does not match the expected API version (a.test/v1)",
			"{apiVersion: a.test/v2, kind: Widget, metadata: {name: w}}": "the API version in the data (a.test/v2) does not match the expected API version (a.test/v1)",
		} {
			require.Contains(t, c.do("POST", widgets, body, 400)["message"], want, body)
			require.Contains(t, c.do("PUT", widgets+"/w", body, 400)["message"], want, body)
		}
		c.do("POST", widgets, "{apiVersion: a.test/v1, kind: Gadget, metadata: {name: w}}", 422)
	})
}

// Clients older than the rule send finalizers without a domain: they are accepted with a warning.
func TestFinalizersOfCustomResources(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, widget, 201)
		post := func(method, path, finalizers string) []string {
			data, err := codec.YAMLToJSON([]byte("{apiVersion: a.test/v1, kind: Widget, metadata: {name: w, finalizers: " + finalizers + "}}"))
			require.NoError(t, err)
			return c.send(method, path, data, map[string]int{"POST": 201, "PATCH": 200}[method], "Content-Type",
				map[string]string{"POST": "application/json", "PATCH": "application/merge-patch+json"}[method]).Header().Values("Warning")
		}
		const warning = `299 - "metadata.finalizers: \"mine\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"`
		require.Equal(t, []string{warning}, post("POST", widgets, "[mine]"))
		require.Empty(t, post("PATCH", widgets+"/w", "[mine, a.test/yours]"), "nothing new to say")
		require.Equal(t, []string{strings.Replace(strings.Replace(warning, "mine", "a.test", 1), "name to", "name including a path (/) to", 1)}, post("PATCH", widgets+"/w", "[a.test]"))
		c.do("PATCH", widgets+"/w", "{metadata: {finalizers: [not a name]}}", 422, "Content-Type", "application/merge-patch+json")
		refused := c.do("POST", "/api/v1/namespaces/default/configmaps", "{metadata: {name: a, finalizers: [mine]}}", 422)
		require.Contains(t, refused["message"], "name is neither a standard finalizer name nor is it fully qualified", "built-in kinds insist")
	})
}

func TestDiscoveryAndOpenAPI(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, widget, 201)
		c.conditions("widgets.a.test", ready)
		list := c.do("GET", "/apis/a.test/v1", nil, 200)
		require.Equal(t, []any{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}, at(list, "resources", 0, "verbs"), "in the order of the API server")
		require.Equal(t, []any{"get", "patch", "update"}, at(list, "resources", 1, "verbs"))
		require.Equal(t, "widgets", at(list, "resources", 0, "name"))
		require.Equal(t, []any{"wd"}, at(list, "resources", 0, "shortNames"))
		index := c.do("GET", "/openapi/v3", nil, 200)
		require.Contains(t, at(index, "paths"), "apis/a.test/v1")
		doc := c.do("GET", "/openapi/v3/apis/a.test/v1", nil, 200)
		s := at(doc, "components", "schemas", "test.a.v1.Widget")
		require.Equal(t, "A widget.", at(s, "description"))
		require.Equal(t, []any{tree{"fieldPath": "spec.color"}}, at(s, "x-kubernetes-selectable-fields"))
		require.Equal(t, int64(5), at(s, "properties", "spec", "properties", "size", "maximum"))
		require.Equal(t, "Widget", at(s, "x-kubernetes-group-version-kind", 0, "kind"))
		require.NotNil(t, at(doc, "paths", "/apis/a.test/v1/namespaces/{namespace}/widgets/{name}", "patch"))
		require.Contains(t, at(c.do("GET", "/openapi/v2", nil, 200), "definitions"), "test.a.v1.Widget")

		c.do("DELETE", definitions+"/widgets.a.test", nil, 200)
		time.Sleep(5 * time.Second)
		c.do("GET", definitions+"/widgets.a.test", nil, 404)
		c.do("GET", widgets, nil, 404)
		require.NotContains(t, at(c.do("GET", "/openapi/v3", nil, 200), "paths"), "apis/a.test/v1")
	})
}

func TestNameConflicts(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, widget, 201)
		c.conditions("widgets.a.test", ready)
		other := strings.NewReplacer("widgets", "gadgets", "kind: Widget,", "kind: Gadget,").Replace(widget)
		c.do("POST", definitions, other, 201) // the short name is taken
		d := c.conditions("gadgets.a.test", map[string]string{"NamesAccepted": "False", "Established": "False"})
		require.Equal(t, "ShortNamesConflict", at(d, "status", "conditions", 0, "reason"))
		c.do("GET", "/apis/a.test/v1/namespaces/default/gadgets", nil, 404)
		c.do("DELETE", definitions+"/widgets.a.test", nil, 200)
		c.conditions("gadgets.a.test", ready)
		c.do("GET", "/apis/a.test/v1/namespaces/default/gadgets", nil, 200)
	})
}

func TestDeletionTakesObjectsAlong(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, widget, 201)
		for i := range 5 {
			c.do("POST", widgets, object(fmt.Sprintf("w%d", i), "{}"), 201)
		}
		held := c.send("POST", widgets, []byte(`{"apiVersion":"a.test/v1","kind":"Widget","metadata":{"name":"held","finalizers":["bare"]}}`), 201)
		require.Equal(t, `299 - "metadata.finalizers: \"bare\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"`,
			held.Header().Get("Warning"))
		c.do("DELETE", definitions+"/widgets.a.test", nil, 200)
		time.Sleep(3 * time.Second)
		d := c.conditions("widgets.a.test", map[string]string{"Terminating": "True"})
		require.Equal(t, []any{"customresourcecleanup.apiextensions.k8s.io"}, at(d, "metadata", "finalizers"))
		require.Len(t, at(c.do("GET", widgets, nil, 200), "items"), 1)
		require.Equal(t, "InstanceDeletionInProgress", at(d, "status", "conditions", 2, "reason"), "%v", at(d, "status", "conditions"))
		late := c.do("POST", widgets, object("late", "{}"), 403)
		require.Equal(t, `widgets.a.test "late" is forbidden: create not allowed while custom resource definition is terminating`, late["message"])
		c.do("PATCH", widgets+"/late?fieldManager=me", object("late", "{}"), 403, "Content-Type", "application/apply-patch+yaml")
		c.do("PATCH", widgets+"/held?fieldManager=me", object("held", "{}"), 200, "Content-Type", "application/apply-patch+yaml")
		resources := at(c.do("GET", "/apis/a.test/v1", nil, 200), "resources").([]any)
		require.Equal(t, []any{"delete", "deletecollection", "get", "list", "watch"}, at(resources[0], "verbs"), "who discovers it need not begin with it")
		c.do("PATCH", widgets+"/held", `{metadata: {finalizers: null}}`, 200, "Content-Type", "application/merge-patch+json")
		time.Sleep(5 * time.Second)
		c.do("GET", definitions+"/widgets.a.test", nil, 404)
		// The same name can be used again, and nothing is left.
		c.do("POST", definitions, widget, 201)
		require.Empty(t, at(c.do("GET", widgets, nil, 200), "items"))
	})
}

func TestSchemaChanges(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, widget, 201)
		c.do("POST", widgets, object("w", "{size: 4}"), 201)
		d := c.do("GET", definitions+"/widgets.a.test", nil, 200)
		spec := at(d, "spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec", "properties").(tree)
		spec["mode"] = tree{"type": "string", "default": "auto"}
		spec["size"].(tree)["maximum"] = 3
		c.do("PUT", definitions+"/widgets.a.test", d, 200)
		time.Sleep(time.Second)
		w := c.do("GET", widgets+"/w", nil, 200)
		require.Equal(t, "auto", at(w, "spec", "mode")) // a default that came later
		merge := []string{"Content-Type", "application/merge-patch+json"}
		c.do("PATCH", widgets+"/w", `{spec: {mode: x}}`, 200, merge...) // size is invalid now, and kept
		c.do("PATCH", widgets+"/w", `{spec: {size: 5}}`, 422, merge...)
		c.do("PATCH", widgets+"/w", `{spec: {size: 2}}`, 200, merge...)
	})
}

func TestVersions(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		two := strings.Replace(widget, "  versions:\n", `  versions:
  - name: v1beta1
    served: true
    storage: false
    deprecated: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, 1)
		c.do("POST", definitions, two, 201)
		c.do("POST", widgets, object("w", "{size: 2}"), 201)
		old := c.do("GET", "/apis/a.test/v1beta1/namespaces/default/widgets/w", nil, 200)
		require.Equal(t, "a.test/v1beta1", at(old, "apiVersion"))
		require.Equal(t, int64(2), at(old, "spec", "size"))
		r := httptest.NewRequest("GET", "/apis/a.test/v1beta1/namespaces/default/widgets", nil)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		require.Contains(t, w.Header().Get("Warning"), "a.test/v1beta1 Widget is deprecated; use a.test/v1 Widget")
		require.Contains(t, w.Body.String(), `"apiVersion":"a.test/v1beta1"`)

		// The storage version changes; both stay recorded, and neither can be removed.
		d := c.do("GET", definitions+"/widgets.a.test", nil, 200)
		versions := at(d, "spec", "versions").([]any)
		versions[0].(tree)["storage"], versions[1].(tree)["storage"] = true, false
		d = c.do("PUT", definitions+"/widgets.a.test", d, 200)
		require.Equal(t, []any{"v1", "v1beta1"}, at(d, "status", "storedVersions"))
		time.Sleep(time.Second)
		require.Equal(t, "a.test/v1", at(c.do("GET", widgets+"/w", nil, 200), "apiVersion"))
		d = c.do("GET", definitions+"/widgets.a.test", nil, 200)
		d["spec"].(tree)["versions"] = at(d, "spec", "versions").([]any)[:1]
		bad := c.do("PUT", definitions+"/widgets.a.test", d, 422)
		require.Equal(t, "status.storedVersions[0]", at(bad, "details", "causes", 0, "field"))
	})
}

// edit applies a recorded change, such as spec.versions.0.storage=false.
func edit(v tree, field string, value any) {
	path := strings.Split(field, ".")
	var cur any = v
	for i, p := range path {
		last := i == len(path)-1
		switch c := cur.(type) {
		case tree:
			if last {
				c[p] = value
				return
			}
			cur = c[p]
		case []any:
			var n int
			fmt.Sscan(p, &n)
			if last {
				c[n] = value
				return
			}
			cur = c[n]
		}
	}
}

// What kube-apiserver refuses in a definition is refused here, at the same fields for the same reasons.
func TestDefinitionsAreCheckedAsUpstream(t *testing.T) {
	type finding struct{ Field, Type string }
	type recorded struct {
		ID, Method string
		Changed    []struct {
			Field string
			Value any
		}
		Request json.RawMessage
		Status  int
		Causes  []finding
	}
	var cases []recorded
	data, err := os.ReadFile("testdata/validation.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &cases))
	require.Greater(t, len(cases), 20)
	var base struct{ Request json.RawMessage }
	data, err = os.ReadFile("testdata/crd.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &base))
	inBubble(t, func(t *testing.T, c *client) {
		for _, rec := range cases {
			var got tree
			if rec.Method == "PUT" {
				c.do("POST", definitions, base.Request, 201)
				d := c.conditions("widgets.a.test", ready)
				for _, ch := range rec.Changed {
					edit(d, ch.Field, ch.Value)
				}
				got = c.do("PUT", definitions+"/widgets.a.test?dryRun=All", d, rec.Status)
				c.do("DELETE", definitions+"/widgets.a.test", nil, 200)
				time.Sleep(5 * time.Second)
			} else {
				got = c.do("POST", definitions+"?dryRun=All", rec.Request, rec.Status)
			}
			var causes []finding
			list, _ := at(got, "details", "causes").([]any)
			for _, x := range list {
				causes = append(causes, finding{at(x, "field").(string), at(x, "reason").(string)})
			}
			require.ElementsMatch(t, rec.Causes, causes, "%s: %v", rec.ID, rec.Changed)
		}
	})
}

func BenchmarkCreateCustom(b *testing.B) {
	c := start(b, apiserver.Options{})
	c.do("POST", definitions, widget, 201)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.do("POST", widgets, json.RawMessage(fmt.Sprintf(`{"apiVersion":"a.test/v1","kind":"Widget","metadata":{"name":"w%d"},"spec":{"color":"red"}}`, i)), 201)
	}
}

var _ http.Handler = (*apiserver.Server)(nil)

// Of many definitions that want one short name at the same time exactly one gets it.
func TestNamesAreGivenOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		for i := range 10 {
			yaml := strings.NewReplacer("widgets", fmt.Sprintf("widgets%c", 'a'+i), "kind: Widget,", fmt.Sprintf("kind: Widget%c,", 'a'+i)).Replace(widget)
			c.do("POST", definitions, yaml, 201)
		}
		time.Sleep(5 * time.Second)
		accepted := 0
		list := c.do("GET", definitions, nil, 200)
		for _, d := range at(list, "items").([]any) {
			conditions, _ := at(d, "status", "conditions").([]any)
			for _, x := range conditions {
				if at(x, "type") == "NamesAccepted" && at(x, "status") == "True" {
					accepted++
				}
			}
		}
		require.Equal(t, 1, accepted)
	})
}

// What is stored at a former storage version is rewritten by any write, also by one that changes nothing, but
// only once. Then the definition may forget the version.
func TestWritesRewriteWhatIsStale(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		two := strings.Replace(widget, "  versions:\n", `  versions:
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, 1)
		c.do("POST", definitions, two, 201)
		stored := func(name string) string {
			kv, _, err := c.Registry().Store().Get(t.Context(), "/a.test/widgets/default/"+name)
			require.NoError(t, err)
			var obj tree
			require.NoError(t, json.Unmarshal(kv.Value, &obj))
			return obj["apiVersion"].(string)
		}
		apply := []string{"Content-Type", "application/apply-patch+yaml"}
		merge := []string{"Content-Type", "application/merge-patch+json"}
		writes := map[string]func(name string){
			"put":         func(name string) { c.do("PUT", widgets+"/"+name, c.do("GET", widgets+"/"+name, nil, 200), 200) },
			"merge-patch": func(name string) { c.do("PATCH", widgets+"/"+name, "{}", 200, merge...) },
			"apply": func(name string) {
				c.do("PATCH", widgets+"/"+name+"?fieldManager=me", object(name, "{size: 2}"), 200, apply...)
			},
			"status-patch": func(name string) { c.do("PATCH", widgets+"/"+name+"/status", "{}", 200, merge...) },
			"other-version": func(name string) {
				path := strings.Replace(widgets, "v1", "v2", 1) + "/" + name
				c.do("PUT", path, c.do("GET", path, nil, 200), 200)
			},
		}
		for name := range writes {
			c.do("PATCH", widgets+"/"+name+"?fieldManager=me", object(name, "{size: 2}"), 201, apply...)
			require.Equal(t, "a.test/v1", stored(name))
		}
		d := c.do("GET", definitions+"/widgets.a.test", nil, 200)
		versions := at(d, "spec", "versions").([]any)
		versions[0].(tree)["storage"], versions[1].(tree)["storage"] = true, false
		c.do("PUT", definitions+"/widgets.a.test", d, 200)
		time.Sleep(time.Second)
		for name, write := range writes {
			require.Equal(t, "a.test/v1", stored(name), name)
			version := func() any { return at(c.do("GET", widgets+"/"+name, nil, 200), "metadata", "resourceVersion") }
			before := version()
			c.do("PATCH", widgets+"/"+name+"?fieldManager=me&dryRun=All", object(name, "{size: 2}"), 200, apply...)
			require.Equal(t, before, version(), "%s: a dry run", name)
			write(name)
			require.Equal(t, "a.test/v2", stored(name), name)
			after := version()
			require.NotEqual(t, before, after, name)
			write(name)
			require.Equal(t, after, version(), "%s: once is enough", name)
		}
		c.do("PATCH", definitions+"/widgets.a.test/status", `{status: {storedVersions: [v2]}}`, 200, merge...)
		d = c.do("GET", definitions+"/widgets.a.test", nil, 200)
		d["spec"].(tree)["versions"] = at(d, "spec", "versions").([]any)[:1]
		d = c.do("PUT", definitions+"/widgets.a.test", d, 200)
		require.Equal(t, []any{"v2"}, at(d, "status", "storedVersions"))
		time.Sleep(time.Second)
		require.Len(t, at(c.do("GET", strings.Replace(widgets, "v1", "v2", 1), nil, 200), "items"), len(writes))
	})
}
