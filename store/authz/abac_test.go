package authz_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// abacLine returns a line of a policy file.
func abacLine(spec string) string {
	return `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{` + spec + "}}\n"
}

func TestABAC(t *testing.T) {
	z, err := authz.ParseABAC([]byte("# comment\n\n" + abacLine(`"user":"ann","namespace":"team","resource":"pods","readonly":true`) +
		abacLine(`"group":"ops","namespace":"*","resource":"*","apiGroup":"*"`) + "  # another\r\n" + abacLine(`"user":"*","nonResourcePath":"/health*","readonly":true`) +
		abacLine(`"user":"bob","group":"*","resource":"nodes"`)))
	require.NoError(t, err)
	known := func(name string, groups ...string) *authn.User {
		return &authn.User{Name: name, Groups: append(groups, authn.GroupAuthenticated)}
	}
	path := func(u *authn.User, verb, path string) authz.Attributes {
		return authz.Attributes{User: u, Verb: verb, Path: path}
	}
	ann, bob, olaf := known("ann"), known("bob"), known("olaf", "ops")
	for _, c := range []struct {
		a    authz.Attributes
		want authz.Decision
	}{
		{resource(ann, "list", "team", "", "pods", "", ""), authz.Allow},
		{resource(ann, "get", "team", "", "pods", "log", "p"), authz.Allow},
		{resource(ann, "delete", "team", "", "pods", "", "p"), authz.NoOpinion},
		{resource(ann, "list", "", "", "pods", "", ""), authz.NoOpinion},
		{resource(ann, "list", "team", "apps", "pods", "", ""), authz.NoOpinion},
		{resource(olaf, "delete", "x", "apps", "deployments", "", "d"), authz.Allow},
		{path(olaf, "get", "/metrics"), authz.NoOpinion},
		{path(ann, "get", "/healthz/x"), authz.Allow},
		{path(ann, "post", "/healthz"), authz.NoOpinion},
		{path(&authn.User{Name: authn.Anonymous, Groups: []string{authn.GroupUnauthenticated}}, "get", "/healthz"), authz.NoOpinion},
		{resource(bob, "delete", "", "", "nodes", "", "n"), authz.Allow},
		{resource(ann, "delete", "", "", "nodes", "", "n"), authz.NoOpinion}, // the line is for bob
		{resource(nil, "get", "", "", "nodes", "", "n"), authz.NoOpinion},
	} {
		d, reason, err := z.Authorize(t.Context(), c.a)
		require.NoError(t, err)
		require.Equal(t, c.want, d, "%+v", c.a)
		if d == authz.NoOpinion {
			require.Equal(t, "No policy matched.", reason)
		}
	}
	res, non, incomplete, err := z.RulesFor(t.Context(), ann, "team")
	require.NoError(t, err)
	require.False(t, incomplete)
	require.Equal(t, []authz.ResourceRule{{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"pods"}}}, res)
	require.Equal(t, []authz.NonResourceRule{{Verbs: []string{"get", "list", "watch"}, NonResourceURLs: []string{"/health*"}}}, non)

	for text, want := range map[string]string{
		"\n\n{":                "authz: line 3: ",
		"{}":                   `authz: line 1: want kind Policy of abac.authorization.kubernetes.io/v1beta1, got "" of ""`,
		abacLine(``):           "line 1: spec names neither user nor group",
		abacLine(`"user":"a"`): "spec names neither resource nor nonResourcePath",
		abacLine(`"user":"a","resource":"r","readOnly":true`):            `unknown field "spec.readOnly"`,
		"\n" + abacLine(`"user":"a","resource":"r","user":"b"`):          "line 2: duplicate field",
		strings.TrimSpace(abacLine(`"user":"a","resource":"r"`)) + " {}": "line 1: ",
		`{"user":"a","resource":"r"}`:                                    "line 1: ",
	} {
		_, err := authz.ParseABAC([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// abacModel decides by each line on its own, as the format is documented.
func abacModel(lines []map[string]any, a authz.Attributes) bool {
	text := func(l map[string]any, field string) string { s, _ := l[field].(string); return s }
	return slices.ContainsFunc(lines, func(l map[string]any) bool {
		if u := text(l, "user"); u != "" && u != a.User.Name && (u != "*" || !slices.Contains(a.User.Groups, authn.GroupAuthenticated)) {
			return false
		}
		if g := text(l, "group"); g == "*" && !slices.Contains(a.User.Groups, authn.GroupAuthenticated) || g != "" && g != "*" && !slices.Contains(a.User.Groups, g) {
			return false
		}
		if l["readonly"] == true && a.Verb != "get" && a.Verb != "list" && a.Verb != "watch" {
			return false
		}
		if !a.ResourceRequest {
			p := text(l, "nonResourcePath")
			return p != "" && (p == a.Path || strings.HasSuffix(p, "*") && strings.HasPrefix(a.Path, strings.TrimRight(p, "*")))
		}
		for field, value := range map[string]string{"namespace": a.Namespace, "resource": a.Resource, "apiGroup": a.APIGroup} {
			if p := text(l, field); p != "*" && p != value {
				return false
			}
		}
		return text(l, "resource") != ""
	})
}

func TestABACModel(t *testing.T) {
	allowed, tried := 0, seeds.Of(t, 300)
	for _, seed := range tried {
		r := seeds.Rand(seed)
		one := func(of ...string) string { return of[r.IntN(len(of))] }
		var lines []map[string]any
		var file strings.Builder
		for range 1 + r.IntN(6) {
			l := map[string]any{"user": one("", "a", "b", "*"), "group": one("", "", "g", "h", "*"), "namespace": one("", "n", "*"), "resource": one("", "p", "q", "*"),
				"apiGroup": one("", "x", "*"), "nonResourcePath": one("", "*", "/a", "/a*", "/a**"), "readonly": r.IntN(2) == 0}
			if l["user"] == "" && l["group"] == "" || l["resource"] == "" && l["nonResourcePath"] == "" {
				continue
			}
			lines = append(lines, l)
			spec, err := json.Marshal(l)
			require.NoError(t, err)
			fmt.Fprint(&file, abacLine(strings.Trim(string(spec), "{}")))
		}
		z, err := authz.ParseABAC([]byte(file.String()))
		require.NoError(t, err)
		for range 50 {
			u := &authn.User{Name: one("a", "b", "c")}
			for _, g := range []string{"g", "h", "g", authn.GroupAuthenticated} {
				if r.IntN(2) == 0 {
					u.Groups = append(u.Groups, g)
				}
			}
			a := authz.Attributes{User: u, Verb: one("get", "watch", "create", "delete"), ResourceRequest: r.IntN(2) == 0}
			if a.ResourceRequest {
				a.Namespace, a.Resource, a.APIGroup, a.Name = one("", "n", "m"), one("p", "q"), one("", "x"), one("", "o")
			} else {
				a.Path = one("/a", "/a/b", "/a*", "/b")
			}
			d, _, err := z.Authorize(t.Context(), a)
			require.NoError(t, err)
			require.Equal(t, abacModel(lines, a), d == authz.Allow, "seed %d: %s\n%+v of %+v", seed, &file, a, u)
			if d == authz.Allow {
				allowed++
			}
		}
	}
	require.Greater(t, allowed, len(tried), "the model is not of nothing")
}

// What is accepted can be asked.
func FuzzParseABAC(f *testing.F) {
	f.Add(abacLine(`"user":"ann","resource":"pods"`))
	f.Add("#\n\n" + abacLine(`"group":"*","nonResourcePath":"*"`) + abacLine(`"user":"*","group":"g","resource":"*","namespace":"*","apiGroup":"*","readonly":true`))
	f.Fuzz(func(t *testing.T, text string) {
		z, err := authz.ParseABAC([]byte(text))
		if err != nil {
			require.ErrorContains(t, err, "authz: line ")
			return
		}
		_, _, err = z.Authorize(t.Context(), resource(&authn.User{Name: "ann", Groups: []string{"g"}}, "get", "", "", "pods", "", "p"))
		require.NoError(t, err)
	})
}
