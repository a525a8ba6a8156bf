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

// bySecret files pods under the secrets that they use.
var bySecret = informers.DefineIndex("serviceaccount.secrets", func(p *corev1.Pod) []string {
	var out []string
	corev1.EachSecret(&p.Spec, func(name string) {
		if key := p.Namespace + "/" + name; !slices.Contains(out, key) {
			out = append(out, key)
		}
	})
	return out
})

type cleaner struct {
	unused     time.Duration
	secrets    informers.Lister[*corev1.Secret]
	secretsAPI *client.Client[*corev1.Secret]
	accounts   informers.Lister[*corev1.ServiceAccount]
	bySecret   informers.Index[*corev1.Pod]
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
		accounts: informers.For[*corev1.ServiceAccount](m.Informers()).Lister(), bySecret: informers.For[*corev1.Pod](m.Informers()).Index(bySecret),
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
	s := &tokenState{secret: secret, unused: c.unused, now: time.Now().UTC()}
	again := reconcile.Result{RequeueAfter: lookInterval}
	if !s.isOld() {
		return again, nil
	}
	if err := c.read(ctx, s); err != nil {
		return again, err
	}
	switch decide(s) {
	case refuse:
		next := codec.DeepCopy(secret)
		if next.Labels == nil {
			next.Labels = map[string]string{}
		}
		next.Labels[corev1.TokenInvalidSinceLabel] = s.now.Format(time.DateOnly)
		_, err = client.PatchFrom(ctx, c.secretsAPI, secret, next, client.PatchFromOptions{Lock: true})
	case remove:
		err = c.secretsAPI.Delete(ctx, req, client.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &secret.ResourceVersion}})
		again = reconcile.Result{}
	}
	return again, apierrors.IgnoreNotFound(err)
}

// read completes the state of a token that may be unused.
func (c *cleaner) read(ctx context.Context, s *tokenState) error {
	key := types.NamespacedName{Namespace: s.secret.Namespace, Name: s.secret.Annotations[corev1.ServiceAccountNameKey]}
	account, err := c.accounts.Get(key)
	if err != nil {
		return apierrors.IgnoreNotFound(err)
	}
	s.account = account
	users, err := c.bySecret.Keys(s.secret.Key().String())
	if err != nil {
		return err
	}
	s.mounted = len(users) > 0
	if s.isKept() {
		return nil
	}
	config, err := c.configs.Get(ctx, tracking)
	if err != nil {
		return fmt.Errorf("read since when the use of tokens is recorded: %w", err)
	}
	if s.recorded, err = time.Parse(time.DateOnly, config.Data["since"]); err != nil {
		return errors.Join(errors.New("the use of tokens may not be recorded"), err)
	}
	return nil
}
