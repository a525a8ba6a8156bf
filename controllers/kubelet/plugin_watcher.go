package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pluginapi"
)

// registryFolder is where plugins put the sockets at which they describe themselves, below RootDir.
const registryFolder = "plugins_registry"

// pluginWatcher registers the plugins whose sockets are in the folder, and forgets those whose sockets go.
// Each plugin is talked to by a goroutine of its own: one that hangs holds none of the others up.
type pluginWatcher struct {
	k    *Kubelet
	dir  string
	dial pluginapi.Dialer
	// types has what registers the plugins of a type.
	types map[string]pluginType
	nudge chan struct{} // capacity 1

	known   map[string]*socket // by path
	working sync.WaitGroup
}

// pluginType registers the plugins of one type.
type pluginType interface {
	// register takes up a plugin. serve runs until here ends, when the plugin or the kubelet has gone; until
	// ctx ends, which is the kubelet's, it may forget the plugin.
	register(ctx context.Context, info *pluginapi.PluginInfo) (serve func(ctx, here context.Context), err error)
}

// socket is a file that is or was in the folder.
type socket struct {
	info   fs.FileInfo
	cancel context.CancelFunc
}

// registryInterval is how often the folder is read without cause.
const registryInterval = 10 * time.Second

// run watches until ctx ends.
func (w *pluginWatcher) run(ctx context.Context) error {
	defer w.working.Wait()
	if err := os.MkdirAll(w.dir, 0o750); err != nil {
		return err
	}
	w.working.Go(func() {
		for ctx.Err() == nil {
			_ = w.k.opts.Host.WatchDir(ctx, w.dir, w.poke) // else the folder is read from time to time
			_ = backoff.Sleep(ctx, registryInterval)
		}
	})
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-w.nudge:
		case <-time.After(registryInterval):
		}
	}
}

func (w *pluginWatcher) poke() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

// look compares the folder with what is known.
func (w *pluginWatcher) look(ctx context.Context) {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.k.log.Warn("read plugin folder failed", "err", err)
		return
	}
	there := map[string]bool{}
	for _, e := range entries {
		if e.Type()&fs.ModeSocket == 0 || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // it has just gone
		}
		path := filepath.Join(w.dir, e.Name())
		there[path] = true
		if old := w.known[path]; old != nil {
			if os.SameFile(old.info, info) && old.info.ModTime().Equal(info.ModTime()) {
				continue
			}
			old.cancel() // the plugin has started again
		}
		one, cancel := context.WithCancel(ctx)
		w.known[path] = &socket{info: info, cancel: cancel}
		w.working.Go(func() {
			sockets := w.k.metrics.sockets
			sockets.add(sockets.paths, path, 1)
			defer sockets.add(sockets.paths, path, -1)
			w.follow(ctx, one, path)
		})
	}
	for path, old := range w.known {
		if !there[path] {
			old.cancel()
			delete(w.known, path)
		}
	}
}

// follow registers the plugin of a socket, and serves it until here ends.
func (w *pluginWatcher) follow(ctx, here context.Context, path string) {
	for n := 1; here.Err() == nil; n++ {
		serve, err := w.register(here, path)
		if err == nil {
			sockets := w.k.metrics.sockets
			sockets.add(sockets.registered, path, 1)
			defer sockets.add(sockets.registered, path, -1)
			serve(ctx, here)
			return
		}
		if here.Err() == nil {
			w.k.log.Warn("plugin registration failed", "socket", path, "err", err)
		}
		_ = backoff.Sleep(here, backoff.Policy{Initial: 500 * time.Millisecond, Max: time.Minute}.Delay(here, n))
	}
}

// register asks a plugin what it is, takes it up and says so to it.
func (w *pluginWatcher) register(ctx context.Context, path string) (serve func(ctx, here context.Context), err error) {
	conn, err := pluginapi.Dial(path, w.dial)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	info, err := registryCall[pluginapi.PluginInfo](ctx, conn, "GetInfo", &pluginapi.Empty{})
	if err != nil {
		return nil, fmt.Errorf("GetInfo: %w", err)
	}
	if info.Endpoint == "" {
		info.Endpoint = path
	}
	kind := w.types[info.Type]
	if kind == nil {
		err = fmt.Errorf("plugins of type %q are not supported", info.Type)
	} else if serve, err = kind.register(ctx, info); err == nil {
		w.k.log.Info("plugin registered", "type", info.Type, "name", info.Name)
	}
	answer := &pluginapi.RegistrationStatus{Registered: err == nil}
	if err != nil {
		answer.Error = "plugin registration failed with err: " + err.Error()
	}
	// A plugin that does not take the answer is registered all the same.
	_, failed := registryCall[pluginapi.Empty](ctx, conn, "NotifyRegistrationStatus", answer)
	if failed != nil && ctx.Err() == nil {
		w.k.log.Info("plugin did not take the answer to its registration", "name", info.Name, "err", failed)
	}
	return serve, err
}

func registryCall[Reply any](ctx context.Context, conn *grpc.ClientConn, method string, q any) (*Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, pluginTimeout)
	defer cancel()
	return pluginapi.Call[Reply](ctx, conn, "/pluginregistration.Registration/"+method, q)
}

// supportsMajor reports whether a plugin has a version of the interface that begins with a number.
func supportsMajor(versions []string, major string) error {
	for _, v := range versions {
		if v = strings.TrimPrefix(v, "v"); v == major || strings.HasPrefix(v, major+".") {
			return nil
		}
	}
	return errors.New("none of the versions " + strings.Join(versions, ", ") + " is supported: the kubelet has " + major + ".x")
}
