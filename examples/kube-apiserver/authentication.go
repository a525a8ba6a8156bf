package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// authentication is the flags that say whose JSON web tokens, and which requests without credentials, are
// accepted.
type authentication struct {
	anonymous, anonymousGiven bool
	configFile                string
	issuer                    issuerFlags

	file    *component.Reloaded[*authn.Configuration] // nil without configFile
	issuers *authn.Issuers                            // nil if there can be none
	// changed is called with the outcome of each change of the file.
	changed func(err error)
}

const (
	// replaceTimeout bounds the wait for the keys of new issuers.
	replaceTimeout = time.Minute
)

func (a *authentication) flags(f *pflag.FlagSet) {
	f.BoolVar(&a.anonymous, "anonymous-auth", true, "serve requests without credentials as system:anonymous (not where --authorization-mode has AlwaysAllow)")
	f.StringVar(&a.configFile, "authentication-config", "", "file of kind AuthenticationConfiguration (apiserver.config.k8s.io/v1): issuers of JSON web tokens, read again when it changes, and anonymous requests; excludes --oidc-*, and --anonymous-auth if it has the field anonymous")
	a.issuer.flags(f)
}

// validate is called with the names of the flags that were given.
func (a *authentication) validate(given func(flag string) bool) error {
	a.anonymousGiven = given("anonymous-auth")
	if a.configFile != "" && a.issuer.given(given) {
		return errors.New("authentication-config file and oidc-* flags are mutually exclusive")
	}
	return a.issuer.validate(given)
}

// apply adds it to the options of the server, which must have the issuers of service account tokens.
func (a *authentication) apply(o *controlplane.Options, m *apimetrics.Metrics, log *slog.Logger) (err error) {
	o.Anonymous = a.anonymous
	opts := authn.IssuersOptions{AccountIssuers: accountIssuers(o), Authenticated: m.TokenAuthenticated, Removed: m.IssuerRemoved, Fetched: func(issuer string, keySet []byte, err error) {
		if m.KeysFetched(issuer, keySet, err); err != nil {
			log.Error("fetching the keys of an issuer failed", "issuer", issuer, "err", err)
		}
	}}
	var issuers []authn.JWTAuthenticator
	switch {
	case a.configFile != "":
		a.file, err = component.Reload(log, func(contents [][]byte) (*authn.Configuration, error) {
			return authn.ParseConfiguration(contents[0], opts.AccountIssuers)
		}, a.configFile)
		if err != nil {
			return fmt.Errorf("--authentication-config: %w", err)
		}
		a.changed = count(a.file, m.Config("authentication"))
		c := a.file.Get()
		if c.Anonymous != nil {
			if a.anonymousGiven {
				return errors.New("--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file")
			}
			o.Anonymous, o.AnonymousPaths = c.Anonymous.Enabled, c.Anonymous.Paths()
		}
		issuers = c.JWT
	case a.issuer.url != "":
		one, err := a.issuer.authenticator()
		if err != nil {
			return err
		}
		issuers, opts.Algorithms = []authn.JWTAuthenticator{*one}, a.issuer.algorithms
	default:
		return nil
	}
	if a.issuers, err = authn.NewIssuers(issuers, opts); err != nil {
		return fmt.Errorf("--oidc-*: %w", err) // the file has been checked
	}
	o.TokenIssuers = a.issuers
	return nil
}

// accountIssuers returns the issuers of service account tokens.
func accountIssuers(o *controlplane.Options) []string {
	if len(o.ServiceAccountIssuers) == 0 {
		return []string{controlplane.DefaultIssuer}
	}
	return o.ServiceAccountIssuers
}

// follow puts a changed file in force until ctx ends, when the keys of its issuers are there. What cannot be
// used changes nothing.
func (a *authentication) follow(ctx context.Context) {
	if a.file == nil {
		return
	}
	first := a.file.First().Anonymous
	a.file.Follow(ctx, func(ctx context.Context, now *authn.Configuration) (bool, error) {
		if !reflect.DeepEqual(first, now.Anonymous) {
			return false, errAnonymousChanged
		}
		ctx, cancel := context.WithTimeout(ctx, replaceTimeout)
		defer cancel()
		err := a.issuers.Replace(ctx, now.JWT)
		return err != nil, err
	}, a.changed)
}

// errAnonymousChanged is returned because what a configuration says about anonymous requests must be what the
// first one said.
var errAnonymousChanged = errors.New("anonymous: Forbidden: changed from initial configuration file")
