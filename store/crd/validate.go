package crd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/jsonpath"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// Validate checks a definition to be created. It needs no server.
func Validate(d *apiextensionsv1.CustomResourceDefinition) validation.ErrorList {
	var errs validation.ErrorList
	if want := d.Spec.Names.Plural + "." + d.Spec.Group; d.Name != want {
		errs = append(errs, validation.Invalid(validation.NewPath("metadata", "name"), d.Name, fmt.Sprintf("must be spec.names.plural+%q+spec.group", ".")))
	}
	if protectedGroup(d.Spec.Group) && d.Annotations[approvedAnnotation] == "" {
		errs = append(errs, validation.Required(validation.NewPath("metadata", "annotations").Key(approvedAnnotation), "protected groups must have approval annotation"))
	}
	errs = append(errs, validateSpec(d)...)
	return append(errs, validateStored(d)...)
}

// ValidateUpdate checks a changed definition.
func ValidateUpdate(d, old *apiextensionsv1.CustomResourceDefinition) validation.ErrorList {
	var errs validation.ErrorList
	spec := validation.NewPath("spec")
	fixed := func(p *validation.Path, now, before string) {
		if now != before {
			errs = append(errs, validation.Invalid(p, now, "field is immutable"))
		}
	}
	if is(old, apiextensionsv1.Established) {
		fixed(spec.Child("scope"), string(d.Spec.Scope), string(old.Spec.Scope))
		fixed(spec.Child("names", "kind"), d.Spec.Names.Kind, old.Spec.Names.Kind)
	}
	fixed(spec.Child("group"), d.Spec.Group, old.Spec.Group)
	fixed(spec.Child("names", "plural"), d.Spec.Names.Plural, old.Spec.Names.Plural)
	if !codec.Equal(d.Spec, old.Spec) {
		errs = append(errs, validateSpec(d)...)
	}
	return append(errs, validateStored(d)...)
}

// validateStored checks that every version objects may be stored in is still there.
func validateStored(d *definition) validation.ErrorList {
	var errs validation.ErrorList
	p := validation.NewPath("status", "storedVersions")
	if len(d.Status.StoredVersions) == 0 {
		return append(errs, validation.Invalid(p, d.Status.StoredVersions, "must have at least one stored version"))
	}
	storage := ""
	known := map[string]bool{}
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		known[v.Name] = true
		if v.Storage {
			storage = v.Name
		}
	}
	for i, v := range d.Status.StoredVersions {
		if !known[v] {
			errs = append(errs, validation.Invalid(p.Index(i), v, "missing from spec.versions; "+v+" was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in "+v+" and removes "+v+" from status.storedVersions"))
		}
	}
	if storage != "" && !slices.Contains(d.Status.StoredVersions, storage) {
		errs = append(errs, validation.Invalid(p, d.Status.StoredVersions, "must have the storage version "+storage))
	}
	return errs
}

func validateSpec(d *definition) validation.ErrorList {
	var errs validation.ErrorList
	s, p := &d.Spec, validation.NewPath("spec")
	switch {
	case s.Group == "":
		errs = append(errs, validation.Required(p.Child("group"), "must be set"))
	case len(validation.IsDNS1123Subdomain(s.Group)) > 0:
		errs = append(errs, validation.InvalidEach(p.Child("group"), s.Group, validation.IsDNS1123Subdomain(s.Group))...)
	case !strings.Contains(s.Group, "."):
		errs = append(errs, validation.Invalid(p.Child("group"), s.Group, "should be a domain with at least one dot"))
	}
	scopes := []apiextensionsv1.ResourceScope{apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped}
	if s.Scope == "" {
		errs = append(errs, validation.Required(p.Child("scope"), "must be Cluster or Namespaced"))
	} else if !slices.Contains(scopes, s.Scope) {
		errs = append(errs, validation.NotSupported(p.Child("scope"), s.Scope, scopes))
	}
	errs = append(errs, validateNames(&s.Names, p.Child("names"))...)
	errs = append(errs, validateConversion(s.Conversion, p.Child("conversion"))...)
	if s.PreserveUnknownFields {
		at := p.Child("preserveUnknownFields")
		errs = append(errs, validation.Invalid(at, true, "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"),
			validation.Invalid(at, true, "must be false in order to use defaults in the schema"))
	}
	return append(errs, validateVersions(s, p)...)
}

func validateNames(n *apiextensionsv1.CustomResourceDefinitionNames, p *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	label := func(p *validation.Path, value string, required bool) {
		if value == "" && required {
			errs = append(errs, validation.Required(p, "must be set"))
		} else if value != "" {
			errs = append(errs, validation.InvalidEach(p, value, validation.IsDNS1035Label(value))...)
		}
	}
	label(p.Child("plural"), n.Plural, true)
	label(p.Child("singular"), n.Singular, false)
	kindLabel := func(p *validation.Path, value string) {
		if problems := validation.IsDNS1035Label(strings.ToLower(value)); value != "" && len(problems) > 0 {
			errs = append(errs, validation.Invalid(p, value, "may have mixed case, but should otherwise match: "+strings.Join(problems, ",")))
		} else if value == "" {
			errs = append(errs, validation.Required(p, "must be set"))
		}
	}
	kindLabel(p.Child("kind"), n.Kind)
	kindLabel(p.Child("listKind"), n.ListKind)
	for i, s := range n.ShortNames {
		label(p.Child("shortNames").Index(i), s, true)
	}
	for i, c := range n.Categories {
		label(p.Child("categories").Index(i), c, true)
	}
	if n.Kind != "" && n.Kind == n.ListKind {
		errs = append(errs, validation.Invalid(p.Child("listKind"), n.ListKind, "kind and listKind may not be the same"))
	}
	return errs
}

