package namespace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// statusOf returns the status of a namespace after a pass. All conditions are set when one is bad, or was: a
// namespace that empties at once needs no word about it.
func statusOf(ns *corev1.Namespace, left *content, now time.Time) corev1.NamespaceStatus {
	status := ns.Status
	conditions := left.conditions()
	bad := slices.ContainsFunc(conditions, func(c corev1.NamespaceCondition) bool { return c.Status == corev1.ConditionTrue })
	if !bad && len(status.Conditions) == 0 {
		return status
	}
	status.Conditions = slices.Clone(status.Conditions)
	for _, c := range conditions {
		c.LastTransitionTime = metav1.Time{Time: now}
		i := slices.IndexFunc(status.Conditions, func(have corev1.NamespaceCondition) bool { return have.Type == c.Type })
		if i < 0 {
			status.Conditions = append(status.Conditions, c)
			continue
		}
		have := &status.Conditions[i]
		if have.Status == c.Status {
			c.LastTransitionTime = have.LastTransitionTime
		}
		*have = c
	}
	return status
}

// conditions returns the conditions that say what is left, without times.
func (c *content) conditions() []corev1.NamespaceCondition {
	discovery, deletion := "", make([]string, len(c.deletion))
	if c.discovery != nil {
		discovery = c.discovery.Error()
	}
	for i, err := range c.deletion {
		deletion[i] = err.Error()
	}
	slices.Sort(deletion)
	var out []corev1.NamespaceCondition
	add := func(t corev1.NamespaceConditionType, bad bool, badReason, okReason, badText, okText string) {
		cond := corev1.NamespaceCondition{Type: t, Status: corev1.ConditionFalse, Reason: okReason, Message: okText}
		if bad {
			cond.Status, cond.Reason, cond.Message = corev1.ConditionTrue, badReason, badText
		}
		out = append(out, cond)
	}
	add("NamespaceDeletionDiscoveryFailure", c.discovery != nil, "DiscoveryFailed", "ResourcesDiscovered", "Discovery failed for some groups: "+discovery, "All resources successfully discovered")
	add("NamespaceDeletionGroupVersionParsingFailure", false, "", "ParsedGroupVersions", "", "All legacy kube types successfully parsed")
	add("NamespaceDeletionContentFailure", len(deletion) > 0, "ContentDeletionFailed", "ContentDeleted",
		fmt.Sprintf("Failed to delete all resource types, %d remaining: %s", len(deletion), strings.Join(deletion, ", ")), "All content successfully deleted, may be waiting on finalization")
	add("NamespaceContentRemaining", len(c.remaining) > 0, "SomeResourcesRemain", "ContentRemoved", "Some resources are remaining: "+counts(c.remaining, "%s has %d resource instances"), "All content successfully removed")
	add("NamespaceFinalizersRemaining", len(c.finalizers) > 0, "SomeFinalizersRemain", "ContentHasNoFinalizers", "Some content in the namespace has finalizers remaining: "+counts(c.finalizers, "%s in %d resource instances"), "All content-preserving finalizers finished")
	return out
}

func counts(m map[string]int, format string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf(format, k, m[k]))
	}
	return strings.Join(parts, ", ")
}
