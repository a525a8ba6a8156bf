package crd_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// names are the objects of a list.
func names(list tree) []string {
	out := []string{}
	items, _ := at(list, "items").([]any)
	for _, it := range items {
		out = append(out, at(it, "metadata", "name").(string))
	}
	return out
}

// selected lists by a field.
func (c *client) selected(path, selector string) []string {
	c.t.Helper()
	return names(c.do("GET", path+"?fieldSelector="+url.QueryEscape(selector), nil, 200))
}

// follow opens a watch and returns its events as "TYPE name" until it ends.
func (c *client) follow(path string) <-chan string {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	lines := make(chan string, 100)
	served := make(chan struct{})
	go func() {
		defer close(served)
		c.ServeHTTP(&pipeWriter{w, http.Header{}}, httptest.NewRequest("GET", path, nil).WithContext(ctx))
		_ = w.Close()
	}()
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			kind, _, _ := strings.Cut(strings.TrimPrefix(s.Text(), `{"type":"`), `"`)
			_, name, _ := strings.Cut(s.Text(), `"name":"`)
			name, _, _ = strings.Cut(name, `"`)
			lines <- kind + " " + name
		}
	}()
	c.t.Cleanup(func() {
		cancel()
		_ = r.Close()
		<-served
	})
	return lines
}

type pipeWriter struct {
	io.Writer
	header http.Header
}

func (w *pipeWriter) Header() http.Header { return w.header }
func (w *pipeWriter) WriteHeader(int)     {}
func (w *pipeWriter) Flush()              {}

