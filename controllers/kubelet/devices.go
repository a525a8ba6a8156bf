package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	podquota "github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/checkpoint"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/placement"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// devices are those of device plugins: which there are, which are healthy and which pods have them. Safe for
// concurrent use.
type devices struct {
	path    string // of the checkpoint of the resources
	log     *slog.Logger
	changed func() // the node has other resources
	wake    func(types.UID)
	metrics *metrics

	mu        sync.Mutex
	resources map[corev1.ResourceName]*deviceResource
	gone      map[corev1.ResourceName]bool // resources whose plugins did not come back
	// used are the devices that pods have, by resource and id.
	used map[corev1.ResourceName]map[string]types.UID
}

// deviceResource is a resource whose amounts are devices of a plugin.
type deviceResource struct {
	plugin  *devicePlugin // nil while none is connected
	devices map[string]pluginapi.Device
	// lost is when the plugin was lost; zero while there is one.
	lost time.Time
}

// grant is what a container got of one resource. It is part of the pod's checkpoint.
type grant struct {
	Resource corev1.ResourceName           `json:"resource"`
	Devices  []string                      `json:"devices"`
	Gives    pluginapi.ContainerAllocation `json:"gives"`
	PreStart bool                          `json:"preStart,omitempty"`
}

// How long the calls of a plugin may take, and how long its resource is shown, without devices, after it was
// lost.
const (
	pluginTimeout  = 30 * time.Second
	pluginGoneTime = 5 * time.Minute
)

func newDevices(k *Kubelet) *devices {
	d := &devices{path: filepath.Join(k.opts.RootDir, "device-plugins", "resources"), log: k.log, changed: k.node.poke, wake: k.wake, metrics: k.metrics,
		resources: map[corev1.ResourceName]*deviceResource{}, gone: map[corev1.ResourceName]bool{}, used: map[corev1.ResourceName]map[string]types.UID{}}
	return d
}

// load takes up the resources that an earlier kubelet had plugins of. They have no devices until the plugins
// register again, and pods that demand them do not run without.
func (d *devices) load() {
	known, err := checkpoint.Load[[]corev1.ResourceName](d.path)
	if err != nil {
		d.log.Warn("load the resources of device plugins failed, those whose plugins do not register are unknown", "err", err)
	}
	if known == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range *known {
		if d.resources[name] == nil {
			d.resources[name] = &deviceResource{devices: map[string]pluginapi.Device{}, lost: time.Now()}
		}
	}
}

// unknown reports whether no plugin has ever registered, as far as the files of the kubelet say.
func (d *devices) unknown() bool {
	if d == nil {
		return false // the kubelet has nothing to do with devices
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := os.Stat(d.path)
	return errors.Is(err, fs.ErrNotExist) && len(d.resources) == 0
}

// save keeps the names of the resources. The lock is held.
func (d *devices) save() {
	names := slices.Sorted(maps.Keys(d.resources))
	if err := checkpoint.Save(d.path, &names); err != nil {
		d.log.Warn("keep the resources of device plugins failed", "err", err)
	}
}

// connected makes a plugin that of its resource, in place of an earlier one.
func (d *devices) connected(p *devicePlugin) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.resources[p.resource]
	if r == nil {
		r = &deviceResource{}
		d.resources[p.resource] = r
		d.save()
	}
	if r.plugin != nil {
		r.plugin.stop()
	}
	r.plugin, r.lost = p, time.Time{}
}

// listed takes up the devices of a plugin.
func (d *devices) listed(p *devicePlugin, list []pluginapi.Device) {
	d.mu.Lock()
	r := d.resources[p.resource]
	if r == nil || r.plugin != p {
		d.mu.Unlock()
		return
	}
	r.devices = map[string]pluginapi.Device{}
	for _, one := range list {
		if one.ID != "" {
			r.devices[one.ID] = one
		}
	}
	d.report(p.resource)
}

// report lets the node and the pods show the devices of a resource as they are now. The lock is held, and
// released.
func (d *devices) report(name corev1.ResourceName) {
	var pods []types.UID
	for _, uid := range d.used[name] {
		pods = append(pods, uid)
	}
	d.mu.Unlock()
	d.changed()
	for _, uid := range pods {
		d.wake(uid)
	}
}

