package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/internal/planetest"
	"github.com/keelson-dev/keelson/store/memory"
)

func enable(plugins ...string) func(*controlplane.Options) {
	return func(o *controlplane.Options) { o.EnableAdmission = plugins }
}

// A Service gets no new external address, and keeps those it had before the plugin was enabled.
func TestDenyServiceExternalIPs(t *testing.T) {
	service := func(name string, ips ...string) *corev1.Service {
		return &corev1.Service{ObjectMeta: planetest.Meta("default", name), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, ExternalIPs: ips}}
	}
	shared := planetest.Over(memory.New(memory.Options{}))
	had := planetest.Create(t, planetest.Start(t, shared).Admin(), service("had", "192.0.2.1", "192.0.2.2"))

	admin := planetest.Start(t, shared, enable("DenyServiceExternalIPs")).Admin()
	had.Spec.ExternalIPs = had.Spec.ExternalIPs[:1]
	had, err := client.For[*corev1.Service](admin).Update(t.Context(), had)
	require.NoError(t, err)
	had.Spec.ExternalIPs = append(had.Spec.ExternalIPs, "192.0.2.3")
	_, err = client.For[*corev1.Service](admin).Update(t.Context(), had)
	require.True(t, apierrors.IsForbidden(err), err)
	err = planetest.TryCreate(t, admin, service("web", "192.0.2.1"))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, "Use of external IPs is denied by admission control.")
	web := planetest.Create(t, admin, service("web"))
	web.Spec.ExternalIPs = []string{"192.0.2.2"}
	_, err = client.For[*corev1.Service](admin).Update(t.Context(), web)
	require.True(t, apierrors.IsForbidden(err), err)
	web.Spec.ExternalIPs, web.Labels = nil, map[string]string{"a": "b"}
	_, err = client.For[*corev1.Service](admin).Update(t.Context(), web)
	require.NoError(t, err)
}

// A pod that requests an extended resource tolerates the taint of its name; other resources add nothing.
func TestExtendedResourceToleration(t *testing.T) {
	admin := planetest.StartForPods(t, enable("ExtendedResourceToleration")).Admin()
	request := func(names ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{}
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{}
			for _, name := range names {
				p.Spec.Containers[0].Resources.Requests[corev1.ResourceName(name)] = quantities(name, "1")[corev1.ResourceName(name)]
				p.Spec.Containers[0].Resources.Limits[corev1.ResourceName(name)] = quantities(name, "1")[corev1.ResourceName(name)]
			}
		}
	}
	added := func(p *corev1.Pod) (keys []string) {
		for _, tol := range p.Spec.Tolerations {
			if tol.TolerationSeconds == nil {
				require.Equal(t, corev1.Toleration{Key: tol.Key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}, tol)
				keys = append(keys, tol.Key)
			}
		}
		return keys
	}
	got := planetest.Create(t, admin, planetest.Pod("gpu", request("example.com/gpu", "example.com/fpga", "cpu")))
	require.Equal(t, []string{"example.com/fpga", "example.com/gpu"}, added(got))
	require.Empty(t, added(planetest.Create(t, admin, planetest.Pod("plain", request("cpu")))))
}

// A pod may keep others away from its node, and from nothing larger.
func TestLimitPodHardAntiAffinityTopology(t *testing.T) {
	admin := planetest.StartForPods(t, enable("LimitPodHardAntiAffinityTopology")).Admin()
	apart := func(key string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{TopologyKey: key, LabelSelector: &metav1.LabelSelector{}}}}}
		}
	}
	planetest.Create(t, admin, planetest.Pod("node", apart("kubernetes.io/hostname")))
	err := planetest.TryCreate(t, admin, planetest.Pod("zone", apart("topology.kubernetes.io/zone")))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, "has TopologyKey topology.kubernetes.io/zone but only key kubernetes.io/hostname is allowed")
}

// With NamespaceExists alone, a write in a missing namespace is refused.
func TestNamespaceExists(t *testing.T) {
	admin := planetest.Start(t, enable("NamespaceExists"), func(o *controlplane.Options) { o.DisableAdmission = []string{"NamespaceLifecycle"} }).Admin()
	planetest.Create(t, admin, &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "x")})
	err := planetest.TryCreate(t, admin, &corev1.ConfigMap{ObjectMeta: planetest.Meta("nowhere", "x")})
	require.True(t, apierrors.IsNotFound(err), err)
	require.ErrorContains(t, err, `namespaces "nowhere" not found`)
}

// Owners are changed by users who may delete the object, and block the deletion of an owner whose finalizers
// the user may write.
func TestOwnerReferencesPermissionEnforcement(t *testing.T) {
	p := planetest.Start(t, enable("OwnerReferencesPermissionEnforcement"))
	admin := p.Admin()
	rights := func(name string, rules ...rbacv1.PolicyRule) client.Conn {
		planetest.Create(t, admin, &rbacv1.ClusterRole{ObjectMeta: planetest.Meta("", name), Rules: append(rules,
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "get", "update"}})})
		planetest.Create(t, admin, &rbacv1.ClusterRoleBinding{ObjectMeta: planetest.Meta("", name), RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: name}}})
		user := p.As(name)
		p.Eventually("the rights of "+name+" apply", func() bool {
			return planetest.TryCreate(t, user, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: name + "-"}}) == nil
		})
		return user
	}
	remove := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"delete"}}
	finalizers := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets/finalizers"}, Verbs: []string{"update"}}
	writer, deleter, owner := rights("writer"), rights("deleter", remove), rights("owner", remove, finalizers)
	secret := planetest.Create(t, admin, &corev1.Secret{ObjectMeta: planetest.Meta("default", "owner")})
	set := func(user client.Conn, block *bool) error {
		cm := planetest.Create(t, admin, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "owned-"}})
		cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: secret.Name, UID: secret.UID, BlockOwnerDeletion: block}}
		_, err := client.For[*corev1.ConfigMap](user).Update(t.Context(), cm)
		return err
	}
	err := set(writer, nil)
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, "cannot set an ownerRef on a resource you can't delete")
	require.NoError(t, set(deleter, nil))
	require.NoError(t, set(deleter, new(false)))
	err = set(deleter, new(true))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on")
	require.NoError(t, set(owner, new(true)))
	require.NoError(t, set(admin, new(true)))
}
