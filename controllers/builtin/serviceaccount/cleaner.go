package serviceaccount

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// tracking is the ConfigMap in which API servers keep the day since when they record the use of tokens.
var tracking = types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: corev1.TokenTrackingName}

// CleanerOptions are the options of the controller that ends unused tokens.
type CleanerOptions struct {
	// Unused is how long a token has not been used before it is refused, and then until it is deleted; 0
	// means 365 days.
	Unused time.Duration
}

// lookInterval is how often a token is looked at.
const lookInterval = 24 * time.Hour

type cleaner struct {
	unused     time.Duration
	secrets    informers.Lister[*corev1.Secret]
	secretsAPI *client.Client[*corev1.Secret]
	accounts   informers.Lister[*corev1.ServiceAccount]
	pods       informers.Lister[*corev1.Pod]
	configs    *client.Client[*corev1.ConfigMap]
}

// AddCleaner adds the controller "legacy-serviceaccount-token-cleaner" to m. It looks once a day at each
// secret of type kubernetes.io/service-account-token that its service account lists in secrets, as those are
// which Kubernetes before 1.24 made for every account. One that has not been used for long, and that no pod
// mounts, is labelled as invalid, which makes API servers refuse its token, and is deleted as much later.
func AddCleaner(m *manager.Manager, opts CleanerOptions) error {
	if opts.Unused < 0 {
		return fmt.Errorf("serviceaccount: CleanerOptions.Unused must not be negative: %v", opts.Unused)
	}
	if opts.Unused == 0 {
		opts.Unused = 365 * 24 * time.Hour
	}
	secrets := informers.For(m.Informers(), informers.Options[*corev1.Secret]{
		FieldSelector: fields.OneEqual("type", string(corev1.SecretTypeServiceAccountToken))})
	c := &cleaner{
		unused: opts.Unused, secrets: secrets.Lister(), secretsAPI: client.For[*corev1.Secret](m.Conn()),
		accounts: informers.For[*corev1.ServiceAccount](m.Informers()).Lister(), pods: informers.For[*corev1.Pod](m.Informers()).Lister(),
		configs: client.For[*corev1.ConfigMap](m.Conn()),
	}
	_, err := controllers.Add(m, "legacy-serviceaccount-token-cleaner", reconcile.Func(c.reconcile), controllers.Options{},
		controllers.From(secrets, controllers.Self, func(e informers.Event[*corev1.Secret]) bool { return e.Type == informers.Added }))
	return err
}

func (c *cleaner) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	secret, err := c.secrets.Get(req)
	if err != nil || secret.DeletionTimestamp != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	again := reconcile.Result{RequeueAfter: lookInterval}
	now := time.Now().UTC()
	if !unusedSince(secret, now.Add(-c.unused)) {
		return again, nil
	}
	if kept, err := c.kept(ctx, secret, now); kept || err != nil {
		return again, err
	}
	since, err := time.Parse(time.DateOnly, secret.Labels[corev1.TokenInvalidSinceLabel])
	switch {
	case err != nil:
		next := codec.DeepCopy(secret)
		if next.Labels == nil {
			next.Labels = map[string]string{}
		}
		next.Labels[corev1.TokenInvalidSinceLabel] = now.Format(time.DateOnly)
		_, err := client.PatchFrom(ctx, c.secretsAPI, secret, next, client.PatchFromOptions{Lock: true})
		return again, apierrors.IgnoreNotFound(err)
	case !before(since, now.Add(-c.unused)):
		return again, nil
	}
	err = c.secretsAPI.Delete(ctx, req, client.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &secret.ResourceVersion}})
	return reconcile.Result{}, apierrors.IgnoreNotFound(err)
}

// unusedSince reports whether a token was made and last used before a time. A day of the last use that cannot
// be read may be any.
func unusedSince(secret *corev1.Secret, t time.Time) bool {
	if !secret.CreationTimestamp.Time.Before(t) {
		return false
	}
	last, used := secret.Labels[corev1.TokenLastUsedLabel]
	if !used {
		return true
	}
	day, err := time.Parse(time.DateOnly, last)
	return err == nil && before(day, t)
}

// before reports whether a day is before that of a time.
func before(day, t time.Time) bool { return day.Before(t.UTC().Truncate(24 * time.Hour)) }

// kept reports whether a token stays although it was not used: the use has not been recorded for long enough,
// it was not made by Kubernetes, or a pod mounts it.
func (c *cleaner) kept(ctx context.Context, secret *corev1.Secret, now time.Time) (bool, error) {
	account, err := c.accounts.Get(types.NamespacedName{Namespace: secret.Namespace, Name: secret.Annotations[corev1.ServiceAccountNameKey]})
	if err != nil {
		return true, apierrors.IgnoreNotFound(err)
	}
	if uid := secret.Annotations[corev1.ServiceAccountUIDKey]; uid != "" && uid != string(account.UID) ||
		!slices.ContainsFunc(account.Secrets, func(r corev1.ObjectReference) bool { return r.Name == secret.Name }) {
		return true, nil
	}
	mounted := false
	err = c.pods.ViewAll(informers.ListOptions{Namespace: secret.Namespace}, func(p *corev1.Pod) bool {
		corev1.EachSecret(&p.Spec, func(name string) { mounted = mounted || name == secret.Name })
		return !mounted
	})
	if mounted || err != nil {
		return true, err
	}
	config, err := c.configs.Get(ctx, tracking)
	if err != nil {
		return true, fmt.Errorf("read since when the use of tokens is recorded: %w", err)
	}
	since, err := time.Parse(time.DateOnly, config.Data["since"])
	if err != nil {
		return true, errors.Join(errors.New("the use of tokens may not be recorded"), err)
	}
	return now.Before(since.AddDate(0, 0, 1).Add(c.unused)), nil
}
