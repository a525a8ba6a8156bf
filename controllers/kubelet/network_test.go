package kubelet_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet"
)

// addrs parses addresses with commas between.
func addrs(text string) (list []netip.Addr) {
	for s := range strings.SplitSeq(text, ",") {
		list = append(list, netip.MustParseAddr(s))
	}
	return list
}

// network is a simulated network of a machine; a test may change it while the kubelet runs.
type network struct {
	mu sync.Mutex
	// interfaces are the addresses of all interfaces, names those of the node's name.
	interfaces, names []netip.Addr
	four, six         netip.Addr // of the default routes
}

func (n *network) set(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

// Addresses implements kubelet.Network.
func (n *network) Addresses() ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.interfaces, nil
}

// Lookup implements kubelet.Network.
func (n *network) Lookup(_ context.Context, name string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name != "n1" || len(n.names) == 0 {
		return nil, errors.New("no such host")
	}
	return n.names, nil
}

// Default implements kubelet.Network.
func (n *network) Default(sixFirst bool) (netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := []netip.Addr{n.four, n.six}
	if sixFirst {
		slices.Reverse(list)
	}
	for _, ip := range list {
		if ip.IsValid() {
			return ip, nil
		}
	}
	return netip.Addr{}, errors.New("no default routes found")
}

// internal are the internal addresses that a node reports.
func internal(n *corev1.Node) (list []string) {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			list = append(list, a.Address)
		}
	}
	return list
}

// ipsOf are the addresses of a pod, which must begin with the one that stands alone, and those of its node.
func ipsOf(t *testing.T, p *corev1.Pod) (pod, node []string) {
	for _, ip := range p.Status.PodIPs {
		pod = append(pod, ip.IP)
	}
	for _, ip := range p.Status.HostIPs {
		node = append(node, ip.IP)
	}
	require.Equal(t, []string{p.Status.PodIP, p.Status.HostIP}, []string{pod[0], node[0]})
	return pod, node
}

// With two addresses the node, its pods, their environment and their files have both families, in the order
// of the node's, whatever order the runtime reports.
func TestTwoFamilies(t *testing.T) {
	for _, given := range []string{"192.0.2.7,2001:db8::7", "2001:db8::7,192.0.2.7"} {
		order := strings.Split(given, ",")
		bubble(t, func(r *rig) {
			r.opts.NodeIPs, r.rt.DualStack = addrs(given), true
			r.opts.Network = &network{interfaces: addrs("127.0.0.1,192.0.2.7,2001:db8::7")}
		}, func(r *rig) {
			node := controllertest.Get[*corev1.Node](r.c, "", "n1")
			require.Equal(t, []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: order[0]}, {Type: corev1.NodeInternalIP, Address: order[1]},
				{Type: corev1.NodeHostName, Address: "n1"}}, node.Status.Addresses)
			variables := func(p *corev1.Pod) {
				for _, path := range []string{"podIP", "podIPs", "hostIP", "hostIPs"} {
					p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: path,
						ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status." + path}}})
				}
			}
			r.pod("web", variables, "a")
			r.pod("host", func(p *corev1.Pod) { variables(p); p.Spec.HostNetwork = true }, "a")
			time.Sleep(3 * time.Second)

			ips, host := ipsOf(t, r.get("web"))
			require.Equal(t, order, host)
			require.Len(t, ips, 2)
			for i := range ips {
				require.Equal(t, netip.MustParseAddr(order[i]).Is6(), netip.MustParseAddr(ips[i]).Is6())
			}
			onHost, host := ipsOf(t, r.get("host"))
			require.Equal(t, order, host)
			require.Equal(t, order, onHost, "the host's network is the pod's")
			for name, ips := range map[string][]string{"web": ips, "host": onHost} {
				env := map[string]string{}
				for _, e := range r.rt.Config(name, "a").Envs {
					env[e.Key] = string(e.Value)
				}
				require.Equal(t, strings.Join(ips, ","), env["podIPs"])
				require.Equal(t, ips[0], env["podIP"])
				require.Equal(t, given, env["hostIPs"])
				require.Equal(t, order[0], env["hostIP"])
			}
			mounts := r.rt.Config("web", "a").Mounts
			at := slices.IndexFunc(mounts, func(m *cri.Mount) bool { return m.ContainerPath == "/etc/hosts" })
			hosts, err := os.ReadFile(mounts[at].HostPath)
			require.NoError(t, err)
			require.Contains(t, string(hosts), ips[0]+"\tweb\n"+ips[1]+"\tweb\n")
		})
	}
}

