package controllertest_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// 200 tests at once, each with forks of one snapshot and objects of the same names, do not see each other and
// leave nothing: a goroutine that a bubble leaves makes it panic, and what is outside of bubbles is
// counted.
func TestParallelForks(t *testing.T) {
	var s controllertest.Snapshot
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{Seed: 1})
		controllertest.Create(c, configMap("a"))
		s = c.Snapshot()
	})
	before := runtime.NumGoroutine()
	t.Run("tests", func(t *testing.T) {
		for i := range 200 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c := controllertest.StartFrom(t, s, controllertest.Options{Seed: uint64(i % 3)})
					user := client.User{Name: "test", Groups: []string{"system:masters"}}
					_, err := client.For[*corev1.ConfigMap](c.Conn(user)).Create(t.Context(), configMap("b"))
					require.NoError(t, err)
					controllertest.Update(c, "default", "a", func(m *corev1.ConfigMap) { m.Data = map[string]string{"test": fmt.Sprint(i)} })
					again := controllertest.StartFrom(t, c.Snapshot(), controllertest.Options{})
					controllertest.Delete[*corev1.ConfigMap](again, "default", "b")
					require.Equal(t, fmt.Sprint(i), controllertest.Get[*corev1.ConfigMap](again, "default", "a").Data["test"])
					require.True(t, controllertest.Exists[*corev1.ConfigMap](c, "default", "b"))
				})
			})
		}
	})
	for range 1_000_000 { // goroutines that have ended are still counted for an instant
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}

// 1,000 clusters run in one process at the same time, each with its own objects.
func TestManyClusters(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	synctest.Test(t, func(t *testing.T) {
		s := controllertest.Start(t, controllertest.Options{}).Snapshot()
		clusters := make([]*controllertest.Cluster, n)
		for i := range clusters {
			clusters[i] = controllertest.StartFrom(t, s, controllertest.Options{})
			controllertest.Create(clusters[i], configMap(fmt.Sprint("of-", i)))
		}
		for i, c := range clusters {
			list := controllertest.List[*corev1.ConfigMap](c, "default")
			require.Len(t, list, 1)
			require.Equal(t, fmt.Sprint("of-", i), list[0].Name)
		}
	})
}
