package flowcontrolv1

import (
	"math"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

func at(name string, more ...string) *path { return validation.NewPath(name, more...) }

// ValidateFlowSchema checks a schema to be stored.
func ValidateFlowSchema(f *FlowSchema) validation.ErrorList {
	var r check.Report
	s, p := &f.Spec, at("spec")
	r.If(s.MatchingPrecedence <= 0, p.Child("matchingPrecedence"), s.MatchingPrecedence, "must be a positive value")
	r.If(s.MatchingPrecedence > FlowSchemaMaxMatchingPrecedence, p.Child("matchingPrecedence"), s.MatchingPrecedence, "must not be greater than 10000")
	r.If(s.MatchingPrecedence == 1 && f.Name != FlowSchemaNameExempt, p.Child("matchingPrecedence"), s.MatchingPrecedence, "only the schema named 'exempt' may have matchingPrecedence 1")
	if d := s.DistinguisherMethod; d != nil {
		check.OneOf(&r, p.Child("distinguisherMethod", "type"), d.Type, FlowDistinguisherMethodByNamespaceType, FlowDistinguisherMethodByUserType)
	}
	r.Name(p.Child("priorityLevelConfiguration", "name"), s.PriorityLevelConfiguration.Name, validation.NameIsSubdomain)
	for i := range s.Rules {
		r.Add(validateRule(&s.Rules[i], p.Child("rules").Index(i)))
	}
	r.Add(f.asMandatory())
	return r.List()
}

func validateRule(rule *PolicyRulesWithSubjects, p *path) validation.ErrorList {
	var r check.Report
	if len(rule.Subjects) == 0 {
		r.Required(p.Child("subjects"), "subjects must contain at least one value")
	}
	for i := range rule.Subjects {
		r.Add(validateSubject(&rule.Subjects[i], p.Child("subjects").Index(i)))
	}
	if len(rule.ResourceRules) == 0 && len(rule.NonResourceRules) == 0 {
		r.Required(p, "at least one of resourceRules and nonResourceRules has to be non-empty")
	}
	for i := range rule.ResourceRules {
		rr, q := &rule.ResourceRules[i], p.Child("resourceRules").Index(i)
		r.Add(verbs(rr.Verbs, q.Child("verbs")))
		r.Add(orAll(rr.APIGroups, q.Child("apiGroups")))
		r.Add(orAll(rr.Resources, q.Child("resources")))
		ns := q.Child("namespaces")
		if len(rr.Namespaces) == 0 && !rr.ClusterScope {
			r.Required(ns, "resource rules that are not cluster scoped must supply at least one namespace")
		} else if slices.Contains(rr.Namespaces, NamespaceEvery) {
			r.If(len(rr.Namespaces) > 1, ns, rr.Namespaces, "if '*' is present, must not specify other namespaces")
		} else {
			for i, n := range rr.Namespaces {
				r.Each(ns.Index(i), n, validation.IsDNS1123Label(n))
			}
		}
	}
	for i := range rule.NonResourceRules {
		nr, q := &rule.NonResourceRules[i], p.Child("nonResourceRules").Index(i)
		r.Add(verbs(nr.Verbs, q.Child("verbs")))
		r.Add(orAll(nr.NonResourceURLs, q.Child("nonResourceURLs")))
		for j, u := range nr.NonResourceURLs {
			if u != NonResourceAll {
				r.Add(validateURL(u, q.Child("nonResourceURLs").Index(j)))
			}
		}
	}
	return r.List()
}

// orAll checks a list that is not empty and holds either "*" or other things.
func orAll(list []string, p *path) validation.ErrorList {
	var r check.Report
	if len(list) == 0 {
		r.Required(p, "must contain at least one value")
	} else if len(list) > 1 && slices.Contains(list, "*") {
		r.Invalid(p, list, "if '*' is present, must not specify other values")
	}
	return r.List()
}

// knownVerbs are those a rule can name; their order is that of messages.
var knownVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"}

func verbs(list []string, p *path) validation.ErrorList {
	var r check.Report
	r.Add(orAll(list, p))
	unknown := func(v string) bool { return !slices.Contains(knownVerbs, v) }
	if !slices.Contains(list, VerbAll) && slices.ContainsFunc(list, unknown) {
		r.Add(validation.ErrorList{validation.NotSupported(p, list, knownVerbs)})
	}
	return r.List()
}

func validateURL(u string, p *path) validation.ErrorList {
	var r check.Report
	switch {
	case u == "":
		r.Invalid(p, u, "nonResourceURL must not be empty")
	case u == "/":
	case !strings.HasPrefix(u, "/"):
		r.Invalid(p, u, "must start with slash")
	case strings.Contains(u, " "):
		r.Invalid(p, u, "must not contain white-space")
	case strings.Contains(u, "//"):
		r.Invalid(p, u, "must not contain double slash")
	case strings.Contains(strings.TrimSuffix(u, "/*"), "*"):
		r.Invalid(p, u, "wildcard can only do suffix matching")
	}
	return r.List()
}

func validateSubject(s *Subject, p *path) validation.ErrorList {
	var r check.Report
	one := func(kind SubjectKind, field string, set bool, body func(q *path)) {
		switch {
		case s.Kind != kind:
			r.ForbidIf(set, p.Child(field), "only allowed for subjects of its own kind")
		case !set:
			r.Required(p.Child(field), "must be set for subjects of this kind")
		default:
			body(p.Child(field))
		}
	}
	check.OneOf(&r, p.Child("kind"), s.Kind, SubjectKindGroup, SubjectKindServiceAccount, SubjectKindUser)
	if !r.OK() {
		return r.List()
	}
	one(SubjectKindServiceAccount, "serviceAccount", s.ServiceAccount != nil, func(q *path) {
		name := s.ServiceAccount.Name
		r.NonEmpty(q.Child("name"), name)
		if name != "" && name != NameAll {
			r.Each(q.Child("name"), name, validation.IsDNS1123Subdomain(name))
		}
		if s.ServiceAccount.Namespace == "" {
			r.Required(q.Child("namespace"), "must specify namespace for service account")
		} else {
			r.Each(q.Child("namespace"), s.ServiceAccount.Namespace, validation.IsDNS1123Label(s.ServiceAccount.Namespace))
		}
	})
	one(SubjectKindUser, "user", s.User != nil, func(q *path) { r.NonEmpty(q.Child("name"), s.User.Name) })
	one(SubjectKindGroup, "group", s.Group != nil, func(q *path) { r.NonEmpty(q.Child("name"), s.Group.Name) })
	return r.List()
}

// ValidateFlowSchemaStatus checks a change of a schema's conditions.
func ValidateFlowSchemaStatus(f, _ *FlowSchema) validation.ErrorList {
	return validateConditions(f.Status.Conditions, func(c *FlowSchemaCondition) FlowSchemaConditionType { return c.Type })
}

// validateConditions checks that conditions have types, each once.
func validateConditions[C any, T ~string](list []C, typeOf func(*C) T) validation.ErrorList {
	var r check.Report
	seen := map[T]bool{}
	for i := range list {
		t, q := typeOf(&list[i]), at("status", "conditions").Index(i).Child("type")
		if !check.Unique(seen, t) {
			r.Duplicate(q, t)
		}
		if t == "" {
			r.Required(q, "must not be empty")
		}
	}
	return r.List()
}

// ValidatePriorityLevelConfiguration checks a level to be stored.
func ValidatePriorityLevelConfiguration(c *PriorityLevelConfiguration) validation.ErrorList {
	var r check.Report
	s, p := &c.Spec, at("spec")
	exempt := c.Name == PriorityLevelConfigurationNameExempt
	r.If(exempt != (s.Type == PriorityLevelEnablementExempt), p.Child("type"), s.Type, "must be 'Exempt' if and only if `name` is 'exempt'")
	switch s.Type {
	case PriorityLevelEnablementExempt:
		r.ForbidIf(s.Limited != nil, p.Child("limited"), "must be nil if the type is not Limited")
		if e := s.Exempt; e != nil {
			q := p.Child("exempt")
			check.NonNegativeOpt(&r, q.Child("nominalConcurrencyShares"), e.NominalConcurrencyShares)
			if e.LendablePercent != nil {
				check.Between(&r, q.Child("lendablePercent"), *e.LendablePercent, 0, 100)
			}
		}
	case PriorityLevelEnablementLimited:
		r.ForbidIf(s.Exempt != nil, p.Child("exempt"), "must be nil if the type is Limited")
		if s.Limited == nil {
			r.Required(p.Child("limited"), "must not be empty when type is Limited")
		} else {
			r.Add(validateLimited(s.Limited, p.Child("limited")))
		}
	default:
		check.Chosen(&r, p.Child("type"), s.Type, PriorityLevelEnablementExempt, PriorityLevelEnablementLimited)
	}
	r.Add(c.asMandatory())
	return r.List()
}

func validateLimited(l *LimitedPriorityLevelConfiguration, p *path) validation.ErrorList {
	var r check.Report
	check.NonNegativeOpt(&r, p.Child("nominalConcurrencyShares"), l.NominalConcurrencyShares)
	if l.LendablePercent != nil {
		check.Between(&r, p.Child("lendablePercent"), *l.LendablePercent, 0, 100)
	}
	check.NonNegativeOpt(&r, p.Child("borrowingLimitPercent"), l.BorrowingLimitPercent)
	q := p.Child("limitResponse")
	switch l.LimitResponse.Type {
	case LimitResponseTypeReject:
		r.ForbidIf(l.LimitResponse.Queuing != nil, q.Child("queuing"), "must be nil if limited.limitResponse.type is not Queue")
	case LimitResponseTypeQueue:
		if l.LimitResponse.Queuing == nil {
			r.Required(q.Child("queuing"), "must not be empty if limited.limitResponse.type is Queue")
		} else {
			r.Add(validateQueuing(l.LimitResponse.Queuing, q.Child("queuing")))
		}
	default:
		check.Chosen(&r, q.Child("type"), l.LimitResponse.Type, LimitResponseTypeQueue, LimitResponseTypeReject)
	}
	return r.List()
}

func validateQueuing(c *QueuingConfiguration, p *path) validation.ErrorList {
	const maxQueues, maxEntropyBits = 10_000_000, 60
	var r check.Report
	r.If(c.QueueLengthLimit <= 0, p.Child("queueLengthLimit"), c.QueueLengthLimit, "must be positive")
	r.If(c.Queues <= 0, p.Child("queues"), c.Queues, "must be positive")
	r.If(c.Queues > maxQueues, p.Child("queues"), c.Queues, "must not be greater than 10000000")
	r.If(c.HandSize <= 0, p.Child("handSize"), c.HandSize, "must be positive")
	r.If(c.HandSize > c.Queues, p.Child("handSize"), c.HandSize, "should not be greater than queues")
	if r.OK() {
		// Dealing a hand consumes the bits of one 64-bit hash.
		bits := 0.0
		for i := range min(c.HandSize, 128) {
			bits += math.Log2(float64(c.Queues - i))
		}
		r.If(bits > maxEntropyBits, p.Child("handSize"), c.HandSize, "needs too many bits of entropy for this number of queues: more than 60")
	}
	return r.List()
}

// ValidatePriorityLevelConfigurationStatus checks a change of a level's conditions.
func ValidatePriorityLevelConfigurationStatus(c, _ *PriorityLevelConfiguration) validation.ErrorList {
	return validateConditions(c.Status.Conditions, func(k *PriorityLevelConfigurationCondition) PriorityLevelConfigurationConditionType { return k.Type })
}
