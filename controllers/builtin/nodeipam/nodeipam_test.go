package nodeipam_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin/nodeipam"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, t := range texts {
		out = append(out, netip.MustParsePrefix(t))
	}
	return out
}

func adder(opts nodeipam.Options) controllertest.Adder {
	return func(m *manager.Manager) error { return nodeipam.Add(m, opts) }
}

func start(t testing.TB, opts nodeipam.Options) *controllertest.Cluster {
	return controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{adder(opts)},
		As: client.User{Name: "system:serviceaccount:kube-system:node-controller", Groups: []string{"system:serviceaccounts", "system:authenticated"}}})
}

func node(c *controllertest.Cluster, name string, ranges ...string) {
	n := &corev1.Node{ObjectMeta: controllertest.Name("", name)}
	if len(ranges) > 0 {
		n.Spec.PodCIDR, n.Spec.PodCIDRs = ranges[0], ranges
	}
	controllertest.Create(c, n)
	c.Settle()
}

func text(c *controllertest.Cluster, name string) string {
	return strings.Join(controllertest.Get[*corev1.Node](c, "", name).Spec.PodCIDRs, " ")
}

// Nodes get a range of each family.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c := start(t, nodeipam.Options{ClusterCIDRs: prefixes("10.244.0.0/16", "fd00:10::/56")})
		node(c, "a")
		node(c, "b")
		fmt.Println(text(c, "a"))
		fmt.Println(text(c, "b"))
	})
	// Output:
	// 10.244.0.0/24 fd00:10::/64
	// 10.244.1.0/24 fd00:10:0:1::/64
}

func TestAllocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, nodeipam.Options{ClusterCIDRs: prefixes("10.0.0.0/24"), MaskSizeIPv4: 26, ServiceCIDRs: prefixes("10.0.0.0/28")})
		node(c, "given", "10.0.0.64/26")
		node(c, "a")
		node(c, "b")
		node(c, "late")
		require.Equal(t, "10.0.0.64/26", text(c, "given"))
		require.Equal(t, "10.0.0.128/26", text(c, "a"))
		require.Equal(t, "10.0.0.192/26", text(c, "b"))
		require.Empty(t, text(c, "late"), "the rest is for services")
		events := controllertest.List[*corev1.Event](c, "default")
		require.NotEmpty(t, events)
		require.Equal(t, "CIDRNotAvailable", events[0].Reason)
		// A deleted node leaves its range to those that wait.
		controllertest.Delete[*corev1.Node](c, "", "a")
		c.Sleep(20 * time.Minute)
		require.Equal(t, "10.0.0.128/26", text(c, "late"))
	})
}

// A controller that takes over knows what its predecessor gave.
func TestTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		opts := nodeipam.Options{ClusterCIDRs: prefixes("10.0.0.0/16")}
		stop := c.Run(c.Manager("first", adder(opts)))
		node(c, "a")
		node(c, "b")
		stop()
		node(c, "c")
		c.Run(c.Manager("second", adder(opts)))
		c.Settle()
		seen := map[string]bool{}
		for _, name := range []string{"a", "b", "c"} {
			require.NotEmpty(t, text(c, name))
			require.False(t, seen[text(c, name)], "%s is given twice", text(c, name))
			seen[text(c, name)] = true
		}
	})
}

func TestOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		for problem, opts := range map[string]nodeipam.Options{
			"is empty":           {},
			"one IPv4 and one":   {ClusterCIDRs: prefixes("10.0.0.0/16", "10.1.0.0/16")},
			"must be from 16":    {ClusterCIDRs: prefixes("10.0.0.0/16"), MaskSizeIPv4: 8},
			"has too many range": {ClusterCIDRs: prefixes("fd00::/16")},
		} {
			m := manager.New(c.Conn(), manager.Options{})
			require.ErrorContains(t, nodeipam.Add(m, opts), problem)
		}
	})
}
