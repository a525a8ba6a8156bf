package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/examples/internal/apimetrics"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// authorization is the flags that say who decides about requests.
type authorization struct {
	modes                          []string
	configFile                     string
	policyFile                     string
	webhookFile, webhookVersion    string
	authorizedTTL, unauthorizedTTL time.Duration

	metrics *apimetrics.Metrics
	file    *component.Reloaded[*authz.Configuration] // nil without configFile
	// changed is called with the outcome of each change of the file.
	changed func(err error)
}

// authorizerTypes are the types of --authorization-config beside Webhook.
var authorizerTypes = []string{"AlwaysAllow", "AlwaysDeny", "Node", "RBAC"}

const (
	webhookMode = "Webhook"
	abacMode    = "ABAC"
)

func (a *authorization) flags(f *pflag.FlagSet) {
	f.StringSliceVar(&a.modes, "authorization-mode", []string{"RBAC"}, "authorizers, in order: Node, RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny")
	f.StringVar(&a.configFile, "authorization-config", "", "file of kind AuthorizationConfiguration (apiserver.config.k8s.io/v1), read again when it changes; excludes --authorization-mode, --authorization-policy-file and --authorization-webhook-*")
	f.StringVar(&a.policyFile, "authorization-policy-file", "", "file of the authorizer ABAC: on each line a Policy of abac.authorization.kubernetes.io/v1beta1 as JSON")
	f.StringVar(&a.webhookFile, "authorization-webhook-config-file", "", "kubeconfig of the server that the authorizer Webhook calls")
	f.StringVar(&a.webhookVersion, "authorization-webhook-version", "v1beta1", "version of the SubjectAccessReviews it gets: v1 or v1beta1")
	f.DurationVar(&a.authorizedTTL, "authorization-webhook-cache-authorized-ttl", 5*time.Minute, "how long its permissions are remembered")
	f.DurationVar(&a.unauthorizedTTL, "authorization-webhook-cache-unauthorized-ttl", 30*time.Second, "how long its refusals are remembered")
}

// validate is called with the names of the flags that were given.
func (a *authorization) validate(given func(flag string) bool) error {
	var errs []error
	if a.configFile != "" {
		for _, flag := range []string{"authorization-mode", "authorization-policy-file", "authorization-webhook-config-file", "authorization-webhook-version", "authorization-webhook-cache-authorized-ttl", "authorization-webhook-cache-unauthorized-ttl"} {
			if given(flag) {
				errs = append(errs, fmt.Errorf("--%s does not go with --authorization-config", flag))
			}
		}
		return errors.Join(errs...)
	}
	if slices.Contains(a.modes, abacMode) != (a.policyFile != "") {
		errs = append(errs, errors.New("--authorization-mode=ABAC and --authorization-policy-file belong together"))
	}
	if slices.Contains(a.modes, webhookMode) != (a.webhookFile != "") {
		errs = append(errs, errors.New("--authorization-mode=Webhook and --authorization-webhook-config-file belong together"))
	}
	if a.webhookVersion != "v1" && a.webhookVersion != "v1beta1" {
		errs = append(errs, fmt.Errorf("--authorization-webhook-version=%s: want v1 or v1beta1", a.webhookVersion))
	}
	if a.authorizedTTL < 0 || a.unauthorizedTTL < 0 {
		errs = append(errs, errors.New("--authorization-webhook-cache-*-ttl: want no negative time"))
	}
	return errors.Join(errs...)
}

// apply adds it to the options of the server.
func (a *authorization) apply(o *controlplane.Options, m *apimetrics.Metrics, log *slog.Logger) (err error) {
	a.metrics = m
	switch {
	case a.configFile != "":
		a.file, err = component.Reload(log, func(contents [][]byte) (*authz.Configuration, error) {
			return authz.ParseConfiguration(contents[0], authorizerTypes)
		}, a.configFile)
		if err != nil {
			return fmt.Errorf("--authorization-config: %w", err)
		}
		a.changed = count(a.file, m.Config("authorization"))
		if o.AuthorizationModes, o.Authorizers, err = authorizers(a.file.Get(), m, log); err != nil {
			return fmt.Errorf("--authorization-config: %s: %w", a.configFile, err)
		}
	default:
		o.AuthorizationModes = a.modes
		o.Authorizers, err = a.ofFlags(log)
		return err
	}
	return nil
}

