package kubelet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"net"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
)

const (
	// version is what the node reports as its kubelet's.
	version        = "v1.36.3-keelson"
	leaseNamespace = "kube-node-lease"
)

// What an external cloud provider removes when it has set the node up, and where it finds the address that
// was given.
const (
	taintCloud   = "node.cloudprovider.kubernetes.io/uninitialized"
	annotationIP = "alpha.kubernetes.io/provided-node-ip"
)

// annotationAttached lets the controller attach volumes to the node: it leaves nodes without it alone.
const annotationAttached = "volumes.kubernetes.io/controller-managed-attach-detach"

// declaredFeatures are what this kubelet can do that those of other versions cannot, sorted. The server
// admits changes of pods that need them.
var declaredFeatures = []string{"ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers",
	"RestartAllContainersOnContainerExits"}

// node keeps the Node object and its Lease.
type node struct {
	k      *Kubelet
	nodes  *client.Client[*corev1.Node]
	leases *client.Client[*coordinationv1.Lease]
	// runtimeVersion is set before run.
	runtimeVersion *cri.VersionResponse
	nudge          chan struct{} // capacity 1

	mu      sync.Mutex
	current *corev1.Node
	// expected are the addresses that the node is going to have, of expectedAt; used before it is registered.
	expected   []corev1.NodeAddress
	expectedAt time.Time

	written  time.Time
	wasReady bool
	// cordoned is true if no pods are scheduled to the node, as was said last. It is used by update alone.
	cordoned bool
	// ranges are the pods' ranges of addresses that the runtime has; set before run, then used by update
	// alone.
	ranges string
	// reset is true once the extended resources of others have been dealt with, see foreign.
	reset bool
	// registered is closed when current is set for the first time.
	registered chan struct{}
	start      nodeStart // used by update alone

	lease *coordinationv1.Lease // as written last; used by runLease alone
}

func newNode(k *Kubelet) *node {
	return &node{k: k, nodes: client.For[*corev1.Node](k.m.Conn()), leases: client.For[*coordinationv1.Lease](k.m.Conn()), nudge: make(chan struct{}, 1),
		registered: make(chan struct{})}
}

// runtimeName is the prefix of container ids, such as containerd.
func (n *node) runtimeName() string {
	if n.runtimeVersion == nil {
		return "cri"
	}
	return n.runtimeVersion.RuntimeName
}

// object is the Node as the server has it; nil before registration.
func (n *node) object() *corev1.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.current
}

// allocatable is what pods may use.
func (n *node) allocatable() corev1.ResourceList {
	out := corev1.ResourceList{}
	kept := n.k.evictor.kept()
	for name, q := range n.k.opts.Capacity {
		if r, ok := n.k.opts.Reserved[name]; ok {
			q = q.DeepCopy()
			q.Sub(r)
			if q.Sign() < 0 {
				q.Set(0)
			}
		}
		if least, ok := kept[name]; ok {
			q = q.DeepCopy()
			q.Sub(least)
			if q.Sign() < 0 {
				q.Set(0)
			}
		}
		out[name] = q
	}
	if memory, ok := out[corev1.ResourceMemory]; ok { // huge pages take of it whether they are used or not
		memory = memory.DeepCopy()
		for name, q := range n.k.opts.Capacity {
			if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
				memory.Sub(q)
			}
		}
		if memory.Sign() < 0 {
			memory.Set(0)
		}
		out[corev1.ResourceMemory] = memory
	}
	maps.Copy(out, n.foreign())
	_, healthy := n.k.devices.amounts()
	maps.Copy(out, healthy)
	return out
}

// foreign are the extended resources that others have put into the capacity of the Node, which all pods may
// use. If no device plugin has ever registered, the machine may be a new one of an old name: then there is
// nothing of them until they are put in again, as in k8s.io/kubernetes/pkg/kubelet/kubelet_node_status.go.
func (n *node) foreign() corev1.ResourceList {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := corev1.ResourceList{}
	if n.current == nil {
		return list
	}
	for name, q := range n.current.Status.Capacity {
		if corev1.IsExtendedResource(name) {
			list[name] = q
		}
	}
	return list
}

