// Package accounts connects controllers to a server, each as its own service account.
package accounts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
)

// accountNamespace holds the service accounts of controllers.
const accountNamespace = "kube-system"

// Accounts connects controllers to the server of one configuration, each as its own service account. It is a
// manager.Runnable.
type Accounts struct {
	cfg  rest.Config
	root client.Conn
	log  *slog.Logger

	mu    sync.Mutex
	conns map[string]*rest.Conn
}

// New returns Accounts for the server of cfg. root is a connection as a user who may create the
// accounts and request their tokens.
func New(cfg rest.Config, root client.Conn, log *slog.Logger) *Accounts {
	cfg.TLS.CertFile, cfg.TLS.KeyFile, cfg.TLS.CertData, cfg.TLS.KeyData = "", "", nil, nil
	cfg.BearerToken, cfg.BearerTokenFile, cfg.Username, cfg.Password = "", "", "", ""
	return &Accounts{cfg: cfg, root: root, log: log, conns: map[string]*rest.Conn{}}
}

// Conn returns the connection of a service account, which is created on first use.
func (a *Accounts) Conn(name string) (client.Conn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.conns[name]; c != nil {
		return c, nil
	}
	cfg := a.cfg
	cfg.UserAgent = a.cfg.UserAgent + "/" + name
	cfg.Credentials = newAccount(a.root, name)
	c, err := rest.New(cfg, rest.Options{Logger: a.log, Warnings: rest.NoWarnings})
	if err != nil {
		return nil, fmt.Errorf("connect as service account %s: %w", name, err)
	}
	a.conns[name] = c
	return c, nil
}

// Run closes the connections when ctx ends. It must run on every replica.
func (a *Accounts) Run(ctx context.Context) error {
	<-ctx.Done()
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for name, c := range a.conns {
		errs = append(errs, c.Close())
		delete(a.conns, name)
	}
	return errors.Join(errs...)
}

// minLifetime is how long a token is used at least. Servers issue none for less, so a shorter one is only the
// difference of two clocks.
const minLifetime = 10 * time.Minute

// account fetches the tokens of one service account.
type account struct {
	key      types.NamespacedName
	accounts *client.Client[*corev1.ServiceAccount]
	found    bool // or created
}

// newAccount returns an account with its tokens, which all users of the account share.
func newAccount(root client.Conn, name string) rest.CredentialSource {
	a := &account{key: types.NamespacedName{Namespace: accountNamespace, Name: name}, accounts: client.For[*corev1.ServiceAccount](root)}
	return rest.CacheCredentials(a.fetch)
}

// fetch returns a new token of the account, which is created if it does not exist. There is one call at a
// time.
func (a *account) fetch(ctx context.Context, _ *rest.Credential) (rest.Fetched, error) {
	t, err := a.issue(ctx)
	if err != nil {
		return rest.Fetched{}, fmt.Errorf("token of service account %s: %w", a.key, err)
	}
	now := time.Now()
	life := max(t.Status.ExpirationTimestamp.Sub(now), minLifetime)
	// The last fifth of its lifetime is left for attempts to get the next one.
	return rest.Fetched{Credential: &rest.Credential{Token: t.Status.Token}, RenewAt: now.Add(life * 4 / 5), Expires: now.Add(life)}, nil
}

// issue requests a token once the account exists, and again if it was deleted since it was found.
func (a *account) issue(ctx context.Context) (*authenticationv1.TokenRequest, error) {
	for {
		before := a.found
		if err := a.ensure(ctx); err != nil {
			return nil, err
		}
		t, err := client.Subresource[*authenticationv1.TokenRequest](a.accounts, "token").Create(ctx, a.key, &authenticationv1.TokenRequest{})
		a.found = !apierrors.IsNotFound(err)
		if a.found || !before {
			return t, err
		}
	}
}

// ensure finds or creates the account, unless it has been found before.
func (a *account) ensure(ctx context.Context) error {
	if a.found {
		return nil
	}
	_, err := a.accounts.Get(ctx, a.key)
	if apierrors.IsNotFound(err) {
		_, err = a.accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: a.key.Namespace, Name: a.key.Name}})
	}
	if apierrors.IsAlreadyExists(err) { // another process has created it
		return nil
	}
	return err
}
