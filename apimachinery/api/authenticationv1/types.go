// Package authenticationv1 holds token requests and reviews (authentication.k8s.io/v1).
package authenticationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// BoundObjectReference names the object a token lives as long as.
type BoundObjectReference struct {
	// Pod, Secret or Node.
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
	// Version of the kind.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,2,opt,name=apiVersion"`
	// Object whose deletion ends the token, in the account's namespace.
	Name string `json:"name,omitempty" protobuf:"bytes,3,opt,name=name"`
	// Which object of that name; any unless set.
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,4,opt,name=uID"`
}

// SelfSubjectReview asks who one is.
type SelfSubjectReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What there is; written by the system.
	Status SelfSubjectReviewStatus `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
}

// SelfSubjectReviewStatus is who one is.
type SelfSubjectReviewStatus struct {
	// User, groups and further attributes the server sees.
	UserInfo UserInfo `json:"userInfo,omitempty" protobuf:"bytes,1,opt,name=userInfo"`
}

// TokenRequest asks for a token of a service account.
type TokenRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Audiences and life time of the token, and what it is bound to.
	Spec TokenRequestSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// What there is; written by the system.
	Status TokenRequestStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// TokenRequestSpec is what token is asked for.
type TokenRequestSpec struct {
	// Who it is for; the API server if empty.
	Audiences []string `json:"audiences" listType:"atomic" protobuf:"bytes,1,rep,name=audiences"`
	// How long it should be valid; at least 600.
	ExpirationSeconds *int64 `json:"expirationSeconds" protobuf:"varint,4,opt,name=expirationSeconds"`
	// Object the token ends with.
	BoundObjectRef *BoundObjectReference `json:"boundObjectRef" protobuf:"bytes,3,opt,name=boundObjectRef"`
}

// TokenRequestStatus is the token.
type TokenRequestStatus struct {
	// The signed token, for the header Authorization: Bearer.
	Token string `json:"token" protobuf:"bytes,1,opt,name=token"`
	// When the token is no longer taken; may be sooner than asked for.
	ExpirationTimestamp metav1.Time `json:"expirationTimestamp" protobuf:"bytes,2,opt,name=expirationTimestamp"`
}

// TokenReview asks whose a token is.
type TokenReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The token to look into.
	Spec TokenReviewSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// What there is; written by the system.
	Status TokenReviewStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// TokenReviewSpec is the token in question.
type TokenReviewSpec struct {
	// Bearer token to look into, as a client sent it.
	Token string `json:"token,omitempty" protobuf:"bytes,1,opt,name=token" openapi:"required"`
	// Who it should be for.
	Audiences []string `json:"audiences,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=audiences"`
}

// TokenReviewStatus is whose the token is.
type TokenReviewStatus struct {
	// The token is valid and somebody's.
	Authenticated bool `json:"authenticated,omitempty" protobuf:"varint,1,opt,name=authenticated"`
	// Whose token it is; set if authenticated.
	User UserInfo `json:"user,omitempty" protobuf:"bytes,2,opt,name=user"`
	// Of those asked about, who it is for.
	Audiences []string `json:"audiences,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=audiences"`
	// Why it could not be checked.
	Error string `json:"error,omitempty" protobuf:"bytes,3,opt,name=error"`
}

// UserInfo is who somebody is.
type UserInfo struct {
	// Name that identifies the user among all active ones.
	Username string `json:"username,omitempty" protobuf:"bytes,1,opt,name=username"`
	// Identity that is never given twice.
	UID string `json:"uid,omitempty" protobuf:"bytes,2,opt,name=uid"`
	// Names of the groups the user is in, system:authenticated among them.
	Groups []string `json:"groups,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=groups"`
	// More, from the authenticator.
	Extra map[string]ExtraValue `json:"extra,omitempty" protobuf:"bytes,4,rep,name=extra"`
}

// ExtraValue is what UserInfo.Extra can be.
type ExtraValue []string

// Well-known names and values of this group.
const (
	ImpersonateGroupHeader           = "Impersonate-Group"
	ImpersonateUIDHeader             = "Impersonate-Uid"
	ImpersonateUserExtraHeaderPrefix = "Impersonate-Extra-"
	ImpersonateUserHeader            = "Impersonate-User"
)
