package peers

import (
	"context"
	"errors"
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
)

// target is the transport of one request to the peers that serve its resource.
type target struct {
	peers    *Peers
	resource schema.GroupVersionResource
	store    store.Store
	others   []string // identities that were not tried
}

// next returns the address of the next peer that has one, and the errors of all if none has.
func (t *target) next(ctx context.Context) (string, error) {
	err := errors.New("there is no other peer")
	for len(t.others) > 0 {
		id := t.others[0]
		t.others = t.others[1:]
		host, failed := Address(ctx, t.store, id)
		if failed == nil {
			return host, nil
		}
		err = errors.Join(err, failed)
	}
	return "", err
}

// RoundTrip sends the request to the peer at its address, and to another one if that accepts no connection.
func (t *target) RoundTrip(r *http.Request) (*http.Response, error) {
	u := authn.UserFrom(r.Context())
	if u == nil {
		return nil, apierrors.NewInternalError(errors.New("the request has no user"))
	}
	r.Header.Set(apiserver.PeerProxiedHeader, "true")
	resp, err := t.peers.client.SendToAny(r, u, func() (string, error) { return t.next(r.Context()) })
	switch {
	case err == nil:
		t.peers.proxied(resp.StatusCode, t.resource)
	case errors.Is(err, context.DeadlineExceeded):
		t.peers.proxied(http.StatusGatewayTimeout, t.resource)
	default:
		t.peers.proxied(http.StatusServiceUnavailable, t.resource)
	}
	return resp, err
}
