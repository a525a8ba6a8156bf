package podsecurity

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// containers are all containers of a pod: init containers, containers and ephemeral containers.
func containers(spec *corev1.PodSpec) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for i := range spec.InitContainers {
			if !yield(&spec.InitContainers[i]) {
				return
			}
		}
		for i := range spec.Containers {
			if !yield(&spec.Containers[i]) {
				return
			}
		}
		for i := range spec.EphemeralContainers {
			if !yield((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon)) {
				return
			}
		}
	}
}

// secured are the security contexts of the containers that have one, by the container's name.
func secured(spec *corev1.PodSpec) iter.Seq2[string, *corev1.SecurityContext] {
	return func(yield func(string, *corev1.SecurityContext) bool) {
		for c := range containers(spec) {
			if c.SecurityContext != nil && !yield(c.Name, c.SecurityContext) {
				return
			}
		}
	}
}

// setters are the parts of a pod that do not comply with a check.
type setters struct {
	pod        bool
	containers []string
	// values are the forbidden values, in any order and as often as they were set.
	values []string
}

func (s *setters) any() bool { return s.pod || len(s.containers) > 0 }

// list returns the parts, such as: pod, containers "a", "b".
func (s *setters) list() []string {
	var parts []string
	if s.pod {
		parts = append(parts, "pod")
	}
	if len(s.containers) > 0 {
		parts = append(parts, plural("container", s.containers)+" "+quoted(s.containers))
	}
	return parts
}

// violation returns the violation of the setters, or none if there are none. In format, %s stands for the
// setters, and a second %s for their values.
func (s *setters) violation(reason, format string) Violation {
	if !s.any() {
		return Violation{}
	}
	args := []any{strings.Join(s.list(), " and ")}
	if strings.Count(format, "%s") > 1 {
		args = append(args, quoted(unique(s.values)))
	}
	return Violation{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// unique sorts the values and removes duplicates.
func unique(values []string) []string {
	slices.Sort(values)
	return slices.Compact(values)
}

func quoted(items []string) string { return `"` + strings.Join(items, `", "`) + `"` }

// plural returns the word for the number of items.
func plural(word string, items []string) string {
	if len(items) == 1 {
		return word
	}
	return word + "s"
}

// use returns the verb for the number of items that use something.
func use(items []string) string {
	if len(items) == 1 {
		return "uses"
	}
	return "use"
}

func isTrue(b *bool) bool { return b != nil && *b }
