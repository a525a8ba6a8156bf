package kubelet

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// The resolver's limits.
const (
	maxNameservers = 3
	maxSearches    = 32
)

// dns is the pod's resolver configuration.
func (k *Kubelet) dns(pod *corev1.Pod) (*cri.DNSConfig, error) {
	c := &cri.DNSConfig{}
	policy := pod.Spec.DNSPolicy
	if policy == corev1.DNSClusterFirst && pod.Spec.HostNetwork || policy == corev1.DNSClusterFirst && len(k.opts.ClusterDNS) == 0 ||
		policy == corev1.DNSClusterFirstWithHostNet && len(k.opts.ClusterDNS) == 0 || policy == "" {
		policy = corev1.DNSDefault
	}
	switch {
	case policy == corev1.DNSNone:
	case k.opts.NoResolvConf:
		if policy == corev1.DNSDefault {
			c = k.ownResolver()
		}
	default:
		host, err := readResolvConf(k.opts.ResolvConf)
		if err != nil {
			return nil, err
		}
		c = host
	}
	if policy == corev1.DNSClusterFirst || policy == corev1.DNSClusterFirstWithHostNet {
		c.Servers = slices.Clone(k.opts.ClusterDNS)
		if d := k.opts.ClusterDomain; d != "" {
			c.Searches = append([]string{pod.Namespace + ".svc." + d, "svc." + d, d}, c.Searches...)
		}
		c.Options = []string{"ndots:5"}
	}
	if more := pod.Spec.DNSConfig; more != nil {
		c.Servers = append(c.Servers, more.Nameservers...)
		c.Searches = append(c.Searches, more.Searches...)
		for _, o := range more.Options {
			text := o.Name
			if o.Value != nil && *o.Value != "" {
				text += ":" + *o.Value
			}
			c.Options = slices.DeleteFunc(c.Options, func(have string) bool { name, _, _ := strings.Cut(have, ":"); return name == o.Name })
			c.Options = append(c.Options, text)
		}
	}
	c.Servers, c.Searches = unique(c.Servers, maxNameservers), unique(c.Searches, maxSearches)
	return c, nil
}

// ownResolver is the resolver of the pod itself, in the families of the node. It searches nothing.
func (k *Kubelet) ownResolver() *cri.DNSConfig {
	c := &cri.DNSConfig{Searches: []string{"."}}
	for _, ip := range k.opts.NodeIPs {
		if ip.Is6() {
			c.Servers = append(c.Servers, "::1")
		} else {
			c.Servers = append(c.Servers, "127.0.0.1")
		}
	}
	if len(c.Servers) == 0 {
		c.Servers = []string{"127.0.0.1"}
	}
	return c
}

func unique(list []string, most int) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) && len(out) < most {
			out = append(out, s)
		}
	}
	return out
}

// readResolvConf reads the node's own configuration; a file that is not there is an empty one.
func readResolvConf(path string) (*cri.DNSConfig, error) {
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return &cri.DNSConfig{}, nil
	}
	if err != nil {
		return nil, err
	}
	c := &cri.DNSConfig{}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 2 {
			continue
		}
		switch f[0] {
		case "nameserver":
			c.Servers = append(c.Servers, f[1])
		case "search":
			c.Searches = nil
			for _, d := range f[1:] {
				if d != "." {
					c.Searches = append(c.Searches, strings.TrimSuffix(d, "."))
				}
			}
		case "options":
			c.Options = f[1:]
		}
	}
	return c, nil
}

// hostsFile is the content of /etc/hosts in a pod's containers.
func hostsFile(pod *corev1.Pod, ips []string, domain string) []byte {
	var b bytes.Buffer
	if pod.Spec.HostNetwork {
		b.WriteString("# Kubernetes-managed hosts file (host network).\n")
		if own, err := os.ReadFile("/etc/hosts"); err == nil {
			b.Write(own)
		}
	} else {
		b.WriteString("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
			"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n")
		name := hostname(pod)
		for _, ip := range ips {
			if full := fqdn(pod, domain); full != "" {
				fmt.Fprintf(&b, "%s\t%s\t%s\n", ip, full, name)
			} else {
				fmt.Fprintf(&b, "%s\t%s\n", ip, name)
			}
		}
	}
	if len(pod.Spec.HostAliases) > 0 {
		b.WriteString("\n# Entries added by HostAliases.\n")
		for _, a := range pod.Spec.HostAliases {
			fmt.Fprintf(&b, "%s\t%s\n", a.IP, strings.Join(a.Hostnames, "\t"))
		}
	}
	return b.Bytes()
}
