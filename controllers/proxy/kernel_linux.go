package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// NewKernel returns the kernel in a network namespace, given as a path such as /run/netns/name; empty means
// that of the process. It requires CAP_NET_ADMIN there.
func NewKernel(netns string) (Kernel, error) {
	if netns != "" {
		if _, err := os.Stat(netns); err != nil {
			return nil, fmt.Errorf("proxy: network namespace: %w", err)
		}
	}
	return &linux{netns: netns}, nil
}

type linux struct {
	netns string
	paths sync.Map // of programs that were run, by name
}

// sbin is where the tools are if PATH does not say.
var sbin = []string{"/usr/sbin", "/sbin", "/usr/local/sbin"}

func (k *linux) Run(ctx context.Context, stdin []byte, name string, args ...string) ([]byte, error) {
	known, ok := k.paths.Load(name)
	path, _ := known.(string)
	if !ok {
		path, ok = lookPath(name)
	}
	argv := append([]string{path}, args...)
	if !ok {
		return nil, &CommandError{Command: strings.Join(argv, " "), Err: exec.ErrNotFound}
	}
	if k.netns != "" {
		argv = append([]string{"nsenter", "--net=" + k.netns, "--"}, argv...)
	}
	out, err := run(ctx, stdin, argv)
	if err == nil {
		k.paths.Store(name, path)
	} else {
		k.paths.Delete(name) // it may have been moved
	}
	return out, err
}

func lookPath(name string) (path string, ok bool) {
	if path, err := exec.LookPath(name); err == nil {
		return path, true
	}
	for _, dir := range sbin {
		if path := filepath.Join(dir, name); executable(path) {
			return path, true
		}
	}
	return name, false
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// NFTRules implements Kernel.
func (k *linux) NFTRules(f Family, table, chain string) (n int, err error) {
	const subsystem = unix.NFNL_SUBSYS_NFTABLES << 8
	family := uint8(unix.AF_INET)
	if f == IPv6 {
		family = unix.AF_INET6
	}
	err = k.in(func() error {
		req := nl.NewNetlinkRequest(subsystem|unix.NFT_MSG_GETRULE, unix.NLM_F_DUMP)
		req.AddData(&nl.Nfgenmsg{NfgenFamily: family})
		req.AddData(nl.NewRtAttr(unix.NFTA_RULE_TABLE, nl.ZeroTerminated(table)))
		req.AddData(nl.NewRtAttr(unix.NFTA_RULE_CHAIN, nl.ZeroTerminated(chain)))
		rules, err := req.Execute(unix.NETLINK_NETFILTER, subsystem|unix.NFT_MSG_NEWRULE)
		n = len(rules)
		if errors.Is(err, nl.ErrDumpInterrupted) && n > 0 {
			return nil // rules have changed meanwhile, but there are some
		}
		return err
	})
	if err != nil {
		return n, fmt.Errorf("proxy: rules of chain %s: %w", chain, err)
	}
	return n, nil
}

// in runs f on a thread in the namespace.
func (k *linux) in(f func() error) error {
	if k.netns == "" {
		return f()
	}
	result := make(chan error, 1)
	go func() {
		// The goroutine ends with the thread locked, so the thread ends too and no goroutine inherits the
		// namespace.
		runtime.LockOSThread()
		fd, err := unix.Open(k.netns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
			_ = unix.Close(fd)
		}
		if err != nil {
			result <- fmt.Errorf("proxy: enter network namespace %s: %w", k.netns, err)
			return
		}
		result <- f()
	}()
	return <-result
}

func (k *linux) SetSysctl(name, value string) error {
	return k.in(func() error {
		path := filepath.Join("/proc/sys", name)
		now, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("proxy: sysctl %s: %w", name, err)
		}
		if strings.TrimSpace(string(now)) == value {
			return nil // it may be read-only and right
		}
		if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
			return fmt.Errorf("proxy: sysctl %s=%s: %w", name, value, err)
		}
		return nil
	})
}

func (k *linux) Sysctl(name string) (value string, err error) {
	err = k.in(func() error {
		b, err := os.ReadFile(filepath.Join("/proc/sys", name))
		value = strings.TrimSpace(string(b))
		return err
	})
	return value, err
}

func (k *linux) Addrs() (out []netip.Addr, err error) {
	err = k.in(func() error {
		skip := -1 // it has the addresses of Services
		if link, err := netlink.LinkByName(IPVSDevice); err == nil {
			skip = link.Attrs().Index
		}
		list, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
		if err != nil {
			return err
		}
		for _, a := range list {
			if ip, ok := netip.AddrFromSlice(a.IP); ok && a.LinkIndex != skip {
				out = append(out, ip.Unmap())
			}
		}
		return nil
	})
	return out, err
}

func (k *linux) Listen(ctx context.Context, network, address string) (l net.Listener, err error) {
	err = k.in(func() error {
		var lc net.ListenConfig
		var err error
		l, err = lc.Listen(ctx, network, address)
		return err
	})
	return l, err
}

func (k *linux) DeleteFlows(f Family, match func(Flow) bool) (int, error) {
	ns := netns.None()
	if k.netns != "" {
		var err error
		if ns, err = netns.GetFromPath(k.netns); err != nil {
			return 0, fmt.Errorf("proxy: network namespace: %w", err)
		}
		defer ns.Close()
	}
	h, err := netlink.NewHandleAt(ns, unix.NETLINK_NETFILTER)
	if err != nil {
		return 0, fmt.Errorf("proxy: connection tracking: %w", err)
	}
	defer h.Close()
	family := netlink.InetFamily(unix.AF_INET)
	if f == IPv6 {
		family = unix.AF_INET6
	}
	n, err := h.ConntrackDeleteFilters(netlink.ConntrackTable, family, udpFlows(match))
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return int(n), fmt.Errorf("proxy: connection tracking: %w", err)
	}
	return int(n), nil
}

// udpFlows is a filter for UDP flows.
type udpFlows func(Flow) bool

// MatchConntrackFlow reports whether to delete a flow.
func (m udpFlows) MatchConntrackFlow(f *netlink.ConntrackFlow) bool {
	if f.Forward.Protocol != unix.IPPROTO_UDP {
		return false
	}
	return m(Flow{
		Protocol: corev1.ProtocolUDP,
		From:     addrPort(f.Forward.SrcIP, f.Forward.SrcPort), To: addrPort(f.Forward.DstIP, f.Forward.DstPort),
		Server: addrPort(f.Reverse.SrcIP, f.Reverse.SrcPort),
	})
}

func addrPort(ip net.IP, port uint16) netip.AddrPort {
	a, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(a.Unmap(), port)
}
