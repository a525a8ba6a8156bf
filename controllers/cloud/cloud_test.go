package cloud_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/cloud"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakecloud"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// account returns what writes with the rights of a controller only.
func account(c *controllertest.Cluster, name string) client.Conn {
	return c.Conn(client.User{Name: "system:serviceaccount:kube-system:" + name, Groups: []string{"system:authenticated"}})
}

// start starts a cluster, in a cloud without machines, with the controllers of services and routes.
func start(t *testing.T) (*controllertest.Cluster, *fakecloud.Cloud) {
	c, f := controllertest.Start(t, controllertest.Options{}), fakecloud.New(netip.MustParseAddr("192.0.2.0"))
	c.Run(manage(c, f))
	return c, f
}

func manage(c *controllertest.Cluster, f *fakecloud.Cloud) *manager.Manager {
	return c.ManagerOver(c.Conn(), "cloud", func(m *manager.Manager) error {
		if err := cloud.AddRoutes(m.As(account(c, "route-controller")), f.Routes(), cloud.RouteOptions{ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}}); err != nil {
			return err
		}
		return cloud.AddServices(m.As(account(c, "service-controller")), f.Balancers(), cloud.ServiceOptions{})
	})
}

func node(c *controllertest.Cluster, name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: controllertest.Name("", name)}
	for _, f := range change {
		f(n)
	}
	return controllertest.Create(c, n)
}

func service(c *controllertest.Cluster, name string, change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: controllertest.Name("default", name)}
	s.Spec.Type, s.Spec.Ports = corev1.ServiceTypeLoadBalancer, []corev1.ServicePort{{Port: 80}}
	for _, f := range change {
		f(s)
	}
	return controllertest.Create(c, s)
}

func reasons(c *controllertest.Cluster) (out []string) {
	for _, e := range controllertest.List[*corev1.Event](c, "default") {
		out = append(out, e.Reason)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A Service of the type LoadBalancer has an address of the cloud.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) { // in a test: its own t
		c, _ := start(t)
		node(c, "node-1")
		c.Settle()
		service(c, "web")
		c.Settle()
		s := controllertest.Get[*corev1.Service](c, "default", "web")
		fmt.Println(s.Status.LoadBalancer.Ingress[0].IP, s.Finalizers)
	})
	// Output: 192.0.2.1 [service.kubernetes.io/load-balancer-cleanup]
}

// A load balancer follows its Service and the nodes, and ends with it: deleted, or of another type.
func TestServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := start(t)
		node(c, "a")
		node(c, "excluded", func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} })
		node(c, "included", func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: "false"} })
		node(c, "leaving", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}
		})
		c.Settle()
		service(c, "web")
		service(c, "of-a-class", func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("example.com/other") })
		service(c, "internal", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
		c.Sleep(time.Minute)
		require.Equal(t, []string{"ensure default/web"}, f.Calls())
		require.Len(t, f.LoadBalancers(), 1)
		require.Equal(t, []string{"a", "included"}, f.LoadBalancers()[0].Nodes)

		node(c, "b")
		c.Sleep(time.Minute)
		require.Equal(t, []string{"set nodes default/web"}, f.Calls())
		require.Equal(t, []string{"a", "b", "included"}, f.LoadBalancers()[0].Nodes)
		controllertest.Update(c, "", "a", func(n *corev1.Node) { n.Labels = map[string]string{"example.com/rack": "1"} })
		c.Sleep(time.Minute)
		require.Empty(t, f.Calls(), "the nodes are the same")

		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })
		c.Sleep(time.Minute)
		require.Equal(t, []string{"ensure default/web"}, f.Calls())
		require.EqualValues(t, 81, f.LoadBalancers()[0].Ports[0].Port)

		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
		c.Sleep(time.Minute)
		require.Equal(t, []string{"delete default/web"}, f.Calls())
		web := controllertest.Get[*corev1.Service](c, "default", "web")
		require.Empty(t, web.Finalizers)
		require.Empty(t, web.Status.LoadBalancer.Ingress)

		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
		c.Sleep(time.Minute)
		controllertest.Delete[*corev1.Service](c, "default", "web")
		c.Sleep(time.Minute)
		require.Equal(t, []string{"ensure default/web", "delete default/web"}, f.Calls())
		require.Empty(t, f.LoadBalancers())
		require.False(t, controllertest.Exists[*corev1.Service](c, "default", "web"))
		require.Equal(t, []string{"DeletedLoadBalancer", "DeletingLoadBalancer", "EnsuredLoadBalancer", "EnsuringLoadBalancer", "UpdatedLoadBalancer"}, reasons(c))
	})
}

// later is an error that says when to try again.
type later struct{}

func (later) Error() string             { return "the cloud is busy" }
func (later) RetryAfter() time.Duration { return 10 * time.Minute }

