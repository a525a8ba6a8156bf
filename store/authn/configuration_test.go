package authn_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/authn"
)

// head begins a configuration of one issuer, to which its other fields are appended.
const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"

func TestParseAuthenticationConfiguration(t *testing.T) {
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		c, err := authn.ParseConfiguration([]byte(strings.Replace(head, "/v1\n", "/"+version+"\n", 1)+`
jwt:
- issuer: {url: https://a.test, discoveryURL: https://b.test/d, audiences: [x, z], audienceMatchPolicy: MatchAny}
  claimMappings:
    username: {expression: "claims.email"}
    groups: {claim: groups, prefix: "g:"}
    uid: {claim: sub}
    extra: [{key: e.test/x, valueExpression: "claims.x"}]
  claimValidationRules:
  - {claim: hd, requiredValue: e.test}
  - {expression: "claims.?email_verified.orValue(true) == true", message: verified}
  userValidationRules: [{expression: "user.username != ''"}]
anonymous: {enabled: true, conditions: [{path: /livez}, {path: /readyz}]}
`), nil)
		require.NoError(t, err, version)
		require.Equal(t, []string{"/livez", "/readyz"}, c.Anonymous.Paths())
		require.Len(t, c.JWT, 1)
		require.Equal(t, "https://b.test/d", c.JWT[0].Issuer.DiscoveryURL)
	}
	require.Nil(t, (&authn.AnonymousConfiguration{Enabled: true}).Paths())

	const mapped = `, claimMappings: {username: {claim: sub, prefix: ""}}`
	issuer := func(rest string) string { return "jwt: [{issuer: {url: https://a.test, audiences: [x]}" + rest + "}]" }
	for text, want := range map[string]string{
		"jwt: [{issuer: {}}]": "jwt[0].issuer.url: Required value, jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required, jwt[0].claimMappings.username: Required value: claim or expression is required",
		"jwt: [{issuer: {url: 'http://u:p@a.test?q#f', audiences: [x]}" + mapped + "}]": `URL scheme must be https, jwt[0].issuer.url: Invalid value: "http://u:p@a.test?q#f": URL must not contain a username or password, ` +
			`jwt[0].issuer.url: Invalid value: "http://u:p@a.test?q#f": URL must not contain a query, jwt[0].issuer.url: Invalid value: "http://u:p@a.test?q#f": URL must not contain a fragment`,
		"jwt: [{issuer: {url: https://accounts.test, audiences: [x]}" + mapped + "}]":                                                                                                           `jwt[0].issuer.url: Invalid value: "https://accounts.test": URL must not overlap with disallowed issuers: [https://accounts.test]`,
		"jwt: [{issuer: {url: https://a.test, discoveryURL: https://a.test/, audiences: [x]}" + mapped + "}]":                                                                                   `jwt[0].issuer.discoveryURL: Invalid value: "https://a.test/": discoveryURL must be different from URL`,
		"jwt: [{issuer: {url: https://a.test, audiences: [x, x, '']}" + mapped + "}]":                                                                                                           `jwt[0].issuer.audiences[1]: Duplicate value: "x", jwt[0].issuer.audiences[2]: Required value, jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences`,
		"jwt: [{issuer: {url: https://a.test, audiences: [x], audienceMatchPolicy: All}" + mapped + "}]":                                                                                        "audienceMatchPolicy must be empty or MatchAny for single audience",
		"jwt: [{issuer: {url: https://a.test, audiences: [x], certificateAuthority: x}" + mapped + "}]":                                                                                         `jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does not contain any valid RSA or ECDSA certificates`,
		"jwt: [{issuer: {url: https://a.test, audiences: [x], egressSelectorType: cluster}" + mapped + "}]":                                                                                     "egress selectors are not supported: leave it empty",
		"jwt: [{issuer: {url: https://a.test, audiences: [x]}" + mapped + "}, {issuer: {url: https://a.test, audiences: [x]}" + mapped + "}]":                                                   `jwt[1].issuer.url: Duplicate value: "https://a.test"`,
		"jwt: [{issuer: {url: https://a.test, discoveryURL: https://d, audiences: [x]}" + mapped + "}, {issuer: {url: https://b.test, discoveryURL: https://d, audiences: [x]}" + mapped + "}]": `jwt[1].issuer.discoveryURL: Duplicate value: "https://d"`,
		issuer(`, claimMappings: {username: {claim: sub}}`):                                                                                                                                     "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing",
		issuer(`, claimMappings: {username: {claim: sub, expression: claims.sub}}`):                                                                                                             `jwt[0].claimMappings.username: Invalid value: "": claim and expression can't both be set`,
		issuer(`, claimMappings: {username: {prefix: x, expression: claims.sub}}`):                                                                                                              `jwt[0].claimMappings.username.prefix: Invalid value: "x": may not be specified when expression is set`,
		issuer(`, claimMappings: {username: {expression: claim.sub}}`):                                                                                                                          `jwt[0].claimMappings.username.expression: Invalid value: "claim.sub": compilation failed: ERROR: <input>:1:1: undeclared reference to 'claim'`,
		issuer(`, claimMappings: {username: {expression: claims.email}}`):                                                                                                                       "claims.email_verified must be used in",
		issuer(`, claimMappings: {username: {expression: "claims.?email.orValue('')"}}`):                                                                                                        "claims.email_verified must be used in",
		issuer(`, claimMappings: {username: {claim: sub, prefix: ""}, uid: {claim: a, expression: b}}`):                                                                                         `jwt[0].claimMappings.uid: Invalid value: "": claim and expression can't both be set`,
		issuer(`, claimMappings: {username: {claim: sub, prefix: ""}, extra: [{key: X, valueExpression: ""}]}`):                                                                                 `jwt[0].claimMappings.extra[0].key: Invalid value: "X": must be a domain-prefixed path (such as "acme.io/foo"), jwt[0].claimMappings.extra[0].key: Invalid value: "X": must be lowercase, jwt[0].claimMappings.extra[0].valueExpression: Required value`,
		issuer(`, claimMappings: {username: {claim: sub, prefix: ""}, extra: [{key: a.k8s.io/x, valueExpression: "''"}]}`):                                                                      "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use",
		issuer(`, claimMappings: {username: {claim: sub, prefix: ""}, extra: [{key: a.b/x, valueExpression: "''"}, {key: a.b/x, valueExpression: "''"}]}`):                                      `jwt[0].claimMappings.extra[1].key: Duplicate value: "a.b/x"`,
		issuer(mapped + `, claimValidationRules: [{}]`):                                                                                                                                         "jwt[0].claimValidationRules[0]: Required value: claim or expression is required",
		issuer(mapped + `, claimValidationRules: [{claim: a, expression: b}]`):                                                                                                                  `jwt[0].claimValidationRules[0]: Invalid value: "a": claim and expression can't both be set`,
		issuer(mapped + `, claimValidationRules: [{claim: a, message: m}, {claim: a}]`):                                                                                                         `jwt[0].claimValidationRules[0].message: Invalid value: "m": may not be specified when claim is set, jwt[0].claimValidationRules[1].claim: Duplicate value: "a"`,
		issuer(mapped + `, claimValidationRules: [{expression: "true", requiredValue: v}, {expression: "true"}]`):                                                                               `jwt[0].claimValidationRules[0].requiredValue: Invalid value: "v": may not be specified when expression is set, jwt[0].claimValidationRules[1].expression: Duplicate value: "true"`,
		issuer(mapped + `, claimValidationRules: [{expression: "claims.a"}]`):                                                                                                                   `jwt[0].claimValidationRules[0].expression: Invalid value: "claims.a": must evaluate to bool`,
		issuer(mapped + `, userValidationRules: [{}, {expression: "true"}, {expression: "true"}]`):                                                                                              `jwt[0].userValidationRules[0].expression: Required value, jwt[0].userValidationRules[2].expression: Duplicate value: "true"`,
		issuer(mapped + `, userValidationRules: [{expression: "user.name == ''"}]`):                                                                                                             "undefined field 'name'",
		issuer(mapped) + "\nanonymous: {enabled: false, conditions: [{path: /x}]}":                                                                                                              "enabled should be set to true when conditions are defined",
		issuer(mapped) + "\nanonymus: {}":          `unknown field "anonymus"`,
		issuer(mapped) + "\njwt: []":               "jwt",
		"jwt: {":                                   "authn: AuthenticationConfiguration: ",
		"jwt: [" + strings.Repeat("{},", 65) + "]": "jwt: Too many: 65: must have at most 64 items",
	} {
		_, err := authn.ParseConfiguration([]byte(head+text), []string{"https://accounts.test"})
		require.ErrorContains(t, err, "authn: AuthenticationConfiguration: ")
		require.Contains(t, strings.ReplaceAll(err.Error(), "\nAuthenticationConfiguration: line 3: ", ", "), want, text)
	}
	for _, text := range []string{"", "{}", "apiVersion: v1\nkind: AuthenticationConfiguration", "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration"} {
		_, err := authn.ParseConfiguration([]byte(text), nil)
		require.ErrorContains(t, err, "AuthenticationConfiguration", text)
	}
}

// What is accepted can be put in force.
func FuzzParseAuthenticationConfiguration(f *testing.F) {
	f.Add(head + "jwt: [{issuer: {url: https://a.test, audiences: [x]}, claimMappings: {username: {claim: sub, prefix: ''}}}]")
	f.Add(head + "jwt: [{issuer: {url: https://a.test, audiences: [x]}, claimMappings: {username: {expression: 'claims.a.b[0]'}}, userValidationRules: [{expression: 'user.uid == \"\"'}]}]\nanonymous: {enabled: true, conditions: [{path: /x}]}")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := authn.ParseConfiguration([]byte(text), []string{"https://accounts.test"})
		if err != nil {
			require.ErrorContains(t, err, "authn: ")
			return
		}
		for _, a := range c.JWT {
			require.NotEmpty(t, a.Issuer.Audiences)
			require.True(t, strings.HasPrefix(strings.ToLower(a.Issuer.URL), "https:"))
		}
	})
}
