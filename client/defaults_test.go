package client_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
)

// Every write through a dry connection is answered as the server would, and nothing is stored; what could not
// be a dry run is not sent.
func TestDryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, bare := t.Context(), clienttest.Start(t, clienttest.Options{}).Conn(t, rest.Options{})
		stored, dry := client.For[*corev1.ConfigMap](bare), client.DryRun(client.WithFieldManager(bare, "me"))
		maps := client.For[*corev1.ConfigMap](dry)
		kept, err := stored.Create(ctx, configMap("kept", map[string]string{"k": "1"}))
		require.NoError(t, err)
		unchanged := func() {
			t.Helper()
			list, err := stored.List(ctx, client.ListOptions{Namespace: "default"})
			require.NoError(t, err)
			require.Len(t, list.Items, 1)
			require.Equal(t, kept.ResourceVersion, list.Items[0].ResourceVersion)
		}

		made, err := maps.Create(ctx, configMap("new", nil))
		require.NoError(t, err)
		require.NotEmpty(t, made.UID)
		_, err = maps.Create(ctx, configMap("kept", nil))
		require.True(t, apierrors.IsAlreadyExists(err), "the server decides: %v", err)
		changed := configMap("kept", map[string]string{"k": "2"})
		after, err := maps.Update(ctx, changed)
		require.NoError(t, err)
		require.Equal(t, "2", after.Data["k"])
		after, err = maps.Apply(ctx, configMap("kept", map[string]string{"k": "3"}), client.ApplyOptions{Force: true})
		require.NoError(t, err)
		require.Equal(t, "3", after.Data["k"])
		key := metav1.KeyOf(kept)
		require.NoError(t, maps.Delete(ctx, key))
		require.NoError(t, maps.Delete(ctx, key, client.DeleteOptions{PropagationPolicy: metav1.DeletePropagationBackground}), "options in a body")
		unchanged()
		require.NoError(t, maps.DeleteCollection(ctx, client.ListOptions{Namespace: "default"}, client.DeleteOptions{}))
		require.NoError(t, maps.DeleteCollection(ctx, client.ListOptions{Namespace: "default"}, client.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
		unchanged()
		got, err := maps.Get(ctx, key)
		require.NoError(t, err)
		require.Equal(t, kept.ResourceVersion, got.ResourceVersion, "reads are as ever")

		// What passes requests on cannot be dry.
		_, err = dry.Do(ctx, &client.Request{Method: "POST", Path: "/api/v1/namespaces/default/configmaps", Body: []byte("{}")})
		require.ErrorIs(t, err, client.ErrNotDry)
		_, err = dry.Do(ctx, &client.Request{Path: "/version"})
		require.NoError(t, err)
		_, err = dry.Do(ctx, &client.Request{Resource: corev1.GroupVersion.WithResource("pods"), Namespace: "default", Name: "p", Subresource: "proxy/reset"})
		require.ErrorIs(t, err, client.ErrNotDry)
		_, err = dry.Stream(ctx, &client.Request{Method: "DELETE", Resource: corev1.GroupVersion.WithResource("configmaps"), Namespace: "default", Name: "kept", Body: []byte("?")})
		require.ErrorIs(t, err, client.ErrNotDry, "options that cannot be changed")
		_, err = dry.(client.Upgrader).Upgrade(ctx, &client.Request{Method: "POST", Resource: corev1.GroupVersion.WithResource("pods"), Namespace: "default", Name: "p", Subresource: "exec"})
		require.ErrorIs(t, err, client.ErrNotDry)
		unchanged()
	})
}

// Nothing that a dry run answers is taken for a write by those who observe writes.
func TestDryRunIsNotObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, bare := t.Context(), clienttest.Start(t, clienttest.Options{}).Conn(t, rest.Options{})
		writes := 0
		maps := client.For[*corev1.ConfigMap](client.Observe(client.WithHeader(client.DryRun(bare), "X", "y"), func(client.Write) { writes++ }))
		_, err := maps.Create(ctx, configMap("a", nil))
		require.NoError(t, err)
		maps = client.For[*corev1.ConfigMap](client.Observe(bare, func(client.Write) { writes++ }))
		require.NoError(t, maps.DeleteCollection(ctx, client.ListOptions{Namespace: "default"}, client.DeleteOptions{DryRun: true}))
		require.Zero(t, writes)
		require.NoError(t, maps.DeleteCollection(ctx, client.ListOptions{Namespace: "default"}, client.DeleteOptions{}))
		require.Equal(t, 1, writes)
	})
}

func TestWithFieldValidation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, bare := t.Context(), clienttest.Start(t, clienttest.Options{}).Conn(t, rest.Options{})
		body, err := json.Marshal(map[string]any{"dta": map[string]string{"k": "2"}})
		require.NoError(t, err)
		strict := client.For[*corev1.ConfigMap](client.WithFieldValidation(bare, "Strict"))
		_, err = strict.Create(ctx, configMap("a", nil))
		require.NoError(t, err)
		key, patch := metav1.KeyOf(configMap("a", nil)), client.Patch{Type: "application/merge-patch+json", Data: body}
		_, err = strict.Patch(ctx, key, patch)
		require.ErrorContains(t, err, `unknown field "dta"`)
		_, err = strict.Patch(ctx, key, patch, client.PatchOptions{FieldValidation: "Ignore"})
		require.NoError(t, err, "an option of the call counts more")
		_, err = client.For[*corev1.ConfigMap](client.WithFieldValidation(bare, "Tight")).Create(ctx, configMap("b", nil))
		require.True(t, apierrors.IsInvalid(err) || apierrors.IsBadRequest(err), "%v", err)
	})
}
