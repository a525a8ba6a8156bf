package admissionregistrationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/defaults"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// DefaultValidatingWebhookConfiguration fills the unset fields of its webhooks.
func DefaultValidatingWebhookConfiguration(c *ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		defaults.IfNil(&w.FailurePolicy, Fail)
		defaults.IfNil(&w.MatchPolicy, Equivalent)
		defaults.IfNil(&w.NamespaceSelector, metav1.LabelSelector{})
		defaults.IfNil(&w.ObjectSelector, metav1.LabelSelector{})
		defaults.IfNil(&w.TimeoutSeconds, 10)
		defaultClientConfig(&w.ClientConfig)
		for j := range w.Rules {
			defaults.IfNil(&w.Rules[j].Scope, AllScopes)
		}
	}
}

// DefaultMutatingWebhookConfiguration fills the unset fields of its webhooks.
func DefaultMutatingWebhookConfiguration(c *MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		defaults.IfNil(&w.FailurePolicy, Fail)
		defaults.IfNil(&w.MatchPolicy, Equivalent)
		defaults.IfNil(&w.NamespaceSelector, metav1.LabelSelector{})
		defaults.IfNil(&w.ObjectSelector, metav1.LabelSelector{})
		defaults.IfNil(&w.TimeoutSeconds, 10)
		defaults.IfNil(&w.ReinvocationPolicy, NeverReinvocationPolicy)
		defaultClientConfig(&w.ClientConfig)
		for j := range w.Rules {
			defaults.IfNil(&w.Rules[j].Scope, AllScopes)
		}
	}
}

func defaultClientConfig(c *WebhookClientConfig) {
	if c.Service != nil {
		defaults.IfNil(&c.Service.Port, 443)
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
