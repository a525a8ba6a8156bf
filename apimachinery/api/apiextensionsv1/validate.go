package apiextensionsv1

import (
	"net/url"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

func at(name string, more ...string) *path { return validation.NewPath(name, more...) }

// ValidateCustomResourceDefinition checks a definition to be created. Rules written in CEL must be
// there; whether they compile is for whoever has a compiler.
func ValidateCustomResourceDefinition(c *CustomResourceDefinition) validation.ErrorList {
	var r check.Report
	if want := c.Spec.Names.Plural + "." + c.Spec.Group; c.Name != want {
		r.Invalid(at("metadata", "name"), c.Name, `must be spec.names.plural+"."+spec.group`)
	}
	r.Add(validateSpec(c))
	r.Add(validateStoredVersions(c))
	r.Add(validateApproval(c, nil))
	return r.List()
}

// ValidateCustomResourceDefinitionUpdate checks a change of a definition. Group and plural stay; scope
// and kind do once the resource is served; a version with stored objects cannot go.
func ValidateCustomResourceDefinitionUpdate(c, old *CustomResourceDefinition) validation.ErrorList {
	var r check.Report
	r.Add(validateSpec(c))
	p := at("spec")
	check.Immutable(&r, p.Child("group"), c.Spec.Group, old.Spec.Group)
	check.Immutable(&r, p.Child("names", "plural"), c.Spec.Names.Plural, old.Spec.Names.Plural)
	if established(old) {
		check.Immutable(&r, p.Child("scope"), c.Spec.Scope, old.Spec.Scope)
		check.Immutable(&r, p.Child("names", "kind"), c.Spec.Names.Kind, old.Spec.Names.Kind)
	}
	r.Add(validateStoredVersions(c))
	r.Add(validateApproval(c, old))
	return r.List()
}

func established(c *CustomResourceDefinition) bool {
	return slices.ContainsFunc(c.Status.Conditions, func(x CustomResourceDefinitionCondition) bool {
		return x.Type == Established && x.Status == ConditionTrue
	})
}

// ValidateCustomResourceDefinitionStatus checks a change of a definition's status.
func ValidateCustomResourceDefinitionStatus(c, _ *CustomResourceDefinition) validation.ErrorList {
	var r check.Report
	if n := c.Status.AcceptedNames; n.Plural != "" || n.Kind != "" {
		r.Add(validateNames(&n, at("status", "acceptedNames")))
	}
	r.Add(validateStoredVersions(c))
	return r.List()
}

func validateStoredVersions(c *CustomResourceDefinition) validation.ErrorList {
	var r check.Report
	p := at("status", "storedVersions")
	if len(c.Status.StoredVersions) == 0 {
		r.Invalid(p, c.Status.StoredVersions, "must have at least one stored version")
		return r.List()
	}
	for i, v := range c.Status.StoredVersions {
		listed := slices.ContainsFunc(c.Spec.Versions, func(x CustomResourceDefinitionVersion) bool { return x.Name == v })
		r.If(!listed, p.Index(i), v, "missing from spec.versions; objects may still be stored in it, and it must remain until a storage migration has rewritten them")
	}
	if storage := storageVersion(c); storage != "" && !slices.Contains(c.Status.StoredVersions, storage) && r.OK() {
		r.Invalid(p, c.Status.StoredVersions, "must have the storage version "+storage)
	}
	return r.List()
}

func storageVersion(c *CustomResourceDefinition) string {
	for i := range c.Spec.Versions {
		if c.Spec.Versions[i].Storage {
			return c.Spec.Versions[i].Name
		}
	}
	return ""
}

// validateApproval guards the groups of the Kubernetes project itself: a definition in them names the
// review that approved it.
func validateApproval(c, old *CustomResourceDefinition) validation.ErrorList {
	var r check.Report
	g := c.Spec.Group
	protected := g == "k8s.io" || strings.HasSuffix(g, ".k8s.io") || g == "kubernetes.io" || strings.HasSuffix(g, ".kubernetes.io")
	v := c.Annotations[KubeAPIApprovedAnnotation]
	if !protected || old != nil && old.Annotations[KubeAPIApprovedAnnotation] == v {
		return nil
	}
	q := at("metadata", "annotations").Key(KubeAPIApprovedAnnotation)
	if v == "" {
		r.Required(q, "protected groups must have approval annotation")
	} else if u, err := url.Parse(v); !strings.HasPrefix(v, "unapproved") && (err != nil || u.Host == "" || u.Scheme == "") {
		r.Invalid(q, v, "must be a URL or begin with 'unapproved'")
	}
	return r.List()
}

func validateSpec(c *CustomResourceDefinition) validation.ErrorList {
	var r check.Report
	s, p := &c.Spec, at("spec")
	if s.Group == "" {
		r.Required(p.Child("group"), "")
	} else if bad := validation.IsDNS1123Subdomain(s.Group); len(bad) > 0 {
		r.Each(p.Child("group"), s.Group, bad)
	} else {
		r.If(!strings.Contains(s.Group, "."), p.Child("group"), s.Group, "should be a domain with at least one dot")
	}
	check.Chosen(&r, p.Child("scope"), s.Scope, ClusterScoped, NamespaceScoped)
	if s.PreserveUnknownFields {
		r.Invalid(p.Child("preserveUnknownFields"), true, "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead")
	}
	stored := 0
	names := map[string]bool{}
	unique := true
	for i := range s.Versions {
		v, q := &s.Versions[i], p.Child("versions").Index(i)
		if v.Storage {
			stored++
		}
		unique = check.Unique(names, v.Name) && unique
		bad := validation.IsDNS1035Label(v.Name)
		r.Each(q.Child("name"), v.Name, bad)
		if i == 0 {
			r.Each(p.Child("version"), v.Name, bad) // the same field in the form that is checked
		}
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			r.Required(q.Child("schema", "openAPIV3Schema"), "schemas are required")
		}
		if w := v.DeprecationWarning; w != nil {
			r.If(!v.Deprecated, q.Child("deprecationWarning"), *w, "can only be set for deprecated versions")
			r.If(len(*w) > 256, q.Child("deprecationWarning"), *w, "must be <= 256 bytes")
			r.If(*w == "", q.Child("deprecationWarning"), *w, "must not be empty if specified")
		}
	}
	r.If(!unique, p.Child("versions"), s.Versions, "must contain unique version names")
	r.If(stored != 1, p.Child("versions"), s.Versions, "must have exactly one version marked as storage version")
	r.Add(validateNames(&s.Names, p.Child("names")))
	r.Add(validateConversion(s.Conversion, p.Child("conversion")))
	r.Add(validateVersions(c, p))
	return r.List()
}

