package kubelet_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// sockets are those of the plugins and of the kubelet, in memory.
type sockets struct {
	mu       sync.Mutex
	open     map[string]*bufconn.Listener
	register *bufconn.Listener
	// resources serves the API of pod resources.
	resources *bufconn.Listener
	// dir, if not empty, is where the sockets are files instead.
	dir string
}

func (s *sockets) Dial(ctx context.Context, path string) (net.Conn, error) {
	s.mu.Lock()
	l := s.open[filepath.Base(path)]
	s.mu.Unlock()
	if l == nil {
		return nil, errors.New("no such socket")
	}
	return l.DialContext(ctx)
}

// options make a new socket of the kubelet, as each start does.
func (s *sockets) options() *kubelet.PluginOptions {
	s.register, s.resources = bufconn.Listen(1<<16), bufconn.Listen(1<<16)
	return &kubelet.PluginOptions{Listener: s.register, ResourcesListener: s.resources, Dial: s.Dial}
}

// plugin is a device plugin for tests.
type plugin struct {
	t       testing.TB
	sockets *sockets
	name    string
	host    string // the folder of the node that containers get
	options pluginapi.DeviceOptions
	server  *grpc.Server

	mu      sync.Mutex
	devices []pluginapi.Device
	changed chan struct{}
	hang    bool
	prefer  []string
	started [][]string
}

func (p *plugin) set(devices ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.devices = nil
	for _, d := range devices {
		id, health, sick := strings.Cut(d, "!")
		if !sick {
			health = pluginapi.Healthy
		}
		p.devices = append(p.devices, pluginapi.Device{ID: id, Health: health})
	}
	if p.changed != nil {
		close(p.changed)
	}
	p.changed = make(chan struct{})
}

func (p *plugin) listen() net.Listener {
	if dir := p.sockets.dir; dir != "" {
		l, err := net.Listen("unix", filepath.Join(dir, p.name+".sock"))
		require.NoError(p.t, err)
		return l
	}
	l := bufconn.Listen(1 << 16)
	p.sockets.mu.Lock()
	defer p.sockets.mu.Unlock()
	if p.sockets.open == nil {
		p.sockets.open = map[string]*bufconn.Listener{}
	}
	p.sockets.open[p.name+".sock"] = l
	return l
}

// locked calls f while the plugin does nothing.
func (p *plugin) locked(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// serve makes the plugin's socket and registers it.
func (p *plugin) serve() error {
	l := p.listen()
	p.server = pluginapi.NewServer()
	pluginapi.Register(p.server, "v1beta1.DevicePlugin", []grpc.MethodDesc{
		pluginapi.Method("Allocate", p.allocate),
		pluginapi.Method("GetPreferredAllocation", func(_ context.Context, q *pluginapi.PreferredRequest) (*pluginapi.PreferredReply, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return &pluginapi.PreferredReply{Containers: []pluginapi.DeviceIDs{{IDs: p.prefer}}}, nil
		}),
		pluginapi.Method("PreStartContainer", func(_ context.Context, q *pluginapi.DeviceIDs) (*pluginapi.Empty, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.started = append(p.started, q.IDs)
			return &pluginapi.Empty{}, nil
		}),
	}, pluginapi.Stream("ListAndWatch", p.watch))
	go func() { _ = p.server.Serve(l) }()
	p.t.Cleanup(p.server.Stop)
	return p.register("v1beta1", "example.com/"+p.name)
}

func (p *plugin) register(version, resource string) error {
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return p.sockets.register.DialContext(ctx) }
	if p.sockets.dir != "" {
		dial = pluginapi.DialUnix
	}
	conn, err := pluginapi.Dial(filepath.Join(p.sockets.dir, "kubelet.sock"), dial)
	require.NoError(p.t, err)
	defer conn.Close()
	_, err = pluginapi.Call[pluginapi.Empty](context.Background(), conn, "/v1beta1.Registration/Register",
		&pluginapi.RegisterRequest{Version: version, Endpoint: p.name + ".sock", Resource: resource, Options: &p.options})
	return err
}

