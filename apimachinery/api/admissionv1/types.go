// Package admissionv1 holds the admission webhook wire messages (admission.k8s.io/v1).
package admissionv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// AdmissionRequest is a request that a webhook is asked about.
type AdmissionRequest struct {
	UID                types.UID                    `json:"uid" protobuf:"bytes,1,opt,name=uid"`
	Kind               metav1.GroupVersionKind      `json:"kind" protobuf:"bytes,2,opt,name=kind"`
	Resource           metav1.GroupVersionResource  `json:"resource" protobuf:"bytes,3,opt,name=resource"`
	SubResource        string                       `json:"subResource,omitempty" protobuf:"bytes,4,opt,name=subResource"`
	RequestKind        *metav1.GroupVersionKind     `json:"requestKind,omitempty" protobuf:"bytes,13,opt,name=requestKind"`
	RequestResource    *metav1.GroupVersionResource `json:"requestResource,omitempty" protobuf:"bytes,14,opt,name=requestResource"`
	RequestSubResource string                       `json:"requestSubResource,omitempty" protobuf:"bytes,15,opt,name=requestSubResource"`
	Name               string                       `json:"name,omitempty" protobuf:"bytes,5,opt,name=name"`
	Namespace          string                       `json:"namespace,omitempty" protobuf:"bytes,6,opt,name=namespace"`
	Operation          Operation                    `json:"operation" protobuf:"bytes,7,opt,name=operation"`
	UserInfo           authenticationv1.UserInfo    `json:"userInfo" protobuf:"bytes,8,opt,name=userInfo"`
	Object             metav1.RawExtension          `json:"object,omitempty" protobuf:"bytes,9,opt,name=object"`
	OldObject          metav1.RawExtension          `json:"oldObject,omitempty" protobuf:"bytes,10,opt,name=oldObject"`
	DryRun             *bool                        `json:"dryRun,omitempty" protobuf:"varint,11,opt,name=dryRun"`
	Options            metav1.RawExtension          `json:"options,omitempty" protobuf:"bytes,12,opt,name=options"`
}

// AdmissionResponse is what a webhook answers.
type AdmissionResponse struct {
	UID              types.UID         `json:"uid" protobuf:"bytes,1,opt,name=uid"`
	Allowed          bool              `json:"allowed" protobuf:"varint,2,opt,name=allowed"`
	Result           *metav1.Status    `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
	Patch            []byte            `json:"patch,omitempty" protobuf:"bytes,4,opt,name=patch"`
	PatchType        *PatchType        `json:"patchType,omitempty" protobuf:"bytes,5,opt,name=patchType"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty" protobuf:"bytes,6,rep,name=auditAnnotations"`
	Warnings         []string          `json:"warnings,omitempty" protobuf:"bytes,7,rep,name=warnings"`
}

// AdmissionReview carries a request to a webhook, and its answer back.
type AdmissionReview struct {
	metav1.TypeMeta `json:",inline"`
	Request         *AdmissionRequest  `json:"request,omitempty" protobuf:"bytes,1,opt,name=request"`
	Response        *AdmissionResponse `json:"response,omitempty" protobuf:"bytes,2,opt,name=response"`
}

// Operation is what AdmissionRequest.Operation can be.
type Operation string

// The values of Operation.
const (
	Connect Operation = "CONNECT"
	Create  Operation = "CREATE"
	Delete  Operation = "DELETE"
	Update  Operation = "UPDATE"
)

// PatchType is what AdmissionResponse.PatchType can be.
type PatchType string

// The values of PatchType.
const (
	PatchTypeJSONPatch PatchType = "JSONPatch"
)
