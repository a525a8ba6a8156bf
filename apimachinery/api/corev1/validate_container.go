package corev1

import (
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// containerChecks checks the containers of one pod against each other and the rest of the pod.
type containerChecks struct {
	spec    *PodSpec
	volumes map[string]*Volume
	claims  map[string]bool
	grace   int64
	names   map[string]bool
}

func (c *containerChecks) containers(cs []Container, p *path) validation.ErrorList {
	var r check.Report
	if len(cs) == 0 {
		r.Required(p, "")
		return r.List()
	}
	hostPorts := map[string]bool{}
	for i := range cs {
		ctr, q := &cs[i], p.Index(i)
		r.Add(c.common(ctr, q))
		if !check.Unique(c.names, ctr.Name) { // the empty name too
			r.Duplicate(q.Child("name"), ctr.Name)
		}
		r.Add(c.lifecycle(ctr.Lifecycle, q.Child("lifecycle")))
		r.Add(c.probes(ctr, q))
		r.Add(validateRestartRules(ctr, q))
		r.Add(uniqueHostPorts(ctr, hostPorts, q))
	}
	return r.List()
}

func (c *containerChecks) initContainers(cs []Container, p *path) validation.ErrorList {
	var r check.Report
	for i := range cs {
		ctr, q := &cs[i], p.Index(i)
		r.Add(c.common(ctr, q))
		r.Add(c.uniqueName(ctr.Name, q.Child("name")))
		r.Add(uniqueHostPorts(ctr, map[string]bool{}, q))
		r.Add(validateRestartRules(ctr, q))
		if ctr.RestartPolicy != nil && *ctr.RestartPolicy == ContainerRestartPolicyAlways {
			r.Add(c.lifecycle(ctr.Lifecycle, q.Child("lifecycle")))
			r.Add(c.probes(ctr, q))
			continue
		}
		const only = "may not be set for init containers without restartPolicy=Always"
		r.ForbidIf(ctr.Lifecycle != nil, q.Child("lifecycle"), only)
		r.ForbidIf(ctr.LivenessProbe != nil, q.Child("livenessProbe"), only)
		r.ForbidIf(ctr.ReadinessProbe != nil, q.Child("readinessProbe"), only)
		r.ForbidIf(ctr.StartupProbe != nil, q.Child("startupProbe"), only)
	}
	return r.List()
}

func (c *containerChecks) ephemeral(cs []EphemeralContainer, p *path) validation.ErrorList {
	var r check.Report
	targets := map[string]bool{}
	for i := range c.spec.Containers {
		targets[c.spec.Containers[i].Name] = true
	}
	for i := range c.spec.InitContainers {
		targets[c.spec.InitContainers[i].Name] = true
	}
	for i := range cs {
		ctr, q := Container(cs[i].EphemeralContainerCommon), p.Index(i)
		r.Add(c.common(&ctr, q))
		if !check.Unique(c.names, ctr.Name) { // the empty name counts, unlike those of other containers
			r.Duplicate(q.Child("name"), ctr.Name)
		}
		if t := cs[i].TargetContainerName; t != "" && !targets[t] {
			r.NotFound(q.Child("targetContainerName"), t)
		}
		const never = "cannot be set for an ephemeral container"
		r.ForbidIf(len(ctr.Ports) > 0, q.Child("ports"), never)
		r.ForbidIf(ctr.Lifecycle != nil, q.Child("lifecycle"), never)
		r.ForbidIf(ctr.LivenessProbe != nil, q.Child("livenessProbe"), never)
		r.ForbidIf(ctr.ReadinessProbe != nil, q.Child("readinessProbe"), never)
		r.ForbidIf(ctr.StartupProbe != nil, q.Child("startupProbe"), never)
		r.ForbidIf(!check.Same(ctr.Resources, ResourceRequirements{}), q.Child("resources"), never)
		r.ForbidIf(len(ctr.ResizePolicy) > 0, q.Child("resizePolicy"), never)
		r.ForbidIf(ctr.RestartPolicy != nil, q.Child("restartPolicy"), never)
		r.ForbidIf(len(ctr.RestartPolicyRules) > 0, q.Child("restartPolicyRules"), never)
		for j, m := range ctr.VolumeMounts {
			r.ForbidIf(m.SubPath != "", q.Child("volumeMounts").Index(j).Child("subPath"), never)
			r.ForbidIf(m.SubPathExpr != "", q.Child("volumeMounts").Index(j).Child("subPathExpr"), never)
		}
	}
	return r.List()
}

func (c *containerChecks) uniqueName(name string, p *path) validation.ErrorList {
	if name != "" && !check.Unique(c.names, name) {
		return validation.ErrorList{validation.Duplicate(p, name)}
	}
	return nil
}

// common checks what all three kinds of containers have.
func (c *containerChecks) common(ctr *Container, p *path) validation.ErrorList {
	var r check.Report
	r.Name(p.Child("name"), ctr.Name, validation.NameIsLabel)
	if ctr.Image == "" {
		r.Required(p.Child("image"), "")
	} else if strings.TrimSpace(ctr.Image) != ctr.Image {
		r.Invalid(p.Child("image"), ctr.Image, "must not have leading or trailing whitespace")
	}
	check.Chosen(&r, p.Child("terminationMessagePolicy"), ctr.TerminationMessagePolicy,
		TerminationMessageReadFile, TerminationMessageFallbackToLogsOnError)
	r.Add(validateContainerPorts(ctr.Ports, p.Child("ports")))
	r.Add(validateEnv(ctr.Env, c.volumes, p.Child("env")))
	r.Add(validateEnvFrom(ctr.EnvFrom, p.Child("envFrom")))
	r.Add(validateMounts(ctr, c.volumes, p.Child("volumeMounts")))
	r.Add(validateDevices(ctr, c.volumes, p.Child("volumeDevices")))
	check.Chosen(&r, p.Child("imagePullPolicy"), ctr.ImagePullPolicy, PullAlways, PullIfNotPresent, PullNever)
	r.Add(validateResources(&ctr.Resources, c.claims, p.Child("resources")))
	r.Add(c.resizePolicy(ctr, p.Child("resizePolicy")))
	r.Add(validateSecurityContext(ctr.SecurityContext, c.spec, p.Child("securityContext")))
	return r.List()
}

func (c *containerChecks) resizePolicy(ctr *Container, p *path) validation.ErrorList {
	var r check.Report
	seen := map[ResourceName]bool{}
	for i, policy := range ctr.ResizePolicy {
		if !check.Unique(seen, policy.ResourceName) {
			r.Duplicate(p.Index(i), policy.ResourceName)
		}
		check.Chosen(&r, p, policy.ResourceName, ResourceCPU, ResourceMemory)
		check.Chosen(&r, p, policy.RestartPolicy, NotRequired, RestartContainer)
		if c.spec.RestartPolicy == RestartPolicyNever && policy.RestartPolicy != NotRequired {
			r.Invalid(p, policy.RestartPolicy, "must be 'NotRequired' when the pod's `restartPolicy` is 'Never'")
		}
	}
	return r.List()
}

func validateRestartRules(ctr *Container, p *path) validation.ErrorList {
	const maxRules, maxCodes = 20, 255
	var r check.Report
	check.OneOfOpt(&r, p.Child("restartPolicy"), ctr.RestartPolicy,
		ContainerRestartPolicyAlways, ContainerRestartPolicyNever, ContainerRestartPolicyOnFailure)
	rules := p.Child("restartPolicyRules")
	if len(ctr.RestartPolicyRules) > 0 && ctr.RestartPolicy == nil {
		r.Required(p.Child("restartPolicy"), "needed when `restartPolicyRules` are set")
	}
	if n := len(ctr.RestartPolicyRules); n > maxRules {
		r.TooMany(rules, n, maxRules)
	}
	for i, rule := range ctr.RestartPolicyRules {
		q := rules.Index(i)
		check.OneOf(&r, q.Child("action"), rule.Action, ContainerRestartRuleActionRestart, ContainerRestartRuleActionRestartAllContainers)
		if rule.ExitCodes == nil {
			r.Required(q.Child("exitCodes"), "must be set")
			continue
		}
		check.OneOf(&r, q.Child("exitCodes", "operator"), rule.ExitCodes.Operator,
			ContainerRestartRuleOnExitCodesOpIn, ContainerRestartRuleOnExitCodesOpNotIn)
		if n := len(rule.ExitCodes.Values); n > maxCodes {
			r.TooMany(q.Child("exitCodes", "values"), n, maxCodes)
		}
	}
	return r.List()
}

func protocols() []Protocol { return []Protocol{ProtocolSCTP, ProtocolTCP, ProtocolUDP} }

func validateContainerPorts(ports []ContainerPort, p *path) validation.ErrorList {
	var r check.Report
	names := map[string]bool{}
	for i, port := range ports {
		q := p.Index(i)
		if port.Name != "" {
			if bad := validation.IsPortName(port.Name); len(bad) > 0 {
				r.Each(q.Child("name"), port.Name, bad)
			} else if !check.Unique(names, port.Name) {
				r.Duplicate(q.Child("name"), port.Name)
			}
		}
		if port.ContainerPort == 0 {
			r.Required(q.Child("containerPort"), "")
		} else {
			r.Each(q.Child("containerPort"), port.ContainerPort, validation.IsPortNumber(int64(port.ContainerPort)))
		}
		if port.HostPort != 0 {
			r.Each(q.Child("hostPort"), port.HostPort, validation.IsPortNumber(int64(port.HostPort)))
		}
		check.Chosen(&r, q.Child("protocol"), port.Protocol, protocols()...)
	}
	return r.List()
}

func uniqueHostPorts(ctr *Container, seen map[string]bool, p *path) validation.ErrorList {
	var r check.Report
	for i, port := range ctr.Ports {
		if port.HostPort == 0 {
			continue
		}
		key := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
		if !check.Unique(seen, key) {
			r.Duplicate(p.Child("ports").Index(i).Child("hostPort"), key)
		}
	}
	return r.List()
}

func validateMounts(ctr *Container, volumes map[string]*Volume, p *path) validation.ErrorList {
	var r check.Report
	devices, devicePaths, mountPaths := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, d := range ctr.VolumeDevices {
		devices[d.Name], devicePaths[d.DevicePath] = true, true
	}
	for i, m := range ctr.VolumeMounts {
		q := p.Index(i)
		r.NonEmpty(q.Child("name"), m.Name)
		if volumes[m.Name] == nil {
			r.NotFound(q.Child("name"), m.Name)
		}
		r.NonEmpty(q.Child("mountPath"), m.MountPath)
		r.If(!check.Unique(mountPaths, m.MountPath), q.Child("mountPath"), m.MountPath, "must be unique")
		r.If(devices[m.Name], q.Child("name"), m.Name, "must not already exist in volumeDevices")
		r.If(devicePaths[m.MountPath], q.Child("mountPath"), m.MountPath, "must not already exist as a path in volumeDevices")
		if m.SubPath != "" {
			r.Add(descendingPath(m.SubPath, p.Child("subPath")))
		}
		if m.SubPathExpr != "" {
			r.If(m.SubPath != "", q.Child("subPathExpr"), m.SubPathExpr, "subPathExpr and subPath are mutually exclusive")
			r.Add(descendingPath(m.SubPathExpr, p.Child("subPathExpr")))
		}
		check.OneOfOpt(&r, p.Child("mountPropagation"), m.MountPropagation,
			MountPropagationBidirectional, MountPropagationHostToContainer, MountPropagationNone)
		if m.MountPropagation != nil && *m.MountPropagation == MountPropagationBidirectional && !privileged(ctr.SecurityContext) {
			r.Forbidden(p.Child("mountPropagation"), "Bidirectional is available to privileged containers only")
		}
		r.Add(validateRecursiveReadOnly(&m, p.Child("recursiveReadOnly")))
	}
	return r.List()
}

func validateRecursiveReadOnly(m *VolumeMount, p *path) validation.ErrorList {
	var r check.Report
	if m.RecursiveReadOnly == nil {
		return nil
	}
	check.OneOf(&r, p, *m.RecursiveReadOnly, RecursiveReadOnlyDisabled, RecursiveReadOnlyEnabled, RecursiveReadOnlyIfPossible)
	if *m.RecursiveReadOnly == RecursiveReadOnlyEnabled || *m.RecursiveReadOnly == RecursiveReadOnlyIfPossible {
		r.ForbidIf(!m.ReadOnly, p, "may only be set when readOnly is true")
		r.ForbidIf(m.MountPropagation != nil && *m.MountPropagation != MountPropagationNone, p,
			"may only be set when mountPropagation is None or unset")
	}
	return r.List()
}

func validateDevices(ctr *Container, volumes map[string]*Volume, p *path) validation.ErrorList {
	var r check.Report
	names, paths := map[string]bool{}, map[string]bool{}
	mountNames, mountPaths := map[string]bool{}, map[string]bool{}
	for _, m := range ctr.VolumeMounts {
		mountNames[m.Name], mountPaths[m.MountPath] = true, true
	}
	for i, d := range ctr.VolumeDevices {
		q := p.Index(i)
		r.NonEmpty(q.Child("name"), d.Name)
		r.If(!check.Unique(names, d.Name) && d.Name != "", q.Child("name"), d.Name, "must be unique")
		switch v := volumes[d.Name]; {
		case v == nil:
			r.NotFound(q.Child("name"), d.Name)
		case v.PersistentVolumeClaim == nil && v.Ephemeral == nil:
			r.Invalid(q.Child("name"), d.Name, "block mode needs a volume of type PersistentVolumeClaim or Ephemeral")
		}
		r.NonEmpty(q.Child("devicePath"), d.DevicePath)
		r.If(paths[d.DevicePath], q.Child("devicePath"), d.DevicePath, "must be unique")
		if hasBackstep(d.DevicePath) {
			r.Invalid(q.Child("devicePath"), d.DevicePath, "can not contain backsteps ('..')")
		} else {
			paths[d.DevicePath] = true
		}
		if d.DevicePath != "" {
			r.If(mountPaths[d.DevicePath], q.Child("devicePath"), d.DevicePath, "must not already exist as a path in volumeMounts")
		}
		r.If(mountNames[d.Name], q.Child("name"), d.Name, "must not already exist in volumeMounts")
	}
	return r.List()
}
