package storageversiongc_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// After an upgrade the last server of the earlier release ends, and all store objects in one version.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t)
		server(c, "earlier")
		server(c, "later")
		report(c, "apps.deployments", "earlier", "apps/v1beta1", "later", "apps/v1")
		c.Settle()
		common := func() *string {
			return controllertest.Get[*storageVersion](c, "", "apps.deployments").Status.CommonEncodingVersion
		}
		fmt.Println(common() == nil)
		controllertest.Delete[*coordinationv1.Lease](c, "kube-system", "earlier")
		c.Settle()
		fmt.Println(*common())
	})
	// Output:
	// true
	// apps/v1
}
