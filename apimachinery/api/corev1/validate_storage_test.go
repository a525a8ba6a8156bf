package corev1_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// The attributes class of a claim changes while it is bound, also to none until a class has been applied.
// ValidatePersistentVolumeClaimUpdate of kube-apiserver 1.36.3 gives the same errors.
func TestClaimAttributesClass(t *testing.T) {
	gold, silver, empty := new("gold"), new("silver"), new("")
	const immutable = "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
	const toNil = "spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when status.currentVolumeAttributesClassName is not nil"
	const toEmpty = "spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil"
	for name, c := range map[string]struct {
		phase             corev1.PersistentVolumeClaimPhase
		from, to, current *string
		want              string
	}{
		"bound, another":                   {corev1.ClaimBound, gold, silver, gold, ""},
		"bound, a first one":               {corev1.ClaimBound, nil, gold, nil, ""},
		"bound, none before it is applied": {corev1.ClaimBound, gold, nil, nil, ""},
		"bound, empty before":              {corev1.ClaimBound, gold, empty, nil, ""},
		"bound, none after":                {corev1.ClaimBound, gold, nil, gold, toNil},
		"bound, empty after":               {corev1.ClaimBound, gold, empty, gold, toEmpty},
		"bound, unchanged":                 {corev1.ClaimBound, nil, nil, gold, ""},
		"pending, another":                 {corev1.ClaimPending, gold, silver, nil, immutable},
		"pending, a first one":             {corev1.ClaimPending, nil, gold, nil, immutable},
		"pending, unchanged":               {corev1.ClaimPending, gold, new("gold"), nil, ""},
		"lost, another":                    {corev1.ClaimLost, gold, silver, nil, immutable},
	} {
		claim := func(class *string) *corev1.PersistentVolumeClaim {
			return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "default"},
				Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeAttributesClassName: class,
					Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}},
				Status: corev1.PersistentVolumeClaimStatus{Phase: c.phase, CurrentVolumeAttributesClassName: c.current}}
		}
		errs := corev1.ValidatePersistentVolumeClaimUpdate(claim(c.to), claim(c.from))
		if c.want == "" {
			require.Empty(t, errs, name)
			continue
		}
		require.Len(t, errs, 1, name)
		require.Equal(t, c.want, errs[0].Error(), name)
	}
}
