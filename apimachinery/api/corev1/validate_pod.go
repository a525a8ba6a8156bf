package corev1

import (
	"math"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// Path is where a field is.
type path = validation.Path

func at(name string, more ...string) *path { return validation.NewPath(name, more...) }

// podScope says what a pod spec belongs to, where rules differ.
type podScope struct {
	// pod is true in a Pod, false in a template.
	pod bool
	// created is true for a new pod: its addresses must be in canonical form, which stored ones may not be.
	created bool
}

// ValidatePod checks a pod to be created.
func ValidatePod(p *Pod) validation.ErrorList {
	var r check.Report
	r.Add(validatePodBody(p, podScope{pod: true, created: true}))
	if len(p.Spec.EphemeralContainers) > 0 {
		r.Forbidden(at("spec", "ephemeralContainers"), "cannot be set when a pod is created")
	}
	if len(p.Spec.SchedulingGates) > 0 && p.Spec.NodeName != "" {
		r.Forbidden(at("spec", "nodeName"), "cannot be set until all schedulingGates are gone")
	}
	return r.List()
}

func validatePodBody(p *Pod, scope podScope) validation.ErrorList {
	var r check.Report
	r.Add(validatePodAnnotations(p.Annotations, &p.Spec, at("metadata", "annotations")))
	r.Add(validatePodSpec(&p.Spec, at("spec"), scope))
	return r.List()
}

// ValidatePodTemplate checks a pod template at p.
func ValidatePodTemplate(t *PodTemplateSpec, p *path) validation.ErrorList {
	var r check.Report
	r.Add(validation.Labels(p.Child("labels"), t.Labels))
	r.Add(validation.Annotations(p.Child("annotations"), t.Annotations))
	r.Add(validatePodAnnotations(t.Annotations, &t.Spec, p.Child("annotations")))
	r.Add(validatePodSpec(&t.Spec, p.Child("spec"), podScope{}))
	if len(t.Spec.EphemeralContainers) > 0 {
		r.Forbidden(p.Child("spec", "ephemeralContainers"), "not allowed in a pod template")
	}
	return r.List()
}

func validatePodAnnotations(annotations map[string]string, s *PodSpec, p *path) validation.ErrorList {
	var r check.Report
	if v, ok := annotations[MirrorPodAnnotationKey]; ok && s.NodeName == "" {
		r.Invalid(p.Key(MirrorPodAnnotationKey), v, "a mirror pod needs spec.nodeName")
	}
	if v, ok := annotations[PodDeletionCost]; ok {
		if n, err := strconv.ParseInt(v, 10, 32); err != nil || v[0] == '+' || strconv.FormatInt(n, 10) != v {
			r.Invalid(p.Key(PodDeletionCost), v, "must be a 32-bit integer")
		}
	}
	return r.List()
}

func validatePodSpec(s *PodSpec, p *path, scope podScope) validation.ErrorList {
	var r check.Report
	grace := int64(DefaultTerminationGracePeriodSeconds)
	if s.TerminationGracePeriodSeconds != nil {
		grace = *s.TerminationGracePeriodSeconds
	}
	volumes, errs := validateVolumes(s.Volumes, p.Child("volumes"))
	r.Add(errs)
	claims, errs := validatePodClaims(s.ResourceClaims, p.Child("resourceClaims"))
	r.Add(errs)
	c := containerChecks{spec: s, volumes: volumes, claims: claims, grace: grace, names: map[string]bool{}}
	r.Add(c.containers(s.Containers, p.Child("containers")))
	r.Add(c.initContainers(s.InitContainers, p.Child("initContainers")))
	r.Add(c.ephemeral(s.EphemeralContainers, p.Child("ephemeralContainers")))
	r.Add(validatePodResources(s, p.Child("resources")))
	if s.HostNetwork {
		r.Add(validateHostPorts(s.Containers, p.Child("containers"), scope))
		r.Add(validateHostPorts(s.InitContainers, p.Child("initContainers"), scope))
	}
	check.Chosen(&r, p.Child("restartPolicy"), s.RestartPolicy, RestartPolicyAlways, RestartPolicyNever, RestartPolicyOnFailure)
	check.Chosen(&r, p.Child("dnsPolicy"), s.DNSPolicy, DNSClusterFirst, DNSClusterFirstWithHostNet, DNSDefault, DNSNone)
	r.Add(validation.Labels(p.Child("nodeSelector"), s.NodeSelector))
	r.Add(validatePodSecurity(s, p.Child("securityContext")))
	r.Add(validateAffinity(s.Affinity, p.Child("affinity")))
	r.Add(validateDNSConfig(s, scope, p.Child("dnsConfig")))
	for i, g := range s.ReadinessGates {
		r.Each(p.Child("readinessGates").Index(i).Child("conditionType"), g.ConditionType, validation.IsQualifiedName(string(g.ConditionType)))
	}
	r.Add(validateGates(s.SchedulingGates, p.Child("schedulingGates")))
	if g := s.SchedulingGroup; g != nil {
		q := p.Child("schedulingGroup", "podGroupName")
		if g.PodGroupName == nil {
			r.Invalid(q, nil, "must specify one of: `podGroupName`")
		} else {
			r.Each(q, *g.PodGroupName, validation.IsDNS1123Subdomain(*g.PodGroupName))
		}
	}
	r.Add(validateSpread(s.TopologySpreadConstraints, p.Child("topologySpreadConstraints")))
	r.Add(validateHostProcess(s, p))
	r.Add(validateHostUsers(s, p))
	r.Add(validatePodNames(s, p))
	if d := s.ActiveDeadlineSeconds; d != nil {
		check.Between(&r, p.Child("activeDeadlineSeconds"), *d, 1, math.MaxInt32)
	}
	r.Add(ValidateTolerations(s.Tolerations, p.Child("tolerations")))
	for i, a := range s.HostAliases {
		r.Each(p.Child("hostAliases").Index(i).Child("ip"), a.IP, validation.IsIPLegacy(a.IP, scope.created))
		for k, name := range a.Hostnames {
			r.Each(p.Child("hostAliases").Index(i).Child("hostnames").Index(k), name, validation.IsDNS1123Subdomain(name))
		}
	}
	check.OneOfOpt(&r, p.Child("preemptionPolicy"), s.PreemptionPolicy, PreemptLowerPriority, PreemptNever)
	if len(s.Overhead) > 0 {
		r.Add(ValidateOverhead(s.Overhead, p.Child("overhead")))
	}
	r.Add(validatePodOS(s, p))
	return r.List()
}

// validatePodNames checks the fields of a pod that hold names of other things.
func validatePodNames(s *PodSpec, p *path) validation.ErrorList {
	var r check.Report
	subdomain := func(field, name string) {
		if name != "" {
			r.Each(p.Child(field), name, validation.IsDNS1123Subdomain(name))
		}
	}
	subdomain("serviceAccountName", s.ServiceAccountName)
	subdomain("nodeName", s.NodeName)
	subdomain("priorityClassName", s.PriorityClassName)
	if s.RuntimeClassName != nil {
		r.Each(p.Child("runtimeClassName"), *s.RuntimeClassName, validation.IsDNS1123Subdomain(*s.RuntimeClassName))
	}
	if s.Hostname != "" {
		r.Each(p.Child("hostname"), s.Hostname, validation.IsDNS1123Label(s.Hostname))
	}
	if s.Subdomain != "" {
		r.Each(p.Child("subdomain"), s.Subdomain, validation.IsDNS1123Label(s.Subdomain))
	}
	if h := s.HostnameOverride; h != nil {
		f := p.Child("hostnameOverride")
		if s.HostNetwork {
			r.Forbidden(f, "cannot be set when `hostNetwork` is true")
		}
		if s.SetHostnameAsFQDN != nil && *s.SetHostnameAsFQDN {
			r.Forbidden(f, "cannot be set when `setHostnameAsFQDN` is true")
		}
		const limit = 64 // what sethostname(2) takes
		r.Each(f, *h, validation.IsDNS1123Subdomain(*h))
		if len(*h) > limit {
			r.TooLong(f, limit)
		}
	}
	return r.List()
}

func validatePodClaims(claims []PodResourceClaim, p *path) (map[string]bool, validation.ErrorList) {
	var r check.Report
	names := map[string]bool{}
	for i, c := range claims {
		q := p.Index(i)
		r.Name(q.Child("name"), c.Name, validation.NameIsLabel)
		if c.Name != "" && !check.Unique(names, c.Name) {
			r.Duplicate(q.Child("name"), c.Name)
		}
		switch {
		case c.ResourceClaimName != nil && c.ResourceClaimTemplateName != nil:
			r.Invalid(q, c.Name, "only one of `resourceClaimName` and `resourceClaimTemplateName` can be set")
		case c.ResourceClaimName == nil && c.ResourceClaimTemplateName == nil:
			r.Invalid(q, c.Name, "one of `resourceClaimName` and `resourceClaimTemplateName` must be set")
		}
		if n := c.ResourceClaimName; n != nil {
			r.Each(q.Child("resourceClaimName"), *n, validation.IsDNS1123Subdomain(*n))
		}
		if n := c.ResourceClaimTemplateName; n != nil {
			r.Each(q.Child("resourceClaimTemplateName"), *n, validation.IsDNS1123Subdomain(*n))
		}
	}
	return names, r.List()
}

func validateGates(gates []PodSchedulingGate, p *path) validation.ErrorList {
	var r check.Report
	seen := map[string]bool{}
	for i, g := range gates {
		r.Each(p.Index(i), g.Name, validation.IsQualifiedName(g.Name))
		if !check.Unique(seen, g.Name) {
			r.Duplicate(p.Index(i), g.Name)
		}
	}
	return r.List()
}

func validateDNSConfig(s *PodSpec, scope podScope, p *path) validation.ErrorList {
	const maxServers, maxSearches, maxSearchLength = 3, 32, 2048
	var r check.Report
	c := s.DNSConfig
	if s.DNSPolicy == DNSNone {
		if c == nil {
			r.Required(p, "needed when `dnsPolicy` is None")
			return r.List()
		}
		if len(c.Nameservers) == 0 {
			r.Required(p.Child("nameservers"), "at least one is needed when `dnsPolicy` is None")
			return r.List()
		}
	}
	if c == nil {
		return nil
	}
	servers, searches := p.Child("nameservers"), p.Child("searches")
	if len(c.Nameservers) > maxServers {
		r.Invalid(servers, c.Nameservers, "must not have more than 3 nameservers")
	}
	for i, ip := range c.Nameservers {
		r.Each(servers.Index(i), ip, validation.IsIPLegacy(ip, scope.created))
	}
	if len(c.Searches) > maxSearches {
		r.Invalid(searches, c.Searches, "must not have more than 32 search paths")
	}
	total := 0
	for i, domain := range c.Searches {
		total += len(domain) + 1
		name := domain
		if name == "." {
			continue
		}
		if n := len(name); n > 0 && name[n-1] == '.' {
			name = name[:n-1]
		}
		r.Each(searches.Index(i), domain, validation.IsDNS1123SubdomainWithUnderscore(name))
	}
	if total-1 > maxSearchLength {
		r.Invalid(searches, c.Searches, "must not have more than 2048 characters in all")
	}
	for i, o := range c.Options {
		r.NonEmpty(p.Child("options").Index(i), o.Name)
	}
	return r.List()
}

func validateHostPorts(cs []Container, p *path, scope podScope) validation.ErrorList {
	var r check.Report
	for i := range cs {
		for j, port := range cs[i].Ports {
			// A template may leave the host port open: it is set when a pod is made.
			if (scope.pod || port.HostPort != 0) && port.HostPort != port.ContainerPort {
				r.Invalid(p.Index(i).Child("ports").Index(j).Child("hostPort"), port.HostPort,
					"must match `containerPort` when `hostNetwork` is true")
			}
		}
	}
	return r.List()
}