// A node whose second address comes later gets its pods on the host's network the second address; the first
// stays.
func TestPodsGetTheSecondAddress(t *testing.T) {
	bubble(t, func(r *rig) { r.opts.NodeIPs = addrs("192.0.2.7") }, func(r *rig) {
		r.pod("host", func(p *corev1.Pod) { p.Spec.HostNetwork = true }, "a")
		time.Sleep(3 * time.Second)
		ips, host := ipsOf(t, r.get("host"))
		require.Equal(t, []string{"192.0.2.7"}, ips)
		require.Equal(t, ips, host)
		r.stop()
		r.opts.NodeIPs, r.opts.StopPods = addrs("192.0.2.7,2001:db8::7"), false
		r.pod("other", func(p *corev1.Pod) { p.Spec.HostNetwork = true }, "a")
		r.start()
		time.Sleep(2 * time.Minute)
		ips, host = ipsOf(t, r.get("other"))
		require.Equal(t, []string{"192.0.2.7", "2001:db8::7"}, ips)
		require.Equal(t, ips, host)
	})
}

// The address of a node without a given one: its name if that is an address, or what that resolves to, of the
// preferred family if there is such, or that of the default route. It is looked for again and again.
func TestAddressOfTheNode(t *testing.T) {
	for _, c := range []struct{ about, name, given, interfaces, names, four, six, want string }{
		{about: "default route", four: "192.0.2.1", six: "2001:db8::1", want: "192.0.2.1"},
		{about: "of IPv6", given: "::", four: "192.0.2.1", six: "2001:db8::1", want: "2001:db8::1"},
		{about: "of IPv4", given: "0.0.0.0", four: "192.0.2.1", six: "2001:db8::1", want: "192.0.2.1"},
		{about: "the other family", given: "::", four: "192.0.2.1", want: "192.0.2.1"},
		{about: "an address as name", name: "192.0.2.9", four: "192.0.2.1", want: "192.0.2.9"},
		{about: "by name", names: "127.0.1.1,192.0.2.5,2001:db8::5", interfaces: "192.0.2.5,2001:db8::5", four: "192.0.2.1", want: "192.0.2.5"},
		{about: "by name, IPv6", given: "::", names: "192.0.2.5,2001:db8::5", interfaces: "192.0.2.5,2001:db8::5", four: "192.0.2.1", want: "2001:db8::5"},
		{about: "by name, only IPv6", names: "2001:db8::5", interfaces: "2001:db8::5", four: "192.0.2.1", want: "2001:db8::5"},
		{about: "a name of another machine", names: "192.0.2.5", interfaces: "192.0.2.1", four: "192.0.2.1", want: "192.0.2.1"},
		{about: "given", given: "192.0.2.7", interfaces: "192.0.2.1,192.0.2.7", four: "192.0.2.1", want: "192.0.2.7"},
		{about: "given IPv6", given: "2001:db8::7", interfaces: "2001:db8::7", four: "192.0.2.1", want: "2001:db8::7"},
		{about: "nothing"},
		{about: "not of this machine", given: "192.0.2.7", interfaces: "192.0.2.1", four: "192.0.2.1"},
		{about: "loopback", given: "127.0.0.1", interfaces: "127.0.0.1", four: "192.0.2.1"},
		{about: "link-local", given: "fe80::1", interfaces: "fe80::1", six: "2001:db8::1"},
		{about: "multicast", given: "224.0.0.1", interfaces: "224.0.0.1", four: "192.0.2.1"},
		{about: "the second is not of this machine", given: "192.0.2.7,2001:db8::7", interfaces: "192.0.2.7", four: "192.0.2.1"},
	} {
		t.Run(c.about, func(t *testing.T) {
			net := &network{}
			for to, text := range map[*[]netip.Addr]string{&net.interfaces: c.interfaces, &net.names: c.names} {
				if text != "" {
					*to = addrs(text)
				}
			}
			for to, text := range map[*netip.Addr]string{&net.four: c.four, &net.six: c.six} {
				if text != "" {
					*to = netip.MustParseAddr(text)
				}
			}
			bubble(t, func(r *rig) {
				r.opts.Network = net
				if c.given != "" {
					r.opts.NodeIPs = addrs(c.given)
				}
				if c.name != "" {
					r.opts.NodeName = c.name
				}
			}, func(r *rig) {
				get := func() *corev1.Node { return controllertest.Get[*corev1.Node](r.c, "", r.opts.NodeName) }
				if c.want != "" {
					require.Equal(t, []string{c.want}, internal(get()))
					return
				}
				require.Empty(t, get().Status.Addresses)
				if c.given == "" {
					net.set(func() { net.four = netip.MustParseAddr("192.0.2.1") })
				} else {
					net.set(func() { net.interfaces = addrs("192.0.2.7,2001:db8::7") })
				}
				time.Sleep(15 * time.Second)
				switch {
				case c.given == "":
					require.Equal(t, []string{"192.0.2.1"}, internal(get()), "as soon as there is one")
				case strings.HasPrefix(c.given, "192.0.2.7"):
					require.Equal(t, strings.Split(c.given, ","), internal(get()), "as soon as the machine has it")
				default:
					require.Empty(t, get().Status.Addresses)
				}
			})
		})
	}
}

