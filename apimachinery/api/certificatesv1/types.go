// Package certificatesv1 holds CertificateSigningRequest (certificates.k8s.io/v1).
package certificatesv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// CertificateSigningRequest asks a signer for a certificate.
type CertificateSigningRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What is asked for; cannot change.
	Spec CertificateSigningRequestSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// The verdict and the certificate.
	Status CertificateSigningRequestStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// CertificateSigningRequestCondition is a verdict on a request, or a failure of its signer.
type CertificateSigningRequestCondition struct {
	// Name of the fact.
	Type RequestConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,6,opt,name=status" openapi:"required"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,2,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
	// When it was last written.
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty" protobuf:"bytes,4,opt,name=lastUpdateTime"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,5,opt,name=lastTransitionTime"`
}

// CertificateSigningRequestSpec is what certificate is asked for; it cannot change.
type CertificateSigningRequestSpec struct {
	// The PKCS#10 request, PEM.
	Request []byte `json:"request" protobuf:"bytes,1,opt,name=request" openapi:"required"`
	// Who is to sign, domain/path.
	SignerName string `json:"signerName" protobuf:"bytes,7,opt,name=signerName" openapi:"required"`
	// How long it should be valid, at least 600; the signer decides.
	ExpirationSeconds *int32 `json:"expirationSeconds,omitempty" protobuf:"varint,8,opt,name=expirationSeconds"`
	// What the key may be used for.
	Usages []KeyUsage `json:"usages,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=usages"`
	// Who asked; filled in by the server.
	Username string `json:"username,omitempty" protobuf:"bytes,2,opt,name=username"`
	// Identity of who asked; filled in by the server.
	UID string `json:"uid,omitempty" protobuf:"bytes,3,opt,name=uid"`
	// Groups of who asked; filled in by the server.
	Groups []string `json:"groups,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=groups"`
	// More about who asked; filled in by the server.
	Extra map[string]ExtraValue `json:"extra,omitempty" protobuf:"bytes,6,rep,name=extra"`
}

// CertificateSigningRequestStatus is the verdict and the certificate.
type CertificateSigningRequestStatus struct {
	// Approved, Denied or Failed.
	Conditions []CertificateSigningRequestCondition `json:"conditions,omitempty" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// The certificate with its chain, PEM.
	Certificate []byte `json:"certificate,omitempty" protobuf:"bytes,2,opt,name=certificate"`
}

// CertificateSigningRequestList is a list of CertificateSigningRequest objects.
type CertificateSigningRequestList = metav1.List[*CertificateSigningRequest]

// ExtraValue is what CertificateSigningRequestSpec.Extra can be.
type ExtraValue []string

// KeyUsage is what CertificateSigningRequestSpec.Usages can be.
type KeyUsage string

// The values of KeyUsage.
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

// RequestConditionType is what CertificateSigningRequestCondition.Type can be.
type RequestConditionType string

// The values of RequestConditionType.
const (
	CertificateApproved RequestConditionType = "Approved"
	CertificateDenied   RequestConditionType = "Denied"
	CertificateFailed   RequestConditionType = "Failed"
)

// Well-known names and values of this group.
const (
	KubeAPIServerClientKubeletSignerName = "kubernetes.io/kube-apiserver-client-kubelet"
	KubeAPIServerClientSignerName        = "kubernetes.io/kube-apiserver-client"
	KubeletServingSignerName             = "kubernetes.io/kubelet-serving"
)
