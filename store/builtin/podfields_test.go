package builtin

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/store/registry"
)

// New objects lose fields of kinds that are not served; those that have one keep it, in all volumes.
func TestUselessFields(t *testing.T) {
	var s registry.Strategy
	drop(&s, []gatedField{groupField, bundleField, certificateField})
	spec := func() corev1.PodSpec {
		return corev1.PodSpec{SchedulingGroup: &corev1.PodSchedulingGroup{}, Volumes: []corev1.Volume{{}, {VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{}}, {PodCertificate: &corev1.PodCertificateProjection{}}, {Secret: &corev1.SecretProjection{}}}}}}}}
	}
	has := func(s *corev1.PodSpec) [3]bool {
		require.NotNil(t, s.Volumes[1].Projected.Sources[2].Secret)
		return [3]bool{groupField.used(s), bundleField.used(s), certificateField.used(s)}
	}
	pod := &corev1.Pod{Spec: spec()}
	require.Equal(t, [3]bool{true, true, true}, has(&pod.Spec))
	s.PrepareCreate(t.Context(), pod)
	require.Equal(t, [3]bool{}, has(&pod.Spec))

	set, old := &appsv1.DaemonSet{}, &appsv1.DaemonSet{}
	set.Spec.Template.Spec, old.Spec.Template.Spec = spec(), spec()
	bundleField.clear(&old.Spec.Template.Spec)
	s.PrepareUpdate(t.Context(), set, old)
	require.Equal(t, [3]bool{true, false, true}, has(&set.Spec.Template.Spec))
	s.PrepareUpdate(t.Context(), &corev1.ReplicationController{}, &corev1.ReplicationController{})
	s.PrepareCreate(t.Context(), &corev1.Secret{})
}