func (p *plugin) watch(ctx context.Context, _ *pluginapi.Empty, send func(*pluginapi.DeviceList) error) error {
	for {
		p.mu.Lock()
		list, changed := slices.Clone(p.devices), p.changed
		p.mu.Unlock()
		if err := send(&pluginapi.DeviceList{Devices: list}); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

func (p *plugin) allocate(ctx context.Context, q *pluginapi.AllocateRequest) (*pluginapi.AllocateReply, error) {
	p.mu.Lock()
	hang := p.hang
	p.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ids := strings.Join(q.Containers[0].IDs, ",")
	reply := &pluginapi.AllocateReply{Containers: []pluginapi.ContainerAllocation{{
		Envs: map[string]string{"DEVICES": ids}, Mounts: []pluginapi.Mount{{ContainerPath: "/lib/dev", HostPath: cmp.Or(p.host, "/host/lib"), ReadOnly: true}},
		Devices: []pluginapi.DeviceSpec{{ContainerPath: "/dev/x", HostPath: "/dev/null", Permissions: "rw"}}, Annotations: map[string]string{"devices": ids},
		CDIDevices: []pluginapi.CDIDevice{{Name: "example.com/dev=" + ids}}}}}
	if p.host != "" {
		reply.Containers[0].CDIDevices = nil // the real runtime has no such device
	}
	return reply, nil
}

// wantsDevices makes containers demand devices, as name=count.
func wantsDevices(name string, counts map[string]int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
			for i := range list {
				if n := counts[list[i].Name]; n > 0 {
					q := corev1.ResourceList{corev1.ResourceName("example.com/" + name): resource.NewQuantity(int64(n), resource.DecimalSI)}
					list[i].Resources = corev1.ResourceRequirements{Limits: q, Requests: q}
				}
			}
		}
	}
}

// env is a variable of a container.
func (r *rig) env(pod, container, name string) string {
	for _, e := range r.rt.Config(pod, container).Envs {
		if e.Key == name {
			return string(e.Value)
		}
	}
	return ""
}

func (r *rig) nodeAmounts(name string) string {
	st := controllertest.Get[*corev1.Node](r.c, "", "n1").Status
	capacity, allocatable := st.Capacity[corev1.ResourceName("example.com/"+name)], st.Allocatable[corev1.ResourceName("example.com/"+name)]
	return fmt.Sprint(allocatable.Value(), " of ", capacity.Value())
}

// Devices of a plugin are the node's, and pods get them and what goes with them, over restarts of the kubelet
// and of the plugin.
func TestDevicePlugin(t *testing.T) {
	s := &sockets{}
	bubble(t, func(r *rig) { r.opts.Plugins, r.opts.StopPods = s.options(), false }, func(r *rig) {
		p := &plugin{t: r.t, sockets: s, name: "dev", options: pluginapi.DeviceOptions{PreStart: true}}
		p.set("d1", "d2", "d3!Unhealthy", "d4")
		require.NoError(t, p.serve())
		time.Sleep(2 * time.Second)
		require.Equal(t, "3 of 4", r.nodeAmounts("dev"))
		other := corev1.ResourceList{corev1.ResourceName("example.com/dev"): resource.MustParse("2")}
		r.pod("web", func(pod *corev1.Pod) {
			pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "img", ImagePullPolicy: corev1.PullNever, Resources: corev1.ResourceRequirements{Limits: other, Requests: other}}}
			r.rt.Play = nil
			wantsDevices("dev", map[string]int{"init": 2, "a": 1, "b": 1})(pod)
			pod.Spec.InitContainers[0].RestartPolicy = nil
		}, "a", "b")
		time.Sleep(2 * time.Second)
		require.Equal(t, "d1,d2", r.env("web", "init", "DEVICES"))
		r.rt.Kill("web", "init", 0)
		time.Sleep(3 * time.Second)
		require.Equal(t, "d1", r.env("web", "a", "DEVICES"), "what an init container had is used again")
		require.Equal(t, "d2", r.env("web", "b", "DEVICES"))
		c := r.rt.Config("web", "b")
		require.Equal(t, "/dev/null", c.Devices[0].HostPath)
		require.Equal(t, "example.com/dev=d2", c.CDIDevices[0].Name)
		require.Equal(t, "d2", c.Annotations["devices"])
		require.True(t, slices.ContainsFunc(c.Mounts, func(m *cri.Mount) bool {
			return m.ContainerPath == "/lib/dev" && m.HostPath == "/host/lib" && m.Readonly
		}))
		p.locked(func() { require.Equal(t, [][]string{{"d1", "d2"}, {"d1"}, {"d2"}}, p.started) })
		st := r.get("web").Status.ContainerStatuses[0].AllocatedResourcesStatus
		require.Equal(t, "Healthy", string(st[0].Resources[0].Health))

		// One healthy device is left.
		r.pod("two", wantsDevices("dev", map[string]int{"a": 2}), "a")
		time.Sleep(2 * time.Second)
		require.Equal(t, corev1.PodFailed, r.get("two").Status.Phase)
		require.Equal(t, "OutOfexample.com/dev", r.get("two").Status.Reason)
		r.shows(`kubelet_device_plugin_registration_total{resource_name="example.com/dev"} 1`, `kubelet_device_plugin_alloc_duration_seconds_count{resource_name="example.com/dev"} 3`,
			`kubelet_admission_rejections_total{reason="OutOfExtendedResources"} 1`)
		r.pod("one", wantsDevices("dev", map[string]int{"a": 1}), "a")
		time.Sleep(2 * time.Second)
		require.Equal(t, "d4", r.env("one", "a", "DEVICES"))

		// Health changes are shown by node and pods.
		p.set("d1!Unhealthy", "d2", "d4")
		time.Sleep(2 * time.Second)
		require.Equal(t, "2 of 3", r.nodeAmounts("dev"))
		require.Equal(t, "Unhealthy", string(r.get("web").Status.ContainerStatuses[0].AllocatedResourcesStatus[0].Resources[0].Health))

		devicesOverRestarts(r, s, p)
	})
}

