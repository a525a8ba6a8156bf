package kubelet

import (
	"cmp"
	"context"
	"maps"
	"net"
	"path/filepath"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// resourceServer serves the API of pod resources, v1: which devices, CPUs and memory the
// containers of the node have.
type resourceServer struct{ k *Kubelet }

// serve serves until ctx ends.
func (p resourceServer) serve(ctx context.Context) error {
	l := p.k.opts.Plugins.ResourcesListener
	if l == nil {
		var err error
		if l, err = listenUnix(ctx, filepath.Join(p.k.opts.RootDir, "pod-resources"), "kubelet.sock"); err != nil {
			return err
		}
	}
	count := p.k.metrics.countResources
	return servePlugins(ctx, l, "v1.PodResourcesLister", []grpc.MethodDesc{
		count(pluginapi.Method("List", p.list)), count(pluginapi.Method("Get", p.get)), count(pluginapi.Method("GetAllocatableResources", p.allocatable)),
	})
}

// servePlugins serves a service until ctx ends.
func servePlugins(ctx context.Context, l net.Listener, service string, methods []grpc.MethodDesc) error {
	server := pluginapi.NewServer()
	pluginapi.Register(server, service, methods)
	defer context.AfterFunc(ctx, server.Stop)()
	if err := server.Serve(l); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// list returns the resources of all pods that have not ended.
func (p resourceServer) list(context.Context, *pluginapi.Empty) (*pluginapi.PodResourcesList, error) {
	all := &pluginapi.PodResourcesList{}
	for _, w := range p.k.allWorkers() {
		if pod := w.active(); pod != nil {
			all.Pods = append(all.Pods, *p.of(pod))
		}
	}
	slices.SortFunc(all.Pods, func(a, b pluginapi.PodResources) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// get returns the resources of one pod.
func (p resourceServer) get(_ context.Context, q *pluginapi.PodName) (*pluginapi.OnePodResources, error) {
	for _, w := range p.k.allWorkers() {
		if pod := w.active(); pod != nil && pod.Namespace == q.Namespace && pod.Name == q.Name {
			return &pluginapi.OnePodResources{Pod: p.of(pod)}, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "pod %s in namespace %s not found", q.Name, q.Namespace)
}

// allocatable returns the devices, CPUs and memory that can be given to pods, used or not.
func (p resourceServer) allocatable(context.Context, *pluginapi.Empty) (*pluginapi.AllocatableResources, error) {
	all := &pluginapi.AllocatableResources{Devices: p.k.devices.healthy()}
	all.CPUs, all.Memory = p.k.placer.all()
	return all, nil
}

// of returns the resources of a pod: of its containers and sidecars.
func (p resourceServer) of(pod *corev1.Pod) *pluginapi.PodResources {
	out := &pluginapi.PodResources{Name: pod.Name, Namespace: pod.Namespace}
	grants := p.k.ledger.grants(pod.UID)
	for c := range containersOf(pod) {
		if !isMain(pod, c.Name) && !isSidecar(c) {
			continue
		}
		one := pluginapi.ContainerResources{Name: c.Name}
		one.CPUs, one.Memory = p.k.placer.placed(pod.UID, c.Name)
		for _, g := range grants[c.Name] {
			one.Devices = append(one.Devices, p.k.devices.placed(g.Resource, g.Devices)...)
		}
		one.Dynamic = p.k.claims.resources(pod, c)
		out.Containers = append(out.Containers, one)
	}
	return out
}

// healthy returns all devices that are.
func (d *devices) healthy() (list []pluginapi.ContainerDevices) {
	d.mu.Lock()
	ids := map[corev1.ResourceName][]string{}
	for name, r := range d.resources {
		for _, id := range slices.Sorted(maps.Keys(r.devices)) {
			if r.devices[id].Health == pluginapi.Healthy {
				ids[name] = append(ids[name], id)
			}
		}
	}
	d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		list = append(list, d.placed(name, ids[name])...)
	}
	return list
}

// placed puts together the devices of a resource that are at the same NUMA nodes.
func (d *devices) placed(name corev1.ResourceName, ids []string) (list []pluginapi.ContainerDevices) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		var at *pluginapi.Topology
		if r := d.resources[name]; r != nil {
			at = r.devices[id].Topology
		}
		i := slices.IndexFunc(list, func(c pluginapi.ContainerDevices) bool { return sameNodes(c.Topology, at) })
		if i < 0 {
			i = len(list)
			list = append(list, pluginapi.ContainerDevices{Resource: string(name), Topology: at})
		}
		list[i].IDs = append(list[i].IDs, id)
	}
	return list
}

func sameNodes(a, b *pluginapi.Topology) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.Nodes, b.Nodes)
}
