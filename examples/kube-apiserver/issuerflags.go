package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/store/authn"
)

// issuerFlags are the flags --oidc-*, which describe one issuer of JSON web tokens.
type issuerFlags struct {
	url, client, caFile, user, userPrefix, groups, groupsPrefix string
	algorithms, required                                        []string
	names                                                       []string // of the flags
}

func (o *issuerFlags) flags(f *pflag.FlagSet) {
	text := func(p *string, name, value, usage string) {
		f.StringVar(p, name, value, usage)
		o.names = append(o.names, name)
	}
	text(&o.url, "oidc-issuer-url", "", "https URL of the OpenID Connect issuer whose tokens are accepted (empty: none)")
	text(&o.client, "oidc-client-id", "", "audience that its tokens must have")
	text(&o.caFile, "oidc-ca-file", "", "authorities of its serving certificate (empty: the system's)")
	text(&o.user, "oidc-username-claim", "sub", "claim with the user's name")
	text(&o.userPrefix, "oidc-username-prefix", "", "prefix of names; - means none (empty: the issuer's URL and #, or none if the claim is email)")
	text(&o.groups, "oidc-groups-claim", "", "claim with the user's groups, a string or a list of strings (empty: no groups)")
	text(&o.groupsPrefix, "oidc-groups-prefix", "", "prefix of groups")
	f.StringSliceVar(&o.algorithms, "oidc-signing-algs", []string{"RS256"}, "algorithms that its tokens may be signed with: "+strings.Join(authn.SigningAlgorithms(), ", "))
	f.StringArrayVar(&o.required, "oidc-required-claim", nil, "CLAIM=VALUE that its tokens must have; may be repeated")
	o.names = append(o.names, "oidc-signing-algs", "oidc-required-claim")
}

// given reports whether one of the flags was given.
func (o *issuerFlags) given(given func(flag string) bool) bool {
	for _, name := range o.names {
		if given(name) {
			return true
		}
	}
	return false
}

func (o *issuerFlags) validate(given func(flag string) bool) error {
	var errs []error
	if o.given(given) && (o.url == "" || o.client == "") {
		errs = append(errs, errors.New("oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set"))
	}
	for _, pair := range o.required {
		if claim, _, found := strings.Cut(pair, "="); !found || claim == "" {
			errs = append(errs, fmt.Errorf("--oidc-required-claim=%s: want CLAIM=VALUE", pair))
		}
	}
	return errors.Join(errs...)
}

// authenticator returns what the flags describe.
func (o *issuerFlags) authenticator() (*authn.JWTAuthenticator, error) {
	prefix := o.userPrefix
	switch {
	case prefix == "-":
		prefix = ""
	case prefix == "" && o.user != "email":
		prefix = o.url + "#"
	}
	a := &authn.JWTAuthenticator{
		Issuer:        authn.Issuer{URL: o.url, Audiences: []string{o.client}},
		ClaimMappings: authn.ClaimMappings{Username: authn.PrefixedClaimOrExpression{Claim: o.user, Prefix: &prefix}},
	}
	if o.groups != "" {
		a.ClaimMappings.Groups = authn.PrefixedClaimOrExpression{Claim: o.groups, Prefix: &o.groupsPrefix}
	}
	if o.caFile != "" {
		ca, err := os.ReadFile(o.caFile)
		if err != nil {
			return nil, fmt.Errorf("--oidc-ca-file: %w", err)
		}
		// Without a certificate it must not stand for the system's authorities.
		if !x509.NewCertPool().AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("--oidc-ca-file: %s: data does not contain any valid certificate", o.caFile)
		}
		a.Issuer.CertificateAuthority = string(ca)
	}
	for _, pair := range o.required {
		claim, value, _ := strings.Cut(pair, "=")
		a.ClaimValidationRules = append(a.ClaimValidationRules, authn.ClaimValidationRule{Claim: claim, RequiredValue: value})
	}
	return a, nil
}
