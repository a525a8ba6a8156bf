package admission_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/admission"
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
	require.ErrorContains(t, err, "Use of external IPs is denied by admission control")
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

// A new object brings its namespace into being, and a dry run does not.
func TestNamespaceAutoProvision(t *testing.T) {
	p := planetest.Start(t, enable("NamespaceAutoProvision"))
	admin := p.Admin()
	config := func(namespace string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "x-"}}
	}
	_, err := client.For[*corev1.ConfigMap](admin).Create(t.Context(), config("tried"), client.CreateOptions{DryRun: true})
	require.True(t, apierrors.IsNotFound(err), err)
	var creators sync.WaitGroup
	for range 8 {
		creators.Go(func() { assert.NoError(t, planetest.TryCreate(t, admin, config("made"))) })
	}
	creators.Wait()
	made, err := client.For[*corev1.Namespace](admin).Get(t.Context(), planetest.Key("", "made"))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"kubernetes.io/metadata.name": "made"}, made.Labels)
	require.NoError(t, client.For[*corev1.Namespace](admin).Delete(t.Context(), planetest.Key("", "made")))
	p.Eventually("a namespace that is being deleted takes nothing new", func() bool {
		err := planetest.TryCreate(t, admin, config("made"))
		return apierrors.IsForbidden(err)
	})
	_, err = client.For[*corev1.Namespace](admin).Get(t.Context(), planetest.Key("", "tried"))
	require.True(t, apierrors.IsNotFound(err), err)
	err = planetest.TryCreate(t, admin, config("Not_A_Name"))
	require.Error(t, err)
}

// AlwaysDeny refuses every write and no read, and AlwaysAdmit nothing.
func TestAlwaysAdmitAndDeny(t *testing.T) {
	shared := planetest.Over(memory.New(memory.Options{}))
	open := planetest.Start(t, shared, enable("AlwaysAdmit"))
	kept := planetest.Create(t, open.Admin(), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "kept")})
	admin := planetest.Start(t, shared, enable("AlwaysDeny")).Admin()
	maps := client.For[*corev1.ConfigMap](admin)
	_, err := maps.Get(t.Context(), metav1.KeyOf(kept))
	require.NoError(t, err)
	_, updated := maps.Update(t.Context(), kept)
	_, applied := maps.Patch(t.Context(), metav1.KeyOf(kept), client.Patch{Type: "application/merge-patch+json", Data: []byte(`{"data":{"a":"b"}}`)})
	for what, err := range map[string]error{
		"create": planetest.TryCreate(t, admin, &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "x")}),
		"update": updated, "patch": applied, "delete": maps.Delete(t.Context(), metav1.KeyOf(kept)),
	} {
		require.True(t, apierrors.IsForbidden(err), "%s: %v", what, err)
		require.ErrorContains(t, err, "admission control is denying all modifications", what)
	}
}

// The plugins of Kubernetes 1.36 are all there, in its order (pkg/kubeapiserver/options/plugins.go of
// 1.36.3), and on and off as there.
func TestPluginsOfKubernetes(t *testing.T) {
	var names []string
	for _, f := range admission.Factories() {
		if f.Default {
			names = append(names, f.Name)
		} else {
			names = append(names, "-"+f.Name)
		}
	}
	require.Equal(t, strings.Fields(`-AlwaysAdmit -NamespaceAutoProvision NamespaceLifecycle -NamespaceExists -LimitPodHardAntiAffinityTopology LimitRanger ServiceAccount
		-NodeRestriction TaintNodesByCondition -AlwaysPullImages -ImagePolicyWebhook PodSecurity -PodNodeSelector Priority DefaultTolerationSeconds -PodTolerationRestriction
		-EventRateLimit -ExtendedResourceToleration DefaultStorageClass StorageObjectInUseProtection PodGroupProtection -OwnerReferencesPermissionEnforcement
		PersistentVolumeClaimResize RuntimeClass CertificateApproval CertificateSigning ClusterTrustBundleAttest CertificateSubjectRestriction DefaultIngressClass
		-DenyServiceExternalIPs PodTopologyLabels PodGroupWorkloadExists NodeDeclaredFeatureValidator JobValidation PodResizeValidator MutatingAdmissionPolicy
		MutatingAdmissionWebhook ValidatingAdmissionPolicy ValidatingAdmissionWebhook ResourceQuota -AlwaysDeny`), names)
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

	create := func(user client.Conn, kind string, block *bool) error {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "owned-",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: secret.Name, UID: secret.UID, BlockOwnerDeletion: block}}}}
		return planetest.TryCreate(t, user, cm)
	}
	require.NoError(t, create(writer, "Secret", nil), "the object is the user's own")
	require.ErrorContains(t, create(writer, "Secret", new(true)), "set finalizers on")
	require.ErrorContains(t, create(owner, "Nope", new(true)), `because cannot find RESTMapping for APIVersion v1 Kind Nope: no matches for kind "Nope" in version "v1"`)
	require.NoError(t, create(admin, "Nope", new(true)), "who may change all finalizers")
}
