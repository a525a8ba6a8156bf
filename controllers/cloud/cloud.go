// Package cloud has the controllers that connect a cluster to the cloud in which its nodes run, those of
// upstream's cloud-controller-manager, and what a cloud has to implement for them:
//
//   - [AddServices] keeps a load balancer for each Service of the type LoadBalancer without a class;
//   - [AddNodes] initializes nodes with the taint [UninitializedTaint]: their provider ID, labels and
//     addresses, and keeps the addresses;
//   - [AddNodeLifecycle] deletes nodes whose instances are gone, and taints those that are shut down;
//   - [AddRoutes] keeps a route to the pods of each node.
//
// Package fakecloud implements a cloud in memory, for tests.
package cloud

import (
	"context"
	"errors"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// LoadBalancers are those of a cloud. Methods are called concurrently, but not for one Service. The cluster
// is the name in the Options; the objects must not be changed or kept.
type LoadBalancers interface {
	// Ensure makes the load balancer of a Service, or changes it to what the Service and the nodes are now,
	// and returns how it is reached. It may be called again with the same state. An error that implements
	// RetryAfter() time.Duration is tried again then, and [ErrElsewhere] not at all.
	Ensure(ctx context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) (corev1.LoadBalancerStatus, error)
	// SetNodes changes the nodes of a load balancer whose Service has not changed.
	SetNodes(ctx context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) error
	// Delete deletes the load balancer of a Service; it returns nil if there is none.
	Delete(ctx context.Context, cluster string, s *corev1.Service) error
}

// ErrElsewhere is returned by load balancers that another controller manages.
var ErrElsewhere = errors.New("cloud: managed by another controller")

// Instances are the machines of a cloud.
type Instances interface {
	// Instance returns the machine of a node, found by its provider ID if it has one, else by its name. It
	// returns [ErrNoInstance] if there is none, and nil if the node is not one of this cloud.
	Instance(ctx context.Context, n *corev1.Node) (*Instance, error)
}

// ErrNoInstance is returned for a node whose machine does not exist any more.
var ErrNoInstance = errors.New("cloud: the instance does not exist")

// Instance is a machine.
type Instance struct {
	// ProviderID identifies it, as in spec.providerID of a node: CLOUD://ID.
	ProviderID string
	// Type, Zone and Region become labels of the node; empty ones do not.
	Type, Zone, Region string
	// Addresses of the machine. Without a Hostname the node keeps that of its kubelet.
	Addresses []corev1.NodeAddress
	// Labels of the node; those with the domain kubernetes.io or k8s.io, and those that it has, are left out.
	Labels map[string]string
	// Shutdown is true if the machine exists and does not run.
	Shutdown bool
}

// Routes are the routes between the nodes of a cluster. Methods are called one at a time.
type Routes interface {
	// List returns the routes of a cluster.
	List(ctx context.Context, cluster string) ([]Route, error)
	// Create makes a route, Delete removes one that List has returned.
	Create(ctx context.Context, cluster string, r Route) error
	Delete(ctx context.Context, cluster string, r Route) error
}

// Route leads packets for the pods of a node to it.
type Route struct {
	// Name is chosen by the cloud; empty in calls of Create.
	Name string
	// Node is the name of the node, Addresses are its addresses; clouds that need none leave them out.
	Node      string
	Addresses []corev1.NodeAddress
	// CIDR is the range of the pods.
	CIDR string
	// Blackhole is true if the target does not exist any more.
	Blackhole bool
}

// retryAfter returns after which time an error is to be tried again, if it says so.
func retryAfter(err error) (time.Duration, bool) {
	if e, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); ok {
		return e.RetryAfter(), true
	}
	return 0, false
}
