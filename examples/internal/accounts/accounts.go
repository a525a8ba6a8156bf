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
	cfg.Credentials = &account{key: types.NamespacedName{Namespace: accountNamespace, Name: name}, accounts: client.For[*corev1.ServiceAccount](a.root)}
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

// account is the source of one service account's tokens.
type account struct {
	key      types.NamespacedName
	accounts *client.Client[*corev1.ServiceAccount]

	mu      sync.Mutex
	token   *rest.Credential
	renewAt time.Time
}

// Credential implements rest.CredentialSource.
func (a *account) Credential(ctx context.Context, rejected *rest.Credential) (*rest.Credential, error) {
	a.mu.Lock()
	have, renewAt := a.token, a.renewAt
	a.mu.Unlock()
	if have != nil && time.Now().Before(renewAt) && (rejected == nil || rejected.Token != have.Token) {
		return have, nil
	}
	r, err := a.request(ctx)
	if apierrors.IsNotFound(err) {
		_, err = a.accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: a.key.Namespace, Name: a.key.Name}})
		if err == nil || apierrors.IsAlreadyExists(err) {
			r, err = a.request(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("token of service account %s: %w", a.key, err)
	}
	now := time.Now()
	c := &rest.Credential{Token: r.Status.Token}
	a.mu.Lock()
	defer a.mu.Unlock()
	// The last fifth of its lifetime is left for attempts to get the next one.
	a.token, a.renewAt = c, now.Add(r.Status.ExpirationTimestamp.Sub(now)*4/5)
	return c, nil
}

func (a *account) request(ctx context.Context) (*authenticationv1.TokenRequest, error) {
	return client.Subresource[*authenticationv1.TokenRequest](a.accounts, "token").Create(ctx, a.key, &authenticationv1.TokenRequest{})
}
