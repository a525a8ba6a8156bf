package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// tokenWebhook is the flags of the server that authenticates tokens.
type tokenWebhook struct {
	file, version string
	ttl           time.Duration
}

func (w *tokenWebhook) flags(f *pflag.FlagSet) {
	f.StringVar(&w.file, "authentication-token-webhook-config-file", "", "kubeconfig of the server that authenticates the bearer tokens that nothing else accepts (empty: none)")
	f.StringVar(&w.version, "authentication-token-webhook-version", "v1beta1", "version of the TokenReviews it gets: v1 or v1beta1")
	f.DurationVar(&w.ttl, "authentication-token-webhook-cache-ttl", 2*time.Minute, "how long its results are cached; 0 means not at all")
}

func (w *tokenWebhook) validate() error {
	var errs []error
	if w.version != "v1" && w.version != "v1beta1" {
		errs = append(errs, fmt.Errorf("--authentication-token-webhook-version=%s: want v1 or v1beta1", w.version))
	}
	if w.ttl < 0 {
		errs = append(errs, errors.New("--authentication-token-webhook-cache-ttl: want no negative time"))
	}
	return errors.Join(errs...)
}

// apply adds it to the options of the server, which must have the audiences.
func (w *tokenWebhook) apply(o *controlplane.Options, m *apimetrics.Metrics, log *slog.Logger) error {
	if w.file == "" {
		return nil
	}
	review, err := reviewer[authenticationv1.TokenReview](kubeconfig.Options{Path: w.file}, m.Requests(), log)
	if err != nil {
		return fmt.Errorf("--authentication-token-webhook-config-file: %w", err)
	}
	audiences := o.Audiences
	if len(audiences) == 0 {
		audiences = accountIssuers(o)
	}
	o.TokenWebhook, err = authn.NewWebhook(authn.WebhookOptions{Review: review, Version: w.version, TTL: w.ttl, Audiences: audiences, Metrics: m.TokenWebhook()})
	return err
}
