package controlplane_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/peers"
)

// A server has its address in the store and in its lease while it runs. Over a store of its own it has no
// peers.
func TestPeerAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Options{})
		defer mem.Close()
		shared := sharedStore{mem}
		b := controlplane.BookkeepingOptions{Hostname: "control-plane-1", PeerAddress: "[2001:db8::1]:6443"}
		s, stop := runServer(t, apiserver.Options{Store: shared}, b)
		time.Sleep(time.Hour)
		at, err := peers.Address(t.Context(), shared, b.IdentityName())
		require.NoError(t, err)
		require.Equal(t, b.PeerAddress, at)
		require.Equal(t, b.PeerAddress, identities(t, s)["control-plane-1"].Annotations["kubernetes.io/peer-advertise-address"])
		stop()
		_, err = peers.Address(t.Context(), shared, b.IdentityName())
		require.ErrorContains(t, err, "has published no address")

		_, stop = runServer(t, apiserver.Options{Store: mem}, b)
		time.Sleep(time.Minute)
		_, err = peers.Address(t.Context(), mem, b.IdentityName())
		require.Error(t, err)
		stop()
	})
}

func TestPeerAddressIsChecked(t *testing.T) {
	for address, host := range map[string]string{"example.com:6443": "h", "192.0.2.1": "h", "192.0.2.1:99999": "h", "192.0.2.1:6443": ""} {
		s, err := apiserver.New(apiserver.Options{StartHook: controlplane.Bookkeeping(controlplane.BookkeepingOptions{Hostname: host, PeerAddress: address})})
		require.NoError(t, err)
		require.ErrorContains(t, s.Run(t.Context()), "PeerAddress", address)
	}
}
