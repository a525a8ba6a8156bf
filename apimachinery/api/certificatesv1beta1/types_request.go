package certificatesv1beta1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// PodCertificateRequest requests a certificate for a pod from a signer. The kubelet makes it for a projected
// volume of the pod.
type PodCertificateRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Requested certificate. Cannot be changed.
	Spec PodCertificateRequestSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Issued certificate, or why there is none; set by the signer.
	Status PodCertificateRequestStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// PodCertificateRequestList is a list of PodCertificateRequest objects.
type PodCertificateRequestList = metav1.List[*PodCertificateRequest]

// PodCertificateRequestSpec describes a certificate. Either stubPKCS10Request is set, or pkixPublicKey and
// proofOfPossession are.
type PodCertificateRequestSpec struct {
	// Signer that is to issue the certificate.
	SignerName string `json:"signerName" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Name of the pod that the certificate is for, in the namespace of the request.
	PodName string `json:"podName" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// UID of the pod.
	PodUID types.UID `json:"podUID" protobuf:"bytes,3,opt,name=" openapi:"required"`
	// Name of the pod's service account.
	ServiceAccountName string `json:"serviceAccountName" protobuf:"bytes,4,opt,name=" openapi:"required"`
	// UID of the service account.
	ServiceAccountUID types.UID `json:"serviceAccountUID" protobuf:"bytes,5,opt,name=" openapi:"required"`
	// Name of the pod's node.
	NodeName string `json:"nodeName" protobuf:"bytes,6,opt,name=" openapi:"required"`
	// UID of the node.
	NodeUID types.UID `json:"nodeUID" protobuf:"bytes,7,opt,name=" openapi:"required"`
	// Maximum lifetime of the certificate: 3600 to 7862400 seconds (91 days), 86400 (one day) for signers of
	// kubernetes.io; 86400 if unset. Signers may issue a shorter one.
	MaxExpirationSeconds *int32 `json:"maxExpirationSeconds,omitempty" protobuf:"varint,8,opt,name=maxExpirationSeconds"`
	// Public key in PKIX form: RSA with 3072 or 4096 bits, ECDSA with a NIST curve, or Ed25519. Deprecated:
	// use stubPKCS10Request.
	PKIXPublicKey []byte `json:"pkixPublicKey" protobuf:"bytes,9,opt,name="`
	// Signature of the ASCII form of podUID with the private key of pkixPublicKey: RSASSA-PSS or ECDSA over
	// SHA-256, or Ed25519. Deprecated: use stubPKCS10Request.
	ProofOfPossession []byte `json:"proofOfPossession" protobuf:"bytes,10,opt,name="`
	// Certificate request in DER, signed with the key of the certificate. Signers take only its key.
	StubPKCS10Request []byte `json:"stubPKCS10Request" protobuf:"bytes,12,opt,name="`
	// Additional information for the signer, from the pod; the server does not verify it. Keys have domains.
	UnverifiedUserAnnotations map[string]string `json:"unverifiedUserAnnotations,omitempty" protobuf:"bytes,11,opt,name=unverifiedUserAnnotations"`
}

// PodCertificateRequestStatus is the result of a request. It cannot be changed once it has a condition.
type PodCertificateRequestStatus struct {
	// Result of the request: one condition, Issued, Denied or Failed, whose status is True.
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// Issued certificate in PEM, followed by intermediate ones.
	CertificateChain string `json:"certificateChain,omitempty" protobuf:"bytes,2,opt,name=certificateChain"`
	// When the certificate begins to be valid, as it says itself; within 5 minutes of the server's time.
	NotBefore *metav1.Time `json:"notBefore,omitempty" protobuf:"bytes,4,opt,name=notBefore"`
	// When the kubelet should request the next certificate: at least 10 minutes after notBefore and before
	// notAfter.
	BeginRefreshAt *metav1.Time `json:"beginRefreshAt,omitempty" protobuf:"bytes,5,opt,name=beginRefreshAt"`
	// When the certificate expires, as it says itself.
	NotAfter *metav1.Time `json:"notAfter,omitempty" protobuf:"bytes,6,opt,name=notAfter"`
}

// The types of the condition of a PodCertificateRequest.
const (
	PodCertificateIssued = "Issued"
	PodCertificateDenied = "Denied"
	PodCertificateFailed = "Failed"
)

// The limits of the fields, in bytes and seconds.
const (
	MaxKeySize              = 10 << 10 // of the key, the proof and the stub request
	MaxCertificateChainSize = 100 << 10
	MinLifetime             = check.MinCertificateSeconds
	MaxLifetime             = check.MaxCertificateSeconds
	MaxKubernetesLifetime   = check.MaxKubernetesCertificateSeconds
)

// Result returns the condition of the request, nil as long as there is none.
func (r *PodCertificateRequest) Result() *metav1.Condition {
	for i := range r.Status.Conditions {
		switch c := &r.Status.Conditions[i]; c.Type {
		case PodCertificateIssued, PodCertificateDenied, PodCertificateFailed:
			return c
		}
	}
	return nil
}
