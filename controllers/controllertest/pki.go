package controllertest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/certs"
)

// pki holds the keys of one cluster, generated in its bubble or restored from a snapshot.
type pki struct {
	ca      *certs.Authority
	account *certs.Pair // signs service account tokens
	serving *certs.Pair
	clients *clientCerts
}

type clientCerts struct {
	mu     sync.Mutex
	byUser map[string]*certs.Pair
}

// validity of the certificates of a cluster, longer than the virtual time any test sleeps.
const validity = 200 * 365 * 24 * time.Hour

func newPKI(from Snapshot) (pki, error) {
	p := pki{clients: &clientCerts{byUser: map[string]*certs.Pair{}}}
	if from.ca.cert != nil {
		ca, err := certs.ParsePair(from.ca.cert, from.ca.key)
		if err != nil {
			return p, err
		}
		p.ca = &certs.Authority{Pair: *ca, Validity: validity}
		p.account, err = certs.ParsePair(from.account.cert, from.account.key)
		return p, err
	}
	var err error
	if p.ca, err = certs.NewAuthorityFor("keelson", validity); err != nil {
		return p, err
	}
	p.ca.Validity = validity
	p.account, err = p.ca.Client("service-account-key")
	return p, err
}

// client returns the certificate of a user, one per name and groups.
func (p *pki) client(u client.User) (*certs.Pair, error) {
	if u.UID != "" || len(u.Extra) > 0 {
		return nil, fmt.Errorf("user %s: a certificate contains only name and groups; use client.Impersonate for UID and Extra", u.Name)
	}
	groups := u.Groups
	if rest, ok := strings.CutPrefix(u.Name, "system:serviceaccount:"); ok && len(groups) == 0 {
		ns, _, _ := strings.Cut(rest, ":")
		groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + ns}
	}
	key := fmt.Sprintf("%q %q", u.Name, groups)
	p.clients.mu.Lock()
	defer p.clients.mu.Unlock()
	if pair := p.clients.byUser[key]; pair != nil {
		return pair, nil
	}
	pair, err := p.ca.Client(u.Name, groups...)
	if err == nil {
		p.clients.byUser[key] = pair
	}
	return pair, err
}
