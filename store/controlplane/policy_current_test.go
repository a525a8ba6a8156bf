package controlplane_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// A right is in force once the request that granted it was answered, and is not once the request that deleted
// it was, however late the watches are. Watches that stop hold requests up for two seconds, once.
func TestRightsAreInForceWhenTheWriteIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := time.Second
		st := storetest.NewFaulty(memory.New(memory.Options{}), storetest.Hooks{Batch: func(_ context.Context, prefix string, b store.Batch) error {
			if len(b.Events) > 0 && strings.Contains(prefix, "rolebindings") {
				time.Sleep(late)
			}
			return nil
		}})
		p := planetest.Start(t, planetest.Over(st))
		time.Sleep(time.Minute)
		admin, ann := p.Admin(), p.Token("ann-token")
		list := func() error {
			_, err := client.For[*corev1.ConfigMap](ann).List(t.Context(), client.ListOptions{Namespace: "default"})
			return err
		}
		for i := range 5 {
			name := fmt.Sprint("b-", i)
			require.True(t, apierrors.IsForbidden(list()), "round %d", i)
			planetest.Create(t, admin, binding("default", name, "ClusterRole", "view", user("ann")))
			require.NoError(t, list(), "round %d", i)
			require.NoError(t, client.For[*rbacv1.RoleBinding](admin).Delete(t.Context(), planetest.Key("default", name)))
		}
		require.True(t, apierrors.IsForbidden(list()))
		late = time.Hour
		planetest.Create(t, admin, binding("default", "late", "ClusterRole", "view", user("ann")))
		begun := time.Now()
		for range 100 {
			require.True(t, apierrors.IsForbidden(list()), "decided by the previous policy")
		}
		require.Equal(t, 2*time.Second, time.Since(begun))
		time.Sleep(time.Hour)
		require.NoError(t, list())
	})
}
