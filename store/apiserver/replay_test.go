package apiserver_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// TestHeaders replays requests against the status and headers of the real server.
func TestHeaders(t *testing.T) {
	var cases []struct {
		Case, Method, Path, Accept string
		Status                     int
		Headers                    map[string][]string
	}
	load(t, "testdata/headers.json", &cases)
	s := start(t, apiserver.Options{})
	s.do("POST", pods, pod("p")).ok(201)
	bodies := map[string]any{
		"dry run create":                    configMap("h"),
		"unknown field, warn":               `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"h"},"zap":1}`,
		"unknown field, no fieldValidation": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"h"},"zap":1}`,
		"short name warning":                pod("a.b"),
		"duplicate port warning":            `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"clusterIP":"None","externalIPs":["192.0.2.1"],"ports":[{"port":80}]}}`,
		"method not allowed":                pod("p"),
	}
	// Headers that depend on the connection, on sizes or on flow control.
	skip := []string{"Connection", "Date", "Content-Length", "Transfer-Encoding", "Last-Modified", "Accept-Ranges", "Etag",
		"X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid", "Process-Start-Time-Unix"}
	for _, c := range cases {
		switch c.Case {
		case "metrics", "componentstatuses", "openapi v3 index", "openapi v2":
			continue // hooks of a control plane, and documents with other headers
		}
		got := s.do(c.Method, c.Path, bodies[c.Case], "Accept", c.Accept)
		require.Equal(t, c.Status, got.code, "%s: %s", c.Case, got.body)
		for name, want := range c.Headers {
			if slices.Contains(skip, name) {
				continue
			}
			have := got.header.Values(name)
			if strings.Contains(fmt.Sprint(want), "<") {
				require.Len(t, have, len(want), "%s: %s", c.Case, name)
				continue
			}
			require.Equal(t, want, have, "%s: %s", c.Case, name)
		}
	}
}

// TestDeleteFlows replays deletes, finalizers, grace periods, scale, binding and eviction.
func TestDeleteFlows(t *testing.T) {
	var steps []struct {
		Step, Method, Path string
		Request            json.RawMessage
		Status             int
		Response           map[string]any
	}
	load(t, "testdata/delete_and_subresource_flows.json", &steps)
	s := start(t, apiserver.Options{})
	for _, name := range []string{"d1", "d3", "d4"} {
		s.do("POST", configMaps, configMap(name)).ok(201)
	}
	d2 := configMap("d2")
	d2["metadata"].(map[string]any)["finalizers"] = []string{"a.test/f"}
	s.do("POST", configMaps, d2).ok(201)
	for _, name := range []string{"e1", "e2"} {
		cm := configMap(name)
		cm["metadata"].(map[string]any)["labels"] = map[string]any{"z": "z"}
		s.do("POST", configMaps, cm).ok(201)
	}
	for _, name := range []string{"d5", "d6", "mfp"} {
		p := pod(name)
		if name == "d6" {
			p["spec"].(map[string]any)["nodeName"] = "n1"
		}
		s.do("POST", pods, p).ok(201)
	}
	s.do("POST", "/api/v1/namespaces", object{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "dn"}}).ok(201)
	s.do("POST", "/apis/apps/v1/namespaces/default/deployments", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"app:1"}]}}}}`).ok(201)
	for _, step := range steps {
		if step.Step == "create in terminating namespace" {
			continue // from an admission plugin
		}
		var body any
		if string(step.Request) != "null" {
			body = []byte(step.Request)
		}
		got := s.do(step.Method, step.Path, body)
		have := got.ok(step.Status)
		require.Equal(t, shapeOf("", step.Response), shapeOf("", map[string]any(have)), "%s: %s", step.Step, got.body)
	}
}

