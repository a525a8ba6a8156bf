package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// made are the objects that a run created outside namespaces, and the namespaces.
type made struct {
	mu      sync.Mutex
	objects []madeObject
}

type madeObject struct {
	resource schema.GroupVersionResource
	name     string
}

func newMade() *made { return &made{} }

func (m *made) add(r schema.GroupVersionResource, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects = append(m.objects, madeObject{r, name})
}

var (
	namespacesResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	podsResource       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// delete deletes them, the last one first, and the pods of the namespaces without grace.
func (m *made) delete(ctx context.Context, conns []client.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	now := int64(0)
	var errs []error
	for _, o := range m.objects {
		if o.resource == namespacesResource {
			errs = append(errs, dynamic.For(conns[0], podsResource).DeleteCollection(ctx, client.ListOptions{Namespace: o.name}, client.DeleteOptions{GracePeriodSeconds: &now}))
		}
	}
	last := len(m.objects) - 1
	errs = append(errs, each(ctx, conns, len(m.objects), func(ctx context.Context, conn client.Conn, i int) error {
		o := m.objects[last-i]
		err := dynamic.For(conn, o.resource).Delete(ctx, types.NamespacedName{Name: o.name})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}))
	return errors.Join(errs...)
}

// each calls do for the numbers below n, many at a time, and returns the first error.
func each(ctx context.Context, conns []client.Conn, n int, do func(ctx context.Context, conn client.Conn, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	for w := range min(inFlight, n) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := do(ctx, conns[w%len(conns)], i); err != nil {
					stop(err)
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// namespace creates a namespace that does not exist.
func (r *run) namespace(ctx context.Context, name string) error {
	return r.createNamespace(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func (r *run) createNamespace(ctx context.Context, ns *corev1.Namespace) error {
	if r.namespaces[ns.Name] {
		return nil
	}
	if _, err := client.For[*corev1.Namespace](r.Conns[0]).Create(ctx, ns); apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("namespace %s exists already: a workload needs a cluster of its own", ns.Name)
	} else if err != nil {
		return fmt.Errorf("namespace %s: %w", ns.Name, err)
	}
	r.namespaces[ns.Name] = true
	r.made.add(namespacesResource, ns.Name)
	if _, ok := r.awaited[ns.Name]; !ok {
		r.awaited[ns.Name] = 0
	}
	return nil
}

func (r *run) createNamespaces(ctx context.Context, s *step) error {
	for i := range deref(s.Count, 0) {
		ns := &corev1.Namespace{}
		if s.object != nil {
			if err := s.object.decode(ns, i, *s.Count); err != nil {
				return err
			}
		}
		ns.Name = fmt.Sprintf("%s-%d", s.Prefix, i)
		if err := r.createNamespace(ctx, ns); err != nil {
			return err
		}
	}
	return nil
}

// createNodes creates nodes with the label kubernetes.io/hostname.
func (r *run) createNodes(ctx context.Context, prefix string, s *step) error {
	count := deref(s.Count, 0)
	return each(ctx, r.Conns, count, func(ctx context.Context, conn client.Conn, i int) error {
		node := usualNode(prefix)
		if s.object != nil {
			node = &corev1.Node{}
			if err := s.object.decode(node, i, count); err != nil {
				return err
			}
		}
		if node.Name == "" {
			node.Name = fmt.Sprintf("%s%05d", node.GenerateName, i)
		}
		if node.Labels == nil {
			node.Labels = map[string]string{}
		}
		node.Labels[corev1.LabelHostname] = node.Name
		switch {
		case s.NodeAllocatable != nil:
			s.NodeAllocatable.apply(node)
		case s.NodeLabels != nil:
			node.Labels[s.NodeLabels.LabelKey] = s.NodeLabels.LabelValues[i%len(s.NodeLabels.LabelValues)]
		case s.UniqueNodeLabel != nil:
			node.Labels[s.UniqueNodeLabel.LabelKey] = node.Name
		}
		if _, err := client.For[*corev1.Node](conn).Create(ctx, node); err != nil {
			return fmt.Errorf("node %s: %w", node.Name, err)
		}
		r.made.add(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, node.Name)
		if s.NodeAllocatable == nil {
			return nil
		}
		csi := s.NodeAllocatable.csiNode(node.Name)
		if _, err := client.For[*storagev1.CSINode](conn).Create(ctx, csi); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("CSI node %s: %w", node.Name, err)
		}
		r.made.add(schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "csinodes"}, node.Name)
		return nil
	})
}

// usualNode is the node of operations that name no template.
func usualNode(prefix string) *corev1.Node {
	has := corev1.ResourceList{
		corev1.ResourcePods:   resource.MustParse("110"),
		corev1.ResourceCPU:    resource.MustParse("4"),
		corev1.ResourceMemory: resource.MustParse("32Gi"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{GenerateName: prefix},
		Status: corev1.NodeStatus{
			Capacity: has, Allocatable: has, Phase: corev1.NodeRunning,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

func (a *allocatable) apply(node *corev1.Node) {
	if node.Status.Allocatable == nil {
		node.Status.Allocatable = node.Status.Capacity
	}
	has := corev1.ResourceList{}
	for name, q := range node.Status.Allocatable {
		has[name] = q
	}
	for name, q := range a.NodeAllocatable {
		has[corev1.ResourceName(name)] = resource.MustParse(q) // the plan has parsed it
	}
	node.Status.Allocatable = has
}

// csiNode has the limits of the drivers.
func (a *allocatable) csiNode(name string) *storagev1.CSINode {
	csi := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if len(a.MigratedPlugins) > 0 {
		csi.Annotations = map[string]string{"storage.alpha.kubernetes.io/migrated-plugins": strings.Join(a.MigratedPlugins, ",")}
	}
	for driver, size := range a.CSINodeAllocatable {
		csi.Spec.Drivers = append(csi.Spec.Drivers, storagev1.CSINodeDriver{Name: driver, NodeID: name, Allocatable: &storagev1.VolumeNodeResources{Count: size.Count}})
	}
	return csi
}

// createClaims creates claims of devices.
func (r *run) createClaims(ctx context.Context, s *step) error {
	count := deref(s.Count, 0)
	return each(ctx, r.Conns, count, func(ctx context.Context, conn client.Conn, i int) error {
		claim := &resourcev1.ResourceClaim{}
		if err := s.object.decode(claim, i, count); err != nil {
			return err
		}
		claim.Namespace = s.Namespace
		_, err := client.For[*resourcev1.ResourceClaim](conn).Create(ctx, claim)
		return err
	})
}

// allocateClaims gives devices to the claims that have none, of one namespace or of all, each on a node by
// chance. No pod uses them.
func (r *run) allocateClaims(ctx context.Context, s *step) error {
	state, err := scheduler.Load(ctx, r.Conns[0])
	if err != nil {
		return err
	}
	var nodes []string
	for node, err := range client.For[*corev1.Node](r.Conns[0]).All(ctx, client.ListOptions{}) {
		if err != nil {
			return err
		}
		nodes = append(nodes, node.Name)
	}
	// Each run makes the same choices.
	claims, random := client.For[*resourcev1.ResourceClaim](r.Conns[0]), rand.New(rand.NewPCG(1, 2))
	for claim, err := range claims.All(ctx, client.ListOptions{Namespace: s.Namespace}) {
		if err != nil {
			return err
		}
		if claim.Status.Allocation != nil {
			continue
		}
		random.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		if claim.Status.Allocation, err = allocationOn(state, nodes, claim); err != nil {
			return err
		}
		if claim, err = claims.UpdateStatus(ctx, claim); err != nil {
			return err
		}
		state.SetObject(claim)
	}
	return nil
}

// allocationOn is what a claim gets on the first of the nodes where it can have devices.
func allocationOn(state *scheduler.Cluster, nodes []string, claim *resourcev1.ResourceClaim) (*resourcev1.AllocationResult, error) {
	for _, node := range nodes {
		got, err := state.Allocate(node, claim)
		if err != nil {
			return nil, err
		}
		if got != nil {
			return got[0], nil
		}
	}
	return nil, fmt.Errorf("claim %s: no node has the devices", claim.Key())
}

// createDriver publishes devices for the nodes whose names match.
func (r *run) createDriver(ctx context.Context, s *step) error {
	for node, err := range client.For[*corev1.Node](r.Conns[0]).All(ctx, client.ListOptions{}) {
		if err != nil {
			return err
		}
		match, err := path.Match(s.Nodes, node.Name)
		if err != nil {
			return fmt.Errorf("nodes %q: %w", s.Nodes, err)
		}
		if !match {
			continue
		}
		slice := deviceSlice(s.DriverName, node.Name, s.MaxClaimsPerNode)
		if _, err := client.For[*resourcev1.ResourceSlice](r.Conns[0]).Create(ctx, slice); err != nil {
			return fmt.Errorf("devices of node %s: %w", node.Name, err)
		}
		r.made.add(schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"}, slice.Name)
	}
	return nil
}

// deviceSlice has the devices that the templates of the benchmark select.
func deviceSlice(driver, node string, devices int) *resourcev1.ResourceSlice {
	text := func(s string) resourcev1.DeviceAttribute { return resourcev1.DeviceAttribute{StringValue: &s} }
	slice := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, NodeName: &node,
			Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1},
		},
	}
	version := "1.2.3"
	for i := range int64(devices) {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
			Name: fmt.Sprintf("instance-%d", i),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
				"model": text("A100"), "family": text("GPU"), "driverVersion": {VersionValue: &version}, "dra.example.com/numa": {IntValue: &i},
			},
			Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("1Gi")}},
		})
	}
	return slice
}