// disconnected takes the devices of a plugin for unhealthy.
func (d *devices) disconnected(p *devicePlugin) {
	d.mu.Lock()
	if r := d.resources[p.resource]; r != nil && r.plugin == p {
		r.plugin, r.lost = nil, time.Now()
		for id, one := range r.devices {
			one.Health = "Unhealthy"
			r.devices[id] = one
		}
	}
	d.report(p.resource)
}

// amounts are how many devices there are of each resource, and how many of them are healthy. What has had no
// plugin for long is forgotten.
func (d *devices) amounts() (capacity, allocatable corev1.ResourceList) {
	capacity, allocatable = corev1.ResourceList{}, corev1.ResourceList{}
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, r := range d.resources {
		if !r.lost.IsZero() && time.Since(r.lost) > pluginGoneTime && len(d.used[name]) == 0 {
			delete(d.resources, name)
			d.gone[name] = true
			d.save()
			continue
		}
		healthy := 0
		for _, one := range r.devices {
			if one.Health == pluginapi.Healthy {
				healthy++
			}
		}
		delete(d.gone, name)
		capacity[name] = resource.NewQuantity(int64(len(r.devices)), resource.DecimalSI)
		allocatable[name] = resource.NewQuantity(int64(healthy), resource.DecimalSI)
	}
	for name := range d.gone {
		// Not left out, or what the Node had of it would stay there for pods to use.
		capacity[name], allocatable[name] = resource.NewQuantity(0, resource.DecimalSI), resource.NewQuantity(0, resource.DecimalSI)
	}
	return
}

// take marks devices as those of a pod that got them before.
func (d *devices) take(uid types.UID, grants map[string][]grant) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, list := range grants {
		for _, g := range list {
			if d.resources[g.Resource] == nil { // its checkpoint was lost
				d.resources[g.Resource] = &deviceResource{devices: map[string]pluginapi.Device{}, lost: time.Now()}
			}
			for _, id := range g.Devices {
				d.mark(g.Resource, id, uid)
			}
		}
	}
}

// mark is take for one device. The lock is held.
func (d *devices) mark(name corev1.ResourceName, id string, uid types.UID) {
	if d.used[name] == nil {
		d.used[name] = map[string]types.UID{}
	}
	d.used[name][id] = uid
}

// release gives the devices of a pod back.
func (d *devices) release(uid types.UID) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, used := range d.used {
		maps.DeleteFunc(used, func(_ string, of types.UID) bool { return of == uid })
	}
}

// granting gives the containers of a pod the devices that they demand, with what their plugins add to them.
// It is placement.Devices.
type granting struct {
	*devices
	pod  *corev1.Pod
	node placement.Nodes // of the machine
	// again is what an init container had, which is free again when it has ended, but for sidecars.
	again  map[corev1.ResourceName][]string
	grants map[string][]grant
}

// grant prepares to give the containers of a pod their devices. d may be nil.
func (d *devices) grant(pod *corev1.Pod, node placement.Nodes) *granting {
	return &granting{devices: d, pod: pod, node: node, again: map[corev1.ResourceName][]string{}}
}

// all gives all containers their devices.
func (g *granting) all(ctx context.Context) error {
	for c := range containersOf(g.pod) {
		if err := g.Take(ctx, c.Name, 0); err != nil {
			return err
		}
	}
	return nil
}

// passes reports whether a container is an init container that ends before the next one starts.
func passes(pod *corev1.Pod, c *corev1.Container) bool {
	return !isSidecar(c) && slices.ContainsFunc(pod.Spec.InitContainers, func(i corev1.Container) bool { return i.Name == c.Name })
}

// Take gives a container its devices, of those nodes first.
func (g *granting) Take(ctx context.Context, name string, nodes placement.Nodes) error {
	if g.devices == nil {
		return nil
	}
	c := specOf(g.pod, name)
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
		q := c.Resources.Limits[name]
		p, ids, err := g.pick(ctx, g.pod.UID, name, int(q.Value()), g.again[name], nodes)
		if err != nil {
			return err
		}
		if p == nil {
			continue
		}
		g.again[name] = slices.DeleteFunc(g.again[name], func(id string) bool { return slices.Contains(ids, id) })
		if passes(g.pod, c) {
			g.again[name] = append(g.again[name], ids...)
		}
		began := time.Now()
		reply, err := p.allocate(ctx, ids)
		g.metrics.allocations.WithLabelValues(string(name)).Observe(time.Since(began).Seconds())
		if err != nil {
			return errors.New(describe(err))
		}
		if g.grants == nil {
			g.grants = map[string][]grant{}
		}
		g.grants[c.Name] = append(g.grants[c.Name], grant{name, ids, *reply, p.options.PreStart})
	}
	return nil
}

