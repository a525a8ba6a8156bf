package podsecurity

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// The labels of a namespace that set its policy: a level, and its version.
const (
	LabelPrefix         = "pod-security.kubernetes.io/"
	EnforceLabel        = LabelPrefix + "enforce"
	EnforceVersionLabel = LabelPrefix + "enforce-version"
	AuditLabel          = LabelPrefix + "audit"
	AuditVersionLabel   = LabelPrefix + "audit-version"
	WarnLabel           = LabelPrefix + "warn"
	WarnVersionLabel    = LabelPrefix + "warn-version"
)

// LevelVersion is a level as it was at a version.
type LevelVersion struct {
	Level   Level
	Version Version
}

// String returns the level and the version, separated by a colon.
func (lv LevelVersion) String() string { return string(lv.Level) + ":" + lv.Version.String() }

// equivalent reports whether both allow the same pods.
func (lv LevelVersion) equivalent(other LevelVersion) bool {
	return lv == other || lv.Level == Privileged && other.Level == Privileged
}

// Policy is what holds in a namespace: pods that violate Enforce are refused, those that violate Audit are
// recorded in the audit log, and those that violate Warn are accepted with a warning to the client.
type Policy struct {
	Enforce, Audit, Warn LevelVersion
}

// Privileged reports whether the policy allows everything without a warning or a record.
func (p Policy) Privileged() bool {
	return p.Enforce.Level == Privileged && p.Audit.Level == Privileged && p.Warn.Level == Privileged
}

// Equivalent reports whether both policies treat all pods alike.
func (p Policy) Equivalent(other Policy) bool {
	return p.Enforce.equivalent(other.Enforce) && p.Audit.equivalent(other.Audit) && p.Warn.equivalent(other.Warn)
}

// Stricter reports whether level a forbids more than b. A level that is none of the three is as strict as
// Restricted.
func Stricter(a, b Level) bool { return strictness(a) > strictness(b) }

func strictness(l Level) int {
	if i := slices.Index([]Level{Privileged, Baseline}, l); i >= 0 {
		return i
	}
	return 2
}

// PolicyOf returns the policy that the labels of a namespace set, and defaults where they do not. If enforce
// is set, warn is not and would be less strict, warn is the same as enforce. The policy can be used even with
// errors, which name the labels: for enforce a level that cannot be parsed is Restricted, for the others
// Privileged, and such a version is the latest.
func PolicyOf(labels map[string]string, defaults Policy) (Policy, validation.ErrorList) {
	p := defaults
	if len(labels) == 0 {
		return p, nil
	}
	r := labelReader{labels: labels}
	enforced := r.level(EnforceLabel, &p.Enforce.Level, Restricted)
	r.version(EnforceVersionLabel, &p.Enforce.Version)
	r.level(AuditLabel, &p.Audit.Level, Privileged)
	r.version(AuditVersionLabel, &p.Audit.Version)
	r.level(WarnLabel, &p.Warn.Level, Privileged)
	r.version(WarnVersionLabel, &p.Warn.Version)
	if _, set := labels[WarnLabel]; enforced && !set && Stricter(p.Enforce.Level, p.Warn.Level) {
		p.Warn.Level = p.Enforce.Level
		if _, set := labels[WarnVersionLabel]; !set {
			p.Warn.Version = p.Enforce.Version
		}
	}
	return p, r.errs
}

// labelReader parses labels and collects the errors.
type labelReader struct {
	labels map[string]string
	errs   validation.ErrorList
}

// level sets l to the level of a label, or to the given one if it cannot be parsed, and reports whether the
// label is there and valid.
func (r *labelReader) level(label string, l *Level, invalid Level) bool {
	text, ok := r.labels[label]
	if !ok {
		return false
	}
	level, err := ParseLevel(text)
	if err != nil {
		r.invalid(label, text, err)
		level = invalid
	}
	*l = level
	return err == nil
}

func (r *labelReader) version(label string, v *Version) {
	if text, ok := r.labels[label]; ok {
		var err error
		if *v, err = ParseVersion(text); err != nil {
			r.invalid(label, text, err)
		}
	}
}

func (r *labelReader) invalid(label, text string, err error) {
	r.errs = append(r.errs, validation.Invalid(validation.NewPath("metadata", "labels").Key(label), text, err.Error()))
}
