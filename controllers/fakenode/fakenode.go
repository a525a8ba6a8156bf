// Package fakenode simulates any number of nodes and their kubelets in one process, without containers. A
// fake node registers itself, reports Ready and renews its Lease. A pod bound to it gets an address, starts
// its init containers in order, becomes Ready, terminates if its restart policy allows it, and is deleted
// after its grace period. It uses only the API and package time, so it works in real clusters and in
// testing/synctest bubbles.
//
// The behavior of a pod depends only on its spec, annotations (see the constants) and stored status, so
// restarting the process loses nothing.
package fakenode

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Label marks fake nodes; its value is "true".
const Label = "keelson.dev/fake"

// managedVolumes says that a controller attaches the volumes of the node, as kubelets do by default.
const managedVolumes = "volumes.kubernetes.io/controller-managed-attach-detach"

// The kubelet's lease timing: a lease of 40 s renewed every quarter of it.
const (
	leaseDuration = 40 * time.Second
	leaseRenewal  = leaseDuration / 4
)

// Options of the simulation. The zero value simulates one node named node-0.
type Options struct {
	// Count is the number of nodes; 0 means 1. At most 65,536.
	Count int
	// Prefix of the node names, followed by the index; empty means "node-".
	Prefix string
	// Capacity of each node; nil means 32 CPUs, 256Gi of memory, 1Ti of ephemeral storage and 110 pods.
	Capacity corev1.ResourceList
	// PodCIDR is divided into one /24 per node; the zero value means 10.244.0.0/16, growing to 10.0.0.0/8's
	// upper half when Count needs it.
	PodCIDR netip.Prefix
	// Address is what nodes report as InternalIP; empty means 127.0.0.1.
	Address string
	// Port is where the nodes' kubelet API (logs, exec) listens, see [Server]; 0 means none.
	Port int32
	// Labels are added to every node.
	Labels map[string]string
}

type fakes struct {
	opts  Options
	nodes *client.Client[*corev1.Node]
	lease *client.Client[*coordinationv1.Lease]
	pods  *client.Client[*corev1.Pod]
	list  informers.Lister[*corev1.Pod]
	known informers.Lister[*corev1.Node]
	addrs addresses

	mu     sync.Mutex
	leases map[string]*coordinationv1.Lease // as written last, by node
}

// Add adds the simulation to m. It needs permission to write nodes, their leases and pod status.
func Add(m *manager.Manager, opts Options) error {
	opts.Count = max(opts.Count, 1)
	if opts.Count > 1<<16 {
		return fmt.Errorf("fakenode: %d nodes, at most %d", opts.Count, 1<<16)
	}
	if opts.Prefix == "" {
		opts.Prefix = "node-"
	}
	if opts.Address == "" {
		opts.Address = "127.0.0.1"
	}
	if opts.Capacity == nil {
		opts.Capacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi"),
			corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("110"),
		}
	}
	if !opts.PodCIDR.IsValid() {
		opts.PodCIDR = netip.MustParsePrefix("10.244.0.0/16")
		if opts.Count > 256 {
			opts.PodCIDR = netip.MustParsePrefix("10.128.0.0/9")
		}
	}
	f := &fakes{opts: opts,
		nodes: client.For[*corev1.Node](m.Conn()), lease: client.For[*coordinationv1.Lease](m.Conn()), pods: client.For[*corev1.Pod](m.Conn()),
		leases: map[string]*coordinationv1.Lease{},
	}
	if err := f.addrs.init(opts.PodCIDR, opts.Count); err != nil {
		return err
	}
	podInformer := informers.For[*corev1.Pod](m.Informers())
	f.list, f.known = podInformer.Lister(), informers.For[*corev1.Node](m.Informers()).Lister()
	index := make(map[string]int, opts.Count)
	for i := range opts.Count {
		index[f.name(i)] = i
	}
	mine := func(e informers.Event[*corev1.Pod]) bool {
		pod := e.New()
		if e.Type == informers.Deleted {
			pod = e.Old()
		}
		_, ok := index[pod.Spec.NodeName]
		return ok
	}
	_, err := controllers.Add(m, "fake-pods", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		return f.reconcilePod(ctx, req, index)
	}), controllers.Options{Options: controller.Options{Concurrency: 8}}, controllers.For(mine))
	if err != nil {
		return err
	}
	keep, err := controllers.Add(m, "fake-nodes", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		return f.reconcileNode(ctx, req.Name, index)
	}), controllers.Options{Options: controller.Options{Concurrency: 8}}, controllers.For(func(e informers.Event[*corev1.Node]) bool {
		_, ok := index[e.Key.Name]
		return ok && e.Type == informers.Deleted
	}))
	if err != nil {
		return err
	}
	for name := range index {
		keep.Enqueue(reconcile.Request{Name: name})
	}
	return nil
}

func (f *fakes) name(i int) string { return fmt.Sprintf("%s%d", f.opts.Prefix, i) }

