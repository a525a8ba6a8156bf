// Package certificatesv1beta1 holds ClusterTrustBundle and PodCertificateRequest of
// certificates.k8s.io/v1beta1. Being beta, they are no part of api.Scheme(): a server that is to serve them,
// and a client that is to use them, add them to a scheme of their own.
package certificatesv1beta1

import "github.com/keelson-dev/keelson/apimachinery/metav1"

// ClusterTrustBundle is a set of certificates that the cluster's workloads may trust as roots.
type ClusterTrustBundle struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The signer, if any, and the certificates.
	Spec ClusterTrustBundleSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
}

// ClusterTrustBundleList is a list of ClusterTrustBundle objects.
type ClusterTrustBundleList = metav1.List[*ClusterTrustBundle]

// ClusterTrustBundleSpec is the content of a bundle.
type ClusterTrustBundleSpec struct {
	// Signer whose certificates the bundle verifies, if any. Writing a bundle with one takes the verb attest
	// on the resource signers of this name in certificates.k8s.io. The name of the bundle then begins with
	// it, with colons for slashes, and another colon. Cannot be changed. Lists can be filtered by it, with
	// the field selector spec.signerName.
	SignerName string `json:"signerName,omitempty" protobuf:"bytes,1,opt,name=signerName"`
	// Certificates of certificate authorities as PEM blocks without headers, each different, at most 1 MiB.
	// Readers may sort them, and drop what is between them.
	TrustBundle string `json:"trustBundle" protobuf:"bytes,2,opt,name=trustBundle" openapi:"required"`
}
