package authz_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// reviewer is a server: it allows gets, denies deletes, and can be made to misbehave.
type reviewer struct {
	calls  int
	last   authorizationv1.SubjectAccessReviewSpec
	behave func(context.Context, *authorizationv1.SubjectAccessReview) error
}

func (v *reviewer) review(ctx context.Context, r *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
	v.calls++
	v.last = r.Spec
	out := *r
	if a := r.Spec.ResourceAttributes; a != nil {
		out.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: a.Verb == "get", Denied: a.Verb == "delete", Reason: "by review"}
	}
	if v.behave != nil {
		return &out, v.behave(ctx, &out)
	}
	return &out, nil
}

func TestWebhook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &reviewer{}
		w, err := authz.NewWebhook(authz.WebhookOptions{Review: v.review, AuthorizedTTL: time.Minute, UnauthorizedTTL: time.Second, MatchConditions: []string{"request.user != 'skipped'"}})
		require.NoError(t, err)
		ann := &authn.User{Name: "ann", UID: "1", Groups: []string{"dev"}, Extra: map[string][]string{"k": {"v"}}}
		ask := func(verb string, want authz.Decision) {
			t.Helper()
			d, reason, err := w.Authorize(t.Context(), resource(ann, verb, "ns", "apps", "deployments", "scale", "d"))
			require.NoError(t, err)
			require.Equal(t, want, d)
			require.Equal(t, "by review", reason)
		}
		ask("get", authz.Allow)
		require.Equal(t, authorizationv1.SubjectAccessReviewSpec{User: "ann", UID: "1", Groups: []string{"dev"}, Extra: map[string]authorizationv1.ExtraValue{"k": {"v"}},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "ns", Verb: "get", Group: "apps", Resource: "deployments", Subresource: "scale", Name: "d"}}, v.last)
		ask("get", authz.Allow)
		require.Equal(t, 1, v.calls, "the answer is remembered")
		time.Sleep(time.Minute)
		ask("get", authz.Allow)
		require.Equal(t, 2, v.calls, "for a minute")
		ask("delete", authz.Deny)
		ask("update", authz.NoOpinion)
		time.Sleep(time.Second)
		ask("delete", authz.Deny)
		require.Equal(t, 5, v.calls, "refusals for a second")

		skipped := *ann
		skipped.Name = "skipped"
		d, _, err := w.Authorize(t.Context(), resource(&skipped, "delete", "", "", "pods", "", ""))
		require.NoError(t, err)
		require.Equal(t, authz.NoOpinion, d)
		require.Equal(t, 5, v.calls)

		list := resource(ann, "list", "", "", "pods", "", "")
		list.FieldSelector, list.LabelSelector = "spec.nodeName=n1,status.phase!=Failed", "app in (a,b),!x"
		_, _, err = w.Authorize(t.Context(), list)
		require.NoError(t, err)
		require.Equal(t, "[{spec.nodeName In [n1]} {status.phase NotIn [Failed]}]", fmt.Sprint(v.last.ResourceAttributes.FieldSelector.Requirements))
		require.Equal(t, "[{app In [a b]} {x DoesNotExist []}]", fmt.Sprint(v.last.ResourceAttributes.LabelSelector.Requirements))
	})
}

// TestWebhookFails: a server that hangs, fails or contradicts itself allows nothing, and is asked again.
func TestWebhookFails(t *testing.T) {
	for name, c := range map[string]struct {
		behave func(context.Context, *authorizationv1.SubjectAccessReview) error
		want   string
		always authz.Decision // whatever the failure policy
	}{
		"hangs": {func(ctx context.Context, _ *authorizationv1.SubjectAccessReview) error {
			<-ctx.Done()
			return ctx.Err()
		}, "deadline exceeded", 0},
		"fails": {func(context.Context, *authorizationv1.SubjectAccessReview) error { return errors.New("500") }, "authz: webhook: 500", 0},
		"contradicts": {func(_ context.Context, r *authorizationv1.SubjectAccessReview) error {
			r.Status.Allowed, r.Status.Denied = true, true
			return nil
		}, "both allowed and denied", authz.Deny},
	} {
		for _, deny := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				v := &reviewer{behave: c.behave}
				w, err := authz.NewWebhook(authz.WebhookOptions{Review: v.review, DenyOnFailure: deny})
				require.NoError(t, err)
				want := map[bool]authz.Decision{true: authz.Deny, false: authz.NoOpinion}[deny]
				if c.always != 0 {
					want = c.always
				}
				for range 2 {
					d, _, err := w.Authorize(t.Context(), resource(&authn.User{Name: "u"}, "get", "", "", "pods", "", ""))
					require.ErrorContains(t, err, c.want, name)
					require.Equal(t, want, d, name)
				}
				require.Equal(t, 2, v.calls, name)
			})
		}
	}
}