// Hints returns where the devices of a container, or of all together, can come from.
func (g *granting) Hints(name string) (lists [][]placement.Hint) {
	if g.devices == nil {
		return nil
	}
	var demand corev1.ResourceList
	if name != "" {
		demand = specOf(g.pod, name).Resources.Limits
	} else {
		demand = podquota.PodTotal(g.pod, podquota.Limits)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(demand)) {
		q := demand[name]
		if hints := g.hints(name, int(q.Value()), g.again[name], g.node); hints != nil {
			lists = append(lists, hints)
		}
	}
	return lists
}

// describe is an error of a plugin in plain words.
func describe(err error) string {
	if s, ok := status.FromError(err); ok {
		return fmt.Sprintf("rpc error: code = %s desc = %s", s.Code(), s.Message())
	}
	return err.Error()
}

// at returns the NUMA nodes that a device is at; none if its plugin does not say.
func (r *deviceResource) at(id string) placement.Nodes {
	var n placement.Nodes
	if t := r.devices[id].Topology; t != nil {
		for _, one := range t.Nodes {
			n |= placement.NodesOf(int(one.ID))
		}
	}
	return n
}

// hints returns where that many devices can come from; nil if from anywhere. The lock is held.
func (d *devices) hints(name corev1.ResourceName, count int, again []string, nodes placement.Nodes) []placement.Hint {
	r := d.resources[name]
	if r == nil || count == 0 {
		return nil
	}
	var placed placement.Nodes
	var free []string
	for id, one := range r.devices {
		placed |= r.at(id)
		if _, used := d.used[name][id]; (!used || slices.Contains(again, id)) && one.Health == pluginapi.Healthy {
			free = append(free, id)
		}
	}
	if placed&nodes == 0 {
		return nil
	}
	within := func(ids iter.Seq[string], n placement.Nodes) (count int) {
		for id := range ids {
			if r.at(id)&n != 0 {
				count++
			}
		}
		return count
	}
	return placement.Hints(placed&nodes,
		func(n placement.Nodes) bool { return within(maps.Keys(r.devices), n) >= count },
		func(n placement.Nodes) bool {
			return within(slices.Values(free), n) >= count && within(slices.Values(again), n) == len(again)
		})
}

// pick reserves that many devices for a pod: first those that it has had already, then those at the nodes,
// others, and those that are nowhere in particular. The plugin is nil if the resource is not one of devices.
func (d *devices) pick(ctx context.Context, uid types.UID, name corev1.ResourceName, count int, again []string, nodes placement.Nodes) (*devicePlugin, []string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.resources[name]
	if r == nil || count == 0 {
		return nil, nil, nil
	}
	var free []string
	for _, id := range slices.Sorted(maps.Keys(r.devices)) {
		if _, used := d.used[name][id]; !used && r.devices[id].Health == pluginapi.Healthy {
			free = append(free, id)
		}
	}
	must := again[:min(count, len(again))]
	if len(must)+len(free) < count || r.plugin == nil {
		return nil, nil, fmt.Errorf("requested number of devices unavailable for %s. Requested: %d, Available: %d", name, count, len(again)+len(free))
	}
	near := 0 // how many are at the nodes
	if nodes != 0 {
		rank := func(id string) int {
			switch at := r.at(id); {
			case at&nodes != 0:
				return 0
			case at != 0:
				return 1
			}
			return 2
		}
		slices.SortStableFunc(free, func(a, b string) int { return rank(a) - rank(b) })
		near = len(slices.DeleteFunc(slices.Clone(free), func(id string) bool { return rank(id) > 0 }))
	}
	p := r.plugin
	ids := slices.Concat(must, free[:count-len(must)])
	if p.options.Preferred && len(must) < count && len(must)+len(free) > count {
		choice := free
		if len(must)+near >= count {
			choice = free[:near]
		}
		d.mu.Unlock()
		wanted, err := p.preferred(ctx, slices.Concat(must, choice), must, count)
		d.mu.Lock()
		if err != nil {
			d.log.Warn("the preferred devices of a plugin are not known", "resource", name, "err", err)
		}
		usable := func(id string) bool {
			_, used := d.used[name][id]
			return slices.Contains(must, id) || !used && r.devices[id].Health == pluginapi.Healthy
		}
		if good := slices.DeleteFunc(wanted, func(id string) bool { return !usable(id) }); len(good) == count {
			ids = good
		} else if slices.ContainsFunc(ids, func(id string) bool { return !usable(id) }) {
			return nil, nil, fmt.Errorf("devices of %s were given away meanwhile", name)
		}
	}
	for _, id := range ids {
		d.mark(name, id, uid)
	}
	return p, ids, nil
}

