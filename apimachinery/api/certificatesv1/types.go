// Package certificatesv1 holds CertificateSigningRequest (certificates.k8s.io/v1).
package certificatesv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type CertificateSigningRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              CertificateSigningRequestSpec   `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	Status            CertificateSigningRequestStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type CertificateSigningRequestCondition struct {
	Type               RequestConditionType   `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	Status             corev1.ConditionStatus `json:"status" protobuf:"bytes,6,opt,name=status" openapi:"required"`
	Reason             string                 `json:"reason,omitempty" protobuf:"bytes,2,opt,name=reason"`
	Message            string                 `json:"message,omitempty" protobuf:"bytes,3,opt,name=message"`
	LastUpdateTime     metav1.Time            `json:"lastUpdateTime,omitempty" protobuf:"bytes,4,opt,name=lastUpdateTime"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitempty" protobuf:"bytes,5,opt,name=lastTransitionTime"`
}

type CertificateSigningRequestSpec struct {
	Request           []byte                `json:"request" protobuf:"bytes,1,opt,name=request" openapi:"required"`
	SignerName        string                `json:"signerName" protobuf:"bytes,7,opt,name=signerName" openapi:"required"`
	ExpirationSeconds *int32                `json:"expirationSeconds,omitempty" protobuf:"varint,8,opt,name=expirationSeconds"`
	Usages            []KeyUsage            `json:"usages,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=usages"`
	Username          string                `json:"username,omitempty" protobuf:"bytes,2,opt,name=username"`
	UID               string                `json:"uid,omitempty" protobuf:"bytes,3,opt,name=uid"`
	Groups            []string              `json:"groups,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=groups"`
	Extra             map[string]ExtraValue `json:"extra,omitempty" protobuf:"bytes,6,rep,name=extra"`
}

type CertificateSigningRequestStatus struct {
	Conditions  []CertificateSigningRequestCondition `json:"conditions,omitempty" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	Certificate []byte                               `json:"certificate,omitempty" protobuf:"bytes,2,opt,name=certificate"`
}

// CertificateSigningRequestList is a list of CertificateSigningRequest objects.
type CertificateSigningRequestList = metav1.List[*CertificateSigningRequest]

type ExtraValue []string

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
