package schedulingv1_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
)

func TestDefaults(t *testing.T) {
	c := &schedulingv1.PriorityClass{}
	schedulingv1.DefaultPriorityClass(c)
	require.Equal(t, corev1.PreemptLowerPriority, *c.PreemptionPolicy)
	c.PreemptionPolicy = new(corev1.PreemptNever)
	schedulingv1.DefaultPriorityClass(c)
	require.Equal(t, corev1.PreemptNever, *c.PreemptionPolicy)
}

func TestCreateRules(t *testing.T) {
	apitest.Create(t, [][4]string{
		{"priorityclass", "value", `1000000000`, ""},
		{"priorityclass", "value", `1000000001`, "value Forbidden"},
		{"priorityclass", "value", `-2147483648`, ""},
		{"priorityclass", "metadata.name", `"system-own"`, "metadata.name Forbidden"},
		{"priorityclass", "metadata.name", `"system-node-critical"`, "metadata.name Forbidden"},
		{"priorityclass", "preemptionPolicy", `"Sometimes"`, "preemptionPolicy NotSupported"},
	})
}

// The classes of the system have their names with their own values only.
func TestSystemClasses(t *testing.T) {
	for name, value := range map[string]int32{"system-cluster-critical": 2000000000, "system-node-critical": 2000001000} {
		c := &schedulingv1.PriorityClass{Value: value}
		c.Name = name
		require.Empty(t, schedulingv1.ValidatePriorityClass(c))
		c.Value--
		require.Equal(t, []string{"metadata.name FieldValueForbidden"}, apitest.Found(schedulingv1.ValidatePriorityClass(c)))
	}
}

func TestUpdateRules(t *testing.T) {
	apitest.Update(t, []apitest.Updated{
		{Alter: [4]string{"priorityclass", "description", `"d"`, ""}},
		{Alter: [4]string{"priorityclass", "globalDefault", `true`, ""}},
		{Alter: [4]string{"priorityclass", "value", `6`, "value Forbidden"}},
		{Alter: [4]string{"priorityclass", "preemptionPolicy", `"Never"`, "preemptionPolicy Invalid"}},
	})
}
