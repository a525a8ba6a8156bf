package controlplane_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/memory"
)

// get returns the body of the response to a GET.
func get(t *testing.T, p *planetest.Plane, path string) string {
	t.Helper()
	resp, err := p.Admin().Do(t.Context(), &client.Request{Path: path})
	require.NoError(t, err)
	var v map[string]any
	require.NoError(t, json.Unmarshal(resp.Body, &v))
	text, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(text)
}

// A server that begins with the image of another one writes nothing at its start, serves the same, decides by
// the same policy, and goes on by itself.
func TestImage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		first := planetest.Start(t, planetest.Over(s))
		reader := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}}
		role := planetest.Create(t, first.Admin(), &rbacv1.Role{ObjectMeta: planetest.Meta("default", "reader"), Rules: reader})
		planetest.Create(t, first.Admin(), &rbacv1.RoleBinding{ObjectMeta: planetest.Meta("default", "bob"), RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: role.Name},
			Subjects: []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "bob"}}})
		planetest.Create(t, first.Admin(), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "one")})
		lists := []string{"/api/v1/namespaces", "/api/v1/configmaps", "/api/v1/events", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
			"/apis/rbac.authorization.k8s.io/v1/rolebindings", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
			"/apis/apiregistration.k8s.io/v1/apiservices"}
		var want []string
		for _, path := range lists {
			want = append(want, get(t, first, path))
		}
		synctest.Wait()
		snapshot := s.Snapshot()
		image := first.Image(t.Context(), snapshot.Revision())
		require.NotNil(t, image)
		require.Nil(t, first.Image(t.Context(), snapshot.Revision()-1), "not the current state")

		// What the first server does later is not in the image.
		require.NoError(t, client.For[*rbacv1.Role](first.Admin()).Delete(t.Context(), planetest.Key("default", "reader")))
		planetest.Create(t, first.Admin(), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "two")})
		synctest.Wait()

		for range 2 {
			forked := memory.NewFromSnapshot(snapshot, memory.Options{})
			fork := planetest.Start(t, planetest.Over(forked), func(o *controlplane.Options) { o.Image = image })
			synctest.Wait()
			require.Equal(t, snapshot.Revision(), forked.Snapshot().Revision(), "the start writes nothing")
			for i, path := range lists {
				require.Equal(t, want[i], get(t, fork, path), path)
			}
			bob := client.For[*corev1.ConfigMap](fork.Token("bob-token"))
			_, err := bob.List(t.Context(), client.ListOptions{Namespace: "default"})
			require.NoError(t, err, "the role of the snapshot is in force")
			require.NoError(t, client.For[*rbacv1.Role](fork.Admin()).Delete(t.Context(), planetest.Key("default", "reader")))
			synctest.Wait()
			_, err = bob.List(t.Context(), client.ListOptions{Namespace: "default"})
			require.True(t, apierrors.IsForbidden(err), "%v", err)

			schemas := client.For[*flowcontrolv1.FlowSchema](fork.Admin())
			require.NoError(t, schemas.Delete(t.Context(), planetest.Key("", "service-accounts")))
			planetest.Create(t, fork.Admin(), &flowcontrolv1.FlowSchema{ObjectMeta: planetest.Meta("", "mine"), Spec: flowcontrolv1.FlowSchemaSpec{
				PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "nowhere"}, MatchingPrecedence: 10}})
			synctest.Wait()
			mine, err := schemas.Get(t.Context(), planetest.Key("", "mine"))
			require.NoError(t, err)
			require.Len(t, mine.Status.Conditions, 1, "the configuration is followed")
			require.Equal(t, flowcontrolv1.ConditionTrue, mine.Status.Conditions[0].Status)
		}
	})
}

// A server whose kinds differ from those of the image reads its store.
func TestImageOfOtherKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		first := planetest.Start(t, planetest.Over(s))
		namespaces := get(t, first, "/api/v1/namespaces")
		synctest.Wait()
		image := first.Image(t.Context(), s.Snapshot().Revision())
		fork := planetest.Start(t, planetest.Over(memory.NewFromSnapshot(s.Snapshot(), memory.Options{})), func(o *controlplane.Options) {
			o.Image, o.Server.Scheme = image, first.Scheme()
		})
		require.Equal(t, namespaces, get(t, fork, "/api/v1/namespaces"))
	})
}

func TestImageIsRefusedTwice(t *testing.T) {
	image := planetest.Start(t).Image(context.Background(), 0)
	require.Nil(t, image)
	o := controlplane.Options{Image: &controlplane.Image{}, ServiceAccountKeys: []any{planetest.SigningKey(t)}}
	p := planetest.Start(t)
	o.Server.Image = p.Server.Image(1)
	_, err := controlplane.New(o)
	require.ErrorContains(t, err, "Options.Server.Image")
	require.True(t, strings.HasPrefix(err.Error(), "controlplane: "))
}
