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
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

// A token of what has been deleted is refused without a read of the store for each request.
func TestTokensOfWhatIsGoneSpareTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		p := start(t, over(storetest.NewFaulty(memory.New(memory.Options{}), storetest.Hooks{Before: func(_ context.Context, r storetest.Request) error {
			if r.Op == "get" && strings.Contains(r.Key, "serviceaccounts") {
				reads.Add(1)
			}
			return nil
		}})))
		account := p.account("default", "robot")
		signed, err := token(t, p.admin(), "default", "robot", nil)
		require.NoError(t, err)
		robot := p.token(signed)
		_, err = whoami(t, robot)
		require.NoError(t, err)
		require.NoError(t, client.For[*corev1.ServiceAccount](p.admin()).Delete(t.Context(), key("default", "robot")))
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
		// One of the same name is another account, and its tokens count at once.
		again := p.account("default", "robot")
		require.NotEqual(t, account.UID, again.UID)
		ask()
		fresh, err := token(t, p.admin(), "default", "robot", nil)
		require.NoError(t, err)
		_, err = whoami(t, p.token(fresh))
		require.NoError(t, err)
	})
}

// A fence token tells nothing of leases to who may not read them: neither whether there is one nor who holds
// it.
func TestFenceTokensTellNothing(t *testing.T) {
	p := start(t)
	create(t, p.admin(), binding("default", "editors", "ClusterRole", "edit", user("ann")))
	p.eventually("ann writes", func() bool {
		return tryCreate(t, p.token("ann-token"), &corev1.ConfigMap{ObjectMeta: meta("default", "c")}) == nil
	})
	p.post("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: held}\nspec: {holderIdentity: him, leaseTransitions: 3}\n")
	ann := p.token("ann-token")
	ask := func(lease, holder string, transitions int32) string {
		text := fence.Token{Lease: key("kube-system", lease), Holder: holder, Transitions: transitions}.String()
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
