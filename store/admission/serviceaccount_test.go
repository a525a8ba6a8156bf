package admission_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

func TestServiceAccountOfPods(t *testing.T) {
	p := planetest.Start(t)
	admin := p.Admin()
	err := planetest.TryCreate(t, admin, planetest.Pod("early"))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `error looking up service account default/default: serviceaccount "default" not found`)
	p.Account("default", "default")
	planetest.Create(t, admin, &corev1.ServiceAccount{ObjectMeta: planetest.Meta("default", "quiet"), AutomountServiceAccountToken: new(false),
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}})

	got := planetest.Create(t, admin, planetest.Pod("plain"))
	require.Equal(t, "default", got.Spec.ServiceAccountName)
	require.Equal(t, "default", got.Spec.DeprecatedServiceAccount)
	require.Len(t, got.Spec.Volumes, 1)
	v := got.Spec.Volumes[0]
	require.True(t, strings.HasPrefix(v.Name, "kube-api-access-"), v.Name)
	require.Len(t, v.Projected.Sources, 3)
	require.Equal(t, int64(3607), *v.Projected.Sources[0].ServiceAccountToken.ExpirationSeconds)
	require.Equal(t, "kube-root-ca.crt", v.Projected.Sources[1].ConfigMap.Name)
	require.Equal(t, []corev1.VolumeMount{{Name: v.Name, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}, got.Spec.Containers[0].VolumeMounts)

	got = planetest.Create(t, admin, planetest.Pod("quiet", func(p *corev1.Pod) { p.Spec.ServiceAccountName = "quiet" }))
	require.Empty(t, got.Spec.Volumes)
	require.Equal(t, "registry", got.Spec.ImagePullSecrets[0].Name)
	got = planetest.Create(t, admin, planetest.Pod("loud", func(p *corev1.Pod) {
		p.Spec.ServiceAccountName, p.Spec.AutomountServiceAccountToken = "quiet", new(true)
	}))
	require.Len(t, got.Spec.Volumes, 1)
	got = planetest.Create(t, admin, planetest.Pod("own", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "mine", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "mine", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}
	}))
	require.Len(t, got.Spec.Volumes, 1, "nothing to mount it in")
}
