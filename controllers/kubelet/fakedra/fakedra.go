// Package fakedra is a simulated driver of dynamic resources for tests of what runs on a real kubelet: the
// node's part of a driver, with its registration and the health of its devices, over gRPC. It fails in the
// ways drivers do: calls that hang, that report success without having done anything, whose answers are lost,
// and restarts.
//
//	d := fakedra.New("gpus.example.com")
//	dial, wait, err := d.ServeInMemory(ctx, rootDir) // on virtual time; or
//	wait, err := d.Serve(ctx, rootDir)               // with sockets in the kubelet's folders
//
// Claims are not allocated here: a test creates ResourceClaims with an allocation that names the driver and
// is reserved for the pod, as the scheduler does.
package fakedra

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/fakeplugin"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// Claim is a ResourceClaim as the kubelet names it.
type Claim struct{ Namespace, Name, UID string }

// Device is a device that was prepared for a claim. Without Requests it is for all requests of the claim. CDI
// are the qualified names, such as example.com/gpu=0, that containers get.
type Device struct {
	Pool, Device string
	Requests     []string
	CDI          []string
}

// Health is the health of a device.
type Health string

// The values of Health.
const (
	Healthy   Health = "Healthy"
	Unhealthy Health = "Unhealthy"
	Unknown   Health = "Unknown"
)

// Driver is a simulated driver. What it has prepared outlives Serve, as that of a driver outlives its
// process. Set the functions before the first Serve; they and the methods may be called from many goroutines.
type Driver struct {
	// Devices returns those of a claim; nil means one device with the name of the claim in the pool "node",
	// which is NAME/device=CLAIM for containers.
	Devices func(Claim) []Device
	// Refuse, if not nil, returns why a claim is not prepared; empty means that it is.
	Refuse func(Claim) string
	// Fault returns how a call of a method, NodePrepareResources or NodeUnprepareResources, fails; nil means
	// that none does.
	Fault func(method string, claims []Claim) fakecri.Fault
	// Beta makes the driver one of before Kubernetes 1.34, which has v1beta1 of the interface only.
	Beta bool

	name    string
	sockets fakeplugin.Sockets

	mu       sync.Mutex
	calls    map[string]int
	prepared map[string]Claim // by UID
	answers  []string
	health   map[pluginapi.DRADeviceName]pluginapi.DRADeviceHealth
	// changed is closed when the health changes; nil while nothing waits for it.
	changed chan struct{}
}

// New returns a driver of a name, a DNS subdomain.
func New(name string) *Driver {
	return &Driver{name: name, calls: map[string]int{}, prepared: map[string]Claim{}, health: map[pluginapi.DRADeviceName]pluginapi.DRADeviceHealth{}}
}

// Name returns the name of the driver.
func (d *Driver) Name() string { return d.name }

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

func (d *Driver) service() string {
	if d.Beta {
		return pluginapi.DRAServiceBeta
	}
	return pluginapi.DRAService
}

func (d *Driver) plugin(root string) fakeplugin.Plugin {
	return fakeplugin.Plugin{Type: "DRAPlugin", Name: d.name, Versions: []string{d.service()}, Endpoint: fakeplugin.Endpoint(root, d.name, "dra.sock"),
		Registry: fakeplugin.Registry(root, d.name), Answered: func(failure string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.answers = append(d.answers, failure)
		}}
}

func (d *Driver) server() *grpc.Server {
	s := pluginapi.NewServer()
	pluginapi.Register(s, pluginapi.DRAPackage+d.service(), []grpc.MethodDesc{
		pluginapi.Method("NodePrepareResources", func(ctx context.Context, q *pluginapi.DRAClaims) (*pluginapi.DRAPrepared, error) {
			return answer(ctx, d, "NodePrepareResources", q, d.prepare)
		}),
		pluginapi.Method("NodeUnprepareResources", func(ctx context.Context, q *pluginapi.DRAClaims) (*pluginapi.DRAUnprepared, error) {
			return answer(ctx, d, "NodeUnprepareResources", q, d.unprepare)
		}),
	})
	pluginapi.Register(s, pluginapi.DRAHealthService, nil, pluginapi.Stream("NodeWatchResources", d.watch))
	return s
}