// resolve returns the resource of an object, which must be in a namespace if one is given.
func (r *run) resolve(ctx context.Context, t *objectTemplate, o *metav1.Unstructured, namespace string) (*discovery.Resource, error) {
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	found, err := r.objects.ForKind(ctx, schema.GroupKind{Group: gv.Group, Kind: o.Kind}, gv.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: %s of %s: %w", t.path, o.Kind, o.APIVersion, err)
	}
	if found.Namespaced && namespace == "" {
		return nil, fmt.Errorf("%s: %s is in a namespace, and the operation has none", t.path, o.Kind)
	}
	return found, nil
}

// createAny creates objects of any kind. Errors are tried again for 20 s: a kind may have just been created.
func (r *run) createAny(ctx context.Context, s *step) error {
	count := deref(s.Count, 1)
	for i := range count {
		o := &metav1.Unstructured{}
		if err := s.object.decode(o, i, count); err != nil {
			return err
		}
		deadline := time.Now().Add(20 * time.Second)
		for {
			err := r.create(ctx, s, o)
			if err == nil {
				break
			}
			if ctx.Err() != nil || !time.Now().Before(deadline) {
				return fmt.Errorf("%s: %w", s.object.path, err)
			}
			_ = backoff.Sleep(ctx, time.Second)
		}
	}
	return nil
}

