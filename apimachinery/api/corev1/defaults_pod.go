package corev1

import (
	"reflect"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/defaults"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// DefaultPod fills the unset fields of a pod. Beyond [DefaultPodSpec] it sets what is left open in a
// template: requests from limits, host ports on the host network, service links.
func DefaultPod(p *Pod) {
	s := &p.Spec
	DefaultPodSpec(s)
	for i := range s.Containers {
		requestsFromLimits(&s.Containers[i].Resources)
	}
	for i := range s.InitContainers {
		requestsFromLimits(&s.InitContainers[i].Resources)
	}
	defaultPodResources(s)
	if s.EnableServiceLinks == nil {
		s.EnableServiceLinks = new(DefaultEnableServiceLinks)
	}
	if s.HostNetwork {
		hostPorts(s.Containers)
		hostPorts(s.InitContainers)
	}
	defaultPodStatus(&p.Status)
}

// DefaultPodTemplate fills the unset fields of a pod template.
func DefaultPodTemplate(t *PodTemplateSpec) { DefaultPodSpec(&t.Spec) }

// DefaultPodSpec fills the unset fields shared by pods and pod templates.
func DefaultPodSpec(s *PodSpec) {
	if s.DNSPolicy == "" {
		s.DNSPolicy = DNSClusterFirst
	}
	if s.RestartPolicy == "" {
		s.RestartPolicy = RestartPolicyAlways
	}
	if s.SecurityContext == nil {
		s.SecurityContext = &PodSecurityContext{}
	}
	if s.TerminationGracePeriodSeconds == nil {
		s.TerminationGracePeriodSeconds = new(int64(DefaultTerminationGracePeriodSeconds))
	}
	if s.SchedulerName == "" {
		s.SchedulerName = DefaultSchedulerName
	}
	// serviceAccount is the old name of serviceAccountName; the two always agree once stored.
	if s.ServiceAccountName == "" {
		s.ServiceAccountName = s.DeprecatedServiceAccount
	}
	s.DeprecatedServiceAccount = s.ServiceAccountName
	for i := range s.Volumes {
		DefaultVolume(&s.Volumes[i])
	}
	for i := range s.InitContainers {
		defaultContainer(&s.InitContainers[i])
	}
	for i := range s.Containers {
		defaultContainer(&s.Containers[i])
	}
	for i := range s.EphemeralContainers {
		c := Container(s.EphemeralContainers[i].EphemeralContainerCommon)
		defaultContainer(&c)
		s.EphemeralContainers[i].EphemeralContainerCommon = EphemeralContainerCommon(c)
	}
	DefaultResourceList(s.Overhead)
	if s.Resources != nil {
		DefaultResourceList(s.Resources.Limits)
		DefaultResourceList(s.Resources.Requests)
	}
}

// DefaultResourceList rounds every quantity up to a thousandth, the finest that is stored.
func DefaultResourceList(l ResourceList) {
	for name, q := range l {
		if q.RoundUp(resource.Milli) {
			continue // exact already
		}
		l[name] = q
	}
}

func defaultContainer(c *Container) {
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = defaultPullPolicy(c.Image)
	}
	if c.TerminationMessagePath == "" {
		c.TerminationMessagePath = TerminationMessagePathDefault
	}
	if c.TerminationMessagePolicy == "" {
		c.TerminationMessagePolicy = TerminationMessageReadFile
	}
	for i := range c.Ports {
		if c.Ports[i].Protocol == "" {
			c.Ports[i].Protocol = ProtocolTCP
		}
	}
	for i := range c.Env {
		v := c.Env[i].ValueFrom
		if v == nil {
			continue
		}
		defaultFieldRef(v.FieldRef)
		if v.FileKeyRef != nil && v.FileKeyRef.Optional == nil {
			v.FileKeyRef.Optional = new(false)
		}
	}
	DefaultResourceList(c.Resources.Limits)
	DefaultResourceList(c.Resources.Requests)
	defaultProbe(c.LivenessProbe)
	defaultProbe(c.ReadinessProbe)
	defaultProbe(c.StartupProbe)
	if c.Lifecycle != nil {
		for _, h := range []*LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil {
				defaultHTTPGet(h.HTTPGet)
			}
		}
	}
}

func defaultFieldRef(f *ObjectFieldSelector) {
	if f != nil && f.APIVersion == "" {
		f.APIVersion = "v1"
	}
}

func defaultHTTPGet(h *HTTPGetAction) {
	if h == nil {
		return
	}
	if h.Path == "" {
		h.Path = "/"
	}
	if h.Scheme == "" {
		h.Scheme = URISchemeHTTP
	}
}

func defaultProbe(p *Probe) {
	if p == nil {
		return
	}
	defaults.IfZero(&p.TimeoutSeconds, 1)
	defaults.IfZero(&p.PeriodSeconds, 10)
	defaults.IfZero(&p.SuccessThreshold, 1)
	defaults.IfZero(&p.FailureThreshold, 3)
	defaultHTTPGet(p.HTTPGet)
	if p.GRPC != nil && p.GRPC.Service == nil {
		p.GRPC.Service = new("")
	}
}

