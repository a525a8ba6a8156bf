package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Affinity groups the scheduling constraints of a pod.
type Affinity struct {
	// Required and preferred nodes, by label.
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty" protobuf:"bytes,1,opt,name=nodeAffinity"`
	// Required and preferred co-location with other pods.
	PodAffinity *PodAffinity `json:"podAffinity,omitempty" protobuf:"bytes,2,opt,name=podAffinity"`
	// Required and preferred separation from other pods.
	PodAntiAffinity *PodAntiAffinity `json:"podAntiAffinity,omitempty" protobuf:"bytes,3,opt,name=podAntiAffinity"`
}

// NodeAffinity describes the nodes that a pod requires or prefers.
type NodeAffinity struct {
	// Requirements a node must meet when the pod is scheduled; later changes of the node have no effect.
	RequiredDuringSchedulingIgnoredDuringExecution *NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" protobuf:"bytes,1,opt,name=requiredDuringSchedulingIgnoredDuringExecution"`
	// Preferences, each with a weight that is added to the score of a node that matches.
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=preferredDuringSchedulingIgnoredDuringExecution"`
}

// NodeSelector selects nodes that match at least one of its terms.
type NodeSelector struct {
	// Terms of the selector, at least one; a node matches if any of them does.
	NodeSelectorTerms []NodeSelectorTerm `json:"nodeSelectorTerms" listType:"atomic" protobuf:"bytes,1,rep,name=nodeSelectorTerms" openapi:"required"`
}

// NodeSelectorRequirement is a requirement on a label or field of a node.
type NodeSelectorRequirement struct {
	// Label key or field that the requirement applies to.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// Relation of the label or field to the values: In, NotIn, Exists, DoesNotExist, Gt or Lt.
	Operator NodeSelectorOperator `json:"operator" protobuf:"bytes,2,opt,name=operator" openapi:"required,enum=DoesNotExist|Exists|Gt|In|Lt|NotIn"`
	// Values to compare with: one or more for In and NotIn, a single integer for Gt and Lt, none otherwise.
	Values []string `json:"values,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=values"`
}

// NodeSelectorTerm selects nodes that match all its requirements; an empty term matches no node.
type NodeSelectorTerm struct {
	// Requirements on labels.
	MatchExpressions []NodeSelectorRequirement `json:"matchExpressions,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=matchExpressions"`
	// Requirements on fields; only metadata.name is supported.
	MatchFields []NodeSelectorRequirement `json:"matchFields,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=matchFields"`
}

// PodAffinity describes the pods that a pod requires or prefers to be co-located with.
type PodAffinity struct {
	// Terms that must all be satisfied when the pod is scheduled; later changes have no effect.
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=requiredDuringSchedulingIgnoredDuringExecution"`
	// Preferences, each with a weight that is added to the score of a node that satisfies it.
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=preferredDuringSchedulingIgnoredDuringExecution"`
}

// PodAffinityTerm selects pods, and the topology domain in which co-location is evaluated.
type PodAffinityTerm struct {
	// Label selector of the pods; none if unset.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty" protobuf:"bytes,1,opt,name=labelSelector"`
	// Names of the namespaces of the pods, in addition to those of namespaceSelector; the pod's own if both
	// are unset.
	Namespaces []string `json:"namespaces,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=namespaces"`
	// Key of node labels; nodes with the same value are in the same topology domain. Required.
	TopologyKey string `json:"topologyKey" protobuf:"bytes,3,opt,name=topologyKey" openapi:"required"`
	// Label selector of the namespaces of the pods, in addition to namespaces; an empty selector selects all.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,4,opt,name=namespaceSelector"`
	// Label keys whose values are taken from this pod and must be the same on the other pods.
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=matchLabelKeys"`
	// Label keys whose values are taken from this pod and must differ on the other pods.
	MismatchLabelKeys []string `json:"mismatchLabelKeys,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=mismatchLabelKeys"`
}

