package nodettl

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func TestStepOf(t *testing.T) {
	for _, c := range []struct{ before, count, seconds int }{
		{0, 0, 0}, {0, 100, 0}, {0, 101, 15}, {1, 90, 15}, {1, 89, 0}, {1, 500, 15}, {1, 501, 30}, {2, 450, 30}, {2, 449, 15},
		{0, 5000, 300}, {4, 1800, 300}, {4, 1799, 60}, {0, 10_001, 600}, {5, 9000, 600}, {5, 8999, 300}, {5, 0, 0},
	} {
		require.Equal(t, c.seconds, steps[stepOf(c.before, c.count)].seconds, "%+v", c)
	}
}

// start starts a cluster whose controller has only its own rights.
func start(t *testing.T) *controllertest.Cluster {
	return controllertest.Start(t, controllertest.Options{
		As:          client.User{Name: "system:serviceaccount:kube-system:ttl-controller"},
		Controllers: []controllertest.Adder{func(m *manager.Manager) error { return Add(m, Options{}) }},
	})
}

func create(c *controllertest.Cluster, i int) {
	controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", fmt.Sprintf("node-%03d", i))})
}

// times counts the nodes by their annotation.
func times(c *controllertest.Cluster) map[string]int {
	out := map[string]int{}
	for _, n := range controllertest.List[*corev1.Node](c, "") {
		out[n.Annotations[Annotation]]++
	}
	return out
}

// The time is zero in a small cluster.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t)
		create(c, 1)
		c.Settle()
		fmt.Println(controllertest.Get[*corev1.Node](c, "", "node-001").Annotations[Annotation])
	})
	// Output: 0
}

// With the 101st node the time of all rises, and it falls again with the last but 89.
func TestAllNodesFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		for i := range 100 {
			create(c, i)
		}
		c.Settle()
		require.Equal(t, map[string]int{"0": 100}, times(c))
		create(c, 100)
		c.Settle()
		require.Equal(t, map[string]int{"15": 101}, times(c))
		controllertest.Update(c, "", "node-007", func(n *corev1.Node) { n.Annotations[Annotation] = "7" })
		for i := range 11 {
			controllertest.Delete[*corev1.Node](c, "", fmt.Sprintf("node-%03d", 90+i))
		}
		c.Settle()
		require.Equal(t, map[string]int{"15": 90}, times(c))
		controllertest.Delete[*corev1.Node](c, "", "node-000")
		c.Settle()
		require.Equal(t, map[string]int{"0": 89}, times(c))
	})
}
