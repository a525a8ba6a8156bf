package peers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
)

// dialTimeout bounds an attempt to connect to a peer.
const dialTimeout = 5 * time.Second

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
	body := r.Body
	if body != nil && body != http.NoBody {
		r.Body = io.NopCloser(body) // a transport closes it also if it cannot connect
		defer body.Close()
	}
	for {
		resp, err := t.peers.client.Send(r, u)
		if err == nil {
			t.peers.proxied(resp.StatusCode, t.resource)
			return resp, nil
		}
		if _, ok := errors.AsType[*unreachable](err); ok && r.Context().Err() == nil {
			if host, none := t.next(r.Context()); none == nil {
				next := *r.URL
				next.Host = host
				r.URL, r.Host = &next, host
				continue
			}
		}
		code := http.StatusServiceUnavailable
		if errors.Is(err, context.DeadlineExceeded) {
			code = http.StatusGatewayTimeout
		}
		t.peers.proxied(code, t.resource)
		return nil, err
	}
}
