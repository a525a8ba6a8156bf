package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// requestHeader is how trusted proxies report users.
type requestHeader struct {
	caFile                       string
	allowed, users, uids, groups []string
	extra                        []string
}

func (h *requestHeader) flags(f *pflag.FlagSet) {
	f.StringVar(&h.caFile, "requestheader-client-ca-file", "", "authorities of the client certificates of proxies that report users in headers (empty: no proxy may)")
	f.StringSliceVar(&h.allowed, "requestheader-allowed-names", nil, "common names of certificates that may report users in headers (empty: all of --requestheader-client-ca-file)")
	f.StringSliceVar(&h.users, "requestheader-username-headers", []string{"x-remote-user"}, "headers with the user's name; the first with a value counts")
	f.StringSliceVar(&h.uids, "requestheader-uid-headers", nil, "headers with the user's UID; the first with a value counts")
	f.StringSliceVar(&h.groups, "requestheader-group-headers", []string{"x-remote-group"}, "headers with the user's groups")
	f.StringSliceVar(&h.extra, "requestheader-extra-headers-prefix", []string{"x-remote-extra-"}, "prefixes of headers with the user's extra fields")
}

func (h *requestHeader) validate() error {
	if h.caFile == "" {
		return nil
	}
	var errs []error
	for flag, values := range map[string][]string{"--requestheader-username-headers": h.users, "--requestheader-group-headers": h.groups, "--requestheader-extra-headers-prefix": h.extra,
		"--requestheader-uid-headers": h.uids} {
		for _, v := range values {
			if v == "" {
				errs = append(errs, fmt.Errorf("%s: a name is empty", flag))
			}
		}
	}
	if len(h.users) == 0 {
		errs = append(errs, errors.New("--requestheader-username-headers is required with --requestheader-client-ca-file"))
	}
	return errors.Join(errs...)
}

// apply adds it to the options of the server.
func (h *requestHeader) apply(o *controlplane.Options, log *slog.Logger) error {
	if h.caFile == "" {
		return nil
	}
	authorities, err := component.Reload(log, component.ReadAuthorities, h.caFile)
	if err != nil {
		return fmt.Errorf("--requestheader-client-ca-file: %w", err)
	}
	o.RequestHeader = &authn.RequestHeaderOptions{ClientCAs: func() *x509.CertPool { return authorities.Get().Pool }, AllowedNames: h.allowed,
		UsernameHeaders: h.users, UIDHeaders: h.uids, GroupHeaders: h.groups, ExtraPrefixes: h.extra}
	o.RequestHeaderCAFile = func() []byte { return authorities.Get().Text }
	return nil
}
