// Package auditv1 holds audit events and policy (audit.k8s.io/v1).
package auditv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// AuthenticationMetadata describes how a user was authenticated.
type AuthenticationMetadata struct {
	// Verb of the constrained impersonation by which the request was permitted to impersonate, if any.
	ImpersonationConstraint string `json:"impersonationConstraint,omitempty" protobuf:"bytes,1,opt,name=impersonationConstraint"`
}

// Event is the audit record of one request.
type Event struct {
	metav1.TypeMeta `json:",inline"`
	// Level at which the request was recorded: Metadata, Request or RequestResponse.
	Level Level `json:"level" protobuf:"bytes,1,opt,name=level" openapi:"required"`
	// Identifier shared by all events of one request; a client can set it with the header Audit-ID.
	AuditID types.UID `json:"auditID" protobuf:"bytes,2,opt,name=auditID" openapi:"required"`
	// Stage of request processing at which the event was generated.
	Stage Stage `json:"stage" protobuf:"bytes,3,opt,name=stage" openapi:"required"`
	// Path and query of the request as sent by the client.
	RequestURI string `json:"requestURI" protobuf:"bytes,4,opt,name=requestURI" openapi:"required"`
	// Kubernetes verb of the request, or the HTTP method in lower case for non-resource requests.
	Verb string `json:"verb" protobuf:"bytes,5,opt,name=verb" openapi:"required"`
	// Authenticated user.
	User authenticationv1.UserInfo `json:"user" protobuf:"bytes,6,opt,name=user" openapi:"required"`
	// User that the authenticated user impersonates.
	ImpersonatedUser *authenticationv1.UserInfo `json:"impersonatedUser,omitempty" protobuf:"bytes,7,opt,name=impersonatedUser"`
	// How the user was authenticated.
	AuthenticationMetadata *AuthenticationMetadata `json:"authenticationMetadata,omitempty" protobuf:"bytes,17,opt,name=authenticationMetadata"`
	// Addresses of the client and intermediate proxies, from the client on. All but the last are taken from
	// headers and can be forged.
	SourceIPs []string `json:"sourceIPs,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=sourceIPs"`
	// User agent string sent by the client; not to be trusted.
	UserAgent string `json:"userAgent,omitempty" protobuf:"bytes,16,opt,name=userAgent"`
	// Object that the request concerns; unset for non-resource requests.
	ObjectRef *ObjectReference `json:"objectRef,omitempty" protobuf:"bytes,9,opt,name=objectRef"`
	// Status of the response: its code, and the Status object if it returned one.
	ResponseStatus *metav1.Status `json:"responseStatus,omitempty" protobuf:"bytes,10,opt,name=responseStatus"`
	// Object of the request as sent, before defaulting and admission; from level Request.
	RequestObject *metav1.RawExtension `json:"requestObject,omitempty" protobuf:"bytes,11,opt,name=requestObject"`
	// Object of the response; at level RequestResponse.
	ResponseObject *metav1.RawExtension `json:"responseObject,omitempty" protobuf:"bytes,12,opt,name=responseObject"`
	// When the request was received.
	RequestReceivedTimestamp metav1.MicroTime `json:"requestReceivedTimestamp" protobuf:"bytes,13,opt,name=requestReceivedTimestamp"`
	// When the stage was reached.
	StageTimestamp metav1.MicroTime `json:"stageTimestamp" protobuf:"bytes,14,opt,name=stageTimestamp"`
	// Additional information from authentication, authorization and admission plugins, such as
	// authorization.k8s.io/decision.
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,15,rep,name=annotations"`
}

// GroupResources selects resources of an API group.
type GroupResources struct {
	// API group; empty for the core group.
	Group string `json:"group,omitempty" protobuf:"bytes,1,opt,name=group"`
	// Resources, such as pods, pods/log, pods/* or */scale; all if empty.
	Resources []string `json:"resources,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=resources"`
	// Names of the objects; all if empty. Requires resources.
	ResourceNames []string `json:"resourceNames,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=resourceNames"`
}

