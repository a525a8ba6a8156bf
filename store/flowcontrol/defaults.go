package flowcontrol

import (
	"fmt"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/authn"
)

// AutoUpdate is the annotation that determines whether the server keeps the spec of an object as it is in
// Defaults.
const AutoUpdate = "apf.kubernetes.io/autoupdate-spec"

func sortedNames(levels map[string]*level) []string { return slices.Sorted(maps.Keys(levels)) }

// Defaults returns the initial objects of every cluster, those of Kubernetes.
func Defaults() ([]*flowcontrolv1.FlowSchema, []*flowcontrolv1.PriorityLevelConfiguration) {
	kubeSystem := func(names ...string) []flowcontrolv1.Subject {
		return each(names, func(n string) flowcontrolv1.Subject {
			return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindServiceAccount,
				ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: metav1.NamespaceSystem, Name: n}}
		})
	}
	const manager, scheduler = "system:kube-controller-manager", "system:kube-scheduler"
	everyone := groups(authn.GroupUnauthenticated, authn.GroupAuthenticated)
	byUser, byNamespace := flowcontrolv1.FlowDistinguisherMethodByUserType, flowcontrolv1.FlowDistinguisherMethodByNamespaceType
	write := []string{"get", "create", "update"}
	leases := resources(write, "coordination.k8s.io", false, "leases")
	schemas := []*flowcontrolv1.FlowSchema{
		flowcontrolv1.MandatoryFlowSchema(flowcontrolv1.FlowSchemaNameExempt),
		schema("probes", "exempt", 2, "", flowcontrolv1.PolicyRulesWithSubjects{Subjects: everyone,
			NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz", "/readyz", "/livez"}}}}),
		schema("system-leader-election", "leader-election", 100, byUser,
			rules(slices.Concat(users(manager, scheduler), kubeSystem("*")), leases)),
		schema("system-node-high", "node-high", 400, byUser,
			rules(groups("system:nodes"), resources([]string{"*"}, "", true, "nodes", "nodes/status"),
				resources([]string{"*"}, "coordination.k8s.io", false, "leases"))),
		schema("system-nodes", "system", 500, byUser, allRequests(groups("system:nodes"))),
		schema("kube-controller-manager", "workload-high", 800, byNamespace, allRequests(users(manager))),
		schema("kube-scheduler", "workload-high", 800, byNamespace, allRequests(users(scheduler))),
		schema("kube-system-service-accounts", "workload-high", 900, byNamespace, allRequests(kubeSystem("*"))),
		schema("service-accounts", "workload-low", 9000, byUser, allRequests(groups(authn.GroupServiceAccounts))),
		schema("global-default", "global-default", 9900, byUser, allRequests(everyone)),
		flowcontrolv1.MandatoryFlowSchema(flowcontrolv1.FlowSchemaNameCatchAll),
	}
	levels := []*flowcontrolv1.PriorityLevelConfiguration{
		flowcontrolv1.MandatoryPriorityLevel(flowcontrolv1.PriorityLevelConfigurationNameExempt),
		flowcontrolv1.MandatoryPriorityLevel(flowcontrolv1.PriorityLevelConfigurationNameCatchAll),
		limited("global-default", 20, 50, queues(128, 6)),
		limited("leader-election", 10, 0, queues(16, 4)),
		limited("node-high", 40, 25, queues(64, 6)),
		limited("system", 30, 33, queues(64, 6)),
		limited("workload-high", 40, 50, queues(128, 6)),
		limited("workload-low", 100, 90, queues(128, 6)),
	}
	for _, s := range schemas {
		s.ObjectMeta = named(s.Name)
	}
	for _, l := range levels {
		l.ObjectMeta = named(l.Name)
	}
	return schemas, levels
}

// withMandatory adds the mandatory objects that are missing.
func withMandatory(schemas []*flowcontrolv1.FlowSchema, levels []*flowcontrolv1.PriorityLevelConfiguration) ([]*flowcontrolv1.FlowSchema, []*flowcontrolv1.PriorityLevelConfiguration) {
	schemas, levels = slices.Clone(schemas), slices.Clone(levels)
	for _, name := range []string{flowcontrolv1.FlowSchemaNameExempt, flowcontrolv1.FlowSchemaNameCatchAll} {
		if !slices.ContainsFunc(schemas, func(f *flowcontrolv1.FlowSchema) bool { return f.Name == name }) {
			schemas = append(schemas, flowcontrolv1.MandatoryFlowSchema(name))
		}
		if !slices.ContainsFunc(levels, func(p *flowcontrolv1.PriorityLevelConfiguration) bool { return p.Name == name }) {
			levels = append(levels, flowcontrolv1.MandatoryPriorityLevel(name))
		}
	}
	return schemas, levels
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Annotations: map[string]string{AutoUpdate: "true"}}
}

