package podsecurity

import (
	"slices"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// evaluation is the evaluation of one pod by a list of checks: its input, what the current check has found,
// and the text of what earlier ones found. Its memory is used again by later evaluations, so that a pod costs
// two allocations if it is refused, and none if it is allowed.
type evaluation struct {
	meta *metav1.ObjectMeta
	spec *corev1.PodSpec
	// containers are the init containers, the containers and the ephemeral containers.
	containers []*corev1.Container

	// pod and names are the parts of the pod that do not comply with the current check: the pod's own fields,
	// and the names of containers or volumes. values are the forbidden values, in any order and as often as
	// they were set.
	pod           bool
	names, values []string

	// text holds the details of the violations, one after the other; ends are the offsets where they end.
	text       []byte
	violations []Violation
	ends       []int
}

var evaluations = sync.Pool{New: func() any { return new(evaluation) }}

// evaluate runs the checks. Only the strings of the result remain in use.
func evaluate(checks []namedCheck, meta *metav1.ObjectMeta, spec *corev1.PodSpec) Result {
	if len(checks) == 0 {
		return Result{}
	}
	e := evaluations.Get().(*evaluation)
	defer e.release()
	e.meta, e.spec = meta, spec
	for i := range spec.InitContainers {
		e.containers = append(e.containers, &spec.InitContainers[i])
	}
	for i := range spec.Containers {
		e.containers = append(e.containers, &spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		e.containers = append(e.containers, (*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	for i := range checks {
		if reason := checks[i].run(e); reason != "" {
			e.violations = append(e.violations, Violation{Check: checks[i].name, Reason: reason})
			e.ends = append(e.ends, len(e.text))
		}
		e.next()
	}
	if len(e.violations) == 0 {
		return Result{}
	}
	text, start := string(e.text), 0
	for i, end := range e.ends {
		e.violations[i].Detail, start = text[start:end], end
	}
	return Result{slices.Clone(e.violations)}
}

// release makes the memory usable by another evaluation. It keeps nothing of the pod alive.
func (e *evaluation) release() {
	e.next()
	clear(e.containers)
	clear(e.names[:cap(e.names)])
	clear(e.values[:cap(e.values)])
	clear(e.violations)
	*e = evaluation{containers: e.containers[:0], names: e.names[:0], values: e.values[:0], text: e.text[:0], violations: e.violations[:0], ends: e.ends[:0]}
	evaluations.Put(e)
}

// next forgets what the current check has found, but not its text.
func (e *evaluation) next() { e.pod, e.names, e.values = false, e.names[:0], e.values[:0] }

// found reports whether a part of the pod does not comply.
func (e *evaluation) found() bool { return e.pod || len(e.names) > 0 }

// name adds a container, or a volume, to the parts that do not comply.
func (e *evaluation) name(name string) { e.names = append(e.names, name) }

// forbid adds to the forbidden values. It returns true.
func (e *evaluation) forbid(value string) bool {
	e.values = append(e.values, value)
	return true
}

// write appends to the detail of the current check.
func (e *evaluation) write(parts ...string) {
	for _, p := range parts {
		e.text = append(e.text, p...)
	}
}

// quote appends the items in quotes.
func (e *evaluation) quote(items []string) {
	for i, item := range items {
		if i > 0 {
			e.text = append(e.text, ", "...)
		}
		e.text = append(append(append(e.text, '"'), item...), '"')
	}
}

// list appends the parts that do not comply, such as: pod and containers "a", "b".
func (e *evaluation) list() {
	if e.pod {
		e.write("pod")
	}
	if len(e.names) > 0 {
		if e.pod {
			e.write(" and ")
		}
		e.count("container", e.names)
		e.write(" ")
		e.quote(e.names)
	}
}

// count appends the word for the number of items.
func (e *evaluation) count(word string, items []string) { e.write(word, suffix(items)) }

// use appends the names, as those of what the noun says, that use the values, each as the other noun says:
// containers "a", "b" use hostPort.
func (e *evaluation) use(noun, of string) {
	e.count(noun, e.names)
	e.write(" ")
	e.quote(e.names)
	if len(e.names) == 1 {
		e.write(" uses ")
	} else {
		e.write(" use ")
	}
	e.count(of, e.values)
	e.write(" ")
}

// violation writes the detail and returns the reason if a part of the pod does not comply; otherwise it
// returns "". In format, %s stands for the parts, and a second %s for the forbidden values.
func (e *evaluation) violation(reason, format string) string {
	if !e.found() {
		return ""
	}
	before, after, _ := strings.Cut(format, "%s")
	e.write(before)
	e.list()
	before, after, more := strings.Cut(after, "%s")
	e.write(before)
	if more {
		e.values = unique(e.values)
		e.quote(e.values)
		e.write(after)
	}
	return reason
}

// unique sorts the values and removes duplicates.
func unique(values []string) []string {
	slices.Sort(values)
	return slices.Compact(values)
}

// suffix returns what makes a word fit the number of items.
func suffix(items []string) string {
	if len(items) == 1 {
		return ""
	}
	return "s"
}

func isTrue(b *bool) bool { return b != nil && *b }
