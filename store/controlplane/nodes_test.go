package controlplane_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/memory"
)

// The credentials of a node alone grant no rights: no secrets, no tokens, no other nodes.
func TestNodesHaveNoRightsByDefault(t *testing.T) {
	p := planetest.Start(t)
	admin, node := p.Admin(), p.As("system:node:n1", "system:nodes")
	planetest.Create(t, admin, &corev1.Secret{ObjectMeta: planetest.Meta("kube-system", "s")})
	other := planetest.Create(t, admin, &corev1.Node{ObjectMeta: planetest.Meta("", "n2")})
	_, err := client.For[*corev1.Secret](node).List(t.Context(), client.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), err)
	_, err = client.For[*corev1.Secret](node).Get(t.Context(), planetest.Key("kube-system", "s"))
	require.True(t, apierrors.IsForbidden(err), err)
	p.Account("kube-system", "clusterrole-aggregation-controller")
	_, err = token(t, node, "kube-system", "clusterrole-aggregation-controller", nil)
	require.True(t, apierrors.IsForbidden(err), err)
	other.Labels = map[string]string{"taken": "over"}
	_, err = client.For[*corev1.Node](node).Update(t.Context(), other)
	require.True(t, apierrors.IsForbidden(err), err)
	err = planetest.TryCreate(t, node, planetest.Pod("any"))
	require.True(t, apierrors.IsForbidden(err), err)
}

// A node that may request tokens, by the role for nodes, gets those of the pods that run on it and no others.
func TestNodesGetTokensOfTheirPodsOnly(t *testing.T) {
	p := planetest.Start(t)
	admin := p.Admin()
	bindCluster(t, admin, "nodes", "system:node", rbacv1.Subject{Kind: "Group", APIGroup: rbacGroup, Name: "system:nodes"})
	p.Account("default", "default")
	p.Account("kube-system", "strong")
	on := func(name, node string) *corev1.Pod {
		return planetest.Create(t, admin, planetest.Pod(name, func(p *corev1.Pod) { p.Spec.NodeName = node }))
	}
	mine, others, pending := on("mine", "n1"), on("others", "n2"), on("pending", "")
	ref := func(p *corev1.Pod) *authenticationv1.BoundObjectReference {
		return &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID}
	}
	planetest.Create(t, admin, &corev1.Node{ObjectMeta: planetest.Meta("", "n1")})
	secret := planetest.Create(t, admin, &corev1.Secret{ObjectMeta: planetest.Meta("default", "s")})
	noUID := ref(mine)
	noUID.UID = ""
	node := p.As("system:node:n1", "system:nodes")
	p.Eventually("the node gets a token of its pod", func() bool {
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

// With the authorizer Node a node may use what its pods refer to: from when a pod is bound to it until the
// pod is deleted, also on a server that is started again.
func TestNodeAuthorizer(t *testing.T) {
	st := memory.New(memory.Options{})
	defer func() { require.NoError(t, st.Close()) }()
	modes := func(o *controlplane.Options) { o.AuthorizationModes = []string{"Node", "RBAC"} }
	p := planetest.Start(t, planetest.Over(st), modes)
	admin, n1, n2 := p.Admin(), p.As("system:node:n1", "system:nodes"), p.As("system:node:n2", "system:nodes")
	p.Account("default", "default")
	for _, name := range []string{"mine", "deep", "other"} {
		planetest.Create(t, admin, &corev1.Secret{ObjectMeta: planetest.Meta("default", name)})
	}
	read := func(c client.Conn, name string) error {
		_, err := client.For[*corev1.Secret](c).Get(t.Context(), planetest.Key("default", name))
		return err
	}
	require.ErrorContains(t, read(n1, "mine"), "no relationship found between node 'n1' and this object")
	planetest.Create(t, admin, &corev1.PersistentVolume{ObjectMeta: planetest.Meta("", "pv"), Spec: corev1.PersistentVolumeSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: "data"},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h",
			NodeStageSecretRef: &corev1.SecretReference{Namespace: "default", Name: "deep"}}}}})
	planetest.Create(t, admin, planetest.Pod("p", func(p *corev1.Pod) {
		p.Spec.NodeName = "n1"
		p.Spec.Volumes = []corev1.Volume{{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "mine"}}},
			{Name: "d", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	}))
	p.Eventually("n1 reads the secret of its pod", func() bool { return read(n1, "mine") == nil })
	p.Eventually("n1 reads the secret of its volume", func() bool { return read(n1, "deep") == nil })
	require.True(t, apierrors.IsForbidden(read(n1, "other")))
	require.True(t, apierrors.IsForbidden(read(n2, "mine")))
	list := func(selector string) error {
		sel, err := fields.Parse(selector)
		require.NoError(t, err)
		_, err = client.For[*corev1.Pod](n1).List(t.Context(), client.ListOptions{FieldSelector: sel})
		return err
	}
	require.NoError(t, list("spec.nodeName=n1"))
	require.ErrorContains(t, list("spec.nodeName=n2"), "can only list/watch pods with spec.nodeName field selector")
	require.True(t, apierrors.IsForbidden(list("")))

	again := planetest.Start(t, planetest.Over(st), modes)
	require.NoError(t, read(again.As("system:node:n1", "system:nodes"), "mine"), "it is ready when what is stored is loaded")
	require.NoError(t, client.For[*corev1.Pod](admin).Delete(t.Context(), planetest.Key("default", "p"), client.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	p.Eventually("n1 no longer reads", func() bool { return apierrors.IsForbidden(read(n1, "mine")) && apierrors.IsForbidden(read(n1, "deep")) })
}

func token(t *testing.T, c client.Conn, namespace, account string, ref *authenticationv1.BoundObjectReference, audiences ...string) (string, error) {
	t.Helper()
	got, err := client.Subresource[*authenticationv1.TokenRequest](client.For[*corev1.ServiceAccount](c), "token").Create(t.Context(), planetest.Key(namespace, account),
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, BoundObjectRef: ref}})
	if err != nil {
		return "", err
	}
	return got.Status.Token, nil
}

