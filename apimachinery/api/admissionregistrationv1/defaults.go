package admissionregistrationv1

import "github.com/keelson-dev/keelson/apimachinery/metav1"

func setIfNil[T any](p **T, v T) {
	if *p == nil {
		*p = &v
	}
}

// DefaultValidatingWebhookConfiguration fills the unset fields of its webhooks.
func DefaultValidatingWebhookConfiguration(c *ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		setIfNil(&w.FailurePolicy, Fail)
		setIfNil(&w.MatchPolicy, Equivalent)
		setIfNil(&w.NamespaceSelector, metav1.LabelSelector{})
		setIfNil(&w.ObjectSelector, metav1.LabelSelector{})
		setIfNil(&w.TimeoutSeconds, 10)
		defaultClientConfig(&w.ClientConfig)
		for j := range w.Rules {
			setIfNil(&w.Rules[j].Scope, AllScopes)
		}
	}
}

// DefaultMutatingWebhookConfiguration fills the unset fields of its webhooks.
func DefaultMutatingWebhookConfiguration(c *MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		setIfNil(&w.FailurePolicy, Fail)
		setIfNil(&w.MatchPolicy, Equivalent)
		setIfNil(&w.NamespaceSelector, metav1.LabelSelector{})
		setIfNil(&w.ObjectSelector, metav1.LabelSelector{})
		setIfNil(&w.TimeoutSeconds, 10)
		setIfNil(&w.ReinvocationPolicy, NeverReinvocationPolicy)
		defaultClientConfig(&w.ClientConfig)
		for j := range w.Rules {
			setIfNil(&w.Rules[j].Scope, AllScopes)
		}
	}
}

func defaultClientConfig(c *WebhookClientConfig) {
	if c.Service != nil {
		setIfNil(&c.Service.Port, 443)
	}
}

// DefaultValidatingAdmissionPolicy fills the unset fields of a policy.
func DefaultValidatingAdmissionPolicy(p *ValidatingAdmissionPolicy) {
	setIfNil(&p.Spec.FailurePolicy, Fail)
	defaultMatch(p.Spec.MatchConstraints)
}

// DefaultValidatingAdmissionPolicyBinding fills the unset fields of a binding.
func DefaultValidatingAdmissionPolicyBinding(b *ValidatingAdmissionPolicyBinding) {
	defaultMatch(b.Spec.MatchResources)
}

// DefaultMutatingAdmissionPolicy fills the unset fields of a policy.
func DefaultMutatingAdmissionPolicy(p *MutatingAdmissionPolicy) {
	setIfNil(&p.Spec.FailurePolicy, Fail)
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
	setIfNil(&m.MatchPolicy, Equivalent)
	setIfNil(&m.NamespaceSelector, metav1.LabelSelector{})
	setIfNil(&m.ObjectSelector, metav1.LabelSelector{})
	for _, rules := range [][]NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			setIfNil(&rules[i].Scope, AllScopes)
		}
	}
}
