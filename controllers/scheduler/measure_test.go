package scheduler_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// measured counts what is measured, by what it is about.
type measured struct {
	mu sync.Mutex
	n  map[string]int
}

func (m *measured) note(words ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n[strings.Join(words, " ")]++
}

func (m *measured) count(text string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n[text]
}

func measure() (*measured, scheduler.Metrics) {
	m := &measured{n: map[string]int{}}
	return m, scheduler.Metrics{
		Point:        func(_, point, status string, _ time.Duration) { m.note(point, status) },
		Plugin:       func(plugin, point, status string, _ time.Duration) { m.note(plugin, point, status) },
		Event:        func(event string, _ time.Duration) { m.note("event", event) },
		Hint:         func(plugin, event, hint string, _ time.Duration) { m.note(plugin, event, hint) },
		VictimsEnded: func(result string, _ time.Duration) { m.note("victims", result) },
		ClaimCreated: func(status string) { m.note("claim", status) },
		DeviceWaited: func(_, driver, status string, own bool, _ time.Duration) {
			if own {
				m.note(driver, status)
			}
		},
	}
}

// Each point that a pod passes is measured, the calls of plugins are in one attempt of ten, and all calls are
// counted; so are events and what plugins say of them.
func TestAttemptsAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, metrics := measure()
		e := &everywhere{idle: true}
		var s *scheduler.Scheduler
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(mgr *manager.Manager) (err error) {
			s, err = scheduler.New(mgr, scheduler.Options{Metrics: metrics, Profiles: []*scheduler.Profile{scheduler.Default().With(e, 2)}})
			return err
		}}})
		controllertest.Create(c, &schedulingv1.PriorityClass{ObjectMeta: controllertest.Name("", "high"), Value: 10})
		addNode(c, "a", "4", "20")
		addNode(c, "b", "4", "20")
		c.Settle()
		require.Equal(t, 2, m.count("event NodeAdd"))
		controllertest.Update(c, "", "a", func(n *corev1.Node) { n.Labels["x"] = "y" })
		c.Settle()
		require.Equal(t, 1, m.count("event NodeUpdateNodeLabel"))
		for i := range 11 {
			create(c, "p"+string(rune('a'+i)), "100m")
			c.Settle()
		}
		for _, point := range []string{"Sign", "PreFilter", "Filter", "PreScore", "Score", "Reserve", "Permit", "PreBindPreFlight", "PreBind", "Bind", "PostBind"} {
			require.Equal(t, 11, m.count(point+" Success"), point)
		}
		require.GreaterOrEqual(t, m.count("PreEnqueue Success"), 11)
		for _, call := range []string{"Everywhere PreFilter", "Everywhere Filter", "NodeResourcesFit Filter", "NodeName Filter", "Everywhere PreScore", "Everywhere Score",
			"NodeResourcesFit Score", "Everywhere Reserve", "Everywhere Permit", "Everywhere PreBind", "DefaultBinder Bind", "Everywhere PostBind"} {
			require.Equal(t, 2, m.count(call+" Success"), call)
		}
		require.Equal(t, 2, m.count("Everywhere Bind Skip"))
		calls := s.Evaluations()
		of := func(plugin, point string) int64 {
			return calls[scheduler.Evaluation{Plugin: plugin, Point: point, Profile: "default-scheduler"}]
		}
		require.EqualValues(t, 22, of("NodeResourcesFit", "Filter"))
		require.EqualValues(t, 22, of("NodeResourcesFit", "Score"))
		require.EqualValues(t, 11, of("Everywhere", "PreFilter"))
		require.EqualValues(t, 11, of("Everywhere", "PreScore"))
		require.Zero(t, of("InterPodAffinity", "Filter"))
		require.Less(t, of("NodeName", "Filter"), int64(22), "its answers are remembered")
		require.Equal(t, 11, m.count("event AssignedPodAdd"))
		require.GreaterOrEqual(t, m.count("event UnschedulablePodAdd"), 11)

		create(c, "large", "40")
		c.Settle()
		require.Equal(t, 1, m.count("PostFilter Unschedulable"))
		deleteNow(c, "pa")
		c.Settle()
		require.Equal(t, 1, m.count("event AssignedPodDelete"))
		require.Equal(t, 1, m.count("NodeResourcesFit AssignedPodDelete Queue"))
		deleteNow(c, "large")
		c.Settle()
		require.Equal(t, 1, m.count("event UnschedulablePodDelete"))
		create(c, "high", "4", class("high"))
		c.Settle()
		require.Equal(t, 1, m.count("PostFilter Success"))
		require.Equal(t, 1, m.count("victims success"))
		e.set("Filter", func() *scheduler.Status { return scheduler.NewStatus(scheduler.Error, "broken") })
		create(c, "failing", "100m")
		c.Settle()
		require.Positive(t, m.count("Filter Error"))
	})
}

// Claims for extended resources that are created are counted, and how long devices are waited for is measured
// by what became of that.
func TestDevicesAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, metrics := measure()
		c := startDevices(t, &scheduler.DynamicResources{BindingTimeout: time.Minute}, func(s *scheduler.Scheduler) { s.Measure(metrics) })
		slice := resourceSlice("a", gpu("0", "x", "8Gi", func(d *resourcev1.Device) {
			d.BindingConditions, d.BindingFailureConditions = []string{"attached"}, []string{"failed"}
		}))
		controllertest.Create(c, slice)
		report := func(kind string) {
			controllertest.UpdateStatus(c, "default", "claim", func(c *resourcev1.ResourceClaim) {
				c.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: driver, Pool: "a", Device: "0", Conditions: []metav1.Condition{
					{Type: kind, Status: metav1.ConditionTrue, Reason: "Driver", LastTransitionTime: metav1.Now()}}}}
			})
		}
		controllertest.Create(c, resourceClaim("claim", exactly("gpu", 1)))
		create(c, "p", "1", usesDevices("claim"))
		c.Sleep(10 * time.Second)
		report("failed")
		c.Sleep(100 * time.Second) // given back and allocated again, which takes too long
		c.Sleep(30 * time.Second)
		report("attached")
		c.Sleep(10 * time.Second)
		require.NotEmpty(t, get(c, "p").Spec.NodeName)
		for _, status := range []string{"failure", "timeout", "success"} {
			require.Positive(t, m.count(driver+" "+status), status)
		}
		require.Positive(t, m.count("event resource.k8s.io/ResourceClaimAdd"))
		require.Positive(t, m.count("event resource.k8s.io/ResourceClaimUpdate"))

		controllertest.Create(c, resourceSlice("b", gpu("0", "x", "8Gi")))
		create(c, "q", "1", func(p *corev1.Pod) {
			one := corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: one, Limits: one}
		})
		c.Sleep(10 * time.Second)
		require.Equal(t, "b", get(c, "q").Spec.NodeName)
		require.Equal(t, 1, m.count("claim success"))
	})
}
