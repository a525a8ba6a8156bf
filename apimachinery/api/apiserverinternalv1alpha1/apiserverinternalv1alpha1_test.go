package apiserverinternalv1alpha1_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiserverinternalv1alpha1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// The messages of the validation are tested where the kind is served, by examples/kube-apiserver.
func TestReport(t *testing.T) {
	v := &apiserverinternalv1alpha1.StorageVersion{}
	report := func(second int64, server, version string) {
		v.Report(apiserverinternalv1alpha1.ServerStorageVersion{APIServerID: server, EncodingVersion: version, DecodableVersions: []string{version}}, metav1.Time{Time: time.Unix(second, 0)})
		require.Empty(t, apiserverinternalv1alpha1.ValidateStorageVersionStatus(v, v))
		require.Len(t, v.Status.Conditions, 1)
	}
	since := func() int64 { return v.Status.Conditions[0].LastTransitionTime.Unix() }
	report(1, "a", "v1")
	require.Equal(t, "v1", *v.Status.CommonEncodingVersion)
	report(2, "b", "v1")
	require.EqualValues(t, 1, since())
	report(3, "b", "v2")
	require.Nil(t, v.Status.CommonEncodingVersion)
	require.Equal(t, metav1.ConditionFalse, v.Status.Conditions[0].Status)
	require.EqualValues(t, 3, since())
	report(4, "a", "v3")
	require.EqualValues(t, 3, since(), "they still differ")
	report(5, "b", "v3")
	require.EqualValues(t, 5, since())
	require.Len(t, v.Status.StorageVersions, 2)
	v.Status.StorageVersions = v.Status.StorageVersions[:1]
	report(6, "a", "v4")
	require.EqualValues(t, 6, since(), "another common version is a transition too")
	v.Status.StorageVersions = nil
	v.Agree(metav1.Time{Time: time.Unix(7, 0)})
	require.Nil(t, v.Status.CommonEncodingVersion)
	require.Equal(t, metav1.ConditionFalse, v.Status.Conditions[0].Status)
}
