// Package authenticationv1 holds token requests and reviews (authentication.k8s.io/v1).
package authenticationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

type BoundObjectReference struct {
	Kind       string    `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
	APIVersion string    `json:"apiVersion,omitempty" protobuf:"bytes,2,opt,name=apiVersion"`
	Name       string    `json:"name,omitempty" protobuf:"bytes,3,opt,name=name"`
	UID        types.UID `json:"uid,omitempty" protobuf:"bytes,4,opt,name=uID"`
}

type SelfSubjectReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Status            SelfSubjectReviewStatus `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
}

type SelfSubjectReviewStatus struct {
	UserInfo UserInfo `json:"userInfo,omitempty" protobuf:"bytes,1,opt,name=userInfo"`
}

type TokenRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              TokenRequestSpec   `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	Status            TokenRequestStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type TokenRequestSpec struct {
	Audiences         []string              `json:"audiences" listType:"atomic" protobuf:"bytes,1,rep,name=audiences"`
	ExpirationSeconds *int64                `json:"expirationSeconds" protobuf:"varint,4,opt,name=expirationSeconds"`
	BoundObjectRef    *BoundObjectReference `json:"boundObjectRef" protobuf:"bytes,3,opt,name=boundObjectRef"`
}

type TokenRequestStatus struct {
	Token               string      `json:"token" protobuf:"bytes,1,opt,name=token"`
	ExpirationTimestamp metav1.Time `json:"expirationTimestamp" protobuf:"bytes,2,opt,name=expirationTimestamp"`
}

type TokenReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              TokenReviewSpec   `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	Status            TokenReviewStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type TokenReviewSpec struct {
	Token     string   `json:"token,omitempty" protobuf:"bytes,1,opt,name=token" openapi:"required"`
	Audiences []string `json:"audiences,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=audiences"`
}

type TokenReviewStatus struct {
	Authenticated bool     `json:"authenticated,omitempty" protobuf:"varint,1,opt,name=authenticated"`
	User          UserInfo `json:"user,omitempty" protobuf:"bytes,2,opt,name=user"`
	Audiences     []string `json:"audiences,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=audiences"`
	Error         string   `json:"error,omitempty" protobuf:"bytes,3,opt,name=error"`
}

type UserInfo struct {
	Username string                `json:"username,omitempty" protobuf:"bytes,1,opt,name=username"`
	UID      string                `json:"uid,omitempty" protobuf:"bytes,2,opt,name=uid"`
	Groups   []string              `json:"groups,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=groups"`
	Extra    map[string]ExtraValue `json:"extra,omitempty" protobuf:"bytes,4,rep,name=extra"`
}

type ExtraValue []string

// Well-known names and values of this group.
const (
	ImpersonateGroupHeader           = "Impersonate-Group"
	ImpersonateUIDHeader             = "Impersonate-Uid"
	ImpersonateUserExtraHeaderPrefix = "Impersonate-Extra-"
	ImpersonateUserHeader            = "Impersonate-User"
)
