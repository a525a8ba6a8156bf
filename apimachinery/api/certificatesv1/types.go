// Package certificatesv1 holds CertificateSigningRequest (certificates.k8s.io/v1).
package certificatesv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// CertificateSigningRequest requests a certificate from a signer.
type CertificateSigningRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Requested certificate. Cannot be changed.
	Spec CertificateSigningRequestSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// Approval and the issued certificate.
	Status CertificateSigningRequestStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// CertificateSigningRequestCondition records an approval, a denial, or a failure of the signer.
type CertificateSigningRequestCondition struct {
	// Type of the condition: Approved, Denied, Failed, or another one of the signer.
	Type RequestConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition; always True for the types Approved, Denied and Failed.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,6,opt,name=status" openapi:"required"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,2,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
	// Time the condition was last updated.
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty" protobuf:"bytes,4,opt,name=lastUpdateTime"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,5,opt,name=lastTransitionTime"`
}

// CertificateSigningRequestSpec describes the requested certificate; it cannot be changed.
type CertificateSigningRequestSpec struct {
	// PKCS#10 certificate request in PEM format.
	Request []byte `json:"request" protobuf:"bytes,1,opt,name=request" openapi:"required"`
	// Name of the requested signer, domain/path. Requests can be selected by this field.
	SignerName string `json:"signerName" protobuf:"bytes,7,opt,name=signerName" openapi:"required"`
	// Requested validity of the certificate in seconds, at least 600; the signer may choose another.
	ExpirationSeconds *int32 `json:"expirationSeconds,omitempty" protobuf:"varint,8,opt,name=expirationSeconds"`
	// Requested key usages of the certificate.
	Usages []KeyUsage `json:"usages,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=usages"`
	// Name of the user who created the request; set by the server.
	Username string `json:"username,omitempty" protobuf:"bytes,2,opt,name=username"`
	// UID of the user who created the request; set by the server.
	UID string `json:"uid,omitempty" protobuf:"bytes,3,opt,name=uid"`
	// Groups of the user who created the request; set by the server.
	Groups []string `json:"groups,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=groups"`
	// Additional attributes of the user who created the request; set by the server.
	Extra map[string]ExtraValue `json:"extra,omitempty" protobuf:"bytes,6,rep,name=extra"`
}

// CertificateSigningRequestStatus holds the approval and the issued certificate.
type CertificateSigningRequestStatus struct {
	// Conditions of the request: Approved, Denied or Failed.
	Conditions []CertificateSigningRequestCondition `json:"conditions,omitempty" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// Issued certificate with its chain, in PEM format; set by the signer. Cannot be changed once set.
	Certificate []byte `json:"certificate,omitempty" protobuf:"bytes,2,opt,name=certificate"`
}

// CertificateSigningRequestList is a list of CertificateSigningRequest objects.
type CertificateSigningRequestList = metav1.List[*CertificateSigningRequest]

// ExtraValue is the type of CertificateSigningRequestSpec.Extra.
type ExtraValue []string

// KeyUsage enumerates the values of CertificateSigningRequestSpec.Usages.
type KeyUsage string

const (
	UsageAny               KeyUsage = "any"
	UsageCRLSign           KeyUsage = "crl sign"
	UsageCertSign          KeyUsage = "cert sign"
	UsageClientAuth        KeyUsage = "client auth"
	UsageCodeSigning       KeyUsage = "code signing"
	UsageContentCommitment KeyUsage = "content commitment"
	UsageDataEncipherment  KeyUsage = "data encipherment"
	UsageDecipherOnly      KeyUsage = "decipher only"
	UsageDigitalSignature  KeyUsage = "digital signature"
	UsageEmailProtection   KeyUsage = "email protection"
	UsageEncipherOnly      KeyUsage = "encipher only"
	UsageIPsecEndSystem    KeyUsage = "ipsec end system"
	UsageIPsecTunnel       KeyUsage = "ipsec tunnel"
	UsageIPsecUser         KeyUsage = "ipsec user"
	UsageKeyAgreement      KeyUsage = "key agreement"
	UsageKeyEncipherment   KeyUsage = "key encipherment"
	UsageMicrosoftSGC      KeyUsage = "microsoft sgc"
	UsageNetscapeSGC       KeyUsage = "netscape sgc"
	UsageOCSPSigning       KeyUsage = "ocsp signing"
	UsageSMIME             KeyUsage = "s/mime"
	UsageServerAuth        KeyUsage = "server auth"
	UsageSigning           KeyUsage = "signing"
	UsageTimestamping      KeyUsage = "timestamping"
)

// RequestConditionType enumerates the values of CertificateSigningRequestCondition.Type.
type RequestConditionType string

const (
	CertificateApproved RequestConditionType = "Approved"
	CertificateDenied   RequestConditionType = "Denied"
	CertificateFailed   RequestConditionType = "Failed"
)

// Well-known names and values.
const (
	KubeAPIServerClientKubeletSignerName = "kubernetes.io/kube-apiserver-client-kubelet"
	KubeAPIServerClientSignerName        = "kubernetes.io/kube-apiserver-client"
	KubeletServingSignerName             = "kubernetes.io/kubelet-serving"
)