// PodAntiAffinity describes the pods that a pod must or preferably should not be co-located with.
type PodAntiAffinity struct {
	// Terms of which none may apply to the chosen node when the pod is scheduled; later changes have no
	// effect.
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=requiredDuringSchedulingIgnoredDuringExecution"`
	// Preferences, each with a weight that is subtracted from the score of a node that violates it.
	PreferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=preferredDuringSchedulingIgnoredDuringExecution"`
}

// PreferredSchedulingTerm is a preference for nodes with a weight.
type PreferredSchedulingTerm struct {
	// Weight of the term, 1 to 100.
	Weight int32 `json:"weight" protobuf:"varint,1,opt,name=weight" openapi:"required"`
	// Selects the preferred nodes.
	Preference NodeSelectorTerm `json:"preference" protobuf:"bytes,2,opt,name=preference" openapi:"required"`
}

// Taint is a property of a node that affects pods which do not tolerate it.
type Taint struct {
	// Key of the taint, a label key.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// Value of the taint, a label value.
	Value string `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
	// Effect on pods that do not tolerate the taint: NoSchedule, PreferNoSchedule, or NoExecute to evict
	// running pods, too.
	Effect TaintEffect `json:"effect" protobuf:"bytes,3,opt,name=effect" openapi:"required,enum=NoExecute|NoSchedule|PreferNoSchedule"`
	// When the taint was added.
	TimeAdded *metav1.Time `json:"timeAdded,omitempty" protobuf:"bytes,4,opt,name=timeAdded"`
}

// Toleration tolerates taints of nodes.
type Toleration struct {
	// Key of the tolerated taints; if empty, operator must be Exists and all keys match.
	Key string `json:"key,omitempty" protobuf:"bytes,1,opt,name=key"`
	// Relation of the taint's value to value: Equal (the default), Exists to match any value, or Lt or Gt to
	// compare integers.
	Operator TolerationOperator `json:"operator,omitempty" protobuf:"bytes,2,opt,name=operator" openapi:"enum=Equal|Exists|Gt|Lt"`
	// Value to compare with; must be empty if operator is Exists.
	Value string `json:"value,omitempty" protobuf:"bytes,3,opt,name=value"`
	// Effect of the tolerated taints; all effects if empty.
	Effect TaintEffect `json:"effect,omitempty" protobuf:"bytes,4,opt,name=effect" openapi:"enum=NoExecute|NoSchedule|PreferNoSchedule"`
	// Seconds a NoExecute taint is tolerated; forever if unset, not at all if zero or negative.
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty" protobuf:"varint,5,opt,name=tolerationSeconds"`
}

// TopologySelectorLabelRequirement is a requirement on a topology label.
type TopologySelectorLabelRequirement struct {
	// Label key that the requirement applies to.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// Values of which the label must have one.
	Values []string `json:"values" listType:"atomic" protobuf:"bytes,2,rep,name=values" openapi:"required"`
}

// TopologySelectorTerm selects topologies by labels of nodes.
type TopologySelectorTerm struct {
	// Requirements on labels; all must be satisfied.
	MatchLabelExpressions []TopologySelectorLabelRequirement `json:"matchLabelExpressions,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=matchLabelExpressions"`
}

