package scheduler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// What is loaded decides about groups as the scheduler does: the PodGroup says how many of its pods must have
// nodes.
func TestLoadedGroups(t *testing.T) {
	withGroups(t, scheduler.Options{}, func(t *testing.T, c *controllertest.Cluster) {
		addNode(c, "a", "3", "10")
		for i, name := range []string{"four", "three"} {
			least := int32(4 - i)
			controllertest.Create(c, newGroup(name, least))
			state, err := scheduler.Load(t.Context(), c.Admin())
			require.NoError(t, err)
			var pods []*corev1.Pod
			for _, member := range []string{"-0", "-1", "-2", "-3"} {
				pods = append(pods, pod(name+member, requests("1", "1Mi"), memberOf(name)))
			}
			d := state.ScheduleGroup(gangs(), pods)
			require.Equal(t, least == 3, d.Message == "", d.Message)
			createMembers(c, name, 4, "1")
			c.Sleep(time.Minute)
			want := 0
			for _, node := range d.Nodes {
				if node != "" {
					want++
				}
			}
			require.Equal(t, want, boundMembers(c, name))
		}
	})
}

// A server without PodGroups has all else.
func TestLoadWithoutGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		addNode(c, "a", "3", "10")
		state, err := scheduler.Load(t.Context(), c.Admin())
		require.NoError(t, err)
		require.Equal(t, "a", state.Schedule(pod("p", requests("3", "1Mi"))).Node)
	})
}

// A claim gets devices without a pod, as it would with one; it changes nothing until the claim has them.
func TestAllocate(t *testing.T) {
	c := scheduler.NewCluster(nil)
	for _, name := range []string{"a", "b"} {
		n := node(name)
		n.Status.Allocatable = amounts("4", "8Gi", "10")
		c.SetNode(n)
	}
	with(c, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}, resourceSlice("a", gpu("0", "x", "8Gi"), gpu("1", "y", "8Gi")))
	one := resourceClaim("one", exactly("gpu", 1))
	for range 2 {
		got, err := c.Allocate("a", one)
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.Equal(t, "0", got[0].Devices.Results[0].Device)
	}
	got, err := c.Allocate("a", one, resourceClaim("two", exactly("gpu", 1)))
	require.NoError(t, err)
	require.Equal(t, "1", got[1].Devices.Results[0].Device)
	got, err = c.Allocate("b", one)
	require.NoError(t, err)
	require.Nil(t, got)
	held := *one
	held.Status.Allocation = mustAllocate(t, c, one)
	c.SetObject(&held)
	got, err = c.Allocate("a", resourceClaim("two", exactly("gpu", 2)))
	require.NoError(t, err)
	require.Nil(t, got)
	_, err = c.Allocate("none", one)
	require.ErrorContains(t, err, `node "none" is not known`)
	unknown := exactly("gpu", 1)
	unknown.Exactly.DeviceClassName = "missing"
	_, err = c.Allocate("a", resourceClaim("x", unknown))
	require.ErrorContains(t, err, "claim default/x: request gpu: device class missing does not exist")
	_, err = c.Allocate("a", resourceClaim("x", exactly("gpu", 1, "device.nothing")))
	require.Error(t, err)
}

func mustAllocate(t *testing.T, c *scheduler.Cluster, claim *resourcev1.ResourceClaim) *resourcev1.AllocationResult {
	got, err := c.Allocate("a", claim)
	require.NoError(t, err)
	require.Len(t, got, 1)
	return got[0]
}
