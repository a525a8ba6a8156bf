package kubelet

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client/events"
)

// The resolver's limits; those of search domains include the spaces between them.
const (
	maxNameservers = 3
	maxSearches    = 32
	maxSearchBytes = 2048
	maxSearchName  = 253
)

// dns is the pod's resolver configuration. What it leaves out, or cannot have, is an event of the pod.
func (k *Kubelet) dns(pod *corev1.Pod) (*cri.DNSConfig, error) {
	c := &cri.DNSConfig{}
	if !k.opts.NoResolvConf {
		host, err := readResolvConf(k.opts.ResolvConf)
		if err != nil {
			return nil, err
		}
		c = host
	}
	switch policy := k.dnsPolicy(pod); {
	case policy == corev1.DNSNone:
		c = &cri.DNSConfig{}
	case policy == corev1.DNSClusterFirst:
		c.Servers = slices.Clone(k.opts.ClusterDNS)
		if d := k.opts.ClusterDomain; d != "" {
			c.Searches = unique(append([]string{pod.Namespace + ".svc." + d, "svc." + d, d}, c.Searches...))
		}
		c.Options = []string{"ndots:5"}
	case k.opts.NoResolvConf:
		c = k.ownResolver()
	}
	if more := pod.Spec.DNSConfig; more != nil {
		c.Servers = unique(append(c.Servers, more.Nameservers...))
		c.Searches = unique(append(c.Searches, more.Searches...))
		for _, o := range more.Options {
			text := o.Name
			if o.Value != nil && *o.Value != "" {
				text += ":" + *o.Value
			}
			c.Options = setResolverOption(c.Options, text)
		}
	}
	k.limitDNS(pod, c)
	return c, nil
}

// dnsPolicy is the policy that the pod gets: ClusterFirst, for pods of the node's network also, or Default or
// None. Pods that cannot have the cluster's DNS, because the kubelet has no address of it, have the node's.
func (k *Kubelet) dnsPolicy(pod *corev1.Pod) corev1.DNSPolicy {
	switch p := pod.Spec.DNSPolicy; {
	case p == corev1.DNSNone, p == corev1.DNSDefault:
		return p
	case p == corev1.DNSClusterFirst && pod.Spec.HostNetwork:
		return corev1.DNSDefault
	case len(k.opts.ClusterDNS) > 0:
		return corev1.DNSClusterFirst
	}
	const why = `kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`
	k.recorder.About(k.node.about(), nil, events.Warning, "MissingClusterDNS", why)
	k.recorder.Event(pod, events.Warning, "MissingClusterDNS", fmt.Sprintf("pod: %q. %s", fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID), why))
	return corev1.DNSDefault
}

// limitDNS leaves out what resolvers do not take.
func (k *Kubelet) limitDNS(pod *corev1.Pod, c *cri.DNSConfig) {
	if len(c.Servers) > maxNameservers {
		c.Servers = c.Servers[:maxNameservers]
		k.recorder.Event(pod, events.Warning, "DNSConfigForming",
			"Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: "+strings.Join(c.Servers, " "))
	}
	all := len(c.Searches)
	c.Searches = c.Searches[:min(all, maxSearches)]
	c.Searches = slices.DeleteFunc(c.Searches, func(s string) bool { return len(s) > maxSearchName })
	for len(strings.Join(c.Searches, " ")) > maxSearchBytes {
		c.Searches = c.Searches[:len(c.Searches)-1]
	}
	if len(c.Searches) < all {
		k.recorder.Event(pod, events.Warning, "DNSConfigForming",
			"Search Line limits were exceeded, some search paths have been omitted, the applied search line is: "+strings.Join(c.Searches, " "))
	}
}

// checkResolvConf makes an event of the node if its own resolver configuration is beyond the limits. It is
// called once, when the kubelet starts.
func (k *Kubelet) checkResolvConf() {
	if k.opts.NoResolvConf {
		return
	}
	if why := k.resolvConfFault(); why != "" {
		k.recorder.About(k.node.about(), nil, events.Warning, "CheckLimitsForResolvConf", why)
	}
}

func (k *Kubelet) resolvConfFault() string {
	path := k.opts.ResolvConf
	c, err := readResolvConf(path)
	if err != nil {
		return err.Error()
	}
	most := maxSearches
	if k.opts.ClusterDomain != "" {
		most -= 3 // those of the cluster
	}
	switch {
	case len(c.Searches) > most:
		return fmt.Sprintf("Resolv.conf file '%s' contains search line consisting of more than %d domains!", path, most)
	case slices.ContainsFunc(c.Searches, func(s string) bool { return len(s) > maxSearchName }):
		return fmt.Sprintf("Resolv.conf file %q contains a search path which length is more than allowed %d chars!", path, maxSearchName)
	case len(strings.Join(c.Searches, " ")) > maxSearchBytes:
		return fmt.Sprintf("Resolv.conf file '%s' contains search line which length is more than allowed %d chars!", path, maxSearchBytes)
	}
	return ""
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

// unique returns the strings of list in their order, each once.
func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// setResolverOption adds an option, name or name:value, in place of one of the same name.
func setResolverOption(list []string, option string) []string {
	name, _, _ := strings.Cut(option, ":")
	list = slices.DeleteFunc(list, func(have string) bool { n, _, _ := strings.Cut(have, ":"); return n == name })
	return append(list, option)
}

// readResolvConf reads the node's own configuration.
func readResolvConf(path string) (*cri.DNSConfig, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &cri.DNSConfig{}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		switch f[0] {
		case "nameserver":
			if len(f) == 1 {
				return nil, fmt.Errorf("%s: nameserver list is empty", path)
			}
			c.Servers = append(c.Servers, f[1])
		case "search":
			c.Searches = nil
			for _, d := range f[1:] {
				if d != "." {
					c.Searches = append(c.Searches, strings.TrimSuffix(d, "."))
				}
			}
		case "options":
			for _, o := range f[1:] {
				c.Options = setResolverOption(c.Options, o)
			}
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
