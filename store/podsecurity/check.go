package podsecurity

import "github.com/keelson-dev/keelson/apimachinery/api/corev1"

// checkFunc runs one check. If the pod does not pass, it returns the reason and writes the detail; otherwise
// it returns "" and has written nothing.
type checkFunc func(*evaluation) (reason string)

// check is a check through all versions.
type check struct {
	name string
	// replaces is the baseline check that this one makes redundant at Restricted.
	replaces  string
	revisions []revision
}

// revision is how a check works from version v1.from until that of the next revision.
type revision struct {
	from int
	run  checkFunc
}

// at returns how the check works at v1.minor; nil if it did not exist.
func (c *check) at(minor int) checkFunc {
	var run checkFunc
	for _, r := range c.revisions {
		if r.from <= minor {
			run = r.run
		}
	}
	return run
}

// The checks of both levels are in the order in which their violations are reported: by name, as upstream.
var (
	baselineChecks = []check{
		{"appArmorProfile", "", []revision{{0, appArmorProfile}}},
		{"capabilities_baseline", "", []revision{{0, defaultCapabilities}}},
		{"hostNamespaces", "", []revision{{0, hostNamespaces}}},
		{"hostPathVolumes", "", []revision{{0, hostPathVolumes}}},
		{"hostPorts", "", []revision{{0, hostPorts}}},
		{"hostProbesAndHostLifecycle", "", []revision{{34, handlerHosts}}},
		{"privileged", "", []revision{{0, privileged}}},
		{"procMount", "", []revision{{0, procMount}, {35, exceptUserNamespaces(procMount)}}},
		{"seLinuxOptions", "", []revision{{0, seLinuxOptions(selinuxTypes)}, {31, seLinuxOptions(selinuxTypes31)}}},
		{"seccompProfile_baseline", "", []revision{{0, seccompAnnotations}, {19, seccompAllowed}}},
		{"sysctls", "", []revision{{0, sysctls(safeSysctls)}, {27, sysctls(safeSysctls27)}, {29, sysctls(safeSysctls29)}, {32, sysctls(safeSysctls32)}}},
		{"windowsHostProcess", "", []revision{{0, windowsHostProcess}}},
	}
	restrictedChecks = []check{
		{"allowPrivilegeEscalation", "", []revision{{8, privilegeEscalation}, {25, exceptWindows(privilegeEscalation)}}},
		{"capabilities_restricted", "capabilities_baseline", []revision{{22, droppedCapabilities}, {25, exceptWindows(droppedCapabilities)}}},
		{"procMount_restricted", "procMount", []revision{{35, procMount}}},
		{"restrictedVolumes", "hostPathVolumes", []revision{{0, restrictedVolumes}}},
		{"runAsNonRoot", "", []revision{{0, runAsNonRoot}, {35, exceptUserNamespaces(runAsNonRoot)}}},
		{"runAsUser", "", []revision{{23, runAsUser}, {35, exceptUserNamespaces(runAsUser)}}},
		{"seccompProfile_restricted", "seccompProfile_baseline", []revision{{19, seccompRequired}, {25, exceptWindows(seccompRequired)}}},
	}
)

// exceptWindows passes pods of Windows, for which validation refuses the fields of the check.
func exceptWindows(run checkFunc) checkFunc {
	return func(e *evaluation) string {
		if e.spec.OS != nil && e.spec.OS.Name == corev1.Windows {
			return ""
		}
		return run(e)
	}
}

// exceptUserNamespaces passes pods in a user namespace of their own, where root has no rights on the node.
func exceptUserNamespaces(run checkFunc) checkFunc {
	return func(e *evaluation) string {
		if e.spec.HostUsers != nil && !*e.spec.HostUsers {
			return ""
		}
		return run(e)
	}
}

// namedCheck is a check at one version.
type namedCheck struct {
	name string
	run  checkFunc
}

// newest is the minor version of the last revision.
const newest = 35

// baselineAt and restrictedAt are the checks of a level by minor version, up to newest.
var baselineAt, restrictedAt = checksByVersion()

func checksByVersion() (baseline, restricted [newest + 1][]namedCheck) {
	for minor := range newest + 1 {
		replaced := map[string]bool{}
		var added []namedCheck
		for _, c := range restrictedChecks {
			if run := c.at(minor); run != nil {
				replaced[c.replaces] = true
				added = append(added, namedCheck{c.name, run})
			}
		}
		for _, c := range baselineChecks {
			run := c.at(minor)
			if run == nil {
				continue
			}
			baseline[minor] = append(baseline[minor], namedCheck{c.name, run})
			if !replaced[c.name] {
				restricted[minor] = append(restricted[minor], namedCheck{c.name, run})
			}
		}
		restricted[minor] = append(restricted[minor], added...)
	}
	return baseline, restricted
}

func checksOf(level Level, version Version) []namedCheck {
	minor := newest
	if version.pinned {
		minor = min(version.minor, newest)
	}
	switch level {
	case Privileged:
		return nil
	case Baseline:
		return baselineAt[minor]
	}
	return restrictedAt[minor]
}