// ofFlags makes the authorizers that have flags of their own.
func (a *authorization) ofFlags(log *slog.Logger) (map[string]authz.Authorizer, error) {
	own := map[string]authz.Authorizer{}
	if a.policyFile != "" {
		data, err := os.ReadFile(a.policyFile)
		if err != nil {
			return nil, fmt.Errorf("--authorization-policy-file: %w", err)
		}
		if own[abacMode], err = authz.ParseABAC(data); err != nil {
			return nil, fmt.Errorf("--authorization-policy-file: %s: %w", a.policyFile, err)
		}
	}
	if a.webhookFile != "" {
		review, err := accessReviewer(a.webhookVersion, kubeconfig.Options{Path: a.webhookFile}, a.metrics.Requests(), log)
		if err != nil {
			return nil, fmt.Errorf("--authorization-webhook-config-file: %w", err)
		}
		own[webhookMode], err = authz.NewWebhook(authz.WebhookOptions{Review: review, Timeout: 30 * time.Second, AuthorizedTTL: a.authorizedTTL, UnauthorizedTTL: a.unauthorizedTTL,
			Metrics: a.metrics.AuthorizationWebhook("default")})
		if err != nil {
			return nil, err
		}
	}
	return own, nil
}

// accessReviewer sends SubjectAccessReviews of a version to the server of a kubeconfig.
func accessReviewer(version string, from kubeconfig.Options, m apimetrics.Requests, log *slog.Logger) (authz.ReviewFunc, error) {
	if version == "v1" {
		return reviewer[authorizationv1.SubjectAccessReview](from, m, log)
	}
	send, err := reviewer[authz.ReviewV1beta1](from, m, log)
	return authz.V1beta1(send), err
}

// follow puts a changed file in force until ctx ends. What cannot be used changes nothing.
func (a *authorization) follow(ctx context.Context, cp *controlplane.ControlPlane, log *slog.Logger) {
	if a.file == nil {
		return
	}
	a.file.Follow(ctx, func(_ context.Context, now *authz.Configuration) (bool, error) {
		modes, own, err := authorizers(now, a.metrics, log)
		if err != nil {
			return false, err
		}
		return false, cp.SetAuthorization(modes, own)
	}, a.changed)
}

// authorizers makes the modes of a configuration, and the authorizers of its webhooks by their names.
func authorizers(c *authz.Configuration, m *apimetrics.Metrics, log *slog.Logger) (modes []string, own map[string]authz.Authorizer, err error) {
	own = map[string]authz.Authorizer{}
	for _, a := range c.Authorizers {
		if a.Webhook == nil {
			modes = append(modes, a.Type)
			continue
		}
		from := kubeconfig.Options{Paths: []string{}} // the service account of the pod
		if f := a.Webhook.ConnectionInfo.KubeConfigFile; f != nil {
			from = kubeconfig.Options{Path: *f}
		}
		review, err := accessReviewer(a.Webhook.SubjectAccessReviewVersion, from, m.Requests(), log)
		if err != nil {
			return nil, nil, fmt.Errorf("authorizer %s: %w", a.Name, err)
		}
		opts := a.Webhook.Options(review)
		opts.Metrics = m.AuthorizationWebhook(a.Name)
		mode := webhookMode + ":" + a.Name
		if own[mode], err = authz.NewWebhook(opts); err != nil {
			return nil, nil, fmt.Errorf("authorizer %s: %w", a.Name, err)
		}
		modes = append(modes, mode)
	}
	return modes, own, nil
}
