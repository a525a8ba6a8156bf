package apiserver_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// TestValidationOverHTTP replays every recorded create that a real server refused, and compares the causes.
func TestValidationOverHTTP(t *testing.T) {
	var cases []struct {
		ID, Case, Method, Path string
		Request                json.RawMessage
		Status                 int
		Reason                 string
		Details                map[string]any
		Changed                json.RawMessage
		Causes                 []struct{ Field, Type string }
	}
	load(t, "../../apimachinery/api/testdata/validation.json", &cases)
	elsewhere := map[string]string{
		"506": "the record leaves out the certificate request", "507": "the record leaves out the certificate request",
		"508": "the record leaves out the certificate request",
		"472": "rules of schemas are compiled where custom resources are served",
	}
	synctest.Test(t, func(t *testing.T) {
		s := start(t, apiserver.Options{Computed: reviews(t)})
		n := 0
		for _, c := range cases {
			if c.Method != "POST" || c.Status != 422 || strings.HasPrefix(c.Case, "protocol") || elsewhere[c.ID] != "" {
				continue
			}
			n++
			got := s.do(c.Method, c.Path, []byte(written(string(c.Request)))).ok(c.Status)
			require.Equal(t, c.Reason, got.str("reason"), c.ID)
			for k, v := range c.Details {
				random := c.ID == "028" && k == "name" // generated
				if have := got.at("details." + k); have != v && !random {
					t.Errorf("%s %s: details.%s is %v, want %v", c.ID, c.Case, k, have, v)
				}
			}
			var want, have []string
			for _, w := range c.Causes {
				want = append(want, w.Field+" "+w.Type)
			}
			causes, _ := got.at("details.causes").([]any)
			for _, x := range causes {
				m, _ := x.(map[string]any)
				have = append(have, fmt.Sprintf("%v %v", m["field"], m["reason"]))
			}
			slices.Sort(want)
			slices.Sort(have)
			if !slices.Equal(slices.Compact(want), slices.Compact(have)) {
				t.Errorf("%s %s %.200s: want %q, have %q", c.ID, c.Case, c.Changed, want, have)
			}
		}
		require.Greater(t, n, 350)
		s.stop()
	})
}

// TestUpdatesOverHTTP replays the recorded updates, refused and accepted ones, on objects made as for the
// record.
func TestUpdatesOverHTTP(t *testing.T) {
	type change struct {
		Field string
		Value json.RawMessage
	}
	type record struct {
		ID, Name, Case, Method, Path string
		Request                      json.RawMessage
		Status                       int
		Changed                      []change
		Causes                       []struct{ Field, Type string }
	}
	var refused, accepted, objects []record
	load(t, "../../apimachinery/api/testdata/validation.json", &refused)
	load(t, "../../apimachinery/api/testdata/accepted.json", &accepted)
	load(t, "../../apimachinery/api/testdata/defaulting.json", &objects)
	made := map[string]record{}
	for _, o := range objects {
		made[o.Name] = o
	}
	n := 0
	for _, c := range slices.Concat(refused, accepted) {
		base, ok := made[strings.TrimPrefix(c.Case, "update ")]
		if !ok || !strings.HasPrefix(c.Case, "update ") || strings.Contains(string(base.Request), "<PEM") || strings.HasSuffix(c.Case, " crd") {
			continue // definitions are served by another package
		}
		n++
		t.Run(fmt.Sprintf("%s %s %.60s", c.Case, c.ID, c.Changed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, apiserver.Options{})
				path, _, _ := strings.Cut(base.Path, "?")
				s.do("POST", path, []byte(base.Request)).ok(201)
				item, _, _ := strings.Cut(c.Path, "?")
				obj := s.do("GET", item, nil).ok(200)
				for _, ch := range c.Changed {
					apply(t, obj, strings.Split(ch.Field, "."), ch.Value)
				}
				body, err := json.Marshal(obj)
				require.NoError(t, err)
				got := s.do("PUT", c.Path, body).ok(c.Status)
				want, have := []string{}, []string{}
				for _, w := range c.Causes {
					want = append(want, w.Field+" "+w.Type)
				}
				causes, _ := got.at("details.causes").([]any)
				for _, x := range causes {
					m, _ := x.(map[string]any)
					have = append(have, fmt.Sprintf("%v %v", m["field"], m["reason"]))
				}
				slices.Sort(want)
				slices.Sort(have)
				require.Equal(t, slices.Compact(want), slices.Compact(have))
				s.stop()
			})
		})
	}
	require.Greater(t, n, 30)
}

// apply sets or deletes one field of a JSON object.
func apply(t *testing.T, doc any, path []string, raw json.RawMessage) {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(raw, &v))
	for i, name := range path {
		last := i == len(path)-1
		var m map[string]any
		switch d := doc.(type) {
		case object:
			m = d
		case map[string]any:
			m = d
		case []any:
			var at int
			fmt.Sscan(name, &at)
			if last {
				d[at] = v
				return
			}
			doc = d[at]
			continue
		}
		list, isList := m[name].([]any)
		switch {
		case last && v == "<deleted>":
			delete(m, name)
		case last:
			m[name] = v
		case isList && i == len(path)-2 && path[i+1] == fmt.Sprint(len(list)):
			m[name] = append(list, v) // the index is one past the end
			return
		}
		doc = m[name]
	}
}

// written writes out the values that the records abbreviate as "<a repeated 9 times>".
func written(s string) string {
	for {
		before, rest, ok := strings.Cut(s, "<a repeated ")
		if !ok {
			return s
		}
		count, after, _ := strings.Cut(rest, " times>")
		n := 0
		fmt.Sscan(count, &n)
		s = before + strings.Repeat("a", n) + after
	}
}
