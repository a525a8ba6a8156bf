package builtin

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

const (
	none  = "<none>"
	unset = "<unset>"
)

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// value reads an optional field; unset is the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func ratio(ready, wanted int64) string {
	return strconv.FormatInt(ready, 10) + "/" + strconv.FormatInt(wanted, 10)
}

// labelsText is k=v,k=v in key order, or <none>.
func labelsText(set map[string]string) string {
	if len(set) == 0 {
		return none
	}
	var b strings.Builder
	for i, k := range slices.Sorted(maps.Keys(set)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(k + "=" + set[k])
	}
	return b.String()
}

// selectorText is the selector in its text form, or <none> when it is empty or missing.
func selectorText(s *metav1.LabelSelector) string {
	if s == nil {
		return none
	}
	sel, err := s.Selector()
	if err != nil {
		return "<error>"
	}
	return orElse(sel.String(), none)
}

// containersText lists the names and images of the containers of a pod.
func containersText(containers []corev1.Container) (names, images string) {
	n, i := make([]string, len(containers)), make([]string, len(containers))
	for k := range containers {
		n[k], i[k] = containers[k].Name, containers[k].Image
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}

// few joins at most limit items and appends the number of the others.
func few(items []string, limit int, separator string) string {
	if len(items) <= limit {
		return strings.Join(items, separator)
	}
	return strings.Join(items[:limit], separator) + " + " + strconv.Itoa(len(items)-limit) + " more..."
}

func boolText(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