func schema(name, level string, precedence int32, by flowcontrolv1.FlowDistinguisherMethodType, rule flowcontrolv1.PolicyRulesWithSubjects) *flowcontrolv1.FlowSchema {
	f := &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: flowcontrolv1.FlowSchemaSpec{
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level},
		MatchingPrecedence:         precedence, Rules: []flowcontrolv1.PolicyRulesWithSubjects{rule}}}
	if by != "" {
		f.Spec.DistinguisherMethod = &flowcontrolv1.FlowDistinguisherMethod{Type: by}
	}
	return f
}

func rules(subjects []flowcontrolv1.Subject, about ...flowcontrolv1.ResourcePolicyRule) flowcontrolv1.PolicyRulesWithSubjects {
	return flowcontrolv1.PolicyRulesWithSubjects{Subjects: subjects, ResourceRules: about}
}

// allRequests returns a rule that matches all requests of the subjects.
func allRequests(subjects []flowcontrolv1.Subject) flowcontrolv1.PolicyRulesWithSubjects {
	all := []string{"*"}
	r := rules(subjects, resources(all, "*", true, "*"))
	r.NonResourceRules = []flowcontrolv1.NonResourcePolicyRule{{Verbs: all, NonResourceURLs: all}}
	return r
}

func resources(verbs []string, group string, cluster bool, names ...string) flowcontrolv1.ResourcePolicyRule {
	return flowcontrolv1.ResourcePolicyRule{Verbs: verbs, APIGroups: []string{group}, Resources: names, ClusterScope: cluster,
		Namespaces: []string{flowcontrolv1.NamespaceEvery}}
}

func users(names ...string) []flowcontrolv1.Subject {
	return each(names, func(n string) flowcontrolv1.Subject {
		return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: n}}
	})
}

func groups(names ...string) []flowcontrolv1.Subject {
	return each(names, func(n string) flowcontrolv1.Subject {
		return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: n}}
	})
}

func each[T any](names []string, f func(string) T) []T {
	out := make([]T, len(names))
	for i, n := range names {
		out[i] = f(n)
	}
	return out
}

func queues(n, hand int32) *flowcontrolv1.QueuingConfiguration {
	return &flowcontrolv1.QueuingConfiguration{Queues: n, HandSize: hand, QueueLengthLimit: 50}
}

func limited(name string, shares, lendable int32, q *flowcontrolv1.QueuingConfiguration) *flowcontrolv1.PriorityLevelConfiguration {
	response := flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeQueue, Queuing: q}
	return &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
		Type: flowcontrolv1.PriorityLevelEnablementLimited,
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{NominalConcurrencyShares: &shares, LendablePercent: &lendable,
			LimitResponse: response}}}
}

// Dangling returns the condition of that name for a schema: whether the level it names is missing.
func Dangling(f *flowcontrolv1.FlowSchema, found bool) flowcontrolv1.FlowSchemaCondition {
	c := flowcontrolv1.FlowSchemaCondition{Type: flowcontrolv1.FlowSchemaConditionDangling, Status: flowcontrolv1.ConditionFalse, Reason: "Found",
		Message:            fmt.Sprintf("The PriorityLevelConfiguration %q exists.", f.Spec.PriorityLevelConfiguration.Name),
		LastTransitionTime: metav1.Now().Truncated()}
	if !found {
		c.Status, c.Reason = flowcontrolv1.ConditionTrue, "NotFound"
		c.Message = fmt.Sprintf("The PriorityLevelConfiguration %q does not exist: the schema matches nothing.", f.Spec.PriorityLevelConfiguration.Name)
	}
	return c
}
