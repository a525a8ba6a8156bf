package job

import (
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// match finds the first rule of a failure policy that a failed pod meets. Without one the failure counts.
func match(policy *batchv1.PodFailurePolicy, p *corev1.Pod) (action batchv1.PodFailurePolicyAction, message string) {
	for i := range policy.Rules {
		rule := &policy.Rules[i]
		if rule.OnExitCodes != nil {
			if c := exited(p, rule.OnExitCodes); c != nil {
				return rule.Action, fmt.Sprintf("Container %s for pod %s failed with exit code %d matching %s rule at index %d",
					c.Name, p.Key(), c.State.Terminated.ExitCode, rule.Action, i)
			}
		} else if c := conditioned(p, rule.OnPodConditions); c != nil {
			return rule.Action, fmt.Sprintf("Pod %s has condition %s matching %s rule at index %d", p.Key(), c.Type, rule.Action, i)
		}
	}
	return batchv1.PodFailurePolicyActionCount, ""
}

// exited returns a container whose exit code the rule is about. Success never matches.
func exited(p *corev1.Pod, rule *batchv1.PodFailurePolicyOnExitCodesRequirement) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range list {
			c := &list[i]
			t := c.State.Terminated
			if t == nil || t.ExitCode == 0 || rule.ContainerName != nil && *rule.ContainerName != c.Name {
				continue
			}
			if slices.Contains(rule.Values, t.ExitCode) == (rule.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
				return c
			}
		}
	}
	return nil
}

func conditioned(p *corev1.Pod, patterns []batchv1.PodFailurePolicyOnPodConditionsPattern) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		for _, want := range patterns {
			if c.Type == want.Type && (c.Status == want.Status || want.Status == "" && c.Status == corev1.ConditionTrue) {
				return c
			}
		}
	}
	return nil
}

// meets returns the first rule of a success policy that the completed indexes meet.
func meets(policy *batchv1.SuccessPolicy, completed indexes, completions int32) (rule int, ok bool) {
	for i := range policy.Rules {
		r := &policy.Rules[i]
		counted, wanted := completed, int32(0)
		if r.SucceededIndexes != nil {
			set := parseIndexes(*r.SucceededIndexes, completions)
			counted = slices.DeleteFunc(slices.Clone(completed), func(x int32) bool { return !set.has(x) })
			wanted = int32(len(set))
		}
		if r.SucceededCount != nil {
			wanted = *r.SucceededCount
		}
		if int32(len(counted)) >= wanted {
			return i, true
		}
	}
	return 0, false
}
