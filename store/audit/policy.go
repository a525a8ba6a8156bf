package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/internal/configfile"
)

// Policy decides which requests are recorded, and in what detail. It is immutable.
type Policy struct {
	rules []rule
	other Decision // about requests that no rule matches
}

// Decision is what a policy says about a request.
type Decision struct {
	// Level of detail; None means that the request is not recorded.
	Level auditv1.Level
	// OmitManagedFields leaves managedFields out of recorded objects.
	OmitManagedFields bool

	omitted stages
}

// Omits reports whether there is to be no event at a stage.
func (d Decision) Omits(s auditv1.Stage) bool { return d.omitted&stageBit(s) != 0 }

// stages is a set of stages.
type stages uint8

// allStages are the stages, in the order in which upstream's messages name them.
var allStages = []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseStarted, auditv1.StageResponseComplete, auditv1.StagePanic}

// stageBit is zero for an unknown stage.
func stageBit(s auditv1.Stage) stages {
	if i := slices.Index(allStages, s); i >= 0 {
		return 1 << i
	}
	return 0
}

func stagesOf(list []auditv1.Stage) (set stages) {
	for _, s := range list {
		set |= stageBit(s)
	}
	return set
}

// rule is a rule of a policy, and what it decides.
type rule struct {
	auditv1.PolicyRule
	decision Decision
}

var policyKind = configfile.Kind{Kind: "Policy", Versions: []string{auditv1.GroupVersion.String()}}

// ParsePolicy reads a file of kind Policy (audit.k8s.io/v1), YAML or JSON. Unknown and repeated fields are
// errors; all errors name line and field.
func ParsePolicy(data []byte) (*Policy, error) {
	var p auditv1.Policy
	if err := configfile.Read(data, policyKind, &p, func() validation.ErrorList { return validatePolicy(&p) }); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return compile(&p), nil
}

// NewPolicy checks and compiles a policy, which must not be changed afterwards.
func NewPolicy(p *auditv1.Policy) (*Policy, error) {
	if err := validatePolicy(p).Err(); err != nil {
		return nil, fmt.Errorf("audit: Policy: %w", err)
	}
	return compile(p), nil
}

func compile(p *auditv1.Policy) *Policy {
	omitted := stagesOf(p.OmitStages)
	c := &Policy{other: Decision{Level: auditv1.LevelNone, OmitManagedFields: p.OmitManagedFields, omitted: omitted}}
	for _, r := range p.Rules {
		d := Decision{Level: r.Level, OmitManagedFields: p.OmitManagedFields, omitted: omitted | stagesOf(r.OmitStages)}
		if r.OmitManagedFields != nil {
			d.OmitManagedFields = *r.OmitManagedFields
		}
		c.rules = append(c.rules, rule{r, d})
	}
	return c
}

// levels are the levels, from the least detail to the most.
var levels = []auditv1.Level{auditv1.LevelNone, auditv1.LevelMetadata, auditv1.LevelRequest, auditv1.LevelRequestResponse}

func validatePolicy(p *auditv1.Policy) validation.ErrorList {
	errs := validateStages(p.OmitStages, validation.NewPath("omitStages"))
	root := validation.NewPath("rules")
	if len(p.Rules) == 0 {
		errs = append(errs, validation.Required(root, "a policy must have at least one rule"))
	}
	for i := range p.Rules {
		errs = append(errs, validateRule(&p.Rules[i], root.Index(i))...)
	}
	return errs
}

