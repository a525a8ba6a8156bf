package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// allowed reviews whether a user may do "verb group resource[/subresource] [namespace/]name".
func allowed(t *testing.T, c *controllertest.Cluster, user, what string) bool {
	t.Helper()
	w := strings.Split(what, " ")
	attrs := &authorizationv1.ResourceAttributes{Verb: w[0], Group: w[1]}
	attrs.Resource, attrs.Subresource, _ = strings.Cut(w[2], "/")
	if namespace, name, namespaced := strings.Cut(w[3], "/"); namespaced {
		attrs.Namespace, attrs.Name = namespace, name
	} else {
		attrs.Name = w[3]
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, Groups: []string{"system:authenticated"}, ResourceAttributes: attrs}}
	review, err := client.For[*authorizationv1.SubjectAccessReview](c.Admin()).Create(t.Context(), review)
	require.NoError(t, err)
	return review.Status.Allowed
}

func TestApplyRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		apply := func(manifest string) {
			require.NoError(t, applyRights(t.Context(), c.Admin(), manifest))
			c.Settle()
		}
		const program, server = "keelson:fake-nodes", "kube-apiserver-kubelet-client"
		require.False(t, allowed(t, c, program, "update  nodes/status n7"))
		apply(rightsOfFakeNodes)
		for what, want := range map[string]bool{
			"update  nodes/status n7":                              true,
			"create coordination.k8s.io leases kube-node-lease/n7": true,
			"create coordination.k8s.io leases kube-system/n7":     false,
			"get  secrets default/s":                               false,
			"delete  pods default/p":                               true,
		} {
			require.Equal(t, want, allowed(t, c, program, what), what)
		}

		// A version that grants less revokes the rest.
		const deletePods = "verbs: [delete, get, list, watch]"
		require.Contains(t, rightsOfFakeNodes, deletePods)
		apply(strings.Replace(rightsOfFakeNodes, deletePods, "verbs: [get, list, watch]", 1))
		require.False(t, allowed(t, c, program, "delete  pods default/p"))
		require.True(t, allowed(t, c, program, "watch  pods default/p"))

		require.False(t, allowed(t, c, server, "get  nodes/proxy n1"))
		apply(rightsOnKubelets)
		require.True(t, allowed(t, c, server, "get  nodes/proxy n1"))
		require.False(t, allowed(t, c, server, "get  pods default/p"))
	})
}

func TestMalformedRights(t *testing.T) {
	require.ErrorContains(t, applyRights(t.Context(), nil, "kind: ["), "rights: ")
}
