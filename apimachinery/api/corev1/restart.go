package corev1

import "slices"

// MayRestartAllContainers reports whether a pod has a container by whose end, with an exit code of its rules,
// all containers of the pod start again.
func MayRestartAllContainers(s *PodSpec) bool {
	restartsAll := func(c Container) bool {
		return slices.ContainsFunc(c.RestartPolicyRules, func(r ContainerRestartRule) bool {
			return r.Action == ContainerRestartRuleActionRestartAllContainers
		})
	}
	return slices.ContainsFunc(s.InitContainers, restartsAll) || slices.ContainsFunc(s.Containers, restartsAll)
}
