package authn

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// maxIssuers bounds the issuers of a configuration.
const maxIssuers = 64

// compile finds the errors of a configuration and compiles the expressions of its authenticators.
func (c *Configuration) compile(accountIssuers []string) (all []*claimExpressions, errs validation.ErrorList) {
	root := validation.NewPath("jwt")
	if n := len(c.JWT); n > maxIssuers {
		return nil, validation.ErrorList{validation.TooMany(root, n, maxIssuers)}
	}
	urls, documents := map[string]bool{}, map[string]bool{}
	for i := range c.JWT {
		p, issuer := root.Index(i), &c.JWT[i].Issuer
		expressions, wrong := compileJWT(&c.JWT[i], p, accountIssuers)
		all, errs = append(all, expressions), append(errs, wrong...)
		if urls[issuer.URL] {
			errs = append(errs, validation.Duplicate(p.Child("issuer").Child("url"), issuer.URL))
		}
		if issuer.DiscoveryURL != "" && documents[issuer.DiscoveryURL] {
			errs = append(errs, validation.Duplicate(p.Child("issuer").Child("discoveryURL"), issuer.DiscoveryURL))
		}
		urls[issuer.URL], documents[issuer.DiscoveryURL] = true, true
	}
	if a := c.Anonymous; a != nil && !a.Enabled && len(a.Conditions) > 0 {
		errs = append(errs, validation.Invalid(validation.NewPath("anonymous").Child("conditions"), a.Conditions, "enabled should be set to true when conditions are defined"))
	}
	return all, errs
}

// compileJWT finds the errors of an authenticator and compiles its expressions.
func compileJWT(a *JWTAuthenticator, p *validation.Path, accountIssuers []string) (*claimExpressions, validation.ErrorList) {
	errs := a.Issuer.validate(p.Child("issuer"), accountIssuers)
	out := &claimExpressions{}
	errs = append(errs, out.compileClaimRules(a.ClaimValidationRules, p.Child("claimValidationRules"))...)
	errs = append(errs, out.compileMappings(&a.ClaimMappings, p.Child("claimMappings"))...)
	return out, append(errs, out.compileUserRules(a.UserValidationRules, p.Child("userValidationRules"))...)
}

func (i *Issuer) validate(p *validation.Path, accountIssuers []string) (errs validation.ErrorList) {
	if i.URL == "" {
		errs = append(errs, validation.Required(p.Child("url"), ""))
	} else {
		errs = append(errs, validateURL(i.URL, p.Child("url"), accountIssuers)...)
	}
	if i.DiscoveryURL != "" {
		at := p.Child("discoveryURL")
		if i.URL != "" && strings.TrimRight(i.URL, "/") == strings.TrimRight(i.DiscoveryURL, "/") {
			errs = append(errs, validation.Invalid(at, i.DiscoveryURL, "discoveryURL must be different from URL"))
		}
		errs = append(errs, validateURL(i.DiscoveryURL, at, nil)...)
	}
	errs = append(errs, i.validateAudiences(p)...)
	if i.CertificateAuthority != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(i.CertificateAuthority)) {
		errs = append(errs, validation.Invalid(p.Child("certificateAuthority"), "<omitted>", "data does not contain any valid RSA or ECDSA certificates"))
	}
	if i.EgressSelectorType != "" {
		errs = append(errs, validation.Invalid(p.Child("egressSelectorType"), i.EgressSelectorType, "egress selectors are not supported: leave it empty, and let the network or the variable HTTPS_PROXY lead to the issuer"))
	}
	return errs
}

func validateURL(text string, p *validation.Path, forbidden []string) (errs validation.ErrorList) {
	if slices.Contains(forbidden, text) {
		errs = append(errs, validation.Invalid(p, text, fmt.Sprintf("URL must not overlap with disallowed issuers: %s", slices.Sorted(slices.Values(forbidden)))))
	}
	u, err := url.Parse(text)
	if err != nil {
		return append(errs, validation.Invalid(p, text, err.Error()))
	}
	for _, check := range []struct {
		wrong  bool
		detail string
	}{
		{u.Scheme != "https", "URL scheme must be https"},
		{u.User != nil, "URL must not contain a username or password"},
		{u.RawQuery != "", "URL must not contain a query"},
		{u.Fragment != "", "URL must not contain a fragment"},
	} {
		if check.wrong {
			errs = append(errs, validation.Invalid(p, text, check.detail))
		}
	}
	return errs
}

func (i *Issuer) validateAudiences(p *validation.Path) (errs validation.ErrorList) {
	at, policy := p.Child("audiences"), p.Child("audienceMatchPolicy")
	if len(i.Audiences) == 0 {
		return validation.ErrorList{validation.Required(at, fmt.Sprintf("at least one %s is required", at))}
	}
	seen := map[string]bool{}
	for n, audience := range i.Audiences {
		if audience == "" {
			errs = append(errs, validation.Required(at.Index(n), ""))
		}
		if seen[audience] {
			errs = append(errs, validation.Duplicate(at.Index(n), audience))
		}
		seen[audience] = true
	}
	switch {
	case i.AudienceMatchPolicy == "MatchAny":
	case len(i.Audiences) > 1:
		errs = append(errs, validation.Invalid(policy, i.AudienceMatchPolicy, "audienceMatchPolicy must be MatchAny for multiple audiences"))
	case i.AudienceMatchPolicy != "":
		errs = append(errs, validation.Invalid(policy, i.AudienceMatchPolicy, "audienceMatchPolicy must be empty or MatchAny for single audience"))
	}
	return errs
}

