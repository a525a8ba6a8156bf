package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// LimitRange limits the resource usage of each pod, container or claim in a namespace.
type LimitRange struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Limits to enforce.
	Spec LimitRangeSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// LimitRangeItem describes the limits for one type of object.
type LimitRangeItem struct {
	// Type of the objects: Pod, Container or PersistentVolumeClaim.
	Type LimitType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Maximum of each resource.
	Max ResourceList `json:"max,omitempty" protobuf:"bytes,2,rep,name=max"`
	// Minimum of each resource.
	Min ResourceList `json:"min,omitempty" protobuf:"bytes,3,rep,name=min"`
	// Default limits of containers.
	Default ResourceList `json:"default,omitempty" protobuf:"bytes,4,rep,name=default"`
	// Default requests of containers.
	DefaultRequest ResourceList `json:"defaultRequest,omitempty" protobuf:"bytes,5,rep,name=defaultRequest"`
	// Maximum ratio of limit to request of each resource.
	MaxLimitRequestRatio ResourceList `json:"maxLimitRequestRatio,omitempty" protobuf:"bytes,6,rep,name=maxLimitRequestRatio"`
}

// LimitRangeSpec describes the limits of a namespace.
type LimitRangeSpec struct {
	// Limits, one entry per type of object.
	Limits []LimitRangeItem `json:"limits" listType:"atomic" protobuf:"bytes,1,rep,name=limits" openapi:"required"`
}

// ResourceQuota limits the total resource usage of a namespace.
type ResourceQuota struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired limits.
	Spec ResourceQuotaSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Observed usage; populated by the system and read-only for users.
	Status ResourceQuotaStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ResourceQuotaSpec describes the limits of a quota.
type ResourceQuotaSpec struct {
	// Limit of each resource, such as requests.cpu, or of the number of objects, as count/RESOURCE.GROUP.
	Hard ResourceList `json:"hard,omitempty" protobuf:"bytes,1,rep,name=hard"`
	// Scopes that an object must all match to be counted; all objects if empty.
	Scopes []ResourceQuotaScope `json:"scopes,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=scopes"`
	// Scopes with operators and values that an object must match to be counted.
	ScopeSelector *ScopeSelector `json:"scopeSelector,omitempty" protobuf:"bytes,3,opt,name=scopeSelector"`
}

// ResourceQuotaStatus is the observed usage of a quota.
type ResourceQuotaStatus struct {
	// Limits that are enforced.
	Hard ResourceList `json:"hard,omitempty" protobuf:"bytes,1,rep,name=hard"`
	// Observed usage of each resource.
	Used ResourceList `json:"used,omitempty" protobuf:"bytes,2,rep,name=used"`
}

// ScopeSelector selects the objects that a quota counts.
type ScopeSelector struct {
	// Requirements on scopes; all must be satisfied.
	MatchExpressions []ScopedResourceSelectorRequirement `json:"matchExpressions,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=matchExpressions"`
}

// ScopedResourceSelectorRequirement is a requirement on a scope.
type ScopedResourceSelectorRequirement struct {
	// Name of the scope that the requirement applies to.
	ScopeName ResourceQuotaScope `json:"scopeName" protobuf:"bytes,1,opt,name=scopeName" openapi:"required,enum=BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass"`
	// Relation of the scope to the values: In, NotIn, Exists or DoesNotExist.
	Operator ScopeSelectorOperator `json:"operator" protobuf:"bytes,2,opt,name=operator" openapi:"required,enum=DoesNotExist|Exists|In|NotIn"`
	// Values to compare with; must not be empty for In and NotIn, must be empty otherwise.
	Values []string `json:"values,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=values"`
}

// LimitRangeList is a list of LimitRange objects.
type LimitRangeList = metav1.List[*LimitRange]

// ResourceQuotaList is a list of ResourceQuota objects.
type ResourceQuotaList = metav1.List[*ResourceQuota]

// LimitType enumerates the values of LimitRangeItem.Type.
type LimitType string

const (
	LimitTypeContainer             LimitType = "Container"
	LimitTypePersistentVolumeClaim LimitType = "PersistentVolumeClaim"
	LimitTypePod                   LimitType = "Pod"
)

// ResourceQuotaScope enumerates the values of ResourceQuotaSpec.Scopes and
// ScopedResourceSelectorRequirement.ScopeName.
type ResourceQuotaScope string

const (
	ResourceQuotaScopeBestEffort                ResourceQuotaScope = "BestEffort"
	ResourceQuotaScopeCrossNamespacePodAffinity ResourceQuotaScope = "CrossNamespacePodAffinity"
	ResourceQuotaScopeNotBestEffort             ResourceQuotaScope = "NotBestEffort"
	ResourceQuotaScopeNotTerminating            ResourceQuotaScope = "NotTerminating"
	ResourceQuotaScopePriorityClass             ResourceQuotaScope = "PriorityClass"
	ResourceQuotaScopeTerminating               ResourceQuotaScope = "Terminating"
	ResourceQuotaScopeVolumeAttributesClass     ResourceQuotaScope = "VolumeAttributesClass"
)

// ScopeSelectorOperator enumerates the values of ScopedResourceSelectorRequirement.Operator.
type ScopeSelectorOperator string

const (
	ScopeSelectorOpDoesNotExist ScopeSelectorOperator = "DoesNotExist"
	ScopeSelectorOpExists       ScopeSelectorOperator = "Exists"
	ScopeSelectorOpIn           ScopeSelectorOperator = "In"
	ScopeSelectorOpNotIn        ScopeSelectorOperator = "NotIn"
)
