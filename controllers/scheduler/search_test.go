package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// While devices are searched for in vain, for longer than anyone waits, other pods are scheduled: those
// without claims, and those whose claims are found at once. The search ends with the scheduler, and otherwise
// at the time-out of the plugin, of which the pod's event says.
func TestALongSearchHoldsUpNothing(t *testing.T) {
	for _, timeout := range []time.Duration{time.Hour, 300 * time.Millisecond} {
		t.Run(timeout.String(), func(t *testing.T) {
			var s *scheduler.Scheduler
			c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) (err error) {
				s, err = scheduler.New(m, scheduler.Options{Profiles: []*scheduler.Profile{scheduler.Default().With(&scheduler.DynamicResources{FilterTimeout: timeout}, 2)}})
				return err
			}}})
			controllertest.Create(c, node("a"))
			controllertest.UpdateStatus(c, "", "a", func(n *corev1.Node) { n.Status.Allocatable = amounts("4", "8Gi", "10") })
			controllertest.Update(c, "", "a", func(n *corev1.Node) { n.Spec.Taints = nil })
			controllertest.Create(c, &resourcev1.DeviceClass{ObjectMeta: controllertest.Name("", "gpu")})
			var devices []resourcev1.Device
			for i := range 60 {
				devices = append(devices, gpu(fmt.Sprint("d", i), fmt.Sprint("model-", i%20), "8Gi"))
			}
			controllertest.Create(c, resourceSlice("a", devices...))
			// 21 devices of as many models, of which there are 20: almost all combinations are tried.
			hard := resourceClaim("hard", exactly("gpu", 21))
			hard.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{DistinctAttribute: new(resourcev1.FullyQualifiedName(driver + "/model"))}}
			controllertest.Create(c, hard)
			controllertest.Create(c, resourceClaim("easy", exactly("gpu", 1)))
			create(c, "bad", "1", usesDevices("hard"))
			if timeout < time.Hour {
				eventually(t, func() bool {
					return strings.Contains(scheduled(get(c, "bad")).Message, "node a: timed out trying to allocate devices")
				})
				return
			}
			eventually(t, func() bool {
				q := s.Dump().Queue
				return len(q) == 1 && q[0].State == "in flight" && s.Searching()
			})
			create(c, "plain", "1")
			create(c, "good", "1", usesDevices("easy"))
			eventually(t, func() bool { return get(c, "plain").Spec.NodeName != "" && get(c, "good").Spec.NodeName != "" })
			// What an attempt before the scheduler's caches had the class has reported may still be there.
			require.NotContains(t, scheduled(get(c, "bad")).Message, "timed out")
		})
	}
}
