// Package fakecloud implements a cloud in memory: load balancers, instances and routes, for tests of what
// runs on top of package cloud. It works in testing/synctest bubbles.
package fakecloud

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/cloud"
)

// Cloud is a cloud without machines. It is safe for concurrent use.
type Cloud struct {
	mu        sync.Mutex
	next      netip.Addr
	balancers map[types.UID]*LoadBalancer
	instances map[string]*cloud.Instance
	routes    []cloud.Route
	calls     []string
	fail      func(call string) error
}

// LoadBalancer is one that a Service has.
type LoadBalancer struct {
	Service types.NamespacedName
	Address netip.Addr
	Ports   []corev1.ServicePort
	Nodes   []string // names, in order
}

// New returns an empty cloud. Its load balancers have the addresses after first, such as 192.0.2.0.
func New(first netip.Addr) *Cloud {
	return &Cloud{next: first, balancers: map[types.UID]*LoadBalancer{}, instances: map[string]*cloud.Instance{}}
}

// Fail makes f decide which calls fail: each is text such as "ensure default/web", "set nodes default/web",
// "delete default/web", "instance node-1", "list routes", "create route 10.0.1.0/24" or "delete route
// 10.0.1.0/24". Nil lets all succeed.
func (c *Cloud) Fail(f func(call string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = f
}

// Calls returns the calls so far that have changed something or were to, as text, and forgets them.
func (c *Cloud) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

// call records a call and returns why it fails. The lock is held.
func (c *Cloud) call(changes bool, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if changes {
		c.calls = append(c.calls, text)
	}
	if c.fail != nil {
		return c.fail(text)
	}
	return nil
}

// LoadBalancers returns those there are, by the names of their Services.
func (c *Cloud) LoadBalancers() []LoadBalancer {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []LoadBalancer
	for _, b := range c.balancers {
		out = append(out, *b)
	}
	slices.SortFunc(out, func(a, b LoadBalancer) int { return cmp.Compare(a.Service.String(), b.Service.String()) })
	return out
}

// SetInstance makes the instance of a node, or changes it; nil deletes it.
func (c *Cloud) SetInstance(node string, i *cloud.Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i == nil {
		delete(c.instances, node)
		return
	}
	instance := *i
	c.instances[node] = &instance
}

// AddRoute adds a route as if it had been there before.
func (c *Cloud) AddRoute(r cloud.Route) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.routes = append(c.routes, r)
}

// Instance implements cloud.Instances. Nodes whose provider ID is not one of the instances have none.
func (c *Cloud) Instance(_ context.Context, n *corev1.Node) (*cloud.Instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.call(false, "instance %s", n.Name); err != nil {
		return nil, err
	}
	i := c.instances[n.Name]
	if i == nil || n.Spec.ProviderID != "" && n.Spec.ProviderID != i.ProviderID {
		return nil, cloud.ErrNoInstance
	}
	instance := *i
	instance.Addresses, instance.Labels = slices.Clone(i.Addresses), maps.Clone(i.Labels)
	return &instance, nil
}

// Balancers returns the cloud's load balancers.
func (c *Cloud) Balancers() cloud.LoadBalancers { return balancers{c} }

// Routes returns the cloud's routes.
func (c *Cloud) Routes() cloud.Routes { return routes{c} }

type balancers struct{ c *Cloud }

// Ensure implements cloud.LoadBalancers.
func (b balancers) Ensure(_ context.Context, _ string, s *corev1.Service, nodes []*corev1.Node) (corev1.LoadBalancerStatus, error) {
	c := b.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.call(true, "ensure %s", s.Key()); err != nil {
		return corev1.LoadBalancerStatus{}, err
	}
	lb := c.balancers[s.UID]
	if lb == nil {
		c.next = c.next.Next()
		lb = &LoadBalancer{Service: s.Key(), Address: c.next}
		c.balancers[s.UID] = lb
	}
	lb.Ports, lb.Nodes = slices.Clone(s.Spec.Ports), names(nodes)
	return corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: lb.Address.String(), IPMode: new(corev1.LoadBalancerIPModeVIP)}}}, nil
}

// SetNodes implements cloud.LoadBalancers.
func (b balancers) SetNodes(_ context.Context, _ string, s *corev1.Service, nodes []*corev1.Node) error {
	c := b.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.call(true, "set nodes %s", s.Key()); err != nil {
		return err
	}
	lb := c.balancers[s.UID]
	if lb == nil {
		return fmt.Errorf("fakecloud: %s has no load balancer", s.Key())
	}
	lb.Nodes = names(nodes)
	return nil
}

// Delete implements cloud.LoadBalancers.
func (b balancers) Delete(_ context.Context, _ string, s *corev1.Service) error {
	c := b.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.call(true, "delete %s", s.Key()); err != nil {
		return err
	}
	delete(c.balancers, s.UID)
	return nil
}

func names(nodes []*corev1.Node) []string {
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	slices.Sort(out)
	return out
}

type routes struct{ c *Cloud }

// List implements cloud.Routes.
func (r routes) List(context.Context, string) ([]cloud.Route, error) {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.call(false, "list routes"); err != nil {
		return nil, err
	}
	return slices.Clone(c.routes), nil
}

// Create implements cloud.Routes.
func (r routes) Create(_ context.Context, cluster string, route cloud.Route) error {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.call(true, "create route %s", route.CIDR); err != nil {
		return err
	}
	route.Name = cluster + "-" + route.CIDR
	c.routes = append(c.routes, route)
	return nil
}

// Delete implements cloud.Routes.
func (r routes) Delete(_ context.Context, _ string, route cloud.Route) error {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.call(true, "delete route %s", route.CIDR); err != nil {
		return err
	}
	c.routes = slices.DeleteFunc(c.routes, func(have cloud.Route) bool { return have.Name == route.Name && have.CIDR == route.CIDR })
	return nil
}
