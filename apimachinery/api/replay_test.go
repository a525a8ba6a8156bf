package api_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// exchange is one recorded request to a real API server and what came back; the files under
// testdata hold one per line.
type exchange struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Case     string          `json:"case"`
	Method   string          `json:"method"`
	Path     string          `json:"path"`
	Changed  []change        `json:"changed"`
	Request  json.RawMessage `json:"request"`
	Status   int             `json:"status"`
	Response json.RawMessage `json:"response"`
	// PureResponse is the response without the mutating admission plugins, where it differs.
	PureResponse json.RawMessage `json:"responseWithoutAdmissionPlugins"`
	Causes       []cause         `json:"causes"`
}

type cause struct {
	Field string `json:"field"`
	Type  string `json:"type"`
}

type change struct {
	Field string          `json:"field"`
	Value json.RawMessage `json:"value"`
}

func loadExchanges(t testing.TB, file string) []exchange {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	var list []exchange
	require.NoError(t, json.Unmarshal(data, &list))
	return list
}

// serverScheme is all built-in kinds with their rules.
func serverScheme(t testing.TB) *scheme.Scheme {
	t.Helper()
	s := api.Scheme().Clone()
	require.NoError(t, api.AddRules(s))
	require.NoError(t, openapi.AddRules(s))
	return s
}

// decode makes the object of a JSON body, and its registration.
func decode(s *scheme.Scheme, body []byte) (metav1.Object, *scheme.Info, error) {
	var tm metav1.TypeMeta
	if err := json.Unmarshal(body, &tm); err != nil {
		return nil, nil, err
	}
	info := s.ForKind(schema.FromAPIVersionAndKind(tm.APIVersion, tm.Kind))
	if info == nil {
		return nil, nil, os.ErrNotExist
	}
	obj := info.New()
	return obj, info, codec.Unmarshal(body, obj)
}

// namespaceOf is the namespace in a request path, or "".
func namespaceOf(path string) string {
	_, rest, ok := strings.Cut(path, "/namespaces/")
	if !ok {
		return ""
	}
	ns, rest, _ := strings.Cut(rest, "/")
	if rest == "" {
		return ""
	}
	return ns
}

// edit applies the recorded changes to a JSON object.
func edit(t testing.TB, body []byte, changes []change) []byte {
	t.Helper()
	var doc any
	require.NoError(t, json.Unmarshal(body, &doc))
	for _, c := range changes {
		doc = set(t, doc, strings.Split(c.Field, "."), c.Value)
	}
	out, err := json.Marshal(doc)
	require.NoError(t, err)
	return out
}

func set(t testing.TB, doc any, path []string, raw json.RawMessage) any {
	t.Helper()
	if len(path) == 0 {
		var v any
		require.NoError(t, json.Unmarshal(raw, &v))
		return v
	}
	deleted := len(path) == 1 && string(raw) == `"<deleted>"`
	switch doc := doc.(type) {
	case map[string]any:
		if deleted {
			delete(doc, path[0])
			return doc
		}
		doc[path[0]] = set(t, doc[path[0]], path[1:], raw)
		return doc
	case []any:
		i, err := strconv.Atoi(path[0])
		require.NoError(t, err)
		if i == len(doc) {
			doc = append(doc, nil)
		}
		doc[i] = set(t, doc[i], path[1:], raw)
		return doc
	case nil:
		return map[string]any{path[0]: set(t, nil, path[1:], raw)}
	}
	t.Fatalf("cannot set %v", path)
	return nil
}
