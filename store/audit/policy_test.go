package audit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/store/audit"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

const policyHead = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"

func TestParsePolicyErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":         `audit: want kind Policy of audit.k8s.io/v1, got kind "" of ""`,
		policyHead: "audit: Policy: rules: Required value: a policy must have at least one rule",
		"apiVersion: audit.k8s.io/v1beta1\nkind: Policy\n":                                        `got kind "Policy" of "audit.k8s.io/v1beta1"`,
		policyHead + "rules:\n- level: Metadata\n- levels: None\n":                                `audit: Policy: line 5: unknown field "rules[1].levels"`,
		policyHead + "rules:\n- {}\n":                                                             "line 4: rules[0].level: Required value",
		policyHead + "rules:\n- level: All\n":                                                     `line 4: rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", "RequestResponse"`,
		policyHead + "omitStages: [Begin]\nrules: [{level: None}]":                                `line 3: omitStages[0]: Unsupported value: "Begin"`,
		policyHead + "rules: [{level: None, omitStages: [X]}]":                                    `rules[0].omitStages[0]: Unsupported value: "X"`,
		policyHead + "rules: [{level: None, nonResourceURLs: [a, '/b*/c']}]":                      `rules[0].nonResourceURLs[0]: Invalid value: "a": non-resource URL rules must begin with a '/' character`,
		policyHead + "rules: [{level: None, nonResourceURLs: ['/b*/c']}]":                         `rules[0].nonResourceURLs[0]: Invalid value: "/b*/c": non-resource URL wildcards '*' must be the final character of the rule`,
		policyHead + "rules: [{level: None, nonResourceURLs: [/a], namespaces: [b]}]":             "rules cannot apply to both regular resources and non-resource URLs",
		policyHead + "rules: [{level: None, resources: [{group: rbac.authorization.k8s.io/v1}]}]": `rules[0].resources[0].group: Invalid value: "rbac.authorization.k8s.io/v1"`,
		policyHead + "rules: [{level: None, resources: [{resourceNames: [a]}]}]":                  "rules[0].resources[0].resourceNames: Invalid value: [\"a\"]: using resourceNames requires at least one resource",
		policyHead + "rules: [{level: [None]}]":                                                   "rules[0].level: ",
	} {
		_, err := audit.ParsePolicy([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestPolicyDecides(t *testing.T) {
	p, err := audit.ParsePolicy([]byte(policyHead + `
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- {level: Request, users: [ann], verbs: [create], omitStages: [Panic], omitManagedFields: false}
- {level: None, userGroups: [dev, ops], nonResourceURLs: ["/healthz*"]}
- {level: Metadata, resources: [{resources: ["pods/log", "*/scale"]}, {group: apps, resources: ["deployments/*"], resourceNames: [web]}]}
- {level: RequestResponse, namespaces: ["", kube-system], resources: [{group: "*", resources: [secrets, nodes]}]}
`))
	require.NoError(t, err)
	ann, bob := &authn.User{Name: "ann"}, &authn.User{Name: "bob", Groups: []string{"all", "ops"}}
	of := func(u *authn.User, resource, sub, namespace, name string) authz.Attributes {
		group := ""
		if resource == "deployments" {
			group = "apps"
		}
		return authz.Attributes{User: u, Verb: "get", ResourceRequest: true, APIGroup: group, Resource: resource, Subresource: sub, Namespace: namespace, Name: name}
	}
	for _, c := range []struct {
		a    authz.Attributes
		want auditv1.Level
	}{
		{authz.Attributes{User: ann, Verb: "create", ResourceRequest: true, Resource: "pods"}, auditv1.LevelRequest},
		{authz.Attributes{Verb: "create", ResourceRequest: true, Resource: "pods"}, auditv1.LevelNone},
		{authz.Attributes{User: bob, Verb: "get", Path: "/healthz/ping"}, auditv1.LevelNone},
		{of(bob, "pods", "log", "a", "p"), auditv1.LevelMetadata},
		{of(bob, "pods", "", "a", "p"), auditv1.LevelNone},
		{of(bob, "replicationcontrollers", "scale", "a", "p"), auditv1.LevelMetadata},
		{of(bob, "deployments", "", "a", "web"), auditv1.LevelMetadata},
		{of(bob, "deployments", "status", "a", "web"), auditv1.LevelMetadata},
		{of(bob, "deployments", "status", "a", "db"), auditv1.LevelNone},
		{of(bob, "secrets", "", "kube-system", "s"), auditv1.LevelRequestResponse},
		{of(bob, "secrets", "", "default", "s"), auditv1.LevelNone},
		{of(bob, "nodes", "", "", "n"), auditv1.LevelRequestResponse},
	} {
		d := p.Decide(&c.a)
		require.Equal(t, c.want, d.Level, "%+v", c.a)
		require.True(t, d.Omits(auditv1.StageRequestReceived))
		require.Equal(t, c.want == auditv1.LevelRequest, d.Omits(auditv1.StagePanic))
		require.Equal(t, c.want != auditv1.LevelRequest, d.OmitManagedFields)
	}
}

// A policy is refused, or decides about any request.
func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte(policyHead + "rules: [{level: Metadata}]"))
	f.Add([]byte(policyHead + `{"rules":[{"level":"Request","users":["a"],"resources":[{"group":"*","resources":["*/x","y/*"],"resourceNames":["n"]}]}]}`))
	f.Add([]byte(policyHead + "rules: [&a {level: None, nonResourceURLs: ['*', '/a*']}, *a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := audit.ParsePolicy(data)
		if err != nil {
			return
		}
		for _, a := range []authz.Attributes{{}, {Verb: "get", Path: "/"}, {User: &authn.User{Name: "a"}, ResourceRequest: true, Resource: "y", Subresource: "x", Name: "n"}} {
			require.NotEmpty(t, p.Decide(&a).Level)
		}
	})
}
