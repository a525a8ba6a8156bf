package certificatesv1beta1

import (
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "certificates.k8s.io", Version: "v1beta1"}

// AddToScheme registers ClusterTrustBundle.
func AddToScheme(s *scheme.Scheme) error {
	return scheme.Add[*ClusterTrustBundle](s, GroupVersion, scheme.Kind{Resource: "clustertrustbundles"})
}

// AddRules attaches the validation of ClusterTrustBundle. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return scheme.RulesFor[*ClusterTrustBundle]{Validate: ValidateClusterTrustBundle, ValidateUpdate: ValidateClusterTrustBundleUpdate,
		NameRule: func(string, bool) []string { return nil }, // it depends on the signer
	}.Attach(s)
}

// AddRequests registers PodCertificateRequest.
func AddRequests(s *scheme.Scheme) error {
	return scheme.Add[*PodCertificateRequest](s, GroupVersion, scheme.Kind{
		Resource: "podcertificaterequests", Namespaced: true,
		Subresources: []scheme.Subresource{
			{Name: "status", Kind: "PodCertificateRequest", Verbs: []string{"get", "patch", "update"}},
		},
	})
}

// AddRequestRules attaches the defaults and the validation of PodCertificateRequest. AddRequests must come
// first.
func AddRequestRules(s *scheme.Scheme) error {
	return scheme.RulesFor[*PodCertificateRequest]{
		Default: DefaultPodCertificateRequest, Validate: ValidatePodCertificateRequest, ValidateUpdate: ValidatePodCertificateRequestUpdate, ValidateStatus: ValidatePodCertificateRequestStatus,
	}.Attach(s)
}