// A container whose variables need the address of a node without one waits for it.
func TestContainersWaitForTheAddressOfTheNode(t *testing.T) {
	net := &network{}
	bubble(t, func(r *rig) { r.opts.Network = net }, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "HOST", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"}}}}
		}, "a")
		time.Sleep(5 * time.Second)
		p := r.get("web")
		require.Empty(t, p.Status.HostIP)
		require.Equal(t, "CreateContainerConfigError", p.Status.ContainerStatuses[0].State.Waiting.Reason)
		require.Contains(t, p.Status.ContainerStatuses[0].State.Waiting.Message, "host IP unknown")
		net.set(func() { net.four = netip.MustParseAddr("192.0.2.1") })
		time.Sleep(2 * time.Minute)
		require.True(t, ready(r.get("web")))
		require.Equal(t, "192.0.2.1", r.get("web").Status.HostIP)
		require.Equal(t, "192.0.2.1", string(r.rt.Config("web", "a").Envs[0].Value))
	})
}

// The addresses that a cloud provider sets are those of the pods' node.
func TestPodsHaveTheAddressesOfTheCloud(t *testing.T) {
	bubble(t, func(r *rig) { r.opts.ExternalCloud, r.opts.NodeIPs = true, addrs("192.0.2.7,2001:db8::7") }, func(r *rig) {
		node := controllertest.Get[*corev1.Node](r.c, "", "n1")
		require.Equal(t, "192.0.2.7,2001:db8::7", node.Annotations["alpha.kubernetes.io/provided-node-ip"])
		require.Equal(t, []string{"192.0.2.7", "2001:db8::7"}, internal(node))
		controllertest.UpdateStatus(r.c, "", "n1", func(n *corev1.Node) {
			n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeExternalIP, Address: "203.0.113.7"}, {Type: corev1.NodeExternalIP, Address: "2001:db8::99"},
				{Type: corev1.NodeInternalIP, Address: "10.0.0.7"}, {Type: corev1.NodeInternalIP, Address: "10.0.0.8"}, {Type: corev1.NodeHostName, Address: "n1"}}
		})
		time.Sleep(15 * time.Second)
		r.pod("web", nil, "a")
		time.Sleep(3 * time.Second)
		_, host := ipsOf(t, r.get("web"))
		require.Equal(t, []string{"10.0.0.7", "2001:db8::99"}, host, "internal ones before external ones, one of each family")
	})
}

