package admissionregistrationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/defaults"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// DefaultValidatingWebhookConfiguration fills the unset fields of its webhooks.
func DefaultValidatingWebhookConfiguration(c *ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector, &w.TimeoutSeconds, &w.ClientConfig, w.Rules)
	}
}

// DefaultMutatingWebhookConfiguration fills the unset fields of its webhooks.
func DefaultMutatingWebhookConfiguration(c *MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		defaults.IfNil(&w.ReinvocationPolicy, NeverReinvocationPolicy)
		defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector, &w.TimeoutSeconds, &w.ClientConfig, w.Rules)
	}
}

// defaultWebhook fills the fields that both types of webhooks have.
func defaultWebhook(failure **FailurePolicyType, match **MatchPolicyType, namespaces, objects **metav1.LabelSelector, timeout **int32, client *WebhookClientConfig, rules []RuleWithOperations) {
	defaults.IfNil(failure, Fail)
	defaults.IfNil(match, Equivalent)
	defaults.IfNil(namespaces, metav1.LabelSelector{})
	defaults.IfNil(objects, metav1.LabelSelector{})
	defaults.IfNil(timeout, 10)
	if client.Service != nil {
		defaults.IfNil(&client.Service.Port, 443)
	}
	for i := range rules {
		defaults.IfNil(&rules[i].Scope, AllScopes)
	}
}

// DefaultValidatingAdmissionPolicy fills the unset fields of a policy.
func DefaultValidatingAdmissionPolicy(p *ValidatingAdmissionPolicy) {
	defaults.IfNil(&p.Spec.FailurePolicy, Fail)
	defaultMatch(p.Spec.MatchConstraints)
}

// DefaultValidatingAdmissionPolicyBinding fills the unset fields of a binding.
func DefaultValidatingAdmissionPolicyBinding(b *ValidatingAdmissionPolicyBinding) {
	defaultMatch(b.Spec.MatchResources)
}

// DefaultMutatingAdmissionPolicy fills the unset fields of a policy.
func DefaultMutatingAdmissionPolicy(p *MutatingAdmissionPolicy) {
	defaults.IfNil(&p.Spec.FailurePolicy, Fail)
	defaultMatch(p.Spec.MatchConstraints)
}

// DefaultMutatingAdmissionPolicyBinding fills the unset fields of a binding.
func DefaultMutatingAdmissionPolicyBinding(b *MutatingAdmissionPolicyBinding) {
	defaultMatch(b.Spec.MatchResources)
}

func defaultMatch(m *MatchResources) {
	if m == nil {
		return
	}
	defaults.IfNil(&m.MatchPolicy, Equivalent)
	defaults.IfNil(&m.NamespaceSelector, metav1.LabelSelector{})
	defaults.IfNil(&m.ObjectSelector, metav1.LabelSelector{})
	for _, rules := range [][]NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			defaults.IfNil(&rules[i].Scope, AllScopes)
		}
	}
}