// With the authorizer Node and the plugin NodeRestriction a node registers, renews its lease, reports on its
// pods and deletes them, and does nothing to the objects of others.
func TestNodeRestriction(t *testing.T) {
	p := planetest.Start(t, func(o *controlplane.Options) {
		o.AuthorizationModes, o.EnableAdmission = []string{"Node", "RBAC"}, []string{"NodeRestriction"}
	})
	admin, n1 := p.Admin(), p.As("system:node:n1", "system:nodes", "system:authenticated")
	p.Account("default", "default")
	on := func(name, node string) *corev1.Pod {
		return planetest.Create(t, admin, planetest.Pod(name, func(p *corev1.Pod) { p.Spec.NodeName = node }))
	}
	mine, others := on("mine", "n1"), on("others", "n2")

	refused := func(err error, text string) {
		t.Helper()
		require.True(t, apierrors.IsForbidden(err), err)
		require.ErrorContains(t, err, text)
	}
	nodes, pods, leases := client.For[*corev1.Node](n1), client.For[*corev1.Pod](n1), client.For[*coordinationv1.Lease](n1)
	refused(planetest.TryCreate(t, n1, &corev1.Node{ObjectMeta: planetest.Meta("", "n2")}), `nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"`)
	node := planetest.Create(t, n1, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"kubernetes.io/hostname": "n1"}}})
	require.Len(t, node.Spec.Taints, 1, "another plugin may taint it")
	node.Labels["node-restriction.kubernetes.io/a"] = "b"
	_, err := nodes.Update(t.Context(), node)
	refused(err, "is not allowed to modify labels: node-restriction.kubernetes.io/a")
	node.Labels = map[string]string{"kubernetes.io/hostname": "n1", "example.com/a": "b"}
	node, err = nodes.Update(t.Context(), node)
	require.NoError(t, err)
	_, err = nodes.UpdateStatus(t.Context(), node)
	require.NoError(t, err)
	planetest.Create(t, n1, &coordinationv1.Lease{ObjectMeta: planetest.Meta("kube-node-lease", "n1")})
	refused(leases.Delete(t.Context(), planetest.Key("kube-node-lease", "n2")), "can only access node lease with the same name as the requesting node")

	mine.Status.Phase = corev1.PodRunning
	mine, err = pods.UpdateStatus(t.Context(), mine)
	require.NoError(t, err)
	mine.Labels = map[string]string{"a": "b"}
	_, err = client.For[*corev1.Pod](n1).Update(t.Context(), mine)
	require.True(t, apierrors.IsForbidden(err), err)
	others.Status.Phase = corev1.PodFailed
	_, err = pods.UpdateStatus(t.Context(), others)
	refused(err, "can only update pod status for pods with spec.nodeName set to itself")
	refused(planetest.TryCreate(t, n1, planetest.Pod("own", func(p *corev1.Pod) { p.Spec.NodeName = "n1" })), "node \"n1\" can only create mirror pods")
	refused(pods.Delete(t.Context(), planetest.Key("default", "others")), "can only delete pods with spec.nodeName set to itself")
	ref := &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: mine.Name, UID: mine.UID}
	p.Eventually("the node gets a token of its pod", func() bool {
		_, err := token(t, n1, "default", "default", ref)
		return err == nil
	})
	_, err = token(t, n1, "default", "default", ref, "vault")
	refused(err, `audience "vault" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience`)
	require.NoError(t, pods.Delete(t.Context(), planetest.Key("default", "mine")))
}