// A failing cloud is named in an event and tried again, when it says so if it does. The load balancer of a
// Service whose finalizer was removed is deleted.
func TestServicesOfAFailingCloud(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := start(t)
		node(c, "a")
		fail := func(err error) {
			f.Fail(func(call string) error {
				if strings.HasPrefix(call, "ensure") {
					return err
				}
				return nil
			})
		}
		fail(later{})
		c.Settle()
		service(c, "web")
		c.Sleep(5 * time.Minute)
		require.Len(t, f.Calls(), 1)
		require.Equal(t, []string{"EnsuringLoadBalancer", "SyncLoadBalancerFailed"}, reasons(c))
		require.NotEmpty(t, controllertest.Get[*corev1.Service](c, "default", "web").Finalizers)
		fail(errors.New("no quota"))
		c.Sleep(6 * time.Minute)
		require.Greater(t, len(f.Calls()), 2)
		fail(cloud.ErrElsewhere)
		c.Sleep(time.Hour)
		f.Calls()
		require.Empty(t, controllertest.Get[*corev1.Service](c, "default", "web").Status.LoadBalancer.Ingress)
		c.Sleep(time.Hour)
		require.Empty(t, f.Calls(), "another controller does it")

		fail(nil)
		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Annotations = map[string]string{"a": "b"} })
		c.Sleep(time.Minute)
		require.Len(t, f.LoadBalancers(), 1)
		controllertest.Update(c, "default", "web", func(s *corev1.Service) { s.Finalizers = nil })
		controllertest.Delete[*corev1.Service](c, "default", "web")
		c.Sleep(time.Minute)
		require.Empty(t, f.LoadBalancers())
	})
}

// A process that ends at any of its writes leaves what the next one completes.
func TestServicesSurviveCrashes(t *testing.T) {
	for n, crashed := 0, true; crashed; n++ {
		for _, done := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				c, f := controllertest.Start(t, controllertest.Options{}), fakecloud.New(netip.MustParseAddr("192.0.2.0"))
				crash := c.Crash(controllertest.Requests{User: "system:serviceaccount:kube-system:service-controller"}, n, done)
				stop := c.Run(manage(c, f))
				node(c, "a")
				service(c, "web")
				service(c, "api")
				c.Sleep(time.Minute)
				controllertest.Delete[*corev1.Service](c, "default", "api")
				c.Sleep(time.Minute)
				stop()
				crash.Remove()
				c.Run(manage(c, f))
				c.Sleep(time.Minute)
				balancers := f.LoadBalancers()
				require.Len(t, balancers, 1, "write %d, done %t", n, done)
				require.Equal(t, "default/web", balancers[0].Service.String())
				web := controllertest.Get[*corev1.Service](c, "default", "web")
				require.Equal(t, balancers[0].Address.String(), web.Status.LoadBalancer.Ingress[0].IP)
				require.Equal(t, []string{cloud.ServiceFinalizer}, web.Finalizers)
				require.False(t, controllertest.Exists[*corev1.Service](c, "default", "api"))
				crashed = crash.Happened()
			})
		}
	}
}

// Routes lead to the ranges of nodes, and to nothing else in the cluster's range.
func TestRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := start(t)
		for _, r := range []cloud.Route{{Name: "old", Node: "gone", CIDR: "10.0.9.0/24"}, {Name: "hole", Node: "a", CIDR: "10.0.1.0/24", Blackhole: true}, {Name: "other", Node: "x", CIDR: "172.16.0.0/24"}} {
			f.AddRoute(r)
		}
		with := func(cidr string) func(*corev1.Node) { return func(n *corev1.Node) { n.Spec.PodCIDRs = []string{cidr} } }
		node(c, "a", with("10.0.1.0/24"))
		node(c, "none")
		c.Sleep(time.Minute)
		calls := f.Calls()
		require.ElementsMatch(t, []string{"delete route 10.0.9.0/24", "delete route 10.0.1.0/24", "create route 10.0.1.0/24"}, calls)
		routes, err := f.Routes().List(t.Context(), "")
		require.NoError(t, err)
		require.Len(t, routes, 2)
		status := func(name string) string {
			for _, cond := range controllertest.Get[*corev1.Node](c, "", name).Status.Conditions {
				if cond.Type == corev1.NodeNetworkUnavailable {
					return string(cond.Status) + " " + cond.Reason
				}
			}
			return ""
		}
		require.Equal(t, "False RouteCreated", status("a"))
		require.Equal(t, "True NoRouteCreated", status("none"))

		f.Fail(func(call string) error {
			if call == "create route 10.0.2.0/24" {
				return errors.New("the table is full")
			}
			return nil
		})
		b := node(c, "b", with("10.0.2.0/24"))
		c.Sleep(time.Minute)
		require.Equal(t, "True NoRouteCreated", status("b"))
		require.Contains(t, reasons(c), "FailedToCreateRoute")
		f.Fail(nil)
		c.Sleep(10 * time.Minute)
		require.Equal(t, "False RouteCreated", status("b"))
		controllertest.Delete[*corev1.Node](c, "", b.Name)
		c.Sleep(time.Minute)
		require.Contains(t, f.Calls(), "delete route 10.0.2.0/24")
	})
}

func TestRoutesNeedARange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		err := cloud.AddRoutes(c.Manager("x"), fakecloud.New(netip.Addr{}).Routes(), cloud.RouteOptions{})
		require.ErrorContains(t, err, "ClusterCIDRs is empty")
	})
}