// Servers of the older version get the groups under the name that this has there.
func TestWebhookV1beta1(t *testing.T) {
	var sent string
	w, err := authz.NewWebhook(authz.WebhookOptions{Review: authz.V1beta1(func(_ context.Context, r *authz.ReviewV1beta1) (*authz.ReviewV1beta1, error) {
		data, err := codec.Marshal(r)
		sent = string(data)
		return &authz.ReviewV1beta1{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "r"}}, err
	}), MatchConditions: []string{"'dev' in request.groups"}})
	require.NoError(t, err)
	d, reason, err := w.Authorize(t.Context(), resource(&authn.User{Name: "ann", Groups: []string{"dev"}}, "get", "ns", "", "pods", "", "p"))
	require.NoError(t, err)
	require.Equal(t, authz.Allow, d)
	require.Equal(t, "r", reason)
	require.JSONEq(t, `{"apiVersion":"authorization.k8s.io/v1beta1","kind":"SubjectAccessReview","spec":{"user":"ann","group":["dev"],
		"resourceAttributes":{"namespace":"ns","verb":"get","resource":"pods","name":"p"}},"status":{"allowed":false}}`, sent)

	w, err = authz.NewWebhook(authz.WebhookOptions{Review: authz.V1beta1(func(context.Context, *authz.ReviewV1beta1) (*authz.ReviewV1beta1, error) {
		return nil, errors.New("500")
	})})
	require.NoError(t, err)
	_, _, err = w.Authorize(t.Context(), resource(&authn.User{Name: "ann"}, "get", "ns", "", "pods", "", "p"))
	require.ErrorContains(t, err, "500")
}

func TestMatchConditions(t *testing.T) {
	v := &reviewer{}
	list := resource(&authn.User{Name: "u", Groups: []string{"g"}}, "list", "ns", "", "pods", "", "")
	list.FieldSelector = "spec.nodeName=n1"
	for text, want := range map[string]bool{
		"has(request.resourceAttributes)": true, "has(request.nonResourceAttributes)": false,
		"request.resourceAttributes.namespace == 'ns'": true, "'g' in request.groups": true, "'x' in request.extra": false,
		"has(request.resourceAttributes.labelSelector)": false,
		"request.resourceAttributes.fieldSelector.requirements.exists(r, r.key == 'spec.nodeName' && r.operator == 'In' && r.values == ['n1'])": true,
	} {
		v.calls = 0
		w, err := authz.NewWebhook(authz.WebhookOptions{Review: v.review, MatchConditions: []string{text}})
		require.NoError(t, err, text)
		_, _, err = w.Authorize(t.Context(), list)
		require.NoError(t, err, text)
		require.Equal(t, want, v.calls == 1, text)
	}
	for text, want := range map[string]string{"request.usr == ''": "undefined field 'usr'", "request.user": "must evaluate to bool but got string", "1 +": "Syntax error", "object == 1": "undeclared reference"} {
		_, err := authz.NewWebhook(authz.WebhookOptions{Review: v.review, MatchConditions: []string{text}})
		require.ErrorContains(t, err, want, text)
	}
	// A condition that fails decides by the policy, unless another one is false.
	broken := "request.nonResourceAttributes.path == '/'"
	for _, c := range []struct {
		conditions []string
		deny, err  bool
		want       authz.Decision
	}{{[]string{broken}, false, true, authz.NoOpinion}, {[]string{broken}, true, true, authz.Deny}, {[]string{broken, "false"}, true, false, authz.NoOpinion}} {
		w, err := authz.NewWebhook(authz.WebhookOptions{Review: v.review, MatchConditions: c.conditions, DenyOnFailure: c.deny})
		require.NoError(t, err)
		d, _, err := w.Authorize(t.Context(), list)
		require.Equal(t, c.err, err != nil)
		require.Equal(t, c.want, d)
	}
}

const configurationText = `
apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- type: Node
  name: node
- type: Webhook
  name: mine.example.com
  webhook:
    timeout: 3s
    unauthorizedTTL: 10s
    cacheAuthorizedRequests: false
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: Deny
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: /k}
    matchConditions: [{expression: "request.user != 'a'"}]
`

