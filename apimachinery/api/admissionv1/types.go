// Package admissionv1 holds the admission webhook wire messages (admission.k8s.io/v1).
package admissionv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// AdmissionRequest describes the request that a webhook decides on.
type AdmissionRequest struct {
	// Identifier of this call, to be copied to the response.
	UID types.UID `json:"uid" protobuf:"bytes,1,opt,name=uid"`
	// Kind of the object as sent to the webhook.
	Kind metav1.GroupVersionKind `json:"kind" protobuf:"bytes,2,opt,name=kind"`
	// Resource as sent to the webhook, matching its rules.
	Resource metav1.GroupVersionResource `json:"resource" protobuf:"bytes,3,opt,name=resource"`
	// Subresource of the request, such as status or scale; empty for the main resource.
	SubResource string `json:"subResource,omitempty" protobuf:"bytes,4,opt,name=subResource"`
	// Kind of the original request; differs from kind if the object was converted for matchPolicy Equivalent.
	RequestKind *metav1.GroupVersionKind `json:"requestKind,omitempty" protobuf:"bytes,13,opt,name=requestKind"`
	// Resource of the original request; differs from resource if the object was converted for matchPolicy
	// Equivalent.
	RequestResource *metav1.GroupVersionResource `json:"requestResource,omitempty" protobuf:"bytes,14,opt,name=requestResource"`
	// Subresource of the original request.
	RequestSubResource string `json:"requestSubResource,omitempty" protobuf:"bytes,15,opt,name=requestSubResource"`
	// Name of the object; may be empty on creation with a generated name.
	Name string `json:"name,omitempty" protobuf:"bytes,5,opt,name=name"`
	// Namespace of the request; empty for cluster-scoped resources.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,6,opt,name=namespace"`
	// Operation being performed: CREATE, UPDATE, DELETE or CONNECT.
	Operation Operation `json:"operation" protobuf:"bytes,7,opt,name=operation"`
	// User who makes the request.
	UserInfo authenticationv1.UserInfo `json:"userInfo" protobuf:"bytes,8,opt,name=userInfo"`
	// Object of the request; null for DELETE.
	Object metav1.RawExtension `json:"object,omitempty" protobuf:"bytes,9,opt,name=object"`
	// Existing object; null for CREATE and CONNECT.
	OldObject metav1.RawExtension `json:"oldObject,omitempty" protobuf:"bytes,10,opt,name=oldObject"`
	// Whether nothing will be persisted; the webhook must then have no side effects.
	DryRun *bool `json:"dryRun,omitempty" protobuf:"varint,11,opt,name=dryRun"`
	// Options of the operation, such as CreateOptions.
	Options metav1.RawExtension `json:"options,omitempty" protobuf:"bytes,12,opt,name=options"`
}

// AdmissionResponse is the decision of a webhook.
type AdmissionResponse struct {
	// UID of the request.
	UID types.UID `json:"uid" protobuf:"bytes,1,opt,name=uid"`
	// Whether the request is admitted.
	Allowed bool `json:"allowed" protobuf:"varint,2,opt,name=allowed"`
	// Why the request is denied; ignored if allowed.
	Result *metav1.Status `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
	// Patch to apply to the object; from mutating webhooks only.
	Patch []byte `json:"patch,omitempty" protobuf:"bytes,4,opt,name=patch"`
	// Type of the patch; only JSONPatch is supported. Set if and only if patch is.
	PatchType *PatchType `json:"patchType,omitempty" protobuf:"bytes,5,opt,name=patchType"`
	// Annotations to add to the audit event; the keys are prefixed with the name of the webhook.
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty" protobuf:"bytes,6,rep,name=auditAnnotations"`
	// Warnings to return to the client; at most 120 characters each are recommended.
	Warnings []string `json:"warnings,omitempty" protobuf:"bytes,7,rep,name=warnings"`
}

// AdmissionReview carries the request to a webhook and its response.
type AdmissionReview struct {
	metav1.TypeMeta `json:",inline"`
	// Request to decide on; set by the server.
	Request *AdmissionRequest `json:"request,omitempty" protobuf:"bytes,1,opt,name=request"`
	// Decision; set by the webhook.
	Response *AdmissionResponse `json:"response,omitempty" protobuf:"bytes,2,opt,name=response"`
}

// Operation enumerates the values of AdmissionRequest.Operation.
type Operation string

const (
	Connect Operation = "CONNECT"
	Create  Operation = "CREATE"
	Delete  Operation = "DELETE"
	Update  Operation = "UPDATE"
)

// PatchType enumerates the values of AdmissionResponse.PatchType.
type PatchType string

const (
	PatchTypeJSONPatch PatchType = "JSONPatch"
)
