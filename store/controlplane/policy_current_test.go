package controlplane_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

// slowPolicy is a store whose watches of roles and bindings are late by delay, and stop while stopped is not
// nil until it is closed.
func slowPolicy(delay time.Duration, stopped *atomic.Pointer[chan struct{}]) store.Store {
	return storetest.NewFaulty(memory.New(memory.Options{}), storetest.Hooks{Batch: func(ctx context.Context, prefix string, b store.Batch) error {
		if len(b.Events) == 0 || !strings.Contains(prefix, "role") {
			return nil
		}
		if ch := stopped.Load(); ch != nil {
			<-*ch
		}
		time.Sleep(delay)
		return nil
	}})
}

// A right is in force once the request that granted it was answered, and is not once the request that deleted
// it was, however late the watches are.
func TestRightsAreInForceWhenTheWriteIsAnswered(t *testing.T) {
	var stopped atomic.Pointer[chan struct{}]
	p := planetest.Start(t, planetest.Over(slowPolicy(30*time.Millisecond, &stopped)))
	admin, ann := p.Admin(), p.Token("ann-token")
	list := func() error {
		_, err := client.For[*corev1.ConfigMap](ann).List(t.Context(), client.ListOptions{Namespace: "default"})
		return err
	}
	bindings := client.For[*rbacv1.RoleBinding](admin)
	for i := range 5 {
		name := fmt.Sprint("b-", i)
		require.True(t, apierrors.IsForbidden(list()), "round %d", i)
		planetest.Create(t, admin, binding("default", name, "ClusterRole", "view", user("ann")))
		require.NoError(t, list(), "round %d", i)
		require.NoError(t, bindings.Delete(t.Context(), types.NamespacedName{Namespace: "default", Name: name}))
	}
	// Watches that stop hold nobody up for long, and only once.
	ch := make(chan struct{})
	stopped.Store(&ch)
	planetest.Create(t, admin, binding("default", "late", "ClusterRole", "view", user("ann")))
	require.True(t, apierrors.IsForbidden(list()))
	for range 1000 {
		require.True(t, apierrors.IsForbidden(list()), "decided by the previous policy")
	}
	stopped.Store(nil)
	close(ch)
	p.Eventually("the watch is back", func() bool { return list() == nil })
}