// ObjectReference identifies the object of a request.
type ObjectReference struct {
	// Plural name of the resource.
	Resource string `json:"resource,omitempty" protobuf:"bytes,1,opt,name=resource"`
	// Namespace of the object; empty if it is cluster-scoped.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// Name of the object; empty for lists, and for the creation of an object with a generated name.
	Name string `json:"name,omitempty" protobuf:"bytes,3,opt,name=name"`
	// UID of the object, if known from the request or response.
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,4,opt,name=uid"`
	// API group of the resource; empty for the core group.
	APIGroup string `json:"apiGroup,omitempty" protobuf:"bytes,5,opt,name=apiGroup"`
	// API version of the resource.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,6,opt,name=apiVersion"`
	// Resource version of the object in the request.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,7,opt,name=resourceVersion"`
	// Subresource of the request, such as status or scale.
	Subresource string `json:"subresource,omitempty" protobuf:"bytes,8,opt,name=subresource"`
}

// Policy describes which requests are recorded, and at which level.
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Rules, of which the first that matches a request determines the level. A request that matches none is
	// not recorded.
	Rules []PolicyRule `json:"rules" listType:"atomic" protobuf:"bytes,2,rep,name=rules" openapi:"required"`
	// Stages for which no events are generated.
	OmitStages []Stage `json:"omitStages,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=omitStages"`
	// Whether managedFields are omitted from recorded objects.
	OmitManagedFields bool `json:"omitManagedFields,omitempty" protobuf:"varint,4,opt,name=omitManagedFields"`
}

// PolicyRule maps requests to an audit level. All its non-empty fields must match.
type PolicyRule struct {
	// Level at which matching requests are recorded: None, Metadata, Request or RequestResponse.
	Level Level `json:"level" protobuf:"bytes,1,opt,name=level" openapi:"required"`
	// Names of users; all users if empty.
	Users []string `json:"users,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=users"`
	// Groups, of which the user must be a member of at least one; all users if empty.
	UserGroups []string `json:"userGroups,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=userGroups"`
	// Verbs of the requests; all if empty.
	Verbs []string `json:"verbs,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=verbs"`
	// Resources of the requests; excludes nonResourceURLs.
	Resources []GroupResources `json:"resources,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=resources"`
	// Namespaces of the requests, the empty string for cluster-scoped resources; all if empty.
	Namespaces []string `json:"namespaces,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=namespaces"`
	// URL paths of the requests; a * at the end matches everything below. Excludes resources.
	NonResourceURLs []string `json:"nonResourceURLs,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=nonResourceURLs"`
	// Stages for which no events are generated, in addition to those of the policy.
	OmitStages []Stage `json:"omitStages,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=omitStages"`
	// Whether managedFields are omitted from recorded objects; overrides the setting of the policy.
	OmitManagedFields *bool `json:"omitManagedFields,omitempty" protobuf:"varint,9,opt,name=omitManagedFields"`
}

// EventList is a batch of audit events, which have no object metadata.
type EventList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Events of the batch.
	Items []Event `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// PolicyList is a list of Policy objects.
type PolicyList = metav1.List[*Policy]

// Level enumerates the values of Event.Level and PolicyRule.Level.
type Level string

const (
	LevelMetadata        Level = "Metadata"
	LevelNone            Level = "None"
	LevelRequest         Level = "Request"
	LevelRequestResponse Level = "RequestResponse"
)

// Stage enumerates the values of Event.Stage, Policy.OmitStages and other fields.
type Stage string

const (
	StagePanic            Stage = "Panic"
	StageRequestReceived  Stage = "RequestReceived"
	StageResponseComplete Stage = "ResponseComplete"
	StageResponseStarted  Stage = "ResponseStarted"
)

// Well-known names and values.
const (
	HeaderAuditID = "Audit-ID"
)
