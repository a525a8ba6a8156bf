package controlplane_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
)

// Whoever has the credentials of a node has no rights by that: no secrets, no tokens, no other nodes.
func TestNodesHaveNoRightsByDefault(t *testing.T) {
	p := start(t)
	admin, node := p.admin(), p.as("system:node:n1", "system:nodes")
	create(t, admin, &corev1.Secret{ObjectMeta: meta("kube-system", "s")})
	other := create(t, admin, &corev1.Node{ObjectMeta: meta("", "n2")})
	_, err := client.For[*corev1.Secret](node).List(t.Context(), client.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), err)
	_, err = client.For[*corev1.Secret](node).Get(t.Context(), key("kube-system", "s"))
	require.True(t, apierrors.IsForbidden(err), err)
	p.account("kube-system", "clusterrole-aggregation-controller")
	_, err = token(t, node, "kube-system", "clusterrole-aggregation-controller", nil)
	require.True(t, apierrors.IsForbidden(err), err)
	other.Labels = map[string]string{"taken": "over"}
	_, err = client.For[*corev1.Node](node).Update(t.Context(), other)
	require.True(t, apierrors.IsForbidden(err), err)
	err = tryCreate(t, node, pod("any"))
	require.True(t, apierrors.IsForbidden(err), err)
}

// A node that may ask for tokens, by the role meant for nodes, gets those of the pods that run on it and no
// others.
func TestNodesGetTokensOfTheirPodsOnly(t *testing.T) {
	p := start(t)
	admin := p.admin()
	bindCluster(t, admin, "nodes", "system:node", rbacv1.Subject{Kind: "Group", APIGroup: rbacGroup, Name: "system:nodes"})
	p.account("default", "default")
	p.account("kube-system", "strong")
	on := func(name, node string) *corev1.Pod {
		return create(t, admin, pod(name, func(p *corev1.Pod) { p.Spec.NodeName = node }))
	}
	mine, others, pending := on("mine", "n1"), on("others", "n2"), on("pending", "")
	ref := func(p *corev1.Pod) *authenticationv1.BoundObjectReference {
		return &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID}
	}
	create(t, admin, &corev1.Node{ObjectMeta: meta("", "n1")})
	secret := create(t, admin, &corev1.Secret{ObjectMeta: meta("default", "s")})
	noUID := ref(mine)
	noUID.UID = ""
	node := p.as("system:node:n1", "system:nodes")
	p.eventually("the node gets a token of its pod", func() bool {
		_, err := token(t, node, "default", "default", ref(mine))
		return err == nil
	})
	for name, c := range map[string]struct {
		namespace, account string
		ref                *authenticationv1.BoundObjectReference
		want               string
	}{
		"no pod":             {"kube-system", "strong", nil, "node requested token not bound to a pod"},
		"a node":             {"default", "default", &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Node", Name: "n1"}, "node requested token not bound to a pod"},
		"a secret":           {"default", "default", &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: "s", UID: secret.UID}, "node requested token not bound to a pod"},
		"no uid":             {"default", "default", noUID, "node requested token with a pod binding without a uid"},
		"another node's pod": {"default", "default", ref(others), "node requested token bound to a pod scheduled on a different node"},
		"a pod on no node":   {"default", "default", ref(pending), "node requested token bound to a pod scheduled on a different node"},
	} {
		_, err := token(t, node, c.namespace, c.account, c.ref)
		require.True(t, apierrors.IsForbidden(err), "%s: %v", name, err)
		require.ErrorContains(t, err, c.want, name)
	}
	_, err := token(t, admin, "kube-system", "strong", nil)
	require.NoError(t, err, "others may ask for what they are authorized to")
}

func token(t *testing.T, c client.Conn, namespace, account string, ref *authenticationv1.BoundObjectReference) (string, error) {
	t.Helper()
	got, err := client.Subresource[*authenticationv1.TokenRequest](client.For[*corev1.ServiceAccount](c), "token").Create(t.Context(), key(namespace, account),
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: ref}})
	if err != nil {
		return "", err
	}
	return got.Status.Token, nil
}
