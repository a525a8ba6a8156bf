package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/keelson-dev/keelson/client/kubeconfig"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/webhook"
)

// webhookUsers are the users of a kubeconfig as whom admission webhooks are called, by their hosts.
type webhookUsers struct {
	byName  map[string]*webhookUser
	current string // the user of the current context; empty if there is none
}

// webhookUser is one of them, with the files that its credentials are in.
type webhookUser struct {
	config rest.Config
	pair   *component.Reloaded[*tls.Certificate] // nil without files
	token  *component.Reloaded[string]           // nil without a file
	issued atomic.Pointer[issuedCredential]      // the last one of config.Credentials
}

// issuedCredential is a credential, and what it was made of.
type issuedCredential struct {
	made *webhook.Credential
	from *rest.Credential
}

// webhookCredentials reads a kubeconfig whose users are named after the hosts of webhooks, see find. Changes
// of it and of the files it names are followed.
func webhookCredentials(path string, log *slog.Logger) (webhook.CredentialFunc, error) {
	users, err := component.Reload(log, func([][]byte) (*webhookUsers, error) { return readWebhookUsers(path, log) }, path)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, host string, rejected *webhook.Credential) (*webhook.Credential, error) {
		user := users.Get().find(host)
		if user == nil {
			return nil, nil
		}
		return user.credential(ctx, rejected)
	}, nil
}

func readWebhookUsers(path string, log *slog.Logger) (*webhookUsers, error) {
	file, err := kubeconfig.LoadFile(path)
	if err != nil {
		return nil, err
	}
	all := &webhookUsers{byName: map[string]*webhookUser{}}
	if file.CurrentContext != "" {
		c := file.Context(file.CurrentContext)
		if c == nil {
			return nil, fmt.Errorf("current-context: there is no context %q", file.CurrentContext)
		}
		all.current = c.User
	}
	// Only the users matter: webhooks say themselves where they are, and by which authorities they are known.
	const any = "webhooks"
	file.CurrentContext, file.Contexts = "", nil
	file.Clusters = []kubeconfig.NamedCluster{{Name: any, Cluster: kubeconfig.Cluster{Server: "https://" + any}}}
	for _, u := range file.Users {
		config, err := file.REST(kubeconfig.Options{Path: path, Cluster: any, User: u.Name})
		if err != nil {
			return nil, err
		}
		if all.byName[u.Name], err = newWebhookUser(config, log); err != nil {
			return nil, fmt.Errorf("users[%s]: %w", u.Name, err)
		}
	}
	if all.current != "" && all.byName[all.current] == nil {
		return nil, fmt.Errorf("users: there is no user %q", all.current)
	}
	return all, nil
}

func newWebhookUser(c rest.Config, log *slog.Logger) (*webhookUser, error) {
	u := &webhookUser{config: c}
	var err error
	switch t := &c.TLS; {
	case t.CertFile != "" && t.KeyFile != "":
		u.pair, err = component.Reload(log, component.ReadPair, t.CertFile, t.KeyFile)
	case t.CertFile != "" || t.KeyFile != "":
		err = errors.New("certificate and key are either both files or both data")
	case len(t.CertData) > 0:
		var pair *tls.Certificate
		pair, err = component.ReadPair([][]byte{t.CertData, t.KeyData})
		u.pair = component.Unchanging(pair)
	}
	if err == nil && c.BearerTokenFile != "" {
		u.token, err = component.Reload(log, func(contents [][]byte) (string, error) {
			token := strings.TrimSpace(string(contents[0]))
			if token == "" {
				return "", errors.New("there is no token in it")
			}
			return token, nil
		}, c.BearerTokenFile)
	}
	return u, err
}

// find returns the user for a host: that of the same name, or else one whose name has "*" in place of its
// first labels, at first with its port and then, if that is 443, without; then the user "*"; then that of the
// current context. Nil means that the webhook is called without a credential.
func (u *webhookUsers) find(host string) *webhookUser {
	names := []string{host}
	if name, port, err := net.SplitHostPort(host); err == nil && port == "443" {
		names = append(names, name)
	}
	for _, name := range names {
		if user := u.byName[name]; user != nil {
			return user
		}
		for _, rest, ok := strings.Cut(name, "."); ok; _, rest, ok = strings.Cut(rest, ".") {
			if user := u.byName["*."+rest]; user != nil {
				return user
			}
		}
	}
	if user := u.byName["*"]; user != nil {
		return user
	}
	return u.byName[u.current]
}

// credential returns the current credential of the user, which is not rejected if it has another.
func (u *webhookUser) credential(ctx context.Context, rejected *webhook.Credential) (*webhook.Credential, error) {
	made := &webhook.Credential{Header: http.Header{}}
	bearer := u.config.BearerToken
	if u.token != nil {
		bearer = u.token.Get()
	}
	if u.pair != nil {
		made.Certificate = u.pair.Get()
	}
	if source := u.config.Credentials; source != nil {
		var before *rest.Credential
		if last := u.issued.Load(); last != nil && last.made == rejected {
			before = last.from
		}
		from, err := source.Credential(ctx, before)
		if err != nil {
			return nil, err
		}
		if from.Token != "" {
			bearer = from.Token
		}
		if from.Certificate != nil {
			made.Certificate = from.Certificate
		}
		defer u.issued.Store(&issuedCredential{made, from})
	}
	switch r := (&http.Request{Header: made.Header}); {
	case bearer != "":
		r.Header.Set("Authorization", "Bearer "+bearer)
	case u.config.Username != "":
		r.SetBasicAuth(u.config.Username, u.config.Password)
	}
	if as := u.config.Impersonate; as != nil {
		as.SetHeader(made.Header)
	}
	return made, nil
}
