package certificatesv1beta1

import (
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "certificates.k8s.io", Version: "v1beta1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *scheme.Scheme) error {
	return scheme.Add[*ClusterTrustBundle](s, GroupVersion, scheme.Kind{Resource: "clustertrustbundles"})
}

// AddRules attaches what a server applies to the kinds of this package: validation of creates and updates.
// AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return scheme.RulesFor[*ClusterTrustBundle]{Validate: ValidateClusterTrustBundle, ValidateUpdate: ValidateClusterTrustBundleUpdate,
		NameRule: func(string, bool) []string { return nil }, // it depends on the signer
	}.Attach(s)
}
