package storagemigrationv1beta1_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/storagemigrationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type migration = storagemigrationv1beta1.StorageVersionMigration

func of(group, resource string) *migration {
	return &migration{Spec: storagemigrationv1beta1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: group, Resource: resource}}}
}

// with is the migration with a version, and conditions that are true.
func with(version string, conditions ...storagemigrationv1beta1.MigrationConditionType) *migration {
	m := of("a.test", "things")
	m.Status.ResourceVersion = version
	for _, c := range conditions {
		metav1.SetCondition(&m.Status.Conditions, metav1.Condition{Type: string(c), Status: metav1.ConditionTrue, Reason: "Because", LastTransitionTime: metav1.Time{Time: time.Unix(1, 0)}})
	}
	return m
}

func fields(errs validation.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Field)
	}
	return out
}

func TestValidation(t *testing.T) {
	const running, succeeded, failed = storagemigrationv1beta1.MigrationRunning, storagemigrationv1beta1.MigrationSucceeded, storagemigrationv1beta1.MigrationFailed
	require.Empty(t, storagemigrationv1beta1.ValidateStorageVersionMigration(of("", "secrets")))
	require.Empty(t, storagemigrationv1beta1.ValidateStorageVersionMigration(of("apps", "deployments")))
	require.Equal(t, []string{"spec.resource.resource"}, fields(storagemigrationv1beta1.ValidateStorageVersionMigration(of("apps", ""))))
	require.Equal(t, []string{"spec.resource.resource", "spec.resource.group"}, fields(storagemigrationv1beta1.ValidateStorageVersionMigration(of("Apps", "pods/status"))))
	require.Empty(t, storagemigrationv1beta1.ValidateStorageVersionMigrationUpdate(of("", "pods"), of("", "pods")))
	require.Equal(t, []string{"spec"}, fields(storagemigrationv1beta1.ValidateStorageVersionMigrationUpdate(of("", "pods"), of("", "nodes"))))

	const conditions, version = "status.conditions", "status.resourceVersion"
	for _, c := range []struct {
		now, before *migration
		wrong       []string
	}{
		{with(""), with(""), nil}, {with("", running), with(""), nil}, {with("12", running), with("", running), nil}, {with("12", succeeded), with("12", running), nil},
		{with("x"), with(""), []string{version}}, {with("01"), with(""), []string{version}}, {with("-1"), with(""), []string{version}},
		{with("13"), with("12"), []string{version}}, {with(""), with("12"), []string{version}},
		{with("", succeeded, failed), with(""), []string{conditions}}, {with("", succeeded, running), with(""), []string{conditions}}, {with("", failed, running), with(""), []string{conditions}},
		{with(""), with("", succeeded), []string{conditions}}, {with("", running), with("", failed), []string{conditions}},
	} {
		require.Equal(t, c.wrong, fields(storagemigrationv1beta1.ValidateStorageVersionMigrationStatus(c.now, c.before)), "%+v, before %+v", c.now.Status, c.before.Status)
	}
}
