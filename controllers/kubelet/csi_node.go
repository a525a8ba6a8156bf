package kubelet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/csi"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// annotationCSI has what drivers call the node, as JSON by driver.
const annotationCSI = "csi.volume.kubernetes.io/nodeid"

// csiNode registers CSI drivers and shows them in the CSINode and on the Node.
type csiNode struct {
	k       *Kubelet
	drivers *csi.Drivers
	objects *client.Client[*storagev1.CSIDriver]
	nodes   *client.Client[*storagev1.CSINode]

	writing chan struct{} // has an element while the CSINode is written; no mutex, so that ctx ends the wait

	mu sync.Mutex
	// shown are the drivers that have registered, by name.
	shown map[string]shownDriver
}

// shownDriver is a driver and what it says about the node; nil if it has gone.
type shownDriver struct {
	driver *csi.Driver
	*csi.Info
}

func newCSINode(k *Kubelet, drivers *csi.Drivers) *csiNode {
	return &csiNode{k: k, drivers: drivers, objects: client.For[*storagev1.CSIDriver](k.m.Conn()), nodes: client.For[*storagev1.CSINode](k.m.Conn()), writing: make(chan struct{}, 1),
		shown: map[string]shownDriver{}}
}

// register implements pluginType.
func (c *csiNode) register(ctx context.Context, info *pluginapi.PluginInfo) (func(ctx, here context.Context), error) {
	if err := supportsMajor(info.Versions, "1"); err != nil {
		return nil, err
	}
	driver, about, err := c.drivers.Connect(ctx, info.Name, info.Endpoint)
	if err != nil {
		return nil, err
	}
	c.drivers.Add(driver)
	c.show(driver, about)
	c.k.volumes.Retry()
	return func(ctx, here context.Context) { c.serve(ctx, here, driver) }, nil
}

// show shows a driver that has just been registered, in the place of an earlier one of its name.
func (c *csiNode) show(driver *csi.Driver, info *csi.Info) {
	c.mu.Lock()
	c.shown[driver.Name] = shownDriver{driver, info}
	c.mu.Unlock()
	c.k.node.poke()
}

// update changes what is shown of a driver, or hides it if info is nil, unless another one of its name has
// come.
func (c *csiNode) update(driver *csi.Driver, info *csi.Info) {
	c.mu.Lock()
	if c.shown[driver.Name].driver == driver {
		c.shown[driver.Name] = shownDriver{driver, info}
	}
	c.mu.Unlock()
	c.k.node.poke()
}

// allocatableInterval is how often a CSIDriver is read to see whether the limit of volumes is to be updated.
const allocatableInterval = time.Minute

// serve shows a driver until here ends, and then hides it, unless the kubelet ends: the driver works until
// the last volume is taken down, and is shown when the kubelet comes back.
func (c *csiNode) serve(ctx, here context.Context, driver *csi.Driver) {
	c.write(here)
	for here.Err() == nil {
		period := time.Duration(0)
		if object, err := c.objects.Get(here, types.NamespacedName{Name: driver.Name}); err == nil && object.Spec.NodeAllocatableUpdatePeriodSeconds != nil {
			period = time.Duration(*object.Spec.NodeAllocatableUpdatePeriodSeconds) * time.Second
		}
		if period == 0 {
			_ = backoff.Sleep(here, allocatableInterval)
			continue
		}
		if backoff.Sleep(here, max(period, 10*time.Second)) != nil {
			break
		}
		info, err := driver.Info(here)
		if err != nil {
			c.k.log.Info("driver did not report its limit of volumes", "driver", driver.Name, "err", err)
			continue
		}
		c.update(driver, info)
		c.write(here)
	}
	if ctx.Err() != nil || !c.drivers.Remove(driver) {
		return
	}
	c.update(driver, nil)
	c.write(ctx)
}

// errNotRegistered says that there is no Node yet.
var errNotRegistered = errors.New("the node is not registered yet")

// write brings the CSINode up to date. It tries again until ctx ends.
func (c *csiNode) write(ctx context.Context) {
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-c.writing }()
	for n := 1; ctx.Err() == nil; n++ {
		err := c.tryWrite(ctx)
		if err == nil {
			return
		}
		c.k.log.Info("update CSINode failed", "err", err)
		_ = backoff.Sleep(ctx, backoff.Policy{Initial: 500 * time.Millisecond}.Delay(ctx, n))
	}
}

func (c *csiNode) tryWrite(ctx context.Context) error {
	node := c.k.node.object()
	if node == nil {
		return errNotRegistered
	}
	have, err := c.nodes.Get(ctx, types.NamespacedName{Name: node.Name})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return err
	}
	if missing {
		have = &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}}}
	}
	next := codec.DeepCopy(have)
	next.Spec.Drivers = c.merged(have.Spec.Drivers)
	switch {
	case missing && len(next.Spec.Drivers) > 0:
		_, err = c.nodes.Create(ctx, next)
	case !missing && !codec.Equal(&have.Spec, &next.Spec):
		_, err = c.nodes.Update(ctx, next)
	default:
		err = nil
	}
	return err
}

// merged are the drivers of a CSINode with those that are registered and without those that have gone.
func (c *csiNode) merged(have []storagev1.CSINodeDriver) []storagev1.CSINodeDriver {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(have), func(d storagev1.CSINodeDriver) bool {
		_, known := c.shown[d.Name]
		return known
	})
	for _, name := range slices.Sorted(maps.Keys(c.shown)) {
		info := c.shown[name].Info
		if info == nil {
			continue
		}
		d := storagev1.CSINodeDriver{Name: name, NodeID: info.NodeID, TopologyKeys: slices.Sorted(maps.Keys(info.Topology))}
		if info.MaxVolumes > 0 {
			n := int32(min(info.MaxVolumes, 1<<31-1))
			d.Allocatable = &storagev1.VolumeNodeResources{Count: &n}
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b storagev1.CSINodeDriver) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// labels are those of the topology of the registered drivers.
func (c *csiNode) labels() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]string{}
	for _, one := range c.shown {
		if one.Info != nil {
			maps.Copy(all, one.Topology)
		}
	}
	return all
}

// annotate returns the annotation that a Node should have, "" for none.
func (c *csiNode) annotate(node *corev1.Node) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := node.Annotations[annotationCSI]
	ids := map[string]string{}
	if json.Unmarshal([]byte(text), &ids) != nil {
		ids = map[string]string{} // it is of no use to others either
	}
	for name, one := range c.shown {
		delete(ids, name)
		if one.Info != nil {
			ids[name] = one.NodeID
		}
	}
	if len(ids) == 0 {
		return ""
	}
	b, err := json.Marshal(ids)
	if err != nil {
		return text
	}
	return string(b)
}
