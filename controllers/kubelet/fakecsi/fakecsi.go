package fakecsi

import (
	"context"
	"fmt"
	"net"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/fakeplugin"
)

// Options of a Driver.
type Options struct {
	// NodeID is what the driver calls the node; "" means fake-node.
	NodeID string
	// MaxVolumes is the limit of volumes of the node; 0 means none.
	MaxVolumes int64
	// Topology are labels of the node.
	Topology map[string]string
	// Without are capabilities that the driver does not have. It has all others that the kubelet uses, except
	// VOLUME_MOUNT_GROUP, which Groups adds.
	Without []csi.NodeServiceCapability_RPC_Type
	// Groups lets the driver give the files of volumes to the group of the pod.
	Groups bool
	// Controller adds the controller's part of a driver: volumes are made, attached and expanded, and those
	// that were not made do not exist.
	Controller bool
	// Data is a folder, by absolute path, that holds a folder or, for a block device, a file of each volume,
	// which the driver mounts where the kubelet wants it. That needs Linux and the right to mount. "" means
	// that targets are plain folders and files without content.
	Data string
}

// Driver is a simulated driver. Its volumes outlive Serve, as those of a driver outlive its process. Set
// Fault before the first Serve; the methods may be called from many goroutines.
type Driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	csi.UnimplementedControllerServer

	// Fault returns how a call of a method, such as NodePublishVolume, fails; nil means that none does. It
	// may be called from many goroutines.
	Fault func(method string, request any) fakecri.Fault

	name string
	opts Options

	mu        sync.Mutex
	calls     []string
	requests  map[string]any // the latest by method
	staged    map[string]string
	published map[string]string // volume by target
	single    map[string]bool   // targets of volumes that only one pod may use
	sizes     map[string]int64
	volumes   map[string]*volume // by id
	made      int
	broken    []string
	answers   []string // of registrations
	sockets   fakeplugin.Sockets
}

// New returns a driver of a name.
func New(name string, opts Options) *Driver {
	if opts.NodeID == "" {
		opts.NodeID = "fake-node"
	}
	return &Driver{name: name, opts: opts, requests: map[string]any{}, staged: map[string]string{}, published: map[string]string{}, single: map[string]bool{},
		sizes: map[string]int64{}, volumes: map[string]*volume{}}
}

// Name returns the name of the driver.
func (d *Driver) Name() string { return d.name }

// Socket is where the driver serves for the kubelet with the root directory root.
func (d *Driver) Socket(root string) string { return fakeplugin.Endpoint(root, d.name, "csi.sock") }

// Serve serves the driver on Unix sockets in the folders of the kubelet whose root directory is root, until
// ctx ends. wait returns when the sockets have gone and all calls have ended.
func (d *Driver) Serve(ctx context.Context, root string) (wait func(), err error) {
	return fakeplugin.Serve(ctx, d.plugin(root), d.server())
}

// ServeInMemory is Serve without I/O, so that it can be used on virtual time: the kubelet sees the socket of
// the registration, and connects with dial ([kubelet.PluginOptions]) or the Dialer of several drivers.
func (d *Driver) ServeInMemory(ctx context.Context, root string) (dial func(ctx context.Context, path string) (net.Conn, error), wait func(), err error) {
	wait, err = d.sockets.Serve(ctx, d.plugin(root), d.server())
	return d.sockets.Dial, wait, err
}

// Dialer connects to the drivers that are served in memory.
func Dialer(drivers ...*Driver) func(ctx context.Context, path string) (net.Conn, error) {
	all := make([]*fakeplugin.Sockets, len(drivers))
	for i, d := range drivers {
		all[i] = &d.sockets
	}
	return fakeplugin.Dialer(all...)
}

func (d *Driver) plugin(root string) fakeplugin.Plugin {
	return fakeplugin.Plugin{Type: "CSIPlugin", Name: d.name, Versions: []string{"1.0.0"}, Endpoint: d.Socket(root), Registry: fakeplugin.Registry(root, d.name),
		Answered: func(failure string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.answers = append(d.answers, failure)
		}}
}

func (d *Driver) server() *grpc.Server {
	s := grpc.NewServer(grpc.WaitForHandlers(true), grpc.UnaryInterceptor(d.intercept))
	csi.RegisterIdentityServer(s, d)
	csi.RegisterNodeServer(s, d)
	if d.opts.Controller {
		csi.RegisterControllerServer(s, d)
	}
	return s
}

// intercept notes a call and lets it fail.
func (d *Driver) intercept(ctx context.Context, q any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	method := path.Base(info.FullMethod)
	d.mu.Lock()
	d.calls = append(d.calls, method)
	d.requests[method] = q
	d.mu.Unlock()
	var fault fakecri.Fault
	if d.Fault != nil {
		fault = d.Fault(method, q)
	}
	lost := status.Error(codes.Unavailable, "the driver fails")
	switch fault {
	case fakecri.Before:
		return nil, lost
	case fakecri.After:
		if _, err := handle(ctx, q); err != nil {
			return nil, err
		}
		return nil, lost
	case fakecri.Instead:
		m, _ := reflect.TypeOf(d).MethodByName(method)
		return reflect.New(m.Type.Out(0).Elem()).Interface(), nil
	case fakecri.Hang:
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return handle(ctx, q)
}

// Calls returns how often a method was called.
func (d *Driver) Calls(method string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		if c == method {
			n++
		}
	}
	return n
}

// Last returns the latest request of a method, such as *csi.NodePublishVolumeRequest; nil if there was none.
// It must not be changed.
func (d *Driver) Last(method string) any {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests[method]
}

// Staged returns the volumes that are staged, sorted.
func (d *Driver) Staged() []string {
	return d.sorted(func() map[string]string { return d.staged }, false)
}

// Published returns the volumes that are published, sorted, one for each target.
func (d *Driver) Published() []string {
	return d.sorted(func() map[string]string { return d.published }, true)
}

// Broken returns the calls that break the rules of the interface: published without being staged, unstaged
// while published, two stages of one volume, detached while staged. Nil is what a test wants.
func (d *Driver) Broken() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.broken)
}

// Registrations returns the kubelet's answers to registrations: the error, or "" for success.
func (d *Driver) Registrations() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.answers)
}

// Size returns the size in bytes of the latest expansion of a volume; 0 if there was none.
func (d *Driver) Size(volume string) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sizes[volume]
}

// SetMaxVolumes changes the limit of volumes that the driver reports from then on.
func (d *Driver) SetMaxVolumes(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opts.MaxVolumes = n
}

func (d *Driver) sorted(of func() map[string]string, values bool) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []string
	for k, v := range of() {
		if values {
			k = v
		}
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// violation notes that the kubelet has broken a rule. The lock is held.
func (d *Driver) violation(format string, args ...any) {
	d.broken = append(d.broken, fmt.Sprintf(format, args...))
}

// source is where the content of a volume is; "" without Data.
func (d *Driver) source(volume string) string {
	if d.opts.Data == "" {
		return ""
	}
	return filepath.Join(d.opts.Data, strings.ReplaceAll(volume, "/", "_"))
}