// capacity is what the machine has, with the devices of plugins.
func (n *node) capacity() corev1.ResourceList {
	all := n.foreign()
	maps.Copy(all, n.k.opts.Capacity)
	devices, _ := n.k.devices.amounts()
	maps.Copy(all, devices)
	return all
}

// waitRuntime waits until the runtime answers, for half a minute.
func (k *Kubelet) waitRuntime(ctx context.Context) (*cri.VersionResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		call, done := context.WithTimeout(ctx, 5*time.Second)
		v, err := k.rt.Version(call, &cri.VersionRequest{})
		done()
		if err == nil {
			return v, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (n *node) run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { n.runLease(ctx) })
	defer wg.Wait()
	failures := 0
	for ctx.Err() == nil {
		after := n.k.opts.NodeStatusInterval
		if err := n.update(ctx); err != nil && ctx.Err() == nil {
			failures++
			n.k.log.Warn("update node status failed", "err", err)
			after = min(200*time.Millisecond<<min(failures, 6), after)
		} else {
			failures = 0
		}
		if !n.ready() {
			after = min(after, time.Second) // the network may come up soon
		}
		select {
		case <-ctx.Done():
		case <-n.nudge:
		case <-time.After(after):
		}
	}
}

// poke makes the node's status be computed now.
func (n *node) poke() {
	select {
	case n.nudge <- struct{}{}:
	default:
	}
}

func (n *node) ready() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.wasReady
}

// nodeAttempts is how often in a row the node's status is written while others change the node.
const nodeAttempts = 5