func (e *claimExpressions) compileClaimRules(rules []ClaimValidationRule, p *validation.Path) (errs validation.ErrorList) {
	claims, expressions := map[string]bool{}, map[string]bool{}
	for i, rule := range rules {
		at := p.Index(i)
		switch {
		case rule.Claim != "" && rule.Expression != "":
			errs = append(errs, validation.Invalid(at, rule.Claim, "claim and expression can't both be set"))
		case rule.Claim == "" && rule.Expression == "":
			errs = append(errs, validation.Required(at, "claim or expression is required"))
		case rule.Claim != "":
			if rule.Message != "" {
				errs = append(errs, validation.Invalid(at.Child("message"), rule.Message, "may not be specified when claim is set"))
			}
			if claims[rule.Claim] {
				errs = append(errs, validation.Duplicate(at.Child("claim"), rule.Claim))
			}
			claims[rule.Claim] = true
		default:
			if rule.RequiredValue != "" {
				errs = append(errs, validation.Invalid(at.Child("requiredValue"), rule.RequiredValue, "may not be specified when expression is set"))
			}
			if expressions[rule.Expression] {
				errs = append(errs, validation.Duplicate(at.Child("expression"), rule.Expression))
				continue
			}
			expressions[rule.Expression] = true
			if x := compileAt(claimsEnv, rule.Expression, true, at.Child("expression"), &errs); x != nil {
				x.message = rule.Message
				e.claimRules = append(e.claimRules, x)
			}
		}
	}
	return errs
}

func (e *claimExpressions) compileMappings(m *ClaimMappings, p *validation.Path) (errs validation.ErrorList) {
	e.username = compilePrefixed(&m.Username, p.Child("username"), true, &errs)
	e.groups = compilePrefixed(&m.Groups, p.Child("groups"), false, &errs)
	uid := p.Child("uid")
	switch {
	case m.UID.Claim != "" && m.UID.Expression != "":
		errs = append(errs, validation.Invalid(uid, "", "claim and expression can't both be set"))
	case m.UID.Expression != "":
		e.uid = compileAt(claimsEnv, m.UID.Expression, false, uid.Child("expression"), &errs)
	}
	seen := map[string]bool{}
	for i, mapping := range m.Extra {
		at := p.Child("extra").Index(i)
		errs = append(errs, validateExtraKey(mapping.Key, at.Child("key"))...)
		switch {
		case seen[mapping.Key]:
			errs = append(errs, validation.Duplicate(at.Child("key"), mapping.Key))
		case mapping.ValueExpression == "":
			errs = append(errs, validation.Required(at.Child("valueExpression"), ""))
		default:
			if x := compileAt(claimsEnv, mapping.ValueExpression, false, at.Child("valueExpression"), &errs); x != nil {
				x.key = mapping.Key
				e.extra = append(e.extra, x)
			}
		}
		seen[mapping.Key] = true
	}
	// Otherwise users who may choose their address at the issuer could choose that of another user.
	if e.username.selects("email") && !slices.ContainsFunc(slices.Concat([]*expression{e.username}, e.extra, e.claimRules), func(x *expression) bool { return x.selects("email_verified") }) {
		errs = append(errs, validation.Invalid(p.Child("username").Child("expression"), m.Username.Expression,
			"claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression"))
	}
	return errs
}

func validateExtraKey(key string, p *validation.Path) validation.ErrorList {
	errs := validation.DomainPrefixedPath(p, key)
	if key != strings.ToLower(key) {
		errs = append(errs, validation.Invalid(p, key, "must be lowercase"))
	}
	domain, _, found := strings.Cut(key, "/")
	for _, reserved := range []string{"k8s.io", "kubernetes.io"} {
		if found && (domain == reserved || strings.HasSuffix(domain, "."+reserved)) {
			errs = append(errs, validation.Invalid(p, key, "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"))
		}
	}
	return errs
}

// compilePrefixed returns nil if there is no expression, or an error.
func compilePrefixed(m *PrefixedClaimOrExpression, p *validation.Path, required bool, errs *validation.ErrorList) *expression {
	switch {
	case m.Expression != "" && m.Claim != "":
		*errs = append(*errs, validation.Invalid(p, "", "claim and expression can't both be set"))
	case m.Expression != "":
		if m.Prefix != nil {
			*errs = append(*errs, validation.Invalid(p.Child("prefix"), *m.Prefix, "may not be specified when expression is set"))
		}
		return compileAt(claimsEnv, m.Expression, false, p.Child("expression"), errs)
	case m.Claim != "" && m.Prefix == nil:
		*errs = append(*errs, validation.Required(p.Child("prefix"), "prefix is required when claim is set. It can be set to an empty string to disable prefixing"))
	case m.Claim == "" && required:
		*errs = append(*errs, validation.Required(p, "claim or expression is required"))
	}
	return nil
}

func (e *claimExpressions) compileUserRules(rules []UserValidationRule, p *validation.Path) (errs validation.ErrorList) {
	seen := map[string]bool{}
	for i, rule := range rules {
		at := p.Index(i).Child("expression")
		switch {
		case rule.Expression == "":
			errs = append(errs, validation.Required(at, ""))
		case seen[rule.Expression]:
			errs = append(errs, validation.Duplicate(at, rule.Expression))
		default:
			if x := compileAt(userEnv, rule.Expression, true, at, &errs); x != nil {
				x.message = rule.Message
				e.userRules = append(e.userRules, x)
			}
		}
		seen[rule.Expression] = true
	}
	return errs
}