// devicesOverRestarts goes on with web, which has d1 and d2, and one, which has d4: a kubelet that starts
// knows who has what, and the plugin registers again.
func devicesOverRestarts(r *rig, s *sockets, p *plugin) {
	t := r.t
	p.set("d1", "d2", "d4")
	r.stop()
	r.opts.Plugins = s.options()
	r.start()
	time.Sleep(5 * time.Second)
	require.Equal(t, "0 of 0", r.nodeAmounts("dev"))
	r.pod("early", wantsDevices("dev", map[string]int{"a": 1}), "a")
	time.Sleep(2 * time.Second)
	require.Equal(t, corev1.PodFailed, r.get("early").Status.Phase, "not without the device")
	require.NoError(t, p.register("v1beta1", "example.com/dev"))
	time.Sleep(2 * time.Second)
	require.Equal(t, "3 of 3", r.nodeAmounts("dev"))
	r.rt.Kill("web", "a", 1)
	time.Sleep(3 * time.Second)
	require.Equal(t, "d1", r.env("web", "a", "DEVICES"))
	require.EqualValues(t, 1, r.restarts("web"))
	r.delete("one", 0)
	time.Sleep(3 * time.Second)
	r.pod("next", wantsDevices("dev", map[string]int{"a": 1}), "a")
	time.Sleep(2 * time.Second)
	require.Equal(t, "d4", r.env("next", "a", "DEVICES"), "and nothing that others have")

	// A plugin that ends takes its devices with it, not its pods.
	p.server.Stop()
	time.Sleep(2 * time.Second)
	require.Equal(t, "0 of 3", r.nodeAmounts("dev"))
	require.True(t, ready(r.get("web")))
	r.stop()
	r.opts.Plugins, r.opts.StopPods = nil, true
	r.start()
	time.Sleep(3 * time.Second)
	require.True(t, ready(r.get("web")))
}

// A plugin that hangs, lies or is none costs its own pods only.
func TestDevicePluginsThatFail(t *testing.T) {
	s := &sockets{}
	bubble(t, func(r *rig) { r.opts.Plugins = s.options() }, func(r *rig) {
		good, bad := &plugin{t: r.t, sockets: s, name: "good", options: pluginapi.DeviceOptions{Preferred: true}, prefer: []string{"g3"}}, &plugin{t: r.t, sockets: s, name: "bad", hang: true}
		good.set("g1", "g2", "g3", "g4")
		bad.set("b1", "b1", "", "b2")
		require.NoError(t, good.serve())
		require.NoError(t, bad.serve())
		time.Sleep(2 * time.Second)
		require.Equal(t, "2 of 2", r.nodeAmounts("bad"))
		r.pod("stuck", wantsDevices("bad", map[string]int{"a": 1}), "a")
		r.pod("gone", wantsDevices("bad", map[string]int{"a": 1}), "a")
		time.Sleep(time.Second)
		r.delete("gone", 0)
		r.pod("fine", wantsDevices("good", map[string]int{"a": 1}), "a")
		time.Sleep(3 * time.Second)
		require.Equal(t, "g3", r.env("fine", "a", "DEVICES"), "as the plugin prefers")
		require.False(t, r.exists("gone"), "the plugin does not hold its end up")
		time.Sleep(40 * time.Second)
		st := r.get("stuck").Status
		require.Equal(t, "UnexpectedAdmissionError", st.Reason)
		require.Contains(t, st.Message, "Allocate failed due to rpc error: code = DeadlineExceeded")
		// One is used, the other does not exist.
		good.locked(func() { good.prefer = []string{"g3", "nonsense"} })
		bad.locked(func() { bad.hang = false })
		r.pod("again", wantsDevices("bad", map[string]int{"a": 2}), "a")
		r.pod("liar", wantsDevices("good", map[string]int{"a": 2}), "a")
		time.Sleep(3 * time.Second)
		require.Equal(t, "b1,b2", r.env("again", "a", "DEVICES"))
		require.Equal(t, "g1,g2", r.env("liar", "a", "DEVICES"))

		require.ErrorContains(t, good.register("v1alpha", "example.com/x"), "only v1beta1 is supported")
		for _, name := range []string{"dev", "kubernetes.io/dev", "a.kubernetes.io/dev", "/dev", "example.com/", "example.com/a/b"} {
			require.ErrorContains(t, good.register("v1beta1", name), "is invalid")
		}
		good.name = "missing" // its socket does not exist
		require.NoError(t, good.register("v1beta1", "example.com/missing"))
		time.Sleep(3 * time.Second)
		require.Equal(t, "0 of 0", r.nodeAmounts("missing"))
		time.Sleep(6 * time.Minute)
		require.Equal(t, "0 of 0", r.nodeAmounts("missing"), "as upstream's, so that nothing else is shown")
		require.True(t, ready(r.get("fine")))
	})
}

