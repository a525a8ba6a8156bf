package metav1

import (
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// APIGroup is a group of the API in discovery.
type APIGroup struct {
	TypeMeta `json:",inline"`
	// Name of the group.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Served versions, best first.
	Versions []GroupVersionForDiscovery `json:"versions" listType:"atomic" protobuf:"bytes,2,rep,name=versions" openapi:"required"`
	// Version to use unless one has reasons.
	PreferredVersion GroupVersionForDiscovery `json:"preferredVersion,omitempty" protobuf:"bytes,3,opt,name=preferredVersion"`
	// Addresses of the server by where clients are; usually absent.
	ServerAddressByClientCIDRs []ServerAddressByClientCIDR `json:"serverAddressByClientCIDRs,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=serverAddressByClientCIDRs"`
}

// APIGroupList is all groups of the API in discovery.
type APIGroupList struct {
	TypeMeta `json:",inline"`
	// The groups, in the order of their priority.
	Groups []APIGroup `json:"groups" listType:"atomic" protobuf:"bytes,1,rep,name=groups" openapi:"required"`
}

// APIResource is a resource in discovery.
type APIResource struct {
	// Plural, and for subresources the path behind it.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Name for one object, in lower case, for command lines.
	SingularName string `json:"singularName" protobuf:"bytes,6,opt,name=singularName" openapi:"required"`
	// Whether objects live in a namespace.
	Namespaced bool `json:"namespaced" protobuf:"varint,2,opt,name=namespaced" openapi:"required"`
	// Group of the kind, where it is another.
	Group string `json:"group,omitempty" protobuf:"bytes,8,opt,name=group"`
	// Version of the kind, where it is another.
	Version string `json:"version,omitempty" protobuf:"bytes,9,opt,name=version"`
	// Kind of the objects.
	Kind string `json:"kind" protobuf:"bytes,3,opt,name=kind" openapi:"required"`
	// What can be done with it.
	Verbs Verbs `json:"verbs" protobuf:"bytes,4,opt,name=verbs" openapi:"required"`
	// Short names that kubectl knows.
	ShortNames []string `json:"shortNames,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=shortNames"`
	// Groups of resources it belongs to, such as all.
	Categories []string `json:"categories,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=categories"`
	// Changes when objects are stored in another version.
	StorageVersionHash string `json:"storageVersionHash,omitempty" protobuf:"bytes,10,opt,name=storageVersionHash"`
}

// APIResourceList is the resources of a version in discovery.
type APIResourceList struct {
	TypeMeta `json:",inline"`
	// Group and version, such as apps/v1.
	GroupVersion string `json:"groupVersion" protobuf:"bytes,1,opt,name=groupVersion" openapi:"required"`
	// Its resources and their subresources.
	APIResources []APIResource `json:"resources" listType:"atomic" protobuf:"bytes,2,rep,name=resources" openapi:"required"`
}

// APIVersions is the versions of the core group in discovery.
type APIVersions struct {
	TypeMeta `json:",inline"`
	// Served versions.
	Versions []string `json:"versions" listType:"atomic" protobuf:"bytes,1,rep,name=versions" openapi:"required"`
	// Addresses of the server by where clients are.
	ServerAddressByClientCIDRs []ServerAddressByClientCIDR `json:"serverAddressByClientCIDRs" listType:"atomic" protobuf:"bytes,2,rep,name=serverAddressByClientCIDRs" openapi:"required"`
}

// Condition is one fact about an object.
type Condition struct {
	// Name of the fact, in CamelCase or with a domain in front.
	Type string `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Generation of the spec it was true for.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,3,opt,name=observedGeneration"`
	// When the status last changed.
	LastTransitionTime Time `json:"lastTransitionTime" protobuf:"bytes,4,opt,name=lastTransitionTime" openapi:"required"`
	// Cause of the last change, in one CamelCase word.
	Reason string `json:"reason" protobuf:"bytes,5,opt,name=reason" openapi:"required"`
	// Details, for people; may be empty.
	Message string `json:"message" protobuf:"bytes,6,opt,name=message" openapi:"required"`
}

// CreateOptions is how to create.
type CreateOptions struct {
	TypeMeta `json:",inline"`
	// All to store nothing.
	DryRun []string `json:"dryRun,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=dryRun"`
	// Name that owns the fields; the program's name unless set.
	FieldManager string `json:"fieldManager,omitempty" protobuf:"bytes,3,opt,name="`
	// What of unknown and duplicate fields: Strict, Warn (the default) or Ignore.
	FieldValidation string `json:"fieldValidation,omitempty" protobuf:"bytes,4,opt,name="`
}

// DeleteOptions is how to delete.
type DeleteOptions struct {
	TypeMeta `json:",inline"`
	// Seconds the object may take to end; its own unless set, 0 is at once.
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty" protobuf:"varint,1,opt,name=gracePeriodSeconds"`
	// What must hold for the deletion to be done.
	Preconditions *Preconditions `json:"preconditions,omitempty" protobuf:"bytes,2,opt,name=preconditions"`
	// Older form of propagationPolicy Orphan.
	OrphanDependents *bool `json:"orphanDependents,omitempty" protobuf:"varint,3,opt,name=orphanDependents"`
	// What becomes of dependents: Background, Foreground or Orphan.
	PropagationPolicy *DeletionPropagation `json:"propagationPolicy,omitempty" protobuf:"bytes,4,opt,name=propagationPolicy"`
	// All to change nothing.
	DryRun []string `json:"dryRun,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=dryRun"`
	// Delete even what cannot be read; may break the cluster.
	IgnoreStoreReadErrorWithClusterBreakingPotential *bool `json:"ignoreStoreReadErrorWithClusterBreakingPotential,omitempty" protobuf:"varint,6,opt,name=ignoreStoreReadErrorWithClusterBreakingPotential"`
}

// FieldSelectorRequirement is one requirement on a field.
type FieldSelectorRequirement struct {
	// Path of the field.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// In, NotIn, Exists or DoesNotExist.
	Operator FieldSelectorOperator `json:"operator" protobuf:"bytes,2,opt,name=operator" openapi:"required"`
	// Values to compare with; for In and NotIn, empty otherwise.
	Values []string `json:"values,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=values"`
}

// GetOptions is how to read one object.
type GetOptions struct {
	TypeMeta `json:",inline"`
	// Version the answer must not be older than.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,1,opt,name=resourceVersion"`
}

// GroupKind names a kind in any version.
type GroupKind struct {
	// API group; empty for the core group.
	Group string `json:"group" protobuf:"bytes,1,opt,name=group" openapi:"required"`
	// Kind name.
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind" openapi:"required"`
}

// GroupResource names a resource in any version.
type GroupResource struct {
	// API group; empty for the core group.
	Group string `json:"group" protobuf:"bytes,1,opt,name=group" openapi:"required"`
	// Plural name.
	Resource string `json:"resource" protobuf:"bytes,2,opt,name=resource" openapi:"required"`
}

// GroupVersionForDiscovery is a version of a group in discovery.
type GroupVersionForDiscovery struct {
	// Group and version, such as apps/v1.
	GroupVersion string `json:"groupVersion" protobuf:"bytes,1,opt,name=groupVersion" openapi:"required"`
	// The version alone.
	Version string `json:"version" protobuf:"bytes,2,opt,name=version" openapi:"required"`
}

// GroupVersionKind names a kind.
type GroupVersionKind struct {
	// API group; empty for the core group.
	Group string `json:"group" protobuf:"bytes,1,opt,name=group" openapi:"required"`
	// Version of the group.
	Version string `json:"version" protobuf:"bytes,2,opt,name=version" openapi:"required"`
	// Kind name.
	Kind string `json:"kind" protobuf:"bytes,3,opt,name=kind" openapi:"required"`
}

// GroupVersionResource names a resource.
type GroupVersionResource struct {
	// API group; empty for the core group.
	Group string `json:"group" protobuf:"bytes,1,opt,name=group" openapi:"required"`
	// Version of the group.
	Version string `json:"version" protobuf:"bytes,2,opt,name=version" openapi:"required"`
	// Plural name.
	Resource string `json:"resource" protobuf:"bytes,3,opt,name=resource" openapi:"required"`
}

// LabelSelector selects objects by label; all that is listed must hold, and an empty one selects everything.
type LabelSelector struct {
	// Labels and the values they must have.
	MatchLabels map[string]string `json:"matchLabels,omitempty" protobuf:"bytes,1,rep,name=matchLabels"`
	// Requirements on labels.
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=matchExpressions"`
}

// LabelSelectorRequirement is one requirement on a label.
type LabelSelectorRequirement struct {
	// Label key.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// In, NotIn, Exists or DoesNotExist.
	Operator LabelSelectorOperator `json:"operator" protobuf:"bytes,2,opt,name=operator" openapi:"required"`
	// Values for In and NotIn; none otherwise.
	Values []string `json:"values,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=values"`
}

// ListMeta is metadata of lists.
type ListMeta struct {
	// No longer set.
	SelfLink string `json:"selfLink,omitempty" protobuf:"bytes,1,opt,name=selfLink"`
	// Version of the data the list is of.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,2,opt,name=resourceVersion"`
	// Token for the next page; empty at the end.
	Continue string `json:"continue,omitempty" protobuf:"bytes,3,opt,name=continue"`
	// How many items are left, if that is known.
	RemainingItemCount *int64 `json:"remainingItemCount,omitempty" protobuf:"varint,4,opt,name=remainingItemCount"`
	// Part of the items the list is of.
	ShardInfo *ShardInfo `json:"shardInfo,omitempty" protobuf:"bytes,5,opt,name=shardInfo"`
}

// ListOptions is how to list or watch.
type ListOptions struct {
	TypeMeta `json:",inline"`
	// Labels to select by.
	LabelSelector string `json:"labelSelector,omitempty" protobuf:"bytes,1,opt,name=labelSelector"`
	// Fields to select by.
	FieldSelector string `json:"fieldSelector,omitempty" protobuf:"bytes,2,opt,name=fieldSelector"`
	// Send changes from now on instead of a list.
	Watch bool `json:"watch,omitempty" protobuf:"varint,3,opt,name=watch"`
	// Send bookmarks with the version reached when nothing else happens.
	AllowWatchBookmarks bool `json:"allowWatchBookmarks,omitempty" protobuf:"varint,9,opt,name=allowWatchBookmarks"`
	// Version to begin with.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,4,opt,name=resourceVersion"`
	// What resourceVersion means to a list: Exact or NotOlderThan.
	ResourceVersionMatch ResourceVersionMatch `json:"resourceVersionMatch,omitempty" protobuf:"bytes,10,opt,name=resourceVersionMatch"`
	// When the server ends the list or watch, at the latest.
	TimeoutSeconds *int64 `json:"timeoutSeconds,omitempty" protobuf:"varint,5,opt,name=timeoutSeconds"`
	// Most items in one answer.
	Limit int64 `json:"limit,omitempty" protobuf:"varint,7,opt,name=limit"`
	// Token of the page before.
	Continue string `json:"continue,omitempty" protobuf:"bytes,8,opt,name=continue"`
	// Begin a watch with what there is.
	SendInitialEvents *bool `json:"sendInitialEvents,omitempty" protobuf:"varint,11,opt,name=sendInitialEvents"`
	// Part of the items to select.
	ShardSelector string `json:"shardSelector,omitempty" protobuf:"bytes,15,opt,name=shardSelector"`
}

// ManagedFieldsEntry is the fields that one manager owns.
type ManagedFieldsEntry struct {
	// Name of the manager.
	Manager string `json:"manager,omitempty" protobuf:"bytes,1,opt,name=manager"`
	// Whether the manager applied the fields (Apply) or wrote them in any other way (Update).
	Operation ManagedFieldsOperationType `json:"operation,omitempty" protobuf:"bytes,2,opt,name=operation"`
	// Version the fields are written in.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,3,opt,name=apiVersion"`
	// When the entry last changed.
	Time *Time `json:"time,omitempty" protobuf:"bytes,4,opt,name=time"`
	// Format of fieldsV1; FieldsV1 is the only one.
	FieldsType string `json:"fieldsType,omitempty" protobuf:"bytes,6,opt,name=fieldsType"`
	// Fields the manager owns.
	FieldsV1 *FieldsV1 `json:"fieldsV1,omitempty" protobuf:"bytes,7,opt,name=fieldsV1"`
	// Subresource the fields were written through.
	Subresource string `json:"subresource,omitempty" protobuf:"bytes,8,opt,name=subresource"`
}

// OwnerReference names an object that this one belongs to; when all owners are gone, so is this one.
type OwnerReference struct {
	// Version of the owner's kind.
	APIVersion string `json:"apiVersion" protobuf:"bytes,5,opt,name=apiVersion" openapi:"required"`
	// Kind of the owner.
	Kind string `json:"kind" protobuf:"bytes,1,opt,name=kind" openapi:"required"`
	// Name of the owner.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
	// Identity of the owner.
	UID types.UID `json:"uid" protobuf:"bytes,4,opt,name=uid" openapi:"required"`
	// Whether the owner manages this object; true for one owner at most.
	Controller *bool `json:"controller,omitempty" protobuf:"varint,6,opt,name=controller"`
	// Whether a foreground deletion of the owner waits for this object.
	BlockOwnerDeletion *bool `json:"blockOwnerDeletion,omitempty" protobuf:"varint,7,opt,name=blockOwnerDeletion"`
}

// PartialObjectMetadata is an object's metadata alone.
type PartialObjectMetadata struct {
	TypeMeta   `json:",inline"`
	ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
}

// PatchOptions is how to patch.
type PatchOptions struct {
	TypeMeta `json:",inline"`
	// All to store nothing.
	DryRun []string `json:"dryRun,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=dryRun"`
	// Take over fields that others own; for apply only.
	Force *bool `json:"force,omitempty" protobuf:"varint,2,opt,name=force"`
	// Name that owns the fields; required for apply.
	FieldManager string `json:"fieldManager,omitempty" protobuf:"bytes,3,opt,name="`
	// What of unknown and duplicate fields: Strict, Warn (the default) or Ignore.
	FieldValidation string `json:"fieldValidation,omitempty" protobuf:"bytes,4,opt,name="`
}

// Preconditions is what must hold for a change.
type Preconditions struct {
	// Identity the object must have.
	UID *types.UID `json:"uid,omitempty" protobuf:"bytes,1,opt,name=uid"`
	// Version the object must have.
	ResourceVersion *string `json:"resourceVersion,omitempty" protobuf:"bytes,2,opt,name=resourceVersion"`
}

// ServerAddressByClientCIDR says which clients should use which address of a server.
type ServerAddressByClientCIDR struct {
	// Addresses of the clients.
	ClientCIDR string `json:"clientCIDR" protobuf:"bytes,1,opt,name=clientCIDR" openapi:"required"`
	// Address to use.
	ServerAddress string `json:"serverAddress" protobuf:"bytes,2,opt,name=serverAddress" openapi:"required"`
}

// ShardInfo is which part of a list a list is.
type ShardInfo struct {
	// The shard selector the list was made for, as asked.
	Selector string `json:"selector" protobuf:"bytes,1,opt,name=selector" openapi:"required"`
}

// Status is the answer to a request that returns no object.
type Status struct {
	TypeMeta `json:",inline"`
	ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Success or Failure.
	Status string `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
	// What happened, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
	// Why it failed, in one word.
	Reason StatusReason `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// More about it, by reason.
	Details *StatusDetails `json:"details,omitempty" protobuf:"bytes,5,opt,name=details"`
	// HTTP status code.
	Code int32 `json:"code,omitempty" protobuf:"varint,6,opt,name=code"`
}

// StatusCause is one thing that is wrong.
type StatusCause struct {
	// What is wrong, in one word.
	Type CauseType `json:"reason,omitempty" protobuf:"bytes,1,opt,name=reason"`
	// What is wrong, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
	// Path of the field, such as spec.containers[0].name.
	Field string `json:"field,omitempty" protobuf:"bytes,3,opt,name=field"`
}

// StatusDetails is more about a failure.
type StatusDetails struct {
	// Name of the object.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Group of its kind.
	Group string `json:"group,omitempty" protobuf:"bytes,2,opt,name=group"`
	// Kind, or resource, it is about.
	Kind string `json:"kind,omitempty" protobuf:"bytes,3,opt,name=kind"`
	// Identity of the object.
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,6,opt,name=uid"`
	// What is wrong, field by field.
	Causes []StatusCause `json:"causes,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=causes"`
	// When to try again.
	RetryAfterSeconds int32 `json:"retryAfterSeconds,omitempty" protobuf:"varint,5,opt,name=retryAfterSeconds"`
}

// Table is objects as rows for people.
type Table struct {
	TypeMeta `json:",inline"`
	ListMeta `json:"metadata,omitempty"`
	// Columns, in the order of the cells.
	ColumnDefinitions []TableColumnDefinition `json:"columnDefinitions" listType:"atomic" openapi:"required"`
	// One per object, in the order of the list.
	Rows []TableRow `json:"rows" listType:"atomic" openapi:"required"`
}

// TableColumnDefinition is a column of a table.
type TableColumnDefinition struct {
	// Heading of the column.
	Name string `json:"name" openapi:"required"`
	// Type of the values.
	Type string `json:"type" openapi:"required"`
	// Format of the type; name for the object's name.
	Format string `json:"format" openapi:"required"`
	// What the column shows, for readers.
	Description string `json:"description" openapi:"required"`
	// 0 to show it always, more to show it only in wide output.
	Priority int32 `json:"priority" openapi:"required"`
}

// TableOptions is how to make a table.
type TableOptions struct {
	TypeMeta `json:",inline"`
	// Leave column definitions out of the answer to a watch.
	NoHeaders bool `json:"-"`
	// None, Metadata or Object: what of each object goes with its row.
	IncludeObject IncludeObjectPolicy `json:"includeObject,omitempty" protobuf:"bytes,1,opt,name=includeObject"`
}

// TableRow is one object in a table.
type TableRow struct {
	// Values, one for each column.
	Cells []any `json:"cells" listType:"atomic" openapi:"required"`
	// Facts about the row.
	Conditions []TableRowCondition `json:"conditions,omitempty" listType:"atomic"`
	// The object, its metadata, or nothing, as asked for.
	Object RawExtension `json:"object,omitempty"`
}

// TableRowCondition is one fact about a row.
type TableRowCondition struct {
	// Name of the fact.
	Type RowConditionType `json:"type" openapi:"required"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status" openapi:"required"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty"`
	// Details, for people.
	Message string `json:"message,omitempty"`
}

// UpdateOptions is how to update.
type UpdateOptions struct {
	TypeMeta `json:",inline"`
	// All to store nothing.
	DryRun []string `json:"dryRun,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=dryRun"`
	// Name that owns the fields; the program's name unless set.
	FieldManager string `json:"fieldManager,omitempty" protobuf:"bytes,2,opt,name="`
	// What of unknown and duplicate fields: Strict, Warn (the default) or Ignore.
	FieldValidation string `json:"fieldValidation,omitempty" protobuf:"bytes,3,opt,name="`
}

// WatchEvent is one change in a watch.
type WatchEvent struct {
	// ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
	Type string `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// The object after the change, or before its deletion; for ERROR a Status.
	Object RawExtension `json:"object" protobuf:"bytes,2,opt,name=object" openapi:"required"`
}

// CauseType is what StatusCause.Type can be.
type CauseType string

// The values of CauseType.
const (
	CauseTypeFieldManagerConflict     CauseType = "FieldManagerConflict"
	CauseTypeFieldValueDuplicate      CauseType = "FieldValueDuplicate"
	CauseTypeFieldValueInvalid        CauseType = "FieldValueInvalid"
	CauseTypeFieldValueNotFound       CauseType = "FieldValueNotFound"
	CauseTypeFieldValueNotSupported   CauseType = "FieldValueNotSupported"
	CauseTypeFieldValueRequired       CauseType = "FieldValueRequired"
	CauseTypeForbidden                CauseType = "FieldValueForbidden"
	CauseTypeInternal                 CauseType = "InternalError"
	CauseTypeResourceVersionTooLarge  CauseType = "ResourceVersionTooLarge"
	CauseTypeTooLong                  CauseType = "FieldValueTooLong"
	CauseTypeTooMany                  CauseType = "FieldValueTooMany"
	CauseTypeTypeInvalid              CauseType = "FieldValueTypeInvalid"
	CauseTypeUnexpectedServerResponse CauseType = "UnexpectedServerResponse"
)

// ConditionStatus is what Condition.Status and TableRowCondition.Status can be.
type ConditionStatus string

// The values of ConditionStatus.
const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

// DeletionPropagation is what DeleteOptions.PropagationPolicy can be.
type DeletionPropagation string

// The values of DeletionPropagation.
const (
	DeletePropagationBackground DeletionPropagation = "Background"
	DeletePropagationForeground DeletionPropagation = "Foreground"
	DeletePropagationOrphan     DeletionPropagation = "Orphan"
)

// FieldSelectorOperator is what FieldSelectorRequirement.Operator can be.
type FieldSelectorOperator string

// The values of FieldSelectorOperator.
const (
	FieldSelectorOpDoesNotExist FieldSelectorOperator = "DoesNotExist"
	FieldSelectorOpExists       FieldSelectorOperator = "Exists"
	FieldSelectorOpIn           FieldSelectorOperator = "In"
	FieldSelectorOpNotIn        FieldSelectorOperator = "NotIn"
)

// IncludeObjectPolicy is what TableOptions.IncludeObject can be.
type IncludeObjectPolicy string

// The values of IncludeObjectPolicy.
const (
	IncludeMetadata IncludeObjectPolicy = "Metadata"
	IncludeNone     IncludeObjectPolicy = "None"
	IncludeObject   IncludeObjectPolicy = "Object"
)

// LabelSelectorOperator is what LabelSelectorRequirement.Operator can be.
type LabelSelectorOperator string

// The values of LabelSelectorOperator.
const (
	LabelSelectorOpDoesNotExist LabelSelectorOperator = "DoesNotExist"
	LabelSelectorOpExists       LabelSelectorOperator = "Exists"
	LabelSelectorOpIn           LabelSelectorOperator = "In"
	LabelSelectorOpNotIn        LabelSelectorOperator = "NotIn"
)

// ManagedFieldsOperationType is what ManagedFieldsEntry.Operation can be.
type ManagedFieldsOperationType string

// The values of ManagedFieldsOperationType.
const (
	ManagedFieldsOperationApply  ManagedFieldsOperationType = "Apply"
	ManagedFieldsOperationUpdate ManagedFieldsOperationType = "Update"
)

// ResourceVersionMatch is what ListOptions.ResourceVersionMatch can be.
type ResourceVersionMatch string

// The values of ResourceVersionMatch.
const (
	ResourceVersionMatchExact        ResourceVersionMatch = "Exact"
	ResourceVersionMatchNotOlderThan ResourceVersionMatch = "NotOlderThan"
)

// RowConditionType is what TableRowCondition.Type can be.
type RowConditionType string

// The values of RowConditionType.
const (
	RowCompleted RowConditionType = "Completed"
)

// StatusReason is what Status.Reason can be.
type StatusReason string

// The values of StatusReason.
const (
	StatusReasonAlreadyExists         StatusReason = "AlreadyExists"
	StatusReasonBadRequest            StatusReason = "BadRequest"
	StatusReasonConflict              StatusReason = "Conflict"
	StatusReasonExpired               StatusReason = "Expired"
	StatusReasonForbidden             StatusReason = "Forbidden"
	StatusReasonGone                  StatusReason = "Gone"
	StatusReasonInternalError         StatusReason = "InternalError"
	StatusReasonInvalid               StatusReason = "Invalid"
	StatusReasonMethodNotAllowed      StatusReason = "MethodNotAllowed"
	StatusReasonNotAcceptable         StatusReason = "NotAcceptable"
	StatusReasonNotFound              StatusReason = "NotFound"
	StatusReasonRequestEntityTooLarge StatusReason = "RequestEntityTooLarge"
	StatusReasonServerTimeout         StatusReason = "ServerTimeout"
	StatusReasonServiceUnavailable    StatusReason = "ServiceUnavailable"
	StatusReasonStoreReadError        StatusReason = "StorageReadError"
	StatusReasonTimeout               StatusReason = "Timeout"
	StatusReasonTooManyRequests       StatusReason = "TooManyRequests"
	StatusReasonUnauthorized          StatusReason = "Unauthorized"
	StatusReasonUnknown               StatusReason = ""
	StatusReasonUnsupportedMediaType  StatusReason = "UnsupportedMediaType"
)

// Verbs is what APIResource.Verbs can be.
type Verbs []string

// Well-known names and values of this group.
const (
	DryRunAll                  = "All"
	FieldValidationIgnore      = "Ignore"
	FieldValidationStrict      = "Strict"
	FieldValidationWarn        = "Warn"
	FinalizerDeleteDependents  = "foregroundDeletion"
	FinalizerOrphanDependents  = "orphan"
	InitialEventsAnnotationKey = "k8s.io/initial-events-end"
	NamespaceAll               = ""
	NamespaceDefault           = "default"
	NamespaceNone              = ""
	NamespacePublic            = "kube-public"
	NamespaceSystem            = "kube-system"
	ObjectNameField            = "metadata.name"
	StatusFailure              = "Failure"
	StatusSuccess              = "Success"
	WatchEventKind             = "WatchEvent"
)
