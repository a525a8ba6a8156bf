package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

func TestStorageDefaults(t *testing.T) {
	p := planetest.Start(t)
	admin := p.Admin()
	claim := func(name string) *corev1.PersistentVolumeClaim {
		return planetest.Create(t, admin, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: name}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}, Resources: corev1.VolumeResourceRequirements{Requests: quantities("storage", "1Gi")}}})
	}
	early := claim("early-")
	require.Nil(t, early.Spec.StorageClassName)
	require.Equal(t, []string{"kubernetes.io/pvc-protection"}, early.Finalizers)
	planetest.Create(t, admin, &storagev1.StorageClass{ObjectMeta: planetest.Meta("", "slow"), Provisioner: "x/y"})
	planetest.Create(t, admin, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}, Provisioner: "x/y"})
	p.Eventually("the default class is named", func() bool {
		c := claim("late-").Spec.StorageClassName
		return c != nil && *c == "fast"
	})
	pv := planetest.Create(t, admin, &corev1.PersistentVolume{ObjectMeta: planetest.Meta("", "v"), Spec: corev1.PersistentVolumeSpec{AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"},
		Capacity: quantities("storage", "1Gi"), PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}}}})
	require.Equal(t, []string{"kubernetes.io/pv-protection"}, pv.Finalizers)

	planetest.Create(t, admin, &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "front", Annotations: map[string]string{"ingressclass.kubernetes.io/is-default-class": "true"}}, Spec: networkingv1.IngressClassSpec{Controller: "example.com/front"}})
	p.Eventually("the default ingress class is named", func() bool {
		in := planetest.Create(t, admin, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "i-"}, Spec: networkingv1.IngressSpec{
			DefaultBackend: &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "s", Port: networkingv1.ServiceBackendPort{Number: 80}}}}})
		return in.Spec.IngressClassName != nil && *in.Spec.IngressClassName == "front"
	})
}

// A claim can be expanded only if its class allows it.
func TestClaimsGrowWhereTheirClassAllows(t *testing.T) {
	p := planetest.Start(t)
	admin := p.Admin()
	class := func(name string, grows *bool) {
		planetest.Create(t, admin, &storagev1.StorageClass{ObjectMeta: planetest.Meta("", name), Provisioner: "x/y", AllowVolumeExpansion: grows})
	}
	class("grows", new(true))
	class("fixed", new(false))
	class("silent", nil)
	claims := client.For[*corev1.PersistentVolumeClaim](admin)
	grow := func(name, class string, phase corev1.PersistentVolumeClaimPhase, size string) error {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: planetest.Meta("default", name), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "v",
			AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}, Resources: corev1.VolumeResourceRequirements{Requests: quantities("storage", "1Gi")}}}
		if class != "" {
			claim.Spec.StorageClassName = &class
		}
		claim = planetest.Create(t, admin, claim)
		claim.Status.Phase, claim.Status.Capacity = phase, quantities("storage", "1Gi")
		claim, err := claims.UpdateStatus(t.Context(), claim)
		require.NoError(t, err)
		claim.Spec.Resources.Requests = quantities("storage", size)
		_, err = claims.Update(t.Context(), claim)
		return err
	}
	require.NoError(t, grow("a", "grows", corev1.ClaimBound, "2Gi"))
	require.NoError(t, grow("b", "fixed", corev1.ClaimBound, "1Gi"))
	const why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
	for _, class := range []string{"fixed", "silent", "missing", ""} {
		err := grow("c"+class, class, corev1.ClaimBound, "2Gi")
		require.True(t, apierrors.IsForbidden(err), "%s: %v", class, err)
		require.ErrorContains(t, err, why, class)
	}
}
