package admissionregistrationv1

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

func at(name string, more ...string) *path { return validation.NewPath(name, more...) }

const (
	maxTimeout         = 30
	maxMatchConditions = 64
)

// webhook is what the two kinds of webhooks share.
type webhook struct {
	name         string
	config       *WebhookClientConfig
	rules        []RuleWithOperations
	failure      *FailurePolicyType
	match        *MatchPolicyType
	namespaces   *metav1.LabelSelector
	objects      *metav1.LabelSelector
	sideEffects  *SideEffectClass
	timeout      *int32
	versions     []string
	conditions   []MatchCondition
	reinvocation *ReinvocationPolicyType
}

func validating(w *ValidatingWebhook) webhook {
	return webhook{
		name: w.Name, config: &w.ClientConfig, rules: w.Rules, failure: w.FailurePolicy, match: w.MatchPolicy,
		namespaces: w.NamespaceSelector, objects: w.ObjectSelector, sideEffects: w.SideEffects, timeout: w.TimeoutSeconds,
		versions: w.AdmissionReviewVersions, conditions: w.MatchConditions,
	}
}

func mutating(w *MutatingWebhook) webhook {
	return webhook{
		name: w.Name, config: &w.ClientConfig, rules: w.Rules, failure: w.FailurePolicy, match: w.MatchPolicy,
		namespaces: w.NamespaceSelector, objects: w.ObjectSelector, sideEffects: w.SideEffects, timeout: w.TimeoutSeconds,
		versions: w.AdmissionReviewVersions, conditions: w.MatchConditions, reinvocation: w.ReinvocationPolicy,
	}
}

// ValidateValidatingWebhookConfiguration checks a configuration to be stored.
func ValidateValidatingWebhookConfiguration(c *ValidatingWebhookConfiguration) validation.ErrorList {
	list := make([]webhook, len(c.Webhooks))
	for i := range c.Webhooks {
		list[i] = validating(&c.Webhooks[i])
	}
	return validateWebhooks(list)
}

// ValidateMutatingWebhookConfiguration checks a configuration to be stored.
func ValidateMutatingWebhookConfiguration(c *MutatingWebhookConfiguration) validation.ErrorList {
	list := make([]webhook, len(c.Webhooks))
	for i := range c.Webhooks {
		list[i] = mutating(&c.Webhooks[i])
	}
	return validateWebhooks(list)
}

func validateWebhooks(list []webhook) validation.ErrorList {
	var r check.Report
	names := map[string]bool{}
	for i := range list {
		p := at("webhooks").Index(i)
		r.Add(validateWebhook(&list[i], p))
		if list[i].name != "" && !check.Unique(names, list[i].name) {
			r.Duplicate(p.Child("name"), list[i].name)
		}
	}
	return r.List()
}

func validateWebhook(w *webhook, p *path) validation.ErrorList {
	var r check.Report
	r.Add(validation.FullyQualifiedName(p.Child("name"), w.name))
	r.Add(validateReviewVersions(w.versions, p.Child("admissionReviewVersions")))
	for i := range w.rules {
		r.Add(validateRule(&w.rules[i], p.Child("rules").Index(i)))
	}
	check.OneOfOpt(&r, p.Child("failurePolicy"), w.failure, Ignore, Fail)
	check.OneOfOpt(&r, p.Child("matchPolicy"), w.match, Exact, Equivalent)
	if w.sideEffects == nil {
		r.Required(p.Child("sideEffects"), "must specify one of None, NoneOnDryRun")
	} else {
		check.OneOf(&r, p.Child("sideEffects"), *w.sideEffects, SideEffectClassNone, SideEffectClassNoneOnDryRun)
	}
	if t := w.timeout; t != nil && (*t < 1 || *t > maxTimeout) {
		r.Invalid(p.Child("timeoutSeconds"), *t, "the timeout value must be between 1 and 30 seconds")
	}
	check.OneOfOpt(&r, p.Child("reinvocationPolicy"), w.reinvocation, NeverReinvocationPolicy, IfNeededReinvocationPolicy)
	r.Add(metav1.ValidateLabelSelector(w.namespaces, metav1.SelectorRule{}, p.Child("namespaceSelector")))
	r.Add(metav1.ValidateLabelSelector(w.objects, metav1.SelectorRule{}, p.Child("objectSelector")))
	r.Add(validateClientConfig(w.config, p.Child("clientConfig")))
	r.Add(validateConditions(w.conditions, p.Child("matchConditions")))
	return r.List()
}