func validateConversion(c *apiextensionsv1.CustomResourceConversion, p *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	if c == nil {
		return errs
	}
	strategies := []apiextensionsv1.ConversionStrategyType{apiextensionsv1.NoneConverter, apiextensionsv1.WebhookConverter}
	switch c.Strategy {
	case apiextensionsv1.NoneConverter:
		if c.Webhook != nil {
			errs = append(errs, validation.Forbidden(p.Child("webhook"), "should not be set when strategy is not set to Webhook"))
		}
	case apiextensionsv1.WebhookConverter:
		if c.Webhook == nil || c.Webhook.ClientConfig == nil {
			errs = append(errs, validation.Required(p.Child("webhookClientConfig"), "required when strategy is set to Webhook"))
		} else if cc := c.Webhook.ClientConfig; (cc.URL == nil) == (cc.Service == nil) {
			errs = append(errs, validation.Required(p.Child("webhookClientConfig"), "exactly one of url or service is required"))
		}
		switch {
		case c.Webhook == nil || len(c.Webhook.ConversionReviewVersions) == 0:
			errs = append(errs, validation.Required(p.Child("conversionReviewVersions"), "must be specified"))
		case !slices.Contains(c.Webhook.ConversionReviewVersions, "v1") && !slices.Contains(c.Webhook.ConversionReviewVersions, "v1beta1"):
			errs = append(errs, validation.Invalid(p.Child("conversionReviewVersions"), c.Webhook.ConversionReviewVersions, "must include at least one of v1, v1beta1"))
		}
	case "":
		errs = append(errs, validation.Required(p.Child("strategy"), "must be set"))
	default:
		errs = append(errs, validation.NotSupported(p.Child("strategy"), c.Strategy, strategies))
	}
	return errs
}

func validateVersions(s *apiextensionsv1.CustomResourceDefinitionSpec, p *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	at := p.Child("versions")
	storage, unique := 0, true
	names := map[string]bool{}
	for i := range s.Versions {
		v := &s.Versions[i]
		if v.Storage {
			storage++
		}
		unique = unique && !names[v.Name]
		names[v.Name] = true
		problems := validation.IsDNS1035Label(v.Name)
		errs = append(errs, validation.InvalidEach(at.Index(i).Child("name"), v.Name, problems)...)
		if i == 0 {
			errs = append(errs, validation.InvalidEach(p.Child("version"), v.Name, problems)...)
		}
	}
	if !unique {
		errs = append(errs, validation.Invalid(at, len(s.Versions), "must contain unique version names"))
	}
	if storage != 1 {
		errs = append(errs, validation.Invalid(at, len(s.Versions), "must have exactly one version marked as storage version"))
	}
	for i := range s.Versions {
		errs = append(errs, validateVersion(s, i, p)...)
		if i == 0 && sharedByAll(s) {
			for j := 1; j < len(s.Versions); j++ {
				errs = append(errs, requireSchema(&s.Versions[j], at.Index(j))...)
			}
			break
		}
	}
	return errs
}

// sharedByAll reports whether all versions say the same but for their names and flags. Errors in what they share are reported
// where the first form of the API kept it, on the spec itself.
func sharedByAll(s *apiextensionsv1.CustomResourceDefinitionSpec) bool {
	for i := 1; i < len(s.Versions); i++ {
		a, b := &s.Versions[0], &s.Versions[i]
		if !codec.Equal(a.Schema, b.Schema) || !codec.Equal(a.Subresources, b.Subresources) ||
			!codec.Equal(a.AdditionalPrinterColumns, b.AdditionalPrinterColumns) || !codec.Equal(a.SelectableFields, b.SelectableFields) {
			return false
		}
	}
	return true
}

func requireSchema(v *apiextensionsv1.CustomResourceDefinitionVersion, p *validation.Path) validation.ErrorList {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return validation.ErrorList{validation.Required(p.Child("schema", "openAPIV3Schema"), "schemas are required")}
	}
	return nil
}

