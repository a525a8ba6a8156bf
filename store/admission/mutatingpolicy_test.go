package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

func TestMutatingPolicy(t *testing.T) {
	p := planetest.Start(t)
	createPolicy(t, p, "MutatingAdmissionPolicy", "label", onDeployments+`
  reinvocationPolicy: Never
  variables: [{name: team, expression: "object.metadata.?labels.team.orValue('none')"}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{metadata: Object.metadata{labels: {"seen": variables.team}},
               spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "extra", image: "y"}]}}}}
  - patchType: JSONPatch
    jsonPatch:
      expression: >
        [JSONPatch{op: "test", path: "/metadata/labels/seen", value: "none"},
         JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b"), value: "c"}]
`, "")
	p.Post(admissionAPI+"mutatingadmissionpolicybindings", `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: label-b}
spec: {policyName: label}
`)
	made := planetest.Create(t, p.Admin(), deployment("d", 1))
	require.Equal(t, map[string]string{"seen": "none", "a/b": "c"}, made.Labels)
	var names []string
	for _, c := range made.Spec.Template.Spec.Containers {
		names = append(names, c.Name)
	}
	require.ElementsMatch(t, []string{"c", "extra"}, names)

	d := deployment("other", 1)
	d.Labels = map[string]string{"team": "x"}
	err := planetest.TryCreate(t, p.Admin(), d)
	require.Equal(t, 422, apierrors.CodeOf(err))
	require.ErrorContains(t, err, "policy 'label' with binding 'label-b' denied request: JSON Patch:")
}
