package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

func quantities(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func resources(requests, limits corev1.ResourceList) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: requests, Limits: limits}
	}
}

func TestLimitRanger(t *testing.T) {
	p := planetest.StartForPods(t)
	admin := p.Admin()
	planetest.Create(t, admin, &corev1.LimitRange{ObjectMeta: planetest.Meta("default", "limits"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
		{Type: corev1.LimitTypeContainer, Default: quantities("cpu", "500m"), DefaultRequest: quantities("cpu", "250m"), Max: quantities("cpu", "1"), Min: quantities("cpu", "100m")},
		{Type: corev1.LimitTypePersistentVolumeClaim, Max: quantities("storage", "1Gi")}}}})
	var got *corev1.Pod
	p.Eventually("defaults are filled", func() bool {
		got = planetest.Create(t, admin, planetest.Pod("x", func(p *corev1.Pod) { p.Name, p.GenerateName = "", "filled-" }))
		return len(got.Spec.Containers[0].Resources.Limits) > 0
	})
	require.Equal(t, "500m", new(got.Spec.Containers[0].Resources.Limits["cpu"]).String())
	require.Equal(t, "250m", new(got.Spec.Containers[0].Resources.Requests["cpu"]).String())
	require.Equal(t, "LimitRanger plugin set: cpu request for container c; cpu limit for container c", got.Annotations["kubernetes.io/limit-ranger"])
	err := planetest.TryCreate(t, admin, planetest.Pod("much", resources(nil, quantities("cpu", "2"))))
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, `pods "much" is forbidden: maximum cpu usage per Container is 1, but limit is 2`)
	err = planetest.TryCreate(t, admin, planetest.Pod("little", resources(quantities("cpu", "1m"), quantities("cpu", "50m"))))
	require.ErrorContains(t, err, `minimum cpu usage per Container is 100m, but request is 1m`)
	claim := func(size string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: planetest.Meta("default", "claim"), Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"},
			Resources: corev1.VolumeResourceRequirements{Requests: quantities("storage", size)}}}
	}
	require.ErrorContains(t, planetest.TryCreate(t, admin, claim("2Gi")), "maximum storage usage per PersistentVolumeClaim is 1Gi, but")
	require.NoError(t, planetest.TryCreate(t, admin, claim("1Gi")))
}

// A pod cannot be resized to values with which it could not have been created.
func TestLimitRangesHoldForResizes(t *testing.T) {
	p := planetest.StartForPods(t)
	admin := p.Admin()
	planetest.Create(t, admin, &corev1.LimitRange{ObjectMeta: planetest.Meta("default", "limits"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
		{Type: corev1.LimitTypeContainer, Max: quantities("cpu", "1"), Min: quantities("cpu", "100m")},
		{Type: corev1.LimitTypePod, Max: quantities("cpu", "1")}}}})
	planetest.Create(t, admin, planetest.Pod("x", resources(quantities("cpu", "500m"), quantities("cpu", "500m"))))
	pods := client.For[*corev1.Pod](admin)
	resize := func(cpu string) error {
		now, err := pods.Get(t.Context(), planetest.Key("default", "x"))
		require.NoError(t, err)
		resources(quantities("cpu", cpu), quantities("cpu", cpu))(now)
		_, err = client.Subresource[*corev1.Pod](pods, "resize").Update(t.Context(), planetest.Key("default", "x"), now)
		return err
	}
	err := resize("2")
	require.True(t, apierrors.IsForbidden(err), err)
	require.ErrorContains(t, err, "maximum cpu usage per Container is 1, but limit is 2")
	require.ErrorContains(t, err, "maximum cpu usage per Pod is 1, but limit is 2")
	require.ErrorContains(t, resize("50m"), "minimum cpu usage per Container is 100m, but request is 50m")
	require.NoError(t, resize("1"))
}
