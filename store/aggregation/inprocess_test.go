package aggregation_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/aggregation"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// inProcess is a version of a group that a handler serves; it reports who calls, and with what.
func inProcess(group string) aggregation.InProcess {
	gv := schema.GroupVersion{Group: group, Version: "v1alpha1"}
	return aggregation.InProcess{GroupVersion: gv, GroupPriority: 100, VersionPriority: 10,
		Resources: []apidiscoveryv2.APIResourceDiscovery{{Resource: "gizmos", Scope: apidiscoveryv2.ScopeNamespace, Verbs: []string{"get", "list"}, ResponseKind: &metav1.GroupVersionKind{Kind: "Gizmo"}}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/silent") {
				return
			}
			w.Header().Set("Content-Type", "application/json")
			if strings.HasSuffix(r.URL.Path, "/none") {
				w.WriteHeader(http.StatusNotFound)
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Gizmo", "user": authn.UserFrom(r.Context()).Name, "path": r.URL.Path})
			w.WriteHeader(http.StatusTeapot) // too late
		})}
}

// A version in the process is served to those who may read it, with discovery, until an APIService with a
// service has a version of its group, and again afterwards.
func TestVersionsInTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, func(o *controlplane.Options) {
			o.Aggregation.InProcess = []aggregation.InProcess{inProcess("wardle.example.com"), inProcess("other.example.com")}
		})
		defer c.stop()
		const path = "/apis/wardle.example.com/v1alpha1"
		body, err := c.get(c.Admin(), path+"/namespaces/default/gizmos/a", "")
		require.NoError(t, err)
		require.JSONEq(t, `{"kind":"Gizmo","user":"admin","path":"/apis/wardle.example.com/v1alpha1/namespaces/default/gizmos/a"}`, body)
		body, err = c.get(c.Admin(), path+"/gizmos/silent", "")
		require.NoError(t, err)
		require.Empty(t, body)
		_, err = c.get(c.Admin(), path+"/gizmos/none", "")
		require.True(t, apierrors.IsNotFound(err), err)
		_, err = c.get(c.As("ann", "system:authenticated"), path+"/namespaces/default/gizmos/a", "")
		require.True(t, apierrors.IsForbidden(err), err)
		_, err = c.get(c.Admin(), "/apis/wardle.example.com/v2/gizmos", "")
		require.True(t, apierrors.IsNotFound(err), "another version: %v", err)
		groups := func() string {
			body, err := c.get(c.Admin(), "/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
			require.NoError(t, err)
			return body
		}
		require.Contains(t, groups(), `"resource":"gizmos"`)

		c.register(nil)
		c.await(apiregistrationv1.ConditionTrue)
		_, err = c.get(c.Admin(), path+"/namespaces/default/gizmos/a", "")
		require.True(t, apierrors.IsNotFound(err), "the other server has no gizmos: %v", err)
		require.Equal(t, 1, strings.Count(groups(), `"resource":"gizmos"`), "the other group stays")
		_, err = c.get(c.Admin(), "/apis/other.example.com/v1alpha1/gizmos", "")
		require.NoError(t, err)

		require.NoError(t, c.api.Delete(t.Context(), planetest.Key("", "v1alpha1.wardle.example.com"), client.DeleteOptions{}))
		for n := 0; ; n++ {
			synctest.Wait()
			if body, err = c.get(c.Admin(), path+"/gizmos", ""); err == nil {
				break
			}
			require.Less(t, n, 100, fmt.Sprint(err))
		}
		require.Contains(t, body, "Gizmo")
	})
}