// The API of pod resources says which devices containers have, and which there are.
func TestPodResources(t *testing.T) {
	s := &sockets{}
	bubble(t, func(r *rig) { r.opts.Plugins = s.options() }, func(r *rig) {
		p := &plugin{t: r.t, sockets: s, name: "dev"}
		p.set("d1", "d2", "d3", "d4!Unhealthy")
		for i := range p.devices {
			p.devices[i].Topology = &pluginapi.Topology{Nodes: []pluginapi.NUMANode{{ID: int64(i / 2)}}}
		}
		require.NoError(t, p.serve())
		time.Sleep(time.Second)
		always := corev1.ContainerRestartPolicyAlways
		r.pod("web", func(pod *corev1.Pod) {
			pod.Spec.InitContainers = []corev1.Container{{Name: "side", Image: "img", ImagePullPolicy: corev1.PullNever, RestartPolicy: &always}}
			wantsDevices("dev", map[string]int{"a": 3})(pod)
		}, "a", "b")
		r.pod("plain", nil, "a")
		r.pod("ends", func(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyNever }, "a")
		time.Sleep(3 * time.Second)
		r.rt.Kill("ends", "a", 0)
		time.Sleep(3 * time.Second)
		conn, err := pluginapi.Dial("kubelet.sock", func(ctx context.Context, _ string) (net.Conn, error) { return s.resources.DialContext(ctx) })
		require.NoError(t, err)
		defer conn.Close()
		list, err := pluginapi.Call[pluginapi.PodResourcesList](r.t.Context(), conn, "/v1.PodResourcesLister/List", &pluginapi.Empty{})
		require.NoError(t, err)
		at := func(n int64) *pluginapi.Topology { return &pluginapi.Topology{Nodes: []pluginapi.NUMANode{{ID: n}}} }
		web := pluginapi.PodResources{Name: "web", Namespace: "default", Containers: []pluginapi.ContainerResources{{Name: "side"},
			{Name: "a", Devices: []pluginapi.ContainerDevices{{Resource: "example.com/dev", IDs: []string{"d1", "d2"}, Topology: at(0)}, {Resource: "example.com/dev", IDs: []string{"d3"}, Topology: at(1)}}}, {Name: "b"}}}
		require.Equal(t, []pluginapi.PodResources{{Name: "plain", Namespace: "default", Containers: []pluginapi.ContainerResources{{Name: "a"}}}, web}, list.Pods)
		one, err := pluginapi.Call[pluginapi.OnePodResources](r.t.Context(), conn, "/v1.PodResourcesLister/Get", &pluginapi.PodName{Name: "web", Namespace: "default"})
		require.NoError(t, err)
		require.Equal(t, &web, one.Pod)
		_, err = pluginapi.Call[pluginapi.OnePodResources](r.t.Context(), conn, "/v1.PodResourcesLister/Get", &pluginapi.PodName{Name: "web", Namespace: "other"})
		require.Equal(t, codes.NotFound, status.Code(err))
		all, err := pluginapi.Call[pluginapi.AllocatableResources](r.t.Context(), conn, "/v1.PodResourcesLister/GetAllocatableResources", &pluginapi.Empty{})
		require.NoError(t, err)
		require.Equal(t, web.Containers[1].Devices, all.Devices, "but the unhealthy one")
		require.Empty(t, all.CPUs)
		const endpoint, version = "kubelet_pod_resources_endpoint_", `{server_api_version="v1"} `
		r.shows(endpoint+"requests_total"+version+"4", endpoint+"requests_list"+version+"1", endpoint+"requests_get"+version+"2",
			endpoint+"requests_get_allocatable"+version+"1", endpoint+"errors_get"+version+"1")
		require.NotContains(t, r.metrics(), endpoint+"errors_list{")
		require.NotContains(t, r.metrics(), endpoint+"errors_get_allocatable{")
	})
}