// reconcileNode registers the node if it is missing, and renews its lease: of a node that is known and ready
// by one request, because nothing else writes the lease.
func (f *fakes) reconcileNode(ctx context.Context, name string, index map[string]int) (reconcile.Result, error) {
	again := reconcile.Result{RequeueAfter: leaseRenewal}
	node, err := f.known.Get(types.NamespacedName{Name: name})
	if err != nil && !apierrors.IsNotFound(err) {
		return again, err
	}
	// A node that was marked unreachable while it was not simulated becomes ready again.
	if err != nil || !reportsReady(node) {
		if node, err = f.register(ctx, name, index[name]); err != nil {
			return again, err
		}
	}
	f.mu.Lock()
	lease := f.leases[name]
	f.mu.Unlock()
	lease, err = f.renew(ctx, node, lease)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leases[name] = lease
	return again, err
}

// renew writes the lease of a node and returns it. Without the lease as it was written last, and if it has
// changed since, it is read first.
func (f *fakes) renew(ctx context.Context, node *corev1.Node, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	key := types.NamespacedName{Namespace: corev1.NamespaceNodeLease, Name: node.Name}
	for range 2 {
		var err error
		if lease == nil {
			lease, err = f.lease.Get(ctx, key)
		}
		if apierrors.IsNotFound(err) {
			lease = &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}},
				Spec: coordinationv1.LeaseSpec{HolderIdentity: &node.Name, LeaseDurationSeconds: new(int32(leaseDuration / time.Second)), RenewTime: new(metav1.NowMicro())},
			}
			return f.lease.Create(ctx, lease)
		}
		if err != nil {
			return nil, err
		}
		lease.Spec.RenewTime, lease.Spec.HolderIdentity = new(metav1.NowMicro()), &node.Name
		written, err := f.lease.Update(ctx, lease)
		if err == nil {
			return written, nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return nil, err
		}
		lease = nil
	}
	return nil, nil // it changes all the time: at the next renewal
}

func reportsReady(n *corev1.Node) bool {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// register creates the node, or brings the status of an existing one up to date.
func (f *fakes) register(ctx context.Context, name string, i int) (*corev1.Node, error) {
	labels := map[string]string{
		Label: "true", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
	}
	for k, v := range f.opts.Labels {
		labels[k] = v
	}
	cidr := f.addrs.node(i).String()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{managedVolumes: "true"}},
		Spec:       corev1.NodeSpec{PodCIDR: cidr, PodCIDRs: []string{cidr}, ProviderID: "fake://" + name},
	}
	node, err := f.nodes.Create(ctx, node)
	if apierrors.IsAlreadyExists(err) {
		node, err = f.nodes.Get(ctx, types.NamespacedName{Name: name})
	}
	if err != nil {
		return nil, err
	}
	node.Status = f.nodeStatus(name)
	return f.nodes.UpdateStatus(ctx, node)
}

func (f *fakes) nodeStatus(name string) corev1.NodeStatus {
	now := metav1.Now()
	condition := func(t corev1.NodeConditionType, s corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: t, Status: s, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	return corev1.NodeStatus{
		Capacity: f.opts.Capacity, Allocatable: f.opts.Capacity, Phase: corev1.NodeRunning,
		Conditions: []corev1.NodeCondition{
			condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "fake node has sufficient memory"),
			condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "fake node has no disk pressure"),
			condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "fake node has sufficient PIDs"),
			condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "fake node is ready"),
		},
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: f.opts.Address}, {Type: corev1.NodeHostName, Address: name},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: f.opts.Port}},
		NodeInfo: corev1.NodeSystemInfo{
			KubeletVersion: "v1.36.3-fake", OSImage: "fake", OperatingSystem: "linux", Architecture: "amd64",
			KernelVersion: "fake", ContainerRuntimeVersion: "fake://1.0",
		},
	}
}

// reconcilePod updates one pod's status to the current time and removes a terminating pod that has ended.
func (f *fakes) reconcilePod(ctx context.Context, req reconcile.Request, index map[string]int) (reconcile.Result, error) {
	pod, err := f.list.Get(req)
	if apierrors.IsNotFound(err) {
		f.addrs.release(req)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	node, mine := index[pod.Spec.NodeName]
	if !mine {
		return reconcile.Result{}, nil
	}
	ip := f.opts.Address
	if !pod.Spec.HostNetwork {
		if ip, err = f.addrs.assign(req, node, pod.Status.PodIP); err != nil {
			return reconcile.Result{RequeueAfter: 5 * time.Second}, err
		}
	}
	status, after, gone := advance(pod, time.Now(), f.opts.Address, ip)
	if !codec.Equal(&status, &pod.Status) {
		pod.Status = status
		if pod, err = f.pods.UpdateStatus(ctx, pod); err != nil {
			if apierrors.IsNotFound(err) {
				return reconcile.Result{}, nil
			}
			return reconcile.Result{}, err
		}
	}
	if gone {
		err := f.pods.Delete(ctx, req, client.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: after}, nil
}
