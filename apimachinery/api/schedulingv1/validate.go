package schedulingv1

import (
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

const (
	// systemPrefix begins the names that only the system's own classes may have.
	systemPrefix = "system-"
	// highestUserPriority is the highest value of a class that is not reserved for the system.
	highestUserPriority = 1_000_000_000
)

// systemPriority is the value of a class of the system's own, 0 for any other name.
func systemPriority(name string) int32 {
	switch name {
	case "system-cluster-critical":
		return 2 * highestUserPriority
	case "system-node-critical":
		return 2*highestUserPriority + 1000
	}
	return 0
}

// ValidatePriorityClass checks a class to be created.
func ValidatePriorityClass(c *PriorityClass) validation.ErrorList {
	var r check.Report
	if strings.HasPrefix(c.Name, systemPrefix) {
		known := systemPriority(c.Name)
		r.ForbidIf(known == 0 || known != c.Value, validation.NewPath("metadata", "name"), "priority class names with 'system-' prefix are reserved for system use only")
	} else {
		r.ForbidIf(c.Value > highestUserPriority, validation.NewPath("value"), "maximum allowed value of a user defined priority is 1000000000")
	}
	check.OneOfOpt(&r, validation.NewPath("preemptionPolicy"), c.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)
	return r.List()
}

// ValidatePriorityClassUpdate checks a change of a class; its value stays.
func ValidatePriorityClassUpdate(c, old *PriorityClass) validation.ErrorList {
	var r check.Report
	r.ForbidIf(c.Value != old.Value, validation.NewPath("value"), "may not be changed in an update.")
	check.Immutable(&r, validation.NewPath("preemptionPolicy"), c.PreemptionPolicy, old.PreemptionPolicy)
	return r.List()
}
