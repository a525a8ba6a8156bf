package openapi

import (
	"net/url"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type definition = apiextensionsv1.CustomResourceDefinition

// AddRules attaches what a server applies to the definitions of custom resources: defaults, and validation of
// creates, updates and status updates. api.AddRules leaves them to this package, because their schemas hold
// rules, which take a CEL compiler.
func AddRules(s *scheme.Scheme) error {
	return scheme.RulesFor[*definition]{
		Default:  apiextensionsv1.DefaultCustomResourceDefinition,
		Validate: CheckDefinition, ValidateUpdate: CheckDefinitionUpdate,
		ValidateStatus: func(d, _ *definition) validation.ErrorList { return CheckDefinitionStatus(d) },
		Warnings:       warnOfFormats,
	}.Attach(s)
}

// CheckDefinition checks a definition to be created, with its defaults set: all but the metadata that every
// object has. It needs no server. The schemas are checked as by [CheckSchema].
//
// What is the same in all versions is reported where the first form of the API kept it, below spec: schemas
// at spec.validation.openAPIV3Schema, columns at spec.additionalPrinterColumns and so on.
func CheckDefinition(d *definition) validation.ErrorList {
	c := definitionChecker{}
	want := d.Spec.Names.Plural + "." + d.Spec.Group
	for _, f := range [...]struct{ field, name string }{{"generateName", d.GenerateName}, {"name", d.Name}} {
		if f.name != "" && f.name != want {
			c.invalid(validation.NewPath("metadata", f.field), f.name, `must be spec.names.plural+"."+spec.group`)
		}
	}
	c.spec(&d.Spec)
	c.status(d)
	c.approval(d)
	if d.Spec.PreserveUnknownFields {
		c.preserves()
	}
	return c.errs
}

// CheckDefinitionUpdate checks a changed definition, with its defaults set. Group and plural stay; scope and
// kind do once the resource is served; a version with stored objects cannot go. A spec that did not change is
// not checked again.
func CheckDefinitionUpdate(d, old *definition) validation.ErrorList {
	c := definitionChecker{}
	p := validation.NewPath("spec")
	if !codec.Equal(d.Spec, old.Spec) {
		c.spec(&d.Spec)
	}
	if established(old) {
		c.immutable(p.Child("scope"), string(d.Spec.Scope), string(old.Spec.Scope))
		c.immutable(p.Child("names", "kind"), d.Spec.Names.Kind, old.Spec.Names.Kind)
	}
	c.immutable(p.Child("group"), d.Spec.Group, old.Spec.Group)
	c.immutable(p.Child("names", "plural"), d.Spec.Names.Plural, old.Spec.Names.Plural)
	c.status(d)
	if d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation] != old.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation] {
		c.approval(d)
	}
	if d.Spec.PreserveUnknownFields && !old.Spec.PreserveUnknownFields {
		c.preserves()
	}
	return c.errs
}

// CheckDefinitionStatus checks the status of a definition.
func CheckDefinitionStatus(d *definition) validation.ErrorList {
	c := definitionChecker{}
	c.status(d)
	return c.errs
}

func established(d *definition) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(x apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return x.Type == apiextensionsv1.Established && x.Status == apiextensionsv1.ConditionTrue
	})
}

type definitionChecker struct{ errs validation.ErrorList }

func (c *definitionChecker) invalid(p *validation.Path, value any, detail string) {
	c.errs = append(c.errs, validation.Invalid(p, value, detail))
}

func (c *definitionChecker) required(p *validation.Path, value, detail string) {
	if value == "" {
		c.errs = append(c.errs, validation.Required(p, detail))
	}
}

func (c *definitionChecker) forbidden(p *validation.Path, set bool, detail string) {
	if set {
		c.errs = append(c.errs, validation.Forbidden(p, detail))
	}
}

func (c *definitionChecker) immutable(p *validation.Path, now, before string) {
	if now != before {
		c.invalid(p, now, "field is immutable")
	}
}

// label checks a name that is part of paths and of other names. An empty one passes: callers check whether it
// is required.
func (c *definitionChecker) label(p *validation.Path, value string) {
	if bad := validation.IsDNS1035Label(value); len(bad) > 0 {
		c.invalid(p, value, strings.Join(bad, ","))
	}
}

// option checks a required text that is one of few.
func option[T ~string](c *definitionChecker, p *validation.Path, value T, valid ...T) {
	if value == "" {
		c.required(p, "", "")
	} else if !slices.Contains(valid, value) {
		c.errs = append(c.errs, validation.NotSupported(p, value, valid))
	}
}

func (c *definitionChecker) preserves() {
	c.invalid(validation.NewPath("spec", "preserveUnknownFields"), true, "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead")
}

// status checks the names that were accepted, and that every version objects may be stored in is still there.
func (c *definitionChecker) status(d *definition) {
	c.names(&d.Status.AcceptedNames, validation.NewPath("status", "acceptedNames"))
	p, stored := validation.NewPath("status", "storedVersions"), d.Status.StoredVersions
	if len(stored) == 0 {
		c.invalid(p, stored, "must have at least one stored version")
		return
	}
	known := map[string]bool{}
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		known[v.Name] = true
		if v.Storage && !slices.Contains(stored, v.Name) {
			c.invalid(p, stored, "must have the storage version "+v.Name)
		}
	}
	for i, v := range stored {
		if !known[v] {
			c.invalid(p.Index(i), v, "missing from spec.versions; "+v+" was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in "+v+" and removes "+v+" from status.storedVersions")
		}
	}
}

