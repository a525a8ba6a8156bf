// Package admissionv1 holds the admission webhook wire messages (admission.k8s.io/v1).
package admissionv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// AdmissionRequest is a request that a webhook is asked about.
type AdmissionRequest struct {
	// Names this call; the answer repeats it.
	UID types.UID `json:"uid" protobuf:"bytes,1,opt,name=uid"`
	// Kind of the object as the webhook gets it.
	Kind metav1.GroupVersionKind `json:"kind" protobuf:"bytes,2,opt,name=kind"`
	// Resource as the webhook is registered for it.
	Resource metav1.GroupVersionResource `json:"resource" protobuf:"bytes,3,opt,name=resource"`
	// Such as status or scale; empty for the object itself.
	SubResource string `json:"subResource,omitempty" protobuf:"bytes,4,opt,name=subResource"`
	// Kind the client used; differs from kind after a conversion for matchPolicy Equivalent.
	RequestKind *metav1.GroupVersionKind `json:"requestKind,omitempty" protobuf:"bytes,13,opt,name=requestKind"`
	// Resource the client used; differs from resource after such a conversion.
	RequestResource *metav1.GroupVersionResource `json:"requestResource,omitempty" protobuf:"bytes,14,opt,name=requestResource"`
	// Subresource the client used.
	RequestSubResource string `json:"requestSubResource,omitempty" protobuf:"bytes,15,opt,name=requestSubResource"`
	// Name of the object; may be empty on a create with a generated name.
	Name string `json:"name,omitempty" protobuf:"bytes,5,opt,name=name"`
	// Namespace of the request; empty for cluster-scoped resources.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,6,opt,name=namespace"`
	// CREATE, UPDATE, DELETE or CONNECT.
	Operation Operation `json:"operation" protobuf:"bytes,7,opt,name=operation"`
	// Who makes the request.
	UserInfo authenticationv1.UserInfo `json:"userInfo" protobuf:"bytes,8,opt,name=userInfo"`
	// The object as it would be stored; null on DELETE.
	Object metav1.RawExtension `json:"object,omitempty" protobuf:"bytes,9,opt,name=object"`
	// The stored object; null on CREATE and CONNECT.
	OldObject metav1.RawExtension `json:"oldObject,omitempty" protobuf:"bytes,10,opt,name=oldObject"`
	// Nothing will be stored, so the webhook must have no side effects.
	DryRun *bool `json:"dryRun,omitempty" protobuf:"varint,11,opt,name=dryRun"`
	// Options of the operation, such as CreateOptions.
	Options metav1.RawExtension `json:"options,omitempty" protobuf:"bytes,12,opt,name=options"`
}

// AdmissionResponse is what a webhook answers.
type AdmissionResponse struct {
	// Copied from the request.
	UID types.UID `json:"uid" protobuf:"bytes,1,opt,name=uid"`
	// Whether the request goes on.
	Allowed bool `json:"allowed" protobuf:"varint,2,opt,name=allowed"`
	// Why it was refused; ignored when allowed.
	Result *metav1.Status `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
	// Change to the object, a JSON patch; of mutating webhooks only.
	Patch []byte `json:"patch,omitempty" protobuf:"bytes,4,opt,name=patch"`
	// JSONPatch; set exactly when patch is.
	PatchType *PatchType `json:"patchType,omitempty" protobuf:"bytes,5,opt,name=patchType"`
	// Put into the audit event, each key prefixed with the webhook's name.
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty" protobuf:"bytes,6,rep,name=auditAnnotations"`
	// Sent to the client as warning headers; best under 120 characters each.
	Warnings []string `json:"warnings,omitempty" protobuf:"bytes,7,rep,name=warnings"`
}

// AdmissionReview carries a request to a webhook, and its answer back.
type AdmissionReview struct {
	metav1.TypeMeta `json:",inline"`
	// The question; set by the server.
	Request *AdmissionRequest `json:"request,omitempty" protobuf:"bytes,1,opt,name=request"`
	// The answer; set by the webhook.
	Response *AdmissionResponse `json:"response,omitempty" protobuf:"bytes,2,opt,name=response"`
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
