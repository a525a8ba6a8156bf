// Package authenticationv1 holds token requests and reviews (authentication.k8s.io/v1).
package authenticationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// BoundObjectReference identifies the object that a token is bound to.
type BoundObjectReference struct {
	// Kind of the object: Pod, Secret or Node.
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
	// API version of the object: v1 for the supported kinds.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,2,opt,name=apiVersion"`
	// Name of the object; the token becomes invalid when the object is deleted.
	Name string `json:"name,omitempty" protobuf:"bytes,3,opt,name=name"`
	// UID of the object; not checked if empty.
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,4,opt,name=uID"`
}

// SelfSubjectReview returns the user attributes of the requester; with impersonation, those of the
// impersonated user. Keys of extra attributes that were sent in headers are in lower case.
type SelfSubjectReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Result of the request; populated by the server.
	Status SelfSubjectReviewStatus `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
}

// SelfSubjectReviewStatus holds the user attributes of the requester.
type SelfSubjectReviewStatus struct {
	// User attributes as determined by the server, after impersonation.
	UserInfo UserInfo `json:"userInfo,omitempty" protobuf:"bytes,1,opt,name=userInfo"`
}

// TokenRequest requests a token for a service account.
type TokenRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Audiences and validity of the requested token.
	Spec TokenRequestSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// Result of the request; populated by the server.
	Status TokenRequestStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// TokenRequestSpec describes the requested token.
type TokenRequestSpec struct {
	// Intended audiences of the token, any of which accepts it; that of the API server if empty. A recipient
	// should reject a token that is not intended for it.
	Audiences []string `json:"audiences" listType:"atomic" protobuf:"bytes,1,rep,name=audiences"`
	// Requested validity in seconds, 600 to 2^32; defaults to 3600. The server may choose another: see
	// expirationTimestamp of the status.
	ExpirationSeconds *int64 `json:"expirationSeconds" protobuf:"varint,4,opt,name=expirationSeconds"`
	// Object that the token is bound to; its deletion invalidates the token. The API server checks that the
	// object exists. Other recipients may not, and accept the token until it expires.
	BoundObjectRef *BoundObjectReference `json:"boundObjectRef" protobuf:"bytes,3,opt,name=boundObjectRef"`
}

// TokenRequestStatus holds the issued token.
type TokenRequestStatus struct {
	// Signed token, for use as a bearer token.
	Token string `json:"token" protobuf:"bytes,1,opt,name=token"`
	// When the token expires.
	ExpirationTimestamp metav1.Time `json:"expirationTimestamp" protobuf:"bytes,2,opt,name=expirationTimestamp"`
}

// TokenReview authenticates a bearer token. A webhook authenticator may cache the result.
type TokenReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Token to authenticate.
	Spec TokenReviewSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// Result of the request; populated by the server.
	Status TokenReviewStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// TokenReviewSpec describes the token to authenticate.
type TokenReviewSpec struct {
	// Bearer token to authenticate.
	Token string `json:"token,omitempty" protobuf:"bytes,1,opt,name=token" openapi:"required"`
	// Audiences that the requester identifies as; the token must be intended for at least one of them. That
	// of the API server if empty.
	Audiences []string `json:"audiences,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=audiences"`
}

// TokenReviewStatus is the result of authenticating a token.
type TokenReviewStatus struct {
	// Whether the token is valid and belongs to a known user.
	Authenticated bool `json:"authenticated,omitempty" protobuf:"varint,1,opt,name=authenticated"`
	// User that the token belongs to; set if authenticated.
	User UserInfo `json:"user,omitempty" protobuf:"bytes,2,opt,name=user"`
	// Audiences of the review that the token is valid for. A client that sets spec.audiences should check
	// that one of them is listed here. If empty although authenticated is true, the token is valid for the
	// API server.
	Audiences []string `json:"audiences,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=audiences"`
	// Why the token could not be checked.
	Error string `json:"error,omitempty" protobuf:"bytes,3,opt,name=error"`
}

// UserInfo holds the attributes of a user.
type UserInfo struct {
	// Name that uniquely identifies the user among all active users.
	Username string `json:"username,omitempty" protobuf:"bytes,1,opt,name=username"`
	// Identifier of the user that is not reused when a user of the same name is deleted and added.
	UID string `json:"uid,omitempty" protobuf:"bytes,2,opt,name=uid"`
	// Names of the groups that the user is a member of.
	Groups []string `json:"groups,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=groups"`
	// Additional attributes provided by the authenticator.
	Extra map[string]ExtraValue `json:"extra,omitempty" protobuf:"bytes,4,rep,name=extra"`
}

// ExtraValue is the type of UserInfo.Extra.
type ExtraValue []string

// Well-known names and values.
const (
	ImpersonateGroupHeader           = "Impersonate-Group"
	ImpersonateUIDHeader             = "Impersonate-Uid"
	ImpersonateUserExtraHeaderPrefix = "Impersonate-Extra-"
	ImpersonateUserHeader            = "Impersonate-User"
)
