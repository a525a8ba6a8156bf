package resourcepoolstatusrequest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1alpha3"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/resourcepoolstatusrequest"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/store/apiserver"
)

type request = resourcev1alpha3.ResourcePoolStatusRequest

const driver = "gpu.example.com"

// start starts a cluster that serves requests, whose controller has only its own rights.
func start(t testing.TB) *controllertest.Cluster {
	served, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	require.NoError(t, resourcev1alpha3.AddToScheme(served))
	require.NoError(t, resourcev1alpha3.AddRules(served))
	known := api.Scheme().Clone()
	require.NoError(t, resourcev1alpha3.AddToScheme(known))
	c := controllertest.Start(t, controllertest.Options{Scheme: known, Server: apiserver.Options{Scheme: served}})
	account := client.User{Name: "system:serviceaccount:kube-system:resourcepoolstatusrequest-controller", Groups: []string{"system:authenticated"}}
	c.Run(c.ManagerOver(c.Conn(), "controllers", func(m *manager.Manager) error { return resourcepoolstatusrequest.Add(m.As(c.Conn(account))) }))
	return c
}

// slice publishes some devices of a pool, on a node or, if it is empty, on all nodes.
func slice(c *controllertest.Cluster, name, pool, node string, generation, slices int64, devices int) {
	s := &resourcev1.ResourceSlice{ObjectMeta: controllertest.Name("", name)}
	s.Spec.Driver, s.Spec.Pool = driver, resourcev1.ResourcePool{Name: pool, Generation: generation, ResourceSliceCount: slices}
	if s.Spec.NodeName = &node; node == "" {
		s.Spec.NodeName, s.Spec.AllNodes = nil, new(true)
	}
	for i := range devices {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("%s-%d", name, i)})
	}
	controllertest.Create(c, s)
}

// allocate makes a claim that has one device of each pool.
func allocate(c *controllertest.Cluster, name, driver string, pools ...string) {
	claim := &resourcev1.ResourceClaim{ObjectMeta: controllertest.Name("default", name)}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", Count: int64(len(pools)),
		AllocationMode: resourcev1.DeviceAllocationModeExactCount}}}
	controllertest.Create(c, claim)
	controllertest.UpdateStatus(c, "default", name, func(r *resourcev1.ResourceClaim) {
		r.Status.Allocation = &resourcev1.AllocationResult{}
		for i, pool := range pools {
			r.Status.Allocation.Devices.Results = append(r.Status.Allocation.Devices.Results,
				resourcev1.DeviceRequestAllocationResult{Request: "gpu", Driver: driver, Pool: pool, Device: fmt.Sprintf("%s-%d", name, i)})
		}
	})
}

// order creates a request when the controller has every slice and claim, which it reads from copies.
func order(c *controllertest.Cluster, name string, spec resourcev1alpha3.ResourcePoolStatusRequestSpec) {
	c.Settle()
	spec.Driver = driver
	controllertest.Create(c, &request{ObjectMeta: controllertest.Name("", name), Spec: spec})
}

func get(c *controllertest.Cluster, name string) *request {
	return controllertest.Get[*request](c, "", name)
}

// numbers are those of a pool: generation, slices, total, allocated, available, unavailable, node.
func numbers(p resourcev1alpha3.PoolStatus) string {
	node := ""
	if p.NodeName != nil {
		node = *p.NodeName
	}
	return fmt.Sprint(p.PoolName, " ", p.Generation, *p.ResourceSliceCount, *p.TotalDevices, *p.AllocatedDevices, *p.AvailableDevices, *p.UnavailableDevices, " ", node)
}

func answer(t *testing.T, r *request) (out []string) {
	require.NotNil(t, r.Status, r.Name)
	require.Len(t, r.Status.Conditions, 1)
	for _, p := range r.Status.Pools {
		require.Equal(t, driver, p.Driver)
		out = append(out, numbers(p))
	}
	c := r.Status.Conditions[0]
	require.Equal(t, []string{"Complete", "True", "CalculationComplete", fmt.Sprintf("Calculated status for %d pools", len(out))}, []string{c.Type, string(c.Status), c.Reason, c.Message})
	return out
}

// The slices of the highest generation count, a node is one that all of them name, the number of pools is
// that before the limit, and an answer does not change.
func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		slice(c, "old", "a", "node-2", 1, 1, 9)
		slice(c, "a0", "a", "node-1", 2, 2, 3)
		slice(c, "a1", "a", "node-1", 2, 2, 1)
		slice(c, "b0", "b", "node-1", 1, 2, 1)
		slice(c, "b1", "b", "node-2", 1, 2, 1)
		slice(c, "c0", "c", "", 7, 1, 0)
		allocate(c, "one", driver, "a", "b", "b")
		allocate(c, "two", driver, "b")
		allocate(c, "others", "nic.example.com", "a", "a")
		order(c, "all", resourcev1alpha3.ResourcePoolStatusRequestSpec{})
		order(c, "first", resourcev1alpha3.ResourcePoolStatusRequestSpec{Limit: new(int32(1))})
		order(c, "only-b", resourcev1alpha3.ResourcePoolStatusRequestSpec{PoolName: new("b")})
		order(c, "unknown", resourcev1alpha3.ResourcePoolStatusRequestSpec{PoolName: new("z")})
		c.Settle()
		a, b := "a 2 2 4 1 3 0 node-1", "b 1 2 2 3 0 0 "
		require.Equal(t, []string{a, b, "c 7 1 0 0 0 0 "}, answer(t, get(c, "all")))
		require.Equal(t, []string{a}, answer(t, get(c, "first")))
		require.Equal(t, []string{b}, answer(t, get(c, "only-b")))
		require.Empty(t, answer(t, get(c, "unknown")))
		for name, want := range map[string]int32{"all": 3, "first": 3, "only-b": 1, "unknown": 0} {
			require.Equal(t, want, *get(c, name).Status.PoolCount, name)
		}
		before := get(c, "all").ResourceVersion
		slice(c, "d0", "d", "", 1, 1, 1)
		allocate(c, "three", driver, "d")
		c.Sleep(time.Minute)
		require.Equal(t, before, get(c, "all").ResourceVersion)
	})
}