// preStart calls the plugins of a container's devices before it starts, as far as they request it.
func (d *devices) preStart(ctx context.Context, grants []grant) error {
	for _, g := range grants {
		if !g.PreStart {
			continue
		}
		p := d.pluginOf(g.Resource)
		if p == nil {
			return fmt.Errorf("the device plugin of %s is not connected", g.Resource)
		}
		if err := p.preStart(ctx, g.Devices); err != nil {
			return fmt.Errorf("device plugin of %s: %s", g.Resource, describe(err))
		}
	}
	return nil
}

// pluginOf returns the plugin of a resource; nil if none is connected.
func (d *devices) pluginOf(name corev1.ResourceName) *devicePlugin {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.resources[name]; r != nil {
		return r.plugin
	}
	return nil
}

// health is what the status of a container says of its devices.
func (d *devices) health(grants []grant) []corev1.ResourceStatus {
	if d == nil || len(grants) == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []corev1.ResourceStatus
	for _, g := range grants {
		st := corev1.ResourceStatus{Name: g.Resource}
		for _, id := range g.Devices {
			health := "Unknown"
			if r := d.resources[g.Resource]; r != nil {
				health = cmp.Or(r.devices[id].Health, health)
			}
			st.Resources = append(st.Resources, corev1.ResourceHealth{ResourceID: corev1.ResourceID(id), Health: corev1.ResourceHealthStatus(health)})
		}
		list = append(list, st)
	}
	return list
}

// addGrants adds what goes with devices to a container.
func addGrants(config *cri.ContainerConfig, grants []grant) error {
	for _, g := range grants {
		for _, name := range slices.Sorted(maps.Keys(g.Gives.Envs)) {
			config.Envs = append(config.Envs, &cri.KeyValue{Key: name, Value: []byte(g.Gives.Envs[name])})
		}
		for _, m := range g.Gives.Mounts {
			if slices.ContainsFunc(config.Mounts, func(have *cri.Mount) bool { return have.ContainerPath == m.ContainerPath }) {
				return fmt.Errorf("the device plugin of %s mounts at %s, where something else is", g.Resource, m.ContainerPath)
			}
			config.Mounts = append(config.Mounts, &cri.Mount{ContainerPath: m.ContainerPath, HostPath: m.HostPath, Readonly: m.ReadOnly})
		}
		for _, dev := range g.Gives.Devices {
			config.Devices = append(config.Devices, &cri.Device{ContainerPath: dev.ContainerPath, HostPath: dev.HostPath, Permissions: dev.Permissions})
		}
		maps.Copy(config.Annotations, g.Gives.Annotations)
		for _, dev := range g.Gives.CDIDevices {
			config.CDIDevices = append(config.CDIDevices, &cri.CDIDevice{Name: dev.Name})
		}
	}
	return nil
}

// checkPlugin says why a plugin cannot be registered.
func checkPlugin(q *pluginapi.RegisterRequest) error {
	domain, name, ok := strings.Cut(q.Resource, "/")
	switch {
	case q.Version != pluginapi.DeviceVersion:
		return fmt.Errorf("the plugin has version %q of the interface; only %s is supported", q.Version, pluginapi.DeviceVersion)
	case !ok || domain == "" || name == "" || strings.Contains(name, "/") || domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") || strings.HasPrefix(domain, "requests."):
		return fmt.Errorf("the ResourceName %q is invalid: it needs a domain that is not of Kubernetes", q.Resource)
	case q.Endpoint == "":
		return errors.New("the plugin has no endpoint")
	}
	return nil
}
