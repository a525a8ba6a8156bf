// Package fakeplugin serves simulated plugins of the kubelet at sockets of their own, with their
// registration. The tests are those of packages fakecsi and fakedra.
package fakeplugin

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// Plugin is how a plugin describes itself at its socket for registrations. Answered is called with the
// kubelet's answers: the error, or "".
type Plugin struct {
	Type, Name string
	Versions   []string
	// Endpoint is the socket of the plugin, Registry that of its registration.
	Endpoint, Registry string
	Answered           func(failure string)
}

// Endpoint is the socket of a plugin for the kubelet with the root directory root.
func Endpoint(root, name, file string) string { return filepath.Join(root, "plugins", name, file) }

// Registry is the socket of a plugin's registration.
func Registry(root, name string) string {
	return filepath.Join(root, "plugins_registry", name+"-reg.sock")
}

// Serve serves a plugin on Unix sockets until ctx ends. wait returns when the sockets have gone and all calls
// have ended.
func Serve(ctx context.Context, p Plugin, server *grpc.Server) (wait func(), err error) {
	at, err := listen(ctx, p.Endpoint)
	if err != nil {
		return nil, err
	}
	registry, err := listen(ctx, p.Registry)
	if err != nil {
		return nil, errors.Join(err, at.Close())
	}
	return p.serve(ctx, server, at, registry), nil
}

// Sockets are those in memory. The zero value has none. Safe for concurrent use.
type Sockets struct {
	mu     sync.Mutex
	byPath map[string]*bufconn.Listener
}

// Serve is Serve without I/O: the kubelet sees the socket of the registration, and connects with Dial.
func (s *Sockets) Serve(ctx context.Context, p Plugin, server *grpc.Server) (wait func(), err error) {
	if err := free(p.Registry); err != nil { // only to be seen
		return nil, err
	}
	if err := socketFile(ctx, p.Registry); err != nil {
		return nil, err
	}
	at, registry := bufconn.Listen(1<<16), bufconn.Listen(1<<16)
	s.mu.Lock()
	if s.byPath == nil {
		s.byPath = map[string]*bufconn.Listener{}
	}
	s.byPath[p.Endpoint], s.byPath[p.Registry] = at, registry
	s.mu.Unlock()
	served := p.serve(ctx, server, at, registry)
	return func() {
		served()
		_ = os.Remove(p.Registry)
	}, nil
}

// Dial connects to a socket.
func (s *Sockets) Dial(ctx context.Context, path string) (net.Conn, error) {
	s.mu.Lock()
	l := s.byPath[path]
	s.mu.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "unix", Err: fs.ErrNotExist}
	}
	return l.DialContext(ctx)
}

// Dialer connects to the first of the sockets that has the path.
func Dialer(all ...*Sockets) func(ctx context.Context, path string) (net.Conn, error) {
	return func(ctx context.Context, path string) (conn net.Conn, err error) {
		err = &net.OpError{Op: "dial", Net: "unix", Err: fs.ErrNotExist}
		for _, s := range all {
			if conn, err = s.Dial(ctx, path); !errors.Is(err, fs.ErrNotExist) {
				return conn, err
			}
		}
		return nil, err
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

func (p Plugin) serve(ctx context.Context, server *grpc.Server, at, registry net.Listener) (wait func()) {
	registrar := pluginapi.NewServer()
	pluginapi.Register(registrar, "pluginregistration.Registration", []grpc.MethodDesc{
		pluginapi.Method("GetInfo", func(context.Context, *pluginapi.Empty) (*pluginapi.PluginInfo, error) {
			return &pluginapi.PluginInfo{Type: p.Type, Name: p.Name, Endpoint: p.Endpoint, Versions: p.Versions}, nil
		}),
		pluginapi.Method("NotifyRegistrationStatus", func(_ context.Context, q *pluginapi.RegistrationStatus) (*pluginapi.Empty, error) {
			p.Answered(q.Error)
			return &pluginapi.Empty{}, nil
		}),
	})
	var working sync.WaitGroup
	working.Go(func() { _ = server.Serve(at) })
	working.Go(func() { _ = registrar.Serve(registry) })
	working.Go(func() {
		<-ctx.Done()
		server.Stop()
		registrar.Stop()
	})
	return working.Wait
}
