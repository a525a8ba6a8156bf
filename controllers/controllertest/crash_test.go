package controllertest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// A controller goes on after a crash at each of its writes, whether it was made or not. The first process
// does nothing after its crash.
func TestCrashAtEveryWrite(t *testing.T) {
	var snapshot controllertest.Snapshot
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		controllertest.Create(c, replicaSet("web", 2))
		snapshot = c.Snapshot()
	})
	operator := client.User{Name: "operator", Groups: []string{"system:masters"}}
	of := controllertest.Requests{User: operator.Name}
	crashes := 0
	for n, crashed := 0, true; crashed; n++ {
		for _, done := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				c := controllertest.StartFrom(t, snapshot, controllertest.Options{})
				calls := c.Record(of)
				crash := c.Crash(of, n, done)
				stop := c.Run(c.ManagerOver(c.Conn(operator), "first", addReplicaSets))
				c.Sleep(time.Minute)
				if crashed = crash.Happened(); crashed {
					crashes++
					require.Empty(t, c.Open(of))
				}
				made, writes := 0, 0
				for _, call := range calls.Calls() {
					if call.Verb == "create" && call.Resource == "pods" || call.Verb == "update" || call.Verb == "patch" {
						if writes++; call.Code != 0 {
							made++
						}
					}
				}
				require.Equal(t, crashed, made < writes)
				stop()
				crash.Remove()
				c.Run(c.ManagerOver(c.Conn(operator), "second", addReplicaSets))
				c.Sleep(time.Minute)
				require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 2)
				require.EqualValues(t, 2, controllertest.Get[*appsv1.ReplicaSet](c, "default", "web").Status.Replicas)
			})
		}
	}
	require.Equal(t, 6, crashes, "two pods and a status, each made or not")
}
