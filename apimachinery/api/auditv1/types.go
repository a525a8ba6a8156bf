// Package auditv1 holds audit events and policy (audit.k8s.io/v1).
package auditv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// AuthenticationMetadata is how a user was authenticated, beyond who it is.
type AuthenticationMetadata struct {
	// Which kind of constrained impersonation let the request act as somebody else.
	ImpersonationConstraint string `json:"impersonationConstraint,omitempty" protobuf:"bytes,1,opt,name=impersonationConstraint"`
}

// Event is the record of one request.
type Event struct {
	metav1.TypeMeta `json:",inline"`
	// How much was recorded.
	Level Level `json:"level" protobuf:"bytes,1,opt,name=level" openapi:"required"`
	// Same for all events of one request; a client can choose it with the header Audit-ID.
	AuditID types.UID `json:"auditID" protobuf:"bytes,2,opt,name=auditID" openapi:"required"`
	// How far the request had come.
	Stage Stage `json:"stage" protobuf:"bytes,3,opt,name=stage" openapi:"required"`
	// Path and query as sent by the client.
	RequestURI string `json:"requestURI" protobuf:"bytes,4,opt,name=requestURI" openapi:"required"`
	// Verb of the API, or the HTTP method in lower case for other paths.
	Verb string `json:"verb" protobuf:"bytes,5,opt,name=verb" openapi:"required"`
	// Who was authenticated.
	User authenticationv1.UserInfo `json:"user" protobuf:"bytes,6,opt,name=user" openapi:"required"`
	// Who the user acts as.
	ImpersonatedUser *authenticationv1.UserInfo `json:"impersonatedUser,omitempty" protobuf:"bytes,7,opt,name=impersonatedUser"`
	// How the user came to be authenticated.
	AuthenticationMetadata *AuthenticationMetadata `json:"authenticationMetadata,omitempty" protobuf:"bytes,17,opt,name=authenticationMetadata"`
	// The client and the proxies between, farthest first; all but the last are the client's word.
	SourceIPs []string `json:"sourceIPs,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=sourceIPs"`
	// Name the client gives itself; not to be trusted.
	UserAgent string `json:"userAgent,omitempty" protobuf:"bytes,16,opt,name=userAgent"`
	// What the request is about; absent for lists and other paths.
	ObjectRef *ObjectReference `json:"objectRef,omitempty" protobuf:"bytes,9,opt,name=objectRef"`
	// The answer's code, and its status object if it was one; absent before the answer.
	ResponseStatus *metav1.Status `json:"responseStatus,omitempty" protobuf:"bytes,10,opt,name=responseStatus"`
	// Body as sent, from level Request up; before defaults and admission.
	RequestObject *metav1.RawExtension `json:"requestObject,omitempty" protobuf:"bytes,11,opt,name=requestObject"`
	// Body of the answer; at level RequestResponse.
	ResponseObject *metav1.RawExtension `json:"responseObject,omitempty" protobuf:"bytes,12,opt,name=responseObject"`
	// When the request arrived.
	RequestReceivedTimestamp metav1.MicroTime `json:"requestReceivedTimestamp" protobuf:"bytes,13,opt,name=requestReceivedTimestamp"`
	// When this stage was reached.
	StageTimestamp metav1.MicroTime `json:"stageTimestamp" protobuf:"bytes,14,opt,name=stageTimestamp"`
	// Notes of plugins on the way, such as authorization.k8s.io/decision.
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,15,rep,name=annotations"`
}

// GroupResources is resources of a group.
type GroupResources struct {
	// API group; "" for the core group.
	Group string `json:"group,omitempty" protobuf:"bytes,1,opt,name=group"`
	// Plural names, pods/log for a subresource, */scale and pods/* for sets of them; all if empty.
	Resources []string `json:"resources,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=resources"`
	// Only objects of these names; needs resources. All if empty.
	ResourceNames []string `json:"resourceNames,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=resourceNames"`
}

// ObjectReference names the object of a request.
type ObjectReference struct {
	// Plural name of the resource.
	Resource string `json:"resource,omitempty" protobuf:"bytes,1,opt,name=resource"`
	// Namespace of the object; empty for cluster-scoped ones.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// Name of the object; empty for a create with a generated name.
	Name string `json:"name,omitempty" protobuf:"bytes,3,opt,name=name"`
	// Identity of the object, where the request or the answer has it.
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,4,opt,name=uid"`
	// Group of the resource; empty for the core group.
	APIGroup string `json:"apiGroup,omitempty" protobuf:"bytes,5,opt,name=apiGroup"`
	// Version of the resource.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,6,opt,name=apiVersion"`
	// Version of the object the request builds on.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,7,opt,name=resourceVersion"`
	// Such as status or scale.
	Subresource string `json:"subresource,omitempty" protobuf:"bytes,8,opt,name=subresource"`
}

// Policy says which requests are recorded, and how much of them.
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The first that matches a request decides; a request that none matches is not recorded.
	Rules []PolicyRule `json:"rules" listType:"atomic" protobuf:"bytes,2,rep,name=rules" openapi:"required"`
	// Stages that are never recorded.
	OmitStages []Stage `json:"omitStages,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=omitStages"`
	// Leave metadata.managedFields out of recorded bodies.
	OmitManagedFields bool `json:"omitManagedFields,omitempty" protobuf:"varint,4,opt,name=omitManagedFields"`
}

// PolicyRule is how much is recorded of some requests.
type PolicyRule struct {
	// How much of a request that matches is recorded.
	Level Level `json:"level" protobuf:"bytes,1,opt,name=level" openapi:"required"`
	// Only requests of these users; of all if empty.
	Users []string `json:"users,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=users"`
	// Only requests of members of one of these groups; of all if empty.
	UserGroups []string `json:"userGroups,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=userGroups"`
	// Only these verbs; all if empty.
	Verbs []string `json:"verbs,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=verbs"`
	// Only requests for these; excludes nonResourceURLs.
	Resources []GroupResources `json:"resources,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=resources"`
	// Only requests in these namespaces, "" for cluster-scoped ones; all if empty.
	Namespaces []string `json:"namespaces,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=namespaces"`
	// Only these paths, with * at the end for everything below; excludes resources.
	NonResourceURLs []string `json:"nonResourceURLs,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=nonResourceURLs"`
	// Stages that are not recorded, besides those of the policy.
	OmitStages []Stage `json:"omitStages,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=omitStages"`
	// Overrides the policy's setting for requests of this rule.
	OmitManagedFields *bool `json:"omitManagedFields,omitempty" protobuf:"varint,9,opt,name=omitManagedFields"`
}

// EventList is a list of Event objects, which have no object metadata.
type EventList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The events of one batch.
	Items []Event `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// PolicyList is a list of Policy objects.
type PolicyList = metav1.List[*Policy]

// Level is what Event.Level and PolicyRule.Level can be.
type Level string

// The values of Level.
const (
	LevelMetadata        Level = "Metadata"
	LevelNone            Level = "None"
	LevelRequest         Level = "Request"
	LevelRequestResponse Level = "RequestResponse"
)

// Stage is what Event.Stage, Policy.OmitStages and others can be.
type Stage string

// The values of Stage.
const (
	StagePanic            Stage = "Panic"
	StageRequestReceived  Stage = "RequestReceived"
	StageResponseComplete Stage = "ResponseComplete"
	StageResponseStarted  Stage = "ResponseStarted"
)

// Well-known names and values of this group.
const (
	HeaderAuditID = "Audit-ID"
)
