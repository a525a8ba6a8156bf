package coordinationv1beta1_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func of(lease, binary, emulated string, strategy coordinationv1.CoordinatedLeaseStrategy) *coordinationv1beta1.LeaseCandidate {
	return &coordinationv1beta1.LeaseCandidate{Spec: coordinationv1beta1.LeaseCandidateSpec{LeaseName: lease, BinaryVersion: binary, EmulationVersion: emulated, Strategy: strategy}}
}

func texts(errs validation.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, string(e.Type)+" "+e.Field)
	}
	return out
}

func TestValidation(t *testing.T) {
	const oldest = coordinationv1.OldestEmulationVersion
	required, invalid := "FieldValueRequired spec.", "FieldValueInvalid spec."
	for _, c := range []struct {
		of    *coordinationv1beta1.LeaseCandidate
		wrong []string
	}{
		{of("l", "1.36.0", "1.35.0", oldest), nil}, {of("l", "1.36.0-alpha.1+b", "1.36.0-alpha.1", oldest), nil}, {of("l", "1.36.0", "", "example.com/Random"), nil},
		{of("", "", "", ""), []string{required + "leaseName", required + "binaryVersion", required + "strategy"}},
		{of("l", "1.36.0", "", oldest), []string{required + "emulationVersion"}},
		{of("l", "1.36", "v1.35.0", "example.com/Random"), []string{invalid + "emulationVersion", invalid + "binaryVersion"}},
		{of("l", "1.35.0", "1.36.0", oldest), []string{invalid + "binaryVersion"}},
		{of("l", "1.36.0", "1.36.0", "Newest"), []string{"FieldValueNotSupported spec.strategy.strategy"}},
		{of("l", "1.36.0", "1.36.0", "example.com/"), []string{invalid + "strategy.strategy"}},
	} {
		got := texts(coordinationv1beta1.ValidateLeaseCandidate(c.of))
		if len(got) > len(c.wrong) && len(c.wrong) > 0 {
			got = got[:len(c.wrong)] // one finding per message of a name
		}
		require.Equal(t, c.wrong, got, "%+v", c.of.Spec)
	}
	require.Empty(t, coordinationv1beta1.ValidateLeaseCandidateUpdate(of("l", "1.36.0", "1.35.0", oldest), of("l", "1.35.0", "1.35.0", oldest)))
	require.Equal(t, []string{invalid + "leaseName"}, texts(coordinationv1beta1.ValidateLeaseCandidateUpdate(of("l", "1.36.0", "1.35.0", oldest), of("m", "1.36.0", "1.35.0", oldest))))
}

func TestCompare(t *testing.T) {
	const oldest = coordinationv1.OldestEmulationVersion
	ordered := []*coordinationv1beta1.LeaseCandidate{of("l", "1.36.0", "1.34.0", oldest), of("l", "1.35.0", "1.35.0", oldest), of("l", "1.36.0", "1.35.0", oldest), of("l", "1.36.0", "1.35.0", oldest), of("l", "1.36.0", "1.35.0", oldest)}
	for i, name := range []string{"z", "y", "x", "a", "b"} {
		ordered[i].Name = name
		ordered[i].CreationTimestamp = metav1.Time{Time: time.Unix(min(int64(i), 3), 0)}
	}
	for i, c := range ordered {
		for _, later := range ordered[i+1:] {
			require.Negative(t, c.Compare(later), "%s, %s", c.Name, later.Name)
			require.Positive(t, later.Compare(c))
		}
	}
}