// answer answers a call, or lets it fail.
func answer[Reply any](ctx context.Context, d *Driver, method string, q *pluginapi.DRAClaims, handle func([]Claim) *Reply) (*Reply, error) {
	list := make([]Claim, 0, len(q.Claims))
	for _, c := range q.Claims {
		list = append(list, Claim{Namespace: c.Namespace, Name: c.Name, UID: c.UID})
	}
	d.mu.Lock()
	d.calls[method]++
	d.mu.Unlock()
	var fault fakecri.Fault
	if d.Fault != nil {
		fault = d.Fault(method, list)
	}
	lost := status.Error(codes.Unavailable, "the driver fails")
	switch fault {
	case fakecri.Before:
		return nil, lost
	case fakecri.After:
		handle(list)
		return nil, lost
	case fakecri.Instead:
		return new(Reply), nil
	case fakecri.Hang:
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return handle(list), nil
}

func (d *Driver) prepare(list []Claim) *pluginapi.DRAPrepared {
	reply := &pluginapi.DRAPrepared{Claims: map[string]pluginapi.DRAPreparedClaim{}}
	for _, c := range list {
		if d.Refuse != nil {
			if why := d.Refuse(c); why != "" {
				reply.Claims[c.UID] = pluginapi.DRAPreparedClaim{Error: why}
				continue
			}
		}
		devices := []Device{{Pool: "node", Device: c.Name, CDI: []string{d.name + "/device=" + c.Name}}}
		if d.Devices != nil {
			devices = d.Devices(c)
		}
		var one pluginapi.DRAPreparedClaim
		for _, dev := range devices {
			one.Devices = append(one.Devices, pluginapi.DRADevice{Requests: dev.Requests, Pool: dev.Pool, Device: dev.Device, CDI: dev.CDI})
		}
		reply.Claims[c.UID] = one
		d.mu.Lock()
		d.prepared[c.UID] = c
		d.mu.Unlock()
	}
	return reply
}

func (d *Driver) unprepare(list []Claim) *pluginapi.DRAUnprepared {
	reply := &pluginapi.DRAUnprepared{Claims: map[string]pluginapi.DRAFailure{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range list {
		delete(d.prepared, c.UID) // one that it does not know is no error
		reply.Claims[c.UID] = pluginapi.DRAFailure{}
	}
	return reply
}

// watch reports the health of devices, now and when it changes.
func (d *Driver) watch(ctx context.Context, _ *pluginapi.Empty, send func(*pluginapi.DRAHealth) error) error {
	for {
		report := &pluginapi.DRAHealth{}
		d.mu.Lock()
		for _, h := range d.health {
			report.Devices = append(report.Devices, h)
		}
		if d.changed == nil {
			d.changed = make(chan struct{})
		}
		changed := d.changed
		d.mu.Unlock()
		if len(report.Devices) > 0 {
			if err := send(report); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// SetHealth reports the health of a device, which is unknown to the kubelet again after so many seconds
// without another report; 0 means 30. The message is for users, and may be empty.
func (d *Driver) SetHealth(pool, device string, h Health, message string, seconds int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := pluginapi.DRADeviceName{Pool: pool, Device: device}
	one := pluginapi.DRADeviceHealth{Device: &name, Message: message, Timeout: seconds}
	one.SetStatus(string(h))
	d.health[name] = one
	if d.changed != nil {
		close(d.changed)
		d.changed = nil
	}
}

// Calls returns how often a method was called.
func (d *Driver) Calls(method string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[method]
}

// Prepared returns the names of the claims that are prepared, as namespace/name, sorted.
func (d *Driver) Prepared() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []string
	for _, uid := range slices.Sorted(maps.Keys(d.prepared)) {
		list = append(list, d.prepared[uid].Namespace+"/"+d.prepared[uid].Name)
	}
	slices.Sort(list)
	return list
}

// Registrations returns the kubelet's answers to registrations: the error, or "" for success.
func (d *Driver) Registrations() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.answers)
}
