package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/peers"
)

// checkPeerAddress refuses an address that peers cannot use.
func (o BookkeepingOptions) checkPeerAddress() error {
	switch _, err := netip.ParseAddrPort(o.PeerAddress); {
	case o.PeerAddress == "":
		return nil
	case err != nil:
		return fmt.Errorf("PeerAddress: %w", err)
	case o.Hostname == "":
		return errors.New("PeerAddress needs a Hostname: peers find this server by its lease")
	}
	return nil
}

// publishPeerAddress keeps the address of the server in the store until ctx ends, and then removes it.
func publishPeerAddress(ctx context.Context, s *apiserver.Server, o BookkeepingOptions) {
	st := s.Registry().Store()
	if !st.Capabilities().Shared {
		return
	}
	_ = backoff.Poll(ctx, peers.Refresh, func(ctx context.Context) (bool, error) { // ends with ctx
		if err := peers.Publish(ctx, st, o.IdentityName(), o.PeerAddress); err != nil && ctx.Err() == nil {
			s.Logger().Warn("publishing the address for peers failed", "err", err)
		}
		return false, nil
	})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	if err := peers.Withdraw(ctx, st, o.IdentityName()); err != nil {
		s.Logger().Warn("the address for peers was not removed and expires by itself", "err", err)
	}
}
