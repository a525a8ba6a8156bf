package corev1

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// podWarnings are sent when a pod is created, or its spec changes.
func podWarnings(p, old *Pod) []string {
	if old != nil {
		return nil // its spec was warned about when it was created
	}
	var out []string
	if wrong := validation.IsDNS1123Label(p.Name); len(wrong) > 0 {
		out = append(out, fmt.Sprintf("metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: %v", wrong))
	}
	return append(out, PodSpecWarnings(&p.Spec, at("spec"))...)
}

// PodSpecWarnings says what is unwise in the pod spec at spec although it is accepted.
func PodSpecWarnings(s *PodSpec, spec *path) []string {
	var out []string
	for _, list := range []struct {
		field string
		cs    []Container
	}{{"initContainers", s.InitContainers}, {"containers", s.Containers}} {
		for i := range list.cs {
			c, q := &list.cs[i], spec.Child(list.field).Index(i)
			out = append(out, containerWarnings(c, q)...)
		}
	}
	for i := range s.Volumes {
		v, q := &s.Volumes[i], spec.Child("volumes").Index(i)
		switch {
		case v.GitRepo != nil:
			out = append(out, fmt.Sprintf("%s: deprecated in v1.11, and disabled by default in v1.33+", q.Child("gitRepo")))
		case v.Glusterfs != nil:
			out = append(out, fmt.Sprintf("%s: deprecated in v1.25, non-functional in v1.26+", q.Child("glusterfs")))
		case v.ScaleIO != nil:
			out = append(out, fmt.Sprintf("%s: deprecated in v1.16, non-functional in v1.22+", q.Child("scaleIO")))
		case v.Flocker != nil:
			out = append(out, fmt.Sprintf("%s: deprecated in v1.22, non-functional in v1.25+", q.Child("flocker")))
		case v.CephFS != nil:
			out = append(out, fmt.Sprintf("%s: deprecated in v1.28, non-functional in v1.31+", q.Child("cephfs")))
		case v.RBD != nil:
			out = append(out, fmt.Sprintf("%s: deprecated in v1.28, non-functional in v1.31+", q.Child("rbd")))
		}
	}
	out = append(out, selectorWarnings(s, spec)...)
	for i, a := range s.HostAliases {
		if w := validation.IPWarning(spec.Child("hostAliases").Index(i).Child("ip"), a.IP); w != "" {
			out = append(out, w)
		}
	}
	if g := s.TerminationGracePeriodSeconds; g != nil && *g < 0 {
		out = append(out, fmt.Sprintf("%s: must be >= 0; negative values are invalid and will be treated as 1", spec.Child("terminationGracePeriodSeconds")))
	}
	return out
}

func containerWarnings(c *Container, p *path) []string {
	var out []string
	for i := range c.Env {
		for j := range i {
			if c.Env[j].Name == c.Env[i].Name {
				out = append(out, fmt.Sprintf("%s: hides previous definition of %q, which may be dropped when using apply", p.Child("env").Index(i), c.Env[i].Name))
				break
			}
		}
	}
	for _, part := range []struct {
		field string
		list  ResourceList
	}{{"limits", c.Resources.Limits}, {"requests", c.Resources.Requests}} {
		for _, name := range []ResourceName{ResourceMemory, ResourceEphemeralStorage} {
			if q, ok := part.list[name]; ok && q.MilliValue()%1000 != 0 {
				out = append(out, fmt.Sprintf("%s: fractional byte value %q is invalid, must be an integer", p.Child("resources", part.field).Key(string(name)), q.String()))
			}
		}
	}
	for i := range c.Ports {
		if port := &c.Ports[i]; port.HostIP != "" && port.HostPort == 0 {
			out = append(out, fmt.Sprintf("%s: hostIP set without hostPort: %s", p.Child("ports").Index(i), port.HostIP))
		}
		for j := range i {
			a, b := &c.Ports[i], &c.Ports[j]
			if a.ContainerPort == b.ContainerPort && a.Protocol == b.Protocol && a.HostPort == 0 && b.HostPort == 0 {
				out = append(out, fmt.Sprintf("%s: duplicate port definition with %s", p.Child("ports").Index(i), p.Child("ports").Index(j)))
				break
			}
		}
	}
	return out
}

