package schedulingv1alpha2_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
)

type (
	policy      = schedulingv1alpha2.PodGroupSchedulingPolicy
	constraints = schedulingv1alpha2.PodGroupSchedulingConstraints
	key         = schedulingv1alpha2.TopologyConstraint
	template    = schedulingv1alpha2.PodGroupTemplate
	spec        = schedulingv1alpha2.PodGroupSpec
)

func gang(n int32) policy {
	return policy{Gang: &schedulingv1alpha2.GangSchedulingPolicy{MinCount: n}}
}

func from(workload, template string) *schedulingv1alpha2.PodGroupTemplateReference {
	return &schedulingv1alpha2.PodGroupTemplateReference{Workload: &schedulingv1alpha2.WorkloadPodGroupTemplateReference{WorkloadName: workload, PodGroupTemplateName: template}}
}

// The messages are compared with those of kube-apiserver in the tests of the program kube-apiserver.
func TestValidation(t *testing.T) {
	basic := policy{Basic: &schedulingv1alpha2.BasicSchedulingPolicy{}}
	for _, c := range []struct {
		spec  spec
		wrong []string
	}{
		{spec{SchedulingPolicy: basic}, nil},
		{spec{SchedulingPolicy: gang(1), PodGroupTemplateRef: from("a.b", "t"), SchedulingConstraints: &constraints{Topology: []key{{Key: "a.b/zone"}}}}, nil},
		{spec{SchedulingPolicy: gang(2), SchedulingConstraints: &constraints{}}, nil},
		{spec{}, []string{"spec.schedulingPolicy FieldValueInvalid"}},
		{spec{SchedulingPolicy: gang(0)}, []string{"spec.schedulingPolicy.gang.minCount FieldValueRequired"}},
		{spec{SchedulingPolicy: gang(-1)}, []string{"spec.schedulingPolicy.gang.minCount FieldValueInvalid"}},
		{spec{SchedulingPolicy: policy{Basic: basic.Basic, Gang: gang(1).Gang}}, []string{"spec.schedulingPolicy FieldValueInvalid"}},
		{spec{SchedulingPolicy: basic, PodGroupTemplateRef: &schedulingv1alpha2.PodGroupTemplateReference{}}, []string{"spec.podGroupTemplateRef FieldValueInvalid"}},
		{spec{SchedulingPolicy: basic, PodGroupTemplateRef: from("", "T")},
			[]string{"spec.podGroupTemplateRef.workload.podGroupTemplateName FieldValueInvalid", "spec.podGroupTemplateRef.workload.workloadName FieldValueRequired"}},
		{spec{SchedulingPolicy: basic, SchedulingConstraints: &constraints{Topology: []key{{Key: "a/b/c"}}}}, []string{"spec.schedulingConstraints.topology[0].key FieldValueInvalid"}},
		{spec{SchedulingPolicy: basic, SchedulingConstraints: &constraints{Topology: []key{{Key: "a"}, {}}}}, []string{"spec.schedulingConstraints.topology FieldValueTooMany"}},
	} {
		g := &schedulingv1alpha2.PodGroup{Spec: c.spec}
		require.ElementsMatch(t, c.wrong, apitest.Found(schedulingv1alpha2.ValidatePodGroup(g)), "%+v", c.spec)
		require.Empty(t, schedulingv1alpha2.ValidatePodGroupUpdate(g, g), "what was stored may be changed elsewhere")
	}

	w := func(templates ...template) *schedulingv1alpha2.Workload {
		return &schedulingv1alpha2.Workload{Spec: schedulingv1alpha2.WorkloadSpec{PodGroupTemplates: templates}}
	}
	good := w(template{Name: "t", SchedulingPolicy: basic})
	require.Empty(t, schedulingv1alpha2.ValidateWorkload(good))
	for want, bad := range map[string]*schedulingv1alpha2.Workload{
		"spec.podGroupTemplates FieldValueRequired":                    w(),
		"spec.podGroupTemplates FieldValueTooMany":                     w(make([]template, 9)...),
		"spec.podGroupTemplates[1] FieldValueDuplicate":                w(good.Spec.PodGroupTemplates[0], good.Spec.PodGroupTemplates[0]),
		"spec.podGroupTemplates[0].name FieldValueRequired":            w(template{SchedulingPolicy: basic}),
		"spec.podGroupTemplates[0].schedulingPolicy FieldValueInvalid": w(template{Name: "t"}),
	} {
		require.Equal(t, []string{want}, apitest.Found(schedulingv1alpha2.ValidateWorkload(bad)))
		require.NotEmpty(t, schedulingv1alpha2.ValidateWorkloadUpdate(bad, good))
	}
}

func TestDefault(t *testing.T) {
	g := &schedulingv1alpha2.PodGroup{}
	schedulingv1alpha2.DefaultPodGroup(g)
	require.Equal(t, schedulingv1alpha2.DisruptionModePod, *g.Spec.DisruptionMode)
	g.Spec.DisruptionMode = new(schedulingv1alpha2.DisruptionModePodGroup)
	schedulingv1alpha2.DefaultPodGroup(g)
	require.Equal(t, schedulingv1alpha2.DisruptionModePodGroup, *g.Spec.DisruptionMode)
}
