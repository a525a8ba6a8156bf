package flowcontrolv1

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// MandatoryFlowSchema returns the schema of a name that every server has, exempt or catch-all, and nil for
// others. It is the caller's.
func MandatoryFlowSchema(name string) *FlowSchema {
	everything := func(groups ...string) []PolicyRulesWithSubjects {
		all := []string{"*"}
		r := PolicyRulesWithSubjects{
			ResourceRules:    []ResourcePolicyRule{{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: []string{NamespaceEvery}}},
			NonResourceRules: []NonResourcePolicyRule{{Verbs: all, NonResourceURLs: []string{NonResourceAll}}},
		}
		for _, g := range groups {
			r.Subjects = append(r.Subjects, Subject{Kind: SubjectKindGroup, Group: &GroupSubject{Name: g}})
		}
		return []PolicyRulesWithSubjects{r}
	}
	f := &FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: FlowSchemaSpec{PriorityLevelConfiguration: PriorityLevelConfigurationReference{Name: name}}}
	switch name {
	case FlowSchemaNameExempt:
		f.Spec.MatchingPrecedence = 1
		f.Spec.Rules = everything("system:masters")
	case FlowSchemaNameCatchAll:
		f.Spec.MatchingPrecedence = FlowSchemaMaxMatchingPrecedence
		f.Spec.DistinguisherMethod = &FlowDistinguisherMethod{Type: FlowDistinguisherMethodByUserType}
		f.Spec.Rules = everything("system:unauthenticated", "system:authenticated")
	default:
		return nil
	}
	return f
}

// MandatoryPriorityLevel returns the level of a name that every server has, exempt or catch-all, and nil for
// others. It is the caller's.
func MandatoryPriorityLevel(name string) *PriorityLevelConfiguration {
	l := &PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}}
	switch name {
	case PriorityLevelConfigurationNameExempt:
		l.Spec.Type = PriorityLevelEnablementExempt
		l.Spec.Exempt = &ExemptPriorityLevelConfiguration{NominalConcurrencyShares: new(int32(0)), LendablePercent: new(int32(0))}
	case PriorityLevelConfigurationNameCatchAll:
		l.Spec.Type = PriorityLevelEnablementLimited
		l.Spec.Limited = &LimitedPriorityLevelConfiguration{NominalConcurrencyShares: new(int32(5)), LendablePercent: new(int32(0)),
			LimitResponse: LimitResponse{Type: LimitResponseTypeReject}}
	default:
		return nil
	}
	return l
}

// asMandatory refuses another spec than the fixed one for the schemas that keep a server usable whatever else
// is configured.
func (f *FlowSchema) asMandatory() validation.ErrorList {
	var r check.Report
	if m := MandatoryFlowSchema(f.Name); m != nil {
		r.If(!check.Same(f.Spec, m.Spec), at("spec"), f.Spec, fmt.Sprintf("spec of '%s' must equal the fixed value", f.Name))
	}
	return r.List()
}

// asMandatory does the same for levels. How much of the server the level exempt counts for can be chosen.
func (c *PriorityLevelConfiguration) asMandatory() validation.ErrorList {
	var r check.Report
	m := MandatoryPriorityLevel(c.Name)
	if m == nil {
		return nil
	}
	spec, but := c.Spec, ""
	if c.Name == PriorityLevelConfigurationNameExempt {
		spec.Exempt, but = m.Spec.Exempt, " except the 'spec.exempt' field"
	}
	r.If(!check.Same(spec, m.Spec), at("spec"), c.Spec, fmt.Sprintf("spec of '%s'%s must equal the fixed value", c.Name, but))
	return r.List()
}