// shapeOf lists the paths and values of an object, leaving out what differs from run to run or comes from
// plugins.
func shapeOf(path string, v any) []string {
	ignored := regexp.MustCompile(`managedFields|annotations|\.(volumes|tolerations|priority|preemptionPolicy|serviceAccount|serviceAccountName|volumeMounts|resources|qosClass|defaultMode)\b`)
	varies := regexp.MustCompile(`\.(uid|resourceVersion|creationTimestamp|deletionTimestamp|message)$`)
	if ignored.MatchString(path) {
		return nil
	}
	var out []string
	switch x := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			out = append(out, shapeOf(path+"."+k, x[k])...)
		}
	case []any:
		for i, e := range x {
			out = append(out, shapeOf(fmt.Sprintf("%s[%d]", path, i), e)...)
		}
	default:
		if varies.MatchString(path) {
			return []string{path}
		}
		return []string{fmt.Sprintf("%s=%v", path, v)}
	}
	return out
}

// TestProtocol replays the real server's responses to invalid requests.
func TestProtocol(t *testing.T) {
	var cases []struct {
		ID, Case, Method, Path, ContentType, Setup string
		Request                                    json.RawMessage
		Status                                     int
		Reason                                     string
		Details                                    map[string]any
		Causes                                     []map[string]any
		Accept                                     string
	}
	load(t, "../../apimachinery/api/testdata/validation.json", &cases)
	// Responses of parts that this server does not have: plugins, authentication, custom resources, tokens.
	elsewhere := regexp.MustCompile(`CR |on CR|credentials|bad token|token |namespace absent|delete default namespace|tokenreview|selfrules`)
	fields := regexp.MustCompile(`priorityClassName|overhead`)
	for _, c := range cases {
		if !strings.HasPrefix(c.Case, "protocol") && c.Status == 422 || elsewhere.MatchString(c.Case) || fields.Match(c.Request) || strings.HasPrefix(c.Case, "update") {
			continue
		}
		t.Run(strings.TrimPrefix(c.Case, "protocol: ")+" "+c.ID, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // some responses take seconds
				s := start(t, apiserver.Options{})
				s.do("POST", pods, pod("p")).ok(201)
				s.do("POST", "/apis/apps/v1/namespaces/default/deployments", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"app:1"}]}}}}`).ok(201)
				if strings.Contains(c.Case, "apply conflict") {
					s.do("PATCH", configMaps+"/ap?fieldManager=one", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"ap"},"data":{"k":"1"}}`,
						"Content-Type", "application/apply-patch+yaml").ok(201)
				}
				var body any
				var raw struct{ RawText *string }
				switch {
				case json.Unmarshal(c.Request, &raw) == nil && raw.RawText != nil:
					body = *raw.RawText
				case c.Method == "GET" || c.Method == "DELETE" && string(c.Request) == "{}" || len(c.Request) == 0:
				default:
					body = []byte(c.Request)
				}
				var headers []string
				if c.ContentType != "" {
					headers = append(headers, "Content-Type", c.ContentType)
				}
				switch c.Case {
				case "protocol: bad accept":
					headers = append(headers, "Accept", "text/nope")
				case "protocol: table of unknown version":
					headers = append(headers, "Accept", "application/json;as=Table;v=v9;g=meta.k8s.io")
				}
				before := s.do("GET", pods, nil).ok(200).str("metadata.resourceVersion")
				got := s.do(c.Method, c.Path, body, headers...)
				if c.Status == 500 {
					require.True(t, got.code >= 400 && got.code < 500, "%d %s", got.code, got.body)
				} else {
					have := got.ok(c.Status)
					if c.Reason != "" {
						require.Equal(t, c.Reason, have.str("reason"))
					}
					for k, v := range c.Details {
						require.Equal(t, v, have.at("details."+k), "%s: %s", k, got.body)
					}
					causes, _ := have.at("details.causes").([]any)
					for _, want := range c.Causes {
						require.Contains(t, fmt.Sprint(causes), fmt.Sprint(want["type"]), "%s", got.body)
						if f, _ := want["field"].(string); f != "" {
							require.Contains(t, fmt.Sprint(causes), "field:"+f, "%s", got.body)
						}
					}
				}
				require.Equal(t, before, s.do("GET", pods, nil).ok(200).str("metadata.resourceVersion"), "something was stored")
				s.stop()
			})
		})
	}
}