func validateVersion(s *apiextensionsv1.CustomResourceDefinitionSpec, i int, p *validation.Path) validation.ErrorList {
	v := &s.Versions[i]
	own := p.Child("versions").Index(i)
	at, schemaAt := own, own.Child("schema", "openAPIV3Schema")
	if sharedByAll(s) {
		at, schemaAt = p, p.Child("validation", "openAPIV3Schema")
	}
	errs := requireSchema(v, own)
	if len(errs) == 0 {
		errs = append(errs, openapi.CheckSchema(v.Schema.OpenAPIV3Schema, schemaAt)...)
	}
	broken := len(errs) > 0
	if v.Subresources != nil && v.Subresources.Scale != nil {
		errs = append(errs, validateScale(v.Subresources.Scale, at.Child("subresources", "scale"))...)
	}
	for j := range v.AdditionalPrinterColumns {
		errs = append(errs, validateColumn(&v.AdditionalPrinterColumns[j], at.Child("additionalPrinterColumns").Index(j))...)
	}
	if len(v.SelectableFields) > 8 {
		errs = append(errs, validation.TooMany(at.Child("selectableFields"), len(v.SelectableFields), 8))
	}
	if !broken && len(v.SelectableFields) > 0 {
		errs = append(errs, validateSelectable(v, at.Child("selectableFields"))...)
	}
	if v.DeprecationWarning != nil && !v.Deprecated {
		errs = append(errs, validation.Invalid(own.Child("deprecationWarning"), *v.DeprecationWarning, "can only be set for deprecated versions"))
	}
	return errs
}

func validateScale(s *apiextensionsv1.CustomResourceSubresourceScale, p *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	path := func(name, value string, roots ...string) {
		at := p.Child(name)
		if value == "" {
			errs = append(errs, validation.Required(at, "must be set"))
			return
		}
		parsed, err := jsonpath.Parse(value)
		simple := err == nil
		if simple {
			_, simple = parsed.Fields()
		}
		if !simple || !strings.HasPrefix(value, ".") || !slices.ContainsFunc(roots, func(r string) bool { return strings.HasPrefix(value, r) }) {
			errs = append(errs, validation.Invalid(at, value, "should be a json path under "+strings.TrimSuffix(strings.Join(roots, " or "), ".")))
		}
	}
	path("specReplicasPath", s.SpecReplicasPath, ".spec.")
	path("statusReplicasPath", s.StatusReplicasPath, ".status.")
	if s.LabelSelectorPath != nil && *s.LabelSelectorPath != "" {
		path("labelSelectorPath", *s.LabelSelectorPath, ".spec.", ".status.")
	}
	return errs
}

var (
	columnTypes   = []string{"boolean", "date", "integer", "number", "string"}
	columnFormats = []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}
)

func validateColumn(c *apiextensionsv1.CustomResourceColumnDefinition, p *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	if c.Name == "" {
		errs = append(errs, validation.Required(p.Child("name"), "must be set"))
	}
	switch {
	case c.Type == "":
		errs = append(errs, validation.Required(p.Child("type"), "must be one of "+strings.Join(columnTypes, ",")))
	case !slices.Contains(columnTypes, c.Type):
		errs = append(errs, validation.Invalid(p.Child("type"), c.Type, "must be one of "+strings.Join(columnTypes, ",")))
	}
	if c.Format != "" && !slices.Contains(columnFormats, c.Format) {
		errs = append(errs, validation.Invalid(p.Child("format"), c.Format, "must be one of "+strings.Join(columnFormats, ",")))
	}
	if c.JSONPath == "" {
		errs = append(errs, validation.Required(p.Child("jsonPath"), "must be set"))
	} else if _, err := jsonpath.Parse(c.JSONPath); err != nil {
		errs = append(errs, validation.Invalid(p.Child("jsonPath"), c.JSONPath, err.Error()))
	}
	return errs
}

func validateSelectable(v *apiextensionsv1.CustomResourceDefinitionVersion, p *validation.Path) validation.ErrorList {
	var errs validation.ErrorList
	s, err := openapi.CompileSchema(v.Schema.OpenAPIV3Schema)
	if err != nil {
		return errs
	}
	seen := map[string]bool{}
	for i, f := range v.SelectableFields {
		at := p.Index(i).Child("jsonPath")
		if f.JSONPath == "" {
			errs = append(errs, validation.Required(at, "must be set"))
			continue
		}
		if seen[f.JSONPath] {
			errs = append(errs, validation.Duplicate(at, f.JSONPath))
		}
		seen[f.JSONPath] = true
		path, err := jsonpath.Parse(f.JSONPath)
		names, ok := []string(nil), false
		if err == nil && strings.HasPrefix(f.JSONPath, ".") {
			names, ok = path.Fields()
		}
		switch target := s.Lookup(names...); {
		case !ok || len(names) == 0:
			errs = append(errs, validation.Invalid(at, f.JSONPath, "is an invalid path: must be a simple path of field names"))
		case names[0] == "metadata" || names[0] == "apiVersion" || names[0] == "kind":
			errs = append(errs, validation.Invalid(at, f.JSONPath, "must not point to fields in metadata"))
		case target == nil:
			errs = append(errs, validation.Invalid(at, f.JSONPath, "is an invalid path: the field does not exist"))
		case target.Type != "string" && target.Type != "boolean" && target.Type != "integer":
			errs = append(errs, validation.Invalid(at, f.JSONPath, "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."))
		}
	}
	return errs
}
