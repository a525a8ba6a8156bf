package builtin

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1alpha3"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1beta2"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// resources returns the kinds of the group resource.k8s.io.
func resources(s *scheme.Scheme) []registry.Definition {
	gv := resourcev1.GroupVersion
	slices := kind[*resourcev1.ResourceSlice](s, gv)
	return []registry.Definition{
		{
			Info: kind[*resourcev1.DeviceClass](s, gv), Table: deviceClassTable,
			Strategy: registry.Strategy{Generation: registry.OnSpec},
		},
		{
			Info: kind[*resourcev1.ResourceClaim](s, gv), Table: resourceClaimTable,
			Strategy: registry.Strategy{StatusOnly: true},
		},
		{Info: kind[*resourcev1.ResourceClaimTemplate](s, gv), Table: claimTemplateTable},
		{
			Info: slices, Table: resourceSliceTable,
			Strategy: registry.Strategy{Generation: registry.OnSpec},
			Fields: registry.Fields{
				Names:       []string{"spec.driver", "spec.nodeName"},
				NoNamespace: true,
				Of: func(obj metav1.Object, add func(name, value string)) {
					spec := &obj.(*resourcev1.ResourceSlice).Spec
					add("spec.driver", spec.Driver)
					add("spec.nodeName", value(spec.NodeName))
				},
				Unknown: func(selector string) string {
					return fmt.Sprintf("field label not supported for %s: %s", slices.GVK, selector)
				},
			},
		},
		{
			Info: kind[*resourcev1beta2.DeviceTaintRule](s, resourcev1beta2.GroupVersion), Table: deviceTaintRuleTable,
			Strategy: registry.Strategy{Generation: registry.OnSpec, StatusOnly: true, PrepareUpdate: onBoth(restampTaint)},
		},
		{
			Info: kind[*resourcev1alpha3.ResourcePoolStatusRequest](s, resourcev1alpha3.GroupVersion), Table: poolStatusRequestTable,
			Strategy: registry.Strategy{VersionRequired: true, StatusOnly: true, ReturnsDeleted: true},
		},
	}
}

// restampTaint makes the time of a taint that of its effect, unless the client changes the time too.
func restampTaint(rule, old *resourcev1beta2.DeviceTaintRule) {
	t, was := &rule.Spec.Taint, &old.Spec.Taint
	if t.Effect != was.Effect && (t.TimeAdded == nil || was.TimeAdded.Equal(t.TimeAdded)) {
		t.TimeAdded = new(metav1.Now().Truncated())
	}
}
