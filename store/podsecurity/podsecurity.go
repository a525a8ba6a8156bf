// Package podsecurity evaluates pods against the Pod Security Standards of Kubernetes: the levels privileged,
// baseline and restricted, each as it was at a version from v1.0 on. It needs no server, so tools can
// evaluate manifests with it before they apply them. Reasons and details are those that kube-apiserver
// reports. [PolicyOf] reads the policy of a namespace from its labels; the plugin PodSecurity of package
// admission enforces it.
package podsecurity

import (
	"errors"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Level is how strict a policy is.
type Level string

const (
	// Privileged allows everything.
	Privileged Level = "privileged"
	// Baseline forbids the known ways to gain privileges on a node.
	Baseline Level = "baseline"
	// Restricted allows only pods that follow the current practice of hardening.
	Restricted Level = "restricted"
)

// ParseLevel returns the level of a name, which must be privileged, baseline or restricted.
func ParseLevel(name string) (Level, error) {
	switch l := Level(name); l {
	case Privileged, Baseline, Restricted:
		return l, nil
	}
	return "", errors.New("must be one of privileged, baseline, restricted")
}

// Version is the version of a policy: that of the Kubernetes release v1.N, or the latest. The zero value is
// the latest.
type Version struct {
	pinned bool
	minor  int
}

// V1 is version v1.minor; minor must not be negative. A version newer than the last change of the standards,
// which was in v1.35, is evaluated as the latest.
func V1(minor int) Version { return Version{pinned: true, minor: minor} }

// ParseVersion returns the version that is written as latest or v1.N.
func ParseVersion(text string) (Version, error) {
	if text == "latest" {
		return Version{}, nil
	}
	if digits, ok := strings.CutPrefix(text, "v1."); ok {
		if n, err := strconv.Atoi(digits); err == nil && n >= 0 && strconv.Itoa(n) == digits {
			return V1(n), nil
		}
	}
	return Version{}, errors.New(`must be "latest" or "v1.x"`)
}

// String returns the version in the form that ParseVersion reads.
func (v Version) String() string {
	if !v.pinned {
		return "latest"
	}
	return "v1." + strconv.Itoa(v.minor)
}

// After reports whether v is the version of a later release than other; the latest is of no release.
func (v Version) After(other Version) bool { return v.pinned && other.pinned && v.minor > other.minor }

// Violation is one check that a pod does not pass.
type Violation struct {
	// Check is the name of the check, such as hostPorts.
	Check string
	// Reason says in a few words what is forbidden.
	Reason string
	// Detail names the containers and values; it may be empty.
	Detail string
}

// Result lists the checks that a pod does not pass, those of baseline first.
type Result struct {
	Violations []Violation
}

// Allowed reports whether the pod passes all checks.
func (r Result) Allowed() bool { return len(r.Violations) == 0 }

// Reason returns the reasons of all violations, separated by commas.
func (r Result) Reason() string {
	reasons := make([]string, len(r.Violations))
	for i, v := range r.Violations {
		reasons[i] = v.Reason
	}
	return strings.Join(reasons, ", ")
}

// Detail returns the reasons of all violations, each with its detail, if any, in parentheses, separated by
// commas.
func (r Result) Detail() string {
	size := 0
	for i := range r.Violations {
		size += len(r.Violations[i].Reason) + len(r.Violations[i].Detail) + len(" (), ")
	}
	var text strings.Builder
	text.Grow(size)
	for i, v := range r.Violations {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(v.Reason)
		if v.Detail != "" {
			text.WriteString(" (")
			text.WriteString(v.Detail)
			text.WriteByte(')')
		}
	}
	return text.String()
}

// Evaluate checks a pod, or the template of one, against a level at a version. A level that is none of the
// three is evaluated as Restricted. The pod is not changed, and meta and spec must not be nil.
// It may be called concurrently.
func Evaluate(level Level, version Version, meta *metav1.ObjectMeta, spec *corev1.PodSpec) Result {
	return evaluate(checksOf(level, version), meta, spec)
}
