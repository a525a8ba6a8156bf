package markers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Webhooks returns the webhook configurations of the markers +kubebuilder:webhook, in the order of their
// kinds: mutating, validating. Their names are those of the markers +kubebuilder:webhookconfiguration, or
// mutating-webhook-configuration and validating-webhook-configuration. A webhook without url, serviceName and
// serviceNamespace is reached by the Service webhook-service in namespace system, which kustomize renames.
func (s *Source) Webhooks() ([]metav1.Object, error) {
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "mutating-webhook-configuration"}}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "validating-webhook-configuration"}}
	mutating.SetGroupVersionKind(admissionregistrationv1.GroupVersion.WithKind("MutatingWebhookConfiguration"))
	validating.SetGroupVersionKind(admissionregistrationv1.GroupVersion.WithKind("ValidatingWebhookConfiguration"))
	for _, m := range s.rest {
		if m.name == prefix+"rbac" {
			continue
		}
		changes, err := m.flag("mutating")
		if err != nil {
			return nil, fmt.Errorf("markers: %w", err)
		}
		if m.name == prefix+"webhookconfiguration" {
			name := &validating.Name
			if changes {
				name = &mutating.Name
			}
			if *name, err = m.text("name"); err != nil || *name == "" {
				return nil, fmt.Errorf("markers: %w", m.errorf("the name is missing"))
			}
			continue
		}
		hook, err := m.webhook(changes)
		if err != nil {
			return nil, fmt.Errorf("markers: %w", err)
		}
		if changes {
			mutating.Webhooks = append(mutating.Webhooks, hook)
			continue
		}
		validating.Webhooks = append(validating.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: hook.Name, ClientConfig: hook.ClientConfig, Rules: hook.Rules, FailurePolicy: hook.FailurePolicy, MatchPolicy: hook.MatchPolicy,
			SideEffects: hook.SideEffects, TimeoutSeconds: hook.TimeoutSeconds, AdmissionReviewVersions: hook.AdmissionReviewVersions,
		})
	}
	var out []metav1.Object
	if len(mutating.Webhooks) > 0 {
		slices.SortStableFunc(mutating.Webhooks, func(a, b admissionregistrationv1.MutatingWebhook) int { return strings.Compare(a.Name, b.Name) })
		out = append(out, mutating)
	}
	if len(validating.Webhooks) > 0 {
		slices.SortStableFunc(validating.Webhooks, func(a, b admissionregistrationv1.ValidatingWebhook) int { return strings.Compare(a.Name, b.Name) })
		out = append(out, validating)
	}
	return out, nil
}

// webhook returns the webhook of a marker.
func (m mark) webhook(mutating bool) (h admissionregistrationv1.MutatingWebhook, err error) {
	var failure, match, effects, reinvoke string
	err = m.texts(map[string]*string{"name": &h.Name, "failurePolicy": &failure, "matchPolicy": &match, "sideEffects": &effects, "reinvocationPolicy": &reinvoke})
	if err != nil {
		return h, err
	}
	if h.TimeoutSeconds, err = m.number("timeoutSeconds"); err != nil {
		return h, err
	}
	if h.AdmissionReviewVersions, err = m.list("admissionReviewVersions"); err != nil {
		return h, err
	}
	if versions, err := m.list("webhookVersions"); err != nil || len(versions) > 0 && !slices.Equal(versions, []string{"v1"}) {
		return h, m.errorf("webhookVersions can only be v1")
	}
	for name, words := range map[string]struct {
		value   string
		allowed []string
	}{
		"failurePolicy": {failure, []string{"fail", "ignore"}}, "matchPolicy": {match, []string{"exact", "equivalent", ""}},
		"sideEffects": {effects, []string{"none", "noneondryrun", ""}}, "reinvocationPolicy": {reinvoke, []string{"never", "ifneeded", ""}},
	} {
		if !slices.Contains(words.allowed, strings.ToLower(words.value)) {
			return h, m.errorf("%s cannot be %q", name, words.value)
		}
	}
	if reinvoke != "" && !mutating {
		return h, m.errorf("reinvocationPolicy is for mutating webhooks")
	}
	if h.Name == "" || len(h.AdmissionReviewVersions) == 0 || effects == "" {
		return h, m.errorf("name, sideEffects and admissionReviewVersions are required")
	}
	h.FailurePolicy = word[admissionregistrationv1.FailurePolicyType](failure, "Fail", "Ignore")
	h.MatchPolicy = word[admissionregistrationv1.MatchPolicyType](match, "Exact", "Equivalent")
	h.SideEffects = word[admissionregistrationv1.SideEffectClass](effects, "None", "NoneOnDryRun")
	h.ReinvocationPolicy = word[admissionregistrationv1.ReinvocationPolicyType](reinvoke, "Never", "IfNeeded")
	if h.Rules, err = m.operations(); err != nil {
		return h, err
	}
	h.ClientConfig, err = m.clientConfig()
	return h, err
}

// word returns the word that is text in another case, nil if there is none.
func word[T ~string](text string, words ...T) *T {
	for _, w := range words {
		if strings.EqualFold(text, string(w)) {
			return &w
		}
	}
	return nil
}

// operations returns the rules of a webhook.
func (m mark) operations() ([]admissionregistrationv1.RuleWithOperations, error) {
	var r admissionregistrationv1.RuleWithOperations
	var verbs []string
	for name, to := range map[string]*[]string{"groups": &r.APIGroups, "versions": &r.APIVersions, "resources": &r.Resources, "verbs": &verbs} {
		var err error
		if *to, err = m.list(name); err != nil {
			return nil, err
		}
		if len(*to) == 0 && name != "groups" {
			return nil, m.errorf("%s are missing", name)
		}
	}
	if len(r.APIGroups) == 0 {
		r.APIGroups = []string{""}
	}
	for i, g := range r.APIGroups {
		if g == "core" {
			r.APIGroups[i] = ""
		}
	}
	for _, verb := range verbs {
		switch verb = strings.ToUpper(verb); verb {
		case "CREATE", "UPDATE", "DELETE", "CONNECT", "*":
			r.Operations = append(r.Operations, admissionregistrationv1.OperationType(verb))
		default:
			return nil, m.errorf("the verbs are create, update, delete, connect and *")
		}
	}
	return []admissionregistrationv1.RuleWithOperations{r}, nil
}

// clientConfig returns how the server reaches a webhook.
func (m mark) clientConfig() (c admissionregistrationv1.WebhookClientConfig, err error) {
	var path, url, name, namespace string
	if err = m.texts(map[string]*string{"path": &path, "url": &url, "serviceName": &name, "serviceNamespace": &namespace}); err != nil {
		return c, err
	}
	port, err := m.number("servicePort")
	if err != nil {
		return c, err
	}
	if url != "" {
		if path != "" || name != "" || namespace != "" || port != nil {
			return c, m.errorf("url excludes path and service")
		}
		return admissionregistrationv1.WebhookClientConfig{URL: &url}, nil
	}
	if !strings.HasPrefix(path, "/") {
		return c, m.errorf("path %q does not begin with /", path)
	}
	return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
		Name: cmp.Or(name, "webhook-service"), Namespace: cmp.Or(namespace, "system"), Path: &path, Port: port,
	}}, nil
}