func validateReviewVersions(versions []string, p *path) validation.ErrorList {
	var r check.Report
	if len(versions) == 0 {
		r.Required(p, "must specify one of v1, v1beta1")
		return r.List()
	}
	seen := map[string]bool{}
	for i, v := range versions {
		if !check.Unique(seen, v) {
			r.Invalid(p.Index(i), v, "duplicate version")
			continue
		}
		r.Each(p.Index(i), v, validation.IsDNS1035Label(v))
	}
	r.If(!seen["v1"] && !seen["v1beta1"], p, versions, "must include at least one of v1, v1beta1")
	return r.List()
}

func validateClientConfig(c *WebhookClientConfig, p *path) validation.ErrorList {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		return validation.ErrorList{validation.Required(p, "exactly one of url or service is required")}
	case c.URL != nil:
		return validation.WebhookURL(p.Child("url"), *c.URL)
	}
	s := c.Service
	// In these kinds, upstream reports a missing name as a namespace, and the other way around.
	return validation.WebhookService(p.Child("service"), s.Namespace, s.Name, s.Path, s.Port)
}

func validateRule(rule *RuleWithOperations, p *path) validation.ErrorList {
	var r check.Report
	if len(rule.Operations) == 0 {
		r.Required(p.Child("operations"), "")
	}
	r.If(len(rule.Operations) > 1 && slices.Contains(rule.Operations, OperationAll), p.Child("operations"), rule.Operations, "if '*' is present, must not specify other operations")
	for i, o := range rule.Operations {
		check.OneOf(&r, p.Child("operations").Index(i), o, OperationAll, Create, Update, Delete, Connect)
	}
	for _, f := range []struct {
		name       string
		list       []string
		allowEmpty bool
	}{{"apiGroups", rule.APIGroups, true}, {"apiVersions", rule.APIVersions, false}, {"resources", rule.Resources, false}} {
		q := p.Child(f.name)
		if len(f.list) == 0 {
			r.Required(q, "")
		}
		for i, v := range f.list {
			if v == "" && !f.allowEmpty {
				r.Required(q.Index(i), "")
			}
		}
		if f.name != "resources" {
			r.If(len(f.list) > 1 && slices.Contains(f.list, "*"), q, f.list, "if '*' is present, must not specify other values")
		}
	}
	r.Add(validateResources(rule.Resources, p.Child("resources")))
	check.OneOfOpt(&r, p.Child("scope"), rule.Scope, ClusterScope, NamespacedScope, AllScopes)
	return r.List()
}

// validateResources refuses names that a wildcard in the same list already covers.
func validateResources(list []string, p *path) validation.ErrorList {
	var r check.Report
	all := slices.Contains(list, "*")
	r.If(slices.Contains(list, "*/*") && len(list) > 1, p, list, "if '*/*' is present, must not specify other resources")
	subOf, of := map[string]bool{}, map[string]bool{}
	for _, name := range list {
		if res, sub, ok := strings.Cut(name, "/"); ok && sub == "*" {
			subOf[res] = true
		} else if ok && res == "*" {
			of[sub] = true
		}
	}
	plain := 0
	for i, name := range list {
		res, sub, ok := strings.Cut(name, "/")
		if !ok {
			plain++
			continue
		}
		if sub == "*" || res == "*" {
			continue
		}
		r.If(subOf[res], p.Index(i), name, "if '"+res+"/*' is present, must not specify "+name)
		r.If(of[sub], p.Index(i), name, "if '*/"+sub+"' is present, must not specify "+name)
	}
	r.If(all && plain > 1, p, list, "if '*' is present, must not specify other resources without subresources")
	return r.List()
}

func validateConditions(list []MatchCondition, p *path) validation.ErrorList {
	var r check.Report
	if n := len(list); n > maxMatchConditions {
		r.TooMany(p, n, maxMatchConditions)
	}
	names := map[string]bool{}
	for i, c := range list {
		q := p.Index(i)
		if c.Name == "" {
			r.Required(q.Child("name"), "")
		} else {
			r.Each(q.Child("name"), c.Name, validation.IsQualifiedName(c.Name))
			if !check.Unique(names, c.Name) {
				r.Duplicate(q.Child("name"), c.Name)
			}
		}
		if strings.TrimSpace(c.Expression) == "" {
			r.Required(q.Child("expression"), "")
		}
	}
	return r.List()
}
