package noderuntime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/controllers/internal/mountinfo"
)

// startTimeout is how long containerd may take to answer; stopTimeout how long to end.
const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 10 * time.Second
)

var cniDirs = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// lookPath finds a program, also where only root looks.
func lookPath(name string) (string, error) {
	if p, err := exec.LookPath(name); err == nil {
		return p, nil
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin"} {
		p := filepath.Join(dir, name)
		if info, err := os.Stat(p); err == nil && info.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", fmt.Errorf("%s is not installed", name)
}

func cniDir() (string, error) {
	for _, dir := range cniDirs {
		if _, err := os.Stat(filepath.Join(dir, "bridge")); err == nil {
			if _, err := os.Stat(filepath.Join(dir, "host-local")); err == nil {
				return dir, nil
			}
		}
	}
	return "", fmt.Errorf("the CNI plugins bridge and host-local are not installed (looked in %s)", strings.Join(cniDirs, ", "))
}

// Missing returns an error that lists what this host lacks to run a private containerd, or nil.
func Missing() error {
	var errs []error
	if os.Geteuid() != 0 {
		errs = append(errs, errors.New("not root"))
	}
	for _, name := range []string{"containerd", "ctr", "runc"} {
		if _, err := lookPath(name); err != nil {
			errs = append(errs, err)
		}
	}
	if _, err := cniDir(); err != nil {
		errs = append(errs, err)
	}
	if _, err := PauseBinary(goruntime.GOARCH); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return nil
	}
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return errors.New(strings.Join(texts, ", "))
}

// Runtime is a running containerd.
type Runtime struct {
	opts    Options
	log     *slog.Logger
	paths   paths
	lock    *os.File
	cmd     *exec.Cmd
	done    chan struct{}
	version string
	bridge  bool // the bridge is ours

	close sync.Once
	err   error
}

// Start starts containerd and imports the images. The error contains what is missing or containerd's last
// output.
func Start(ctx context.Context, opts Options) (_ *Runtime, err error) {
	if why := Missing(); why != nil {
		return nil, fmt.Errorf("noderuntime: %w", why)
	}
	if !filepath.IsAbs(opts.Dir) {
		return nil, fmt.Errorf("noderuntime: Options.Dir %q is not absolute", opts.Dir)
	}
	if !opts.PodCIDR.Addr().Is4() {
		return nil, fmt.Errorf("noderuntime: Options.PodCIDR %v is not an IPv4 range", opts.PodCIDR)
	}
	if six := opts.PodCIDR6; six.IsValid() && !six.Addr().Is6() {
		return nil, fmt.Errorf("noderuntime: Options.PodCIDR6 %v is not an IPv6 range", six)
	}
	if opts.Bridge == "" {
		opts.Bridge = "cni0"
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	r := &Runtime{opts: opts, log: opts.Logger, paths: pathsOf(opts.Dir), done: make(chan struct{})}
	if err := os.MkdirAll(opts.Dir, 0o711); err != nil {
		return nil, err
	}
	if err := r.takeLock(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = r.Close()
		}
	}()
	r.endDaemon() // of a killed run
	if err := r.writeConfig(); err != nil {
		return nil, err
	}
	if err := r.makeBridge(); err != nil {
		return nil, err
	}
	if err := r.startDaemon(ctx); err != nil {
		return nil, err
	}
	if !opts.Adopt {
		if err := r.removePods(ctx); err != nil {
			return nil, fmt.Errorf("remove what an earlier run left: %w", err)
		}
	}
	return r, r.importImages(ctx)
}

// Endpoint returns the CRI socket, for kubelet.Options.RuntimeEndpoint.
func (r *Runtime) Endpoint() string { return "unix://" + r.paths.socket }

// Version returns the version of containerd.
func (r *Runtime) Version() string { return r.version }

// Done returns a channel that is closed when containerd has exited.
func (r *Runtime) Done() <-chan struct{} { return r.done }

func (r *Runtime) takeLock() error {
	f, err := os.OpenFile(r.paths.lock, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		who, _ := io.ReadAll(io.LimitReader(f, 32))
		_ = f.Close()
		return fmt.Errorf("noderuntime: %s is in use by process %s", r.paths.dir, strings.TrimSpace(string(who)))
	}
	_ = f.Truncate(0)
	_, _ = fmt.Fprintf(f, "%d\n", os.Getpid())
	r.lock = f
	return nil
}

