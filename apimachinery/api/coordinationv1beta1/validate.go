package coordinationv1beta1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/internal/semver"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidateLeaseCandidate checks a candidate to be stored.
func ValidateLeaseCandidate(c *LeaseCandidate) validation.ErrorList {
	var r check.Report
	s, p := &c.Spec, validation.NewPath("spec")
	r.NonEmpty(p.Child("leaseName"), s.LeaseName)
	r.NonEmpty(p.Child("binaryVersion"), s.BinaryVersion)
	version := func(field, text string) semver.Version {
		v, err := semver.Parse(text)
		r.If(text != "" && err != nil, p.Child(field), text, "must be a valid semantic version")
		return v
	}
	emulated, binary := version("emulationVersion", s.EmulationVersion), version("binaryVersion", s.BinaryVersion)
	r.If(s.BinaryVersion != "" && s.EmulationVersion != "" && binary.Compare(emulated) < 0, p.Child("binaryVersion"), s.BinaryVersion,
		"must be greater than or equal to `emulationVersion`")
	switch {
	case s.Strategy == "":
		r.Required(p.Child("strategy"), "")
	case s.Strategy == coordinationv1.OldestEmulationVersion && emulated.Compare(semver.Version{}) == 0:
		r.Required(p.Child("emulationVersion"), "must be specified when `strategy` is 'OldestEmulationVersion'")
	default:
		r.Add(coordinationv1.ValidateStrategy(s.Strategy, p.Child("strategy")))
	}
	return r.List()
}

// ValidateLeaseCandidateUpdate checks a changed candidate: the Lease stays.
func ValidateLeaseCandidateUpdate(c, old *LeaseCandidate) validation.ErrorList {
	var r check.Report
	r.Add(ValidateLeaseCandidate(c))
	check.Immutable(&r, validation.NewPath("spec", "leaseName"), c.Spec.LeaseName, old.Spec.LeaseName)
	return r.List()
}

// Compare orders candidates for the strategy OldestEmulationVersion: negative if c is elected rather than o.
// The older emulated version comes first, then the older binary version, then the older object, then the
// smaller name. Versions that cannot be parsed count as 0.0.0, as no version of [ValidateLeaseCandidate]
// does.
func (c *LeaseCandidate) Compare(o *LeaseCandidate) int {
	if order := compare(c.Spec.EmulationVersion, o.Spec.EmulationVersion); order != 0 {
		return order
	}
	if order := c.CompareBinary(o); order != 0 {
		return order
	}
	if order := c.CreationTimestamp.Compare(o.CreationTimestamp.Time); order != 0 {
		return order
	}
	if c.Name < o.Name {
		return -1
	}
	return 1
}

// CompareBinary compares the binary versions of two candidates.
func (c *LeaseCandidate) CompareBinary(o *LeaseCandidate) int {
	return compare(c.Spec.BinaryVersion, o.Spec.BinaryVersion)
}

func compare(a, b string) int {
	v, _ := semver.Parse(a)
	w, _ := semver.Parse(b)
	return v.Compare(w)
}
