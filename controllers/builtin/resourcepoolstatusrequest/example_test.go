package resourcepoolstatusrequest_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1alpha3"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// How many devices of a driver are left.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t)
		slice(c, "node-1-gpus", "node-1", "node-1", 1, 1, 4)
		allocate(c, "training", driver, "node-1", "node-1", "node-1")
		order(c, "gpus", resourcev1alpha3.ResourcePoolStatusRequestSpec{})
		c.Settle()
		p := controllertest.Get[*request](c, "", "gpus").Status.Pools[0]
		fmt.Printf("%d of %d devices of %s are left\n", *p.AvailableDevices, *p.TotalDevices, p.PoolName)
	})
	// Output:
	// 1 of 4 devices of node-1 are left
}
