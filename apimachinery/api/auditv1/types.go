// Package auditv1 holds audit events and policy (audit.k8s.io/v1).
package auditv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// AuthenticationMetadata is how a user was authenticated, beyond who it is.
type AuthenticationMetadata struct {
	ImpersonationConstraint string `json:"impersonationConstraint,omitempty" protobuf:"bytes,1,opt,name=impersonationConstraint"`
}

// Event is the record of one request.
type Event struct {
	metav1.TypeMeta          `json:",inline"`
	Level                    Level                      `json:"level" protobuf:"bytes,1,opt,name=level" openapi:"required"`
	AuditID                  types.UID                  `json:"auditID" protobuf:"bytes,2,opt,name=auditID" openapi:"required"`
	Stage                    Stage                      `json:"stage" protobuf:"bytes,3,opt,name=stage" openapi:"required"`
	RequestURI               string                     `json:"requestURI" protobuf:"bytes,4,opt,name=requestURI" openapi:"required"`
	Verb                     string                     `json:"verb" protobuf:"bytes,5,opt,name=verb" openapi:"required"`
	User                     authenticationv1.UserInfo  `json:"user" protobuf:"bytes,6,opt,name=user" openapi:"required"`
	ImpersonatedUser         *authenticationv1.UserInfo `json:"impersonatedUser,omitempty" protobuf:"bytes,7,opt,name=impersonatedUser"`
	AuthenticationMetadata   *AuthenticationMetadata    `json:"authenticationMetadata,omitempty" protobuf:"bytes,17,opt,name=authenticationMetadata"`
	SourceIPs                []string                   `json:"sourceIPs,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=sourceIPs"`
	UserAgent                string                     `json:"userAgent,omitempty" protobuf:"bytes,16,opt,name=userAgent"`
	ObjectRef                *ObjectReference           `json:"objectRef,omitempty" protobuf:"bytes,9,opt,name=objectRef"`
	ResponseStatus           *metav1.Status             `json:"responseStatus,omitempty" protobuf:"bytes,10,opt,name=responseStatus"`
	RequestObject            *metav1.RawExtension       `json:"requestObject,omitempty" protobuf:"bytes,11,opt,name=requestObject"`
	ResponseObject           *metav1.RawExtension       `json:"responseObject,omitempty" protobuf:"bytes,12,opt,name=responseObject"`
	RequestReceivedTimestamp metav1.MicroTime           `json:"requestReceivedTimestamp" protobuf:"bytes,13,opt,name=requestReceivedTimestamp"`
	StageTimestamp           metav1.MicroTime           `json:"stageTimestamp" protobuf:"bytes,14,opt,name=stageTimestamp"`
	Annotations              map[string]string          `json:"annotations,omitempty" protobuf:"bytes,15,rep,name=annotations"`
}

// GroupResources is resources of a group.
type GroupResources struct {
	Group         string   `json:"group,omitempty" protobuf:"bytes,1,opt,name=group"`
	Resources     []string `json:"resources,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=resources"`
	ResourceNames []string `json:"resourceNames,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=resourceNames"`
}

// ObjectReference names the object of a request.
type ObjectReference struct {
	Resource        string    `json:"resource,omitempty" protobuf:"bytes,1,opt,name=resource"`
	Namespace       string    `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	Name            string    `json:"name,omitempty" protobuf:"bytes,3,opt,name=name"`
	UID             types.UID `json:"uid,omitempty" protobuf:"bytes,4,opt,name=uid"`
	APIGroup        string    `json:"apiGroup,omitempty" protobuf:"bytes,5,opt,name=apiGroup"`
	APIVersion      string    `json:"apiVersion,omitempty" protobuf:"bytes,6,opt,name=apiVersion"`
	ResourceVersion string    `json:"resourceVersion,omitempty" protobuf:"bytes,7,opt,name=resourceVersion"`
	Subresource     string    `json:"subresource,omitempty" protobuf:"bytes,8,opt,name=subresource"`
}

// Policy says which requests are recorded, and how much of them.
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Rules             []PolicyRule `json:"rules" listType:"atomic" protobuf:"bytes,2,rep,name=rules" openapi:"required"`
	OmitStages        []Stage      `json:"omitStages,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=omitStages"`
	OmitManagedFields bool         `json:"omitManagedFields,omitempty" protobuf:"varint,4,opt,name=omitManagedFields"`
}

// PolicyRule is how much is recorded of some requests.
type PolicyRule struct {
	Level             Level            `json:"level" protobuf:"bytes,1,opt,name=level" openapi:"required"`
	Users             []string         `json:"users,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=users"`
	UserGroups        []string         `json:"userGroups,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=userGroups"`
	Verbs             []string         `json:"verbs,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=verbs"`
	Resources         []GroupResources `json:"resources,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=resources"`
	Namespaces        []string         `json:"namespaces,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=namespaces"`
	NonResourceURLs   []string         `json:"nonResourceURLs,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=nonResourceURLs"`
	OmitStages        []Stage          `json:"omitStages,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=omitStages"`
	OmitManagedFields *bool            `json:"omitManagedFields,omitempty" protobuf:"varint,9,opt,name=omitManagedFields"`
}

// EventList is a list of Event objects, which have no object metadata.
type EventList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Items           []Event `json:"items" protobuf:"bytes,2,rep,name=items"`
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