// A request that would have an incomplete pool stays unanswered until the missing slice is there; a pool
// beyond the limit does not count. A pool whose generation no status may have holds up nothing else.
func TestIncompletePools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		slice(c, "a0", "a", "", 1, 1, 1)
		slice(c, "b0", "b", "", 1, 2, 1)
		slice(c, "z0", "zero", "", 0, 1, 1)
		order(c, "pending", resourcev1alpha3.ResourcePoolStatusRequestSpec{PoolName: new("b")})
		order(c, "refused", resourcev1alpha3.ResourcePoolStatusRequestSpec{PoolName: new("zero")})
		order(c, "first", resourcev1alpha3.ResourcePoolStatusRequestSpec{Limit: new(int32(1))})
		c.Sleep(30 * time.Minute)
		require.Equal(t, []string{"a 1 1 1 0 1 0 "}, answer(t, get(c, "first")))
		require.Nil(t, get(c, "pending").Status)
		require.Nil(t, get(c, "refused").Status)
		slice(c, "b1", "b", "", 1, 2, 1)
		c.Settle()
		require.Equal(t, []string{"b 1 2 2 0 2 0 "}, answer(t, get(c, "pending")))
		c.Sleep(24 * time.Hour) // the refused one is tried again every quarter of an hour
		require.Empty(t, controllertest.List[*request](c, ""))
	})
}

// Answered requests are kept for an hour after the answer, others for a day, and nothing but that time
// deletes them.
func TestCleanUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		slice(c, "b0", "b", "", 1, 2, 1)
		order(c, "all", resourcev1alpha3.ResourcePoolStatusRequestSpec{})
		order(c, "b", resourcev1alpha3.ResourcePoolStatusRequestSpec{PoolName: new("b")})
		controllertest.Update(c, "", "b", func(r *request) { r.Labels = map[string]string{"a": "b"} })
		order(c, "others", resourcev1alpha3.ResourcePoolStatusRequestSpec{PoolName: new("b")})
		controllertest.UpdateStatus(c, "", "others", func(r *request) {
			// Without a condition: its creation counts.
			r.Status = &resourcev1alpha3.ResourcePoolStatusRequestStatus{PoolCount: new(int32(0))}
		})
		c.Sleep(time.Hour - time.Second)
		require.Len(t, controllertest.List[*request](c, ""), 3)
		c.Sleep(2 * time.Second)
		require.Len(t, controllertest.List[*request](c, ""), 2)
		c.Sleep(10 * time.Hour)
		controllertest.Delete[*resourcev1.ResourceSlice](c, "", "b0")
		c.Settle()
		require.Empty(t, answer(t, get(c, "all")), "without slices there are no pools")
		c.Sleep(time.Hour - time.Second)
		require.Len(t, controllertest.List[*request](c, ""), 2)
		c.Sleep(2 * time.Second)
		require.Empty(t, controllertest.List[*request](c, ""))
	})
}

// Of random slices and claims, the numbers are those of a plain count.
func TestCounts(t *testing.T) {
	for _, seed := range seeds.Of(t, 20) {
		synctest.Test(t, func(t *testing.T) {
			r, c := seeds.Rand(seed), start(t)
			type pool struct{ generation, slices, devices, allocated int }
			pools := map[string]*pool{}
			for i := range 1 + r.IntN(3) {
				p := &pool{}
				pools[fmt.Sprint("p", i)] = p
				for generation := range 1 + r.IntN(3) {
					p.generation, p.slices, p.devices = generation+1, 1+r.IntN(3), 0
					for j := range p.slices {
						n := r.IntN(4)
						p.devices += n
						name := fmt.Sprintf("s%d-%d-%d", r.IntN(1000), i, 10*generation+j) // in any order
						slice(c, name, fmt.Sprint("p", i), "", int64(p.generation), int64(p.slices), n)
					}
				}
			}
			for i := range r.IntN(5) {
				name := fmt.Sprint("p", r.IntN(4))
				allocate(c, fmt.Sprint("c", i), driver, name)
				if p := pools[name]; p != nil {
					p.allocated++
				}
			}
			order(c, "all", resourcev1alpha3.ResourcePoolStatusRequestSpec{})
			c.Settle()
			var want []string
			for i := range len(pools) {
				p := pools[fmt.Sprint("p", i)]
				want = append(want, fmt.Sprint("p", i, " ", p.generation, p.slices, p.devices, p.allocated, max(0, p.devices-p.allocated), 0, " "))
			}
			require.Equal(t, want, answer(t, get(c, "all")), "seed %d", seed)
		})
	}
}
