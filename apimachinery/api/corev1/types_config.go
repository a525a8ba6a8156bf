package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// ConfigMap holds configuration data as key-value pairs.
type ConfigMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Whether the data is immutable. Once true, neither it nor the data can be changed.
	Immutable *bool `json:"immutable,omitempty" protobuf:"varint,4,opt,name=immutable"`
	// Values that are UTF-8 text. At most 1 MiB together with binaryData.
	Data map[string]string `json:"data,omitempty" protobuf:"bytes,2,rep,name=data"`
	// Values that are arbitrary bytes, base64-encoded in JSON. Its keys must not be in data.
	BinaryData map[string][]byte `json:"binaryData,omitempty" protobuf:"bytes,3,rep,name=binaryData"`
}

// Secret holds confidential data as key-value pairs.
type Secret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Whether the data is immutable. Once true, neither it nor the data can be changed.
	Immutable *bool `json:"immutable,omitempty" protobuf:"varint,5,opt,name=immutable"`
	// Values, base64-encoded in JSON; at most 1 MiB in total.
	Data map[string][]byte `json:"data,omitempty" protobuf:"bytes,2,rep,name=data"`
	// Values as text, which are merged into data when the secret is written. Write-only: never returned.
	StringData map[string]string `json:"stringData,omitempty" protobuf:"bytes,4,rep,name=stringData"`
	// Type of the secret, such as kubernetes.io/tls; defaults to Opaque. Cannot be changed.
	Type SecretType `json:"type,omitempty" protobuf:"bytes,3,opt,name=type"`
}

// ServiceAccount is an identity for processes in pods.
type ServiceAccount struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Secrets that pods of the service account may use; enforced only with the annotation
	// kubernetes.io/enforce-mountable-secrets. Deprecated.
	Secrets []ObjectReference `json:"secrets,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,2,rep,name=secrets"`
	// Secrets for pulling images, added to pods that specify none.
	ImagePullSecrets []LocalObjectReference `json:"imagePullSecrets,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=imagePullSecrets"`
	// Whether a token is mounted automatically into pods of the service account; a pod can override it.
	AutomountServiceAccountToken *bool `json:"automountServiceAccountToken,omitempty" protobuf:"varint,4,opt,name=automountServiceAccountToken"`
}

// ConfigMapList is a list of ConfigMap objects.
type ConfigMapList = metav1.List[*ConfigMap]

// SecretList is a list of Secret objects.
type SecretList = metav1.List[*Secret]

// ServiceAccountList is a list of ServiceAccount objects.
type ServiceAccountList = metav1.List[*ServiceAccount]

// SecretType enumerates the values of Secret.Type.
type SecretType string

const (
	SecretTypeBasicAuth           SecretType = "kubernetes.io/basic-auth"
	SecretTypeBootstrapToken      SecretType = "bootstrap.kubernetes.io/token"
	SecretTypeDockerConfigJson    SecretType = "kubernetes.io/dockerconfigjson"
	SecretTypeDockercfg           SecretType = "kubernetes.io/dockercfg"
	SecretTypeOpaque              SecretType = "Opaque"
	SecretTypeSSHAuth             SecretType = "kubernetes.io/ssh-auth"
	SecretTypeServiceAccountToken SecretType = "kubernetes.io/service-account-token"
	SecretTypeTLS                 SecretType = "kubernetes.io/tls"
)