func (r *run) create(ctx context.Context, s *step, o *metav1.Unstructured) error {
	found, err := r.resolve(ctx, s.object, o, s.Namespace)
	if err != nil {
		return err
	}
	if !found.Namespaced && s.Namespace != "" {
		return fmt.Errorf("namespace %q is set, and %s is in none", s.Namespace, o.Kind)
	}
	o.Namespace = s.Namespace
	begun := time.Now()
	got, err := dynamic.For(client.WithFieldValidation(r.Conns[0], "Strict"), found.GVR).Create(ctx, o)
	if err != nil {
		return err
	}
	switch {
	case !found.Namespaced:
		r.made.add(found.GVR, got.Name)
	case found.GVR == podsResource:
		r.pods.made(types.NamespacedName{Namespace: got.Namespace, Name: got.Name}, begun)
	}
	return nil
}

// updateAny replaces objects of any kind, and then their status.
func (r *run) updateAny(ctx context.Context, s *step) error {
	count := deref(s.Count, 1)
	pause := pace(s.UpdatePerSecond)
	defer pause.stop()
	for i := range count {
		if err := pause.wait(ctx); err != nil {
			return err
		}
		o := &metav1.Unstructured{}
		if err := s.object.decode(o, i, count); err != nil {
			return err
		}
		found, err := r.resolve(ctx, s.object, o, s.Namespace)
		if err != nil {
			return err
		}
		o.Namespace = s.Namespace
		body, err := codec.Marshal(o)
		if err != nil {
			return err
		}
		first := path.Join(s.Subresources...)
		for _, sub := range []string{first, "status"} {
			req := &client.Request{Method: "PUT", Resource: found.GVR, Namespace: s.Namespace, Name: o.Name, Subresource: sub, Body: body, ContentType: client.MediaJSON}
			if _, err := client.WithFieldValidation(r.Conns[0], "Strict").Do(ctx, req); err != nil {
				return fmt.Errorf("%s: %s %s: %w", s.object.path, o.Kind, path.Join(o.Name, sub), err)
			}
		}
	}
	return nil
}
