package fakecsi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
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
	"google.golang.org/grpc/test/bufconn"

	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
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
	sizes     map[string]int64
	broken    []string
	answers   []string // of registrations
	sockets   map[string]*bufconn.Listener
}

// New returns a driver of a name.
func New(name string, opts Options) *Driver {
	if opts.NodeID == "" {
		opts.NodeID = "fake-node"
	}
	return &Driver{name: name, opts: opts, requests: map[string]any{}, staged: map[string]string{}, published: map[string]string{}, sizes: map[string]int64{},
		sockets: map[string]*bufconn.Listener{}}
}

// Name returns the name of the driver.
func (d *Driver) Name() string { return d.name }

// Socket is where the driver serves for the kubelet with the root directory root.
func (d *Driver) Socket(root string) string {
	return filepath.Join(root, "plugins", d.name, "csi.sock")
}

func (d *Driver) registry(root string) string {
	return filepath.Join(root, "plugins_registry", d.name+"-reg.sock")
}

// Serve serves the driver on Unix sockets in the folders of the kubelet whose root directory is root, until
// ctx ends. wait returns when the sockets have gone and all calls have ended.
func (d *Driver) Serve(ctx context.Context, root string) (wait func(), err error) {
	at, err := listen(ctx, d.Socket(root))
	if err != nil {
		return nil, err
	}
	registry, err := listen(ctx, d.registry(root))
	if err != nil {
		return nil, errors.Join(err, at.Close())
	}
	return d.serve(ctx, d.Socket(root), at, registry), nil
}

// ServeInMemory is Serve without I/O, so that it can be used on virtual time: the kubelet sees the socket of
// the registration, and connects with dial ([kubelet.PluginOptions]) or the Dialer of several drivers.
func (d *Driver) ServeInMemory(ctx context.Context, root string) (dial func(ctx context.Context, path string) (net.Conn, error), wait func(), err error) {
	file := d.registry(root) // only to be seen
	if err := free(file); err != nil {
		return nil, nil, err
	}
	if err := socketFile(ctx, file); err != nil {
		return nil, nil, err
	}
	at, registry := bufconn.Listen(1<<16), bufconn.Listen(1<<16)
	d.mu.Lock()
	d.sockets[d.Socket(root)], d.sockets[d.registry(root)] = at, registry
	d.mu.Unlock()
	served := d.serve(ctx, d.Socket(root), at, registry)
	return Dialer(d), func() {
		served()
		_ = os.Remove(file)
	}, nil
}

// Dialer connects to the drivers that are served in memory.
func Dialer(drivers ...*Driver) func(ctx context.Context, path string) (net.Conn, error) {
	return func(ctx context.Context, path string) (net.Conn, error) {
		for _, d := range drivers {
			d.mu.Lock()
			l := d.sockets[path]
			d.mu.Unlock()
			if l != nil {
				return l.DialContext(ctx)
			}
		}
		return nil, &net.OpError{Op: "dial", Net: "unix", Err: fs.ErrNotExist}
	}
}

// listen makes a socket in the place of one that an earlier process has left.
func listen(ctx context.Context, path string) (net.Listener, error) {
	if err := free(path); err != nil {
		return nil, err
	}
	var c net.ListenConfig
	return c.Listen(ctx, "unix", path)
}

// free makes the folder of a path and removes what an earlier process has left at it.
func free(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d *Driver) serve(ctx context.Context, endpoint string, at, registry net.Listener) (wait func()) {
	driver := grpc.NewServer(grpc.WaitForHandlers(true), grpc.UnaryInterceptor(d.intercept))
	csi.RegisterIdentityServer(driver, d)
	csi.RegisterNodeServer(driver, d)
	registrar := pluginapi.NewServer()
	pluginapi.Register(registrar, "pluginregistration.Registration", []grpc.MethodDesc{
		pluginapi.Method("GetInfo", func(context.Context, *pluginapi.Empty) (*pluginapi.PluginInfo, error) {
			return &pluginapi.PluginInfo{Type: "CSIPlugin", Name: d.name, Endpoint: endpoint, Versions: []string{"1.0.0"}}, nil
		}),
		pluginapi.Method("NotifyRegistrationStatus", func(_ context.Context, q *pluginapi.RegistrationStatus) (*pluginapi.Empty, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.answers = append(d.answers, q.Error)
			return &pluginapi.Empty{}, nil
		}),
	})
	var working sync.WaitGroup
	working.Go(func() { _ = driver.Serve(at) })
	working.Go(func() { _ = registrar.Serve(registry) })
	working.Go(func() {
		<-ctx.Done()
		driver.Stop()
		registrar.Stop()
	})
	return working.Wait
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
// while published, two stages of one volume. Nil is what a test wants.
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