const coats = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: coats.a.test}
spec:
  group: a.test
  scope: Namespaced
  names: {plural: coats, kind: Coat}
  versions:
  - name: v1
    served: true
    storage: true
    selectableFields: [{jsonPath: .spec.color}]
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {color: {type: string}, size: {type: integer}}}}}}
  - name: v2
    served: true
    storage: false
    selectableFields: [{jsonPath: .spec.size}]
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {color: {type: string}, size: {type: integer, default: 7}}}}}}
  - name: v3
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {color: {type: string}, size: {type: integer}}}}}}
`

func coatsOf(version string) string { return "/apis/a.test/" + version + "/namespaces/default/coats" }

func coat(name, spec string) string {
	return "{apiVersion: a.test/v1, kind: Coat, metadata: {name: " + name + "}, spec: " + spec + "}"
}

// Every version selects by its own fields, as its readers see them, and by no others.
func TestFieldsOfVersions(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, coats, 201)
		c.do("POST", coatsOf("v1"), coat("red", "{color: red}"), 201)
		c.do("POST", coatsOf("v1"), coat("blue", "{color: blue, size: 2}"), 201)
		for range 2 { // from the first answer of the cache, and with what writes reported to it
			require.Equal(t, []string{"blue"}, c.selected(coatsOf("v1"), "spec.color=blue"))
			require.Equal(t, []string{"red"}, c.selected(coatsOf("v2"), "spec.size=7"), "by the default that v2 has")
			require.Equal(t, []string{"blue"}, c.selected(coatsOf("v2"), "spec.size!=7"))
			require.Equal(t, []string{"blue"}, c.selected(coatsOf("v3"), "metadata.name=blue"))
			c.do("DELETE", coatsOf("v2")+"/red", nil, 200)
			c.do("POST", coatsOf("v1"), coat("red", "{color: red}"), 201)
		}
		for version, field := range map[string]string{"v1": "spec.size", "v2": "spec.color", "v3": "spec.color"} {
			for _, verb := range []string{"GET", "DELETE"} {
				bad := c.do(verb, coatsOf(version)+"?fieldSelector="+field+"%3Dblue", nil, 400)
				require.Equal(t, "field label not supported: "+field, bad["message"])
			}
			c.send("GET", coatsOf(version)+"?watch=true&timeoutSeconds=1&fieldSelector="+field+"%3Dblue", nil, 400)
		}
		c.do("DELETE", coatsOf("v2")+"?fieldSelector=spec.size%3D7", nil, 200)
		require.Equal(t, []string{"blue"}, names(c.do("GET", coatsOf("v3"), nil, 200)))
	})
}

// A definition whose selectable fields change is followed at once: lists and new watches support exactly the
// new ones, for existing objects too, and open watches end, so that clients start new ones.
func TestFieldsOfADefinitionThatChanges(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, coats, 201)
		c.do("POST", coatsOf("v1"), coat("red", "{color: red}"), 201)
		c.do("POST", coatsOf("v1"), coat("blue", "{color: blue, size: 2}"), 201)
		old := c.follow(coatsOf("v1") + "?watch=true&fieldSelector=spec.color%3Dblue")
		require.Equal(t, "ADDED blue", <-old)

		patch := []string{"Content-Type", "application/json-patch+json"}
		c.do("PATCH", definitions+"/coats.a.test", `[
			{"op": "replace", "path": "/spec/versions/0/selectableFields", "value": [{"jsonPath": ".spec.size"}]},
			{"op": "add", "path": "/spec/versions/2/selectableFields", "value": [{"jsonPath": ".spec.color"}]}]`, 200, patch...)
		synctest.Wait()
		_, more := <-old
		require.False(t, more, "ended")
		c.do("GET", coatsOf("v1")+"?fieldSelector=spec.color%3Dblue", nil, 400)
		require.Equal(t, []string{"blue"}, c.selected(coatsOf("v1"), "spec.size=2"))
		require.Equal(t, []string{"red"}, c.selected(coatsOf("v1"), "spec.size="))
		require.Equal(t, []string{"red"}, c.selected(coatsOf("v3"), "spec.color=red"))
		watch := c.follow(coatsOf("v3") + "?watch=true&fieldSelector=spec.color%3Dred")
		require.Equal(t, "ADDED red", <-watch)
		c.do("PATCH", coatsOf("v1")+"/blue", `{spec: {color: red}}`, 200, "Content-Type", "application/merge-patch+json")
		require.Equal(t, "ADDED blue", <-watch)
		c.do("PATCH", coatsOf("v2")+"/red", `{spec: {color: blue}}`, 200, "Content-Type", "application/merge-patch+json")
		require.Equal(t, "DELETED red", <-watch)

		// Another default is another value, though nothing is written.
		require.Equal(t, []string{}, c.selected(coatsOf("v2"), "spec.size=8"))
		c.do("POST", coatsOf("v1"), coat("none", "{color: blue}"), 201)
		c.do("PATCH", definitions+"/coats.a.test", `[{"op": "replace", "path": "/spec/versions/1/schema/openAPIV3Schema/properties/spec/properties/size/default", "value": 8}]`, 200, patch...)
		synctest.Wait()
		require.Equal(t, []string{"none"}, c.selected(coatsOf("v2"), "spec.size=8"))

		// A change of anything else ends no watch.
		c.do("PATCH", definitions+"/coats.a.test", `[{"op": "remove", "path": "/spec/versions/1/selectableFields"}]`, 200, patch...)
		synctest.Wait()
		kept := c.follow(coatsOf("v3") + "?watch=true&fieldSelector=spec.color%3Dgreen")
		c.do("PATCH", definitions+"/coats.a.test", `[{"op": "add", "path": "/spec/names/shortNames", "value": ["ct"]}]`, 200, patch...)
		synctest.Wait()
		c.do("POST", coatsOf("v1"), coat("green", "{color: green}"), 201)
		require.Equal(t, "ADDED green", <-kept)
	})
}

// Requests during a change get the result from before or after it, or refused with an error that asks
// for a retry.
func TestListsWhileFieldsChange(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, coats, 201)
		c.do("POST", coatsOf("v1"), coat("red", "{color: red}"), 201)
		c.selected(coatsOf("v1"), "spec.color=red")
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 20 {
				c.do("PATCH", definitions+"/coats.a.test", `[{"op": "add", "path": "/spec/versions/2/selectableFields", "value": [{"jsonPath": ".spec.`+[]string{"size", "color"}[i%2]+`"}]}]`,
					200, "Content-Type", "application/json-patch+json")
			}
		}()
		for end := false; !end; {
			select {
			case <-done:
				end = true
			default:
			}
			w := httptest.NewRecorder()
			c.ServeHTTP(w, httptest.NewRequest("GET", coatsOf("v1")+"?fieldSelector=spec.color%3Dred", nil))
			if w.Code != 429 {
				require.Equal(t, 200, w.Code, w.Body.String())
				require.Contains(t, w.Body.String(), `"name":"red"`)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// With a conversion webhook each version selects by its own fields, wherever they are in the stored version.
func TestFieldsOfConvertedObjects(t *testing.T) {
	var failing atomic.Bool
	var asked atomic.Int64
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if failing.Load() {
			http.Error(w, "no", 500)
			return
		}
		converter(w, r)
	}))
	defer hook.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	c := start(t, apiserver.Options{})
	yaml := strings.NewReplacer("URL", hook.URL, "caBundle: CA", "caBundle: "+base64.StdEncoding.EncodeToString(authority),
		"{name: v1, ", "{name: v1, selectableFields: [{jsonPath: .spec.size}], ", "{name: v2, ", "{name: v2, selectableFields: [{jsonPath: .spec.length}], ").Replace(twoVersions)
	c.do("POST", definitions, yaml, 201)
	v1, v2 := "/apis/a.test/v1/namespaces/default/rods", "/apis/a.test/v2/namespaces/default/rods"
	rod := func(name string, size int) string {
		return fmt.Sprintf("{apiVersion: a.test/v1, kind: Rod, metadata: {name: %s}, spec: {size: %d}}", name, size)
	}
	for i := range 5 {
		c.do("POST", v1, rod(fmt.Sprint("r", i), i), 201)
	}
	asked.Store(0)
	require.Equal(t, []string{"r3"}, c.selected(v2, "spec.length=30"))
	require.Equal(t, int64(1), asked.Load(), "about all at once")
	require.Equal(t, []string{"r3"}, c.selected(v1, "spec.size=3"))
	require.Equal(t, []string{"r4"}, c.selected(v2, "spec.length!=30,spec.length!=20,spec.length!=10,spec.length!=0"))
	c.do("GET", v2+"?fieldSelector=spec.size%3D3", nil, 400)
	page := c.do("GET", v2+"?limit=1&fieldSelector=spec.length!%3D10", nil, 200)
	require.Equal(t, []string{"r0"}, names(page))
	page = c.do("GET", v2+"?limit=1&fieldSelector=spec.length!%3D10&continue="+at(page, "metadata", "continue").(string), nil, 200)
	require.Equal(t, []string{"r2"}, names(page))

	watch := c.follow(v2 + "?watch=true&fieldSelector=spec.length%3D30")
	require.Equal(t, "ADDED r3", <-watch)
	c.do("POST", v1, rod("new", 3), 201)
	require.Equal(t, "ADDED new", <-watch)
	c.do("PATCH", v1+"/r3", `{spec: {size: 1}}`, 200, "Content-Type", "application/merge-patch+json")
	require.Equal(t, "DELETED r3", <-watch)
	c.do("DELETE", v2+"?fieldSelector=spec.length%3D0", nil, 200)
	require.Equal(t, []string{"new", "r1", "r2", "r3", "r4"}, names(c.do("GET", v1, nil, 200)))

	// Objects that cannot be distinguished are an error, not left out.
	failing.Store(true)
	c.do("POST", v1, rod("dark", 9), 201)
	require.Equal(t, "ERROR ", <-watch)
	bad := c.do("GET", v2+"?fieldSelector=spec.length%3D30", nil, 500)
	require.Contains(t, bad["message"], "conversion webhook")
	failing.Store(false)
	require.Equal(t, []string{"dark"}, c.selected(v2, "spec.length=90"))
}
