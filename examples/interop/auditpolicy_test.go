package interop

import (
	stdjson "encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	upaudit "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/audit"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// auditRandom makes policies and requests.
type auditRandom struct{ *rand.Rand }

func (r auditRandom) one(of ...string) string { return of[r.IntN(len(of))] }

func (r auditRandom) some(of ...string) (list []string) {
	for range max(0, r.IntN(5)-2) {
		list = append(list, r.one(of...))
	}
	return list
}

func (r auditRandom) stages() []string {
	return r.some("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic", "Panic", r.one("Panic", "Other"))
}

func (r auditRandom) rule() map[string]any {
	level := r.one("None", "Metadata", "Request", "RequestResponse", "Metadata", "None", "Request", r.one("Request", "", "All"))
	rule := map[string]any{"level": level, "users": r.some("ann", "bob", ""), "userGroups": r.some("dev", "ops"), "verbs": r.some("get", "list", "create", "*"), "omitStages": r.stages()}
	if r.IntN(2) == 0 {
		rule["omitManagedFields"] = r.IntN(2) == 0
	}
	if r.IntN(3) > 0 {
		rule["namespaces"] = r.some("", "a", "b", "*")
		var resources []any
		for range r.IntN(3) {
			resources = append(resources, map[string]any{"group": r.one("", "apps", "*", r.one("apps", "apps/v1", "Apps", "*.apps")),
				"resources":     r.some("pods", "*", "pods/*", "*/log", "pods/log", "*/*", "/", "pods/", "/log", "pods/log/x", "*/log/x", "pods/*/*", ""),
				"resourceNames": r.some("n", "m")})
		}
		rule["resources"] = resources
	}
	if r.IntN(3) == 0 {
		rule["nonResourceURLs"] = r.some("*", "/a", "/a*", "/a/*", "/", "/a**", "b", "")
	}
	return rule
}

func (r auditRandom) request() authz.Attributes {
	a := authz.Attributes{Verb: r.one("get", "list", "create"), ResourceRequest: r.IntN(3) > 0}
	if r.IntN(5) > 0 {
		a.User = &authn.User{Name: r.one("ann", "bob"), Groups: r.some("dev", "ops", "x")}
	}
	if !a.ResourceRequest {
		a.Path = r.one("/", "/a", "/a/b", "/c")
		return a
	}
	a.Namespace, a.APIGroup, a.Resource = r.one("", "a", "b"), r.one("", "apps"), r.one("pods", "nodes")
	a.Subresource, a.Name = r.one("", "log", "status"), r.one("", "n", "m")
	return a
}

// upstreamAttributes are the same attributes for upstream's library.
func upstreamAttributes(a authz.Attributes) authorizer.AttributesRecord {
	theirs := authorizer.AttributesRecord{Verb: a.Verb, Namespace: a.Namespace, APIGroup: a.APIGroup, Resource: a.Resource, Subresource: a.Subresource,
		Name: a.Name, ResourceRequest: a.ResourceRequest, Path: a.Path}
	if a.User != nil {
		theirs.User = &user.DefaultInfo{Name: a.User.Name, Groups: a.User.Groups}
	}
	return theirs
}

// Random policies are accepted or refused, and decide about random requests, as those of kube-apiserver.
func TestAuditPolicyAsUpstream(t *testing.T) {
	accepted, levels := 0, map[auditv1.Level]int{}
	all := seeds.Of(t, 1000)
	for _, seed := range all {
		r := auditRandom{seeds.Rand(seed)}
		var rules []any
		for range r.IntN(5) {
			rules = append(rules, r.rule())
		}
		text, err := stdjson.Marshal(map[string]any{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules, "omitStages": r.stages(), "omitManagedFields": r.IntN(2) == 0})
		require.NoError(t, err)
		ours, err := audit.ParsePolicy(text)
		upstream, theirErr := policy.LoadPolicyFromBytes(text)
		require.Equal(t, theirErr == nil, err == nil, "seed %d: %s\nours: %v\nupstream: %v", seed, text, err, theirErr)
		if err != nil {
			continue
		}
		accepted++
		evaluator := policy.NewPolicyRuleEvaluator(upstream)
		for range 30 {
			a := r.request()
			want, got := evaluator.EvaluatePolicyRule(upstreamAttributes(a)), ours.Decide(&a)
			require.Equal(t, string(want.Level), string(got.Level), "seed %d: %s\n%+v", seed, text, a)
			require.Equal(t, want.OmitManagedFields, got.OmitManagedFields, "seed %d: %s\n%+v", seed, text, a)
			for _, s := range []auditv1.Stage{"RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"} {
				require.Equal(t, slices.Contains(want.OmitStages, upaudit.Stage(s)), got.Omits(s), "seed %d: %s", seed, text)
			}
			levels[got.Level]++
		}
	}
	if len(all) < 100 {
		return // too few for shares
	}
	require.Greater(t, accepted, len(all)/8)
	require.Greater(t, min(levels["None"], levels["Metadata"], levels["Request"], levels["RequestResponse"]), len(all)/10, "%v", levels)
}