func validateNames(n *CustomResourceDefinitionNames, p *path) validation.ErrorList {
	var r check.Report
	label := func(q *path, s string) { r.Each(q, s, validation.IsDNS1035Label(s)) }
	label(p.Child("plural"), n.Plural)
	if n.Singular != "" {
		label(p.Child("singular"), n.Singular)
	}
	label(p.Child("kind"), strings.ToLower(n.Kind))
	label(p.Child("listKind"), strings.ToLower(n.ListKind))
	for i, s := range n.ShortNames {
		label(p.Child("shortNames").Index(i), s)
	}
	for i, s := range n.Categories {
		label(p.Child("categories").Index(i), s)
	}
	r.If(n.Kind != "" && n.Kind == n.ListKind, p.Child("listKind"), n.ListKind, "kind and listKind may not be the same")
	return r.List()
}

func validateConversion(c *CustomResourceConversion, p *path) validation.ErrorList {
	var r check.Report
	if c == nil {
		return nil
	}
	check.Chosen(&r, p.Child("strategy"), c.Strategy, NoneConverter, WebhookConverter)
	client, versions := p.Child("webhookClientConfig"), p.Child("conversionReviewVersions")
	switch {
	case c.Strategy == WebhookConverter:
		if c.Webhook == nil || c.Webhook.ClientConfig == nil {
			r.Required(client, "required when strategy is set to Webhook")
		} else {
			r.Add(validateClientConfig(c.Webhook.ClientConfig, client))
		}
		var list []string
		if c.Webhook != nil {
			list = c.Webhook.ConversionReviewVersions
		}
		if len(list) == 0 {
			r.Required(versions, "")
			break
		}
		seen := map[string]bool{}
		for i, v := range list {
			r.If(!check.Unique(seen, v), versions.Index(i), v, "duplicate version")
			r.Each(versions.Index(i), v, validation.IsDNS1035Label(v))
		}
		r.If(r.OK() && !seen["v1"] && !seen["v1beta1"], versions, list, "must include at least one of v1, v1beta1")
	case c.Webhook != nil:
		r.ForbidIf(c.Webhook.ClientConfig != nil, client, "should not be set when strategy is not set to Webhook")
		r.ForbidIf(len(c.Webhook.ConversionReviewVersions) > 0, versions, "should not be set when strategy is not set to Webhook")
	}
	return r.List()
}

func validateClientConfig(c *WebhookClientConfig, p *path) validation.ErrorList {
	var r check.Report
	switch {
	case (c.URL == nil) == (c.Service == nil):
		r.Required(p, "exactly one of url or service is required")
	case c.URL != nil:
		u, err := url.Parse(*c.URL)
		r.If(err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || u.RawQuery != "",
			p.Child("url"), *c.URL, "desired format: https://host[/path]")
	default:
		r.NonEmpty(p.Child("service", "name"), c.Service.Name)
		r.NonEmpty(p.Child("service", "namespace"), c.Service.Namespace)
		if port := c.Service.Port; port != nil {
			r.Each(p.Child("service", "port"), *port, validation.IsPortNumber(int64(*port)))
		}
		if s := c.Service.Path; s != nil {
			r.If(*s != "" && (*s)[0] != '/', p.Child("service", "path"), *s, "must start with a '/'")
		}
	}
	return r.List()
}