func (r *Runtime) writeConfig() error {
	bin, err := cniDir()
	if err != nil {
		return err
	}
	for _, dir := range []string{r.paths.root, r.paths.state, r.paths.cni, r.paths.ipam} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return err
		}
	}
	_, err = lookPath("iptables")
	iptables := err == nil
	_, err = os.Stat(filepath.Join(bin, "portmap"))
	network, err := networkConfig(r.opts, r.paths, iptables, iptables && err == nil)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.paths.cni, "10-keelson.conflist"), network, 0o644); err != nil {
		return err
	}
	config := containerdConfig(r.paths, bin, r.snapshotter(), !hasCapability(unix.CAP_SYS_RESOURCE), r.opts.SystemdCgroups, r.opts.SELinux)
	return os.WriteFile(r.paths.config, []byte(config), 0o644)
}

// hasCapability reports whether this process has a capability.
func hasCapability(n int) bool {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "CapEff:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(v), 16, 64)
			return err == nil && set&(1<<n) != 0
		}
	}
	return false
}

// snapshotter is overlayfs where the file system of Dir can carry it, else plain copies.
func (r *Runtime) snapshotter() string {
	dir, err := os.MkdirTemp(r.paths.dir, "overlay-")
	if err != nil {
		return "native"
	}
	defer os.RemoveAll(dir)
	var sub [4]string
	for i, name := range []string{"lower", "upper", "work", "merged"} {
		sub[i] = filepath.Join(dir, name)
		if os.Mkdir(sub[i], 0o755) != nil {
			return "native"
		}
	}
	if unix.Mount("overlay", sub[3], "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", sub[0], sub[1], sub[2])) != nil {
		return "native"
	}
	_ = unix.Unmount(sub[3], 0)
	return "overlayfs"
}

