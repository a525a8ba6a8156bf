package metav1

import (
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// APIGroup describes an API group in discovery.
type APIGroup struct {
	TypeMeta `json:",inline"`
	// Name of the group.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Versions served in this group, in order of preference.
	Versions []GroupVersionForDiscovery `json:"versions" listType:"atomic" protobuf:"bytes,2,rep,name=versions" openapi:"required"`
	// The group version clients should prefer.
	PreferredVersion GroupVersionForDiscovery `json:"preferredVersion,omitempty" protobuf:"bytes,3,opt,name=preferredVersion"`
	// Server addresses to use, by the network the client is in; usually absent.
	ServerAddressByClientCIDRs []ServerAddressByClientCIDR `json:"serverAddressByClientCIDRs,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=serverAddressByClientCIDRs"`
}

// APIGroupList lists the API groups in discovery.
type APIGroupList struct {
	TypeMeta `json:",inline"`
	// Groups of the API, in order of priority.
	Groups []APIGroup `json:"groups" listType:"atomic" protobuf:"bytes,1,rep,name=groups" openapi:"required"`
}

// APIResource describes a resource or subresource in discovery.
type APIResource struct {
	// Plural name of the resource; for a subresource, the resource and subresource separated by a slash, such
	// as pods/log.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Lower-case singular name, for command line clients.
	SingularName string `json:"singularName" protobuf:"bytes,6,opt,name=singularName" openapi:"required"`
	// Whether objects of the resource are namespaced.
	Namespaced bool `json:"namespaced" protobuf:"varint,2,opt,name=namespaced" openapi:"required"`
	// Group of the kind, if it differs from the group of the resource list.
	Group string `json:"group,omitempty" protobuf:"bytes,8,opt,name=group"`
	// Version of the kind, if it differs from the version of the resource list.
	Version string `json:"version,omitempty" protobuf:"bytes,9,opt,name=version"`
	// Kind of the objects of the resource.
	Kind string `json:"kind" protobuf:"bytes,3,opt,name=kind" openapi:"required"`
	// Verbs the resource supports, such as get, list, watch and create.
	Verbs Verbs `json:"verbs" protobuf:"bytes,4,opt,name=verbs" openapi:"required"`
	// Short names accepted by command line clients, such as po for pods.
	ShortNames []string `json:"shortNames,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=shortNames"`
	// Groups of resources that the resource belongs to, such as all.
	Categories []string `json:"categories,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=categories"`
	// Opaque hash of the version that objects are stored in; a change means the storage version has changed.
	StorageVersionHash string `json:"storageVersionHash,omitempty" protobuf:"bytes,10,opt,name=storageVersionHash"`
}

// APIResourceList lists the resources of a group version in discovery.
type APIResourceList struct {
	TypeMeta `json:",inline"`
	// Group and version of the resources, such as apps/v1.
	GroupVersion string `json:"groupVersion" protobuf:"bytes,1,opt,name=groupVersion" openapi:"required"`
	// Resources and subresources of the group version.
	APIResources []APIResource `json:"resources" listType:"atomic" protobuf:"bytes,2,rep,name=resources" openapi:"required"`
}

// APIVersions lists the versions of the core group in discovery.
type APIVersions struct {
	TypeMeta `json:",inline"`
	// Versions that are served.
	Versions []string `json:"versions" listType:"atomic" protobuf:"bytes,1,rep,name=versions" openapi:"required"`
	// Server addresses to use, by the network the client is in.
	ServerAddressByClientCIDRs []ServerAddressByClientCIDR `json:"serverAddressByClientCIDRs" listType:"atomic" protobuf:"bytes,2,rep,name=serverAddressByClientCIDRs" openapi:"required"`
}

// Condition is one observed aspect of an object's state.
type Condition struct {
	// Type of the condition, in CamelCase or prefixed with a domain, such as example.com/Healthy.
	Type string `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Generation of the object that the condition was computed from.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,3,opt,name=observedGeneration"`
	// Time of the last transition from one status to another.
	LastTransitionTime Time `json:"lastTransitionTime" protobuf:"bytes,4,opt,name=lastTransitionTime" openapi:"required"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason" protobuf:"bytes,5,opt,name=reason" openapi:"required"`
	// Human-readable details of the last transition; may be empty.
	Message string `json:"message" protobuf:"bytes,6,opt,name=message" openapi:"required"`
}

// CreateOptions are the query options of a create request.
type CreateOptions struct {
	TypeMeta `json:",inline"`
	// Dry-run stages to apply; the only value is All: the request is processed but nothing is persisted.
	DryRun []string `json:"dryRun,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=dryRun"`
	// Name of the field manager that makes the change; the program's name, from the User-Agent, if unset.
	FieldManager string `json:"fieldManager,omitempty" protobuf:"bytes,3,opt,name="`
	// How unknown and duplicate fields are handled: Strict, Warn (the default) or Ignore.
	FieldValidation string `json:"fieldValidation,omitempty" protobuf:"bytes,4,opt,name="`
}

// DeleteOptions are the options of a delete request.
type DeleteOptions struct {
	TypeMeta `json:",inline"`
	// Seconds the object is given to terminate gracefully; 0 deletes immediately. The object's or kind's own
	// grace period if unset.
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds,omitempty" protobuf:"varint,1,opt,name=gracePeriodSeconds"`
	// Preconditions that must be met before the object is deleted; otherwise the request fails with a
	// conflict.
	Preconditions *Preconditions `json:"preconditions,omitempty" protobuf:"bytes,2,opt,name=preconditions"`
	// Deprecated, use propagationPolicy. Whether dependents are orphaned; mutually exclusive with
	// propagationPolicy.
	OrphanDependents *bool `json:"orphanDependents,omitempty" protobuf:"varint,3,opt,name=orphanDependents"`
	// How dependents are garbage collected: Background, Foreground or Orphan. The kind's default if unset.
	PropagationPolicy *DeletionPropagation `json:"propagationPolicy,omitempty" protobuf:"bytes,4,opt,name=propagationPolicy"`
	// Dry-run stages to apply; the only value is All: the request is processed but nothing is persisted.
	DryRun []string `json:"dryRun,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=dryRun"`
	// Delete the object even if it cannot be read from storage, ignoring preconditions and finalizers; may
	// break the cluster.
	IgnoreStoreReadErrorWithClusterBreakingPotential *bool `json:"ignoreStoreReadErrorWithClusterBreakingPotential,omitempty" protobuf:"varint,6,opt,name=ignoreStoreReadErrorWithClusterBreakingPotential"`
}

// FieldSelectorRequirement is a requirement on a field.
type FieldSelectorRequirement struct {
	// Path of the field that the requirement applies to.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// Relation of the field to the values: In, NotIn, Exists or DoesNotExist.
	Operator FieldSelectorOperator `json:"operator" protobuf:"bytes,2,opt,name=operator" openapi:"required"`
	// Values to compare with; must not be empty for In and NotIn, must be empty otherwise.
	Values []string `json:"values,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=values"`
}

// GetOptions are the query options of a get request.
type GetOptions struct {
	TypeMeta `json:",inline"`
	// The result is at least as recent as this resource version; the most recent if unset.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,1,opt,name=resourceVersion"`
}

// GroupKind identifies a kind regardless of version.
type GroupKind struct {
	// API group; empty for the core group.
	Group string `json:"group" protobuf:"bytes,1,opt,name=group" openapi:"required"`
	// Kind of the object.
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind" openapi:"required"`
}

// GroupResource identifies a resource regardless of version.
type GroupResource struct {
	// API group; empty for the core group.
	Group string `json:"group" protobuf:"bytes,1,opt,name=group" openapi:"required"`
	// Plural name of the resource.
	Resource string `json:"resource" protobuf:"bytes,2,opt,name=resource" openapi:"required"`
}

// GroupVersionForDiscovery describes a version of a group in discovery.
type GroupVersionForDiscovery struct {
	// Group and version, such as apps/v1.
	GroupVersion string `json:"groupVersion" protobuf:"bytes,1,opt,name=groupVersion" openapi:"required"`
	// The version without the group.
	Version string `json:"version" protobuf:"bytes,2,opt,name=version" openapi:"required"`
}

// GroupVersionKind identifies a kind in a version.
type GroupVersionKind struct {
	// API group; empty for the core group.
	Group string `json:"group" protobuf:"bytes,1,opt,name=group" openapi:"required"`
	// Version of the group.
	Version string `json:"version" protobuf:"bytes,2,opt,name=version" openapi:"required"`
	// Kind of the object.
	Kind string `json:"kind" protobuf:"bytes,3,opt,name=kind" openapi:"required"`
}

// GroupVersionResource identifies a resource in a version.
type GroupVersionResource struct {
	// API group; empty for the core group.
	Group string `json:"group" protobuf:"bytes,1,opt,name=group" openapi:"required"`
	// Version of the group.
	Version string `json:"version" protobuf:"bytes,2,opt,name=version" openapi:"required"`
	// Plural name of the resource.
	Resource string `json:"resource" protobuf:"bytes,3,opt,name=resource" openapi:"required"`
}

// LabelSelector selects objects by their labels. All requirements must be satisfied; an empty selector
// matches every object.
type LabelSelector struct {
	// Labels that must be present with exactly these values.
	MatchLabels map[string]string `json:"matchLabels,omitempty" protobuf:"bytes,1,rep,name=matchLabels"`
	// Requirements on labels.
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=matchExpressions"`
}

// LabelSelectorRequirement is a requirement on a label.
type LabelSelectorRequirement struct {
	// Label key that the requirement applies to.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// Relation of the label's value to the values: In, NotIn, Exists or DoesNotExist.
	Operator LabelSelectorOperator `json:"operator" protobuf:"bytes,2,opt,name=operator" openapi:"required"`
	// Values to compare with; must not be empty for In and NotIn, must be empty otherwise.
	Values []string `json:"values,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=values"`
}

// ListMeta is the metadata of a list.
type ListMeta struct {
	// Deprecated; no longer populated.
	SelfLink string `json:"selfLink,omitempty" protobuf:"bytes,1,opt,name=selfLink"`
	// Resource version at which the list was read; a watch can start from it.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,2,opt,name=resourceVersion"`
	// Token to request the next page with; empty on the last page.
	Continue string `json:"continue,omitempty" protobuf:"bytes,3,opt,name=continue"`
	// Number of items on later pages, if known.
	RemainingItemCount *int64 `json:"remainingItemCount,omitempty" protobuf:"varint,4,opt,name=remainingItemCount"`
	// The shard that the list was restricted to; unset for a complete list.
	ShardInfo *ShardInfo `json:"shardInfo,omitempty" protobuf:"bytes,5,opt,name=shardInfo"`
}

// ListOptions are the query options of a list or watch request.
type ListOptions struct {
	TypeMeta `json:",inline"`
	// Restricts the result to objects whose labels match; everything if empty.
	LabelSelector string `json:"labelSelector,omitempty" protobuf:"bytes,1,opt,name=labelSelector"`
	// Restricts the result to objects whose fields match; everything if empty.
	FieldSelector string `json:"fieldSelector,omitempty" protobuf:"bytes,2,opt,name=fieldSelector"`
	// Stream changes to the objects instead of returning a list.
	Watch bool `json:"watch,omitempty" protobuf:"varint,3,opt,name=watch"`
	// Allow BOOKMARK events, which report the resource version reached when no object has changed.
	AllowWatchBookmarks bool `json:"allowWatchBookmarks,omitempty" protobuf:"varint,9,opt,name=allowWatchBookmarks"`
	// For a list, constrains the resource version it is served from, as resourceVersionMatch says; for a
	// watch, the version to start after.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,4,opt,name=resourceVersion"`
	// How resourceVersion applies to a list: Exact or NotOlderThan.
	ResourceVersionMatch ResourceVersionMatch `json:"resourceVersionMatch,omitempty" protobuf:"bytes,10,opt,name=resourceVersionMatch"`
	// Seconds after which the server ends the request, whether or not it is active.
	TimeoutSeconds *int64 `json:"timeoutSeconds,omitempty" protobuf:"varint,5,opt,name=timeoutSeconds"`
	// Maximum number of items to return; if there are more, the list has a continue token.
	Limit int64 `json:"limit,omitempty" protobuf:"varint,7,opt,name=limit"`
	// Continue token of the previous page.
	Continue string `json:"continue,omitempty" protobuf:"bytes,8,opt,name=continue"`
	// Begin the watch with an ADDED event per existing object, followed by a bookmark.
	SendInitialEvents *bool `json:"sendInitialEvents,omitempty" protobuf:"varint,11,opt,name=sendInitialEvents"`
	// Restricts the result to one shard of the objects.
	ShardSelector string `json:"shardSelector,omitempty" protobuf:"bytes,15,opt,name=shardSelector"`
}

// ManagedFieldsEntry records the fields that one manager owns.
type ManagedFieldsEntry struct {
	// Name of the field manager.
	Manager string `json:"manager,omitempty" protobuf:"bytes,1,opt,name=manager"`
	// How the manager wrote the fields: Apply for server-side apply, Update for any other write.
	Operation ManagedFieldsOperationType `json:"operation,omitempty" protobuf:"bytes,2,opt,name=operation"`
	// API version that the field set refers to.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,3,opt,name=apiVersion"`
	// When the entry was last changed.
	Time *Time `json:"time,omitempty" protobuf:"bytes,4,opt,name=time"`
	// Format of fieldsV1; the only value is FieldsV1.
	FieldsType string `json:"fieldsType,omitempty" protobuf:"bytes,6,opt,name=fieldsType"`
	// Set of fields owned by the manager, as JSON.
	FieldsV1 *FieldsV1 `json:"fieldsV1,omitempty" protobuf:"bytes,7,opt,name=fieldsV1"`
	// Subresource that the fields were written through; empty for the main resource.
	Subresource string `json:"subresource,omitempty" protobuf:"bytes,8,opt,name=subresource"`
}

// OwnerReference identifies an owner of this object, in the same namespace or cluster-scoped. The object is
// garbage collected when all its owners are deleted.
type OwnerReference struct {
	// API version of the owner.
	APIVersion string `json:"apiVersion" protobuf:"bytes,5,opt,name=apiVersion" openapi:"required"`
	// Kind of the owner.
	Kind string `json:"kind" protobuf:"bytes,1,opt,name=kind" openapi:"required"`
	// Name of the owner.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
	// UID of the owner.
	UID types.UID `json:"uid" protobuf:"bytes,4,opt,name=uid" openapi:"required"`
	// Whether the owner is the managing controller; true for at most one owner.
	Controller *bool `json:"controller,omitempty" protobuf:"varint,6,opt,name=controller"`
	// Whether a foreground deletion of the owner waits until this object is deleted.
	BlockOwnerDeletion *bool `json:"blockOwnerDeletion,omitempty" protobuf:"varint,7,opt,name=blockOwnerDeletion"`
}

// PartialObjectMetadata is an object of any kind reduced to its metadata.
type PartialObjectMetadata struct {
	TypeMeta   `json:",inline"`
	ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
}

// PatchOptions are the query options of a patch request.
type PatchOptions struct {
	TypeMeta `json:",inline"`
	// Dry-run stages to apply; the only value is All: the request is processed but nothing is persisted.
	DryRun []string `json:"dryRun,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=dryRun"`
	// Take ownership of fields that conflict with other managers; for apply patches only.
	Force *bool `json:"force,omitempty" protobuf:"varint,2,opt,name=force"`
	// Name of the field manager that makes the change; required for apply patches, otherwise the program's
	// name, from the User-Agent, if unset.
	FieldManager string `json:"fieldManager,omitempty" protobuf:"bytes,3,opt,name="`
	// How unknown and duplicate fields are handled: Strict, Warn (the default) or Ignore.
	FieldValidation string `json:"fieldValidation,omitempty" protobuf:"bytes,4,opt,name="`
}

// Preconditions must be met before the operation is carried out.
type Preconditions struct {
	// UID the object must have.
	UID *types.UID `json:"uid,omitempty" protobuf:"bytes,1,opt,name=uid"`
	// Resource version the object must have.
	ResourceVersion *string `json:"resourceVersion,omitempty" protobuf:"bytes,2,opt,name=resourceVersion"`
}

// ServerAddressByClientCIDR is the server address to use from a network.
type ServerAddressByClientCIDR struct {
	// Network of the clients, in CIDR notation.
	ClientCIDR string `json:"clientCIDR" protobuf:"bytes,1,opt,name=clientCIDR" openapi:"required"`
	// Address of the server, a host name, host:port or IP address.
	ServerAddress string `json:"serverAddress" protobuf:"bytes,2,opt,name=serverAddress" openapi:"required"`
}

// ShardInfo identifies the shard that a list was restricted to.
type ShardInfo struct {
	// The shard selector of the request.
	Selector string `json:"selector" protobuf:"bytes,1,opt,name=selector" openapi:"required"`
}

// Status is the response to a request that returns no object, in particular to one that failed.
type Status struct {
	TypeMeta `json:",inline"`
	ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Outcome of the request: Success or Failure.
	Status string `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
	// Human-readable description of the outcome.
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
	// Machine-readable reason for a failure, such as NotFound; empty if there is none.
	Reason StatusReason `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Details of the failure; its fields depend on the reason.
	Details *StatusDetails `json:"details,omitempty" protobuf:"bytes,5,opt,name=details"`
	// HTTP status code of the response.
	Code int32 `json:"code,omitempty" protobuf:"varint,6,opt,name=code"`
}

// StatusCause is one of the causes of a failure.
type StatusCause struct {
	// Machine-readable cause, such as FieldValueRequired.
	Type CauseType `json:"reason,omitempty" protobuf:"bytes,1,opt,name=reason"`
	// Human-readable description of the cause.
	Message string `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
	// Path of the offending field, such as spec.containers[0].name.
	Field string `json:"field,omitempty" protobuf:"bytes,3,opt,name=field"`
}

// StatusDetails holds the details of a failure.
type StatusDetails struct {
	// Name of the object that the failure concerns.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// API group of the object.
	Group string `json:"group,omitempty" protobuf:"bytes,2,opt,name=group"`
	// Kind, or sometimes the resource, of the object.
	Kind string `json:"kind,omitempty" protobuf:"bytes,3,opt,name=kind"`
	// UID of the object.
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,6,opt,name=uid"`
	// Causes of the failure, such as each invalid field.
	Causes []StatusCause `json:"causes,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=causes"`
	// Seconds to wait before retrying the request.
	RetryAfterSeconds int32 `json:"retryAfterSeconds,omitempty" protobuf:"varint,5,opt,name=retryAfterSeconds"`
}

// Table presents objects as rows for display.
type Table struct {
	TypeMeta `json:",inline"`
	ListMeta `json:"metadata,omitempty"`
	// Columns of the table, in the order of the cells.
	ColumnDefinitions []TableColumnDefinition `json:"columnDefinitions" listType:"atomic" openapi:"required"`
	// Rows of the table, one per object, in the order of the list.
	Rows []TableRow `json:"rows" listType:"atomic" openapi:"required"`
}

// TableColumnDefinition describes a column of a table.
type TableColumnDefinition struct {
	// Heading of the column.
	Name string `json:"name" openapi:"required"`
	// OpenAPI type of the values: string, integer, number, boolean or date.
	Type string `json:"type" openapi:"required"`
	// OpenAPI format of the values; name marks the column with the object's name.
	Format string `json:"format" openapi:"required"`
	// Human-readable description of the column.
	Description string `json:"description" openapi:"required"`
	// Importance of the column: 0 is always shown, larger values only in wide output.
	Priority int32 `json:"priority" openapi:"required"`
}

// TableOptions are the query options of a request for a table.
type TableOptions struct {
	TypeMeta `json:",inline"`
	// NoHeaders omits column definitions; the server sets it for all but the first event of a watch.
	NoHeaders bool `json:"-"`
	// What is included of the object in each row: None, Metadata (the default) or Object.
	IncludeObject IncludeObjectPolicy `json:"includeObject,omitempty" protobuf:"bytes,1,opt,name=includeObject"`
}

// TableRow is a row of a table, usually for one object.
type TableRow struct {
	// Values of the row, one per column.
	Cells []any `json:"cells" listType:"atomic" openapi:"required"`
	// Conditions of the row that affect its display.
	Conditions []TableRowCondition `json:"conditions,omitempty" listType:"atomic"`
	// The object of the row: complete, its metadata or absent, as requested by includeObject.
	Object RawExtension `json:"object,omitempty"`
}

// TableRowCondition is a condition of a row that affects its display.
type TableRowCondition struct {
	// Type of the condition; the only value is Completed: the resource of the row has run to completion.
	Type RowConditionType `json:"type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status ConditionStatus `json:"status" openapi:"required"`
	// Machine-readable reason for the condition.
	Reason string `json:"reason,omitempty"`
	// Human-readable description of the condition.
	Message string `json:"message,omitempty"`
}

// UpdateOptions are the query options of an update request.
type UpdateOptions struct {
	TypeMeta `json:",inline"`
	// Dry-run stages to apply; the only value is All: the request is processed but nothing is persisted.
	DryRun []string `json:"dryRun,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=dryRun"`
	// Name of the field manager that makes the change; the program's name, from the User-Agent, if unset.
	FieldManager string `json:"fieldManager,omitempty" protobuf:"bytes,2,opt,name="`
	// How unknown and duplicate fields are handled: Strict, Warn (the default) or Ignore.
	FieldValidation string `json:"fieldValidation,omitempty" protobuf:"bytes,3,opt,name="`
}

// WatchEvent is one event of a watch stream.
type WatchEvent struct {
	// Type of the event: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
	Type string `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// For ADDED and MODIFIED the new state of the object, for DELETED its last state, for BOOKMARK an object
	// with only a resource version, for ERROR a Status.
	Object RawExtension `json:"object" protobuf:"bytes,2,opt,name=object" openapi:"required"`
}

// CauseType enumerates the values of StatusCause.Type.
type CauseType string

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

// ConditionStatus enumerates the values of Condition.Status and TableRowCondition.Status.
type ConditionStatus string

const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

// DeletionPropagation enumerates the values of DeleteOptions.PropagationPolicy.
type DeletionPropagation string

const (
	DeletePropagationBackground DeletionPropagation = "Background"
	DeletePropagationForeground DeletionPropagation = "Foreground"
	DeletePropagationOrphan     DeletionPropagation = "Orphan"
)

// FieldSelectorOperator enumerates the values of FieldSelectorRequirement.Operator.
type FieldSelectorOperator string

const (
	FieldSelectorOpDoesNotExist FieldSelectorOperator = "DoesNotExist"
	FieldSelectorOpExists       FieldSelectorOperator = "Exists"
	FieldSelectorOpIn           FieldSelectorOperator = "In"
	FieldSelectorOpNotIn        FieldSelectorOperator = "NotIn"
)

// IncludeObjectPolicy enumerates the values of TableOptions.IncludeObject.
type IncludeObjectPolicy string

const (
	IncludeMetadata IncludeObjectPolicy = "Metadata"
	IncludeNone     IncludeObjectPolicy = "None"
	IncludeObject   IncludeObjectPolicy = "Object"
)

// LabelSelectorOperator enumerates the values of LabelSelectorRequirement.Operator.
type LabelSelectorOperator string

const (
	LabelSelectorOpDoesNotExist LabelSelectorOperator = "DoesNotExist"
	LabelSelectorOpExists       LabelSelectorOperator = "Exists"
	LabelSelectorOpIn           LabelSelectorOperator = "In"
	LabelSelectorOpNotIn        LabelSelectorOperator = "NotIn"
)

// ManagedFieldsOperationType enumerates the values of ManagedFieldsEntry.Operation.
type ManagedFieldsOperationType string

const (
	ManagedFieldsOperationApply  ManagedFieldsOperationType = "Apply"
	ManagedFieldsOperationUpdate ManagedFieldsOperationType = "Update"
)

// ResourceVersionMatch enumerates the values of ListOptions.ResourceVersionMatch.
type ResourceVersionMatch string

const (
	ResourceVersionMatchExact        ResourceVersionMatch = "Exact"
	ResourceVersionMatchNotOlderThan ResourceVersionMatch = "NotOlderThan"
)

// RowConditionType enumerates the values of TableRowCondition.Type.
type RowConditionType string

const (
	RowCompleted RowConditionType = "Completed"
)

// StatusReason enumerates the values of Status.Reason.
type StatusReason string

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

// Verbs is the type of APIResource.Verbs.
type Verbs []string

// Well-known names and values.
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
