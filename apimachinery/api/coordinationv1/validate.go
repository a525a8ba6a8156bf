package coordinationv1

import (
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidateLease checks a lease to be stored.
func ValidateLease(l *Lease) validation.ErrorList {
	var r check.Report
	s, p := &l.Spec, validation.NewPath("spec")
	r.If(s.LeaseDurationSeconds != nil && *s.LeaseDurationSeconds <= 0, p.Child("leaseDurationSeconds"), s.LeaseDurationSeconds, "must be greater than 0")
	r.If(s.LeaseTransitions != nil && *s.LeaseTransitions < 0, p.Child("leaseTransitions"), s.LeaseTransitions, validation.NegativeText)
	if s.Strategy != nil {
		r.Add(ValidateStrategy(*s.Strategy, p.Child("strategy")))
	}
	if s.PreferredHolder != nil && *s.PreferredHolder != "" {
		r.ForbidIf(s.Strategy == nil || *s.Strategy == "", p.Child("preferredHolder"), "may only be specified if `strategy` is defined")
	}
	return r.List()
}

// ValidateStrategy checks a strategy of coordinated leader election: OldestEmulationVersion, or a name with a
// domain. The findings are at p.strategy, as upstream.
func ValidateStrategy(s CoordinatedLeaseStrategy, p *validation.Path) validation.ErrorList {
	var r check.Report
	if strings.Contains(string(s), "/") {
		r.Each(p.Child("strategy"), s, validation.IsQualifiedName(string(s)))
	} else {
		check.OneOf(&r, p.Child("strategy"), s, OldestEmulationVersion)
	}
	return r.List()
}
