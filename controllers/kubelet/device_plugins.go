package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/placement"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// PluginOptions say how the kubelet meets the plugins of the node.
type PluginOptions struct {
	// Listener is where device plugins register; nil means the socket device-plugins/kubelet.sock in RootDir,
	// which Run makes, and where plugins look for it. What other sockets are there is removed.
	Listener net.Listener
	// ResourcesListener serves the API of pod resources; nil means the socket pod-resources/kubelet.sock in
	// RootDir.
	ResourcesListener net.Listener
	// Dial connects to the socket of a plugin; nil means that of its path.
	Dial func(ctx context.Context, path string) (net.Conn, error)
}

// dialer connects to plugins. o may be nil.
func (o *PluginOptions) dialer() pluginapi.Dialer {
	if o == nil || o.Dial == nil {
		return pluginapi.DialUnix
	}
	return o.Dial
}

// devicePlugin is a connection to a plugin.
type devicePlugin struct {
	resource corev1.ResourceName
	options  pluginapi.DeviceOptions
	conn     *grpc.ClientConn
	stop     context.CancelFunc
}

func (p *devicePlugin) method(name string) string { return "/v1beta1.DevicePlugin/" + name }

func (p *devicePlugin) allocate(ctx context.Context, ids []string) (*pluginapi.ContainerAllocation, error) {
	ctx, cancel := context.WithTimeout(ctx, pluginTimeout)
	defer cancel()
	reply, err := pluginapi.Call[pluginapi.AllocateReply](ctx, p.conn, p.method("Allocate"), &pluginapi.AllocateRequest{Containers: []pluginapi.DeviceIDs{{IDs: ids}}})
	if err != nil {
		return nil, err
	}
	if len(reply.Containers) != 1 {
		return nil, fmt.Errorf("an answer for %d containers, want 1", len(reply.Containers))
	}
	return &reply.Containers[0], nil
}

func (p *devicePlugin) preferred(ctx context.Context, available, must []string, count int) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, pluginTimeout)
	defer cancel()
	reply, err := pluginapi.Call[pluginapi.PreferredReply](ctx, p.conn, p.method("GetPreferredAllocation"), &pluginapi.PreferredRequest{
		Containers: []pluginapi.ContainerPreferred{{Available: available, Must: must, Size: int32(count)}}})
	if err != nil {
		return nil, err
	}
	if len(reply.Containers) != 1 {
		return nil, fmt.Errorf("an answer for %d containers, want 1", len(reply.Containers))
	}
	return reply.Containers[0].IDs, nil
}

func (p *devicePlugin) preStart(ctx context.Context, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, pluginTimeout)
	defer cancel()
	_, err := pluginapi.Call[pluginapi.Empty](ctx, p.conn, p.method("PreStartContainer"), &pluginapi.DeviceIDs{IDs: ids})
	return err
}

// deviceServer is where device plugins register.
type deviceServer struct {
	*devices
	opts    PluginOptions
	dir     string
	follows sync.WaitGroup
}

// run serves until ctx ends.
func (s *deviceServer) run(ctx context.Context) error {
	defer s.follows.Wait()
	l := s.opts.Listener
	if l == nil {
		var err error
		if l, err = listenUnix(ctx, s.dir, "kubelet.sock"); err != nil {
			return err
		}
	}
	return servePlugins(ctx, l, "v1beta1.Registration", []grpc.MethodDesc{pluginapi.Method("Register",
		func(_ context.Context, q *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
			return s.register(ctx, q)
		})})
}

// listenUnix makes a socket in a directory of its own. It is there when plugins see that the old one is gone.
func listenUnix(ctx context.Context, dir, name string) (net.Listener, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSocket == 0 {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	var lc net.ListenConfig
	return lc.Listen(ctx, "unix", filepath.Join(dir, name))
}

// register takes up a plugin and follows it until ctx ends.
func (s *deviceServer) register(ctx context.Context, q *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
	s.metrics.registrations.WithLabelValues(q.Resource).Inc()
	if err := checkPlugin(q); err != nil {
		s.log.Warn("a device plugin was refused", "resource", q.Resource, "err", err)
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	conn, err := pluginapi.Dial(filepath.Join(s.dir, filepath.Base(q.Endpoint)), s.opts.dialer())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &devicePlugin{resource: corev1.ResourceName(q.Resource), conn: conn, stop: cancel}
	if q.Options != nil {
		p.options = *q.Options
	}
	s.connected(p)
	s.log.Info("device plugin registered", "resource", q.Resource)
	s.follows.Go(func() {
		defer cancel()
		defer conn.Close()
		err := s.follow(ctx, p)
		s.disconnected(p)
		if ctx.Err() == nil {
			s.log.Warn("device plugin lost", "resource", p.resource, "err", err)
		}
	})
	return &pluginapi.Empty{}, nil
}

// follow takes up the lists of a plugin until there are no more.
func (s *deviceServer) follow(ctx context.Context, p *devicePlugin) error {
	return pluginapi.Receive(ctx, p.conn, p.method("ListAndWatch"), &pluginapi.Empty{}, func(list *pluginapi.DeviceList) error {
		s.listed(p, list.Devices)
		return nil
	})
}

// grants returns what the containers of a pod got of device plugins, by name. It must not be changed.
func (l *ledger) grants(uid types.UID) map[string][]grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.in[uid]; t != nil {
		return t.Grants
	}
	return nil
}

// grant gives a pod that has just been let in its devices, and CPUs and memory of its own, or says why it
// cannot have them.
func (l *ledger) grant(ctx context.Context, pod *corev1.Pod) *verdict {
	l.mu.Lock()
	t := l.in[pod.UID]
	done := t == nil || t.Grants != nil || t.Placed != nil
	l.mu.Unlock()
	if done || l.devices == nil && l.placer == nil {
		return nil
	}
	pod = l.apply(pod)
	placed, grants, err := l.placer.place(ctx, pod, l.devices)
	if err == nil && grants == nil && placed == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t = l.in[pod.UID]; err == nil && t != nil {
		t.Grants, t.Placed = grants, placed
		err = l.save(pod.UID, &t.allocation)
	}
	if err == nil && t != nil {
		return nil
	}
	l.devices.release(pod.UID)
	l.placer.release(pod.UID)
	if err == nil {
		return nil // it has left meanwhile
	}
	why := refusal("UnexpectedAdmissionError", err.Error())
	if r, ok := errors.AsType[*placement.Refusal](err); ok {
		why = refusal(r.Reason, r.Message)
	}
	l.leave(pod.UID)
	l.refused[pod.UID] = why
	return why
}
