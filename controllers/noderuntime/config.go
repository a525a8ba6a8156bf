package noderuntime

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/netip"
	"path/filepath"
	"strings"
)

// paths are the parts of Dir.
type paths struct {
	dir, root, state, socket, config, cni, ipam, lock, pid, stderr string
}

func pathsOf(dir string) paths {
	in := func(p string) string { return filepath.Join(dir, p) }
	p := paths{dir: dir, root: in("root"), state: in("state"), socket: in("containerd.sock"), config: in("containerd.toml"),
		cni: in("cni"), ipam: in("ipam"), lock: in("lock"), pid: in("containerd.pid"), stderr: in("containerd.log")}
	if len(dir) > maxDir {
		// The kernel bounds the paths of sockets, and shims derive theirs from state.
		h := fnv.New64a()
		_, _ = h.Write([]byte(dir))
		short := fmt.Sprintf("/run/keelson-%x", h.Sum64())
		p.state, p.socket = short, short+".sock"
	}
	return p
}

// maxDir is how long Dir may be with the sockets inside it.
const maxDir = 80

// containerdConfig is the configuration file; containerd 2 reads version 2 as well.
func containerdConfig(p paths, cniBin, snapshotter string, restrictOOM, systemd, selinux bool) string {
	var b strings.Builder
	f := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	f("version = 2")
	f("root = %q", p.root)
	f("state = %q", p.state)
	f(`disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.tracing.processor.v1.otlp"]`)
	f("[grpc]")
	f("  address = %q", p.socket)
	f("[ttrpc]")
	f("  address = %q", p.socket+".ttrpc")
	f("[debug]")
	f(`  level = "warn"`)
	f(`[plugins."io.containerd.grpc.v1.cri"]`)
	f("  sandbox_image = %q", PauseImage)
	f("  restrict_oom_score_adj = %v", restrictOOM)
	f("  enable_selinux = %v", selinux)
	f(`  stream_server_address = "127.0.0.1"`)
	f(`  stream_server_port = "0"`)
	f("  netns_mounts_under_state_dir = true")
	f(`[plugins."io.containerd.grpc.v1.cri".cni]`)
	f("  bin_dir = %q", cniBin)
	f("  conf_dir = %q", p.cni)
	f(`[plugins."io.containerd.grpc.v1.cri".containerd]`)
	f("  snapshotter = %q", snapshotter)
	f(`  default_runtime_name = "runc"`)
	f(`[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]`)
	f(`  runtime_type = "io.containerd.runc.v2"`)
	f(`[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]`)
	f("  SystemdCgroup = %v", systemd)
	return b.String()
}

// networkConfig is the list of CNI plugins: a bridge, addresses of the node's range, and host ports.
func networkConfig(opts Options, p paths, masquerade, portmap bool) ([]byte, error) {
	subnet := func(of netip.Prefix) []any { return []any{map[string]any{"subnet": of.Masked().String()}} }
	ranges, routes := []any{subnet(opts.PodCIDR)}, []any{map[string]any{"dst": "0.0.0.0/0"}}
	if opts.PodCIDR6.IsValid() {
		ranges, routes = append(ranges, subnet(opts.PodCIDR6)), append(routes, map[string]any{"dst": "::/0"})
	}
	plugins := []any{map[string]any{
		"type": "bridge", "bridge": opts.Bridge, "isGateway": true, "ipMasq": masquerade, "hairpinMode": true,
		"ipam": map[string]any{
			"type": "host-local", "dataDir": p.ipam, "ranges": ranges, "routes": routes,
		},
	}}
	if portmap {
		plugins = append(plugins, map[string]any{"type": "portmap", "capabilities": map[string]any{"portMappings": true}})
	}
	return json.MarshalIndent(map[string]any{"cniVersion": "0.4.0", "name": "keelson", "plugins": plugins}, "", "  ")
}