// TopologySpreadConstraint describes how pods are spread across topology domains.
type TopologySpreadConstraint struct {
	// Maximum difference between the number of matching pods in a domain and the minimum over all eligible
	// domains; at least 1.
	MaxSkew int32 `json:"maxSkew" protobuf:"varint,1,opt,name=maxSkew" openapi:"required"`
	// Key of node labels; nodes with the same value are in the same topology domain.
	TopologyKey string `json:"topologyKey" protobuf:"bytes,2,opt,name=topologyKey" openapi:"required"`
	// What happens if no node satisfies the constraint: DoNotSchedule leaves the pod pending, ScheduleAnyway
	// only prefers nodes that reduce the skew.
	WhenUnsatisfiable UnsatisfiableConstraintAction `json:"whenUnsatisfiable" protobuf:"bytes,3,opt,name=whenUnsatisfiable" openapi:"required,enum=DoNotSchedule|ScheduleAnyway"`
	// Label selector of the pods that are counted.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty" protobuf:"bytes,4,opt,name=labelSelector"`
	// Minimum number of eligible domains; while there are fewer, the minimum over all domains is taken as 0.
	// Defaults to 1. Requires DoNotSchedule.
	MinDomains *int32 `json:"minDomains,omitempty" protobuf:"varint,5,opt,name=minDomains"`
	// Whether nodes that do not match the node selector and node affinity of the pod are ignored: Honor (the
	// default) ignores them, Ignore includes them.
	NodeAffinityPolicy *NodeInclusionPolicy `json:"nodeAffinityPolicy,omitempty" protobuf:"bytes,6,opt,name=nodeAffinityPolicy" openapi:"enum=Honor|Ignore"`
	// Whether nodes with taints that the pod does not tolerate are ignored: Honor ignores them, Ignore (the
	// default) includes them.
	NodeTaintsPolicy *NodeInclusionPolicy `json:"nodeTaintsPolicy,omitempty" protobuf:"bytes,7,opt,name=nodeTaintsPolicy" openapi:"enum=Honor|Ignore"`
	// Label keys whose values are taken from this pod and must be the same on the counted pods.
	MatchLabelKeys []string `json:"matchLabelKeys,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=matchLabelKeys"`
}

// WeightedPodAffinityTerm is a preference with a weight.
type WeightedPodAffinityTerm struct {
	// Weight of the term, 1 to 100.
	Weight int32 `json:"weight" protobuf:"varint,1,opt,name=weight" openapi:"required"`
	// Selects the pods and the topology domain.
	PodAffinityTerm PodAffinityTerm `json:"podAffinityTerm" protobuf:"bytes,2,opt,name=podAffinityTerm" openapi:"required"`
}

// NodeInclusionPolicy enumerates the values of TopologySpreadConstraint.NodeAffinityPolicy and
// TopologySpreadConstraint.NodeTaintsPolicy.
type NodeInclusionPolicy string

const (
	NodeInclusionPolicyHonor  NodeInclusionPolicy = "Honor"
	NodeInclusionPolicyIgnore NodeInclusionPolicy = "Ignore"
)

// NodeSelectorOperator enumerates the values of NodeSelectorRequirement.Operator.
type NodeSelectorOperator string

const (
	NodeSelectorOpDoesNotExist NodeSelectorOperator = "DoesNotExist"
	NodeSelectorOpExists       NodeSelectorOperator = "Exists"
	NodeSelectorOpGt           NodeSelectorOperator = "Gt"
	NodeSelectorOpIn           NodeSelectorOperator = "In"
	NodeSelectorOpLt           NodeSelectorOperator = "Lt"
	NodeSelectorOpNotIn        NodeSelectorOperator = "NotIn"
)

// TaintEffect enumerates the values of Taint.Effect and Toleration.Effect.
type TaintEffect string

const (
	TaintEffectNoExecute        TaintEffect = "NoExecute"
	TaintEffectNoSchedule       TaintEffect = "NoSchedule"
	TaintEffectPreferNoSchedule TaintEffect = "PreferNoSchedule"
)

// TolerationOperator enumerates the values of Toleration.Operator.
type TolerationOperator string

const (
	TolerationOpEqual  TolerationOperator = "Equal"
	TolerationOpExists TolerationOperator = "Exists"
	TolerationOpGt     TolerationOperator = "Gt"
	TolerationOpLt     TolerationOperator = "Lt"
)

// UnsatisfiableConstraintAction enumerates the values of TopologySpreadConstraint.WhenUnsatisfiable.
type UnsatisfiableConstraintAction string

const (
	DoNotSchedule  UnsatisfiableConstraintAction = "DoNotSchedule"
	ScheduleAnyway UnsatisfiableConstraintAction = "ScheduleAnyway"
)
