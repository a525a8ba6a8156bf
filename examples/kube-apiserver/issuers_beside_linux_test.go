package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/storetest"
)

// trusted is the part of a configuration that names the issuer, at which the rest of an authenticator
// follows.
func (i *tokenIssuer) trusted(t *testing.T, rest string) string {
	t.Helper()
	ca, err := json.Marshal(string(i.ca))
	require.NoError(t, err)
	return fmt.Sprintf("- issuer: {url: %s, certificateAuthority: %s, %s\n", i.url, ca, rest)
}

// The authenticators of three issuers: by expressions, by claims, and by an address.
const (
	byExpressions = `audiences: [cluster, other], audienceMatchPolicy: MatchAny}
  claimValidationRules:
  - {expression: "claims.exp - claims.iat <= 7200", message: "it lives for too long"}
  - {expression: "claims.?tenant.orValue('none') != 'banned'", message: "the tenant is banned"}
  claimMappings:
    username: {expression: "'x:' + claims.sub"}
    groups: {expression: "claims.?roles.orValue([])"}
    uid: {expression: "claims.?number.orValue('')"}
    extra:
    - {key: example.com/tenant, valueExpression: "claims.?tenant.orValue('')"}
    - {key: example.com/admin, valueExpression: "has(claims.nested) && claims.nested.admin == true ? ['yes', ''] : []"}
    - {key: example.com/namespace, valueExpression: "claims.?__namespace__.orValue('')"}
  userValidationRules:
  - {expression: "!user.username.startsWith('x:system:')", message: "the name is reserved"}
  - {expression: "user.groups.all(g, !g.startsWith('system:'))", message: "a group is reserved"}
`
	byClaims = `audiences: [cluster]}
  claimValidationRules: [{claim: tenant, requiredValue: t}]
  claimMappings: {username: {claim: sub, prefix: 'c:'}, groups: {claim: roles, prefix: 'g:'}, uid: {claim: number}}
`
	byAddress = `audiences: [cluster]}
  claimMappings: {username: {claim: email, prefix: ''}}
`
)

// changedClaims are what differs from an ordinary token; nil is a claim that it lacks.
func changedClaims() []map[string]any {
	now := time.Now()
	at := func(d time.Duration) int64 { return now.Add(d).Unix() }
	return []map[string]any{
		{}, {"sub": ""}, {"sub": nil}, {"sub": 7}, {"sub": "system:admin"}, {"sub": "a b"}, {"iss": "https://elsewhere"}, {"iss": nil},
		{"aud": []string{"x", "other"}}, {"aud": "x"}, {"aud": []string{}}, {"aud": nil}, {"aud": 7},
		{"exp": at(-time.Minute)}, {"exp": at(3 * time.Hour)}, {"exp": nil}, {"exp": "soon"}, {"exp": float64(at(time.Hour)) + 0.5}, {"iat": nil}, {"iat": at(time.Hour)},
		{"nbf": at(30 * time.Second)}, {"nbf": at(2 * time.Minute)}, {"nbf": "soon"}, {"nbf": nil},
		{"roles": nil}, {"roles": "one"}, {"roles": []string{}}, {"roles": []string{"a", ""}}, {"roles": []any{"a", 1}}, {"roles": 7}, {"roles": map[string]any{}}, {"roles": []string{"system:masters"}}, {"roles": []any{[]string{"a"}}},
		{"tenant": nil}, {"tenant": "other"}, {"tenant": "banned"}, {"tenant": 7}, {"tenant": []string{"t", "u"}}, {"tenant": ""},
		{"number": nil}, {"number": 5}, {"number": "5"}, {"jti": "id"}, {"jti": ""}, {"jti": 5},
		{"nested": map[string]any{"admin": true}}, {"nested": map[string]any{"admin": "true"}}, {"nested": map[string]any{}}, {"nested": 5}, {"nested": nil}, {"namespace": "n"}, {"namespace": 5},
		{"email": "ann@example.com"}, {"email": "ann@example.com", "email_verified": true}, {"email": "ann@example.com", "email_verified": false}, {"email": "ann@example.com", "email_verified": "true"}, {"email": "", "email_verified": true}, {"email": 5},
		{"unused": map[string]any{"deep": []any{1, nil, "x"}}}, {"name": strings.Repeat("n", 5000)},
	}
}

