package scheduler_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/builtin/resourceclaim"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// A gang gets devices for all of its pods or none, also if they are searched for aside, and no device twice.
func TestAGangGetsDevicesAllOrNothing(t *testing.T) {
	for _, edit := range []func(*scheduler.Scheduler){func(*scheduler.Scheduler) {}, (*scheduler.Scheduler).SearchAside} {
		synctest.Test(t, func(t *testing.T) {
			c := controllertest.Start(t, servesGroups(t, controllertest.Options{Controllers: []controllertest.Adder{
				func(m *manager.Manager) error {
					s, err := scheduler.New(m, scheduler.Options{PodGroups: true, Profiles: []*scheduler.Profile{gangs()}})
					edit(s)
					return err
				},
				func(m *manager.Manager) error { return resourceclaim.Add(m, resourceclaim.Options{}) },
			}}))
			controllertest.Create(c, &resourcev1.DeviceClass{ObjectMeta: controllertest.Name("", "gpu")})
			for _, name := range []string{"a", "b"} {
				addNode(c, name, "4", "10")
			}
			controllertest.Create(c, resourceSlice("a", gpu("0", "x", "8Gi"), gpu("1", "x", "8Gi")))
			controllertest.Create(c, &resourcev1.ResourceClaimTemplate{ObjectMeta: controllertest.Name("default", "gpu"),
				Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourceClaim("", exactly("gpu", 1)).Spec}})
			controllertest.Create(c, newGroup("g", 3))
			for i := range 3 {
				create(c, fmt.Sprint("g-", i), "100m", memberOf("g"), func(p *corev1.Pod) {
					p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}
				})
			}
			c.Sleep(time.Minute)
			require.Zero(t, boundMembers(c, "g"))
			for _, claim := range controllertest.List[*resourcev1.ResourceClaim](c, "default") {
				require.Nil(t, claim.Status.Allocation, "nothing is held for the gang")
			}
			require.Equal(t, metav1.ConditionFalse, groupCondition(c, "g").Status)
			controllertest.Create(c, resourceSlice("b", gpu("0", "x", "8Gi")))
			c.Sleep(30 * time.Second)
			require.Equal(t, 3, boundMembers(c, "g"))
			have := map[string]bool{}
			for _, claim := range controllertest.List[*resourcev1.ResourceClaim](c, "default") {
				d := devicesOf(claim)
				require.Len(t, d, 1)
				require.False(t, have[d[0]], d)
				have[d[0]] = true
			}
		})
	}
}
