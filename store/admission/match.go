package admission

import (
	"context"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// criteria select the requests of a webhook or a policy.
type criteria struct {
	rules, exclude      []admissionregistrationv1.NamedRuleWithOperations
	equivalent          bool
	all                 bool // there are no rules to match
	namespaces, objects labels.Selector
}

func newCriteria(rules, exclude []admissionregistrationv1.NamedRuleWithOperations, match *admissionregistrationv1.MatchPolicyType, namespaces, objects *metav1.LabelSelector) (*criteria, error) {
	c := &criteria{rules: rules, exclude: exclude, equivalent: match == nil || *match == admissionregistrationv1.Equivalent}
	var err error
	if c.namespaces, err = selector(namespaces); err != nil {
		return nil, err
	}
	c.objects, err = selector(objects)
	return c, err
}

// selector returns the selector of a webhook; an unset one selects everything.
func selector(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return labels.Everything(), nil
	}
	return s.Selector()
}

// match returns the version in which the request matches, nil if it does not.
func (c *criteria) match(ctx context.Context, access Access, a *Attributes) (*Served, error) {
	byNamespace, namespaceErr := matchNamespace(ctx, access, c.namespaces, a)
	if namespaceErr == nil && !byNamespace || !matchObject(c.objects, a) {
		return nil, nil
	}
	if len(c.exclude) > 0 && c.matchForm(c.exclude, a) != nil {
		return nil, nil
	}
	form := &Served{Resource: a.Resource, Kind: a.Kind}
	if !c.all {
		form = c.matchForm(c.rules, a)
	}
	if form == nil {
		return nil, nil
	}
	return form, namespaceErr // a missing namespace is an error only if the rules match
}

// matchForm returns the version in which a rule matches the request, nil if none does.
func (c *criteria) matchForm(rules []admissionregistrationv1.NamedRuleWithOperations, a *Attributes) *Served {
	if matchRules(rules, a, a.Resource) {
		return &Served{Resource: a.Resource, Kind: a.Kind}
	}
	if !c.equivalent || a.Versions == nil {
		return nil
	}
	for _, other := range a.Versions.Served() {
		if other.Resource == a.Resource || !matchRules(rules, a, other.Resource) {
			continue
		}
		if a.ownKind() { // a Scale has one version, whatever it scales
			other.Kind = a.Kind
		}
		return &other
	}
	return nil
}

func matchNamespace(ctx context.Context, access Access, s labels.Selector, a *Attributes) (bool, error) {
	namespace := a.requestNamespace()
	if s.Empty() || namespace == "" && !isNamespace(a.Resource) {
		return true, nil
	}
	set, err := namespaceLabels(ctx, access, a, namespace)
	if err != nil {
		return false, err
	}
	return s.Matches(set), nil
}

// namespaceLabels returns the labels of the request's namespace; that of a Namespace is itself.
func namespaceLabels(ctx context.Context, access Access, a *Attributes, namespace string) (map[string]string, error) {
	if isNamespace(a.Resource) && a.Subresource == "" && (a.Operation == Create || a.Operation == Update) {
		return a.Object.GetLabels(), nil
	}
	obj, err := access.Get(ctx, core("namespaces"), types.NamespacedName{Name: namespace})
	switch {
	case apierrors.IsNotFound(err):
		return nil, err
	case err != nil:
		return nil, apierrors.NewInternalError(err)
	}
	return obj.GetLabels(), nil
}

func matchObject(s labels.Selector, a *Attributes) bool {
	if s.Empty() {
		return true
	}
	return a.Object != nil && s.Matches(a.Object.GetLabels()) || a.Old != nil && s.Matches(a.Old.GetLabels())
}

func matchRules(rules []admissionregistrationv1.NamedRuleWithOperations, a *Attributes, gvr schema.GroupVersionResource) bool {
	return slices.ContainsFunc(rules, func(r admissionregistrationv1.NamedRuleWithOperations) bool {
		return matchRule(&r.Rule, a, gvr) && matchOperation(r.Operations, a.Operation) &&
			(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, a.Name))
	})
}

func matchOperation(list []admissionregistrationv1.OperationType, op Operation) bool {
	return slices.ContainsFunc(list, func(o admissionregistrationv1.OperationType) bool {
		return o == admissionregistrationv1.OperationAll || string(o) == string(op)
	})
}

func matchRule(r *admissionregistrationv1.Rule, a *Attributes, gvr schema.GroupVersionResource) bool {
	if r.Scope != nil && *r.Scope != admissionregistrationv1.AllScopes {
		namespaced := a.requestNamespace() != "" && !isNamespace(a.Resource)
		if namespaced != (*r.Scope == admissionregistrationv1.NamespacedScope) {
			return false
		}
	}
	return containsOrAll(r.APIGroups, gvr.Group) && containsOrAll(r.APIVersions, gvr.Version) && slices.ContainsFunc(r.Resources, func(pattern string) bool {
		res, sub, _ := strings.Cut(pattern, "/")
		return (res == "*" || res == gvr.Resource) && (sub == "*" || sub == a.Subresource)
	})
}

func containsOrAll(list []string, name string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, name)
}

func isNamespace(gvr schema.GroupVersionResource) bool {
	return gvr.Group == "" && gvr.Resource == "namespaces"
}

// requestNamespace returns the namespace of the request for webhooks; that of a Namespace is itself.
func (a *Attributes) requestNamespace() string {
	if isNamespace(a.Resource) {
		return a.Name
	}
	return a.Namespace
}

// ownKind reports whether the request's object is of another kind than the resource's objects.
func (a *Attributes) ownKind() bool {
	if a.Versions == nil {
		return true
	}
	return !slices.ContainsFunc(a.Versions.Served(), func(s Served) bool { return s.Resource == a.Resource && s.Kind == a.Kind })
}

// configuresAdmission reports whether a request writes the objects that configure admission itself, for which
// no webhook or policy is called: a broken one could not be removed otherwise.
func configuresAdmission(a *Attributes) bool {
	if a.Resource.Group != admissionregistrationv1.GroupVersion.Group {
		return false
	}
	switch a.Resource.Resource {
	case "mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicies", "validatingadmissionpolicybindings",
		"mutatingadmissionpolicies", "mutatingadmissionpolicybindings":
		return true
	}
	return false
}
