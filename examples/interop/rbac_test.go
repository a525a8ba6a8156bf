package interop

import (
	stdjson "encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	upstream "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/authz"
)

// randomRules are rules of few words, so that some cover others; among them are rules that no server stores.
func randomRules(r *rand.Rand) []upstream.PolicyRule {
	some := func(from ...string) (out []string) {
		for range r.IntN(3) {
			out = append(out, from[r.IntN(len(from))])
		}
		return out
	}
	rules := make([]upstream.PolicyRule, r.IntN(4))
	for i := range rules {
		rules[i] = upstream.PolicyRule{Verbs: some("get", "list", "create", "*")}
		if r.IntN(4) == 0 {
			rules[i].NonResourceURLs = some("/a", "/a/*", "/a/b", "*", "/**", "")
			continue
		}
		rules[i].APIGroups, rules[i].Resources = some("", "apps", "*"), some("pods", "pods/log", "*/log", "*/", "/log", "pods/log/x", "deployments", "*", "*/*")
		rules[i].ResourceNames = some("x", "y", "")
	}
	return rules
}

// Whether some rules cover others, which decides who may write a role, and which parts are not covered, is
// what Kubernetes says.
func TestCoversAsUpstream(t *testing.T) {
	covered, refused := 0, 0
	ours := func(rules []upstream.PolicyRule) (out []rbacv1.PolicyRule) {
		data, err := stdjson.Marshal(rules)
		require.NoError(t, err)
		require.NoError(t, codec.Unmarshal(data, &out))
		return out
	}
	all := seeds.Of(t, 20000)
	for _, seed := range all {
		r := rand.New(rand.NewPCG(seed, 1))
		have, wanted := randomRules(r), randomRules(r)
		ok, missing := authz.Covers(ours(have), ours(wanted))
		wantOK, wantMissing := validation.Covers(have, wanted)
		require.Equal(t, wantOK, ok, "seed %d: %v over %v", seed, have, wanted)
		text := func(v any) string { b, err := stdjson.Marshal(v); require.NoError(t, err); return string(b) }
		var got, want []string
		for _, m := range missing {
			got = append(got, text(m))
		}
		for _, m := range wantMissing {
			want = append(want, text(m))
		}
		slices.Sort(got)
		slices.Sort(want)
		require.Equal(t, want, got, "seed %d: %v over %v", seed, have, wanted)
		switch {
		case ok && len(wanted) > 0:
			covered++
		case !ok:
			refused++
		}
	}
	require.Greater(t, covered, len(all)/40)
	require.Greater(t, refused, len(all)/40)
}
