package corev1_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

func TestVolumeClaims(t *testing.T) {
	p := &corev1.Pod{}
	p.Namespace, p.Name = "ns", "web"
	require.Empty(t, p.VolumeClaims())
	p.Spec.Volumes = []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "shared"}}},
		{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
	}
	require.Equal(t, []types.NamespacedName{{Namespace: "ns", Name: "shared"}, {Namespace: "ns", Name: "web-scratch"}}, p.VolumeClaims())
}
