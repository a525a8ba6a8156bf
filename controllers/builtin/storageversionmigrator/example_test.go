package storageversionmigrator_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// A custom resource leaves its old version behind.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := controllertest.Start(t, options(t, add))
		define(t, c)
		build(t, c, "argo")
		controllertest.Update(c, "", "boats.sea.test", store)
		fmt.Println(controllertest.Get[*definition](c, "", "boats.sea.test").Status.StoredVersions)
		controllertest.Create(c, order("to-v2", "sea.test", "boats"))
		time.Sleep(time.Minute)
		c.Settle()
		fmt.Println(controllertest.Get[*definition](c, "", "boats.sea.test").Status.StoredVersions)
	})
	// Output:
	// [v1 v2]
	// [v2]
}
