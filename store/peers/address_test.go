package peers_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/peers"
)

// An address is there for 15 seconds after it was written, and values that cannot be one are errors.
func TestAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		defer st.Close()
		ctx := t.Context()
		at := func() string {
			host, err := peers.Address(ctx, st, "x")
			if err != nil {
				return "none"
			}
			return host
		}
		require.Equal(t, "none", at())
		for _, wrong := range []string{"", "10.0.0.1", "name:6443", ":6443", "10.0.0.1:", "10.0.0.1:65536", "10.0.0.1:x"} {
			require.Error(t, peers.Publish(ctx, st, "x", wrong), wrong)
		}
		require.NoError(t, peers.Publish(ctx, st, "x", "10.0.0.1:6443"))
		time.Sleep(10 * time.Second)
		require.NoError(t, peers.Publish(ctx, st, "x", "10.0.0.2:6443"))
		time.Sleep(14 * time.Second)
		require.Equal(t, "10.0.0.2:6443", at())
		kv, _, err := st.Get(ctx, "/peerserverleases/x")
		require.NoError(t, err)
		var e corev1.Endpoints
		_, _, err = codec.UnmarshalEnvelope(kv.Value, &e)
		require.NoError(t, err)
		require.EqualValues(t, 2, e.Generation, "as kube-apiserver counts renewals")
		require.Equal(t, map[string]string{"apiserverIdentity": "x"}, e.Labels)
		time.Sleep(2 * time.Second)
		require.Equal(t, "none", at())

		for value, want := range map[string]string{
			`{"kind":"Endpoints","apiVersion":"v1","subsets":[{"addresses":[{"ip":"10.0.0.3"}],"ports":[{"name":"https","port":443}]}]}`: "10.0.0.3:443",
			`{"kind":"Endpoints","apiVersion":"v1","subsets":[{"addresses":[{"ip":""}],"ports":[{"port":443}]}]}`:                        "none",
			`{"kind":"Endpoints","apiVersion":"v1","subsets":[{"addresses":[{"ip":"10.0.0.3"}]}]}`:                                       "none",
			`{"kind":"Endpoints","apiVersion":"v1"}`: "none", "garbage": "none", "k8s\x00garbage": "none", "": "none",
		} {
			_, err := st.Update(ctx, "/peerserverleases/x", []byte(value), revision(ctx, st), store.WriteOptions{})
			require.NoError(t, err)
			require.Equal(t, want, at(), value)
		}
		require.NoError(t, peers.Publish(ctx, st, "x", "10.0.0.2:6443"), "what was there is replaced")
		require.Equal(t, "10.0.0.2:6443", at())
	})
}

// revision is that of the key of the server x.
func revision(ctx context.Context, st store.Store) int64 {
	kv, _, err := st.Get(ctx, "/peerserverleases/x")
	if err != nil {
		return store.Absent
	}
	return kv.Revision
}
