package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// aggregating is how requests for API versions of other servers are passed on.
type aggregating struct {
	certFile, keyFile string
	rejectRedirects   bool
}

func (a *aggregating) flags(f *pflag.FlagSet) {
	f.StringVar(&a.certFile, "proxy-client-cert-file", "", "client certificate by which aggregated API servers know this server")
	f.StringVar(&a.keyFile, "proxy-client-key-file", "", "key of --proxy-client-cert-file")
	f.BoolVar(&a.rejectRedirects, "aggregator-reject-forwarding-redirect", true, "answer with 502 where an aggregated API server redirects")
	component.NoEffect(f, map[string]string{"enable-aggregator-routing?": "aggregated API servers are always reached at an endpoint of their service, or at its cluster IP if it has none"})
}

func (a *aggregating) validate() error {
	if (a.certFile == "") != (a.keyFile == "") {
		return errors.New("--proxy-client-cert-file and --proxy-client-key-file belong together")
	}
	return nil
}

// apply adds it to the options of the server.
func (a *aggregating) apply(o *controlplane.Options, log *slog.Logger) error {
	o.Aggregation.AllowRedirects = !a.rejectRedirects
	if a.certFile == "" {
		return nil
	}
	pair, err := component.Reload(log, component.ReadPair, a.certFile, a.keyFile)
	if err != nil {
		return fmt.Errorf("--proxy-client-cert-file and --proxy-client-key-file: %w", err)
	}
	o.Aggregation.Certificate = func() *tls.Certificate { return pair.Get() }
	return nil
}