// defaultPullPolicy is Always for images whose tag may move: latest, given or implied.
func defaultPullPolicy(image string) PullPolicy {
	if imageTag(image) == "latest" {
		return PullAlways
	}
	return PullIfNotPresent
}

// imageTag is the tag of an image reference: "latest" if it names neither tag nor digest, "" if it
// names a digest only or is no reference.
func imageTag(image string) string {
	name, digest, pinned := strings.Cut(image, "@")
	repo, tag := name, ""
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		repo, tag = name[:i], name[i+1:]
		if tag == "" {
			return ""
		}
	}
	// Only the registry's host part may have upper-case letters.
	path := repo
	if host, rest, ok := strings.Cut(repo, "/"); ok &&
		(strings.ContainsAny(host, ".:") || host == "localhost" || strings.ToLower(host) != host) {
		path = rest
	}
	if path == "" || strings.ToLower(path) != path || pinned && digest == "" {
		return ""
	}
	if tag == "" && !pinned {
		return "latest"
	}
	return tag
}

func requestsFromLimits(r *ResourceRequirements) {
	if r.Limits == nil {
		return
	}
	if r.Requests == nil {
		r.Requests = ResourceList{}
	}
	for name, q := range r.Limits {
		if _, ok := r.Requests[name]; !ok {
			r.Requests[name] = q
		}
	}
}

func hostPorts(cs []Container) {
	for i := range cs {
		for j := range cs[i].Ports {
			defaults.IfZero(&cs[i].Ports[j].HostPort, cs[i].Ports[j].ContainerPort)
		}
	}
}

// defaultPodResources completes pod-level resources that are set in part: requests come from the
// containers' sum where they have any, else from the pod's own limits.
func defaultPodResources(s *PodSpec) {
	if s.Resources == nil || len(s.Resources.Limits)+len(s.Resources.Requests) == 0 {
		return
	}
	requests := s.Resources.Requests
	if requests == nil {
		requests = ResourceList{}
	}
	for name, q := range containerRequests(s) {
		if _, ok := requests[name]; !ok && podLevelResource(name) && !isHugePages(name) {
			requests[name] = q
		}
	}
	for name, q := range s.Resources.Limits {
		if _, ok := requests[name]; !ok && podLevelResource(name) {
			requests[name] = q
		}
	}
	if len(requests) > 0 {
		s.Resources.Requests = requests
	}
}

func podLevelResource(name ResourceName) bool {
	return name == ResourceCPU || name == ResourceMemory || isHugePages(name)
}

func isHugePages(name ResourceName) bool {
	return strings.HasPrefix(string(name), ResourceHugePagesPrefix)
}

// containerRequests is what all containers need at once: those that run together are added up, and
// each init container must fit beside the sidecars started before it.
func containerRequests(s *PodSpec) ResourceList {
	sum := ResourceList{}
	add := func(to, more ResourceList) {
		for name, q := range more {
			total := to[name]
			total.Add(q)
			to[name] = total
		}
	}
	for i := range s.Containers {
		add(sum, s.Containers[i].Resources.Requests)
	}
	sidecars, peak := ResourceList{}, ResourceList{}
	for i := range s.InitContainers {
		c := &s.InitContainers[i]
		need := ResourceList{}
		if c.RestartPolicy != nil && *c.RestartPolicy == ContainerRestartPolicyAlways {
			add(sum, c.Resources.Requests)
			add(sidecars, c.Resources.Requests)
			add(need, sidecars)
		} else {
			add(need, sidecars)
			add(need, c.Resources.Requests)
		}
		for name, q := range need {
			if top, ok := peak[name]; !ok || top.Cmp(q) < 0 {
				peak[name] = q
			}
		}
	}
	for name, q := range peak {
		if top, ok := sum[name]; !ok || top.Cmp(q) < 0 {
			sum[name] = q
		}
	}
	return sum
}

// defaultPodStatus rounds quantities and brings podIP, the older field, into agreement with podIPs.
func defaultPodStatus(s *PodStatus) {
	if s.PodIP != "" && (len(s.PodIPs) == 0 || s.PodIPs[0].IP != s.PodIP) {
		s.PodIPs = []PodIP{{IP: s.PodIP}}
	} else if len(s.PodIPs) > 0 {
		s.PodIP = s.PodIPs[0].IP
	}
	for _, list := range [][]ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			DefaultResourceList(list[i].AllocatedResources)
			if r := list[i].Resources; r != nil {
				DefaultResourceList(r.Limits)
				DefaultResourceList(r.Requests)
			}
		}
	}
}

// noSource reports whether every pointer of a volume source struct is nil.
func noSource(source any) bool { return reflect.ValueOf(source).IsZero() }
