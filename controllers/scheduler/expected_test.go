package scheduler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// While the binding of a pod takes long, its status says where it will be; when the placement is taken back,
// it does not any more, whether or not the pod may preempt others.
func TestTheExpectedNodeIsInTheStatus(t *testing.T) {
	for _, off := range []bool{false, true} {
		for _, never := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				e := &everywhere{}
				c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
					return scheduler.Add(m, scheduler.Options{NoExpectedNode: off, Profiles: []*scheduler.Profile{scheduler.Default().With(e, 1).Off("Everywhere", scheduler.AtPostFilter)}})
				}}})
				refuses := true
				e.set("PreBind", func() *scheduler.Status {
					time.Sleep(time.Second)
					if refuses {
						refuses = false
						return scheduler.NewStatus(scheduler.Error, "not now")
					}
					return nil
				})
				addNode(c, "a", "2", "10")
				policy := corev1.PreemptLowerPriority
				if never {
					policy = corev1.PreemptNever
				}
				controllertest.Create(c, &schedulingv1.PriorityClass{ObjectMeta: controllertest.Name("", "c"), PreemptionPolicy: &policy})
				create(c, "p", "1", class("c"))
				c.Sleep(500 * time.Millisecond)
				want := "a"
				if off {
					want = ""
				}
				require.Empty(t, get(c, "p").Spec.NodeName)
				require.Equal(t, want, get(c, "p").Status.NominatedNodeName)
				c.Sleep(time.Second)
				require.Equal(t, "not now", scheduled(get(c, "p")).Message)
				require.Empty(t, get(c, "p").Status.NominatedNodeName)
				c.Sleep(10 * time.Second)
				require.Equal(t, "a", get(c, "p").Spec.NodeName)
				require.Empty(t, get(c, "p").Status.NominatedNodeName, "it has its node")
			})
		}
	}
}

// A pod that is bound at once costs no request more.
func TestAPodThatIsBoundAtOnceIsNotNominated(t *testing.T) {
	patches := 0
	withFaults(t, scheduler.Options{}, func(_ context.Context, r *client.Request, send func() (*client.Response, error)) (*client.Response, error) {
		if r.Verb() == "patch" {
			patches++
		}
		return send()
	}, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "2", "10")
		create(c, "p", "1")
		c.Settle()
		require.Equal(t, "a", get(c, "p").Spec.NodeName)
		require.Zero(t, patches)
	})
}
