package controlplane_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

// While the watches of the policy restart, because the store has compacted what they missed, users keep their
// rights; afterwards rights deleted meanwhile are gone, and rights granted meanwhile are effective.
func TestRightsOutliveARestartedWatch(t *testing.T) {
	var broken atomic.Int32
	lose := func(_ context.Context, prefix string, b store.Batch) error {
		if len(b.Events) > 0 && strings.Contains(prefix, "rolebindings") && broken.Load() > 0 {
			broken.Add(-1)
			return &store.ExpiredError{Compacted: b.Revision}
		}
		return nil
	}
	p := planetest.Start(t, planetest.Over(storetest.NewFaulty(memory.New(memory.Options{}), storetest.Hooks{Batch: lose})))
	admin := p.Admin()
	for i := range 100 {
		planetest.Create(t, admin, clusterBinding(fmt.Sprintf("b-%d", i), "view", user(fmt.Sprint("user-", i))))
		planetest.Create(t, admin, binding("default", fmt.Sprintf("b-%d", i), "ClusterRole", "view", user(fmt.Sprint("user-", i))))
	}
	planetest.Create(t, admin, clusterBinding("z-ann", "view", user("ann")))
	planetest.Create(t, admin, binding("default", "z-bob", "ClusterRole", "view", user("bob")))
	allowed := func(token string) error {
		_, err := client.For[*corev1.ConfigMap](p.Token(token)).List(t.Context(), client.ListOptions{Namespace: "default"})
		return err
	}
	tokens := []string{"ann-token", "bob-token"}
	for _, token := range tokens {
		p.Eventually("the policy is known", func() bool { return allowed(token) == nil })
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var asking sync.WaitGroup
	var refused, asked atomic.Int64
	for _, token := range tokens {
		conn := p.Token(token)
		asking.Go(func() {
			for ctx.Err() == nil {
				_, err := conn.Do(ctx, &client.Request{Method: http.MethodGet, Path: "/api/v1/namespaces/default/configmaps"})
				if ctx.Err() != nil {
					return
				}
				asked.Add(1)
				if err != nil {
					refused.Add(1)
				}
			}
		})
	}
	const restarts = 5
	for i := range restarts {
		before := asked.Load()
		name := fmt.Sprintf("granted-%d", i)
		broken.Store(2) // the watches of both kinds of bindings
		planetest.Create(t, admin, clusterBinding(name, "view", user(name)))
		planetest.Create(t, admin, binding("default", name, "ClusterRole", "view", user(name)))
		p.Eventually("both watches were lost", func() bool { return broken.Load() == 0 })
		p.Eventually("requests were made meanwhile", func() bool { return asked.Load() > before+4 })
		p.Eventually("what is new counts", func() bool {
			_, err := client.For[*corev1.ConfigMap](p.As(name)).List(t.Context(), client.ListOptions{})
			return err == nil
		})
	}
	stop()
	asking.Wait()
	require.Zero(t, refused.Load(), "of %d requests", asked.Load())

	broken.Store(1)
	require.NoError(t, client.For[*rbacv1.ClusterRoleBinding](admin).Delete(t.Context(), planetest.Key("", "z-ann")))
	p.Eventually("what was deleted while the watch was lost does not count", func() bool { return apierrors.IsForbidden(allowed("ann-token")) })
}