func TestParseConfiguration(t *testing.T) {
	types := []string{"Node", "RBAC"}
	c, err := authz.ParseConfiguration([]byte(configurationText), types)
	require.NoError(t, err)
	o := c.Authorizers[1].Webhook.Options(nil)
	require.Equal(t, authz.WebhookOptions{Timeout: 3 * time.Second, UnauthorizedTTL: 10 * time.Second, DenyOnFailure: true, MatchConditions: []string{"request.user != 'a'"}}, o)
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		_, err := authz.ParseConfiguration([]byte(strings.Replace(configurationText, "io/v1\n", "io/"+version+"\n", 1)), types)
		require.NoError(t, err, version)
	}
	for old, c := range map[string]struct{ change, want string }{
		"timeout: 3s":                  {"timeOut: 3s", `unknown field "authorizers[1].webhook.timeOut"`},
		"timeout: 3":                   {"timeout: 31", "authorizers[1].webhook.timeout: Invalid value: \"31s\": must be > 0s and <= 30s"},
		"type: Node":                   {"type: Nodes", `authorizers[0].type: Unsupported value: "Nodes": supported values: "Node", "RBAC", "Webhook"`},
		"name: node":                   {"name: mine.example.com", `authorizers[1].name: Duplicate value: "mine.example.com"`},
		"Version: v1\n    failure":     {"Version: v2\n    failure", `authorizers[1].webhook.matchConditionSubjectAccessReviewVersion: Unsupported value: "v2"`},
		"failurePolicy: Deny":          {"failurePolicy: Fail", `line 15: authorizers[1].webhook.failurePolicy: Unsupported value: "Fail": supported values: "NoOpinion", "Deny"`},
		"kubeConfigFile: /k":           {"kubeConfigFile: k", "authorizers[1].webhook.connectionInfo.kubeConfigFile: Invalid value: \"k\": must be an absolute path"},
		"request.user != 'a'":          {"request.usr", "authorizers[1].webhook.matchConditions[0].expression: Invalid value"},
		"apiserver.config.k8s.io/v1":   {"apiserver.config.k8s.io/v2", `want kind AuthorizationConfiguration of apiserver.config.k8s.io/v1 or apiserver.config.k8s.io/v1beta1 or apiserver.config.k8s.io/v1alpha1, got kind "AuthorizationConfiguration" of "apiserver.config.k8s.io/v2"`},
		"type: Webhook":                {"type: RBAC", "authorizers[1].webhook: Invalid value: \"non-null\": may only be specified when type=Webhook"},
		"- type: Node\n  name: node\n": {"- type: Node\n  name: node\n  name: again\n", `line 7: key "name" already set in map`},
	} {
		text := strings.Replace(configurationText, old, c.change, 1)
		require.NotEqual(t, configurationText, text)
		_, err := authz.ParseConfiguration([]byte(text), types)
		require.ErrorContains(t, err, c.want, text)
	}
}

func FuzzParseConfiguration(f *testing.F) {
	f.Add([]byte(configurationText))
	f.Add([]byte(`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthorizationConfiguration","authorizers":[{"type":"RBAC","name":"r"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := authz.ParseConfiguration(data, []string{"Node", "RBAC"})
		if err == nil {
			require.NotEmpty(t, c.Authorizers)
			for _, a := range c.Authorizers {
				require.Equal(t, a.Type == "Webhook", a.Webhook != nil)
			}
		}
	})
}

// Attempts to call the server, failures that other authorizers make good, and match conditions are measured.
func TestWebhookMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, seen := &reviewer{}, []string{}
		note := func(format string, args ...any) { seen = append(seen, fmt.Sprintf(format, args...)) }
		w, err := authz.NewWebhook(authz.WebhookOptions{Review: v.review, AuthorizedTTL: time.Minute,
			MatchConditions: []string{"request.user != 'skipped'", "request.user != 'odd' || request.groups[9] == 'x'"},
			Metrics: authz.WebhookMetrics{
				Called:     func(r authz.WebhookResult, elapsed time.Duration) { note("%s %v", r, elapsed) },
				FailedOpen: func(r authz.WebhookResult) { note("open %s", r) },
				Matched: func(excluded bool, err error, elapsed time.Duration) {
					if excluded || err != nil {
						note("matched %t %t", excluded, err != nil)
					}
				},
			}})
		require.NoError(t, err)
		after := func(ctx context.Context, user, verb string) []string {
			seen = nil
			_, _, _ = w.Authorize(ctx, resource(&authn.User{Name: user}, verb, "ns", "apps", "deployments", "", "d"))
			return seen
		}
		require.Equal(t, []string{"success 0s"}, after(t.Context(), "ann", "get"))
		require.Empty(t, after(t.Context(), "ann", "get"), "it is in the cache")
		require.Equal(t, []string{"matched true false"}, after(t.Context(), "skipped", "get"))
		require.Equal(t, []string{"matched false true"}, after(t.Context(), "odd", "get"))
		v.behave = func(context.Context, *authorizationv1.SubjectAccessReview) error { return errors.New("broken") }
		require.Equal(t, []string{"error 0s", "open error"}, after(t.Context(), "ann", "list"))
		v.behave = func(ctx context.Context, _ *authorizationv1.SubjectAccessReview) error {
			<-ctx.Done()
			return ctx.Err()
		}
		require.Equal(t, []string{"timeout 3s", "open timeout"}, after(t.Context(), "ann", "watch"))
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.Equal(t, []string{"canceled 1s"}, after(short, "ann", "watch"), "nobody waits for a decision")
	})
}