// approval guards the groups of the Kubernetes project itself: a definition in them names the review that
// approved it.
func (c *definitionChecker) approval(d *definition) {
	if !apiextensionsv1.IsProtectedGroup(d.Spec.Group) {
		return
	}
	const name = apiextensionsv1.KubeAPIApprovedAnnotation
	p, text := validation.NewPath("metadata", "annotations").Key(name), d.Annotations[name]
	const needed, why = `protected groups must have approval annotation "` + name + `"`, ", see https://github.com/kubernetes/enhancements/pull/1111"
	u, err := url.ParseRequestURI(text)
	switch {
	case text == "":
		c.required(p, "", needed+why)
	case strings.HasPrefix(text, "unapproved"), err == nil && u.Host != "" && u.Scheme != "":
	default:
		c.invalid(p, text, needed+` with either a URL or a reason starting with "unapproved"`+why)
	}
}

func (c *definitionChecker) spec(s *apiextensionsv1.CustomResourceDefinitionSpec) {
	p := validation.NewPath("spec")
	switch bad := validation.IsDNS1123Subdomain(s.Group); {
	case s.Group == "":
		c.required(p.Child("group"), "", "")
	case len(bad) > 0:
		c.invalid(p.Child("group"), s.Group, strings.Join(bad, ","))
	case !strings.Contains(s.Group, "."):
		c.invalid(p.Child("group"), s.Group, "should be a domain with at least one dot")
	}
	option(c, p.Child("scope"), s.Scope, apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped)
	if s.PreserveUnknownFields && slices.ContainsFunc(s.Versions, hasDefaults) {
		c.invalid(p.Child("preserveUnknownFields"), true, "must be false in order to use defaults in the schema")
	}
	shared := sharedParts(s.Versions)
	c.versions(s.Versions, p, shared)
	names := p.Child("names")
	c.required(names.Child("plural"), s.Names.Plural, "")
	c.required(names.Child("singular"), s.Names.Singular, "")
	c.required(names.Child("kind"), s.Names.Kind, "")
	c.required(names.Child("listKind"), s.Names.ListKind, "")
	c.names(&s.Names, names)
	if len(s.Versions) > 0 {
		c.version(&s.Versions[0], p, p.Child("validation"), shared)
	}
	if s.Conversion == nil {
		return
	}
	conversion := p.Child("conversion")
	if s.PreserveUnknownFields && s.Conversion.Strategy != apiextensionsv1.NoneConverter {
		c.invalid(conversion.Child("strategy"), s.Conversion.Strategy, "must be None if spec.preserveUnknownFields is true")
	}
	c.conversion(s.Conversion, conversion)
}

func (c *definitionChecker) names(n *apiextensionsv1.CustomResourceDefinitionNames, p *validation.Path) {
	if n.Plural != "" {
		c.label(p.Child("plural"), n.Plural)
	}
	if n.Singular != "" {
		c.label(p.Child("singular"), n.Singular)
	}
	kind := func(p *validation.Path, value string) {
		if bad := validation.IsDNS1035Label(strings.ToLower(value)); value != "" && len(bad) > 0 {
			c.invalid(p, value, "may have mixed case, but should otherwise match: "+strings.Join(bad, ","))
		}
	}
	kind(p.Child("kind"), n.Kind)
	kind(p.Child("listKind"), n.ListKind)
	for i, s := range n.ShortNames {
		c.label(p.Child("shortNames").Index(i), s)
	}
	if n.Kind != "" && n.Kind == n.ListKind {
		c.invalid(p.Child("listKind"), n.ListKind, "kind and listKind may not be the same")
	}
	for i, s := range n.Categories {
		c.label(p.Child("categories").Index(i), s)
	}
}

func (c *definitionChecker) conversion(x *apiextensionsv1.CustomResourceConversion, p *validation.Path) {
	option(c, p.Child("strategy"), x.Strategy, apiextensionsv1.NoneConverter, apiextensionsv1.WebhookConverter)
	client, versions := p.Child("webhookClientConfig"), p.Child("conversionReviewVersions")
	hook := x.Webhook
	if hook == nil {
		hook = &apiextensionsv1.WebhookConversion{}
	}
	if x.Strategy != apiextensionsv1.WebhookConverter {
		c.forbidden(client, hook.ClientConfig != nil, "should not be set when strategy is not set to Webhook")
		c.forbidden(versions, len(hook.ConversionReviewVersions) > 0, "should not be set when strategy is not set to Webhook")
		return
	}
	switch cc := hook.ClientConfig; {
	case cc == nil:
		c.required(client, "", "required when strategy is set to Webhook")
	case (cc.URL == nil) == (cc.Service == nil):
		c.required(client, "", "exactly one of url or service is required")
	case cc.URL != nil:
		c.errs = append(c.errs, validation.WebhookURL(client.Child("url"), *cc.URL)...)
	default:
		s := cc.Service
		c.errs = append(c.errs, validation.WebhookService(client.Child("service"), s.Name, s.Namespace, s.Path, s.Port)...)
	}
	list := hook.ConversionReviewVersions
	for i, v := range list {
		if slices.Contains(list[:i], v) {
			c.invalid(versions.Index(i), v, "duplicate version")
			continue
		}
		c.errs = append(c.errs, validation.InvalidEach(versions.Index(i), v, validation.IsDNS1035Label(v))...)
	}
	switch {
	case len(list) == 0:
		c.required(versions, "", "")
	case !slices.Contains(list, "v1") && !slices.Contains(list, "v1beta1"):
		c.invalid(versions, list, "must include at least one of v1, v1beta1")
	}
}