// makeBridge makes the device pods are attached to, with the node's address in their range, before the first
// pod would.
func (r *Runtime) makeBridge() error {
	ip, err := lookPath("ip")
	if err != nil {
		return fmt.Errorf("noderuntime: %w", err)
	}
	run := func(args ...string) error {
		if out, err := exec.Command(ip, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("noderuntime: ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
		}
		return nil
	}
	address := netip.PrefixFrom(Gateway(r.opts.PodCIDR), r.opts.PodCIDR.Bits()).String()
	if device, err := net.InterfaceByName(r.opts.Bridge); err == nil {
		// Left by a killed run, or of another program.
		addrs, _ := device.Addrs()
		if !slices.ContainsFunc(addrs, func(a net.Addr) bool { return a.String() == address }) {
			return fmt.Errorf("noderuntime: the device %s is there already without the address %s: it belongs to something else", r.opts.Bridge, address)
		}
	} else if err := run("link", "add", r.opts.Bridge, "type", "bridge"); err != nil {
		return err
	}
	r.bridge = true
	if err := errors.Join(run("address", "replace", address, "dev", r.opts.Bridge), run("link", "set", r.opts.Bridge, "up")); err != nil {
		return err
	}
	if six := r.opts.PodCIDR6; six.IsValid() {
		// No other machine can have the address. To look for one takes seconds.
		if err := run("-6", "address", "replace", netip.PrefixFrom(Gateway(six), six.Bits()).String(), "dev", r.opts.Bridge, "nodad"); err != nil {
			return err
		}
		_ = os.WriteFile("/proc/sys/net/ipv6/conf/all/forwarding", []byte("1"), 0o644)
	}
	if r.opts.ServiceCIDR.IsValid() {
		if err := run("route", "replace", r.opts.ServiceCIDR.Masked().String(), "dev", r.opts.Bridge); err != nil {
			return err
		}
	}
	_ = os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
	// Traffic between pods on the bridge must pass the kernel's rules, or services do not work from pods.
	_ = os.WriteFile("/proc/sys/net/bridge/bridge-nf-call-iptables", []byte("1"), 0o644)
	// A service address leads back to the bridge the pod is on: without this the pod receives a redirect to a
	// better route before the packet is refused, and waits for an answer instead of learning that the service
	// has no endpoints.
	for _, device := range []string{"all", r.opts.Bridge} {
		_ = os.WriteFile("/proc/sys/net/ipv4/conf/"+device+"/send_redirects", []byte("0"), 0o644)
	}
	return nil
}

// Gateway returns the address of the node in the range of its pods.
func (r *Runtime) Gateway() netip.Addr { return Gateway(r.opts.PodCIDR) }

func (r *Runtime) startDaemon(ctx context.Context) error {
	path, err := lookPath("containerd")
	if err != nil {
		return err
	}
	out, err := os.Create(r.paths.stderr)
	if err != nil {
		return err
	}
	defer out.Close()
	_ = os.Remove(r.paths.socket)
	r.cmd = exec.Command(path, "--config", r.paths.config)
	r.cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin", "TMPDIR="+r.paths.state)
	r.cmd.Stdout, r.cmd.Stderr = out, out
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ctrl-C is for us; we end it in order
	if err := r.cmd.Start(); err != nil {
		r.cmd = nil
		return err
	}
	go func() {
		_ = r.cmd.Wait()
		close(r.done)
	}()
	if err := os.WriteFile(r.paths.pid, []byte(strconv.Itoa(r.cmd.Process.Pid)), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return r.withCRI(func(rt cri.RuntimeServiceClient, images cri.ImageServiceClient) error {
		for {
			call, done := context.WithTimeout(ctx, 2*time.Second)
			v, err := rt.Version(call, &cri.VersionRequest{})
			done()
			if err == nil {
				r.version = v.RuntimeName + " " + v.RuntimeVersion
				return nil
			}
			select {
			case <-r.done:
				return fmt.Errorf("containerd ended: %s", r.lastWords())
			case <-ctx.Done():
				return fmt.Errorf("containerd did not become ready: %w: %s", err, r.lastWords())
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

// lastWords is the end of containerd's log.
func (r *Runtime) lastWords() string {
	b, _ := os.ReadFile(r.paths.stderr)
	return strings.TrimSpace(string(b[max(0, len(b)-2000):]))
}

func (r *Runtime) withCRI(f func(cri.RuntimeServiceClient, cri.ImageServiceClient) error) error {
	c, err := grpc.NewClient("unix://"+r.paths.socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			// A refused connection must not put grpc into its back-off while containerd starts.
			for {
				var d net.Dialer
				conn, err := d.DialContext(ctx, "unix", r.paths.socket)
				if err == nil || ctx.Err() != nil {
					return conn, err
				}
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-time.After(10 * time.Millisecond):
				}
			}
		}))
	if err != nil {
		return err
	}
	defer c.Close()
	return f(cri.NewRuntimeServiceClient(c), cri.NewImageServiceClient(c))
}

// removePods ends and removes all pods.
func (r *Runtime) removePods(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return r.withCRI(func(rt cri.RuntimeServiceClient, _ cri.ImageServiceClient) error {
		list, err := rt.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
		if err != nil {
			return err
		}
		errs := make([]error, len(list.Items))
		var wg sync.WaitGroup
		slots := make(chan struct{}, 8)
		for i, s := range list.Items {
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				if _, err := rt.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: s.Id}); err != nil {
					errs[i] = err
				}
				if _, err := rt.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: s.Id}); err != nil {
					errs[i] = err
				}
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	})
}

// importImages makes and imports the pause image and what Options name.
func (r *Runtime) importImages(ctx context.Context) error {
	pause, err := PauseBinary(goruntime.GOARCH)
	if err != nil {
		return err
	}
	images := []Image{{Name: PauseImage, Arch: goruntime.GOARCH, Files: map[string][]byte{"pause": pause}, Entrypoint: []string{"/pause"}}}
	if r.opts.Busybox {
		if b, err := Busybox(); err == nil {
			images = append(images, b)
		} else {
			r.log.Info("create busybox image failed", "err", err)
		}
	}
	path := filepath.Join(r.paths.dir, "images.tar")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	err = WriteArchive(f, images...)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	archives := []string{path}
	if r.opts.ImageDir != "" {
		more, err := filepath.Glob(filepath.Join(r.opts.ImageDir, "*.tar"))
		if err != nil {
			return err
		}
		slices.Sort(more)
		archives = append(archives, more...)
	}
	for _, a := range archives {
		if err := r.Import(ctx, a); err != nil {
			return err
		}
	}
	// The CRI plugin learns of images by events.
	return r.withCRI(func(_ cri.RuntimeServiceClient, service cri.ImageServiceClient) error {
		for range 200 {
			all := true
			for _, i := range images {
				st, err := service.ImageStatus(ctx, &cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: i.Name}})
				if err != nil {
					return err
				}
				all = all && st.Image != nil
			}
			if all {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
		return errors.New("noderuntime: the imported images did not appear")
	})
}

// Busybox returns an image with the host's busybox, which must be statically linked.
func Busybox() (Image, error) {
	path, err := lookPath("busybox")
	if err != nil {
		return Image{}, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return Image{}, err
	}
	if strings.Contains(string(b[:min(len(b), 4096)]), "/ld-") {
		return Image{}, fmt.Errorf("%s is not static", path)
	}
	out, err := exec.Command(path, "--list").Output()
	if err != nil {
		return Image{}, fmt.Errorf("%s --list: %w", path, err)
	}
	image := Image{Name: BusyboxImage, Arch: goruntime.GOARCH, Cmd: []string{"sh"}, Links: map[string]string{},
		Files: map[string][]byte{"bin/busybox": b, "etc/passwd": []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
			"etc/group": []byte("root:x:0:\nnobody:x:65534:\n")}}
	for _, applet := range strings.Fields(string(out)) {
		if applet != "busybox" {
			image.Links["bin/"+applet] = "busybox"
		}
	}
	return image, nil
}

// Import imports an image archive.
func (r *Runtime) Import(ctx context.Context, archive string) error {
	ctr, err := lookPath("ctr")
	if err != nil {
		return err
	}
	snapshotter := "overlayfs"
	if b, err := os.ReadFile(r.paths.config); err == nil && strings.Contains(string(b), `snapshotter = "native"`) {
		snapshotter = "native"
	}
	out, err := exec.CommandContext(ctx, ctr, "--address", r.paths.socket, "--namespace", "k8s.io", "images", "import",
		"--snapshotter", snapshotter, archive).CombinedOutput()
	if err != nil {
		return fmt.Errorf("import %s: %w: %s", archive, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Close stops the pods and containerd and removes their processes, mounts and files. It may be called more
// than once.
func (r *Runtime) Close() error {
	r.close.Do(func() {
		if r.cmd != nil {
			select {
			case <-r.done:
			default:
				r.err = r.removePods(context.Background())
			}
			_ = r.cmd.Process.Signal(syscall.SIGTERM)
			select {
			case <-r.done:
			case <-time.After(stopTimeout):
				_ = r.cmd.Process.Kill()
				<-r.done
			}
			_ = os.Remove(r.paths.pid)
		}
		if r.cmd != nil {
			r.endShims()
			r.unmountAll()
			_ = os.RemoveAll(r.paths.state)
			_ = os.RemoveAll(r.paths.ipam)
		}
		if r.bridge {
			if ip, err := lookPath("ip"); err == nil {
				_ = exec.Command(ip, "link", "delete", r.opts.Bridge).Run()
			}
		}
		_ = os.Remove(r.paths.socket)
		_ = os.Remove(r.paths.socket + ".ttrpc")
		_ = r.lock.Close() // releases it
	})
	return r.err
}

// endDaemon ends the containerd of a run that was killed. Its shims and pods stay for the new one.
func (r *Runtime) endDaemon() {
	b, err := os.ReadFile(r.paths.pid)
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || !slices.Contains(arguments(pid), r.paths.config) {
		return // another process by now
	}
	_ = syscall.Kill(pid, syscall.SIGTERM)
	for range 500 {
		if !slices.Contains(arguments(pid), r.paths.config) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	time.Sleep(100 * time.Millisecond)
}

func arguments(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
}

// endShims kills the remaining shims of this containerd and all processes below them.
func (r *Runtime) endShims() {
	err := endTrees(func(pid int) bool {
		args := arguments(pid)
		return len(args) > 0 && strings.Contains(args[0], "containerd-shim") && slices.Contains(args, r.paths.socket)
	}, stopTimeout)
	if err != nil {
		r.log.Warn("end shims failed", "err", err)
	}
}

// unmountAll unmounts everything below the runtime's directories, the deepest mount points first.
func (r *Runtime) unmountAll() {
	points, err := mountinfo.Points()
	if err != nil {
		r.log.Warn("list mount points failed", "err", err)
		return
	}
	points = slices.DeleteFunc(points, func(p string) bool {
		return !strings.HasPrefix(p, r.paths.dir+"/") && !strings.HasPrefix(p, r.paths.state+"/")
	})
	slices.SortFunc(points, func(a, b string) int { return len(b) - len(a) })
	for _, p := range points {
		_ = unix.Unmount(p, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	}
}
