package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

func TestNamespaceLifecycle(t *testing.T) {
	p := planetest.Start(t)
	admin := p.Admin()
	err := planetest.TryCreate(t, admin, &corev1.ConfigMap{ObjectMeta: planetest.Meta("nowhere", "x")})
	require.True(t, apierrors.IsNotFound(err), err)
	require.ErrorContains(t, err, `namespaces "nowhere" not found`)
	for _, name := range []string{"default", "kube-system", "kube-public"} {
		err = client.For[*corev1.Namespace](admin).Delete(t.Context(), planetest.Key("", name))
		require.True(t, apierrors.IsForbidden(err), err)
		require.ErrorContains(t, err, "this namespace may not be deleted")
	}
	planetest.Create(t, admin, &corev1.Namespace{ObjectMeta: planetest.Meta("", "going")})
	kept := planetest.Create(t, admin, &corev1.ConfigMap{ObjectMeta: planetest.Meta("going", "kept")})
	require.NoError(t, client.For[*corev1.Namespace](admin).Delete(t.Context(), planetest.Key("", "going")))
	p.Eventually("the namespace takes nothing new", func() bool {
		err := planetest.TryCreate(t, admin, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "going", GenerateName: "x-"}})
		if err == nil {
			return false
		}
		require.True(t, apierrors.IsForbidden(err), err)
		require.ErrorContains(t, err, "unable to create new content in namespace going because it is being terminated")
		cause, ok := apierrors.CauseOf(err, "NamespaceTerminating")
		require.True(t, ok)
		require.Equal(t, "metadata.namespace", cause.Field)
		return true
	})
	kept.Data = map[string]string{"still": "writable"}
	_, err = client.For[*corev1.ConfigMap](admin).Update(t.Context(), kept)
	require.NoError(t, err)
}