// update registers the node if need be, and writes its status if it has changed or enough time has passed.
func (n *node) update(ctx context.Context) (err error) {
	for range nodeAttempts {
		if err = n.tryUpdate(ctx); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

func (n *node) tryUpdate(ctx context.Context) error {
	name := n.k.opts.NodeName
	if n.start.tried.IsZero() {
		n.start.tried = time.Now()
	}
	have, err := n.nodes.Get(ctx, types.NamespacedName{Name: name})
	if apierrors.IsNotFound(err) {
		if n.k.opts.NoRegister {
			return fmt.Errorf("node %q is not registered, and this kubelet may not do it", name)
		}
		if have, err = n.nodes.Create(ctx, n.initial(ctx)); apierrors.IsAlreadyExists(err) {
			have, err = n.nodes.Get(ctx, types.NamespacedName{Name: name})
		} else if err == nil {
			n.start.registered(&n.k.metrics.nodeMetrics, n.k.opts.Host.Started(), n.k.began)
		}
		if err == nil {
			n.k.recorder.About(n.about(), nil, events.Normal, "Starting", "Starting kubelet.")
			n.k.recorder.About(n.about(), nil, events.Normal, "RegisteredNode", fmt.Sprintf("Node %s event: Registered Node %s", name, name))
		}
	}
	if err != nil {
		return err
	}
	n.see(have)
	if n.cordoned != have.Spec.Unschedulable {
		n.cordoned = have.Spec.Unschedulable
		if n.cordoned {
			n.statusEvent("NodeNotSchedulable")
		} else {
			n.statusEvent("NodeSchedulable")
		}
	}
	if have, err = n.reconcileLabels(ctx, have); err != nil {
		return err
	}
	written := n.see(have)
	n.passRanges(ctx, strings.Join(have.Spec.PodCIDRs, ","))
	st := n.status(ctx, &have.Status)
	ready := condition(&st, corev1.NodeReady) == corev1.ConditionTrue
	if !n.changed(&have.Status, &st) && time.Since(written) < n.k.opts.NodeReportInterval {
		n.mu.Lock()
		n.wasReady, n.reset = ready, true
		n.mu.Unlock()
		return nil
	}
	next := codec.DeepCopy(have)
	next.Status = st
	updated, err := n.nodes.UpdateStatus(ctx, next)
	if err != nil {
		return err
	}
	if ready {
		n.start.ready(&n.k.metrics.nodeMetrics, n.k.opts.Host.Started())
	}
	n.announce(&have.Status, &st)
	n.mu.Lock()
	n.keep(updated)
	n.written, n.wasReady, n.reset = time.Now(), ready, true
	n.mu.Unlock()
	return nil
}

// passRanges passes the ranges of the pods' addresses to the runtime, some of which configure their network
// by them. It is done again until it works.
func (n *node) passRanges(ctx context.Context, ranges string) {
	if ranges == "" || ranges == n.ranges {
		return
	}
	_, err := n.k.rt.UpdateRuntimeConfig(ctx, &cri.UpdateRuntimeConfigRequest{
		RuntimeConfig: &cri.RuntimeConfig{NetworkConfig: &cri.NetworkConfig{PodCidr: ranges}}})
	if err != nil {
		n.k.log.Error("Error updating pod CIDR", "podCIDR", ranges, "err", err)
		return
	}
	n.ranges = ranges
}

// statusEvent says what the node's status is now.
func (n *node) statusEvent(what string) {
	n.k.recorder.About(n.about(), nil, events.Normal, what, fmt.Sprintf("Node %s status is now: %s", n.k.opts.NodeName, what))
}

// announce makes the events of what has changed in the node's status.
func (n *node) announce(before, after *corev1.NodeStatus) {
	was, is := condition(before, corev1.NodeReady), condition(after, corev1.NodeReady)
	switch {
	case was != is && is == corev1.ConditionTrue:
		n.statusEvent("NodeReady")
	case was != is && was == corev1.ConditionTrue:
		n.statusEvent("NodeNotReady")
	}
	for _, c := range []struct {
		of        corev1.NodeConditionType
		good, bad string
	}{
		{corev1.NodeMemoryPressure, "NodeHasSufficientMemory", "NodeHasInsufficientMemory"},
		{corev1.NodeDiskPressure, "NodeHasNoDiskPressure", "NodeHasDiskPressure"},
		{corev1.NodePIDPressure, "NodeHasSufficientPID", "NodeHasInsufficientPID"},
	} {
		switch is := condition(after, c.of); {
		case is == condition(before, c.of):
		case is == corev1.ConditionTrue:
			n.statusEvent(c.bad)
		default:
			n.statusEvent(c.good)
		}
	}
	if was, is := before.NodeInfo.BootID, after.NodeInfo.BootID; was != "" && was != is {
		n.k.recorder.About(n.about(), nil, events.Warning, "Rebooted", fmt.Sprintf("Node %s has been rebooted, boot id: %s", n.k.opts.NodeName, is))
	}
}

// see keeps the node as the server has it and returns when its status was written last.
func (n *node) see(have *corev1.Node) (written time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.current == nil {
		close(n.registered)
	}
	n.keep(have)
	if !n.reset && n.k.devices.unknown() {
		n.current = codec.DeepCopy(have)
		for name := range n.current.Status.Capacity {
			if corev1.IsExtendedResource(name) {
				n.current.Status.Capacity[name] = resource.NewQuantity(0, resource.DecimalSI)
			}
		}
	}
	return n.written
}

// keep sets current, under mu. The serving certificate is for the node's addresses.
func (n *node) keep(have *corev1.Node) {
	moved := n.current == nil || !slices.Equal(n.current.Status.Addresses, have.Status.Addresses)
	n.current = have
	if moved && n.k.serving != nil {
		n.k.serving.Check()
	}
}

// about refers to the node in events, by name, as the kubelet does.
func (n *node) about() corev1.ObjectReference {
	return corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: n.k.opts.NodeName, UID: types.UID(n.k.opts.NodeName)}
}

func (n *node) labels() map[string]string {
	l := map[string]string{
		"kubernetes.io/hostname": n.k.opts.NodeName, "kubernetes.io/os": goruntime.GOOS, "kubernetes.io/arch": goruntime.GOARCH,
		"beta.kubernetes.io/os": goruntime.GOOS, "beta.kubernetes.io/arch": goruntime.GOARCH,
	}
	for k, v := range n.k.opts.NodeLabels {
		l[k] = v
	}
	maps.Copy(l, n.k.csiNode.labels())
	return l
}

func (n *node) initial(ctx context.Context) *corev1.Node {
	obj := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.k.opts.NodeName, Labels: n.labels(), Annotations: map[string]string{annotationAttached: "true"}}}
	obj.Spec.Taints = n.k.opts.Taints
	if n.k.opts.ExternalCloud {
		obj.Spec.Taints = append(slices.Clip(obj.Spec.Taints), corev1.Taint{Key: taintCloud, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	}
	if c := n.k.opts.PodCIDR; c != "" {
		obj.Spec.PodCIDRs = strings.Split(c, ",")
		obj.Spec.PodCIDR = obj.Spec.PodCIDRs[0]
	}
	obj.Spec.ProviderID = n.k.opts.ProviderID
	obj.Status.Capacity, obj.Status.Allocatable = n.capacity(), n.allocatable()
	obj.Status.Addresses, _ = n.reported(ctx) // the status reports why there are none
	return obj
}

// reconcileLabels puts the kubelet's own labels and annotations back, and what drivers call the node.
func (n *node) reconcileLabels(ctx context.Context, have *corev1.Node) (*corev1.Node, error) {
	missing := false
	for k, v := range n.labels() {
		missing = missing || have.Labels[k] != v
	}
	annotations := map[string]string{annotationAttached: "true", annotationCSI: n.k.csiNode.annotate(have)}
	if n.k.validNodeIPs() == nil {
		annotations[annotationIP] = n.givenIPs()
	}
	for k, v := range annotations {
		missing = missing || have.Annotations[k] != v
	}
	if !missing {
		return have, nil
	}
	next := codec.DeepCopy(have)
	for k, v := range annotations {
		if v == "" {
			delete(next.Annotations, k)
			continue
		}
		if next.Annotations == nil {
			next.Annotations = map[string]string{}
		}
		next.Annotations[k] = v
	}
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	for k, v := range n.labels() {
		next.Labels[k] = v
	}
	return n.nodes.Update(ctx, next)
}

// changed compares statuses without heartbeats.
func (n *node) changed(a, b *corev1.NodeStatus) bool {
	strip := func(s *corev1.NodeStatus) *corev1.NodeStatus {
		c := codec.DeepCopy(s)
		for i := range c.Conditions {
			c.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
		return c
	}
	return !codec.Equal(strip(a), strip(b))
}

// givenIPs are the addresses that were given, as the external cloud provider reads them.
func (n *node) givenIPs() string {
	if !n.k.opts.ExternalCloud {
		return ""
	}
	var list []string
	for _, ip := range n.k.opts.givenIPs() {
		list = append(list, ip.String())
	}
	return strings.Join(list, ",")
}

// addresses are those of the node, which may have some already. Those that an external cloud provider has set
// stay.
func (n *node) addresses(ctx context.Context, have []corev1.NodeAddress) ([]corev1.NodeAddress, error) {
	if err := n.k.validNodeIPs(); err != nil {
		return nil, err
	}
	host := corev1.NodeAddress{Type: corev1.NodeHostName, Address: n.k.opts.NodeName}
	if n.k.opts.ExternalCloud {
		if len(have) > 0 {
			return have, nil
		}
		if len(n.k.opts.NodeIPs) == 0 {
			return []corev1.NodeAddress{host}, nil
		}
	}
	ips, err := n.k.nodeIPs(ctx)
	if err != nil {
		return nil, err
	}
	var list []corev1.NodeAddress
	for _, ip := range ips {
		list = append(list, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip.String()})
	}
	return append(list, host), nil
}

// reported are the addresses that the Node has. Before it is registered they are those that it is going to
// have.
func (n *node) reported(ctx context.Context) ([]corev1.NodeAddress, error) {
	n.mu.Lock()
	current, list, at := n.current, n.expected, n.expectedAt
	n.mu.Unlock()
	switch {
	case current != nil:
		return current.Status.Addresses, nil
	case list != nil && time.Since(at) < n.k.opts.NodeStatusInterval:
		return list, nil
	}
	list, err := n.addresses(ctx, nil)
	if err == nil {
		n.mu.Lock()
		n.expected, n.expectedAt = list, time.Now()
		n.mu.Unlock()
	}
	return list, err
}

func condition(s *corev1.NodeStatus, t corev1.NodeConditionType) corev1.ConditionStatus {
	for _, c := range s.Conditions {
		if c.Type == t {
			return c.Status
		}
	}
	return ""
}

// status computes the node's status on the base of what others may have put into it.
func (n *node) status(ctx context.Context, base *corev1.NodeStatus) corev1.NodeStatus {
	st := *codec.DeepCopy(base)
	st.Capacity, st.Allocatable = n.capacity(), n.allocatable()
	st.VolumesInUse = n.k.volumes.InUse()
	st.DeclaredFeatures = declaredFeatures
	if addresses, err := n.addresses(ctx, base.Addresses); err != nil {
		n.k.log.Error("Failed to set some node status fields", "node", n.k.opts.NodeName, "err", err)
	} else {
		st.Addresses = addresses
	}
	if l := n.k.opts.Listener; l != nil {
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			st.DaemonEndpoints.KubeletEndpoint.Port = int32(a.Port)
		}
	}
	info := systemInfo()
	info.KubeletVersion, info.OperatingSystem, info.Architecture = version, goruntime.GOOS, goruntime.GOARCH
	if v := n.runtimeVersion; v != nil {
		info.ContainerRuntimeVersion = v.RuntimeName + "://" + v.RuntimeVersion
	}
	st.NodeInfo = info
	if images := n.images(ctx); images != nil {
		st.Images = images
	}
	now := metav1.Now()
	set := func(t corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) {
		c := corev1.NodeCondition{Type: t, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now}
		for i := range st.Conditions {
			if st.Conditions[i].Type == t {
				if st.Conditions[i].Status == status {
					c.LastTransitionTime = st.Conditions[i].LastTransitionTime
				}
				st.Conditions[i] = c
				return
			}
		}
		st.Conditions = append(st.Conditions, c)
	}
	truth := func(b bool) corev1.ConditionStatus {
		if b {
			return corev1.ConditionTrue
		}
		return corev1.ConditionFalse
	}
	conditions := n.k.evictor.pressure()
	short := func(of corev1.NodeConditionType) bool { return slices.Contains(conditions, of) }
	reason := func(bad bool, yes, no string) string {
		if bad {
			return yes
		}
		return no
	}
	set(corev1.NodeMemoryPressure, truth(short(corev1.NodeMemoryPressure)), reason(short(corev1.NodeMemoryPressure), "KubeletHasInsufficientMemory", "KubeletHasSufficientMemory"),
		reason(short(corev1.NodeMemoryPressure), "kubelet has insufficient memory available", "kubelet has sufficient memory available"))
	set(corev1.NodeDiskPressure, truth(short(corev1.NodeDiskPressure)), reason(short(corev1.NodeDiskPressure), "KubeletHasDiskPressure", "KubeletHasNoDiskPressure"),
		reason(short(corev1.NodeDiskPressure), "kubelet has disk pressure", "kubelet has no disk pressure"))
	set(corev1.NodePIDPressure, truth(short(corev1.NodePIDPressure)), reason(short(corev1.NodePIDPressure), "KubeletHasInsufficientPID", "KubeletHasSufficientPID"),
		reason(short(corev1.NodePIDPressure), "kubelet has insufficient PID available", "kubelet has sufficient PID available"))
	why := n.notReady(ctx)
	n.k.features.report(&st)
	if why != "" {
		set(corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady", why)
	} else {
		message := "kubelet is posting ready status"
		if appArmorEnabled() {
			message += ". AppArmor enabled"
		}
		set(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", message)
	}
	return st
}

// notReady returns what prevents the node from running pods; empty if nothing does.
func (n *node) notReady(ctx context.Context) string {
	why := n.runtimeNotReady(ctx)
	switch {
	case !n.k.shutdown.begun():
		return why
	case why == "":
		return shuttingDown
	}
	return "[" + why + ", " + shuttingDown + "]"
}

// runtimeNotReady returns what prevents the runtime from running pods; empty if nothing does.
func (n *node) runtimeNotReady(ctx context.Context) string {
	st, err := n.k.features.status(ctx)
	if err != nil {
		return "[container runtime is down: " + err.Error() + "]"
	}
	for _, of := range []string{cri.RuntimeReady, cri.NetworkReady} {
		if why := failing(st, of); why != "" {
			return why
		}
	}
	if last, err := n.k.pleg.healthy(); !last.IsZero() && time.Since(last) > n.k.pleg.patience() {
		return fmt.Sprintf("PLEG is not healthy: pleg was last seen active %v ago; threshold is %v: %v", time.Since(last).Round(time.Second), n.k.pleg.patience(), err)
	}
	return ""
}

// failing is why a condition of the runtime is false; empty if it is not.
func failing(st *cri.StatusResponse, of string) string {
	what := map[string]string{cri.RuntimeReady: "container runtime not ready", cri.NetworkReady: "container runtime network not ready"}[of]
	for _, c := range st.GetStatus().GetConditions() {
		if c.Type == of && !c.Status {
			return fmt.Sprintf("%s: %s=false reason:%s message:%s", what, c.Type, c.Reason, c.Message)
		}
	}
	return ""
}

// networkReady returns an error if the runtime's network, which the pod needs, is not ready.
func (k *Kubelet) networkReady(ctx context.Context, pod *corev1.Pod) error {
	if pod.Spec.HostNetwork || failing(k.features.latest(), cri.NetworkReady) == "" {
		return nil
	}
	st, err := k.features.status(ctx) // it may be by now
	if err != nil {
		return err
	}
	why := failing(st, cri.NetworkReady)
	if why == "" {
		return nil
	}
	k.recorder.Event(pod, events.Warning, "NetworkNotReady", "network is not ready: "+why)
	return errors.New("network is not ready: " + why)
}

func (n *node) images(ctx context.Context) []corev1.ContainerImage {
	call, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	list, err := n.k.rt.images.ListImages(call, &cri.ListImagesRequest{})
	if err != nil {
		return nil
	}
	return nodeImages(list.Images, n.k.opts.MaxImages)
}

// runLease renews the node's lease from the time the node is registered.
func (n *node) runLease(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-n.registered:
	}
	for ctx.Err() == nil {
		after := n.k.opts.LeaseDuration / 4
		if err := n.renew(ctx); err != nil && ctx.Err() == nil {
			n.k.log.Warn("renew node lease failed", "err", err)
			after = min(after, 500*time.Millisecond)
		}
		select {
		case <-ctx.Done():
		case <-time.After(after):
		}
	}
}

// renew writes the lease as it was written before, in one request. It reads it only if another has changed
// it.
func (n *node) renew(ctx context.Context) error {
	name, seconds, now := n.k.opts.NodeName, int32(n.k.opts.LeaseDuration/time.Second), metav1.NowMicro()
	key := types.NamespacedName{Namespace: leaseNamespace, Name: name}
	for range 5 {
		lease, missing := n.lease, false
		n.lease = nil // until this one is written
		if lease == nil {
			var err error
			lease, err = n.leases.Get(ctx, key)
			if missing = apierrors.IsNotFound(err); missing {
				lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: leaseNamespace, Name: name}}
			} else if err != nil {
				return err
			}
		}
		lease.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: n.object().UID}}
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &name, &seconds, &now
		var err error
		if missing {
			lease, err = n.leases.Create(ctx, lease)
		} else {
			lease, err = n.leases.Update(ctx, lease)
		}
		if err == nil {
			n.lease = lease
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return errors.New("the node's lease keeps changing")
}
