package crd_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/crd"
)

// converter is a webhook: v1 has spec.size, v2 has spec.length, ten times as much.
func converter(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var review tree
	_ = json.Unmarshal(body, &review)
	request := review["request"].(tree)
	to := request["desiredAPIVersion"].(string)
	var out []any
	for _, o := range request["objects"].([]any) {
		obj := o.(tree)
		spec, _ := obj["spec"].(tree)
		if size, ok := spec["size"].(float64); ok && strings.HasSuffix(to, "v2") {
			spec["length"] = size * 10
			delete(spec, "size")
		}
		if length, ok := spec["length"].(float64); ok && strings.HasSuffix(to, "v1") {
			spec["size"] = length / 10
			delete(spec, "length")
		}
		obj["apiVersion"] = to
		out = append(out, obj)
	}
	_ = json.NewEncoder(w).Encode(tree{"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": tree{
		"uid": request["uid"], "result": tree{"status": "Success"}, "convertedObjects": out,
	}})
}

const twoVersions = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rods.a.test}
spec:
  group: a.test
  scope: Namespaced
  names: {plural: rods, kind: Rod}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "URL", caBundle: CA}}}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {length: {type: integer}}}}}}}
`

func TestWebhookConversion(t *testing.T) {
	var asked atomic.Int64
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		converter(w, r)
	}))
	defer hook.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	c := start(t, apiserver.Options{})
	yaml := strings.NewReplacer("URL", hook.URL, "caBundle: CA", "caBundle: "+base64.StdEncoding.EncodeToString(authority)).Replace(twoVersions)
	c.do("POST", definitions, yaml, 201)

	v1, v2 := "/apis/a.test/v1/namespaces/default/rods", "/apis/a.test/v2/namespaces/default/rods"
	c.do("POST", v1, "{apiVersion: a.test/v1, kind: Rod, metadata: {name: one, labels: {a: b}}, spec: {size: 2}}", 201)
	got := c.do("GET", v2+"/one", nil, 200)
	require.Equal(t, "a.test/v2", at(got, "apiVersion"))
	require.Equal(t, int64(20), at(got, "spec", "length"))
	require.Equal(t, "b", at(got, "metadata", "labels", "a"))
	made := c.do("POST", v2, "{apiVersion: a.test/v2, kind: Rod, metadata: {name: two}, spec: {length: 50}}", 201)
	require.Equal(t, int64(50), at(made, "spec", "length"))
	require.Equal(t, int64(5), at(c.do("GET", v1+"/two", nil, 200), "spec", "size"))
	c.do("PATCH", v2+"/two", `{spec: {length: 70}}`, 200, "Content-Type", "application/merge-patch+json")
	require.Equal(t, int64(7), at(c.do("GET", v1+"/two", nil, 200), "spec", "size"))
	list := c.do("GET", v2, nil, 200)
	require.Len(t, at(list, "items"), 2)
	require.Equal(t, int64(20), at(list, "items", 0, "spec", "length"))

	// A list is one call of the webhook, and converted objects are not sent again.
	for i := range 20 {
		c.do("POST", v1, fmt.Sprintf("{apiVersion: a.test/v1, kind: Rod, metadata: {name: n%02d}, spec: {size: %d}}", i, i), 201)
	}
	asked.Store(0)
	list = c.do("GET", v2, nil, 200)
	require.Len(t, at(list, "items"), 22)
	require.Equal(t, int64(190), at(list, "items", 19, "spec", "length"))
	require.Equal(t, int64(1), asked.Load())
	c.do("GET", v2, nil, 200, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	c.do("GET", v2+"/n07", nil, 200)
	require.LessOrEqual(t, asked.Load(), int64(2), "a single read goes to the store, whose answer the cache may not have yet")

	// So are the events that wait for a watch.
	for i := range 20 {
		c.do("POST", v1, fmt.Sprintf("{apiVersion: a.test/v1, kind: Rod, metadata: {name: m%02d}, spec: {size: %d}}", i, i), 201)
	}
	asked.Store(0)
	events := c.added(v2, 42)
	require.Contains(t, events, `"length":190`)
	require.LessOrEqual(t, asked.Load(), int64(2), "twenty were new")

	// When the storage version changes, what is stored in the former one is converted for the new one's
	// readers too.
	c.do("PATCH", definitions+"/rods.a.test", `[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`,
		200, "Content-Type", "application/json-patch+json")
	c.eventually("stored as v2", func() bool {
		got := c.do("GET", v2+"/n03", nil, 200)
		return at(got, "spec", "length") == int64(30)
	})
	require.Equal(t, int64(3), at(c.do("GET", v1+"/n03", nil, 200), "spec", "size"))
}

// addedRecorder records the response of a watch until it has that many events of objects.
type addedRecorder struct {
	*httptest.ResponseRecorder
	n   int
	end context.CancelFunc
}

// Write implements http.ResponseWriter.
func (w *addedRecorder) Write(b []byte) (int, error) {
	n, err := w.ResponseRecorder.Write(b)
	if strings.Count(w.Body.String(), `"type":"ADDED"`) >= w.n {
		w.end()
	}
	return n, err
}

// added watches a resource until n objects have been delivered, and returns their events.
func (c *client) added(path string, n int) string {
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	w := &addedRecorder{httptest.NewRecorder(), n, cancel}
	c.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", path+"?watch=true", nil))
	require.Equal(c.t, 200, w.Code, "%s", w.Body)
	require.Equal(c.t, n, strings.Count(w.Body.String(), `"type":"ADDED"`))
	return w.Body.String()
}

// A call of the webhook ends when the client whose request needs the conversion disconnects, and later
// requests convert again.
func TestConversionEndsWithTheRequest(t *testing.T) {
	var hang atomic.Bool
	arrived, ended := make(chan struct{}), make(chan struct{})
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hang.Load() {
			converter(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the connection is closed
		arrived <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	}))
	defer hook.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	c := start(t, apiserver.Options{})
	yaml := strings.NewReplacer("URL", hook.URL, "caBundle: CA", "caBundle: "+base64.StdEncoding.EncodeToString(authority)).Replace(twoVersions)
	c.do("POST", definitions, yaml, 201)
	v1, v2 := "/apis/a.test/v1/namespaces/default/rods", "/apis/a.test/v2/namespaces/default/rods"
	c.do("POST", v1, "{apiVersion: a.test/v1, kind: Rod, metadata: {name: one}, spec: {size: 2}}", 201)
	c.do("GET", v1, nil, 200) // the watch cache runs

	for name, request := range map[string]struct{ method, path, body string }{
		"get":    {"GET", v2 + "/one", ""},
		"list":   {"GET", v2, ""},
		"table":  {"GET", v2 + "?as=table", ""},
		"watch":  {"GET", v2 + "?watch=true", ""},
		"create": {"POST", v2, `{"apiVersion":"a.test/v2","kind":"Rod","metadata":{"name":"two"},"spec":{"length":50}}`},
		"delete": {"DELETE", v2 + "/one", ""},
	} {
		t.Run(name, func(t *testing.T) {
			hang.Store(true)
			defer hang.Store(false)
			ctx, cancel := context.WithCancel(t.Context())
			r := httptest.NewRequestWithContext(ctx, request.method, request.path, strings.NewReader(request.body))
			r.Header.Set("Content-Type", "application/json")
			if name == "table" {
				r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
			}
			served := make(chan struct{})
			go func() {
				defer close(served)
				c.ServeHTTP(httptest.NewRecorder(), r)
			}()
			<-arrived
			cancel()
			<-ended
			<-served
		})
	}
	require.Equal(t, int64(20), at(c.do("GET", v2+"/one", nil, 200), "spec", "length"))
	require.Len(t, at(c.do("GET", v2, nil, 200), "items"), 1)
}

func TestWebhookThatFails(t *testing.T) {
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) }))
	defer hook.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	c := start(t, apiserver.Options{})
	yaml := strings.NewReplacer("URL", hook.URL, "caBundle: CA", "caBundle: "+base64.StdEncoding.EncodeToString(authority)).Replace(twoVersions)
	c.do("POST", definitions, yaml, 201)
	c.do("POST", "/apis/a.test/v1/namespaces/default/rods", "{apiVersion: a.test/v1, kind: Rod, metadata: {name: one}, spec: {size: 2}}", 201)
	bad := c.do("GET", "/apis/a.test/v2/namespaces/default/rods/one", nil, 500)
	require.Contains(t, at(bad, "message"), "conversion webhook")
}

// Conversions are reported with the reason of their failure.
func TestConversionsAreReported(t *testing.T) {
	var answer http.HandlerFunc
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer hook.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	seen := make(chan crd.Conversion, 100)
	c := start(t, apiserver.Options{Metrics: apiserver.Metrics{Custom: crd.Metrics{Converted: func(v crd.Conversion) { seen <- v }}}})
	yaml := strings.NewReplacer("URL", hook.URL, "caBundle: CA", "caBundle: "+base64.StdEncoding.EncodeToString(authority)).Replace(twoVersions)
	c.do("POST", definitions, yaml, 201)
	c.do("POST", "/apis/a.test/v1/namespaces/default/rods", "{apiVersion: a.test/v1, kind: Rod, metadata: {name: one}, spec: {size: 2}}", 201)
	reply := func(response string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var review struct{ Request struct{ UID string } }
			_ = json.NewDecoder(r.Body).Decode(&review)
			fmt.Fprintf(w, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":%q,%s}}`, review.Request.UID, response)
		}
	}
	for want, how := range map[crd.ConversionFailure]http.HandlerFunc{
		"":                   converter,
		crd.CallFailed:       func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) },
		crd.ResponseInvalid:  reply(`"result":{"status":"Failure","message":"no"}`),
		crd.ResponsePartial:  reply(`"result":{"status":"Success"},"convertedObjects":[]`),
		crd.ConvertedInvalid: reply(`"result":{"status":"Success"},"convertedObjects":[{"apiVersion":"a.test/v2","kind":"Rod","metadata":{"name":"two"}}]`),
	} {
		answer = how
		code := 500
		if want == "" {
			code = 200
		}
		c.do("GET", "/apis/a.test/v2/namespaces/default/rods/one", nil, code)
		got := <-seen
		require.Positive(t, got.Elapsed)
		got.Elapsed = 0
		require.Equal(t, crd.Conversion{Definition: "rods.a.test", From: "v1", To: "v2", Failure: want}, got)
	}
}
