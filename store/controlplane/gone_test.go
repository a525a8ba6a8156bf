package controlplane_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fence"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

// A token bound to a deleted object is refused without a read of the store for each request.
func TestTokensOfWhatIsGoneSpareTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		p := planetest.Start(t, planetest.Over(storetest.NewFaulty(memory.New(memory.Options{}), storetest.Hooks{Before: func(_ context.Context, r storetest.Request) error {
			if r.Op == "get" && strings.Contains(r.Key, "serviceaccounts") {
				reads.Add(1)
			}
			return nil
		}})))
		account := p.Account("default", "robot")
		signed, err := token(t, p.Admin(), "default", "robot", nil)
		require.NoError(t, err)
		robot := p.Token(signed)
		_, err = whoami(t, robot)
		require.NoError(t, err)
		require.NoError(t, client.For[*corev1.ServiceAccount](p.Admin()).Delete(t.Context(), planetest.Key("default", "robot")))
		synctest.Wait()
		ask := func() {
			_, err := whoami(t, robot)
			require.True(t, apierrors.IsUnauthorized(err), err)
		}
		reads.Store(0)
		for range 50 {
			ask()
		}
		require.LessOrEqual(t, reads.Load(), int64(1))
		time.Sleep(2 * time.Second)
		ask()
		require.LessOrEqual(t, reads.Load(), int64(2))
		// A new account of the same name has another UID, and its tokens are accepted at once.
		again := p.Account("default", "robot")
		require.NotEqual(t, account.UID, again.UID)
		ask()
		fresh, err := token(t, p.Admin(), "default", "robot", nil)
		require.NoError(t, err)
		_, err = whoami(t, p.Token(fresh))
		require.NoError(t, err)
	})
}

// A fence token reveals nothing of leases to users who may not read them: neither whether there is one nor
// who holds it.
func TestFenceTokensTellNothing(t *testing.T) {
	p := planetest.Start(t)
	planetest.Create(t, p.Admin(), binding("default", "editors", "ClusterRole", "edit", user("ann")))
	p.Eventually("ann writes", func() bool {
		return planetest.TryCreate(t, p.Token("ann-token"), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "c")}) == nil
	})
	p.Post("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: held}\nspec: {holderIdentity: him, leaseTransitions: 3}\n")
	ann := p.Token("ann-token")
	ask := func(lease, holder string, transitions int32) string {
		text := fence.Token{Lease: planetest.Key("kube-system", lease), Holder: holder, Transitions: transitions}.String()
		_, err := ann.Do(t.Context(), &client.Request{Method: http.MethodPut, Path: "/api/v1/namespaces/default/configmaps/c", ContentType: "application/json",
			Body: []byte(`{"metadata":{"name":"c"},"data":{"a":"b"}}`), Header: map[string]string{fence.Header: text}})
		require.Error(t, err)
		require.Equal(t, 409, apierrors.CodeOf(err), err)
		return strings.NewReplacer(lease, "LEASE", holder, "HOLDER").Replace(err.Error())
	}
	want := ask("none", "me", 3)
	require.Contains(t, want, "does not hold it")
	require.Equal(t, want, ask("held", "me", 3))
	require.Equal(t, strings.Replace(want, "term 3", "term 2", 1), ask("held", "him", 2))
}