func serviceWarnings(svc, _ *Service) []string {
	s, p := &svc.Spec, at("spec")
	out := headlessWarnings(s)
	add := func(w string) {
		if w != "" {
			out = append(out, w)
		}
	}
	if _, ok := svc.Annotations[DeprecatedAnnotationTopologyAwareHints]; ok {
		add("metadata.annotations[" + DeprecatedAnnotationTopologyAwareHints + "]: deprecated in v1.27, use " + AnnotationTopologyMode)
	}
	for i, ip := range s.ClusterIPs {
		if ip != ClusterIPNone {
			add(validation.IPWarning(p.Child("clusterIPs").Index(i), ip))
		}
	}
	for i, ip := range s.ExternalIPs {
		add(validation.IPWarning(p.Child("externalIPs").Index(i), ip))
	}
	if s.LoadBalancerIP != "" {
		add(validation.IPWarning(p.Child("loadBalancerIP"), s.LoadBalancerIP))
	}
	for i, c := range s.LoadBalancerSourceRanges {
		add(validation.CIDRWarning(p.Child("loadBalancerSourceRanges").Index(i), c))
	}
	if s.Type != ServiceTypeExternalName && s.ExternalName != "" {
		add(`spec.externalName is ignored when spec.type is not "ExternalName"`)
	}
	if s.Type == ServiceTypeExternalName && s.ExternalName != "" && len(s.Selector) > 0 {
		add("spec.selector: has no effect on ExternalName services")
	}
	if t := s.TrafficDistribution; t != nil && *t == ServiceTrafficDistributionPreferClose {
		add("spec.trafficDistribution: 'PreferClose' is deprecated in favor of 'PreferSameZone'")
	}
	return out
}

// NameWarnings says that the name of an object that makes pods, of which their names and host names are made,
// is no good host name.
func NameWarnings(name string) []string {
	wrong := validation.IsDNS1123Label(name)
	if len(wrong) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", wrong)}
}

func controllerWarnings(rc, old *ReplicationController) []string {
	var out []string
	if old == nil {
		out = NameWarnings(rc.Name)
	}
	if rc.Spec.Template != nil {
		out = append(out, PodSpecWarnings(&rc.Spec.Template.Spec, at("spec", "template", "spec"))...)
	}
	return out
}

func nodeWarnings(n, _ *Node) []string {
	var out []string
	if n.Spec.ConfigSource != nil {
		out = append(out, "spec.configSource: the feature is removed")
	}
	if n.Spec.DoNotUseExternalID != "" {
		out = append(out, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
	}
	return out
}

// selectorWarnings reports terms without a selector: they select nothing.
func selectorWarnings(s *PodSpec, spec *path) []string {
	var out []string
	term := func(t *PodAffinityTerm, p *path) {
		if t.LabelSelector == nil {
			out = append(out, p.Child("labelSelector").String()+": a null labelSelector results in matching no pod")
		}
	}
	terms := func(required []PodAffinityTerm, preferred []WeightedPodAffinityTerm, p *path) {
		for i := range required {
			term(&required[i], p.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i))
		}
		for i := range preferred {
			term(&preferred[i].PodAffinityTerm, p.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("podAffinityTerm"))
		}
	}
	if a := s.Affinity; a != nil {
		if f := a.PodAffinity; f != nil {
			terms(f.RequiredDuringSchedulingIgnoredDuringExecution, f.PreferredDuringSchedulingIgnoredDuringExecution, spec.Child("affinity", "podAffinity"))
		}
		if f := a.PodAntiAffinity; f != nil {
			terms(f.RequiredDuringSchedulingIgnoredDuringExecution, f.PreferredDuringSchedulingIgnoredDuringExecution, spec.Child("affinity", "podAntiAffinity"))
		}
	}
	for i, c := range s.TopologySpreadConstraints {
		if c.LabelSelector == nil {
			out = append(out, spec.Child("topologySpreadConstraints").Index(i).Child("labelSelector").String()+": a null labelSelector results in matching no pod")
		}
	}
	return out
}

// headlessWarnings returns warnings about fields that have no effect without a cluster IP.
func headlessWarnings(s *ServiceSpec) []string {
	if s.ClusterIP != ClusterIPNone && (len(s.ClusterIPs) == 0 || s.ClusterIPs[0] != ClusterIPNone) {
		return nil
	}
	var out []string
	if s.LoadBalancerIP != "" {
		out = append(out, "spec.loadBalancerIP is ignored for headless services")
	}
	if len(s.ExternalIPs) > 0 {
		out = append(out, "spec.externalIPs is ignored for headless services")
	}
	if s.SessionAffinity != "" && s.SessionAffinity != ServiceAffinityNone {
		out = append(out, "spec.SessionAffinity is ignored for headless services")
	}
	return out
}
