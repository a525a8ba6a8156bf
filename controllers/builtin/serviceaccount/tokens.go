package serviceaccount

import (
	"context"
	"crypto"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// TokenOptions are the options of the controller of tokens in secrets.
type TokenOptions struct {
	// Key signs the tokens: RSA, or ECDSA on P-256. It is required.
	Key crypto.Signer
	// RootCA is the PEM data put into the secrets as ca.crt; if empty, none is.
	RootCA []byte
	// Concurrency is the number of secrets reconciled concurrently; 0 means 5.
	Concurrency int
}

// byAccount files secrets under the service accounts whose tokens they are.
var byAccount = informers.DefineIndex("serviceaccount.tokens", func(s *corev1.Secret) []string {
	return []string{s.Namespace + "/" + s.Annotations[corev1.ServiceAccountNameKey]}
})

// byListed files service accounts under the secrets that they list.
var byListed = informers.DefineIndex("serviceaccount.listed", func(a *corev1.ServiceAccount) []string {
	var out []string
	for i := range a.Secrets {
		out = append(out, a.Namespace+"/"+a.Secrets[i].Name)
	}
	return out
})

type tokens struct {
	secrets     informers.Lister[*corev1.Secret]
	byAccount   informers.Index[*corev1.Secret]
	secretsAPI  *client.Client[*corev1.Secret]
	accounts    informers.Lister[*corev1.ServiceAccount]
	byListed    informers.Index[*corev1.ServiceAccount]
	accountsAPI *client.Client[*corev1.ServiceAccount]
	contents    contents
}

// AddTokens adds the controller "serviceaccount-token" to m. It writes tokens that do not expire into the
// secrets of type kubernetes.io/service-account-token, each for the service account that the annotation
// kubernetes.io/service-account.name names, and deletes the secrets of accounts that no longer exist.
func AddTokens(m *manager.Manager, opts TokenOptions) error {
	signer, err := newSigner(opts.Key)
	if err != nil {
		return err
	}
	if opts.Concurrency == 0 {
		opts.Concurrency = 5
	}
	secrets := informers.For(m.Informers(), informers.Options[*corev1.Secret]{
		FieldSelector: fields.OneEqual("type", string(corev1.SecretTypeServiceAccountToken))})
	accounts := informers.For[*corev1.ServiceAccount](m.Informers())
	t := &tokens{
		secrets: secrets.Lister(), byAccount: secrets.Index(byAccount), secretsAPI: client.For[*corev1.Secret](m.Conn()),
		accounts: accounts.Lister(), byListed: accounts.Index(byListed), accountsAPI: client.For[*corev1.ServiceAccount](m.Conn()),
		contents: contents{signer: signer, rootCA: opts.RootCA},
	}
	_, err = controllers.Add(m, "serviceaccount-token", reconcile.Func(t.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.From(secrets, controllers.Self), controllers.Watches(t.ofAccount))
	return err
}

// ofAccount returns the secrets of a service account that was created or deleted.
func (t *tokens) ofAccount(e informers.Event[*corev1.ServiceAccount]) []reconcile.Request {
	if e.Type == informers.Updated {
		return nil
	}
	keys, err := t.byAccount.Keys(e.Key.String())
	if err != nil {
		return nil // a secret that cannot be read now is reconciled when it can
	}
	return keys
}

func (t *tokens) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	secret, err := t.secrets.Get(req)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, t.unlist(ctx, req)
	}
	if err != nil || secret.DeletionTimestamp != nil || secret.Annotations[corev1.ServiceAccountNameKey] == "" {
		return reconcile.Result{}, err
	}
	account, err := t.account(ctx, secret)
	if apierrors.IsNotFound(err) {
		err = t.secretsAPI.Delete(ctx, req, client.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion}})
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	changed, err := t.contents.fill(secret, account)
	if err != nil || !changed {
		return reconcile.Result{}, err
	}
	_, err = t.secretsAPI.Update(ctx, secret)
	return reconcile.Result{}, apierrors.IgnoreNotFound(err)
}

// account returns the service account of a secret, or a not-found error if there is none with its uid. The
// server is queried before that is returned: deleting a secret cannot be undone.
func (t *tokens) account(ctx context.Context, secret *corev1.Secret) (*corev1.ServiceAccount, error) {
	key := types.NamespacedName{Namespace: secret.Namespace, Name: secret.Annotations[corev1.ServiceAccountNameKey]}
	uid := types.UID(secret.Annotations[corev1.ServiceAccountUIDKey])
	a, err := t.accounts.Get(key)
	if err == nil && (uid == "" || a.UID == uid) {
		return a, nil
	}
	if a, err = t.accountsAPI.Get(ctx, key); err != nil {
		return nil, err
	}
	if uid != "" && a.UID != uid {
		return nil, apierrors.NewNotFound(corev1.GroupVersion.WithResource("serviceaccounts").GroupResource(), key.Name)
	}
	return a, nil
}

// unlist removes a secret that was deleted from the service accounts that list it. Names of secrets that were
// deleted while no process ran stay listed: they may as well be those of secrets yet to be created.
func (t *tokens) unlist(ctx context.Context, secret types.NamespacedName) error {
	is := func(ref corev1.ObjectReference) bool { return ref.Name == secret.Name }
	listed, err := t.byListed.Keys(secret.String())
	if err != nil || len(listed) == 0 {
		return err
	}
	// The informer has secrets with tokens only: the name may be that of another one.
	if _, err := t.secretsAPI.Get(ctx, secret); !apierrors.IsNotFound(err) {
		return err
	}
	for _, a := range listed {
		live, err := t.accountsAPI.Get(ctx, a)
		if err == nil && slices.ContainsFunc(live.Secrets, is) {
			live.Secrets = slices.DeleteFunc(live.Secrets, is)
			_, err = t.accountsAPI.Update(ctx, live)
		}
		if apierrors.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
