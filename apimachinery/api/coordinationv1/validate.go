package coordinationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidateLease checks a lease to be stored.
func ValidateLease(l *Lease) validation.ErrorList {
	var r check.Report
	s, p := &l.Spec, validation.NewPath("spec")
	r.If(s.LeaseDurationSeconds != nil && *s.LeaseDurationSeconds <= 0, p.Child("leaseDurationSeconds"), s.LeaseDurationSeconds, "must be greater than 0")
	r.If(s.LeaseTransitions != nil && *s.LeaseTransitions < 0, p.Child("leaseTransitions"), s.LeaseTransitions, validation.NegativeText)
	if s.PreferredHolder != nil && *s.PreferredHolder != "" {
		r.ForbidIf(s.Strategy == nil, p.Child("preferredHolder"), "must not be set without a strategy")
	}
	return r.List()
}