func TestParseNodeIPs(t *testing.T) {
	for _, c := range []struct{ text, want, ignored, err string }{
		{text: ""},
		{text: "192.0.2.1", want: "192.0.2.1"},
		{text: " 192.0.2.1 , 2001:db8::1", want: "192.0.2.1,2001:db8::1"},
		{text: "::ffff:192.0.2.1", want: "192.0.2.1"},
		{text: "::", want: "::"},
		{text: "192.000.002.010", want: "192.0.2.10"},
		{text: "192.0.2.1,x", want: "192.0.2.1", ignored: "x"},
		{text: "192.0.2.1,", want: "192.0.2.1", ignored: ""},
		{text: "fe80::1%eth0", ignored: "fe80::1%eth0"},
		{text: "192.0.2.1,192.0.2.2", err: "must contain either a single IP or a dual-stack pair of IPs"},
		{text: "192.0.2.1,2001:db8::1,2001:db8::2", err: "must contain either a single IP or a dual-stack pair of IPs"},
		{text: "0.0.0.0,2001:db8::1", err: "dual-stack node IP cannot include '0.0.0.0' or '::'"},
		{text: "192.0.2.1,::", err: "dual-stack node IP cannot include '0.0.0.0' or '::'"},
	} {
		ips, ignored, err := kubelet.ParseNodeIPs(c.text)
		if c.err != "" {
			require.EqualError(t, err, c.err, c.text)
			_, err := kubelet.New(nil, kubelet.Options{NodeName: "n1", NodeIPs: ips})
			require.EqualError(t, err, "kubelet: Options.NodeIPs: "+c.err, c.text)
			continue
		}
		require.NoError(t, err, c.text)
		var list []string
		for _, ip := range ips {
			list = append(list, ip.String())
		}
		require.Equal(t, c.want, strings.Join(list, ","), c.text)
		require.Equal(t, c.ignored, strings.Join(ignored, ","), c.text)
	}
	_, err := kubelet.New(nil, kubelet.Options{NodeName: "n1", NodeIPs: make([]netip.Addr, 1)})
	require.ErrorContains(t, err, "kubelet: Options.NodeIPs: invalid IP is no address")
}

// The runtime gets the ranges of the configuration and then those that the cluster assigns, after failures
// too.
func TestTheRuntimeGetsTheRanges(t *testing.T) {
	var refuse atomic.Bool
	bubble(t, func(r *rig) {
		r.opts.PodCIDR, r.opts.NoRegister = "10.1.0.0/16,fd00::/64", true
		r.rt.Fail = func(method string) error {
			if method == "UpdateRuntimeConfig" && refuse.Load() {
				return errors.New("not now")
			}
			return nil
		}
	}, func(r *rig) {
		require.Equal(t, "10.1.0.0/16,fd00::/64", r.rt.PodCIDR())
		refuse.Store(true)
		n := &corev1.Node{}
		n.Name, n.Spec.PodCIDR, n.Spec.PodCIDRs = "n1", "10.2.0.0/16", []string{"10.2.0.0/16", "fd01::/64"}
		controllertest.Create(r.c, n)
		time.Sleep(15 * time.Second)
		require.Equal(t, "10.1.0.0/16,fd00::/64", r.rt.PodCIDR())
		refuse.Store(false)
		time.Sleep(15 * time.Second)
		require.Equal(t, "10.2.0.0/16,fd01::/64", r.rt.PodCIDR())
	})
	bubble(t, func(r *rig) { r.opts.PodCIDR = "10.1.0.0/16,fd00::/64" }, func(r *rig) {
		n := controllertest.Get[*corev1.Node](r.c, "", "n1")
		require.Equal(t, "10.1.0.0/16", n.Spec.PodCIDR)
		require.Equal(t, []string{"10.1.0.0/16", "fd00::/64"}, n.Spec.PodCIDRs)
	})
}