func validateRule(r *auditv1.PolicyRule, p *validation.Path) (errs validation.ErrorList) {
	switch {
	case r.Level == "":
		errs = append(errs, validation.Required(p.Child("level"), ""))
	case !slices.Contains(levels, r.Level):
		errs = append(errs, validation.NotSupported(p.Child("level"), r.Level, levels))
	}
	paths := p.Child("nonResourceURLs")
	for i, url := range r.NonResourceURLs {
		if url == "*" {
			continue
		}
		if !strings.HasPrefix(url, "/") {
			errs = append(errs, validation.Invalid(paths.Index(i), url, "non-resource URL rules must begin with a '/' character"))
		}
		if url != "" && strings.Contains(url[:len(url)-1], "*") {
			errs = append(errs, validation.Invalid(paths.Index(i), url, "non-resource URL wildcards '*' must be the final character of the rule"))
		}
	}
	for i, gr := range r.Resources {
		at := p.Child("resources").Index(i)
		if gr.Group != "" && gr.Group != "*" {
			if wrong := validation.IsDNS1123Subdomain(gr.Group); len(wrong) > 0 {
				errs = append(errs, validation.Invalid(at.Child("group"), gr.Group, strings.Join(wrong, ",")))
			}
		}
		if len(gr.ResourceNames) > 0 && len(gr.Resources) == 0 {
			errs = append(errs, validation.Invalid(at.Child("resourceNames"), gr.ResourceNames, "using resourceNames requires at least one resource"))
		}
	}
	errs = append(errs, validateStages(r.OmitStages, p.Child("omitStages"))...)
	if len(r.NonResourceURLs) > 0 && (len(r.Resources) > 0 || len(r.Namespaces) > 0) {
		errs = append(errs, validation.Invalid(paths, r.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs"))
	}
	return errs
}

func validateStages(list []auditv1.Stage, p *validation.Path) (errs validation.ErrorList) {
	for i, s := range list {
		if stageBit(s) == 0 {
			errs = append(errs, validation.NotSupported(p.Index(i), s, allStages))
		}
	}
	return errs
}

// Decide returns what the first rule says that matches a request. The user is the authenticated one, also of
// a request that impersonates another.
func (p *Policy) Decide(a *authz.Attributes) Decision {
	for i := range p.rules {
		if r := &p.rules[i]; r.matches(a) {
			return r.decision
		}
	}
	return p.other
}

func (r *rule) matches(a *authz.Attributes) bool {
	if len(r.Users) > 0 && (a.User == nil || !slices.Contains(r.Users, a.User.Name)) {
		return false
	}
	if len(r.UserGroups) > 0 && (a.User == nil || !slices.ContainsFunc(a.User.Groups, func(g string) bool { return slices.Contains(r.UserGroups, g) })) {
		return false
	}
	if len(r.Verbs) > 0 && !slices.Contains(r.Verbs, a.Verb) {
		return false
	}
	switch {
	case len(r.Namespaces) > 0 || len(r.Resources) > 0:
		return a.ResourceRequest && (len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, a.Namespace)) && r.matchesResource(a)
	case len(r.NonResourceURLs) > 0:
		return !a.ResourceRequest && slices.ContainsFunc(r.NonResourceURLs, func(pattern string) bool { return pathMatches(pattern, a.Path) })
	}
	return true
}

func pathMatches(pattern, path string) bool {
	prefix, wild := strings.CutSuffix(pattern, "*")
	return pattern == path || wild && strings.HasPrefix(path, prefix)
}

func (r *rule) matchesResource(a *authz.Attributes) bool {
	if len(r.Resources) == 0 {
		return true
	}
	for i := range r.Resources {
		gr := &r.Resources[i]
		if gr.Group != a.APIGroup && gr.Group != "*" {
			continue
		}
		if len(gr.Resources) == 0 {
			return true
		}
		if len(gr.ResourceNames) > 0 && !slices.Contains(gr.ResourceNames, a.Name) {
			continue
		}
		if slices.ContainsFunc(gr.Resources, func(pattern string) bool { return resourceMatches(pattern, a) }) {
			return true
		}
	}
	return false
}

// resourceMatches compares with pods, pods/log, pods/*, */scale or *. pods does not match its subresources,
// pods/* matches pods too.
func resourceMatches(pattern string, a *authz.Attributes) bool {
	if pattern == "*" {
		return true
	}
	resource, sub, has := strings.Cut(pattern, "/")
	if !has {
		return a.Subresource == "" && resource == a.Resource
	}
	switch {
	case sub == "*":
		return resource == a.Resource
	case a.Subresource == "" || sub != a.Subresource:
		return false
	}
	return resource == "*" || resource == a.Resource
}
