package informers_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers"
)

// The same code reads from the server and from a cache, with the same results.
func TestReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := clienttest.Start(t, clienttest.Options{}).Conn(t, rest.Options{})
		maps := client.For[*corev1.ConfigMap](conn)
		for _, name := range []string{"a", "b", "c"} {
			_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"name": name}}})
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		set := informers.NewSet(conn, informers.SetOptions{KeepManagedFields: true})
		cached := informers.For[*corev1.ConfigMap](set).Lister().Reader()
		key := types.NamespacedName{Namespace: "default", Name: "b"}
		_, err := cached.List(ctx, client.ListOptions{})
		require.ErrorContains(t, err, "not synced")
		done := make(chan error)
		go func() { done <- set.Run(ctx) }()
		require.NoError(t, set.WaitForSync(ctx))
		for _, r := range []client.Reader[*corev1.ConfigMap]{maps, cached} {
			b, err := r.Get(ctx, key)
			require.NoError(t, err)
			require.Equal(t, "b", b.Name)
			_, err = r.Get(ctx, types.NamespacedName{Namespace: "default", Name: "x"})
			require.True(t, apierrors.IsNotFound(err))
			list, err := r.List(ctx, client.ListOptions{Namespace: "default", LabelSelector: labels.MustParse("name in (a,c)")})
			require.NoError(t, err)
			require.Len(t, list.Items, 2)
			require.NotEmpty(t, list.ResourceVersion)
		}
		_, err = cached.Get(ctx, key, client.GetOptions{ResourceVersion: "1"})
		require.ErrorContains(t, err, "use Lister.AtLeast")
		for text, o := range map[string]client.ListOptions{
			"use Lister.AtLeast": {ResourceVersion: "1"}, "use an index": {FieldSelector: fields.OneEqual("metadata.name", "b")},
			"has no pages": {Limit: 1}, "leave Limit and Continue": {Continue: "x"},
		} {
			_, err := cached.List(ctx, o)
			require.ErrorContains(t, err, text)
		}
		cancel()
		require.NoError(t, <-done)
	})
}