// token returns a token with changed claims.
func (i *tokenIssuer) changed(t *testing.T, change map[string]any) string {
	now := time.Now()
	claims := map[string]any{"iss": i.url, "aud": "cluster", "sub": "ann", "roles": []string{"a", "b"}, "tenant": "t", "number": "1", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(claims, change)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return signToken(t, jose.ES256, i.key, claims)
}

// whoIs returns the user of a token, as JSON, or the code of the refusal.
func (l *live) whoIs(token string) string {
	l.t.Helper()
	a := l.ask(l.http2, token, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", `{}`)
	require.NoError(l.t, a.err)
	var review struct {
		Status struct {
			UserInfo struct {
				Username, UID string
				Groups        []string
				Extra         map[string][]string
			}
		}
	}
	if a.code != http.StatusCreated {
		return http.StatusText(a.code)
	}
	require.NoError(l.t, json.Unmarshal([]byte(a.body), &review))
	out, err := json.Marshal(review.Status.UserInfo)
	require.NoError(l.t, err)
	return string(out)
}

// TestIssuersBeside sends tokens of three issuers, with right and wrong claims, to both servers, and compares
// the users; then an issuer is added to the configuration, and another one goes.
func TestIssuersBeside(t *testing.T) {
	issuers := []*tokenIssuer{newTokenIssuer(t), newTokenIssuer(t), newTokenIssuer(t), newTokenIssuer(t)}
	written := func(authenticators ...string) string {
		return authenticationHead + "anonymous: {enabled: true, conditions: [{path: /livez}, {path: /readyz}]}\njwt:\n" + strings.Join(authenticators, "")
	}
	files := []string{filepath.Join(t.TempDir(), "a.yaml"), filepath.Join(t.TempDir(), "a.yaml")}
	write := func(text string) {
		for _, file := range files {
			require.NoError(t, os.WriteFile(file+".new", []byte(text), 0o600))
			require.NoError(t, os.Rename(file+".new", file))
		}
	}
	first, second, third := issuers[0].trusted(t, byExpressions), issuers[1].trusted(t, byClaims), issuers[2].trusted(t, byAddress)
	write(written(first, second, third))
	theirs, ours := startUpstream(t, "--authentication-config="+files[0]), startLive(t, "--authentication-config="+files[1])
	settled := func(what string, ok func(l *live) bool) {
		t.Helper()
		for _, l := range []*live{theirs, ours} {
			l.until(what, func() bool { return ok(l) })
		}
	}
	settled("the keys of all issuers are known", func(l *live) bool {
		return strings.Contains(l.whoIs(issuers[0].changed(t, nil)), "ann") && strings.Contains(l.whoIs(issuers[1].changed(t, nil)), "ann") &&
			strings.Contains(l.whoIs(issuers[2].changed(t, map[string]any{"email": "ann@example.com"})), "ann")
	})
	users := 0
	same := func(token string, of any) {
		t.Helper()
		want, got := theirs.whoIs(token), ours.whoIs(token)
		if strings.HasPrefix(want, "{") {
			users++
		}
		if strings.HasPrefix(want, `{"Username":"",`) { // docs/differences.md
			want = "Unauthorized"
		}
		assert.Equal(t, want, got, "%v", of)
	}
	for n, issuer := range issuers {
		for _, change := range changedClaims() {
			same(issuer.changed(t, change), fmt.Sprint(n, " ", change))
		}
	}
	require.Greater(t, users, 60, "of 232 tokens")
	good := issuers[0].changed(t, nil)
	head, body, _ := strings.Cut(good, ".")
	for _, token := range []string{good + "x", head + "." + body[:len(body)-4], head + "..", "..", "{}", good + ".x", strings.ToUpper(good), issuers[1].changed(t, map[string]any{"iss": issuers[0].url})} {
		same(token, token)
	}
	for _, path := range []string{"/livez", "/readyz", "/livez/", "/healthz", "/version"} {
		want, got := theirs.ask(theirs.http2, "", "GET", path, ""), ours.ask(ours.http2, "", "GET", path, "")
		assert.Equal(t, want.code, got.code, path)
	}

	write(written(first, third, issuers[3].trusted(t, byClaims)))
	settled("the added issuer is trusted", func(l *live) bool { return strings.Contains(l.whoIs(issuers[3].changed(t, nil)), "c:ann") })
	settled("the removed one is not", func(l *live) bool { return l.whoIs(issuers[1].changed(t, nil)) == "Unauthorized" })
	settled("the others are still", func(l *live) bool { return strings.Contains(l.whoIs(issuers[0].changed(t, nil)), "x:ann") })
}

// wrongAuthenticators are configurations with errors; %s stands for the URL of an issuer.
var wrongAuthenticators = []string{
	`- {}`, `- issuer: {url: "http://a.test", audiences: [a]}`, `- issuer: {url: "https://u:p@a.test?x=y#z", audiences: [a]}`, `- issuer: {url: "://", audiences: [a]}`,
	`- issuer: {url: "https://a.test", audiences: []}`, `- issuer: {url: "https://a.test", audiences: [a, a, ""]}`, `- issuer: {url: "https://a.test", audiences: [a], audienceMatchPolicy: MatchAll}`, `- issuer: {url: "https://a.test", audiences: [a, b]}`,
	`- issuer: {url: "https://a.test", discoveryURL: "https://a.test/", audiences: [a]}`, `- issuer: {url: "https://a.test", discoveryURL: "http://b.test", audiences: [a], certificateAuthority: x}`,
	`- issuer: {url: "https://a.test", audiences: [a]}
  claimMappings: {username: {claim: sub}}`,
	`- issuer: {url: "https://a.test", audiences: [a]}
  claimMappings: {username: {claim: sub, prefix: "", expression: claims.sub}, groups: {claim: g}, uid: {claim: a, expression: b}}`,
	`- issuer: {url: "https://a.test", audiences: [a]}
  claimMappings: {username: {expression: "claims."}, groups: {expression: "nope", prefix: x}, uid: {expression: "1 +"}, extra: [{key: a, valueExpression: "''"}, {key: kubernetes.io/x, valueExpression: ""}, {key: a.test/B, valueExpression: "''"}, {key: a.test/c, valueExpression: "''"}, {key: a.test/c, valueExpression: "''"}]}`,
	`- issuer: {url: "https://a.test", audiences: [a]}
  claimMappings: {username: {expression: claims.email}}`,
	`- issuer: {url: "https://a.test", audiences: [a]}
  claimMappings: {username: {claim: sub, prefix: ""}}
  claimValidationRules: [{}, {claim: a, expression: b}, {claim: a, message: m}, {claim: a}, {claim: a}, {expression: "true", requiredValue: x}, {expression: "true"}, {expression: "'text'"}, {expression: "claims.x"}]
  userValidationRules: [{}, {expression: "user.name == ''"}, {expression: "user.username"}, {expression: "true"}, {expression: "true"}, {expression: "claims.sub == ''"}]`,
	`- issuer: {url: "https://a.test", audiences: [a]}
  claimMappings: {username: {claim: sub, prefix: ""}}
- issuer: {url: "https://a.test", audiences: [a]}
  claimMappings: {username: {claim: sub, prefix: ""}}`,
}

// wrongAuthentication finds the fields that an error of a configuration names, and what is wrong with each.
var wrongAuthentication = regexp.MustCompile(`(jwt|anonymous)[][A-Za-z0-9.]*: (Invalid value|Required value|Duplicate value|Forbidden|Too many)`)

// TestWrongIssuersBeside starts both servers with wrong configurations, and compares the fields of the
// errors.
func TestWrongIssuersBeside(t *testing.T) {
	upstream, dir := seeds.Peer(t, "kube-apiserver"), t.TempDir()
	key := filepath.Join(dir, "key")
	_, port, err := net.SplitHostPort(storetest.FreeAddress(t))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(key, newAccountKey(t).pem, 0o600))
	refusal := func(name, file string, flags ...string) []string {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var out bytes.Buffer
		cmd := exec.CommandContext(ctx, name, append(flags, "--authentication-config="+file, "--secure-port="+port, "--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+key, "--service-account-signing-key-file="+key)...)
		cmd.Env = append(os.Environ(), asServer+"=1")
		cmd.Stdout, cmd.Stderr = &out, &out
		component.EndWithParent(cmd)
		require.Error(t, cmd.Run(), file)
		return slices.Compact(slices.Sorted(slices.Values(wrongAuthentication.FindAllString(out.String(), -1))))
	}
	for n, text := range append(slices.Clone(wrongAuthenticators), "\nanonymous: {enabled: false, conditions: [{path: /x}]}") {
		file := filepath.Join(dir, fmt.Sprint(n))
		require.NoError(t, os.WriteFile(file, []byte(authenticationHead+"jwt:\n"+text+"\n"), 0o600))
		want := refusal(upstream, file, "--etcd-servers=http://127.0.0.1:1", "--service-cluster-ip-range=10.96.0.0/16", "--cert-dir="+dir)
		require.NotEmpty(t, want, text)
		assert.Equal(t, want, refusal(os.Args[0], file, "--storage-backend=memory"), text)
	}
}
